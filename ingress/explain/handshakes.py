"""What TLS does before a request: the certificate that is shown, what is asked of clients, and what passes through."""

from datetime import datetime
from ipaddress import ip_address

from ingress.explain.explanation import Handshake, ShownCertificate
from ingress.identity.certificates import Certificate
from ingress.model.frozen import frozen
from ingress.model.requests.client_authentication import ClientAuthentication, ClientEvidence, VerifyClient
from ingress.process.timestamps import rfc3339
from ingress.routing.route import Route
from ingress.translate.snapshot import Snapshot

_DEMANDS = {
    VerifyClient.REQUIRED: "a certificate of one of the authorities in {source}; without one requests get 400",
    VerifyClient.OPTIONAL: "none, or a certificate of one of the authorities in {source}",
    VerifyClient.OPTIONAL_NO_CA: "none, or any certificate; endpoints are told whether {source} has its authority",
    VerifyClient.VALID_ONLY: "a certificate of one of the authorities in {source}; without one no handshake succeeds",
    VerifyClient.ANY: "none, or any certificate",
}


@frozen
class SecuredConnection:
    """A TLS connection whose client shows no certificate; satisfies ``ingress.proxy.exchange.facts.Secured``."""

    authentication: ClientAuthentication | None

    def evidence(self) -> ClientEvidence:
        """Return what the client proved: nothing, to what was asked."""
        return ClientEvidence(self.authentication)


def server_name_of(host: str) -> str | None:
    """Return what a client names in the handshake (SNI) for *host* of a URL; None for an address (RFC 6066 section 3)."""
    try:
        ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return host.removesuffix(".")
    return None


def passing(server_name: str | None, snapshot: Snapshot) -> Route | None:
    """Return the route by which TLS for *server_name* goes, if that passes through."""
    if server_name is None:
        return None
    return snapshot.table.passing(server_name.lower().encode("ascii", "replace"))


def handshake_for(server_name: str | None, snapshot: Snapshot, now: datetime) -> Handshake:
    """Return what a handshake for *server_name* comes to."""
    shown_name = server_name or ""
    route = passing(server_name, snapshot)
    if route is not None and route.passthrough is not None:
        return Handshake(shown_name, passthrough=str(route.passthrough))
    table, settings = snapshot.certificates, snapshot.handshake_settings
    named = table.named(server_name)
    is_strict = snapshot.serving.strict_sni and not settings.has(server_name)
    if named is None and (is_strict or table.covers_labels):
        return Handshake(shown_name, is_refused=True)
    shown = tuple(_shown(one, server_name, table.default, now) for one in table.find(server_name))
    asked = settings.find(server_name).client_authentication
    demand = "" if asked is None else _DEMANDS[asked.mode].format(source=asked.source)
    return Handshake(shown_name, shown, demand)


def why_refused(snapshot: Snapshot) -> str:
    """Say why a handshake is refused by *snapshot*."""
    if snapshot.certificates.covers_labels:
        return "no listener of a Gateway has this server name with a certificate to show, so the handshake is refused"
    return "no Ingress serves this server name, so the handshake is refused (--strict-sni)"


def _shown(
    certificate: Certificate, server_name: str | None, default: Certificate | None, now: datetime
) -> ShownCertificate:
    return ShownCertificate(
        str(certificate.secret),
        certificate.names,
        certificate.key_type,
        rfc3339(certificate.not_after),
        server_name is not None and certificate.covers(server_name) and certificate.is_valid_at(now),
        certificate == default,
    )
