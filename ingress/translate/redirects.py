"""Which routes redirect to HTTPS: where settings and certificates meet.

A redirect helps only where a certificate is configured for the very host that was
asked for.  For the route of one host that is known here.  A route of a wildcard or of
all hosts takes hosts with and without certificate, so its policy gets the list.
"""

from collections.abc import Iterable

from ingress.policy.redirects import CertifiedHosts, HttpsRedirect, RedirectSettings


class RedirectRule:
    """Finds the redirect policy of a route, by the hosts that have a certificate."""

    def __init__(self, https_port: int, certified: Iterable[str] = ()) -> None:
        self._port = https_port
        self._everywhere = HttpsRedirect(https_port)
        # Hosts by what follows their first label, and the suffixes of wildcards.
        self._hosts: dict[str, set[str]] = {}
        self._wildcards: set[str] = set()
        # The policies of wildcards and of all hosts, each made once.
        self._wide: dict[str, HttpsRedirect | None] = {}
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

    def policy(self, host: str, settings: RedirectSettings) -> HttpsRedirect | None:
        """Return the redirect of a route of *host*, or None when it never redirects."""
        if settings.force_ssl_redirect:
            return self._everywhere
        if not settings.ssl_redirect:
            return None
        if host and not host.startswith("*"):
            suffix = _suffix(host)
            has_one = host in self._hosts.get(suffix, ()) or (suffix and suffix in self._wildcards)
            return self._everywhere if has_one else None
        if host not in self._wide:
            self._wide[host] = self._for_many(host)
        return self._wide[host]

    def _for_many(self, host: str) -> HttpsRedirect | None:
        suffix = host[1:]
        if host and suffix in self._wildcards:
            return self._everywhere
        named = [self._hosts.get(suffix, ())] if host else self._hosts.values()
        names = frozenset(name.encode("ascii") for some in named for name in some)
        suffixes = frozenset() if host else frozenset(one.encode("ascii") for one in self._wildcards)
        return HttpsRedirect(self._port, CertifiedHosts(names, suffixes)) if names or suffixes else None


def _suffix(host: str) -> str:
    """What follows the first label, with its dot; empty for a host of one label."""
    dot = host.find(".")
    return host[dot:] if dot > 0 else ""
