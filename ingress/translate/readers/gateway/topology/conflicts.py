"""Which listeners are in each other's way, where they share their addresses.

A port of TCP carries one of three things: plain HTTP, connections that begin with TLS (HTTPS and TLS, told apart by server name),
or bare TCP, which has it alone.  Of those that begin alike each hostname has one listener.  A port of UDP is another one, whatever
its number, and has one listener.

Listeners of one object that cannot be told apart are all refused: nobody says which of them is meant.  Of two objects
the first has what both want, and the objects come in this order: a Gateway before its ListenerSets, older ones before younger ones.

Source: "Distinct Listeners" at ``GatewaySpec.listeners``, and the order at ``ListenerSetSpec.listeners``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.translate.readers.gateway.topology.listener_checks import UDP, CheckedListener, is_secure

_AT_ONCE: Final = 1000
"""Listeners that are forgotten in one step."""
_ALONE: Final = frozenset({"TCP", UDP})
"""What has a port for one listener, since nothing tells what comes for another."""


class Port(NamedTuple):
    """A port of TCP, or of UDP."""

    number: int
    is_udp: bool = False

    def __str__(self) -> str:
        return f"port {self.number} of UDP" if self.is_udp else f"port {self.number}"


def port_of(one: CheckedListener) -> Port:
    """Return which port a listener asks for."""
    return Port(one.listener.port, one.listener.protocol == UDP)


def _sort_of(protocol: str) -> str:
    """Return what a port carries that has a listener of *protocol*."""
    return "TLS" if is_secure(protocol) else protocol


class PortBook:
    """Who has which port and hostname of some addresses; entered in the order of who comes first."""

    __slots__ = ("_hosts", "_sorts", "hostnames")

    def __init__(self) -> None:
        self._sorts: dict[Port, tuple[str, Owner]] = {}
        self._hosts: dict[tuple[Port, str], tuple[str, Owner]] = {}
        self.hostnames: dict[Port, set[str]] = {}
        """Those of each port."""

    def forget(self) -> Iterator[None]:
        """Forget who has what, in steps: to let go of tens of thousands of listeners at once takes long."""
        while self._hosts:
            for _ in range(min(len(self._hosts), _AT_ONCE)):
                self._hosts.popitem()
            yield

    def enter(self, owner: Owner, listeners: Mapping[int, CheckedListener]) -> dict[int, Problem]:
        """Enter those of the *listeners* of *owner*, by their place, that are in nobody's way; return why others are."""
        refused: dict[int, Problem] = {}
        for at, one in listeners.items():
            problem = self._before(owner, one)
            if problem is not None:
                refused[at] = problem
        # What another object has already is in nobody's way here.
        left = listeners if not refused else {at: one for at, one in listeners.items() if at not in refused}
        refused |= _within(owner, left)
        for at, one in left.items():
            if at in refused:
                continue
            port, protocol = port_of(one), one.listener.protocol
            self._sorts.setdefault(port, (_sort_of(protocol), owner))
            self._hosts[port, one.hostname] = protocol, owner
            self.hostnames.setdefault(port, set()).add(one.hostname)
        return refused

    def _before(self, owner: Owner, one: CheckedListener) -> Problem | None:
        """Return the problem of a listener whose port or hostname somebody has who comes before its *owner*."""
        listener = one.listener
        port = port_of(one)
        taken = self._sorts.get(port)
        sort = _sort_of(listener.protocol)
        if taken is not None and (taken[0] != sort or sort in _ALONE):
            message = (
                f"port {listener.port} is there for {taken[0]} by a listener of {taken[1]}, which comes first"
            )
            return owner.problem(Reason.PROTOCOL_CONFLICT, message, f"{listener.field}.protocol")
        known = self._hosts.get((port, one.hostname))
        if known is None:
            return None
        host = one.hostname or "all hosts"
        message = f"{host} on {port} belongs to a listener of {known[1]}, which comes first"
        if known[0] != listener.protocol:
            return owner.problem(Reason.PROTOCOL_CONFLICT, message, f"{listener.field}.protocol")
        return owner.problem(Reason.HOSTNAME_CONFLICT, message, f"{listener.field}.hostname")


def _within(owner: Owner, listeners: Mapping[int, CheckedListener]) -> dict[int, Problem]:
    """Return the problems of those *listeners* of one object that cannot be told apart, by their place."""
    refused: dict[int, Problem] = {}
    if len(listeners) < 2:
        return refused
    sorts: dict[Port, set[str]] = {}
    alone: Counter[Port] = Counter()
    hosts: dict[tuple[Port, str], list[str]] = {}
    for one in listeners.values():
        port, protocol = port_of(one), one.listener.protocol
        sorts.setdefault(port, set()).add(_sort_of(protocol))
        alone[port] += protocol in _ALONE
        hosts.setdefault((port, one.hostname), []).append(protocol)
    for at, one in listeners.items():
        listener = one.listener
        port = port_of(one)
        if len(sorts[port]) > 1 or alone[port] > 1:
            what = "UDP" if port.is_udp else "several protocols, or TCP"
            message = f"{port} is to carry {what} of several listeners; none of these is served"
            problem = owner.problem(Reason.PROTOCOL_CONFLICT, message, f"{listener.field}.protocol")
        elif len(same := hosts[port, one.hostname]) > 1:
            host = one.hostname or "all hosts"
            message = f"{host} on {port} is asked for by {len(same)} listeners of this object; none of these is served"
            is_alike = len(set(same)) == 1
            reason = Reason.HOSTNAME_CONFLICT if is_alike else Reason.PROTOCOL_CONFLICT
            problem = owner.problem(
                reason, message, f"{listener.field}.{'hostname' if is_alike else 'protocol'}"
            )
        else:
            continue
        refused[at] = problem
    return refused
