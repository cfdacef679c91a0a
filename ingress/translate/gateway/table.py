"""A table of Gateways as a whole, out of all that objects ask for in it."""

from collections.abc import Collection, Sequence

from ingress.model.cluster.problems import Problem
from ingress.model.stepwise import finished
from ingress.routing.streams import StreamRoute, StreamTable
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.claims import key_of, routes_of
from ingress.translate.gateway.handshakes import HandshakeTables
from ingress.translate.gateway.host_routes import decide_host
from ingress.translate.gateway.kind_conflicts import NO_CONFLICTS, OTHERS, KindConflicts, find_kind_conflicts
from ingress.translate.gateway.streams import decide_stream
from ingress.translate.snapshot import ListenerTable


def hosts_served(parsed: ParsedObject, table: str, conflicts: KindConflicts) -> tuple[str, ...]:
    """Return the hosts that *parsed* has in *table*, but for those of listeners that reject it."""
    owner, rejected = parsed.owner, conflicts.rejected
    if not rejected:
        return parsed.gateway.hosts_in(table)
    taking = parsed.gateway.attached_in(table)
    left = [taken for _, taken in taking if (owner, key_of(taken.listener)) not in rejected]
    if len(left) == len(taking):
        return parsed.gateway.hosts_in(table)
    return tuple({host: None for taken in left for host in taken.hosts})


def may_conflict(all_parsed: Collection[ParsedObject]) -> bool:
    """Whether there are routes of both kinds that exclude each other."""
    kinds = {parsed.owner.kind for parsed in all_parsed}
    return all(kind in kinds for kind in OTHERS)


def gateway_table(
    name: str,
    all_parsed: Sequence[ParsedObject],
    handshakes: HandshakeTables,
) -> tuple[ListenerTable, set[Problem], KindConflicts]:
    """Make the table *name*, in which *all_parsed* ask for something, sorted oldest first; *handshakes* are those of it."""
    conflicts = NO_CONFLICTS
    if may_conflict(all_parsed):
        conflicts = finished(
            find_kind_conflicts(name, (one for one in all_parsed if one.owner.kind in OTHERS))
        )
    by_host: dict[str, list[ParsedObject]] = {}
    for parsed in all_parsed:
        for host in hosts_served(parsed, name, conflicts):
            by_host.setdefault(host, []).append(parsed)
    problems = {*conflicts.problems}
    table: dict[str, HostRoutes | None] = {}
    streams: list[StreamRoute] = []
    for host, some in sorted(by_host.items()):
        decision = finished(
            decide_host(
                host,
                ((parsed, routes_of(parsed.owner, parsed.gateway, name, host)) for parsed in some),
                is_kept=any(parsed.gateway.keeps(name, host) for parsed in some),
            )
        )
        problems.update(decision.problems)
        table[host] = decision.routes
        stream, told = finished(decide_stream(name, host, some))
        problems.update(told)
        if stream is not None:
            streams.append(stream)
    routes = RouteTable(covers_labels=True).patched(
        {host: found for host, found in table.items() if found is not None}
    )
    return ListenerTable(routes, *handshakes, StreamTable(streams)), problems, conflicts
