"""Which routes came, went and changed, for each object that asks for them.  Pure, in steps."""

from collections.abc import Container, Iterator, Mapping
from typing import Final

from ingress.model.cluster.objects import ObjectId
from ingress.routing.route import Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.snapshot import Snapshot
from ingress.wording import first_of, number_of

AT_ONCE: Final = 100
"""Routes that are looked at in one step."""
MOST_NAMED: Final = 3
MOST_OTHERS: Final = 50
"""Objects that are looked at one by one although nobody asked for them."""
_MOST_KEPT: Final = 20
"""Routes of one object that are kept by name; the others are counted."""

Place = tuple[str, str]
"""Host and path of a route."""


class Effect:
    """What became of the routes of one object."""

    def __init__(self) -> None:
        self.came: list[Place] = []
        self.went: list[Place] = []
        self.changed: list[Place] = []
        self.more = [0, 0, 0]
        """How many more there are of each."""

    def note(self, which: int, route: Route) -> None:
        """Note a route that came (0), went (1), or changed (2)."""
        places = (self.came, self.went, self.changed)[which]
        if len(places) < _MOST_KEPT:
            places.append((route.host, route.path))
        else:
            self.more[which] += 1

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many came, went and changed."""
        came, went, changed = self.more
        return len(self.came) + came, len(self.went) + went, len(self.changed) + changed

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that are concerned, each once."""
        places = (*self.went, *self.came, *self.changed)
        return tuple(dict.fromkeys(host for host, _ in places if host))

    def __str__(self) -> str:
        moved = self._moved()
        if moved:
            return moved
        came, went, changed = self.counts
        parts = []
        if came or went:
            signs = [f"-{went}"] * bool(went) + [f"+{came}"] * bool(came)
            named = [f"-{_shown(one)}" for one in self.went] + [f"+{_shown(one)}" for one in self.came]
            word = "route" if came + went == 1 or came == went == 1 else "routes"
            parts.append(f"{' '.join(signs)} {word}: {first_of(named, MOST_NAMED)}")
        if changed:
            named = [_shown(one) for one in self.changed]
            parts.append(f"{number_of(changed, 'route')} changed: {first_of(named, MOST_NAMED)}")
        return "; ".join(parts)

    def _moved(self) -> str:
        """Say that all routes of a host are those of another one now, if they are and nothing else is different."""
        gone, new = {host for host, _ in self.went}, {host for host, _ in self.came}
        if any(self.more) or self.changed or len(gone) != 1 or len(new) != 1 or gone == new:
            return ""
        if sorted(path for _, path in self.went) != sorted(path for _, path in self.came):
            return ""
        routes = f" ({number_of(len(self.came), 'route')})" if len(self.came) > 1 else ""
        return f"host {gone.pop() or 'any'} → {new.pop() or 'any'}{routes}"


class Effects:
    """What became of the routes of all objects; those of *wanted* are looked at one by one, and some of the others."""

    def __init__(self, wanted: Container[ObjectId]) -> None:
        self._wanted = wanted
        self.of: dict[ObjectId | None, Effect] = {}
        """By object; None is the controller's own default backend."""
        self.has_more = False
        """Whether there are others."""
        self.counts = [0, 0, 0]
        """How many came, went and changed, of all of them."""

    def note(self, which: int, route: Route) -> None:
        """Note a route that came (0), went (1), or changed (2)."""
        whose = None if route.owner is None else route.owner.id
        self.counts[which] += 1
        effect = self.of.get(whose)
        if effect is None:
            if len(self.of) >= MOST_OTHERS and whose not in self._wanted:
                self.has_more = True
                return
            effect = self.of[whose] = Effect()
        effect.note(which, route)


def route_effects(before: Snapshot, after: Snapshot, effects: Effects) -> Iterator[None]:
    """Put what is different into *effects*."""
    old, new = dict(before.tables()), dict(after.tables())
    for name in {**old, **new}:
        one, other = old.get(name), new.get(name)
        yield from _of_table(
            RouteTable() if one is None else one.routes,
            RouteTable() if other is None else other.routes,
            effects,
        )
        yield


def _of_table(before: RouteTable, after: RouteTable, effects: Effects) -> Iterator[None]:
    if before is after:
        return
    for portion in after.portions_since(before):
        for host, found in portion:
            yield from _of_host(before.get(host), found, effects)
        yield


def _of_host(before: HostRoutes | None, after: HostRoutes | None, effects: Effects) -> Iterator[None]:
    was, old = _by_key(before), {}
    for step in was:
        old = step
        yield
    new: Mapping[object, Route] = {}
    for step in _by_key(after):
        new = step
        yield
    for number, (key, route) in enumerate(old.items(), 1):
        if key not in new:
            effects.note(1, route)
        if not number % AT_ONCE:
            yield
    for number, (key, route) in enumerate(new.items(), 1):
        known = old.get(key)
        if known is None:
            effects.note(0, route)
        elif known is not route and known != route:
            if known.owner != route.owner:
                effects.note(1, known)
                effects.note(0, route)
            else:
                effects.note(2, route)
        if not number % AT_ONCE:
            yield


def _by_key(routes: HostRoutes | None) -> Iterator[dict[object, Route]]:
    """Yield the routes by what no two of a table have the same of, at last all of them."""
    found: dict[object, Route] = {}
    for number, route in enumerate(() if routes is None else routes.routes, 1):
        found[route.key] = route
        if not number % AT_ONCE:
            yield found
    yield found


def _shown(place: Place) -> str:
    host, path = place
    return f"{host or '*'}{path}"
