"""An upstream on a real socket that speaks HTTP/2 by the ``h2`` package: a stranger to the proxy's own code."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
from cryptography import x509
from OpenSSL import SSL, crypto
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IListeningPort, IOpenSSLServerConnectionCreator
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from tests.fakes.bodies import PIECE, piece_at

Headers = list[tuple[str, str]]


class Http2Request:
    """A request: its fields, how much of its body came, and its answer."""

    def __init__(self, wire: Http2Wire, stream: int, fields: Headers) -> None:
        self.wire = wire
        self.stream = stream
        self.fields = dict(fields)
        self.size = 0
        self.digest = hashlib.sha256()
        self.has_ended = False
        self.reset_by: int | None = None
        """The code by which the proxy reset it."""
        self.left = 0
        """Bytes of the answer that could not be sent yet."""
        self._sent = 0
        self._trailers: Headers | None = None

    def answer(self, body: bytes = b"ok", trailers: Headers | None = None, *more: tuple[str, str]) -> None:
        """Send an answer."""
        h2 = self.wire.h2
        h2.send_headers(self.stream, [(":status", "200"), *more], end_stream=not body and trailers is None)
        if body:
            h2.send_data(self.stream, body, end_stream=trailers is None)
        if trailers is not None:
            h2.send_headers(self.stream, trailers, end_stream=True)
        self.wire.flush()

    def stream_out(self, size: int, trailers: Headers | None = None) -> None:
        """Send *size* bytes of the test body, as the windows allow."""
        self.wire.h2.send_headers(self.stream, [(":status", "200")])
        self.left, self._trailers = size, trailers
        self.go_on()

    def go_on(self) -> None:
        """Send what the windows allow now."""
        h2 = self.wire.h2
        while self.left:
            size = min(
                self.left, h2.local_flow_control_window(self.stream), h2.max_outbound_frame_size, PIECE
            )
            if size <= 0:
                break
            self.left -= size
            ended = not self.left and self._trailers is None
            h2.send_data(self.stream, piece_at(self._sent, size), end_stream=ended)
            self._sent += size
            if not self.left and self._trailers is not None:
                h2.send_headers(self.stream, self._trailers, end_stream=True)
        self.wire.flush()


class Http2Wire(Protocol):
    """One connection to the upstream; *requests* are those that came, by their stream."""

    transport: Any

    def __init__(self, upstream: Http2Upstream) -> None:
        self.upstream = upstream
        self.requests: dict[int, Http2Request] = {}
        self.lost: BaseException | None = None
        self.faults: list[str] = []
        """What the ``h2`` package has against what the proxy sent."""
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )

    def connectionMade(self) -> None:
        self.upstream.wires.append(self)
        if self.upstream.settings:
            # An update would be told a moment later, and not with the first SETTINGS.
            usual = {h2.settings.SettingCodes(name): value for name, value in self.h2.local_settings.items()}
            values = {**usual, **self.upstream.settings}
            self.h2.local_settings = h2.settings.Settings(client=False, initial_values=values)
        self.h2.initiate_connection()
        self.flush()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.lost = reason.value

    def flush(self) -> None:
        """Send what there is to send."""
        octets = self.h2.data_to_send()
        if octets:
            self.transport.write(octets)

    def dataReceived(self, data: bytes) -> None:
        has_ended = self.h2.state_machine.state is h2.connection.ConnectionState.CLOSED
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            if not has_ended:
                # What was on its way when the package said goodbye is nobody's fault, though it complains.
                self.faults.append(str(error))
            self.flush()
            self.transport.loseConnection()
            return
        for event in events:
            self._happened(event)
        self.flush()

    def _happened(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            request = Http2Request(self, event.stream_id, event.headers)  # type: ignore[arg-type]  # texts
            self.requests[event.stream_id] = request
            self.upstream.on_head(request)
        elif isinstance(event, h2.events.DataReceived):
            request = self.requests[event.stream_id]
            request.size += len(event.data)
            request.digest.update(event.data)
            self.upstream.on_data(request, event.data)
            if event.flow_controlled_length and not self.upstream.is_greedy:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            request = self.requests[event.stream_id]
            request.has_ended = True
            self.upstream.requests += 1
            self.upstream.on_request(request)
        elif isinstance(event, h2.events.StreamReset):
            self.requests[event.stream_id].reset_by = int(event.error_code)
        elif isinstance(event, h2.events.WindowUpdated | h2.events.RemoteSettingsChanged):
            for request in self.requests.values():
                if request.left and request.reset_by is None:
                    request.go_on()


@implementer(IOpenSSLServerConnectionCreator)
class Http2Upstream(Factory):
    """Listens on a free loopback port, with TLS if it has an *identity*, and answers by script.

    *protocols* are those that it selects among (ALPN).
    """

    noisy = False

    def __init__(
        self,
        reactor: Any,
        identity: tuple[bytes, bytes] | None = None,
        protocols: tuple[bytes, ...] = (b"h2",),
        settings: dict[h2.settings.SettingCodes, int] | None = None,
    ) -> None:
        self.wires: list[Http2Wire] = []
        self.requests = 0
        self.settings = settings
        self.is_greedy = False
        """Whether it gives no credit for what it takes."""
        self.on_head: Callable[[Http2Request], object] = lambda request: None
        self.on_data: Callable[[Http2Request, bytes], object] = lambda request, piece: None
        self.on_request: Callable[[Http2Request], object] = lambda request: request.answer()
        self._reactor = reactor
        self._port: IListeningPort | None = None
        self._context: SSL.Context | None = None
        if identity is not None:
            self._context = context = SSL.Context(SSL.TLS_SERVER_METHOD)
            (leaf,) = x509.load_pem_x509_certificates(identity[0])[:1]
            context.use_certificate(leaf)
            context.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, identity[1]))
            context.set_alpn_select_callback(
                lambda _, offered: next(
                    (each for each in protocols if each in offered), SSL.NO_OVERLAPPING_PROTOCOLS
                )
            )

    def buildProtocol(self, addr: object) -> Http2Wire:
        return Http2Wire(self)

    def serverConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:
        """Begin a handshake."""
        assert self._context is not None
        return SSL.Connection(self._context, None)

    def listen(self) -> Endpoint:
        """Listen, and return where."""
        factory: Any = self
        if self._context is not None:
            factory = TLSMemoryBIOFactory(self, False, self)
            factory.noisy = False
        self._port = self._reactor.listenTCP(0, factory, interface="127.0.0.1")
        return self.endpoint

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens, in the clear."""
        assert self._port is not None, "listen() comes first"
        return Endpoint("127.0.0.1", self._port.getHost().port, LinkSettings(is_http2=True))  # type: ignore[attr-defined]

    def stop(self) -> Deferred[None] | None:
        """Reset all connections and listen no more."""
        for wire in self.open_wires:
            wire.transport.abortConnection()
        port, self._port = self._port, None
        return None if port is None else port.stopListening()

    @property
    def open_wires(self) -> list[Http2Wire]:
        """The connections that are open now."""
        return [wire for wire in self.wires if wire.lost is None]
