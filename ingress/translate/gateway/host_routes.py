"""The routes of one host in a table of Gateways: the matches of all rules that are attached there, in order of precedence.

The precedence is that of the API (``HTTPRouteSpec.hostnames``, ``HTTPRouteRule.matches``, ``GRPCRouteRule.matches``): first the route whose
own hostname says more of the host, whichever part of it the listener takes; then what the matches themselves say, then
the older route, then namespace and name, then the order of the rules.  A match that takes all requests of its path leaves none to
those behind it that have the same path.
"""

from collections.abc import Container, Iterable, Iterator
from heapq import merge
from operator import itemgetter
from typing import Final

from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes
from ingress.translate.age import by_age
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.claims import MatchClaim
from ingress.translate.readers.gateway.topology.hostnames import most_specific

AT_ONCE: Final = 200
"""Matches that are looked at in one step."""
MOST_OF_PATH: Final = 1024
"""Matches of one host and path that have conditions; what is behind them in precedence is told.  For patterns, of one host."""

_Entry = tuple[tuple[object, ...], Route, MatchClaim]
_KEY: Final = itemgetter(0)


@frozen
class GatewayHostDecision:
    """What became of one host."""

    routes: HostRoutes | None
    """None where nobody names the host; without any route where a listener has it and no route does."""
    problems: tuple[Problem, ...] = ()


NO_HOST: Final = GatewayHostDecision(None)


def decide_host(
    host: str, claiming: Iterable[tuple[ParsedObject, tuple[Route, ...]]], *, is_kept: bool
) -> Stepwise[GatewayHostDecision]:
    """Decide about *host*, which *claiming* have in common with listeners, each with its routes there, in order of its matches.

    *is_kept* says that a listener has it.
    """
    chunks: list[list[_Entry]] = [[]]
    for place, (parsed, routes) in enumerate(claiming, 1):
        if not place % AT_ONCE:
            yield
        if not routes:
            continue
        age, says = by_age(parsed.owner), _how_much_says(parsed.gateway.hostnames, host)
        for number, (route, claim) in enumerate(zip(routes, parsed.gateway.matches, strict=True)):
            chunks[-1].append(((says, claim.rank, age, number), route, claim))
            if len(chunks[-1]) >= AT_ONCE:
                chunks[-1].sort(key=_KEY)
                chunks.append([])
                yield
    chunks[-1].sort(key=_KEY)
    if len(chunks) == 1 and not chunks[0]:
        return GatewayHostDecision(HostRoutes((), is_kept=True)) if is_kept else NO_HOST
    in_order = chunks[0] if len(chunks) == 1 else merge(*chunks, key=_KEY)
    found: list[Route] = []
    problems: list[Problem] = []
    yield from _thinned(in_order, found, problems)
    if len(found) > AT_ONCE:
        yield
    decided = GatewayHostDecision(HostRoutes(tuple(found), is_kept=is_kept), tuple(problems))
    if len(chunks) > 1:
        # To let go of tens of thousands of entries takes as long as to make them.
        for chunk in chunks:
            chunk.clear()
            yield
    return decided


def _how_much_says(hostnames: Container[str], host: str) -> tuple[int, int]:
    """Return where a route of *hostnames* stands at *host*: by the characters of the name or wildcard that takes it."""
    own = most_specific(host, hostnames) or ""
    return -len(own) if not own.startswith("*") else 0, -len(own)


def _thinned(entries: Iterable[_Entry], found: list[Route], problems: list[Problem]) -> Iterator[None]:
    """Put into *found* what can be met at all."""
    taken: set[tuple[Match, str]] = set()
    counts: dict[tuple[Match, str], int] = {}
    for number, (_, route, claim) in enumerate(entries, 1):
        if not number % AT_ONCE:
            yield
        path = "" if route.match is Match.PATTERN else route.path
        bucket = route.match, path.rstrip("/") if route.match is Match.PREFIX else path
        if bucket in taken:
            continue
        if not route.conditions:
            taken.add(bucket)
        else:
            count = counts[bucket] = counts.get(bucket, 0) + 1
            if count > MOST_OF_PATH:
                problems.append(_too_many(route, claim))
                continue
        found.append(route)


def _too_many(route: Route, claim: MatchClaim) -> Problem:
    what = "regular expressions as paths" if route.match is Match.PATTERN else f"conditions for {route.path}"
    message = (
        f"{route.host or 'all hosts'}: more than {MOST_OF_PATH} matches with {what};"
        " this one is behind them and gets no requests"
    )
    assert route.owner is not None
    return route.owner.problem(Reason.UNSUPPORTED_VALUE, message, claim.field)
