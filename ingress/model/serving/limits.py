"""What a peer may take, in time and in number, as the operator and the Ingresses set it.

Bounds that nobody can set stand in ``ingress.proxy.contract.limits``, those of the grammar in
``ingress.http``.  Times are in seconds.
"""

from functools import lru_cache
from typing import Final

from ingress.model.frozen import frozen
from ingress.model.upstream.retries import MAX_TRIES, RetryRule

USUAL_HEAD_BYTES: Final = 64 * 1024
"""Of the head of an answer.  Applications set large cookies; nginx stops at 4 KiB, Envoy at 60 KiB."""
ENDLESS: Final = 31_536_000.0
"""A year, where nothing is to end by time."""


@frozen
class Timeouts:
    """How long an endpoint may take, and how long the head of its answer may be."""

    connect_seconds: float = 5.0
    """To make a connection; ingress-nginx ``proxy-connect-timeout`` 5 s."""
    read_seconds: float = 60.0
    """For the next piece of its answer; ingress-nginx ``proxy-read-timeout`` 60 s."""
    send_seconds: float = 60.0
    """To take some more of the request; ingress-nginx ``proxy-send-timeout`` 60 s."""
    head_bytes: int = USUAL_HEAD_BYTES
    """Of the head of its answer, in HTTP/1.1; what is longer is no answer."""


@frozen
class AskedTimeouts:
    """What a route asks for; None is what holds for all."""

    connect_seconds: float | None = None
    read_seconds: float | None = None
    send_seconds: float | None = None
    head_bytes: int | None = None
    request_seconds: float | None = None
    """For all of an exchange, with all of its attempts; 0 means no bound, as None does."""
    attempt_seconds: float | None = None
    """For one attempt, from when it is sent to the end of its answer; 0 means no bound, as None does."""
    spares_tunnels: bool | None = None
    """Whether all of these are not for tunnels, which may rest for as long as they like."""

    def completed_by(self, usual: Timeouts) -> Timeouts:
        """Return all of them, with the *usual* ones where nothing is asked for."""
        return _completed(self, usual)


@lru_cache(maxsize=1024)
def _completed(asked: AskedTimeouts, usual: Timeouts) -> Timeouts:
    return Timeouts(
        usual.connect_seconds if asked.connect_seconds is None else asked.connect_seconds,
        usual.read_seconds if asked.read_seconds is None else asked.read_seconds,
        usual.send_seconds if asked.send_seconds is None else asked.send_seconds,
        usual.head_bytes if asked.head_bytes is None else asked.head_bytes,
    )


@frozen
class StreamTries:
    """After what another endpoint is tried for a stream, or a session of UDP; the defaults are those of ingress-nginx."""

    is_on: bool = True
    """Whether one is at all (``proxy-stream-next-upstream``)."""
    most: int = MAX_TRIES
    """Endpoints that are tried, the first one included; 0 means no limit (``proxy-stream-next-upstream-tries``)."""
    seconds: float = 600.0
    """From its beginning to the last try that is begun; 0 means no limit (``proxy-stream-next-upstream-timeout``)."""

    @property
    def rule(self) -> RetryRule:
        """The same for those who try."""
        return _stream_rule(self.is_on, self.most, self.seconds)


@lru_cache(maxsize=8)
def _stream_rule(is_on: bool, most: int, seconds: float) -> RetryRule:
    return RetryRule(is_on, is_on, max_tries=most, max_seconds=seconds)


@frozen
class Limits:
    """What holds for all routes."""

    head_seconds: float = 10.0
    """From the first byte of a head to its last; nginx 60 s, which a slow sender can live in."""
    body_seconds: float = 30.0
    """Between two pieces of a request body (nginx 60 s), and the time over which its rate is measured."""
    body_bytes_per_second: int = 1000
    """What must come of a request body over that time while upstream takes it; 0 means that the gap alone counts."""
    send_seconds: float = 60.0
    """How long downstream may take nothing of what waits for it; nginx ``send_timeout`` 60 s."""
    keep_alive_seconds: float = 75.0
    """Between two requests; nginx ``keepalive_timeout`` 75 s."""
    keep_alive_requests: int = 1000
    """On one connection; nginx ``keepalive_requests`` 1000."""
    keep_alive_age_seconds: float = 3600.0
    """Age of a connection after which no further request is taken; nginx ``keepalive_time`` 1 h."""
    upstream: Timeouts = Timeouts()
    """Where a route asks for nothing else."""
    max_connections: int | None = None
    """Downstream connections at once; None means as many as are safe (``ingress.process.caps.caps``)."""
    max_endpoint_connections: int = 0
    """Connections to one endpoint at once, idle ones included; 0 means no limit."""
    loop_limit: int | None = None
    """Requests that wait for their answers at once with one id, of those that came through a proxy; None means a share of the connections, 0 no limit."""
    allow_half_close: bool = False
    """Whether a client that ends its side after a whole request is taken to wait for the answer, and not to have left."""
    stream_rest_seconds: float = 600.0
    """How long a stream may rest, of TCP, TLS or UDP; ingress-nginx ``proxy-stream-timeout`` 600 s."""
    stream_responses: int = 1
    """Answers to each datagram of UDP after which its session is over; 0: none is awaited; ingress-nginx ``proxy-stream-responses`` 1."""
    stream_tries: StreamTries = StreamTries()
    """Where streams and sessions of UDP go whose endpoint cannot be reached."""
    max_udp_sessions: int = 8192
    """Sessions of UDP at once."""
