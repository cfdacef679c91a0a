"""The metrics of all workers, in their parent."""

from collections.abc import Collection, Mapping

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.metrics import Metrics
from ingress.workers.telling.pool_metrics import PoolMetrics

TALLY = b'{"summed":[["ingress_upstream_failures_total",1],["ingress_upstream_connections",5]]}'


class PoolMetricsTests(SynchronousTestCase):
    """``PoolMetrics``, seen through what Prometheus would get."""

    def setUp(self) -> None:
        self.metrics = Metrics()
        self.clock = Clock()
        self.asked = 0
        self.pool = PoolMetrics(self.metrics, self.clock, self.ask)

    def ask(self, owing: Collection[int]) -> Mapping[int, Deferred[bytes]]:
        self.asked += 1
        self.pool.took(1, TALLY)
        return {1: succeed(b"")}

    def has(self, line: str) -> bool:
        return f"\n{line}\n" in self.metrics.render().decode()

    def test_lives(self) -> None:
        """What workers told stays when they are gone, but for what is only true of processes that live."""
        self.pool.began(1, 0)
        self.pool.began(2, 0)
        self.pool.took(1, TALLY)
        self.pool.took(2, TALLY)
        self.assertTrue(self.has("ingress_upstream_connections 10.0"))
        self.pool.gone(1)
        self.assertTrue(self.has("ingress_upstream_connections 5.0"))
        self.assertTrue(self.has("ingress_upstream_failures_total 2.0"))

    def test_gone(self) -> None:
        """What comes of one that is gone, or never was, is nobody's."""
        self.pool.began(1, 0)
        self.pool.gone(1)
        self.pool.gone(1)
        self.pool.took(1, TALLY)
        self.assertTrue(self.has("ingress_upstream_failures_total 0.0"))

    def test_nonsense(self) -> None:
        """Of a worker that tells nonsense the log says so once; what else it tells counts."""
        self.pool.began(1, 0)
        with capturedLogs() as lines:
            for _ in range(5):
                self.pool.took(1, b"\x00 nonsense")
        self.assertEqual([line["log_level"] for line in lines], [LogLevel.error])
        self.pool.took(1, TALLY)
        self.assertTrue(self.has("ingress_upstream_failures_total 1.0"))

    def test_told(self) -> None:
        """Who wants to see numbers has the workers asked first."""
        self.pool.began(1, 0)
        told = self.pool.told()
        self.clock.advance(0)
        self.successResultOf(told)
        self.assertEqual(self.asked, 1)
        self.assertTrue(self.has("ingress_upstream_failures_total 1.0"))
