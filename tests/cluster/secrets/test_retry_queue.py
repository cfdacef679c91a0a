"""Tests for ``ingress.cluster.secrets.retry_queue``."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.secrets.retry_queue import RetryQueue


class RetryQueueTests(SynchronousTestCase):
    """Who goes when."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.gone: list[str] = []
        self.line: RetryQueue[str] = RetryQueue(self.clock, 10.0, self.gone.append)

    def test_pace(self) -> None:
        """The first goes at once, and the others one by one."""
        for name in "abc":
            self.line.put("g", name, 1)
        self.clock.advance(0)
        self.assertEqual(self.gone, ["a"])
        self.clock.advance(0.09)
        self.assertEqual(self.gone, ["a"])
        self.clock.advance(0.02)
        self.assertEqual(self.gone, ["a", "b"])
        self.clock.advance(0.1)
        self.assertEqual((self.gone, len(self.line)), (["a", "b", "c"], 0))
        self.clock.advance(1)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_few_tries_first(self) -> None:
        """Whoever has tried less goes before those who tried more often, whenever these came."""
        for name, tries in (("old", 9), ("new", 1), ("newer", 1), ("touched", 0)):
            self.line.put("g", name, tries)
        self.clock.pump([0.1] * 9)
        self.assertEqual(self.gone, ["touched", "new", "newer", "old"])

    def test_groups(self) -> None:
        """Groups take turns, however many of one wait and however little these have tried."""
        for number in range(100):
            self.line.put("g", f"g{number}", 0)
        for name in "ab":
            self.line.put("other", name, 5)
        self.clock.pump([0.0, *[0.1] * 4])
        self.assertEqual(self.gone, ["g0", "a", "g1", "b", "g2"])

    def test_put_twice(self) -> None:
        """Who is put again goes once, by what was said last."""
        for name, tries in (("a", 1), ("b", 2), ("a", 3)):
            self.line.put("g", name, tries)
        self.clock.pump([0.1] * 9)
        self.assertEqual(self.gone, ["b", "a"])

    def test_dropped(self) -> None:
        """Who is dropped does not go, and costs nobody's turn."""
        for name in "abc":
            self.line.put("g", name, 1)
        self.line.drop("a")
        self.line.drop("never")
        self.clock.advance(0)
        self.assertEqual(self.gone, ["b"])

    def test_put_from_within(self) -> None:
        """Who is put while another goes waits like everybody."""

        def again(name: str) -> None:
            self.gone.append(name)
            line.put("g", name, 1)

        line: RetryQueue[str] = RetryQueue(self.clock, 10.0, again)
        line.put("g", "a", 1)
        self.clock.pump([0.0, 0.05, 0.06, 0.05])
        self.assertEqual(self.gone, ["a", "a"])

    def test_stopped(self) -> None:
        """After a stop nobody goes, and no call waits."""
        self.line.put("g", "a", 1)
        self.line.stop()
        self.assertEqual((self.clock.getDelayedCalls(), len(self.line)), ([], 0))
