"""What is gone from snapshots is remembered no longer than a few steps, private keys above all."""

from __future__ import annotations

from datetime import UTC, datetime

from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.identity.certificates import Certificate, CertificateTable
from ingress.identity.server_names import HandshakeSettings, HandshakeSettingsTable
from ingress.model.cluster.objects import ObjectKey
from ingress.model.network.listeners import MAIN
from ingress.model.network.streams import StreamSort
from ingress.model.shared_map import SharedMap
from ingress.model.upstream.backends import BackendState
from ingress.routing.streams import StreamRoute, StreamTable
from ingress.routing.variants import WeightedBackend
from ingress.translate.snapshot import ListenerTable, Snapshot
from ingress.workers.feed.sending import pieces
from tests.workers.feed.feed_case import ENDPOINTS, WEB, FeedCase, a_route, table_of

SINCE = datetime(2030, 1, 1, tzinfo=UTC)


def certificate(name: str, times: int) -> Certificate:
    """Return one as it is after so many times."""
    key = f"{name} {times}"
    return Certificate(ObjectKey("gone", name), b"chain", key.encode(), (name,), SINCE, SINCE, key, "RSA")


def table(names: dict[str, int], default: int) -> ListenerTable:
    """Return one with these hosts, each with certificates that came so often."""
    return ListenerTable(
        table_of(a_route(one, "/", WEB._replace(name=one), HttpsRedirect()) for one in names),
        CertificateTable(
            SharedMap({one: (certificate(one, times),) for one, times in names.items()}),
            SharedMap({f".{one}": (certificate(f"*.{one}", times),) for one, times in names.items()}),
            certificate("default", default),
        ),
        HandshakeSettingsTable(
            SharedMap({one: HandshakeSettings((f"{one} {times}",)) for one, times in names.items()})
        ),
        StreamTable(
            StreamRoute(one, StreamSort.PASSTHROUGH, None, (WeightedBackend(WEB._replace(name=one), 1),))
            for one in names
        ),
    )


class GoneTests(FeedCase):
    """A follower of few hosts."""

    def told(
        self, names: dict[str, int], default: int = 0, others: dict[str, ListenerTable] | None = None
    ) -> None:
        """Tell it of *names*, and have it let go of what can be."""
        main = table(names, default)
        self.tell(
            Snapshot(
                main.routes,
                SharedMap({WEB._replace(name=one): BackendState(ENDPOINTS[:1]) for one in names}),
                main.certificates,
                main.handshake_settings,
                others=others or {},
            )
        )
        while self.follower.let_go_some():
            pass

    def keys(self) -> list[str]:
        """Return all private keys that the follower has, whether or not they are in its snapshot."""
        kept = self.follower._reader.shared._kept
        return sorted(one.key_pem.decode() for one in kept.get(Certificate, ()))

    def test_gone(self) -> None:
        """Of a host that is gone, of a certificate that was renewed, and of another default nothing is remembered."""
        self.told({"a": 1, "b": 1})
        self.assertEqual(self.keys(), ["*.a 1", "*.b 1", "a 1", "b 1", "default 0"])
        remembered = self.follower.remembered
        self.told({"a": 2, "b": 1}, 1)
        self.assertEqual(self.keys(), ["*.a 2", "*.b 1", "a 2", "b 1", "default 1"])
        self.assertEqual(self.follower.remembered, remembered)
        self.told({"b": 1}, 1)
        self.assertEqual(self.keys(), ["*.b 1", "b 1", "default 1"])
        self.told({"a": 1, "b": 1})
        self.assertEqual(self.follower.remembered, remembered)

    def test_whole_table(self) -> None:
        """Nor of a table that is gone."""
        self.told({"a": 1}, others={"other": table({"c": 1, "d": 1}, 7)})
        self.assertEqual(
            self.keys(), ["*.a 1", "*.c 1", "*.d 1", "a 1", "c 1", "d 1", "default 0", "default 7"]
        )
        self.told({"a": 1}, others={"other": table({"d": 1}, 7)})
        self.assertEqual(self.keys(), ["*.a 1", "*.d 1", "a 1", "d 1", "default 0", "default 7"])
        self.told({"a": 1})
        self.assertEqual(self.keys(), ["*.a 1", "a 1", "default 0"])
        self.assertEqual([name for name, _ in self.follower.snapshot.tables()], [MAIN])

    def test_read_by_many(self) -> None:
        """What a request still has of the snapshot before goes once it is looked at again after its end."""
        self.told({"a": 1, "b": 1})
        request = self.follower.snapshot
        self.told({"b": 1})
        self.assertIn("a 1", self.keys())
        del request
        self.follower.look_again()
        while self.follower.let_go_some():
            pass
        self.assertEqual(self.keys(), ["*.b 1", "b 1", "default 0"])

    def test_ever_more(self) -> None:
        """However quickly snapshots follow each other, what waits to be let go is bounded."""
        counts = []
        before: Snapshot | None = None
        for times in range(120):
            main = table({str(one): times for one in range(200)}, times)
            snapshot = Snapshot(main.routes, certificates=main.certificates)
            for piece in pieces(before, snapshot):
                self.follower.take(piece)
            counts.append(self.follower.remembered)
            before = snapshot
        self.assertLess(max(counts[60:]), 1.2 * max(counts[20:60]), counts)
