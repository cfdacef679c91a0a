"""Why a request takes the route that it takes: the hosts that were looked for, and why each other route lost.

The route itself is what ``RouteTable.find`` says, and nothing else.  What is told beside it is found by looking at all
routes of the host, which may be thousands: so it comes in steps.
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import partial
from heapq import nsmallest
from typing import Final

from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.model.text.lookup_budget import MAX_WORK, found_in_steps
from ingress.routing.beginnings import EVERYBODY
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable

AT_ONCE: Final = 50
"""How many routes or hosts are looked at in one step."""
MOST_LOSERS: Final = 50
"""How many of the routes that lost are told of; the others are counted."""
MOST_NEAR: Final = 3
_MOST_RUN: Final = 8 * MAX_WORK
"""What expressions may cost together that are run to tell whether they would have taken the path."""
_WORK_AT_ONCE: Final = MAX_WORK // 16
_MOST_COMPARED: Final = 256
_MOST_CHANGED: Final = 3
"""How many characters in a row may be others in a host that is told as close."""


class Why(StrEnum):
    """Why a route lost that would have taken the request."""

    LESS_EXACT_HOST = "less-exact-host"
    EXACT_FIRST = "exact-first"
    SHORTER = "shorter-prefix"
    SAME_PATH = "same-path"
    EXPRESSION_FIRST = "expression-first"
    SHORTER_EXPRESSION = "shorter-expression"
    OTHER_REALM = "other-namespace"
    NOT_COMPARED = "not-compared"
    CONDITION_NOT_MET = "condition-not-met"
    COMES_LATER = "comes-later"


@frozen
class LookedFor:
    """A host that was looked for, as in ``Route.host``: the request's, its wildcard, all hosts (empty)."""

    host: str
    paths: int
    """How many routes it has; 0 for none at all."""


@frozen
class Loser:
    """A route that lost, and why that is."""

    route: Route
    why: Why
    sentence: str


@frozen
class Contest:
    """How the route of one request was found."""

    looked_for: tuple[LookedFor, ...]
    """In order, up to the one that decides."""
    host: str | None
    """The one that decides, as in ``Route.host``; None where there is none."""
    route: Route | None
    is_too_long: bool = False
    """Whether the path is too long for the expressions of the host (414)."""
    losers: tuple[Loser, ...] = ()
    """In order of the host, the path, and how that is compared."""
    more_losers: int = 0
    near_paths: tuple[Route, ...] = ()
    """Where no route takes the path: those of the host whose paths are like it."""
    near_hosts: tuple[str, ...] = ()
    """Where nothing is served by the name of the host: hosts that are like it."""
    is_too_much: bool = False
    """Whether finding the route would cost more than one request may (431)."""


def contesting(table: RouteTable, host: bytes, path: bytes) -> Stepwise[Contest]:
    """Find out in steps how the route of *host* and *path*, both in normal form, is found in *table*."""
    looked_for: list[LookedFor] = []
    own: HostRoutes | None = None
    rest: list[HostRoutes] = []
    for key in table.keys_of(host):
        name = key.decode("ascii", "replace")
        routes = table.get(name)
        if own is not None:
            rest += [] if routes is None else [routes]
            continue
        looked_for.append(LookedFor(name, 0 if routes is None else len(routes.routes)))
        own = routes
    if own is None:
        near_hosts = yield from near_hosts_of(host.decode("ascii", "replace"), table)
        return Contest(tuple(looked_for), None, None, near_hosts=near_hosts)
    winner: Route | None = None
    is_too_long = False
    try:
        winner = yield from found_in_steps(partial(table.find, host, path))
    except PathTooLong:
        is_too_long = True
    yield
    losers: list[Loser] = []
    if winner is not None:
        takers = yield from _takers(own.routes, path)
        losers += [_lost(one, winner, is_compared=is_known) for one, is_known in takers if one is not winner]
    for routes in rest:
        yield
        other = yield from _find(routes, path)
        if other is not None:
            losers.append(_of_other_host(other, looked_for[-1].host))
    losers.sort(key=_order)
    near_paths: tuple[Route, ...] = ()
    near_hosts = ()
    if not looked_for[-1].host:
        near_hosts = yield from near_hosts_of(host.decode("ascii", "replace"), table)
    if winner is None and not is_too_long:
        near_paths = yield from near_paths_of(own.routes, path)
    return Contest(
        tuple(looked_for),
        looked_for[-1].host,
        winner,
        is_too_long,
        tuple(losers[:MOST_LOSERS]),
        max(0, len(losers) - MOST_LOSERS),
        near_paths,
        near_hosts,
    )


