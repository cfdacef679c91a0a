"""Hostnames of listeners and of routes: what one has of another, and whose a host is.

A hostname is a name, a wildcard such as ``*.example.com``, or empty for all hosts.  Here a wildcard covers any number of labels, but at
least one.  The most specific hostname of all that cover a host has it: a name before wildcards, a longer wildcard
before a shorter one, all hosts last.

Source: ``Listener.hostname`` and ``HTTPRouteSpec.hostnames`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import Final

from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise

ALL_HOSTS: Final = ""
AT_ONCE: Final = 500
"""Labels of hostnames that are looked at in one step."""


def wildcards_over(hostname: str) -> Iterator[str]:
    """Yield what covers *hostname* besides itself, the most specific one first."""
    if not hostname:
        return
    dot = hostname.find(".", 2 if hostname.startswith("*.") else 0)
    while dot >= 0:
        yield f"*{hostname[dot:]}"
        dot = hostname.find(".", dot + 1)
    yield ALL_HOSTS


def most_specific(hostname: str, among: Container[str]) -> str | None:
    """Return which of the hostnames *among* has *hostname*, or all hosts of that wildcard; None for none."""
    if hostname in among:
        return hostname
    for wildcard in wildcards_over(hostname):
        if wildcard in among:
            return wildcard
    return None


def overlapping(hostnames: Collection[str]) -> Stepwise[frozenset[str]]:
    """Return those of *hostnames* that have a host in common with another one."""
    found: set[str] = set()
    labels = 0
    for hostname in hostnames:
        for wider in wildcards_over(hostname):
            if wider in hostnames:
                found |= {hostname, wider}
            labels += 1
        if labels > AT_ONCE:
            labels = 0
            yield
    return frozenset(found)


@frozen(weakref_slot=False)
class TableHostnames:
    """The hostnames of the listeners of a table; each has the hosts that no more specific one has."""

    known: frozenset[str]
    overlapping: frozenset[str]
    """Those that have a host in common with another one."""


NO_HOSTNAMES: Final = TableHostnames(frozenset(), frozenset())


class HostOwners:
    """Which hostname of each of some *tables* has a host; *everything* are those of all tables together.

    It remembers what it was asked: a route may have the same hosts in hundreds of tables.
    """

    __slots__ = ("_everything", "_found", "_over", "_tables")

    def __init__(self, tables: Mapping[str, TableHostnames], everything: Container[str]) -> None:
        self._tables = tables
        self._everything = everything
        # By host: what covers it in any table, the most specific one first.
        self._over: dict[str, tuple[str, ...]] = {}
        self._found: dict[str, dict[str, str | None]] = {}

    def find(self, table: str, host: str) -> str | None:
        """Return which hostname of *table* has *host*, or all hosts of that wildcard; None for none."""
        found = self._found.setdefault(table, {})
        if host not in found:
            among = self._tables[table].known
            found[host] = next((one for one in self._covering(host) if one in among), None)
        return found[host]

    def _covering(self, host: str) -> tuple[str, ...]:
        known = self._over.get(host)
        if known is None:
            everything = self._everything
            known = tuple(one for one in (host, *wildcards_over(host)) if one in everything)
            self._over[host] = known
        return known


def in_lower_case(hostname: str) -> str:
    """Return *hostname* in lower case; the same object where it is, as it mostly was written."""
    lower = hostname.lower()
    return hostname if lower == hostname else lower


_ALL: Final = (ALL_HOSTS,)


class Hostnames:
    """The hostnames of a route, in lower case; none at all stand for all hosts."""

    __slots__ = ("_all", "_ends", "_known")

    def __init__(self, hostnames: Iterable[str]) -> None:
        given = tuple(hostnames)
        lower = tuple(dict.fromkeys(in_lower_case(one) for one in given))
        self._all = (given if given == lower else lower) or _ALL
        self._known = frozenset(self._all)
        # What covers others by their end; that of all hosts is empty.
        self._ends = tuple(one[1:] for one in self._all if not one or one.startswith("*."))

    def of(self, hostname: str) -> tuple[str, ...]:
        """Return the hosts that a listener for *hostname* has in common with them, in their order."""
        if not hostname:
            return self._all
        if not hostname.startswith("*."):
            return (hostname,) if self._cover(hostname) else ()
        within = hostname[1:]
        found = [one for one in self._all if one.endswith(within) and one != hostname]
        if self._cover(hostname):
            found.append(hostname)
        return tuple(found)

    def _cover(self, hostname: str) -> bool:
        return hostname in self._known or hostname.endswith(self._ends)
