"""The series about connections without exchanges."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.connections import ConnectionMetrics
from ingress.model.network.streams import StreamSort


class ConnectionMetricsTests(SynchronousTestCase):
    """``ConnectionMetrics``, sample by sample."""

    def setUp(self) -> None:
        self.metrics = ConnectionMetrics()

    def samples(self) -> dict[tuple[str, ...], float]:
        """All samples that are not 0, by name and label values."""
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in self.metrics.families()
            for sample in family.samples
            if sample.value
        }

    def test_nothing(self) -> None:
        """A process that has none of it shows nothing but zeros."""
        self.assertEqual(self.samples(), {})

    def test_refused(self) -> None:
        """Refused beginnings are counted by cause."""
        for cause in ("late", "late", "stranger"):
            self.metrics.connection_start_refused(cause)
        name = "ingress_connection_starts_refused_total"
        self.assertEqual(self.samples(), {(name, "late"): 2, (name, "stranger"): 1})

    def test_passthrough(self) -> None:
        """Connections that pass through count while they are open, and with their bytes when they end."""
        self.metrics.stream_opened(StreamSort.PASSTHROUGH)
        self.metrics.stream_opened(StreamSort.PASSTHROUGH)
        self.assertEqual(self.samples(), {("ingress_passthrough_connections",): 2})
        self.metrics.stream_ended(StreamSort.PASSTHROUGH, 200, 10, 20)
        self.metrics.stream_ended(StreamSort.PASSTHROUGH, 502, 0, 0)
        self.assertEqual(
            self.samples(),
            {
                ("ingress_passthrough_connections_ended_total", "200"): 1,
                ("ingress_passthrough_connections_ended_total", "502"): 1,
                ("ingress_passthrough_bytes_total", "received"): 10,
                ("ingress_passthrough_bytes_total", "sent"): 20,
            },
        )

    def test_streams(self) -> None:
        """Streams whose bytes are seen here count by their sort, and none as passing through."""
        self.metrics.stream_opened(StreamSort.TCP)
        self.metrics.stream_opened(StreamSort.UDP)
        self.metrics.stream_opened(StreamSort.TERMINATED)
        self.metrics.stream_ended(StreamSort.TERMINATED, 400, 1, 2)
        self.assertEqual(
            self.samples(),
            {
                ("ingress_stream_connections", "tcp"): 1,
                ("ingress_stream_connections", "udp"): 1,
                ("ingress_stream_connections_ended_total", "terminated", "400"): 1,
                ("ingress_stream_bytes_total", "terminated", "received"): 1,
                ("ingress_stream_bytes_total", "terminated", "sent"): 2,
            },
        )
