"""One handshake: the name it was for, what it asked of the client, and what the client showed.

It hangs on its connection (``handshake_of``) from the moment the server name is known.
"""

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL import SSL, crypto
from twisted.logger import Logger

from ingress.model.requests.client_authentication import (
    NO_EVIDENCE,
    VERIFIED,
    ClientAuthentication,
    ClientEvidence,
    graver,
)
from ingress.tls.binding import be_found, judge_certificates, words_of
from ingress.tls.peer_keys import is_taken

_CHAIN_TOO_LONG = 22
"""``X509_V_ERR_CERT_CHAIN_TOO_LONG``."""
_BEFORE_HELLO = b"before SSL initialization"
"""How OpenSSL calls the state in which no hello has come."""

_log = Logger()


def awaits_hello(connection: SSL.Connection) -> bool:
    """Whether no whole hello has come on *connection*."""
    return connection.get_state_string() == _BEFORE_HELLO


class Handshake:
    """What became of one handshake."""

    __slots__ = ("_error", "_evidence", "authentication", "server_name")

    def __init__(self, server_name: bytes | None, authentication: ClientAuthentication | None) -> None:
        self.server_name = server_name
        """As the client sent it; of a session of TLS 1.2 that is resumed, the one it was begun with."""
        self.authentication = authentication
        self._error = VERIFIED
        self._evidence: ClientEvidence | None = None

    def ask(self, connection: SSL.Connection) -> None:
        """Ask the client for its certificate; one that is bad, or none, ends the handshake only where that is asked for."""
        assert self.authentication is not None
        insists = SSL.VERIFY_FAIL_IF_NO_PEER_CERT if self.authentication.mode.ends_handshakes else 0
        be_found(connection)
        judge_certificates(connection, SSL.VERIFY_PEER | insists, _judge)
        # A session that is resumed shows no certificate, and the one in its ticket was judged by
        # the settings of another time or host.  So there is none to resume.
        connection.set_options(SSL.OP_NO_TICKET)

    def _judge(
        self, connection: SSL.Connection, certificate: crypto.X509, error: int, depth: int, is_good: int
    ) -> bool:
        """Note what is wrong with the certificate *depth* steps above the client's own, and go on if that is how it is.

        OpenSSL asks before it checks a signature by a certificate's key, and the handshake ends here if
        that would take too long.

        OpenSSL's own depth belongs to the context that began, and cannot be the host's.  It counts
        what stands between the client's certificate and the trusted one.
        """
        assert self.authentication is not None
        if not is_taken(certificate):
            return False
        if error == VERIFIED and depth > self.authentication.depth + 1:
            error = _CHAIN_TOO_LONG
        self._error = graver(self._error, error)
        return error == VERIFIED or not self.authentication.mode.ends_handshakes

    def evidence(self, connection: SSL.Connection) -> ClientEvidence:
        """Return what the client proved on *connection*, whose handshake is complete."""
        if self.authentication is None:
            return NO_EVIDENCE
        if self._evidence is None:
            self._evidence = self._collect(self.authentication, connection)
        return self._evidence

    def _collect(self, authentication: ClientAuthentication, connection: SSL.Connection) -> ClientEvidence:
        shown = connection.get_peer_certificate(as_cryptography=True)
        if not isinstance(shown, x509.Certificate):
            return ClientEvidence(authentication)
        reason = "" if self._error == VERIFIED else words_of(self._error)
        return ClientEvidence(authentication, shown.public_bytes(Encoding.DER), self._error, reason)


def _judge(
    connection: SSL.Connection, certificate: crypto.X509, error: int, depth: int, is_good: int
) -> bool:
    handshake = handshake_of(connection)
    # A second hello (RFC 8446 section 4.1.4) that names another host, as none may, can be of one that asks for no certificate.
    if handshake is None or handshake.authentication is None:
        return False
    try:
        return handshake._judge(connection, certificate, error, depth, is_good)
    except Exception:
        # pyOpenSSL would keep it with the callback, which is that of all connections, for as long as the process lives.
        _log.failure("a client's certificate could not be judged, which is a bug; its handshake ends")
        return False


def handshake_of(connection: SSL.Connection) -> Handshake | None:
    """Return the handshake of *connection*; None before the client has said hello."""
    found = connection.get_app_data()
    return found if isinstance(found, Handshake) else None


def evidence_of(connection: SSL.Connection) -> ClientEvidence:
    """Return what the client of *connection* proved about itself; its handshake is complete."""
    handshake = handshake_of(connection)
    return NO_EVIDENCE if handshake is None else handshake.evidence(connection)
