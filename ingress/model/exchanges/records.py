"""The record of an exchange: all that is known of it when it is over, in one value.

Each exchange ends in exactly one, which is handed to whoever listens: access log, metrics, filters.  Nobody
else asks the exchange.  A record is made once for each request, so both values are tuples, which cost
least; they never change.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.causes import Cause
from ingress.model.observability.traces import TraceContext
from ingress.model.upstream.backends import BackendReference, Endpoint

STREAM_PROTOCOL: Final = b"-"
"""What stands for the protocol of streams of TCP and TLS, and of sessions of UDP."""


class RecordedRoute(Protocol):
    """What a record says of the route that matched; ``ingress.routing.route.Route`` is one."""

    @property
    def host(self) -> str:
        """The host of the route: lower case, ``*.example.com`` for a wildcard, empty for all hosts."""

    @property
    def path(self) -> str:
        """The path of the route, as its object wrote it."""

    @property
    def is_logged(self) -> bool:
        """Whether its requests have lines in the access log."""

    @property
    def backend(self) -> BackendReference:
        """Where the route leads."""


class RecordedHead(Protocol):
    """What a record says of the head of the request; ``ingress.http.request_head.RequestHead`` is one."""

    authority: bytes
    forward: bytes
    """The field lines that went on, each with its CRLF."""
    forwarded: Mapping[bytes, bytes]
    """What the peer said about the client, by lower-case name."""
    content_length: int
    """-1 where none was said."""
    upgrade: bytes
    """The protocol that was asked for, where it is one that is relayed; else empty."""


class RecordedSecurity(Protocol):
    """What a record says of the TLS that the request came over; ``ingress.proxy.contract.security.Security`` is one."""

    def tls_version(self) -> str:
        """Return the version that was agreed on, as in ``TLSv1.3``."""

    def server_name(self) -> str:
        """Return the name that the client's hello asked for; empty where it named none."""


class RecordedDownstream(Protocol):
    """The side that sent the request.  It goes on with others: what is of use has to be read while the record is handed over."""

    @property
    def security(self) -> RecordedSecurity | None:
        """Its TLS; None without."""


class AttemptRecord(NamedTuple):
    """One attempt: the request on its way to one endpoint.  Times are seconds since the request's head was read."""

    endpoint: Endpoint
    outcome: str
    """The status that came, in digits, or the fault in the words of the table of faults."""
    began: float
    """When the endpoint was chosen."""
    ended: float
    """When the outcome was known: its head had come, or the attempt had failed."""
    connected: float = -1.0
    """When there was a connection to send the request on; -1.0 where there never was."""
    over: float = -1.0
    """When the last byte of its answer had come, or it had failed."""
    is_reused: bool = False
    """Whether that connection had been used before."""


class Record(NamedTuple):
    """What became of one request."""

    id: bytes
    """Names it in the log, and to the endpoint as ``X-Request-ID``; empty where nobody needed one, which is never so of a failure."""
    route: RecordedRoute | None
    """The route that matched; None where none did."""
    owner: ObjectKey | None
    """The object that asked for the route; None without route, and for the controller's own default backend."""
    filter: str
    """The name of the filter that answered, or failed; empty where none did."""
    attempts: tuple[AttemptRecord, ...]
    """In order; the last one brought the answer, where there is one from an endpoint."""
    status: int
    """What the client was told; 499 where it left before (nginx's number)."""
    bytes_sent: int
    """Of the body of the answer, or of a tunnel, to downstream."""
    seconds: float
    """From the head of the request to the last byte of the answer."""
    reason: str
    """Why the answer is one of our own errors, or was cut short; empty where it is neither."""
    client: bytes
    """The address of the client."""
    method: bytes
    host: bytes
    """Asked for: lower case, without port."""
    target: bytes
    """As received: path and query."""
    protocol: bytes
    """What downstream spoke: ``HTTP/1.0``, ``HTTP/1.1`` or ``HTTP/2.0``, or ``STREAM_PROTOCOL``."""
    head: RecordedHead | None = None
    """As it came; None for TLS that passes through."""
    scheme: bytes = b""
    """``http`` or ``https``: what the client used."""
    cause: Cause | None = None
    """Whose failure it was; None for what is none."""
    backend: BackendReference | None = None
    """The backend whose endpoints were asked; that of the route where none was, None without route."""
    bytes_received: int = 0
    """Of the body of the request, from downstream."""
    downstream: RecordedDownstream | None = None
    """The side that sent the request; None for what is no request."""
    trace: TraceContext | None = None
    """The trace that it is part of; None where nobody traces."""
