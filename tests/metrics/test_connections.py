"""The series about connections without exchanges."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.connections import ConnectionMetrics


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
        self.metrics.passthrough_opened()
        self.metrics.passthrough_opened()
        self.assertEqual(self.samples(), {("ingress_passthrough_connections",): 2})
        self.metrics.passthrough_ended(200, 10, 20)
        self.metrics.passthrough_ended(502, 0, 0)
        self.assertEqual(
            self.samples(),
            {
                ("ingress_passthrough_connections_ended_total", "200"): 1,
                ("ingress_passthrough_connections_ended_total", "502"): 1,
                ("ingress_passthrough_bytes_total", "received"): 10,
                ("ingress_passthrough_bytes_total", "sent"): 20,
            },
        )
