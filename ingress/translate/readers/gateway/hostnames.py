"""Hostnames of listeners and of routes: what one has of another, and whose a host is.

A hostname is a name, a wildcard such as ``*.example.com``, or empty for all hosts.  Here a wildcard covers any number of labels, but at
least one.  The most specific hostname of all that cover a host has it: a name before wildcards, a longer wildcard
before a shorter one, all hosts last.

Source: ``Listener.hostname`` and ``HTTPRouteSpec.hostnames`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Container, Iterable, Iterator
from typing import Final

ALL_HOSTS: Final = ""


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


def in_lower_case(hostname: str) -> str:
    """Return *hostname* in lower case; the same object where it is, as it mostly was written."""
    lower = hostname.lower()
    return hostname if lower == hostname else lower


_ALL: Final = (ALL_HOSTS,)


class Hostnames:
    """The hostnames of a route, in lower case; none at all stand for all hosts."""

    __slots__ = ("_all", "_known")

    def __init__(self, hostnames: Iterable[str]) -> None:
        given = tuple(hostnames)
        lower = tuple(dict.fromkeys(in_lower_case(one) for one in given))
        self._all = (given if given == lower else lower) or _ALL
        self._known = frozenset(self._all)

    def of(self, hostname: str) -> tuple[str, ...]:
        """Return the hosts that a listener for *hostname* has in common with them, in their order."""
        if not hostname:
            return self._all
        if not hostname.startswith("*."):
            return () if most_specific(hostname, self._known) is None else (hostname,)
        within = hostname[1:]
        found = [one for one in self._all if one.endswith(within) and one != hostname]
        if most_specific(hostname, self._known) is not None:
            found.append(hostname)
        return tuple(found)