def _find(routes: HostRoutes, path: bytes) -> Stepwise[Route | None]:
    try:
        return (yield from found_in_steps(partial(routes.find, path)))
    except PathTooLong:
        return None


def _order(loser: Loser) -> tuple[int, bool, int, str, str]:
    route = loser.route
    is_other = loser.why is Why.LESS_EXACT_HOST
    return is_other, route.match is not Match.EXACT, -len(route.path), route.path, route.match.value


def path_bytes(path: str) -> bytes:
    """Return *path* of a rule as it is compared; what is no valid Unicode text takes no request, but may stand in a table."""
    try:
        return rule_path(path)
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


# Which routes take a path


def _takers(routes: Iterable[Route], path: bytes) -> Stepwise[list[tuple[Route, bool]]]:
    """Find those of *routes* that take *path*, each with whether that was compared to the end."""
    found: list[tuple[Route, bool]] = []
    work = since = 0
    for number, route in enumerate(routes, 1):
        if not number % AT_ONCE:
            yield
        if route.beginnings is None:
            if takes(route.path, path, is_exact=route.match is Match.EXACT):
                found.append((route, True))
            continue
        if not _begins_like(route, path):
            continue
        if not route.expressions:
            found.append((route, True))
            continue
        is_taken = is_compared = False
        for expression in route.expressions:
            cost = expression.size * len(path)
            if work + cost > _MOST_RUN or cost > MAX_WORK:
                is_taken = True
                continue
            work += cost
            since += cost if expression.is_made else cost + expression.making()
            if expression.takes(path):
                is_taken = is_compared = True
                break
        if is_taken:
            found.append((route, is_compared))
        if since > _WORK_AT_ONCE:
            since = 0
            yield
    return found


def takes(rule: str, path: bytes, *, is_exact: bool) -> bool:
    """Whether *rule*, the path of a rule that is compared as text, takes *path*, in normal form, where no other does."""
    own = path_bytes(rule)
    if is_exact:
        return path == own
    elements = own.rstrip(b"/")
    return path.startswith(elements) and path[len(elements) : len(elements) + 1] in (b"", b"/")


def _begins_like(route: Route, path: bytes) -> bool:
    beginnings = route.beginnings
    if beginnings is None:
        return False
    lowered = path.lower()
    return (
        beginnings.take(path)
        or lowered in beginnings.own_whole
        or lowered.startswith(beginnings.own_prefixes)
    )


# Why they lost


def _of_other_host(route: Route, decides: str) -> Loser:
    whose = f"the wildcard {decides}" if decides.startswith("*") else f"the host {decides}"
    return Loser(
        route,
        Why.LESS_EXACT_HOST,
        f"{whose} has rules of its own, and the most exact host decides alone",
    )


def _lost(loser: Route, winner: Route, *, is_compared: bool) -> Loser:
    if not is_compared:
        return Loser(
            loser, Why.NOT_COMPARED, "the path is too long to tell whether this expression takes it, too"
        )
    if loser.beginnings is None and winner.beginnings is None:
        return _lost_as_text(loser, winner)
    if winner.beginnings is None:
        return _lost_to_text(loser, winner)
    if loser.beginnings is None:
        return Loser(loser, Why.EXPRESSION_FIRST, _taken_before(loser, winner))
    if loser.beginnings.realm == winner.beginnings.realm:
        return Loser(
            loser,
            Why.SHORTER_EXPRESSION,
            f"among the regular expressions of {_realm(winner)} the longer text is asked first",
        )
    return Loser(
        loser,
        Why.OTHER_REALM,
        "between namespaces, the expression counts that begins with more of the path, or else the older",
    )


