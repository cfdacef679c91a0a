"""Tests for ``ingress.cluster.api.backoff``."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.backoff import Backoff


class BackoffTests(SynchronousTestCase):
    """Delays after errors."""

    def setUp(self) -> None:
        self.clock = Clock()

    def backoff(self, random: float) -> Backoff:
        return Backoff(self.clock.seconds, lambda: random)

    def test_doubles_to_the_ceiling(self) -> None:
        """Each error waits twice as long as the one before, up to 30 s."""
        backoff = self.backoff(0.0)
        delays = [round(backoff.failed(), 3) for _ in range(8)]
        self.assertEqual(delays, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])

    def test_jitter(self) -> None:
        """The random factor lies between one and two."""
        self.assertAlmostEqual(self.backoff(0.5).failed(), 1.2)
        self.assertEqual(self.backoff(1.0).failed(), 1.6)

    def test_forgets_after_two_quiet_minutes(self) -> None:
        """Two minutes without error bring the first delay back; a little less does not."""
        backoff = self.backoff(0.0)
        backoff.failed()
        self.clock.advance(119)
        self.assertEqual(backoff.failed(), 1.6)
        self.clock.advance(121)
        self.assertEqual(backoff.failed(), 0.8)

    def test_retry_after_is_a_lower_bound(self) -> None:
        """The server may ask for a longer wait, never for a shorter one."""
        backoff = self.backoff(0.0)
        self.assertEqual(backoff.failed(5.0), 5.0)
        self.assertEqual(backoff.failed(0.1), 1.6)

    def test_worked(self) -> None:
        """What was well for a while makes the next error a first one, however soon it comes."""
        backoff = self.backoff(0.0)
        backoff.failed()
        backoff.failed()
        backoff.worked()
        self.assertEqual(backoff.failed(), 0.8)
