"""Why a request takes the route that it takes in a table of Gateways: what came before it and does not hold, and what comes after it.

As ``ingress.routing.contest``, whose values these are, for tables in which the order of routes decides and not their paths alone.
"""

from itertools import islice
from typing import Final

from ingress.model.stepwise import Stepwise
from ingress.model.text.lookup_budget import found_in_steps
from ingress.routing.contest import (
    AT_ONCE,
    MOST_LOSERS,
    Contest,
    LookedFor,
    Loser,
    Why,
    near_hosts_of,
    near_paths_of,
)
from ingress.routing.match_conditions import MatchFacts, TooMuchToCompare, first_met
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable

_MOST_SHOWN: Final = 1000
"""Routes that take the path of which is told why they lost, or which are counted; none beyond these is looked at."""


def contesting_in_order(table: RouteTable, host: bytes, path: bytes, facts: MatchFacts) -> Stepwise[Contest]:
    """Find out in steps how the route of *host* and *path*, both in normal form, is found for a request with *facts*."""
    looked_for: list[LookedFor] = []
    for key in table.keys_of(host):
        name = key.decode("ascii", "replace")
        routes = table.get(name)
        looked_for.append(LookedFor(name, 0 if routes is None else len(routes.routes)))
        if routes is not None and routes.is_kept:
            break
    decides = table.host_of(host)
    if decides is None:
        near_hosts = yield from near_hosts_of(host.decode("ascii", "replace"), table)
        return Contest(tuple(looked_for), None, None, near_hosts=near_hosts)
    try:
        winner = yield from found_in_steps(lambda: first_met(table.taking(host, path), facts))
    except TooMuchToCompare:
        return Contest(tuple(looked_for), decides.decode("ascii", "replace"), None, is_too_much=True)
    yield
    losers: list[Loser] = []
    is_behind = False
    for number, route in enumerate(islice(table.taking(host, path), _MOST_SHOWN), 1):
        if not number % AT_ONCE:
            yield
        if route is winner:
            is_behind = True
        elif is_behind and winner is not None:
            losers.append(Loser(route, Why.COMES_LATER, _why_later(route, winner)))
        else:
            losers.append(Loser(route, Why.CONDITION_NOT_MET, _why_not(route, facts)))
    near_paths: tuple[Route, ...] = ()
    if winner is None and not losers:
        own = table.get(decides.decode("ascii", "replace"))
        near_paths = yield from near_paths_of(() if own is None else own.routes, path)
    return Contest(
        tuple(looked_for),
        decides.decode("ascii", "replace") if winner is None else winner.host,
        winner,
        False,
        tuple(losers[:MOST_LOSERS]),
        max(0, len(losers) - MOST_LOSERS),
        near_paths,
    )


def _why_not(route: Route, facts: MatchFacts) -> str:
    missing = next((one for one in route.conditions if not one.holds(facts)), None)
    return "" if missing is None else f"it takes only requests whose {missing}"


def _why_later(loser: Route, winner: Route) -> str:
    """Say in a sentence why *winner* comes before *loser*."""
    if loser.host != winner.host:
        return f"the hostname {winner.host or 'of all hosts'} says more of the host than {loser.host or 'that of all hosts'}"
    kinds = [loser.match, winner.match]
    if kinds == [Match.PREFIX, Match.EXACT]:
        return "an exact path comes before any prefix"
    if loser.match is not winner.match:
        return f"a path of the type {winner.match.value} comes before one of the type {loser.match.value}"
    if loser.path.rstrip("/") != winner.path.rstrip("/"):
        return f"{winner.path} says more of the path, or its hostname more of the host"
    if loser.owner == winner.owner:
        return f"{winner.place} of the same object comes before it: it says more of requests, or comes first there"
    return (
        f"{winner.place} of {winner.owner} comes before it: it says more of requests, or its object is older"
    )
