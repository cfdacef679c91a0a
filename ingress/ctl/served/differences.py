"""What is different between two normal forms, difference by difference.

A difference is named by where it is and by its field, and has the value of either side; the difference between the same
two in the other direction has the same with old and new in each other's place.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import partial
from typing import Any, Final

from attrs import evolve, field

from ingress.ctl.inputs.input import Input
from ingress.ctl.served.normal_form import Data, route_path, served
from ingress.ctl.served.pairing import below
from ingress.ctl.served.sealing import SEALED, Seals, without_seals
from ingress.ctl.served.sides import alike
from ingress.ctl.served.walking import walk
from ingress.model.frozen import frozen
from ingress.model.text.lookup_budget import found_at_last
from ingress.routing.beginnings import has_regex_signs
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable


class Subject(IntEnum):
    """What a difference is about, in the order in which visitors would notice."""

    HOST = 1
    ROUTE = 2
    """A path of a host that is there on the other side, too."""
    STREAM = 3
    """Where streams lead, or sessions of UDP."""
    BACKEND = 4
    """Where a route leads."""
    FILTER = 5
    SETTING = 6
    """Whatever else a route has: timeouts, retries, limits."""
    CERTIFICATE = 7
    HANDSHAKE = 8
    LISTENER = 9
    CONTROLLER = 10
    """What holds for all routes."""
    ENDPOINTS = 11
    PROBLEM = 12
    REDUNDANT = 13
    """A route that comes or goes, while another one serves its requests in the same way."""
    OWNER = 14
    """Which object a route is of."""
    NOTE = 15
    """A problem that is for information."""

    @property
    def word(self) -> str:
        """What it is called in JSON."""
        return self.name.lower()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing of what is served is different."""
        return self in (Subject.REDUNDANT, Subject.OWNER, Subject.NOTE)


@frozen
class Place:
    """Where a difference is: a table and a host (empty: all hosts), and the route, if it is of one.

    *match* is empty where just that is different.
    """

    table: str = ""
    host: str = ""
    path: str = ""
    match: str = ""


NOWHERE: Final = Place()


@frozen
class Difference:
    """One thing that is different; *old* and *new* are plain data, None for what is not there.

    *field* is the path of what changed in the normal form of the *subject*, empty where all of it came or went.  Where both
    values are None, what changed is not shown to anybody.
    """

    subject: Subject
    place: Place
    field: str
    old: Any
    new: Any
    instead: str | None = None
    """Of a host or route on one side alone: what takes its requests on the other one, empty for nothing; None where that is not one thing."""

    @property
    def change(self) -> str:
        """``appears``, ``vanishes`` or ``changes``."""
        if (self.old is None) == (self.new is None):
            return "changes"
        return "appears" if self.old is None else "vanishes"


@frozen
class Comparison:
    """What is different between two sides, in the order of subjects, places and fields."""

    differences: tuple[Difference, ...]
    not_compared: tuple[str, ...] = ()
    """A sentence for each sort of thing that one side cannot know."""

    @property
    def loud(self) -> tuple[Difference, ...]:
        """Those by which something else is served or told."""
        return tuple(one for one in self.differences if not one.subject.is_quiet)


@frozen(eq=False)
class _Side:
    """One side while it is compared."""

    table: RouteTable
    hosts: Mapping[str, Data]
    by_path: dict[tuple[str, str, str], list[Data]] = field(factory=dict)

    def takes(self, host: str, path: str) -> tuple[str, Data] | None:
        """Return the host and the route that take requests for *path* of *host*, both as rules have them.

        Raises ``PathTooLong``.
        """
        octets = path.encode("utf-8", "surrogateescape")
        found = found_at_last(partial(self.table.find, host.encode(), octets))
        return None if found is None else (found.host, self._data(found))

    def _data(self, route: Route) -> Data:
        if not self.by_path:
            for host, entry in self.hosts.items():
                for one in entry["routes"]:
                    self.by_path.setdefault((host, one["path"], one["match"]), []).append(one)
        some = self.by_path[route.host, route_path(route), route.match.value]
        realm = "" if route.beginnings is None else route.beginnings.realm
        return next((one for one in some if _key(one)[2] == realm), some[0])


