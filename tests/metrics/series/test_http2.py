"""Tests for ``ingress.metrics.series.http2``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.http2 import Http2Metrics


class Http2MetricsTests(SynchronousTestCase):
    """What HTTP/2 counts."""

    def test_sides(self) -> None:
        """Both sides count their connections, streams and failures apart."""
        metrics = Http2Metrics()
        metrics.downstream.open = 2
        metrics.downstream.streams = 30
        metrics.upstream.open = 1
        metrics.upstream.streams = 29
        metrics.upstream.failed = 1
        shown = {
            (sample.name.removeprefix("ingress_http2_"), sample.labels["side"]): sample.value
            for family in metrics.families()
            for sample in family.samples
        }
        self.assertEqual(
            shown,
            {
                ("connections", "downstream"): 2,
                ("connections", "upstream"): 1,
                ("streams_total", "downstream"): 30,
                ("streams_total", "upstream"): 29,
                ("connections_failed_total", "downstream"): 0,
                ("connections_failed_total", "upstream"): 1,
            },
        )
