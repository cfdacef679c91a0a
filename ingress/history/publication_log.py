"""Says what is served now, which objects made it so, and what that did to routes.

One line a second at most; what is published sooner is told with the next one, so that the last
line is always true.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from heapq import nsmallest
from typing import Final

from attrs import Factory
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.cluster.objects import Kind, ObjectId
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise, finished
from ingress.process.in_slices import first_at_once
from ingress.wording import number_of, some_of

log = Logger()

REPORT_SECONDS = 1.0
"""The least time between two lines."""

_REFERRED_TO = (
    Kind.SERVICE,
    Kind.ENDPOINT_SLICE,
    Kind.SECRET,
    Kind.CONFIG_MAP,
    Kind.MANIFEST,
    Kind.WATCH,
    Kind.PROCESS,
)

AT_ONCE: Final = 200
"""How many objects are looked at in one step."""

NAMED = 3
SORTS_NAMED = 12
"""How many objects a line names of each kind, and what became of them; the rest is counted."""


@frozen
class Served:
    """What a snapshot comes to; *others* are the route objects that are left alone, by kind.

    *why_nothing* says why there are no routes, where there are none; it is asked when that is told, and found in steps.
    """

    routes: int
    hosts: int
    problems: int
    others: Mapping[Kind, int] = Factory(dict)
    why_nothing: Callable[[], Stepwise[str]] | None = None
    leaves_catch_alls: bool = False
    """Whether those with a default backend are left alone, too."""


@frozen
class RouteNews:
    """How many routes are new, gone, or different at the same host and path."""

    came: int = 0
    went: int = 0
    changed: int = 0

    def __add__(self, other: "RouteNews") -> "RouteNews":
        return RouteNews(self.came + other.came, self.went + other.went, self.changed + other.changed)

    def __str__(self) -> str:
        counts = ((self.came, "came"), (self.went, "went"), (self.changed, "changed"))
        parts = [f"{count} {verb}" for count, verb in counts if count]
        return f"routes: {', '.join(parts)}" if parts else "no route is different"


class PublicationLog:
    """Tells of publications; *clock* delays.  Reactor thread."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._told_at: float | None = None
        self._served: Served | None = None
        # What became of objects since the last line, the last word counting; None once that cannot be said.
        self._objects: list[Mapping[ObjectId, str]] = []
        self._routes: RouteNews | None = RouteNews()
        self._call: IDelayedCall | None = None
        self._telling: _Telling | None = None

    def published(self, served: Served, objects: Mapping[ObjectId, str], routes: RouteNews | None) -> None:
        """Tell of a snapshot.

        *objects*, which stays as it is, has for each that matters what became of it (``came``, ``went``, ``changed``), and
        *routes* what that did; None where it is not known, as for the first snapshot.
        """
        self._served = served
        if objects:
            self._objects.append(objects)
        self._routes = None if routes is None or self._routes is None else self._routes + routes
        now = self._clock.seconds()
        if self._told_at is None or not 0 <= now - self._told_at < REPORT_SECONDS:
            self._tell()
        elif self._call is None:
            self._call = self._clock.callLater(self._told_at + REPORT_SECONDS - now, self._tell)

    def stop(self) -> None:
        """Tell nothing any more, but for what was published and not told."""
        if self._telling is not None:
            telling, self._telling = self._telling, None
            telling.slices.cancel()
            finished(telling.line())
        if self._call is not None:
            self._tell()
            self.stop()

    def _tell(self) -> None:
        call, self._call = self._call, None
        if call is not None and call.active():
            call.cancel()
        if self._telling is not None:
            # Thousands of objects are still being named.
            self._call = self._clock.callLater(REPORT_SECONDS, self._tell)
            return
        served = self._served
        assert served is not None, "published() has put it there"
        self._told_at = self._clock.seconds()
        objects, self._objects = self._objects, []
        routes, self._routes = self._routes, RouteNews()
        line = partial(_line, served, objects, routes)
        telling = self._telling = _Telling(line, first_at_once(self._clock, line()))
        telling.slices.addErrback(self._failed).addBoth(self._told)

    def _told(self, _: object) -> None:
        self._telling = None

    @staticmethod
    def _failed(failure: Failure) -> None:
        if not failure.check(CancelledError):
            log.failure("What was published could not be told, which is a bug", failure=failure)


@frozen
class _Telling:
    """A *line* that is being made in *slices*."""

    line: Callable[[], Stepwise[None]]
    slices: Deferred[None]


def _line(
    served: Served, taken: Sequence[Mapping[ObjectId, str]], routes: RouteNews | None
) -> Stepwise[None]:
    """Write a line, in steps."""
    objects = yield from all_joined(taken)
    named = "" if routes is None else (yield from _named(objects))
    others = ", ".join(number_of(count, kind) for kind, count in served.others.items() if count)
    why = "another class or of none" + (", or with a defaultBackend" if served.leaves_catch_alls else "")
    left = f"; left alone, since of {why}: {others}" if others else ""
    if served.why_nothing is not None:
        left = f": {(yield from served.why_nothing())}"
    log.info(
        "Published {routes} of {hosts}, with {problems}{others}{news}",
        routes=number_of(served.routes, "route"),
        hosts=number_of(served.hosts, "host"),
        problems=number_of(served.problems, "problem"),
        others=left,
        news="" if routes is None else f". {named}; {routes}" if named else f". {routes}",
    )


def all_joined(taken: Sequence[Mapping[ObjectId, str]]) -> Stepwise[Mapping[ObjectId, str]]:
    """Return what became of each object by all of *taken*, one after the other."""
    if len(taken) == 1:
        return taken[0]
    found: dict[ObjectId, str] = {}
    number = 0
    for some in taken:
        for object_id, verb in some.items():
            found[object_id] = joined(found.get(object_id), verb)
            number += 1
            if not number % AT_ONCE:
                yield
    return found


def joined(before: str | None, verb: str) -> str:
    """Return what became of an object by two changes in a row."""
    if before == "came" and verb == "changed":
        return "came"
    if before == "went" and verb == "came":
        return "changed"
    return verb


class _Sort:
    """The objects of one kind of which the same became: how many, and the first of their names."""

    def __init__(self) -> None:
        self.count = 0
        self._names: list[str] = []

    def add(self, name: str) -> None:
        """One more."""
        self.count += 1
        self._names.append(name)
        if len(self._names) >= AT_ONCE:
            self._names = nsmallest(NAMED, self._names)

    def __str__(self) -> str:
        return some_of(nsmallest(NAMED, self._names), self.count)


def _named(objects: Mapping[ObjectId, str]) -> Stepwise[str]:
    """Name what came, went and changed, by kind."""
    sorts: dict[tuple[str, str], _Sort] = {}
    for number, ((kind, key), verb) in enumerate(objects.items(), 1):
        sort = sorts.get((verb, kind))
        if sort is None:
            sort = sorts[verb, kind] = _Sort()
        sort.add(f"{key.namespace}/{key.name}" if key.namespace else key.name)
        if not number % AT_ONCE:
            yield
    order = {verb: place for place, verb in enumerate(("came", "went", "changed"))}
    in_order = sorted(
        sorts.items(), key=lambda entry: (order[entry[0][0]], _place_of(entry[0][1]), entry[0][1])
    )
    return ", ".join(
        f"{kind} {sort} {verb}" if place < SORTS_NAMED else f"{number_of(sort.count, kind)} {verb}"
        for place, ((verb, kind), sort) in enumerate(in_order)
    )


def _place_of(kind: str) -> int:
    """Route objects come before what they refer to."""
    return _REFERRED_TO.index(kind) if kind in _REFERRED_TO else -1
