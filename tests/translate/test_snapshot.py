"""What is read of a snapshot as a whole."""

from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import Certificate, CertificateTable
from ingress.translate.snapshot import ListenerTable, Snapshot
from tests.fakes.counting import calls
from tests.tls.test_contexts import certificate

ONE, OTHER, DEFAULT = certificate("one.test"), certificate("other.test"), certificate("default.test")


class ShownTests(SynchronousTestCase):
    """``Snapshot.shown``."""

    def snapshot(self, main: CertificateTable, *others: CertificateTable) -> Snapshot:
        tables = {f"gateway {number}": ListenerTable(certificates=one) for number, one in enumerate(others)}
        return Snapshot(certificates=main, others=tables)

    def test_once(self) -> None:
        """What several tables show for a host is told once; another certificate for it, or another host, besides."""
        main = CertificateTable({"one.test": (ONE, OTHER)}, {".one.test": (ONE,)}, DEFAULT)
        other = CertificateTable(
            {"one.test": (ONE, DEFAULT), "more.test": (ONE,)}, {".one.test": (OTHER,), "": (ONE,)}, DEFAULT
        )
        last = CertificateTable({"more.test": (ONE,)}, {".one.test": (ONE,)}, OTHER)
        shown: list[tuple[str, Certificate]] = [*self.snapshot(main, other, last).shown()]
        self.assertEqual(
            shown,
            [
                ("one.test", ONE),
                ("one.test", OTHER),
                ("*.one.test", ONE),
                ("", DEFAULT),
                ("one.test", DEFAULT),
                ("more.test", ONE),
                ("*.one.test", OTHER),
                ("*", ONE),
                ("", OTHER),
            ],
        )

    def test_little_at_a_time(self) -> None:
        """However many hosts there are, the next one of them is found at once, in whatever table it is."""
        hosts = {f"h{number}.test": (ONE,) for number in range(3000)}
        more = {f"h{number}.test": (ONE,) for number in range(2990, 6000)}
        snapshot = self.snapshot(CertificateTable(hosts), CertificateTable(more))
        found: list[Iterator[tuple[str, Certificate]]] = []
        longest = calls(lambda: found.append(snapshot.shown()))
        for _ in range(6000):
            longest = max(longest, calls(lambda: next(found[0])))
        self.assertLess(longest, 200)
        self.assertEqual([*found[0]], [])
