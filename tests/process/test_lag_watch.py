"""Looking whether the reactor comes in time."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.metrics import Metrics
from ingress.process.lag_watch import EVERY_SECONDS, LagWatch


class LagWatchTests(SynchronousTestCase):
    """``LagWatch``, and what metrics show of it."""

    def test_looks(self) -> None:
        """Each look says how late it was, and the next one is due some time after it; stopped, it looks no more."""
        clock = Clock()
        found: list[tuple[float, float]] = []
        watch = LagWatch(clock, lambda late, now: found.append((round(late, 6), now)))
        watch.start()
        clock.advance(EVERY_SECONDS)
        clock.advance(EVERY_SECONDS + 0.25)
        self.assertEqual(found, [(0.0, EVERY_SECONDS), (0.25, 2 * EVERY_SECONDS + 0.25)])
        watch.stop()
        watch.stop()
        clock.advance(10 * EVERY_SECONDS)
        self.assertEqual(len(found), 2)
        self.assertEqual(clock.getDelayedCalls(), [])

    def test_shown(self) -> None:
        """The worst of the last seconds is a gauge, and all looks are a histogram."""
        metrics = Metrics()
        for late, now in ((-0.001, 1.0), (0.3, 2.0), (0.002, 3.0)):
            metrics.reactor.looked(late, now)
        text = metrics.render().decode()
        self.assertIn("\ningress_reactor_lag_seconds 0.3\n", text)
        self.assertIn('\ningress_reactor_delay_seconds_bucket{le="0.005"} 2.0\n', text)
        self.assertIn("\ningress_reactor_delay_seconds_count 3.0\n", text)
        self.assertIn("\ningress_reactor_delay_seconds_sum 0.302\n", text)
