"""A scripted upstream that speaks TLS, and remembers what it was told in handshakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cryptography import x509
from OpenSSL import SSL, crypto
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from zope.interface import implementer

from ingress.model.upstream.backends import Endpoint
from ingress.tls.binding import is_resumed
from tests.fakes.certificates import Authority
from tests.fakes.peers.upstreams import OK, Upstream, UpstreamWire


@implementer(IOpenSSLServerConnectionCreator)
class TlsUpstream(Upstream):
    """Shows one certificate; with *clients*, demands one that this authority issued.

    *versions* bounds the versions of TLS that it speaks.  *names* are the server names that
    its requests came by, *certificates* the common names of who sent them, *resumed* whether
    their connections went on with an earlier session, *groups* what their keys were agreed on by.
    """

    def __init__(
        self,
        reactor: Any,
        identity: tuple[bytes, bytes],
        on_request: Callable[[UpstreamWire], object] = lambda wire: wire.write(OK),
        clients: Authority | None = None,
        versions: tuple[int, int] = (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION),
    ) -> None:
        super().__init__(reactor, self._note)
        self.answer = on_request
        self.names: list[bytes | None] = []
        self.certificates: list[str] = []
        self.resumed: list[bool] = []
        self.groups: list[str | None] = []
        chain, key = identity
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.set_min_proto_version(versions[0])
        context.set_max_proto_version(versions[1])
        context.set_session_id(b"upstream")
        leaf, *issuers = x509.load_pem_x509_certificates(chain)
        context.use_certificate(leaf)
        for issuer in issuers:
            context.add_extra_chain_cert(issuer)
        context.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, key))
        if clients is not None:
            store = context.get_cert_store()
            assert store is not None
            store.add_cert(crypto.X509.from_cryptography(clients.certificate))
            context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT)
        self._context = context

    def serverConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:
        """Begin a handshake."""
        return SSL.Connection(self._context, None)

    def listen(self, port: int = 0) -> Endpoint:
        """Listen, and return where."""
        factory = TLSMemoryBIOFactory(self, False, self)
        factory.noisy = False
        self.port = self._reactor.listenTCP(port, factory, interface="127.0.0.1")
        return self.endpoint

    def _note(self, wire: UpstreamWire) -> None:
        connection = wire.transport.getHandle()
        self.names.append(connection.get_servername())
        self.resumed.append(is_resumed(connection))
        self.groups.append(connection.get_group_name())
        certificate = connection.get_peer_certificate()
        self.certificates.append("" if certificate is None else str(certificate.get_subject().CN))
        self.answer(wire)
