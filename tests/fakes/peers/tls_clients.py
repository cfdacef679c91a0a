"""TLS clients that do what a browser would not: no server name, no trust, a session from elsewhere."""

from __future__ import annotations

from cryptography import x509
from OpenSSL import SSL, crypto
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.protocols.tls import TLSMemoryBIOProtocol
from zope.interface import implementer


@implementer(IOpenSSLClientConnectionCreator)
class TLSClient:
    """Makes the client side of TLS connections; trusts everybody.

    *certificate* is a PEM chain with its key, for servers that ask.  *version* is OpenSSL's
    number of the only version that is spoken.  ``connection`` is the last one made.
    """

    def __init__(
        self, certificate: tuple[bytes, bytes] | None = None, version: int = SSL.TLS1_3_VERSION
    ) -> None:
        self._context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        self._context.set_min_proto_version(version)
        self._context.set_max_proto_version(version)
        if certificate is not None:
            chain, key = certificate
            leaf, *issuers = x509.load_pem_x509_certificates(chain)
            self._context.use_certificate(leaf)
            for issuer in issuers:
                self._context.add_extra_chain_cert(issuer)
            self._context.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, key))
        self.server_name: bytes | None = None
        self.session: SSL.Session | None = None
        self.connection: SSL.Connection | None = None

    def to(self, server_name: bytes | None, session: SSL.Session | None = None) -> TLSClient:
        """Ask for *server_name*, or for none, next time, and offer to resume *session*."""
        self.server_name, self.session = server_name, session
        return self

    def clientConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:
        """Begin a connection."""
        connection = SSL.Connection(self._context, None)
        if self.server_name is not None:
            connection.set_tlsext_host_name(self.server_name)
        if self.session is not None:
            connection.set_session(self.session)
        self.connection = connection
        return connection
