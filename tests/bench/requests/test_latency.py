"""What the latency bench shows of what it measured."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bench.requests.latency import Loader, shown


def _found(median: float, **others: Any) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(
        ("p50_ms", "p99_ms", "p999_ms", "longest_ms", "first_p50_ms", "last_p50_ms"), 0.25
    )
    counts = dict.fromkeys(("failed", "others", "refused", "due", "sent"), 0)
    return {**found, **counts, "median_p99_ms": median, **others}


class ShownTests(SynchronousTestCase):
    """The table."""

    def test_compares_with_rest_and_with_nginx(self) -> None:
        """Each figure is compared with the same proxy at rest, and with nginx in the same situation."""
        compared = {
            "at rest": {"ours": _found(0.6), "nginx": _found(0.4)},
            "beside bursts": {"ours": _found(1.5), "nginx": _found(0.5)},
        }
        head, *rows = [line.split() for line in shown(compared, {}, 0).splitlines()]
        self.assertEqual(head[:2], ["p50", "ms"])
        self.assertEqual(rows[0][-2:], ["1.50", "0"])
        self.assertEqual(rows[2][-3:], ["2.5", "3.00", "0"])
        self.assertEqual(rows[3][-2:], ["1.2", "0"])

    def test_compares_a_cluster_with_itself_at_rest(self) -> None:
        """What goes on in a large cluster is compared with its rest, and says what the collector took."""
        collector = {"longest_ms": 1.25, "share": 0.031}
        alone = {
            "at rest": _found(0.5, collector={"longest_ms": 0.0, "share": 0.0}),
            "all change": _found(2.0, collector=collector, due=5, sent=3),
        }
        _, rest, change = shown({}, alone, 10_000).splitlines()
        self.assertIn("ours with 10,000 Ingresses, at rest", rest)
        self.assertEqual(change.split()[-4:], ["4.0", "1.25", "3.10%", "2"])


class LoaderTests(SynchronousTestCase):
    """The command of the load program."""

    def test_looks_as_soon_as_something_has_come(self) -> None:
        """The load program does not pause: what it finds late would be a latency of its own."""
        words = Loader("openloop", 0, 4.0).command(8080, "plain.test", 2000, 32, 32)
        self.assertIn("-pause=0", words)
        self.assertIn("-burst=32", words)
        self.assertEqual(words[:4], ["taskset", "--cpu-list", "0", "openloop"])
