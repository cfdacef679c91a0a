"""TLS contexts: which certificate a handshake shows, by the server name that was asked for.

``ServerContexts`` is what the TLS listeners ask for connections.  It reads the
current ``CertificateTable`` at each handshake.  Publishing a table is an
assignment: the next handshake sees it, open connections keep what they have.

Each certificate has one context, built when it is first asked for and dropped
when no table names it any more.  Any of them can begin a connection; that of the
default certificate does, so its ticket keys are the listener's.  The server name
callback then switches to the context of the certificate that was chosen.  Such a
switch changes certificate and key only; versions, options and everything else
stay those of the context that began, which is no matter as long as all share one
profile.
"""

import socket

from cryptography import x509
from OpenSSL import SSL, crypto
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOProtocol
from zope.interface import implementer

from ingress.certificates import Certificate, CertificateTable
from ingress.tls.profile import new_server_context

_log = Logger()


@implementer(IOpenSSLServerConnectionCreator)
class ServerContexts:
    """Makes the server side of TLS connections, with the certificate of the current table.

    *default_certificate* is shown when neither a name nor the table's own
    default decides otherwise.  It must be usable: what OpenSSL says against it
    is raised.
    """

    def __init__(self, default_certificate: Certificate) -> None:
        self._own_default = default_certificate
        self._table = CertificateTable()
        self._contexts: dict[Certificate, SSL.Context | None] = {}
        """None where OpenSSL refuses the certificate, so that it is told once."""
        self._base = self._build(default_certificate)
        self._contexts[default_certificate] = self._base

    def publish(self, table: CertificateTable) -> None:
        """Make *table* decide from the next handshake on."""
        if table is self._table:
            return
        default = table.default or self._own_default
        named = {default, self._own_default, *table.exact.values(), *table.wildcard.values()}
        self._contexts = {
            certificate: context for certificate, context in self._contexts.items() if certificate in named
        }
        self._table = table
        self._base = self._context_of(default) or self._contexts[self._own_default] or self._base

    def serverConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol | None) -> SSL.Connection:
        """Begin a connection; its certificate is chosen once the client has named a server."""
        return SSL.Connection(self._base, None)

    def connection_on(self, sock: socket.socket) -> SSL.Connection:
        """Begin a connection on a socket of its own, for a transport that is not Twisted's."""
        return SSL.Connection(self._base, sock)

    def _choose(self, connection: SSL.Connection) -> None:
        # pyOpenSSL prints what is raised here to standard error and ends the
        # handshake, so nothing may be raised: the default certificate is shown.
        try:
            name = connection.get_servername()
            certificate = self._table.find(None if name is None else name.decode("ascii", "replace"))
            context = self._base if certificate is None else self._context_of(certificate) or self._base
            if context is not connection.get_context():
                connection.set_context(context)
        except Exception:
            _log.failure("Choosing a certificate failed; the default certificate is shown.")

    def _context_of(self, certificate: Certificate) -> SSL.Context | None:
        try:
            return self._contexts[certificate]
        except KeyError:
            pass
        try:
            context = self._build(certificate)
        except (SSL.Error, crypto.Error, ValueError) as error:
            _log.error(
                "OpenSSL refuses the certificate of Secret {secret}; the default certificate is shown: {error}",
                secret=certificate.secret,
                error=error,
            )
            context = None
        self._contexts[certificate] = context
        return context

    def _build(self, certificate: Certificate) -> SSL.Context:
        context = new_server_context()
        leaf, *issuers = x509.load_pem_x509_certificates(certificate.chain_pem)
        context.use_certificate(leaf)
        for issuer in issuers:
            context.add_extra_chain_cert(issuer)
        context.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, certificate.key_pem))
        context.check_privatekey()
        context.set_tlsext_servername_callback(self._choose)
        return context

    def __repr__(self) -> str:
        return f"<ServerContexts with {len(self._contexts)} contexts>"