def _lost_as_text(loser: Route, winner: Route) -> Loser:
    if winner.match is Match.EXACT and loser.match is not Match.EXACT:
        return Loser(loser, Why.EXACT_FIRST, "an exact path comes before any prefix")
    same = path_bytes(loser.path).rstrip(b"/") == path_bytes(winner.path).rstrip(b"/")
    if same:
        return Loser(
            loser,
            Why.SAME_PATH,
            f"{winner.path} takes the same requests, and its text is the longer or came first",
        )
    return Loser(loser, Why.SHORTER, f"{winner.path} is the longer prefix")


def _lost_to_text(loser: Route, winner: Route) -> Loser:
    assert loser.beginnings is not None
    namespace = "" if winner.owner is None else winner.owner.key.namespace
    if loser.beginnings.realm in (EVERYBODY, namespace):
        return Loser(
            loser,
            Why.SHORTER_EXPRESSION,
            f"the text {winner.path} is longer than that of the regular expression",
        )
    if winner.match is Match.EXACT:
        return Loser(
            loser, Why.OTHER_REALM, "an exact path yields to no regular expression of another namespace"
        )
    return Loser(
        loser,
        Why.OTHER_REALM,
        f"what the expression begins with says no more of the path than the prefix {winner.path}, of another namespace",
    )


def _taken_before(loser: Route, winner: Route) -> str:
    closed = winner.match is Match.BEGINNING
    what = "what is closed for a regular expression that is not run" if closed else "a regular expression"
    namespace = "" if loser.owner is None else loser.owner.key.namespace
    assert winner.beginnings is not None
    if loser.owner is None or winner.beginnings.realm in (EVERYBODY, namespace):
        return f"{what} is asked before paths that are compared as text, if its own text is as long"
    return f"{what} of another namespace begins with more of the path"


def _realm(route: Route) -> str:
    realm = "" if route.beginnings is None else route.beginnings.realm
    return "all namespaces" if realm == EVERYBODY else realm


# What is near


def near_paths_of(routes: Iterable[Route], path: bytes) -> Stepwise[tuple[Route, ...]]:
    """Find those of *routes* whose paths have most in common with *path*."""
    best: list[tuple[int, str, str, int, Route]] = []
    lowered = path[:_MOST_COMPARED].lower()
    for number, route in enumerate(routes):
        common = _common(lowered, path_bytes(route.path)[:_MOST_COMPARED].lower())
        best.append((-common, route.path, route.match.value, number, route))
        if not len(best) % AT_ONCE:
            best = nsmallest(MOST_NEAR, best)
            yield
    return tuple(one[-1] for one in nsmallest(MOST_NEAR, best))


def near_hosts_of(host: str, table: RouteTable) -> Stepwise[tuple[str, ...]]:
    """Find the hosts of *table* that are like *host*."""
    found: list[tuple[int, str]] = []
    host = host[:_MOST_COMPARED]
    for number, (other, _) in enumerate(table.by_host(), 1):
        distance = _distance(host, other)
        if distance is not None:
            found.append((distance, other))
        if not number % AT_ONCE:
            found = nsmallest(MOST_NEAR, found)
            yield
    return tuple(other for _, other in nsmallest(MOST_NEAR, found))


def _distance(host: str, other: str) -> int | None:
    """Return how far *other*, as in ``Route.host``, is from *host*; None for what is not like it."""
    if not other:
        return None
    if other.startswith("*."):
        rest = other[2:]
        return 0 if host == rest or host.endswith(other[1:]) else None
    if other in (f"www.{host}", host.removeprefix("www.")):
        return 0
    before = _common(host, other)
    left, right = host[before:], other[before:]
    behind = _common(left[::-1], right[::-1])
    changed = max(len(left), len(right)) - behind
    return changed if changed <= _MOST_CHANGED and changed < len(host) // 2 else None


def _common(one: bytes | str, other: bytes | str) -> int:
    """Return how many signs both begin with."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
