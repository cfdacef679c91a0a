"""Tests for how near memory is to its limit, by plain numbers."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.process.caps.cgroups import Cap
from ingress.process.caps.memory_marks import LASTING_SECONDS, Level, MemoryMarks

LIMIT = 1000


class MemoryMarksTests(SynchronousTestCase):
    """Levels of what is used of 1000 bytes, by a process that takes 200."""

    def setUp(self) -> None:
        self.marks = MemoryMarks()
        self.now = 100.0
        self.take(200)

    def take(self, used: int, seconds: float = 1.0, limit: int = LIMIT) -> Level:
        """Return the level a moment later."""
        self.now += seconds
        return self.marks.take(Cap(limit, used), self.now)

    def test_levels(self) -> None:
        """Below 90 percent there is room, from 95 on memory is short."""
        found = [self.take(used) for used in (200, 899, 900, 949, 950, 1000)]
        self.assertEqual(found, [Level.ROOMY, Level.ROOMY, Level.NEAR, Level.NEAR, Level.SHORT, Level.SHORT])

    def test_hysteresis(self) -> None:
        """What was above a mark has to be below it by a good part."""
        self.take(960)
        self.assertEqual(
            [self.take(used) for used in (940, 924, 880, 870)],
            [Level.SHORT, Level.NEAR, Level.NEAR, Level.ROOMY],
        )

    def test_base(self) -> None:
        """A process that takes most of its limit by itself is at no mark; these lie in what is left."""
        marks = MemoryMarks()
        self.assertEqual(marks.take(Cap(LIMIT, 960), 100.0), Level.ROOMY)
        self.assertEqual(marks.marks(LIMIT), (980, 990))
        self.assertEqual(marks.take(Cap(LIMIT, 985), 101.0), Level.NEAR)

    def test_stays(self) -> None:
        """What stays above a mark for long is what the process needs: nobody is refused for ever."""
        self.assertIs(self.take(960), Level.SHORT)
        self.assertIs(self.take(960, LASTING_SECONDS / 2), Level.SHORT)
        self.assertIs(self.take(960, LASTING_SECONDS / 2), Level.ROOMY)
        self.assertIs(self.take(961), Level.ROOMY)
        self.assertIs(self.take(999), Level.SHORT)

    def test_falls_again(self) -> None:
        """Once less is needed, the marks are where they were."""
        self.take(960)
        self.take(960, LASTING_SECONDS)
        self.take(300)
        self.assertIs(self.take(900), Level.NEAR)

    def test_resized(self) -> None:
        """Another limit counts from the next look on."""
        self.assertIs(self.take(940), Level.NEAR)
        self.assertIs(self.take(940, limit=2 * LIMIT), Level.ROOMY)
        self.assertIs(self.take(940, limit=LIMIT), Level.NEAR)
        self.assertIs(self.take(940, limit=900), Level.SHORT)

    def test_how_often(self) -> None:
        """It is looked again before memory can have grown to the next mark, though never more often than twenty times a second."""
        mib = 1 << 20
        marks = MemoryMarks()
        seconds = []
        for used in (0, 8000, 8900, 9100, 9400, 9990):
            cap = Cap(10_000 * mib, used * mib)
            marks.take(cap, 100.0)
            seconds.append(marks.seconds_to_next(cap))
        self.assertEqual(seconds, [1.0, 1.0, 0.25, 1.0, 0.25, 0.05])
        self.assertEqual(marks.seconds_to_next(Cap(LIMIT, 999)), 0.05)
        self.assertEqual(marks.seconds_to_next(None), 1.0)

    def test_no_limit(self) -> None:
        """Without a limit there is room, and what was short is not any more."""
        self.take(1000)
        self.assertIs(self.marks.take(None, self.now), Level.ROOMY)

    def test_switched_off(self) -> None:
        """A share of 0 means that nobody looks."""
        self.marks.near_share = 0.0
        self.assertIs(self.take(1000), Level.ROOMY)