def compare(
    old: Input, new: Input, *, endpoints: bool = False, roots: tuple[str, str] = ("", "")
) -> Comparison:
    """Return what is different between two layers; *roots* are the paths by which the sides are named."""
    first, second, not_compared = alike(old, new)
    seals = Seals()
    before = served(first, endpoints=endpoints, seals=seals)
    after = served(second, endpoints=endpoints, seals=seals)
    found: list[Difference] = []
    tables_before, tables_after = dict(first.snapshot.tables()), dict(second.snapshot.tables())
    hosts_before, hosts_after = _tables(before), _tables(after)
    for name in sorted({*hosts_before, *hosts_after}):
        one, other = (
            _Side(tables[name].routes if name in tables else RouteTable(), hosts.get(name, {}))
            for tables, hosts in ((tables_before, hosts_before), (tables_after, hosts_after))
        )
        found += _hosts(name, one, other)
        found += _streams(
            name, *(form["tables"].get(name, {}).get("streams", {}) for form in (before, after))
        )
    found += _keyed(Subject.LISTENER, _by_name(before["listeners"]), _by_name(after["listeners"]))
    for at, was, now in walk(before["settings"], after["settings"], ""):
        found.append(Difference(Subject.CONTROLLER, NOWHERE, at, was, now))
    if endpoints:
        found += _keyed(Subject.ENDPOINTS, before["endpoints"], after["endpoints"])
    found += _keyed(
        Subject.PROBLEM, _by_problem(before["problems"], roots[0]), _by_problem(after["problems"], roots[1])
    )
    found.sort(
        key=lambda one: (
            one.subject,
            one.place.table,
            one.place.host,
            one.place.path,
            one.place.match,
            one.field,
        )
    )
    shown = (evolve(one, old=without_seals(one.old), new=without_seals(one.new)) for one in found)
    return Comparison(tuple(shown), not_compared)


def _tables(form: Data) -> dict[str, Data]:
    return {"": form["hosts"], **{name: one["hosts"] for name, one in form["tables"].items()}}


def _by_name(listeners: Iterable[Data]) -> dict[str, Data]:
    return {f"{one['description']} {one['table']}": one for one in listeners}


def _by_problem(problems: Iterable[Data], root: str) -> dict[str, Data]:
    """Return problems by what they say; where in the object they stand changes with whatever is written above."""
    return {" ".join(_said(one, root)): one for one in reversed(list(problems))}


def _said(problem: Data, root: str) -> tuple[str, ...]:
    names = problem["name"], problem["message"]
    return problem["kind"], problem["namespace"], problem["reason"], *(below(one, root) for one in names)


