"""Which routes redirect to HTTPS: where settings and certificates meet.

A redirect helps only where a certificate is configured for the very host that was
asked for.  For the route of one host that is known here.  A route of a wildcard or of
all hosts takes hosts with and without certificate, so its policy gets the list.
"""

from ingress.certificates import CertificateTable
from ingress.policy.redirects import CertifiedHosts, HttpsRedirect, RedirectSettings


class RedirectRule:
    """Finds the redirect policy of a route; equal hosts share one policy."""

    def __init__(self, certificates: CertificateTable, https_port: int) -> None:
        self._certificates = certificates
        self._everywhere = HttpsRedirect(https_port)
        self._port = https_port
        self._policies: dict[str, HttpsRedirect | None] = {}
        self._below: dict[str, set[bytes]] = {}
        for host in certificates.exact:
            dot = host.find(".")
            if dot > 0:
                self._below.setdefault(host[dot:], set()).add(host.encode("ascii"))

    def policy(self, host: str, settings: RedirectSettings) -> HttpsRedirect | None:
        """Return the redirect of a route of *host*, or None when it never redirects."""
        if settings.force_ssl_redirect:
            return self._everywhere
        if not settings.ssl_redirect:
            return None
        if host not in self._policies:
            self._policies[host] = self._for_certified(host)
        return self._policies[host]

    def _for_certified(self, host: str) -> HttpsRedirect | None:
        certificates = self._certificates
        if host.startswith("*"):
            if host[1:] in certificates.wildcard:
                return self._everywhere
            hosts = CertifiedHosts(frozenset(self._below.get(host[1:], ())))
        elif host:
            dot = host.find(".")
            has_one = host in certificates.exact or (dot > 0 and host[dot:] in certificates.wildcard)
            return self._everywhere if has_one else None
        else:
            hosts = CertifiedHosts(
                frozenset(name.encode("ascii") for name in certificates.exact),
                frozenset(suffix.encode("ascii") for suffix in certificates.wildcard),
            )
        return HttpsRedirect(self._port, hosts) if hosts.names or hosts.suffixes else None
