"""The pieces of snapshots: few where little is different, equal values once, and whatever else is in them is refused."""

import pickle
from pathlib import Path

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.model.shared_map import SharedMap
from ingress.model.upstream.backends import BackendState
from ingress.routing import table as table_module
from ingress.routing.table import HostRoutes
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.operations import FORMAT
from ingress.workers.feed.sending import pieces
from ingress.workers.feed.snapshot_bytes import SnapshotError
from tests.properties import examples
from tests.translate import following
from tests.workers.feed.feed_case import (
    CANARY,
    ENDPOINTS,
    HEALTH,
    WEB,
    FeedCase,
    a_route,
    of_routes,
    table_of,
    wide,
)


class CostTests(FeedCase):
    """What travels, and what stays the same object."""

    def test_endpoints(self) -> None:
        """Of thousands of hosts, an endpoint that comes travels alone, and all else stays the same object."""
        before = wide(3000)
        self.tell(before)
        had = self.follower.snapshot
        changed = WEB._replace(port=7)
        backends = before.backends
        assert isinstance(backends, SharedMap)
        after = evolve(before, backends=backends.patched({changed: BackendState(ENDPOINTS[:3])}))
        (piece,) = self.tell(after)
        self.assertLess(len(piece), 300)
        has = self.follower.snapshot
        self.assertIs(has.table, had.table)
        self.assertIs(has.certificates, had.certificates)
        self.assertIs(has.handshake_settings, had.handshake_settings)
        self.assertIs(has.others, had.others)
        assert isinstance(has.backends, SharedMap) and isinstance(had.backends, SharedMap)
        self.assertEqual([key for key, _ in has.backends.changes_since(had.backends)], [changed])

    def test_many_endpoints(self) -> None:
        """Of a backend with thousands of endpoints, one that goes costs no more than one of a backend with few."""
        before = Snapshot(backends=SharedMap({WEB: BackendState(ENDPOINTS)}))
        self.tell(before)
        (had,) = self.follower.snapshot.backends.values()
        told = self.tell(
            Snapshot(backends=SharedMap({WEB: BackendState(ENDPOINTS[:1500] + ENDPOINTS[1501:])}))
        )
        self.assertLess(len(b"".join(told)), 300)
        (has,) = self.follower.snapshot.backends.values()
        self.assertIs(has.endpoints[-1].address, had.endpoints[-1].address)

    def test_elsewhere(self) -> None:
        """Those elsewhere travel with those near by, and where only these are others, next to nothing does."""
        for near in (2000, 1990, 0, 3000):
            state = BackendState(ENDPOINTS[:near], elsewhere=ENDPOINTS[near:])
            told = self.tell(Snapshot(backends=SharedMap({WEB: state})))
            (has,) = self.follower.snapshot.backends.values()
            self.assertEqual((has.endpoints, has.elsewhere), (state.endpoints, state.elsewhere))
            if near != 2000:
                self.assertLess(len(b"".join(told)), 300)

    def test_host(self) -> None:
        """A host that changes travels alone; of one with thousands of routes, those that are different."""
        before = wide(3, routes=2000)
        self.tell(before)
        had = self.follower.snapshot.table
        known = before.table.get("1.test")
        assert known is not None
        other = a_route("1.test", "/700", CANARY)
        routes = (*known.routes[:700], other, *known.routes[701:])
        after = Snapshot(table=before.table.patched({"1.test": HostRoutes(routes)}), backends=before.backends)
        told = self.tell(after)
        self.assertLess(len(b"".join(told)), 1200)
        has = self.follower.snapshot.table
        self.assertEqual([host for host, _ in has.changes_since(had)], ["1.test"])
        found, was = has.get("1.test"), had.get("1.test")
        assert found is not None and was is not None
        self.assertIs(found.routes[1999], was.routes[1999])

    def test_what_is_equal(self) -> None:
        """What was translated anew and came to the same travels not at all, and stays the same object."""
        self.tell(wide(1000))
        had = self.follower.snapshot
        told = self.tell(wide(1000))
        self.assertLess(len(b"".join(told)), 100)
        self.assertIs(self.follower.snapshot.table, had.table)
        self.assertIs(self.follower.snapshot.backends, had.backends)
        self.assertEqual(list(had.tables())[1:], [])

    def test_certificates(self) -> None:
        """A certificate that is renewed travels; all others are the same objects, and so are the settings of handshakes."""
        cluster = following.Follower(
            TranslateOptions(),
            [
                following.SERVICE,
                following.SLICE,
                *(following.asking(name, f"{name}.test", secret=name) for name in "ab"),
                *(following.tls_secret(name, f"{name}.test") for name in "ab"),
            ],
        )
        self.tell(cluster.settle())
        had = self.follower.snapshot
        cluster.change(following.batch(following.tls_secret("b", "b.test", "c.test")))
        told = b"".join(self.tell(cluster.settle()))
        self.assertEqual(told.count(b"PRIVATE KEY-----\n"), 2)
        has = self.follower.snapshot
        self.assertIs(has.certificates.exact["a.test"], had.certificates.exact["a.test"])
        self.assertIsNot(has.certificates.exact["b.test"], had.certificates.exact["b.test"])
        self.assertIs(has.handshake_settings, had.handshake_settings)
        self.assertIs(has.table, had.table)

    def test_pieces_are_small(self) -> None:
        """However much there is, no piece has more than so many values; a host of thousands of routes is in several."""
        for snapshot in (wide(2000), wide(2, routes=2000)):
            told = list(pieces(None, snapshot))
            self.assertGreater(len(told), 40)
            self.assertLess(max(map(len, told)), 10_000)
        endpoints = Snapshot(backends=SharedMap({WEB: BackendState(ENDPOINTS)}))
        self.assertGreater(len(list(pieces(None, endpoints))), 19)

    def test_made_before(self) -> None:
        """What workers need of all hosts is there before any is forked: neither order of paths nor counts of filters are left to them."""
        self.tell(wide(50))
        table = self.follower.snapshot.table
        self.assertIsNotNone(table.kept_uses)
        self.patch(table_module, "rule_path", None)
        found = table.find(b"7.test", b"/0")
        assert found is not None
        self.assertEqual(found.host, "7.test")

    def test_time_that_goes_by(self) -> None:
        """Where much is compared and nothing is different, pieces without bytes come in between, and mean nothing."""
        told = self.tell(wide(3000)) and self.tell(wide(3000))
        self.assertGreater(told.count(b""), 30)


