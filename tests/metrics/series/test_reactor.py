"""How late a reactor has come of late."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.reactor import WINDOW_SECONDS, WorstLateness


class WorstLatenessTests(SynchronousTestCase):
    """``WorstLateness``."""

    def test_worst(self) -> None:
        """The worst is told for some seconds, and then forgotten."""
        worst = WorstLateness()
        worst.take(100.0, 0.001)
        worst.take(101.0, 0.3)
        for second in range(5):
            self.assertEqual(worst.take(102.0 + second, 0.001), 0.3)
        self.assertEqual(worst.take(102.0 + 2 * WINDOW_SECONDS, 0.002), 0.002)

    def test_long_silence(self) -> None:
        """After a time without any turn only that counts."""
        worst = WorstLateness()
        worst.take(100.0, 0.3)
        self.assertEqual(worst.take(200.0, 100.0), 100.0)
        self.assertEqual(worst.take(200.0 + 3 * WINDOW_SECONDS, 0.0), 0.0)
