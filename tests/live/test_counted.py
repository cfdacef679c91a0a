"""What is read of the counters: of the whole house, and of each row."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.live.counted import ROWS, counted
from ingress.metrics.metrics import Metrics
from ingress.metrics.totals.tallying import Tallying
from ingress.metrics.totals.totals import Totals
from ingress.model.exchanges.causes import Cause
from ingress.model.network.streams import StreamSort
from tests.fakes.records import record_of


def count(metrics: Metrics) -> None:
    """Count three exchanges, of which one failed and one was refused, and connections."""
    metrics.exchanges.ended(record_of(None, 200, 0.004))
    metrics.exchanges.ended(record_of(None, 502, 0.004)._replace(cause=Cause.BAD_GATEWAY))
    metrics.exchanges.ended(record_of(None, 403, 0.004)._replace(cause=Cause.AUTH))
    metrics.downstream_opened(True)
    metrics.downstream_opened(False)
    metrics.upstream_opened()


class CountedTests(SynchronousTestCase):
    """One process, and several."""

    def test_house(self) -> None:
        """Requests, failures by cause, times and connections are read as they are now."""
        metrics = Metrics()
        before = counted(metrics)
        count(metrics)
        now = counted(metrics)
        self.assertEqual((before.requests, now.requests), (0, 3))
        self.assertEqual(
            {cause: some for cause, some in now.failures.items() if some}, {"bad-gateway": 1, "auth": 1}
        )
        self.assertEqual((sum(before.durations), sum(now.durations)), (0, 3))
        self.assertEqual((now.clients, now.endpoint_connections, now.ejected), (2, 1, 0))

    def test_streams(self) -> None:
        """Streams are those of TCP and TLS, beside sessions of UDP; of UDP datagrams are counted, both ways, and drops of any cause."""
        metrics = Metrics()
        for sort in (
            StreamSort.TCP,
            StreamSort.TERMINATED,
            StreamSort.PASSTHROUGH,
            StreamSort.UDP,
            StreamSort.UDP,
        ):
            metrics.connections.stream_opened(sort)
        metrics.connections.stream_ended(StreamSort.TCP, 200, 1, 1)
        metrics.udp.ended(3, 4)
        metrics.udp.drop("loop")
        metrics.udp.drop("no-endpoint")
        now = counted(metrics)
        self.assertEqual((now.streams, now.udp_sessions, now.datagrams, now.dropped), (2, 2, 7, 2))

    def test_workers(self) -> None:
        """What workers tell is in it."""
        parent = Metrics()
        totals = Totals(parent)
        for slot in range(2):
            worker = Metrics()
            tallying = Tallying(worker)
            count(worker)
            life = totals.begin(slot)
            for octets in tallying.take(False):
                life.take(octets)
        now = counted(parent)
        self.assertEqual((now.requests, now.failures["bad-gateway"], sum(now.durations)), (6, 2, 6))
        self.assertEqual((now.clients, now.endpoint_connections), (4, 2))
        self.assertEqual(ROWS.requests(parent.exchanges.rows[0]), 6)

    def test_row(self) -> None:
        """Of a row what was refused as it was meant to be is no failure of the service; its mark is another after each exchange."""
        metrics = Metrics()
        row = metrics.exchanges.rows[0]
        before = ROWS.mark(row)
        count(metrics)
        self.assertNotEqual(ROWS.mark(row), before)
        self.assertEqual(
            (ROWS.name(row), ROWS.requests(row), ROWS.failed(row), sum(ROWS.durations(row))), ("//", 3, 1, 3)
        )

    def test_auth_service_away(self) -> None:
        """Where nobody can find out who may come in the service fails those who ask, though it was not asked."""
        metrics = Metrics()
        metrics.exchanges.ended(record_of(None, 500, 0.004)._replace(cause=Cause.AUTH_FAILED))
        self.assertEqual(ROWS.failed(metrics.exchanges.rows[0]), 1)
