"""How busy a machine was, from what was seen at two moments."""

import os

from twisted.trial.unittest import SynchronousTestCase

from bench.measuring import quiet
from bench.measuring.quiet import Seen


class QuietTests(SynchronousTestCase):
    """What others took while a benchmark ran."""

    def test_shares(self) -> None:
        """What the benchmark used itself is not what others took; shares are of the time of all CPUs."""
        found = quiet.between(Seen(10.0, 100.0, 1.0, 50.0), Seen(20.0, 119.0, 1.1, 68.0), 2, 0.256)
        self.assertEqual(found, {"load_average": 0.26, "others": 0.05, "stolen": 0.005, "is_busy": True})

    def test_quiet(self) -> None:
        """A little is nothing; ticks that fall on the wrong side do not make it negative."""
        found = quiet.between(Seen(0.0, 0.0, 0.0, 0.0), Seen(100.0, 150.0, 0.1, 151.0), 2, 0.0)
        self.assertEqual((found["others"], found["is_busy"]), (0.0, False))

    def test_stolen(self) -> None:
        """Time that other guests of the host took makes a machine busy, too."""
        found = quiet.between(Seen(0.0, 0.0, 0.0, 0.0), Seen(100.0, 0.0, 4.0, 0.0), 2, 0.0)
        self.assertTrue(found["is_busy"])

    def test_line(self) -> None:
        """One line says it, and says loudly that figures of a busy machine are not to be compared."""
        found = {"load_average": 1.5, "others": 0.123, "stolen": 0.0, "is_busy": True}
        self.assertIn("BUSY", quiet.line(found))
        self.assertIn("others took 12.3% of all CPUs", quiet.line(found))
        self.assertNotIn("BUSY", quiet.line({**found, "is_busy": False}))

    def test_look(self) -> None:
        """What this process used is among what was spent on processes, and is ours."""
        before = quiet.look([])
        sum(range(2_000_000))
        after = quiet.look([])
        self.assertGreater(after.own, before.own)
        self.assertGreater(after.clock, before.clock)
        self.assertGreater(quiet.look([os.getpid()]).own, after.own)
