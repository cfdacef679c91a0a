"""Whether a peer takes what waits for it."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.progress import Progress


class ProgressTests(SynchronousTestCase):
    """``is_stuck``, looked at once a second."""

    def test_slow(self) -> None:
        """A peer that takes a byte in time, again and again, is not stuck."""
        progress = Progress()
        for second in range(500):
            self.assertFalse(progress.is_stuck(1000 - second // 50, second, 60.0))

    def test_stuck(self) -> None:
        """A peer that takes nothing is, when its time is over, and a tick that is early does not spare it."""
        progress = Progress()
        looks = [progress.is_stuck(1000, second * 0.9999, 5.0) for second in range(7)]
        self.assertEqual(looks, [False] * 5 + [True] * 2)

    def test_nothing_waits(self) -> None:
        """Nobody is stuck for whom nothing waits."""
        progress = Progress()
        self.assertFalse(any(progress.is_stuck(0, second, 5.0) for second in range(100)))

    def test_more_waits(self) -> None:
        """Who takes nothing is stuck, however much is added meanwhile."""
        progress = Progress()
        looks = [progress.is_stuck(1000 + second, second, 5.0) for second in range(7)]
        self.assertEqual(looks, [False] * 5 + [True] * 2)

    def test_more_and_less(self) -> None:
        """Who takes some of what is added is not."""
        progress = Progress()
        for second in range(500):
            self.assertFalse(progress.is_stuck(1000 + second * 10 - 50 * (second % 50 == 0), second, 60.0))
