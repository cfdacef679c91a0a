"""What each backend of each Ingress does at the moment, of which there may be tens of thousands.  Pure.

All rows are looked at in turn, some at a time: whoever asks for steps decides how much of it there is in a second, and a look that takes
longer is followed by the next one all the later.  A row that nothing happens to costs a comparison.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from math import exp
from typing import Final, NamedTuple

from ingress.live.counted import RowReader
from ingress.live.windows import differences
from ingress.metrics.exchanges.histograms import quantile

AT_ONCE: Final = 100
"""How many rows are looked at in one step."""
MOST_TOLD: Final = 200
"""How many rows are told of at a time."""
SMOOTHING_SECONDS: Final = 4.0
"""What happened so long ago counts for 1/e in the requests a second."""
REST_SECONDS: Final = 12.0
"""After so long without a request a row is at rest."""
WINDOW_SECONDS: Final = 30.0
"""Shares and times are of the last window and of what has passed of the current one."""


class RouteNumbers(NamedTuple):
    """What is told of a row."""

    per_second: float
    failing: float
    """The share of exchanges of the last half to whole minute that the service or the proxy failed."""
    p99: float | None
    """Seconds; None where it is not known."""


NOTHING: Final = RouteNumbers(0.0, 0.0, None)


class _Totals(NamedTuple):
    at: float
    requests: int
    failed: int
    durations: Sequence[int]


class _Busy:
    """A row that had requests of late."""

    __slots__ = ("before", "changed_at", "last", "last_at", "newer", "per_second", "told")

    def __init__(self, begins: _Totals, at: float) -> None:
        self.before = self.newer = begins
        """Two moments, of which the older one is that from which shares and times count."""
        self.last = begins.requests
        self.last_at = self.changed_at = at
        self.per_second = 0.0
        self.told = NOTHING

    def take(self, now: _Totals) -> RouteNumbers:
        """Return its numbers as of *now*."""
        more, since = max(0, now.requests - self.last), now.at - self.last_at
        if more or now.requests < self.last:
            self.changed_at = now.at
        weight = exp(-since / SMOOTHING_SECONDS) if self.per_second else 0.0
        self.per_second = self.per_second * weight + more / since * (1 - weight)
        if now.at - self.changed_at >= REST_SECONDS:
            self.per_second = 0.0
        self.last, self.last_at = now.requests, now.at
        if now.at - self.newer.at >= WINDOW_SECONDS:
            self.before, self.newer = self.newer, now
        return _numbers(self.per_second, now, self.before)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to tell."""
        return not self.per_second and self.before.requests == self.last


