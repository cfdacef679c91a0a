"""Whether a request belongs on another connection than the one it came over (RFC 9110 section 15.5.20).

The server name of a handshake decides what the client was shown and what it had to show;
the host of a request decides where it goes.  Browsers send requests for several hosts over one
connection where its certificate covers them all.  That is fine as long as the handshake would have
been the same; otherwise the request is answered with 421, and the client comes again.  Pure.

Of the listeners of Gateways the hostname decides, and not the certificate: a request for a host belongs on a connection that
was begun for the same hostname, and one for a host of nobody is answered with 404 (``Listener.hostname`` of the Gateway API).
"""

from typing import Final

from attrs import Factory

from ingress.identity.certificates import CertificateTable
from ingress.identity.server_names import HandshakeSettingsTable
from ingress.model.frozen import frozen
from ingress.model.requests.client_authentication import ClientAuthentication

MOST_FITTING: Final = 1024
"""Most connections are for one host, the name that they were begun with."""
LONGEST_FITTING: Final = 253
"""Bytes of a host that is remembered: no name of the DNS is longer, and a client may write one of as many as a head has."""


@frozen(eq=False)
class ServerNames:
    """What handshakes go by at present, for every server name."""

    certificates: CertificateTable = Factory(CertificateTable)
    handshake_settings: HandshakeSettingsTable = Factory(HandshakeSettingsTable)
    beside: "ServerNames | None" = None
    """Those of Gateways that have the same listener beside."""
    fitting: set[tuple[bytes, bytes | None]] = Factory(set)
    """Hosts with server names on whose connections, where nothing is asked of clients, they belong: as far as that was found
    out.  At most ``MOST_FITTING`` of at most ``LONGEST_FITTING``; others may find out more."""

    @property
    def is_of_gateways(self) -> bool:
        """Whether hostnames of listeners decide."""
        return self.handshake_settings.covers_labels

    def serving(self, server_name: str | None) -> "ServerNames":
        """Return those that have *server_name*, these or those beside: the ones whose host says more of it; at a tie, these."""
        if self.beside is None:
            return self
        return self.beside if self.beside.says(server_name) > self.says(server_name) else self

    def says(self, server_name: str | None) -> tuple[bool, int]:
        """Return how much the host says by which *server_name* is named: all of it, or the last so many characters."""
        hosts = self.handshake_settings.host_of(server_name), self.certificates.host_of(server_name)
        return max(map(_says, hosts))


def _says(host: str | None) -> tuple[bool, int]:
    return (False, -1) if host is None else (bool(host) and not host.startswith("*"), len(host))


def is_misdirected(
    host: str, server_name: str | None, asked: ClientAuthentication | None, names: ServerNames
) -> bool:
    """Tell whether a request for *host* does not belong on its connection.

    *server_name* is what the client asked for in the handshake, None for nothing, and *asked* what was
    asked of the client then.  Where either name is missing, a request goes by its host alone, but for
    one thing: a host that asks for client certificates is never served on a connection that did not
    ask just as it does.  Certificates are compared as they are now, so that none counts as another
    one because it was renewed in between.
    """
    serving = names.serving(host)
    begun = serving if names.beside is None else names.serving(server_name)
    if serving.is_of_gateways:
        wanted = serving.handshake_settings.host_of(host)
        if wanted is None:
            # Nobody has it, so there is nothing that a handshake could protect.
            return False
        if begun is not serving or wanted != serving.handshake_settings.host_of(server_name):
            return True
        return serving.handshake_settings.find(host).client_authentication != asked
    if serving.handshake_settings.find(host).client_authentication != asked:
        return True
    if not host or server_name is None or server_name.lower().removesuffix(".") == host:
        return False
    if begun is not serving:
        return names.says(host) > _says(None)
    return serving.certificates.find(server_name) != serving.certificates.find(host)
