"""One timer for all deadlines.

A timer per request costs more than the request.  Instead everything that may
wait too long carries a ``deadline``, and one look a second ends what is
overdue.  Deadlines are set from the time of the last tick, and a tick ends all that are due
within half an interval, for it comes some milliseconds early or late; so what may
take ten seconds ends after nine to ten, which nobody minds.
Where very many are due with one tick they end in as many turns of the reactor as that takes (``portions``).
Where ticks are missed, since the process stood still (it was stopped, or its machine was), what was said meanwhile has not been
read yet: nothing ends before there was an interval to read it in.
``Deadlines`` also keeps the coarse time, by which deadlines go, and the ``Date`` that answers carry, which goes by the
time of day.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from email.utils import formatdate
from functools import partial
from time import time
from typing import ClassVar, Final, Protocol, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.stepwise import Stepwise
from ingress.process.in_slices import first_at_once
from ingress.proxy.contract.portions import in_portions
from ingress.proxy.contract.run_queue import RunQueue

T = TypeVar("T")

NEVER: Final = float("inf")


class Expiring(Protocol):
    """Something with a deadline: a downstream or an upstream connection."""

    deadline: float

    def expire(self) -> None:
        """End what took too long; called once the deadline is past."""

    def abort(self) -> None:
        """End the connection at once; called when ``expire`` failed."""


class Deadlines:
    """Ends what is overdue.  ``now`` is the clock's time at the last tick, or when it was taken since, in seconds.

    *clock* is one that nobody sets; *wall_clock* returns the time of day, in seconds since 1970.
    """

    log: ClassVar[Logger] = Logger()
    interval_seconds: ClassVar[float] = 1.0
    late_seconds: ClassVar[float] = 2.0
    """A tick that comes later than this after the one before is preceded by others that were missed."""

    def __init__(self, clock: IReactorTime, wall_clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._wall_clock = wall_clock
        self.watched: dict[Expiring, None] = {}
        """Whose deadlines are looked after.  A set of as many takes twice as much memory."""
        self._loop = LoopingCall(self.tick)
        self._loop.clock = clock
        self.exact_seconds: Callable[[], float] = clock.seconds
        """Returns the clock's time now, where a tick is too long."""
        self.now = clock.seconds()
        self._kept_from = self.now
        """When deadlines are kept again, if ticks were missed; in the past otherwise."""
        self.date = b""
        self.run_queue = RunQueue(clock)
        """For whoever has more to do than one turn takes."""
        self._under_way: dict[Deferred[None], None] = {}
        """What is done step by step."""
        self._stops = 0
        """How often this was stopped."""
        self._overdue: deque[Expiring] = deque()
        """What was overdue at the last tick, and is still to be ended, ..."""
        self._due = self.now
        """... by this time, ..."""
        self._is_ending = False
        """... and whether somebody does that."""

    def seconds(self) -> float:
        """Return the time of the last tick, or as it was taken since, for whoever wants a clock."""
        return self.now

    def start(self) -> None:
        """Begin to tick; *date* is valid from here on."""
        if not self._loop.running:
            self._loop.start(self.interval_seconds)

    def stop(self) -> None:
        """Stop ticking, and leave undone what is not done yet."""
        self._stops += 1
        if self._loop.running:
            self._loop.stop()
        for steps in tuple(self._under_way):
            steps.cancel()

    def watch(self, watched: Expiring) -> None:
        """Look after the deadline of *watched* until ``forget``."""
        self.watched[watched] = None

    def forget(self, watched: Expiring) -> None:
        """Stop looking after *watched*."""
        self.watched.pop(watched, None)

    def call_after(self, seconds: float, call: Callable[[], None]) -> IDelayedCall:
        """Call back after *seconds*: for what cannot wait for a tick, and is rare."""
        return self._clock.callLater(seconds, call)

    def take(self, steps: Stepwise[None]) -> None:
        """Take *steps*: the first now, and if there are others, each in a turn of the reactor.  A bug among them is logged, and ends them."""
        stops = self._stops
        under_way = first_at_once(self._clock, steps)
        self._under_way[under_way] = None
        under_way.addBoth(partial(self._taken, under_way))
        if self._stops != stops:
            # The first step has led to the end.
            under_way.cancel()

    def _taken(self, under_way: Deferred[None], result: Failure | None) -> None:
        del self._under_way[under_way]
        if result is not None and not result.check(CancelledError):
            self.log.failure(
                "what is done step by step was not done to its end, which is a bug", failure=result
            )

    def in_portions(self, items: Iterable[T], call: Callable[[T], object]) -> None:
        """Call *call* with each of *items*, as many now, and in each turn from then on, as go into a portion."""
        self.take(in_portions(items, call, self.exact_seconds))

    def take_time(self) -> None:
        """Take the time: with each tick, and before that where a process that stood still begins to read what came meanwhile."""
        before = self.now
        self.now = now = self._clock.seconds()
        self.date = formatdate(self._wall_clock(), usegmt=True).encode()
        # Never twice in a row: a process that is always late keeps its deadlines, too.
        if now - before > self.late_seconds and before >= self._kept_from:
            self._kept_from = now + self.interval_seconds

    def tick(self) -> None:
        """Take the time, and expire what is overdue."""
        self.take_time()
        now = self.now
        if now < self._kept_from:
            self._overdue.clear()
            return
        due = self._due = now + self.interval_seconds / 2
        found = [each for each in self.watched if each.deadline <= due]
        # Who is still to be ended goes first, or who is looked at with every tick would keep others from ever being.
        self._overdue = deque(dict.fromkeys((*self._overdue, *found)) if self._overdue else found)
        if self._overdue and not self._is_ending:
            self._is_ending = True
            self.take(self._end_overdue())

    def _end_overdue(self) -> Stepwise[None]:
        try:
            yield from in_portions(self._take_overdue(), self._expire, self.exact_seconds)
        finally:
            self._is_ending = False

    def _take_overdue(self) -> Iterator[Expiring]:
        # A tick may find others before these have ended.
        while self._overdue:
            yield self._overdue.popleft()

    def _expire(self, watched: Expiring) -> None:
        try:
            # The end of one may have been news for another, and given it more time, or it ended by itself meanwhile.
            if watched.deadline <= self._due and watched in self.watched:
                watched.expire()
        except Exception:
            # One connection's fault must not stop the clock of all others, nor leave it open for ever.
            self.log.failure("a deadline could not be kept by a {kind}", kind=type(watched).__name__)
            self._give_up(watched)

    def _give_up(self, watched: Expiring) -> None:
        """End what could not keep its deadline, or look after it no more: what it is may be in any disorder."""
        try:
            watched.abort()
        except Exception:
            self.log.failure("a {kind} could not be ended either", kind=type(watched).__name__)
            self.forget(watched)


def waiting_since(deadlines: Deadlines, seconds: float) -> float:
    """Return since when nothing may have come for a deadline of *seconds* that is over now to have been missed.

    What came since the last tick counts as come with it, and deadlines are kept half a tick early.
    """
    half = deadlines.interval_seconds / 2
    return deadlines.now - max(seconds - half, 3 * half)
