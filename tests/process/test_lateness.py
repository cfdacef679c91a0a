"""Tests for how late a process is, by plain numbers."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.process.lateness import EVERY_SECONDS, LATE_SECONDS, VALID_SECONDS, Lateness


class LatenessTests(SynchronousTestCase):
    """What one ``Lateness`` concludes of its probes."""

    def setUp(self) -> None:
        self.lateness = Lateness()

    def test_unknown(self) -> None:
        """As long as no probe was sent there is little to do, and nothing waits."""
        self.assertEqual(self.lateness.seconds(100.0), 0.0)
        self.assertFalse(self.lateness.is_late(100.0))

    def test_came_back(self) -> None:
        """What waits as long as the last probe did is late, until that is long ago."""
        self.lateness.sent(100.0)
        self.lateness.came_back(100.2)
        self.assertAlmostEqual(self.lateness.seconds(100.2), 0.2)
        self.assertTrue(self.lateness.is_late(100.2))
        self.assertEqual(self.lateness.seconds(100.2 + 2 * VALID_SECONDS), 0.0)

    def test_under_way(self) -> None:
        """A probe that does not come back says by that how late it is."""
        self.lateness.sent(100.0)
        self.assertAlmostEqual(self.lateness.seconds(100.3), 0.3)
        self.assertFalse(self.lateness.is_late(100.0 + LATE_SECONDS / 2))
        self.assertTrue(self.lateness.is_late(100.0 + 2 * LATE_SECONDS))

    def test_one_at_a_time(self) -> None:
        """Another probe is sent once the last one is back, and a moment after that."""
        self.assertTrue(self.lateness.wants_probe(100.0))
        self.lateness.sent(100.0)
        self.assertFalse(self.lateness.wants_probe(101.0))
        self.lateness.came_back(101.0)
        self.assertFalse(self.lateness.wants_probe(101.0 + EVERY_SECONDS / 2))
        self.assertTrue(self.lateness.wants_probe(101.0 + 2 * EVERY_SECONDS))

    def test_told(self) -> None:
        """Whoever wants to know is told with each probe that comes back, and while one should have."""
        told: list[tuple[float, float]] = []
        self.lateness.told = lambda late, now: told.append((round(late, 3), now))
        self.lateness.sent(100.0)
        self.lateness.wants_probe(100.5)
        self.lateness.came_back(101.0)
        self.assertEqual(told, [(0.5, 100.5), (1.0, 101.0)])

    def test_away(self) -> None:
        """Who did other work is as late as that was long."""
        self.lateness.was_away(0.3, 100.4)
        self.assertAlmostEqual(self.lateness.seconds(100.4), 0.3)
        self.assertTrue(self.lateness.is_late(100.4))

    def test_strange_event(self) -> None:
        """An event that is no probe's says nothing."""
        self.lateness.came_back(100.0)
        self.assertEqual(self.lateness.seconds(100.0), 0.0)
