"""HTTPRoutes and GRPCRoutes that want the same hosts of one listener: the older route is attached, and the other is not.

Source: ``GRPCRouteSpec.hostnames``: of two routes of these kinds with a host in common, a listener takes exactly one.
"""

from collections.abc import Iterable
from typing import Final

from ingress.model.cluster.objects import Kind, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.translate.age import why_first
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.attached_routes import is_refused
from ingress.translate.gateway.claims import ListenerKey, key_of
from ingress.translate.readers.gateway.objects.names import GRPC_ROUTE, HTTP_ROUTE
from ingress.translate.readers.gateway.topology.hostnames import wildcards_over

AT_ONCE: Final = 500
"""Routes, listeners and hosts that are looked at in one step."""
OTHERS: Final = {HTTP_ROUTE: GRPC_ROUTE, GRPC_ROUTE: HTTP_ROUTE}
"""The kinds that exclude each other."""


@frozen
class KindConflicts:
    """Which routes are rejected by which listeners, and what they are told."""

    rejected: frozenset[tuple[Owner, ListenerKey]] = frozenset()
    problems: tuple[Problem, ...] = ()


NO_CONFLICTS: Final = KindConflicts()


def find_kind_conflicts(table: str, routes: Iterable[ParsedObject]) -> Stepwise[KindConflicts]:
    """Find the conflicts among *routes*, sorted oldest first, of all listeners of *table*; each listener is of one table."""
    rejected: set[tuple[Owner, ListenerKey]] = set()
    problems: list[Problem] = []
    accepted: dict[tuple[ListenerKey, Kind], _Hosts] = {}
    done = 0
    for parsed in routes:
        done += 1
        if is_refused(parsed):
            continue
        owner = parsed.owner
        for attachment, taken in parsed.gateway.attached_in(table):
            done += 1 + len(taken.hosts)
            if done > AT_ONCE:
                done = 0
                yield
            key = key_of(taken.listener)
            other = accepted.get((key, OTHERS[owner.kind]))
            met = None if other is None else other.first_met(taken.hosts)
            if met is None:
                accepted.setdefault((key, owner.kind), _Hosts()).add(taken.hosts, owner)
                continue
            host, winner = met
            rejected.add((owner, key))
            message = (
                f"listener {key[1]} of {key[0]} has {winner} for {host or 'all hosts'}, {why_first(winner, owner)};"
                f" {owner.kind} and {winner.kind} share no host of a listener"
            )
            problems.append(owner.problem(Reason.HOST_CONFLICT, message, attachment.field))
    return KindConflicts(frozenset(rejected), tuple(problems))


class _Hosts:
    """The hosts of routes that were accepted, each with the first of these."""

    def __init__(self) -> None:
        self._named: dict[str, Owner] = {}
        self._below: dict[str, tuple[str, Owner]] = {}
        """By wildcard: the first host that it covers."""

    def add(self, hosts: Iterable[str], owner: Owner) -> None:
        for host in hosts:
            if host not in self._named:
                self._named[host] = owner
                for wildcard in wildcards_over(host):
                    self._below.setdefault(wildcard, (host, owner))

    def first_met(self, hosts: Iterable[str]) -> tuple[str, Owner] | None:
        """Return the first of *hosts* that covers one of these, or that one of these covers, with whose that is."""
        for host in hosts:
            for name in (host, *wildcards_over(host)):
                owner = self._named.get(name)
                if owner is not None:
                    return host, owner
            below = self._below.get(host)
            if below is not None:
                return below
        return None
