"""The series about ports of UDP."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.udp import DROP_CAUSES, UdpMetrics


class UdpMetricsTests(SynchronousTestCase):
    """``UdpMetrics``, sample by sample."""

    def test_samples(self) -> None:
        """Sessions that made way, datagrams of sessions that ended, and those that went nowhere count, by cause, what is found by looking, too."""
        metrics = UdpMetrics()
        metrics.most = lambda: 7
        metrics.displaced += 2
        metrics.ended(3, 4)
        metrics.ended(1, 0)
        metrics.drop("loop")
        metrics.looks.add(lambda: metrics.drop("unread", 5))
        found = {
            (sample.name, *sample.labels.values()): sample.value
            for family in metrics.families()
            for sample in family.samples
        }
        self.assertEqual({one for _, *labels in found for one in labels}, {*DROP_CAUSES, "received", "sent"})
        self.assertEqual(
            {name: value for name, value in found.items() if value},
            {
                ("ingress_udp_sessions_most",): 7,
                ("ingress_udp_sessions_displaced_total",): 2,
                ("ingress_udp_datagrams_total", "received"): 4,
                ("ingress_udp_datagrams_total", "sent"): 4,
                ("ingress_udp_datagrams_dropped_total", "unread"): 5,
                ("ingress_udp_datagrams_dropped_total", "loop"): 1,
            },
        )
