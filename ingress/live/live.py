"""The stream of what happens at the moment, for whoever looks.

    nobody ──join──▶ a tick each second: what is counted, what happened, what is new ──▶ events, the same bytes for all
       ▲                          │
       └── the last has left ◀────┘        a snapshot, rows of routes: in slices (``slices``)

Nothing is computed while nobody looks.  Numbers are differences of counters that there are anyway, so a look costs the same however
many requests there were.  Viewers are bounded, and who does not take what was sent is let go.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure as Failed

from ingress.history.rings import Rings
from ingress.live.counted import Counted, RowReader
from ingress.live.numbers import Numbers
from ingress.live.route_numbers import MOST_TOLD, NOTHING, AllRoutes, RouteNumbers
from ingress.live.server_sent import COMMENT, Mark, event, mark_from, newest
from ingress.live.slices import Slices
from ingress.live.snapshot_facts import SnapshotFacts
from ingress.model.frozen import frozen
from ingress.model.observability.changes_and_failures import Change, Failure
from ingress.process.timestamps import rfc3339
from ingress.translate.snapshot import Snapshot

_SERVICE: Final = re.compile(r"([^\s/]+)/([^\s/:]+)")
"""Of a backend in words that is a Service."""

TICK_SECONDS: Final = 1.0
MOST_VIEWERS: Final = 20
MOST_AT_ONCE: Final = 100
"""How many changes, or failures, are told at a time: the newest."""
MOST_NEWS: Final = 65_536
"""How many bytes of changes, or of failures, are told at a time: clients choose how long what they ask for is."""
MOST_ROWS_FAILED: Final = 500
"""Of how many rows the last failure is known, as long as somebody looks: those that failed last."""
VIEW_EVERY: Final = 5
"""With each so manieth tick the views are looked at."""
ROW_SECONDS: Final = 0.003
"""How much of a second goes into looking at rows: where one look takes more, there is none in some seconds."""


class Viewer(Protocol):
    """Whoever looks."""

    @property
    def is_full(self) -> bool:
        """Whether it has yet to take what was sent; ``Live.go_on`` is called when it has."""

    def send(self, octets: bytes) -> None:
        """Have *octets* on their way; one that takes too little is to leave (``Live.leave``) and be cut."""

    def end(self, octets: bytes) -> None:
        """Send *octets* as the last ones."""


@frozen
class Shown:
    """What there is to show."""

    snapshot: Callable[[], Snapshot]
    number: Callable[[], int]
    """That of the snapshot."""
    counted: Callable[[], Counted]
    rows: Callable[[], Sequence[object]]
    read: RowReader
    """How rows are read."""
    most_clients: Callable[[], int]
    """How many connections of clients there may be."""
    lag: Callable[[], float]
    """By how many seconds what serves comes late."""
    rings: Rings
    now: Callable[[], datetime]
    """The time of day, with its zone."""
    change_as_data: Callable[[Change], object]
    failure_as_data: Callable[[Failure], object]
    views: Mapping[str, Callable[[], object]] = {}
    """Small values as JSON has them, each by the name of its event, which are told when they are different."""
    asked: Mapping[str, Callable[[], Deferred[object]]] = {}
    """The same, of values for which others are asked: again when they have answered."""


class Live:
    """Everybody who looks, and what they get."""

    log = Logger()

    def __init__(self, shown: Shown, clock: IReactorTime) -> None:
        self._shown = shown
        self._clock = clock
        self._life = f"{int(shown.now().timestamp() * 1000):x}"
        self._viewers: list[Viewer] = []
        self._why_ended = ""
        self._slices = Slices(clock)
        self._loop = LoopingCall(self._tick)
        self._loop.clock = clock
        self._facts = SnapshotFacts()
        self._numbers = Numbers()
        self._routes = AllRoutes(shown.rows, shown.read)
        self._mark = Mark(self._life)
        """Up to where all viewers have been told what happened."""
        self._seen: Snapshot | None = None
        self._views: dict[str, object] = {}
        self._asking: dict[str, Deferred[object]] = {}
        """For what others are asked at the moment."""
        self._told: dict[str, object] = {}
        """The numbers that were told last."""
        self._last_failures: dict[str, Failure] = {}
        """By the name of the row; those that failed last come last."""
        self._to_tell: set[str] = set()
        """Names of rows that failed since rows were told."""
        self._resting: dict[Viewer, Iterator[None]] = {}
        """What is left to tell at first of those who are full."""
        self._ticks = 0
        self._look_again_at = 0.0
        self._soon: IDelayedCall | None = None

    def __repr__(self) -> str:
        return f"<Live with {len(self._viewers)} viewers>"

    @property
    def viewers(self) -> int:
        """How many there are."""
        return len(self._viewers)

    def why_not(self) -> str:
        """Say why nobody can join; empty if somebody can."""
        if self._why_ended:
            return self._why_ended
        return f"{MOST_VIEWERS} look already" if len(self._viewers) >= MOST_VIEWERS else ""

    def join(self, viewer: Viewer, last_event_id: str = "") -> None:
        """Have *viewer* told from now on, and all that there is to be known; *last_event_id* is the last id that it has seen."""
        if not self._viewers:
            self._begin()
        self._viewers.append(viewer)
        for name, value in self._views.items():
            viewer.send(event(name, value))
        viewer.send(event("numbers", {**self._told, "history": self._numbers.history()}))
        viewer.send(self._snapshot_event())
        seen = mark_from(last_event_id, self._life)
        for octets in self._news(seen, self._mark):
            viewer.send(octets)
        self._slices.begin(self._feed(viewer, self._tell_routes(viewer)))

    def go_on(self, viewer: Viewer) -> None:
        """Tell *viewer* what is left to tell at first, since it has taken what was sent."""
        left = self._resting.pop(viewer, None)
        if left is not None:
            self._slices.begin(self._feed(viewer, left))

    def leave(self, viewer: Viewer) -> None:
        """Tell *viewer* no more; once more changes nothing."""
        self._resting.pop(viewer, None)
        if viewer in self._viewers:
            self._viewers.remove(viewer)
            if not self._viewers:
                self._rest()

    def end(self, why: str) -> None:
        """End all streams, and begin none any more, since *why*."""
        self._why_ended = why
        octets = event("end", {"why": why})
        for viewer in tuple(self._viewers):
            self.leave(viewer)
            viewer.end(octets)

    def _begin(self) -> None:
        shown, seconds = self._shown, self._clock.seconds()
        rings = shown.rings
        now = shown.now()
        failures = rings.failures.since()
        earlier = [(seconds - (now - one.at).total_seconds(), one.cause) for one in failures]
        self._last_failures = {}
        self._remember(failures)
        counted = shown.counted()
        self._numbers.begin(seconds, counted, earlier)
        self._routes.begin()
        self._mark = Mark(self._life, rings.changes.last, rings.failures.last)
        self._seen = shown.snapshot()
        self._slices.begin(self._facts.look(self._seen))
        self._slices.begin(self._routes.look(self._clock.seconds))
        self._views = {name: view() for name, view in shown.views.items()}
        self._told = self._numbers_now(counted)
        self._soon = self._clock.callLater(0, self._look_again)
        self._ticks, self._look_again_at = 0, seconds
        self._loop.start(TICK_SECONDS, now=False)

    def _look_again(self) -> None:
        """Have what others are asked for soon, and not only after some seconds."""
        self._soon = None
        self._look_at_views()

    def _rest(self) -> None:
        self._loop.stop()
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        for asking in tuple(self._asking.values()):
            asking.cancel()
        self._slices.stop()
        self._routes.begin()
        # Who does not look keeps no snapshot, and what was half looked at is looked at anew.
        self._facts, self._seen = SnapshotFacts(), None
        self._last_failures, self._to_tell, self._views, self._told = {}, set(), {}, {}

    def _tell(self, octets: bytes) -> None:
        for viewer in tuple(self._viewers):
            viewer.send(octets)

    def _tick(self) -> None:
        self._ticks += 1
        shown = self._shown
        numbers = self._numbers_now(shown.counted())
        # Somebody is there, at least.
        self._tell(COMMENT if numbers == self._told else event("numbers", numbers))
        if not self._viewers:
            return  # They took too little, all of them.
        self._told = numbers
        if not self._ticks % VIEW_EVERY:
            self._look_at_views()
        before = self._mark
        self._mark = Mark(self._life, shown.rings.changes.last, shown.rings.failures.last)
        for octets in self._news(before, self._mark):
            self._tell(octets)
        self._to_tell |= self._remember(shown.rings.failures.since(before.failure, MOST_AT_ONCE))
        if self._viewers and not self._slices.is_working:
            self._slices.begin(self._in_steps())

    def _numbers_now(self, counted: Counted) -> dict[str, object]:
        facts, shown = self._facts, self._shown
        following = facts.next_certificate
        return self._numbers.take(self._clock.seconds(), counted) | {
            "mostClients": shown.most_clients(),
            "endpoints": facts.endpoints,
            "nextCertificate": None
            if following is None
            else {
                "notAfter": rfc3339(following[1].not_after),
                "host": following[0],
                "secret": str(following[1].secret),
            },
            "lag": round(shown.lag(), 3),
        }

    def _look_at_views(self) -> None:
        for name, view in self._shown.views.items():
            self._tell_view(view(), name)
        for name, ask in self._shown.asked.items():
            if name not in self._asking:
                self._asking[name] = asking = ask()
                asking.addCallback(self._tell_view, name).addErrback(self._failed)
                asking.addBoth(self._answered, name)

    def _tell_view(self, value: object, name: str) -> None:
        if self._viewers and value != self._views.get(name):
            self._views[name] = value
            self._tell(event(name, value))

    def _answered(self, result: object, name: str) -> None:
        self._asking.pop(name, None)

    def _failed(self, failure: Failed) -> None:
        if not failure.check(CancelledError):
            self.log.failure("Asking for what is shown failed, which is a bug", failure=failure)

    def _news(self, before: Mark, until: Mark) -> Iterator[bytes]:
        """Yield events of what happened between two marks."""
        rings = self._shown.rings
        if before.change < until.change:
            changes = reversed(rings.changes.since(before.change, MOST_AT_ONCE))
            as_data = map(self._shown.change_as_data, changes)
            yield newest("changes", as_data, MOST_NEWS, Mark(self._life, until.change, before.failure))
        if before.failure < until.failure:
            failures = reversed(rings.failures.since(before.failure, MOST_AT_ONCE))
            yield newest("failures", map(self._shown.failure_as_data, failures), MOST_NEWS, until)

    def _remember(self, failures: Sequence[Failure]) -> set[str]:
        """Keep *failures* as the last ones of their rows; return the names of these."""
        last = self._last_failures
        names = set()
        for one in failures:
            name = row_name(one)
            names.add(name)
            last.pop(name, None)
            last[name] = one
        while len(last) > MOST_ROWS_FAILED:
            del last[next(iter(last))]
        return names

    def _in_steps(self) -> Iterator[None]:
        snapshot = self._shown.snapshot()
        if snapshot is not self._seen:
            self._seen = snapshot
            yield from self._facts.look(snapshot)
            self._tell(self._snapshot_event())
            yield
        yield from self._look_at_routes()

    def _snapshot_event(self) -> bytes:
        snapshot = self._shown.snapshot()
        number = self._shown.number()
        return event(
            "snapshot",
            {
                "life": self._life,
                "number": number,
                "routes": snapshot.route_count,
                "hosts": snapshot.host_count,
            },
        )

    def _look_at_routes(self) -> Iterator[None]:
        seconds = self._clock.seconds
        if seconds() >= self._look_again_at:
            spent = 0.0
            steps = self._routes.look(seconds)
            while True:
                began = seconds()
                if next(steps, self) is self:
                    break
                spent += seconds() - began
                yield
            self._look_again_at = seconds() + spent / ROW_SECONDS * TICK_SECONDS - TICK_SECONDS
        names, self._to_tell = self._to_tell, set()
        if names:
            yield from self._routes.tell(names)
        if told := self._routes.told():
            yield
            self._tell(event("routes", self._rows(told)))

    def _feed(self, viewer: Viewer, work: Iterator[None]) -> Iterator[None]:
        """Do *work* for *viewer* as long as it is there, and no more than it takes."""
        for _ in work:
            if viewer not in self._viewers:
                return
            if viewer.is_full:
                self._resting[viewer] = work
                return
            yield

    def _tell_routes(self, viewer: Viewer) -> Iterator[None]:
        for told in self._routes.all():
            if told:
                viewer.send(event("routes", self._rows(told)))
            yield
        if self._last_failures:
            failed = dict.fromkeys(islice(reversed(self._last_failures), MOST_TOLD), NOTHING)
            viewer.send(event("routes", self._rows(failed)))

    def _rows(self, told: Mapping[str, RouteNumbers]) -> dict[str, dict[str, object]]:
        return {
            name: {
                "perSecond": one.per_second,
                "failing": one.failing,
                "p99": one.p99,
                "lastFailure": None if (failure := self._last_failures.get(name)) is None else _last(failure),
            }
            for name, one in told.items()
        }


def row_name(failure: Failure) -> str:
    """Return the name of the row in which *failure* is counted; ``//`` where there was no route."""
    if not failure.ingress:
        return "//"
    found = _SERVICE.match(failure.backend)
    if found is None:
        return f"{failure.ingress}/"
    namespace, name = found.groups()
    return (
        f"{failure.ingress}/{name}"
        if namespace == failure.namespace
        else f"{failure.ingress}/{namespace}/{name}"
    )


def _last(failure: Failure) -> dict[str, object]:
    return {
        "at": rfc3339(failure.at),
        "status": failure.status,
        "cause": failure.cause,
        "reason": failure.reason,
    }
