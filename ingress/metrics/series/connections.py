"""The series about connections apart from their exchanges: how many there may be, streams, refused beginnings.

``Metrics`` shows these series with its own; this module reads no clock.  All of
it belongs to the reactor thread.
"""

from collections.abc import Callable, Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ingress.model.network.streams import StreamSort

REFUSED_CAUSES = ("stranger", "malformed", "unfinished", "late", "unserved")
"""Why a connection was closed before it had a protocol: its peer may not send a PROXY header, the
header was none, the peer ended first, it took too long, no listener has the name that it is for."""

STREAM_STATUSES = (200, 400, 499, 502, 503, 504)
"""What the log says of streams, or of what was to be one: 400 where a client certificate was not accepted."""


_COUNTED = (StreamSort.TCP, StreamSort.UDP, StreamSort.TERMINATED)
"""The sorts that are counted by themselves; TLS that passes through has series of its own."""


class _Streams:
    """What is counted of streams of some sorts."""

    def __init__(self, statuses: Iterable[int]) -> None:
        self.open = 0
        self.ended = dict.fromkeys(statuses, 0)
        self.received = 0
        self.sent = 0

    def end(self, status: int, received: int, sent: int) -> None:
        """Count one that ended."""
        self.open -= 1
        self.ended[status] += 1
        self.received += received
        self.sent += sent


def _nothing() -> int:
    return 0


class ConnectionMetrics:
    """Counters and gauges."""

    def __init__(self) -> None:
        self.most: Callable[[], int] = _nothing
        """Returns how many connections of clients there may be; whoever accepts them sets it."""
        self._refused = dict.fromkeys(REFUSED_CAUSES, 0)
        self._pauses = 0
        self._streams_refused = 0
        self._closed_early = 0
        self._passed_over = 0
        # What passes through is nobody's certificate of ours, and is never asked for one.
        self._passing = _Streams(one for one in STREAM_STATUSES if one != 400)
        self._streams = {sort: _Streams(STREAM_STATUSES) for sort in _COUNTED}

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

    def stream_opened(self, sort: StreamSort) -> None:
        """Count a connection that is to be a stream."""
        self._streams.get(sort, self._passing).open += 1

    def stream_ended(self, sort: StreamSort, status: int, received: int, sent: int) -> None:
        """Count its end; *received* and *sent* are the bytes that came from the client and went to it."""
        self._streams.get(sort, self._passing).end(status, received, sent)

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
        yield GaugeMetricFamily(
            "ingress_downstream_connections_most",
            "Connections from clients that there may be at a time.",
            self.most(),
        )
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
        passing = self._passing
        yield GaugeMetricFamily(
            "ingress_passthrough_connections",
            "Connections open now whose TLS passes through.",
            passing.open,
        )
        ended = CounterMetricFamily(
            "ingress_passthrough_connections_ended",
            "Connections ended whose TLS was to pass through, by status of the log.",
            labels=("status",),
        )
        for status, count in passing.ended.items():
            ended.add_metric((str(status),), count)
        yield ended
        octets = CounterMetricFamily(
            "ingress_passthrough_bytes",
            "Bytes that passed through in connections that have ended, by direction.",
            labels=("direction",),
        )
        octets.add_metric(("received",), passing.received)
        octets.add_metric(("sent",), passing.sent)
        yield octets
        yield from self._other_streams()

    def _other_streams(self) -> Iterable[Metric]:
        """Yield the series about streams whose bytes are seen here."""
        streams = GaugeMetricFamily(
            "ingress_stream_connections",
            "Connections open now that are streams of TCP, or of TLS that is terminated here, and sessions of UDP, by sort.",
            labels=("sort",),
        )
        ended = CounterMetricFamily(
            "ingress_stream_connections_ended",
            "Connections and sessions ended that were such streams, or were to be, by sort and status of the log.",
            labels=("sort", "status"),
        )
        octets = CounterMetricFamily(
            "ingress_stream_bytes",
            "Bytes of such streams that have ended, by sort and direction.",
            labels=("sort", "direction"),
        )
        for sort, counted in self._streams.items():
            streams.add_metric((sort.value,), counted.open)
            for status, count in counted.ended.items():
                ended.add_metric((sort.value, str(status)), count)
            octets.add_metric((sort.value, "received"), counted.received)
            octets.add_metric((sort.value, "sent"), counted.sent)
        yield streams
        yield ended
        yield octets
