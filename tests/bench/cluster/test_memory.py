"""The parts of the benchmark of memory that need no processes."""

from twisted.trial.unittest import SynchronousTestCase

from bench.cluster.memory import HEAD, Figure
from bench.reports.tables import text_table


class FigureTests(SynchronousTestCase):
    """Figures beside their goals."""

    def test_verdicts(self) -> None:
        """What is as much as its goal has met it, what is more has not, however little, and what has no goal has no verdict."""
        rows = [Figure("a", "MiB", each, goal).row() for each, goal in ((45, 45), (45.001, 45), (7, None))]
        self.assertEqual([row[2:] for row in rows], [["≤ 45", "yes"], ["≤ 45", "no"], ["-", "-"]])

    def test_table(self) -> None:
        """Large figures have no decimals, and all have their unit."""
        printed = text_table(
            [HEAD, Figure("one", "KiB each", 1.4639, 1.5).row(), Figure("all", "MiB", 112.4).row()]
        )
        self.assertEqual(
            printed.splitlines(),
            [
                "               measured   goal  met",
                "one, KiB each      1.46  ≤ 1.5  yes",
                "all, MiB            112      -    -",
            ],
        )
