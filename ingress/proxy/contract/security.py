"""The TLS of a downstream connection, as far as requests have to do with it.

A channel of a TLS listener has a ``Security``, any other has none.
"""

from ingress.identity.misdirected import LONGEST_FITTING, MOST_FITTING, ServerNames, is_misdirected
from ingress.model.requests.client_authentication import NO_EVIDENCE, ClientEvidence
from ingress.proxy.contract.transport import Transport
from ingress.tls.handshake import evidence_of, handshake_of


class Security:
    """What the handshake of one connection means for its requests."""

    __slots__ = ("_host", "_names", "_transport", "_version")

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        # What was found fit last; most connections never ask for anything else.
        self._host: bytes | None = None
        self._names: ServerNames | None = None
        self._version = ""

    def serves(self, host: bytes, names: ServerNames) -> bool:
        """Whether requests for *host*, in its normal form, belong on this connection."""
        if host == self._host and names is self._names:
            return True
        connection = self._transport.tls
        handshake = None if connection is None else handshake_of(connection)
        said = None if handshake is None else handshake.server_name
        asked = None if handshake is None else handshake.authentication
        if asked is not None or (host, said) not in names.fitting:
            server_name = None if said is None else said.decode("ascii", "replace")
            if is_misdirected(host.decode("ascii", "replace"), server_name, asked, names):
                return False
            if len(host) > LONGEST_FITTING:
                return True
            if asked is None:
                if len(names.fitting) >= MOST_FITTING:
                    names.fitting.clear()
                names.fitting.add((host, said))
        self._host, self._names = host, names
        return True

    def tls_version(self) -> str:
        """Return the version of TLS that was agreed on, as in ``TLSv1.3``; empty once that is not known any more."""
        if not self._version:
            connection = self._transport.tls
            self._version = "" if connection is None else connection.get_protocol_version_name()
        return self._version

    def server_name(self) -> str:
        """Return the name that the client's hello asked for; empty where it named none."""
        connection = self._transport.tls
        handshake = None if connection is None else handshake_of(connection)
        if handshake is None or handshake.server_name is None:
            return ""
        return handshake.server_name.decode("ascii", "replace")

    def evidence(self) -> ClientEvidence:
        """Return what the client proved about itself."""
        connection = self._transport.tls
        return NO_EVIDENCE if connection is None else evidence_of(connection)
