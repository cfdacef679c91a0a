"""The series about connections apart from their exchanges: how many there may be, TLS that passes through, refused beginnings.

``Metrics`` shows these series with its own; this module reads no clock.  All of
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
        self._pauses = 0
        self._streams_refused = 0
        self._closed_early = 0
        self._passed_over = 0
        self._open = 0
        self._ended = dict.fromkeys(PASSTHROUGH_STATUSES, 0)
        self._received = 0
        self._sent = 0

    def connection_start_refused(self, cause: str) -> None:
        """Count a connection that was closed at its beginning; *cause* is one of ``REFUSED_CAUSES``."""
        self._refused[cause] += 1

    def limit_reached(self) -> None:
        """Count a time that accepting pauses, since there are as many connections as there may be."""
        self._pauses += 1

    def stream_refused(self) -> None:
        """Count a request over HTTP/2 that was refused, since few sockets are left."""
        self._streams_refused += 1

    def closed_early(self, count: int) -> None:
        """Count connections at rest that were closed to make room for others."""
        self._closed_early += count

    def endpoint_passed_over(self) -> None:
        """Count a time that an endpoint got no request, since it has as many connections as it may."""
        self._passed_over += 1

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
            "ingress_connection_starts_refused",
            "Connections closed before they had a protocol, by cause.",
            labels=("cause",),
        )
        for cause, count in self._refused.items():
            refused.add_metric((cause,), count)
        yield refused
        yield CounterMetricFamily(
            "ingress_accept_pauses",
            "Times that accepting paused: as many connections as there may be, or no descriptor left.",
            self._pauses,
        )
        yield CounterMetricFamily(
            "ingress_downstream_connections_closed_early",
            "Connections at rest that were closed to make room for others.",
            self._closed_early,
        )
        yield CounterMetricFamily(
            "ingress_http2_streams_refused",
            "Requests refused of clients of HTTP/2 that had others under way, since few sockets were left.",
            self._streams_refused,
        )
        yield CounterMetricFamily(
            "ingress_endpoints_passed_over",
            "Times that an endpoint was passed over, since it had as many connections as it may.",
            self._passed_over,
        )
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
