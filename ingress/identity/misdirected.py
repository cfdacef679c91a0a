"""Whether a request belongs on another connection than the one it came over (RFC 9110 section 15.5.20).

The server name of a handshake decides what the client was shown and what it had to show;
the host of a request decides where it goes.  Browsers send requests for several hosts over one
connection where its certificate covers them all.  That is fine as long as the handshake would have
been the same; otherwise the request is answered with 421, and the client comes again.  Pure.
"""

from attrs import Factory

from ingress.identity.certificates import CertificateTable
from ingress.identity.server_names import HandshakeSettingsTable
from ingress.model.client_authentication import ClientAuthentication
from ingress.model.frozen import frozen


@frozen(eq=False)
class ServerNames:
    """What handshakes go by at present, for every server name."""

    certificates: CertificateTable = Factory(CertificateTable)
    handshake_settings: HandshakeSettingsTable = Factory(HandshakeSettingsTable)


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
    if names.handshake_settings.find(host).client_authentication != asked:
        return True
    if not host or server_name is None or server_name.lower().removesuffix(".") == host:
        return False
    return names.certificates.find(server_name) != names.certificates.find(host)
