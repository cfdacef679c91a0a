"""The series about connections that carry no exchange: TLS that passes through, and refused beginnings.

``ingress.metrics.Metrics`` shows these series with its own; this module reads no clock.  All of
it belongs to the reactor thread.
"""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

REFUSED_CAUSES = ("stranger", "malformed", "unfinished", "late")
"""Why a connection was closed before it had a protocol: its peer may not send a PROXY header, the
header was none, the peer ended first, it took too long."""

PASSTHROUGH_STATUSES = (200, 499, 502, 503, 504)
"""What the log says of TLS that passed through, or did not."""


class ConnectionMetrics:
    """Counters and a gauge."""

    def __init__(self) -> None:
        self._refused = dict.fromkeys(REFUSED_CAUSES, 0)
        self._open = 0
        self._ended = dict.fromkeys(PASSTHROUGH_STATUSES, 0)
        self._received = 0
        self._sent = 0

    def preface_refused(self, cause: str) -> None:
        """Count a connection that was closed at its beginning; *cause* is one of ``REFUSED_CAUSES``."""
        self._refused[cause] += 1

    def passthrough_opened(self) -> None:
        """Count a connection whose TLS is to pass through."""
        self._open += 1

    def passthrough_ended(self, status: int, received: int, sent: int) -> None:
        """Count its end; *received* and *sent* are the bytes that came from the client and went to it."""
        self._open -= 1
        self._ended[status] += 1
        self._received += received
        self._sent += sent

    def families(self) -> Iterable[Metric]:
        """Yield the series."""
        refused = CounterMetricFamily(
            "ingress_prefaces_refused",
            "Connections closed before they had a protocol, by cause.",
            labels=("cause",),
        )
        for cause, count in self._refused.items():
            refused.add_metric((cause,), count)
        yield refused
        yield GaugeMetricFamily(
            "ingress_passthrough_connections", "Connections open now whose TLS passes through.", self._open
        )
        ended = CounterMetricFamily(
            "ingress_passthrough_connections_ended",
            "Connections ended whose TLS was to pass through, by status of the log.",
            labels=("status",),
        )
        for status, count in self._ended.items():
            ended.add_metric((str(status),), count)
        yield ended
        octets = CounterMetricFamily(
            "ingress_passthrough_bytes",
            "Bytes that passed through in connections that have ended, by direction.",
            labels=("direction",),
        )
        octets.add_metric(("received",), self._received)
        octets.add_metric(("sent",), self._sent)
        yield octets
