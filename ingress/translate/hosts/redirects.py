"""Which routes redirect to HTTPS and insist on it: where settings and ``spec.tls`` meet.

Both go by the very host that was asked for (``ingress.translate.hosts.tls``).  For the route of one
host that is known here.  A route of a wildcard or of all hosts takes hosts that are in no rule, of
which some are in ``spec.tls``, so it gets the list of these.
"""

from collections.abc import Iterable, Iterator

from ingress.annotations.contract.host_facts import EVERY_HOST, CertifiedHosts, HostFacts
from ingress.annotations.hosts.transport_security import TransportSecurity, transport_security_value
from ingress.translate.hosts.merging import ALL_HOSTS
from ingress.translate.hosts.tls import HostTls
from ingress.translate.options import TranslateOptions
from ingress.translate.ownership import wildcard_of


class RedirectRule:
    """Finds which hosts of a route have certificates, and its transport security, by what was decided about TLS of hosts."""

    def __init__(self, options: TranslateOptions) -> None:
        self._options = options
        strict = options.strict_transport
        self._insisting = None if strict is None else TransportSecurity(transport_security_value(strict))
        # The hosts that redirect, each with whether it insists.
        self._hosts: dict[str, bool] = {}
        # Of these the wildcards that entries name, and the hosts that entries name and no rule does, by their wildcard.
        self._wildcards: dict[str, bool] = {}
        self._free: dict[str, dict[str, bool]] = {}
        # Of wildcards and of all hosts: which hosts redirect, and which insist; each collected once.
        self._wide: dict[str, tuple[CertifiedHosts | None, CertifiedHosts | None]] = {}

    def settle(self, host: str, decision: HostTls, *, has_rule: bool) -> Iterator[str]:
        """Note *decision* about *host*, and yield the hosts whose routes may be others for that.

        Without rule a host has no routes of its own, and concerns those of wildcards and of all hosts.
        """
        asked = decision.insists if decision.redirects else None
        if _put(self._hosts, host, asked):
            yield host
        claimed = asked if decision.is_claimed else None
        if host.startswith("*"):
            is_news = _put(self._wildcards, host, claimed)
        else:
            above = wildcard_of(host) or ""
            some = self._free.setdefault(above, {})
            is_news = _put(some, host, None if has_rule else claimed)
            if not some:
                del self._free[above]
            if is_news and above:
                yield above
        if is_news:
            self._wide.clear()
            yield ALL_HOSTS

    def facts(self, host: str, *, passes_tls: bool = False) -> HostFacts:
        """Return what families may know of *host*; with *passes_tls*, whoever terminates its TLS has a certificate."""
        certified = EVERY_HOST if passes_tls else self._found(host)[0]
        options = self._options
        return HostFacts(
            host,
            certified,
            options.https_port,
            options.default_backend_service,
            keeps_slash=not options.quirks,
        )

    def transport_security(self, host: str) -> TransportSecurity | None:
        """Return how the routes of *host* insist on HTTPS, or None where they do not."""
        insisting = self._insisting
        hosts = None if insisting is None else self._found(host)[1]
        if insisting is None or hosts is None:
            return None
        return insisting if hosts is EVERY_HOST else TransportSecurity(insisting.value, hosts)

    def _found(self, host: str) -> tuple[CertifiedHosts | None, CertifiedHosts | None]:
        """Return which hosts of a route of *host* redirect, and which insist; None for none."""
        if host and not host.startswith("*"):
            insists = self._hosts.get(host)
            return (None if insists is None else EVERY_HOST, EVERY_HOST if insists else None)
        if host not in self._wide:
            free, wildcards = self._free.get(host, {}), self._wildcards
            if host:
                wildcards = {host: wildcards[host]} if host in wildcards else {}
            else:
                free = {one: insists for some in self._free.values() for one, insists in some.items()}
            self._wide[host] = _redirecting(host, free, wildcards), _insisting(host, free, wildcards)
        return self._wide[host]


def _redirecting(host: str, free: dict[str, bool], wildcards: dict[str, bool]) -> CertifiedHosts | None:
    if host in wildcards:
        return EVERY_HOST
    return CertifiedHosts(_names(free), _suffixes(wildcards)) if free or wildcards else None


def _insisting(host: str, free: dict[str, bool], wildcards: dict[str, bool]) -> CertifiedHosts | None:
    names = [one for one, insists in free.items() if insists]
    wide = {one for one, insists in wildcards.items() if insists}
    excepted = [one for one, insists in free.items() if not insists and wildcard_of(one) in wide]
    if host in wide and not excepted:
        return EVERY_HOST
    return CertifiedHosts(_names(names), _suffixes(wide), _names(excepted)) if names or wide else None


def _names(hosts: Iterable[str]) -> frozenset[bytes]:
    return frozenset(one.encode("ascii") for one in hosts)


def _suffixes(wildcards: Iterable[str]) -> frozenset[bytes]:
    return frozenset(one[1:].encode("ascii") for one in wildcards)


def _put(kept: dict[str, bool], host: str, insists: bool | None) -> bool:
    """Keep *insists* for *host*, nothing for None; return whether that changes anything."""
    before = kept.get(host)
    if insists is None:
        kept.pop(host, None)
    else:
        kept[host] = insists
    return insists is not before