def _keyed(subject: Subject, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield what comes, goes and changes of parts that have names."""
    for name in sorted({*old, *new}):
        was, now = old.get(name), new.get(name)
        if was is None or now is None or (subject is not Subject.PROBLEM and was != now):
            yield Difference(subject, NOWHERE, name, was, now)


# Hosts and routes


def _hosts(table: str, old: _Side, new: _Side) -> Iterator[Difference]:
    for host in sorted({*old.hosts, *new.hosts}):
        was, now = old.hosts.get(host, _NO_HOST), new.hosts.get(host, _NO_HOST)
        if was == now:
            continue
        place = Place(table, host)
        if bool(was["routes"]) is not bool(now["routes"]):
            gone = not now["routes"]
            other = new if gone else old
            yield Difference(
                Subject.HOST,
                place,
                "",
                was if gone else None,
                None if gone else now,
                _host_instead(host, other),
            )
            continue
        if was["routes"] != now["routes"]:
            yield from _routes(place, was["routes"], now["routes"], old, new)
        for at, before, after in walk(was["filters"], now["filters"], "filters"):
            yield Difference(Subject.FILTER, place, at, before, after)
        if was["certificates"] != now["certificates"]:
            yield from _certificates(place, was["certificates"], now["certificates"])
        for at, before, after in walk(was["handshake"], now["handshake"], ""):
            yield Difference(Subject.HANDSHAKE, place, at, before, after)


def _streams(table: str, old: Mapping[str, Data], new: Mapping[str, Data]) -> Iterator[Difference]:
    """Yield what becomes of streams, each as a whole."""
    for host in sorted({*old, *new}):
        was, now, place = old.get(host), new.get(host), Place(table, host)
        if was is None or now is None or {**was, "owner": None} != {**now, "owner": None}:
            yield Difference(Subject.STREAM, place, "", was, now)
        elif was != now:
            yield Difference(Subject.OWNER, place, "owner", was["owner"], now["owner"])


_NO_HOST: Final[Data] = {"routes": [], "filters": [], "certificates": [], "handshake": None}


def _host_instead(host: str, other: _Side) -> str:
    """Return the host whose routes take the requests of *host* where it has none of its own."""
    dot = host.find(".")
    for key in ("*" + host[dot:] if dot > 0 else "", ""):
        if key != host and key in other.hosts and other.hosts[key]["routes"]:
            return key or "*"
    return ""


def _certificates(place: Place, old: list[Data], new: list[Data]) -> Iterator[Difference]:
    if [without_seals(one) for one in old] == [without_seals(one) for one in new]:
        yield Difference(Subject.CERTIFICATE, place, SEALED, None, None)
    else:
        yield Difference(Subject.CERTIFICATE, place, "certificates", old or None, new or None)


def _key(route: Data) -> tuple[str, str, str]:
    return route["path"], route["match"], route.get("expression", _NO_EXPRESSION)["realm"]


_NO_EXPRESSION: Final[Data] = {"realm": ""}


def _routes(
    place: Place, old: list[Data], new: list[Data], old_side: _Side, new_side: _Side
) -> Iterator[Difference]:
    before, after = {_key(one): one for one in old}, {_key(one): one for one in new}
    pairs = {key: key for key in before if key in after}
    pairs.update(_moved(before, after))
    paired = set(pairs.values())
    for key, was in before.items():
        at = evolve(place, path=key[0], match=key[1])
        if key not in pairs:
            yield _gone(at, was, new_side, is_new=False)
        elif was != after[pairs[key]]:
            yield from _route(at if pairs[key][1] == key[1] else evolve(at, match=""), was, after[pairs[key]])
    for key, now in after.items():
        if key not in paired:
            yield _gone(evolve(place, path=key[0], match=key[1]), now, old_side, is_new=True)


_Key = tuple[str, str, str]


def _moved(before: Mapping[_Key, Data], after: Mapping[_Key, Data]) -> dict[_Key, _Key]:
    """Return the routes that are compared in another way than before: one of that path on either side."""
    gone, came = [key for key in before if key not in after], [key for key in after if key not in before]
    once_gone, once_came = Counter(key[0] for key in gone), Counter(key[0] for key in came)
    by_path = {key[0]: key for key in came if once_came[key[0]] == 1}
    return {key: by_path[key[0]] for key in gone if once_gone[key[0]] == 1 and key[0] in by_path}


def _gone(at: Place, route: Data, other: _Side, *, is_new: bool) -> Difference:
    """Return the difference of a route that is on one side alone; *other* is the side without it."""
    old, new = (None, route) if is_new else (route, None)
    is_expression = "expression" in route
    if is_expression and has_regex_signs(at.path):
        return Difference(Subject.ROUTE, at, "", old, new)
    try:
        found = other.takes(at.host, at.path)
    except PathTooLong:
        return Difference(Subject.ROUTE, at, "", old, new)
    if found is None:
        return Difference(Subject.ROUTE, at, "", old, new, "")
    host, instead = found
    # Where there are expressions, requests for one path tell nothing of those for another one.
    is_same = not any("expression" in one for one in other.hosts[host]["routes"]) and _serves_as(
        route, instead
    )
    if is_same and at.match == Match.PREFIX.value:
        below = other.takes(at.host, f"{at.path.rstrip('/')}/{_NOBODYS}")
        is_same = below is not None and _serves_as(route, below[1])
    subject = Subject.REDUNDANT if is_same else Subject.ROUTE
    return Difference(subject, at, "", old, new, f"{host or '*'}{instead['path']} ({instead['match']})")


_NOBODYS: Final = "\x00"
"""What no path has, so no route below another one takes it, except by an expression."""


def _serves_as(route: Data, other: Data) -> bool:
    """Whether two routes serve in the same way what either takes."""
    return all(route.get(name) == other[name] for name in other if name not in _NAMES)


_NAMES: Final = frozenset({"path", "match", "owner"})


def _route(at: Place, old: Data, new: Data) -> Iterator[Difference]:
    """Yield what is different between two routes that stand for each other."""
    owners = old["owner"], new["owner"]
    if owners[0] != owners[1]:
        yield Difference(Subject.OWNER, at, "owner", *owners)
    for name, was in old.items():
        now = new.get(name)
        if name in ("path", "owner") or was == now or (name == "expression" and now is None):
            continue
        subject = _SUBJECTS.get(name, Subject.SETTING)
        for where, one, other in walk(was, now, name, owners):
            yield Difference(_subject(subject, where), at, where, one, other)


def _subject(subject: Subject, field: str) -> Subject:
    """Return what a field of a route is about: filters and realms stand below what is about backends, too."""
    if subject is Subject.BACKEND and ".filters" in field:
        return Subject.FILTER
    return Subject.SETTING if field in ("expression.realm", "expression.place") else subject


_SUBJECTS: Final = {
    "match": Subject.BACKEND,
    "expression": Subject.BACKEND,
    "backends": Subject.BACKEND,
    "variants": Subject.BACKEND,
    "standIn": Subject.BACKEND,
    "passthrough": Subject.BACKEND,
    "filters": Subject.FILTER,
}
