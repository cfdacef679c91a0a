"""Which routes redirect to HTTPS and insist on it: where settings and ``spec.tls`` meet.

Both go by the very host that was asked for (``ingress.translate.hosts.tls``).  For the route of one
host that is known here.  A route of a wildcard or of all hosts takes hosts that are in no rule, of
which some are in ``spec.tls``, so it gets the list of these.
"""

from collections.abc import Iterator, Set
from itertools import chain
from typing import Final

from ingress.annotations.contract.host_facts import EVERY_HOST, CertifiedHosts, HostFacts
from ingress.annotations.hosts.transport_security import TransportSecurity, transport_security_value
from ingress.model.stepwise import Stepwise, finished
from ingress.translate.hosts.merging import ALL_HOSTS
from ingress.translate.hosts.tls import HostTls
from ingress.translate.options import TranslateOptions
from ingress.translate.ownership import wildcard_of

AT_ONCE: Final = 500
"""Hosts that are collected in one step."""

_NONE: Final[frozenset[bytes]] = frozenset()


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
        finished(self.collecting(host))
        return self._wide[host]

    def collecting(self, host: str) -> Stepwise[None]:
        """Collect in steps what ``facts`` and ``transport_security`` need to know of *host*: of a wildcard, or of all hosts, it may be very much."""
        if (host and not host.startswith("*")) or host in self._wide:
            return
        wildcards, free = self._wildcards, [*self._free.values()]
        if host:
            wildcards = {host: wildcards[host]} if host in wildcards else {}
            free = [self._free.get(host, {})]
        suffixes: set[bytes] = set()
        insisting_suffixes: set[bytes] = set()
        wide: set[str] = set()
        for number, (one, insists) in enumerate(wildcards.items(), 1):
            suffix = one[1:].encode("ascii")
            suffixes.add(suffix)
            if insists:
                wide.add(one)
                insisting_suffixes.add(suffix)
            if not number % AT_ONCE:
                yield
        names: set[bytes] = set()
        insisting: set[bytes] = set()
        excepted: set[bytes] = set()
        for number, (one, insists) in enumerate(chain.from_iterable(some.items() for some in free), 1):
            name = one.encode("ascii")
            names.add(name)
            if insists:
                insisting.add(name)
            elif wide and wildcard_of(one) in wide:
                excepted.add(name)
            if not number % AT_ONCE:
                yield
        redirects = _certified(names, suffixes)
        if len(names) > AT_ONCE:
            yield
        insists_on = redirects
        if excepted or len(insisting) < len(names) or len(wide) < len(suffixes):
            insists_on = _certified(insisting, insisting_suffixes, excepted)
        if host in wildcards:
            redirects = EVERY_HOST
        if len(names) > AT_ONCE:
            yield
        self._wide[host] = redirects, EVERY_HOST if host in wide and not excepted else insists_on


def _certified(
    names: Set[bytes], suffixes: Set[bytes], excepted: Set[bytes] = _NONE
) -> CertifiedHosts | None:
    if not (names or suffixes):
        return None
    return CertifiedHosts(frozenset(names), frozenset(suffixes), frozenset(excepted))


def _put(kept: dict[str, bool], host: str, insists: bool | None) -> bool:
    """Keep *insists* for *host*, nothing for None; return whether that changes anything."""
    before = kept.get(host)
    if insists is None:
        kept.pop(host, None)
    else:
        kept[host] = insists
    return insists is not before
