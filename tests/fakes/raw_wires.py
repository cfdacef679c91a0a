"""Both ends of connections that carry bytes and no HTTP, and a TLS client whose bytes are in the test's hands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cryptography import x509
from OpenSSL import SSL
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.model.upstream.backends import Endpoint


@implementer(IHalfCloseableProtocol)
class RawWire(Protocol):
    """One end: *received* is what came, *saw_end* whether the peer ended its side, *lost* why it is over.

    It closes when the peer ends its side, unless *stays* is set.
    """

    transport: Any

    def __init__(self, on_data: Callable[[RawWire, bytes], object] | None = None) -> None:
        self.received = bytearray()
        self.stays = False
        self.saw_end = False
        self.lost: BaseException | None = None
        self.on_data = on_data

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)

    def dataReceived(self, received: bytes) -> None:
        self.received += received
        if self.on_data is not None:
            self.on_data(self, received)

    def readConnectionLost(self) -> None:
        """The peer sends no more."""
        self.saw_end = True
        if not self.stays:
            self.transport.loseConnection()

    def writeConnectionLost(self) -> None:
        """Our side is shut down, as a test asked."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.saw_end = True
        self.lost = reason.value


class RawUpstream(Factory):
    """Listens on a free loopback port; *wires* are the connections that came."""

    noisy = False

    def __init__(self, reactor: Any, on_data: Callable[[RawWire, bytes], object] | None = None) -> None:
        self.on_data = on_data
        self.wires: list[RawWire] = []
        self._port = reactor.listenTCP(0, self, interface="127.0.0.1")

    def buildProtocol(self, addr: object) -> RawWire:
        wire = RawWire(self.on_data)
        self.wires.append(wire)
        return wire

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens."""
        return Endpoint("127.0.0.1", self._port.getHost().port)

    def stop(self) -> Any:
        """Reset all connections and listen no more."""
        for wire in self.wires:
            if wire.lost is None:
                wire.transport.abortConnection()
        return self._port.stopListening()


class HandMadeTLS(RawWire):
    """A TLS client that asks for a page, or says something else first; *send* decides how its first flight is sent.

    It offers *protocols*.  What it says first comes with the end of its handshake.  *names*
    are those of the certificate that it was shown, *agreed* is the protocol, *answer* is what came decrypted.
    """

    def __init__(
        self,
        server_name: bytes | None,
        send: Callable[[RawWire, bytes], object],
        protocols: Sequence[bytes] = (),
        first: bytes = b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n",
    ) -> None:
        super().__init__()
        self.names: tuple[str, ...] = ()
        self.answer = b""
        self._send = send
        self.agreed: bytes | None = None
        self._first = first
        context = SSL.Context(SSL.TLS_METHOD)
        if protocols:
            context.set_alpn_protos(list(protocols))
        self._tls = SSL.Connection(context, None)
        self._tls.set_connect_state()
        if server_name is not None:
            self._tls.set_tlsext_host_name(server_name)
        self._is_done = False

    def connectionMade(self) -> None:
        super().connectionMade()
        self._shake()
        self._send(self, self._tls.bio_read(65536))

    def dataReceived(self, received: bytes) -> None:
        super().dataReceived(received)
        self._tls.bio_write(received)
        if not self._is_done:
            self._shake()
        if self._is_done:
            try:
                while True:
                    self.answer += self._tls.recv(65536)
            except SSL.Error:
                pass  # No whole record yet, or none any more.
        self._flush()

    def _shake(self) -> None:
        try:
            self._tls.do_handshake()
        except SSL.Error:
            return  # The peer's turn, or it refused, which is what ``received`` shows.
        self._is_done = True
        certificate = self._tls.get_peer_certificate(as_cryptography=True)
        assert certificate is not None
        self.names = _names(certificate)
        self.agreed = self._tls.get_alpn_proto_negotiated()
        if self._first:
            self._tls.send(self._first)

    def say(self, octets: bytes) -> None:
        """Send more; the handshake is over."""
        self._tls.send(octets)
        self._flush()

    def leave(self) -> None:
        """Say that nothing follows, as TLS does, and close."""
        self._tls.shutdown()
        self._flush()
        self.transport.loseConnection()

    def _flush(self) -> None:
        try:
            while True:
                self.transport.write(self._tls.bio_read(65536))
        except SSL.Error:
            pass  # Nothing is left to send.


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return tuple(extension.value.get_values_for_type(x509.DNSName))
