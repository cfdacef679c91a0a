"""Figures are judged by their bounds, and a row by all of them."""

from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.faults.checks import Checks, Verdict, number
from bench.disruptions.faults.gauges import established
from bench.disruptions.faults.trend import growth, slope


class ChecksTests(SynchronousTestCase):
    """The figures of one script."""

    def test_bounds(self) -> None:
        """Each kind of check is met on its bound and missed beyond it."""
        checks = Checks()
        checks.none("a", 0)
        checks.at_most("b", 2.0, 2)
        checks.between("c", 1, 1, 2)
        checks.equal("d", "x", "x")
        checks.holds("e", True)
        self.assertIs(checks.verdict, Verdict.PASSED)
        for miss in (
            lambda: checks.none("a", 1),
            lambda: checks.at_most("b", 2.1, 2),
            lambda: checks.between("c", 2.1, 1, 2),
            lambda: checks.between("c", 0.9, 1, 2),
            lambda: checks.equal("d", "x", "y"),
            lambda: checks.holds("e", False),
        ):
            miss()
            self.assertIs(checks.verdict, Verdict.FAILED)
            checks.found.pop()
        self.assertIs(checks.verdict, Verdict.PASSED)

    def test_notes_judge_nothing(self) -> None:
        """A script that only tells figures has shown nothing."""
        checks = Checks()
        checks.note("requests", 5)
        self.assertIs(checks.verdict, Verdict.UNPLAYED)

    def test_text(self) -> None:
        """What is missed stands beside its bound; what is met stands alone."""
        checks = Checks()
        checks.at_most("back after", 1.234, 12, "s")
        checks.none("failed", 3)
        checks.holds("the other answers", False)
        self.assertEqual(str(checks), "back after 1.23 s; failed 3 (must be 0); NOT: the other answers")

    def test_numbers(self) -> None:
        """Numbers have the digits that they are worth; what did not happen is infinite."""
        for value, text in ((12345, "12,345"), (123.4, "123"), (0.01234, "0.0123"), (float("inf"), "never")):
            self.assertEqual(number(value), text)


class EstablishedTests(SynchronousTestCase):
    """Connections in the kernel's table."""

    def test_counted(self) -> None:
        """Only established connections are counted, and only on the side of the port."""
        table = "  sl  local_address rem_address   st tx_queue rx_queue\n" + "\n".join(
            f"   {number}: 0100007F:{local} 0100007F:{remote} {state} 00000000:00000000"
            for number, (local, remote, state) in enumerate(
                (
                    ("1F90", "0000", "0A"),
                    ("1F90", "A000", "01"),
                    ("A000", "1F90", "01"),
                    ("1F90", "A001", "04"),
                )
            )
        )
        self.assertEqual(established(0x1F90, table), 1)


class TrendTests(SynchronousTestCase):
    """Whether a series grows."""

    def test_slope(self) -> None:
        """The slope is that of the line, in the units of both series."""
        self.assertAlmostEqual(slope([0, 1, 2, 3], [5, 7, 9, 11]), 2)
        self.assertAlmostEqual(slope([0, 1, 2, 3], [5, 6, 6, 5]), 0)
        self.assertEqual((slope([1], [2]), slope([1, 1], [2, 3]), slope([], [])), (0, 0, 0))

    def test_growth(self) -> None:
        """What goes up and down is flat; what never comes down again has grown."""
        self.assertLessEqual(growth([5, 9, 5, 9, 5, 9, 5, 9, 5]), 0)
        self.assertEqual(growth([5, 5, 6, 7, 8, 9, 10, 11, 12]), 4)