class SharingTests(FeedCase):
    """Equal values."""

    def test_within_and_across(self) -> None:
        """What is equal is one object, in whatever piece and with whatever change it came."""
        self.tell(
            Snapshot(
                table=table_of(a_route(f"{n}.test", "/", WEB, HttpsRedirect()) for n in range(500)),
                backends=SharedMap({WEB: BackendState()}),
            )
        )
        self.tell(
            Snapshot(
                table=table_of(a_route(f"{n}.test", "/", WEB, HttpsRedirect()) for n in range(501)),
                backends=SharedMap({WEB: BackendState()}),
            )
        )
        routes = self.follower.snapshot.table.routes
        self.assertEqual(len(routes), 501)
        self.assertEqual(len({id(one.filters) for one in routes}), 1)
        self.assertEqual({id(one.backend) for one in routes}, {id(*self.follower.snapshot.backends)})

    def test_bounded(self) -> None:
        """Whatever comes and goes, what is remembered for it is bounded by what is there."""
        most = 0
        for turn in range(60):
            hosts = [f"{turn}-{number}.test" for number in range(300)]
            self.tell(of_routes(*(a_route(host, "/", WEB._replace(name=host)) for host in hosts)))
            most = max(most, self.follower.remembered)
        self.assertGreater(most, 600)
        self.assertLess(most, 6000)
        for _ in range(20):
            self.tell(Snapshot())
        self.assertLess(self.follower.remembered, 2001)


class MalformedTests(FeedCase):
    """Bytes that are no pieces, or not the next ones."""

    def test_other_bytes(self) -> None:
        """Bytes that break off, bytes that name anything else, and other values are refused, and nothing is called."""
        (good,) = pieces(None, of_routes(a_route("")))
        evil = (
            b"x",
            good[:-3],
            good[5:],
            good + b".",
            pickle.dumps([1]),
            pickle.dumps((1, "txingress feed 0", True)),
            pickle.dumps((99, 1)),
            pickle.dumps(("a",)),
            pickle.dumps(()),
            pickle.dumps(Path("/tmp")),
            b"cos\nsystem\n(S'exit 1'\ntR.",
            pickle.dumps((1, FORMAT, True)) + pickle.dumps((19,)) + b"\x80",
        )
        for octets in evil:
            self.assertRaises(SnapshotError, self.follower.take, octets)
            self.assertEqual(self.follower.snapshot.table.count, 0)
        self.tell(of_routes(a_route("")))

    def test_out_of_order(self) -> None:
        """Pieces that are missing, that come twice, or that were made for another snapshot are refused; what is there stays."""
        first, other = wide(200), wide(300)
        self.tell(first)
        before = self.follower.snapshot
        told = list(pieces(first, other))
        self.assertGreater(len(told), 2)

        def take(*some: bytes) -> None:
            for piece in some:
                self.follower.take(piece)

        for wrong in (
            told[1:],
            [told[0], *told[2:]],
            [told[0], told[1], told[1], *told[2:]],
            list(pieces(other, wide(301))),
            list(pieces(wide(100), wide(99))),
        ):
            self.assertRaises(SnapshotError, take, *wrong)
            self.assertIs(self.follower.snapshot, before)
        self.tell(other)

    def test_begun_anew(self) -> None:
        """What was broken off leaves nothing behind for what begins anew."""
        told = list(pieces(None, wide(300)))
        self.follower.take(told[0])
        self.tell(wide(2))

    def test_every_end(self) -> None:
        """Wherever a piece breaks off, it is refused."""
        (piece,) = pieces(None, of_routes(a_route("a.test")))
        for length in range(1, len(piece)):
            self.assertRaises(SnapshotError, Follower().take, piece[:length])

    @settings(deadline=None, derandomize=True, max_examples=examples(300), suppress_health_check=HEALTH)
    @given(st.data())
    def test_damaged_bytes(self, data: st.DataObject) -> None:
        """A byte that is another one gives some snapshot, or the one error, and nothing else."""
        (piece,) = pieces(None, wide(1))
        octets = bytearray(piece)
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
        follower = Follower()
        try:
            follower.take(bytes(octets))
        except SnapshotError:
            self.assertEqual(follower.snapshot.table.count, 0)
        self.assertIsInstance(follower.snapshot, Snapshot)
