"""What is known of a request, for those who decide about it: filters, and whoever chooses a backend."""

from socket import gethostname
from time import time
from typing import TYPE_CHECKING, Final, Protocol

from ingress.http.field_values import all_combined, combined_values, first_value, joined_value
from ingress.http.forwarding import Origin, proxys_lines
from ingress.http.request_head import RequestHead
from ingress.model.observability.traces import TraceContext
from ingress.model.requests.client_authentication import ClientEvidence
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.addresses import peer_address, port_of

if TYPE_CHECKING:
    from ingress.proxy.contract.transport import Transport

_UNKNOWN: Final = b"unknown"
"""The host of an address that has none."""
_ONE_BY_ONE: Final = 8
"""So many fields are looked for one by one; whoever asks for more, as thousands of conditions may, has all taken apart."""


class Attempting(Protocol):
    """The attempts of an exchange, as far as they are facts."""

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint that was asked last."""

    @property
    def tried(self) -> frozenset[Endpoint]:
        """Those that failed."""


class Secured(Protocol):
    """The TLS of our own connection, as far as it is a fact of requests."""

    def evidence(self) -> ClientEvidence:
        """Return what the client proved about itself."""


class Wire(Protocol):
    """The side that sent the request, as far as it is a fact."""

    protocol: bytes

    @property
    def transport(self) -> "Transport":
        """Its connection."""


class RequestFacts:
    """The request as it came; satisfies ``ingress.filters.Facts``.  Made for those requests that somebody asks about."""

    def __init__(
        self,
        request_id: bytes,
        head: RequestHead,
        destination: tuple[bytes, bytes],
        origin: Origin,
        security: Secured | None,
        wire: Wire | None = None,
    ) -> None:
        """*destination* is host and path in their normal forms."""
        self.id = request_id
        self.host, self.path = destination
        self.body = b""
        """What filters hold of the request body, ..."""
        self.is_body_whole = not head.has_body
        """... and whether that is all of it."""
        self.notes: dict[object, object] = {}
        """What filters remember of the request."""
        self.attempts: Attempting | None = None
        """None as long as no endpoint was looked for."""
        self.trace: TraceContext | None = None
        """The trace that the request is part of; None where it is not traced."""
        self._asked = 0
        self._combined: tuple[bytes, dict[bytes, bytes]] | None = None
        """The lines that were taken apart, and what they say."""
        self._head = head
        self._origin = origin
        self._security = security
        self._wire = wire

    def read_as(self, path: bytes) -> "RequestFacts":
        """Return the same request as it was to whom *path* is the normal form of its path."""
        return RequestFacts(self.id, self._head, (self.host, path), self._origin, self._security, self._wire)

    @property
    def scheme(self) -> bytes:
        """``http`` or ``https``: how the client sent the request."""
        return self._origin.scheme

    @property
    def authority(self) -> bytes:
        """The host that the client asked for, as it was written, with its port."""
        return self._origin.authority or self._head.authority or self.host

    @property
    def public_host(self) -> bytes:
        """The host by which the client knows us, without port."""
        return self._origin.public_host or self.host

    @property
    def is_secure(self) -> bool:
        """Whether our own connection is TLS."""
        return self._security is not None

    @property
    def target(self) -> bytes:
        """The request target in origin form, as received."""
        return self._head.target

    @property
    def method(self) -> bytes:
        """The method, as received."""
        return self._head.method

    @property
    def client(self) -> bytes:
        """The address of the client."""
        return self._origin.address

    @property
    def forwarded_for(self) -> bytes:
        """What the endpoint is told in ``X-Forwarded-For``."""
        return first_value(self._origin.fields, b"x-forwarded-for")

    @property
    def port(self) -> int:
        """The port of our listener."""
        return self._origin.port

    @property
    def client_port(self) -> int:
        """The port of the client; 0 where a proxy before us says who that is."""
        if self._wire is None:
            return 0
        peer = self._wire.transport.getPeer()
        return port_of(peer) if peer_address(peer) == self._origin.address else 0

    @property
    def server_address(self) -> bytes:
        """The address that our own connection came to."""
        address = _UNKNOWN if self._wire is None else peer_address(self._wire.transport.getHost())
        return b"" if address == _UNKNOWN else address

    @property
    def protocol(self) -> bytes:
        """What the client speaks."""
        if not self._head.minor:
            return b"HTTP/1.0"
        return b"HTTP/1.1" if self._wire is None else self._wire.protocol

    @property
    def now(self) -> float:
        """What time it is, in seconds since the epoch."""
        return time()

    @property
    def hostname(self) -> bytes:
        """The name of the machine or pod that the controller runs in."""
        return gethostname().encode()

    @property
    def upgrade(self) -> bytes:
        """The protocol that the client asks to go over to, where that is one that is relayed; else empty."""
        return self._head.upgrade

    @property
    def content_length(self) -> bytes:
        """What the request says of the length of its body; empty where it says nothing."""
        return b"%d" % self._head.content_length if self._head.content_length >= 0 else b""

    @property
    def body_length(self) -> int | None:
        """How many bytes the request body has; None where that is not known yet."""
        if not self._head.has_body:
            return 0
        return self._head.content_length if self._head.content_length >= 0 else None

    @property
    def client_evidence(self) -> ClientEvidence | None:
        """What the handshake of the connection proved about the client; None without TLS."""
        return None if self._security is None else self._security.evidence()

    @property
    def lines(self) -> bytes:
        """The client's own fields that go on to an endpoint, as lines with their CRLF."""
        return self._head.forward

    @property
    def proxys_lines(self) -> bytes:
        """What a proxy says of the request, in the same way."""
        return proxys_lines(self._head, self.id, self._origin)

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint that was asked last; None as long as none was."""
        return None if self.attempts is None else self.attempts.endpoint

    @property
    def was_retried(self) -> bool:
        """Whether another endpoint failed the request before."""
        return self.attempts is not None and bool(self.attempts.tried)

    def field(self, name: bytes) -> bytes:
        """Return the value of the field called *name*, in lower case; of several, that of all as one; empty when there is none."""
        head = self._head
        if name == b"host":
            return head.authority
        known = head.forwarded.get(name)
        if known:
            return known
        if self._asked < _ONE_BY_ONE:
            self._asked += 1
            return joined_value(head.forward, name)
        return self._apart().get(name, b"")

    def combined(self, name: bytes) -> bytes | None:
        """Return the values of all fields called *name*, in lower case, joined by comma; None when there is none."""
        head = self._head
        if name == b"host":
            return head.authority
        known = head.forwarded.get(name)
        if known is not None:
            return known
        if self._asked < _ONE_BY_ONE:
            self._asked += 1
            return combined_values(head.forward, name)
        return self._apart().get(name)

    def _apart(self) -> dict[bytes, bytes]:
        """Return all fields that go on, by their names in lower case."""
        forward = self._head.forward
        if self._combined is None or self._combined[0] is not forward:
            self._combined = forward, all_combined(forward)
        return self._combined[1]
