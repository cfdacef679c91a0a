"""Which routes redirect to HTTPS and insist on it: where settings and certificates meet.

Both help only where a certificate is configured for the very host that was
asked for.  For the route of one host that is known here.  A route of a wildcard or of
all hosts takes hosts with and without certificate, so it gets the list.
"""

from collections.abc import Iterable
from typing import Final

from ingress.policy.redirects import CertifiedHosts, HttpsRedirect, RedirectSettings
from ingress.policy.transport_security import TransportSecurity, transport_security_line
from ingress.translate.options import TranslateOptions

_EVERY_HOST: Final = CertifiedHosts()
"""Stands for all hosts of a route; compared by identity."""


class RedirectRule:
    """Finds the redirect policy of a route and its transport security, by the hosts that have a certificate."""

    def __init__(self, options: TranslateOptions, certified: Iterable[str] = ()) -> None:
        self._options = options
        line = transport_security_line(options.strict_transport)
        self._line = line
        self._insisting = TransportSecurity(line) if line else None
        # Almost all routes have one of these, by whether it keeps the slash.
        self._everywhere = [HttpsRedirect(options.https_port, None, keeps) for keeps in (False, True)]
        # Hosts by what follows their first label, and the suffixes of wildcards.
        self._hosts: dict[str, set[str]] = {}
        self._wildcards: set[str] = set()
        # The hosts with certificate of wildcards and of all hosts, each collected once.
        self._wide: dict[str, CertifiedHosts | None] = {}
        for host in certified:
            self.certify(host, has_certificate=True)

    def certify(self, host: str, *, has_certificate: bool) -> bool:
        """Note whether *host*, which may be a wildcard, has a certificate; return whether that is news."""
        suffix = _suffix(host)
        if host.startswith("*"):
            kept, entry = self._wildcards, suffix
        else:
            kept, entry = self._hosts.setdefault(suffix, set()), host
        if (entry in kept) is has_certificate:
            return False
        if has_certificate:
            kept.add(entry)
        else:
            kept.remove(entry)
        self._wide.clear()
        return True

    def policy(
        self, host: str, settings: RedirectSettings, *, passes_tls: bool = False
    ) -> HttpsRedirect | None:
        """Return the redirect of a route of *host*, or None when it never redirects.

        With *passes_tls*, whoever terminates the host's TLS has a certificate.
        """
        options = self._options
        keeps_slash = settings.preserve_trailing_slash
        if _first(settings.force_ssl_redirect, options.force_ssl_redirect):
            return self._everywhere[keeps_slash]
        if not _first(settings.ssl_redirect, options.ssl_redirect):
            return None
        hosts = _EVERY_HOST if passes_tls else self._certified(host)
        if hosts is None or hosts is _EVERY_HOST:
            return None if hosts is None else self._everywhere[keeps_slash]
        return HttpsRedirect(options.https_port, hosts, keeps_slash)

    def transport_security(self, host: str) -> TransportSecurity | None:
        """Return how the routes of *host* insist on HTTPS, or None where they do not."""
        hosts = None if self._insisting is None else self._certified(host)
        if hosts is None:
            return None
        return self._insisting if hosts is _EVERY_HOST else TransportSecurity(self._line, hosts)

    def _certified(self, host: str) -> CertifiedHosts | None:
        """Return the hosts with a certificate of all that a route of *host* takes, None for none."""
        if host and not host.startswith("*"):
            suffix = _suffix(host)
            has_one = host in self._hosts.get(suffix, ()) or (suffix and suffix in self._wildcards)
            return _EVERY_HOST if has_one else None
        if host not in self._wide:
            self._wide[host] = self._certified_of_many(host)
        return self._wide[host]

    def _certified_of_many(self, host: str) -> CertifiedHosts | None:
        suffix = host[1:]
        if host and suffix in self._wildcards:
            return _EVERY_HOST
        named = [self._hosts.get(suffix, ())] if host else self._hosts.values()
        names = frozenset(name.encode("ascii") for some in named for name in some)
        suffixes = frozenset() if host else frozenset(one.encode("ascii") for one in self._wildcards)
        return CertifiedHosts(names, suffixes) if names or suffixes else None


def _first(asked: bool | None, otherwise: bool) -> bool:
    return otherwise if asked is None else asked


def _suffix(host: str) -> str:
    """What follows the first label, with its dot; empty for a host of one label."""
    dot = host.find(".")
    return host[dot:] if dot > 0 else ""