class AllRoutes:
    """Follows what *rows* returns: a sequence that grows, and gives way to another when some go; *read* says how each is read."""

    def __init__(self, rows: Callable[[], Sequence[object]], read: RowReader) -> None:
        self._rows_now = rows
        self._read = read
        self.begin()

    def begin(self) -> None:
        """Forget what was known: what happens from now on counts."""
        self._rows: Sequence[object] = ()
        self._known: list[_Totals] = []
        """What each row had when something happened to it last, or when it was looked at first."""
        self._marks: list[float] = []
        self._looked_at: list[float] = []
        self._busy: dict[int, _Busy] = {}
        """By the place of the row."""
        self._failing: dict[int, None] = {}
        self._others: dict[int, None] = {}
        """Places of those of which there is something to tell."""

    def look(self, seconds: Callable[[], float]) -> Iterator[None]:
        """Look at all rows once, some in each step."""
        rows = self._rows_now()
        if rows is not self._rows:
            self._follow(rows)
        for begin in range(0, len(rows), AT_ONCE):
            self._look_at(begin, rows[begin : begin + AT_ONCE], seconds())
            yield

    def _look_at(self, place: int, rows: Sequence[object], now: float) -> None:
        known, looked_at, busy = self._known, self._looked_at, self._busy
        marks, mark_of = self._marks, self._read.mark
        for row in rows:
            mark = mark_of(row)
            if place == len(known):
                # Whatever it had before somebody looked is old.
                known.append(self._totals(row, now))
                marks.append(mark)
                looked_at.append(now)
            elif mark != marks[place] or place in busy:
                marks[place] = mark
                self._take(place, row, now)
            else:
                looked_at[place] = now
            place += 1

    def _follow(self, rows: Sequence[object]) -> None:
        """Go on with *rows*, of which most are known, in other places."""
        places = {id(row): place for place, row in enumerate(self._rows)}
        known, looked_at, busy = self._known, self._looked_at, self._busy
        marks, self._marks = self._marks, []
        self._known, self._looked_at, self._busy = [], [], {}
        for here, row in enumerate(rows):
            before = places.get(id(row), len(known))
            if before >= len(known):
                break
            self._known.append(known[before])
            self._looked_at.append(looked_at[before])
            self._marks.append(marks[before])
            if before in busy:
                self._busy[here] = busy[before]
        self._rows = rows
        self._failing, self._others = {}, dict.fromkeys(self._busy)

    def _take(self, place: int, row: object, now: float) -> None:
        since = self._looked_at[place]
        if now <= since:
            return
        busy = self._busy.get(place)
        if busy is None:
            busy = self._busy[place] = _Busy(self._known[place], since)
        totals = self._totals(row, now)
        numbers = busy.take(totals)
        self._known[place], self._looked_at[place] = totals, now
        if busy.is_over:
            del self._busy[place]
            numbers = NOTHING
        if numbers != busy.told:
            busy.told = numbers
            self._failing.pop(place, None)
            self._others.pop(place, None)
            (self._failing if numbers.failing else self._others)[place] = None

    def _totals(self, row: object, now: float) -> _Totals:
        read = self._read
        return _Totals(now, read.requests(row), read.failed(row), tuple(read.durations(row)))

    def told(self) -> dict[str, RouteNumbers]:
        """Return what has changed of at most ``MOST_TOLD`` rows, failing ones first; what is left is told the next time."""
        chosen: dict[str, RouteNumbers] = {}
        for places in (self._failing, self._others):
            while places and len(chosen) < MOST_TOLD:
                place = next(iter(places))
                del places[place]
                busy = self._busy.get(place)
                chosen[self._read.name(self._rows[place])] = NOTHING if busy is None else busy.told
        return chosen

    def tell(self, names: Container[str]) -> Iterator[None]:
        """Tell of the busy rows of *names* the next time, whether or not their numbers are others; looked for in steps."""
        for number, place in enumerate(tuple(self._busy), 1):
            if self._read.name(self._rows[place]) in names:
                self._failing[place] = None
            if not number % AT_ONCE:
                yield

    def all(self) -> Iterator[dict[str, RouteNumbers]]:
        """Yield what was told of all rows that are busy, of ``MOST_TOLD`` at a time."""
        rows, places = self._rows, tuple(self._busy)
        for begin in range(0, len(places), MOST_TOLD):
            yield {
                self._read.name(rows[place]): self._busy[place].told
                for place in places[begin : begin + MOST_TOLD]
                if place in self._busy and rows is self._rows
            }


def _numbers(per_second: float, now: _Totals, before: _Totals) -> RouteNumbers:
    requests = now.requests - before.requests
    failing = (now.failed - before.failed) / requests if requests > 0 else 0.0
    p99 = quantile(differences(now.durations, before.durations), 0.99)
    return RouteNumbers(_rounded(per_second), round(min(1.0, max(0.0, failing)), 4), _in_digits(p99))


def _rounded(per_second: float) -> float:
    return round(per_second, 1 if per_second >= 1 else 2)


def _in_digits(seconds: float | None) -> float | None:
    """Return *seconds* in three digits, so that what is as good as it was is not told again."""
    return None if seconds is None else float(f"{seconds:.3g}")
