"""The series about HTTP/2: its connections, the streams on them, and those that a fault ended.

What a stream carries is an exchange, and counted as one.  ``Metrics`` shows these series with
its own; this module reads no clock.  All of it belongs to the reactor thread.
"""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric


class SideMetrics:
    """What the connections of one side count; a stream is one addition."""

    __slots__ = ("failed", "open", "streams")

    def __init__(self) -> None:
        self.open = 0
        """Connections open now."""
        self.streams = 0
        """Streams begun."""
        self.failed = 0
        """Connections that were ended for what the peer did."""


class Http2Metrics:
    """Both sides."""

    def __init__(self) -> None:
        self.downstream = SideMetrics()
        self.upstream = SideMetrics()

    def families(self) -> Iterable[Metric]:
        """Yield the series."""
        still_open = GaugeMetricFamily(
            "ingress_http2_connections", "Connections open now that speak HTTP/2, by side.", labels=("side",)
        )
        streams = CounterMetricFamily(
            "ingress_http2_streams",
            "Streams begun: requests over HTTP/2, from clients (downstream) and to endpoints (upstream).",
            labels=("side",),
        )
        failed = CounterMetricFamily(
            "ingress_http2_connections_failed",
            "Connections that speak HTTP/2 and were ended for what the peer did, by side.",
            labels=("side",),
        )
        for name, side in (("downstream", self.downstream), ("upstream", self.upstream)):
            still_open.add_metric((name,), side.open)
            streams.add_metric((name,), side.streams)
            failed.add_metric((name,), side.failed)
        yield still_open
        yield streams
        yield failed
