"""The gate before routing: open to everybody, until there is an overload.

Then requests wait here, read, until a turn of the reactor has room for them (``overload`` says how much).  Those for
which there is no room when they come are surplus, and are refused: 503 with ``Retry-After``.  To answer a request that way costs a third
of what it takes to serve it, and who is refused asks again at once, or somebody else does; to refuse all
surplus as it comes would take most of the time.  So refusing has a share of each turn, and surplus waits for that:
its connections say nothing meanwhile, which costs nothing.

What was begun goes on, whatever it is: the gate knows requests that come, and nothing of bodies, answers or tunnels.
An exchange that waits here is one like any other that waits for a filter: its body is taken, its deadlines are kept, and its
client may leave.
"""

from collections import deque
from collections.abc import Callable
from time import thread_time
from typing import ClassVar, Final, Protocol

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.web.server import NOT_DONE_YET

from ingress.metrics.series.overload import LATE, MEMORY, OverloadMetrics
from ingress.model.exchanges.causes import Cause
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.process.lateness import Lateness
from ingress.proxy.contract.faults import State
from ingress.proxy.dispatch.overload import TURN_SECONDS, Overload
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.exchange.replies import Replies, accepts_html
from ingress.wording import number_of

MOST_SURPLUS: Final = 8192
"""Requests of the surplus that wait at most; further ones are refused as they come."""
REFUSING_SHARE: Final = 0.04
"""Of the processor's time, for refusing; to read what comes in place of it takes about as much again."""
SPARE_SECONDS: Final = 2 * TURN_SECONDS
"""Once nobody could be begun for so long, there is nothing better to do than to refuse."""
LOOK_SECONDS: Final = 0.25
"""How often it is looked whether an overload is over, while nobody comes."""
RETRY_SECONDS: Final = {LATE: 1, MEMORY: 10}
"""What ``Retry-After`` says, by cause."""
_BEGUN: Final = Mark(ChangeSort.OVERLOAD, "begun", is_trouble=True, state="overload")
_OVER: Final = Mark(ChangeSort.OVERLOAD, "over", state="overload", is_over=True)
REASONS: Final = {LATE: "overload: no time to begin it", MEMORY: "overload: no memory to begin it"}
"""What the access log says, by cause."""


class Renders(Protocol):
    """A resource that answers exchanges."""

    def render(self, exchange: Exchange) -> int:
        """Answer, now or later."""


_Line = deque[tuple[Exchange, Renders]]


class Gate:
    """Lets exchanges of one process through, or has them wait, or refuses them."""

    log: ClassVar[Logger] = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        metrics: OverloadMetrics,
        replies: Callable[[], Replies],
        lateness: Lateness | None = None,
        call_in_batch: Callable[[Callable[[], None]], None] | None = None,
        cpu_seconds: Callable[[], float] = thread_time,
    ) -> None:
        """*call_in_batch* calls so that what is written is sent together; without *lateness* nobody is late.

        *cpu_seconds* returns the processor's time that this thread has had.
        """
        self.is_open = True
        """Whether whoever comes goes through."""
        self.overload = Overload()
        self._clock = clock
        self._metrics = metrics
        self._replies = replies
        self._lateness = lateness
        self._call_in_batch = call_in_batch or _call
        self._is_memory_short = False
        self._waiting: _Line = deque()
        self._surplus: _Line = deque()
        self._due: IDelayedCall | None = None
        self._cpu_seconds = cpu_seconds
        self._worked = 0.0
        """The processor's time at the last turn, ..."""
        self._began = 0
        """... and how many requests that began."""
        self._since = self._begun_at = 0.0
        self._allowance = 0.0
        """Seconds that may be spent on refusing; negative where the last refusal took longer."""
        self._refused = dict.fromkeys(REASONS, 0)
        self.slow_down: Callable[[bool], None] | None = None
        """Has newcomers wait, or come as they like."""
        if lateness is not None:
            lateness.told = self.late

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed"
        return f"<Gate {state}: {len(self._waiting)} wait, {len(self._surplus)} are surplus>"

    @property
    def waiting(self) -> int:
        """How many exchanges wait, surplus included."""
        return len(self._waiting) + len(self._surplus)

    # When it closes

    def late(self, seconds: float, now: float) -> None:
        """What comes waits for *seconds*."""
        if self.overload.late(seconds, now):
            self._since = now
            self._worked = self._cpu_seconds()
            self._metrics.begun(LATE)
            self.log.warn(
                "Overloaded: requests wait {seconds:.2f} s before they are begun; from now on those "
                "for which there is no time are refused, with 503",
                seconds=seconds,
                change=_BEGUN,
            )
            self._update()
            self._turn_after(LOOK_SECONDS)

    def memory_is_short(self, is_short: bool) -> None:
        """Have all new requests refused while there is no memory for them."""
        if is_short is not self._is_memory_short:
            self._is_memory_short = is_short
            (self._metrics.begun if is_short else self._metrics.ended)(MEMORY)
            self._update()

    def take_refused(self, cause: str) -> int:
        """Return how many were refused because of *cause* since the last time."""
        count, self._refused[cause] = self._refused[cause], 0
        return count

    def _update(self) -> None:
        self.is_open = not self.overload.is_on and not self._is_memory_short
        if self.slow_down is not None:
            self.slow_down(self.overload.is_on)

    # Who comes

    def before(self, resource: Renders) -> Renders:
        """Return what an exchange is given to that is for *resource*, while the gate is closed."""
        return _Waits(self, resource)

    def put(self, exchange: Exchange, resource: Renders) -> None:
        """Have *exchange* wait for *resource*, or refuse it."""
        if self._is_memory_short:
            self._refuse(exchange, MEMORY)
            return
        if len(self._waiting) < self.overload.room:
            self._waiting.append((exchange, resource))
        else:
            self.overload.left_out(self._clock.seconds())
            if len(self._surplus) >= MOST_SURPLUS:
                self._refuse(exchange, LATE)
                return
            self._surplus.append((exchange, resource))
        self._turn_after(0)

    def _refuse(self, exchange: Exchange, cause: str) -> None:
        self._refused[cause] += 1
        self._metrics.refused(cause)
        reply = self._replies().later(RETRY_SECONDS[cause], accepts_html(exchange.received.forward))
        try:
            exchange.cause = Cause.OVERLOAD
            exchange.fail(503, REASONS[cause], reply=reply)
        except Exception:
            exchange.crash()

    # Turns

    def _turn_after(self, seconds: float) -> None:
        """Take a turn then, if none comes sooner; 0 is as soon as the reactor has done what it does."""
        due = self._due
        if due is not None and due.active():
            if seconds or due.getTime() <= self._clock.seconds():
                return
            due.cancel()
        self._due = self._clock.callLater(seconds, self._turn)

    def _turn(self) -> None:
        self._due = None
        self._call_in_batch(self._work)

    def _work(self) -> None:
        overload = self.overload
        # Not the time that goes by: others may have the processor for most of it, and that makes no request dearer.
        worked, before = self._cpu_seconds(), self._worked
        self._worked = worked
        room = overload.room
        began = self._begin(self._waiting, room)
        if overload.is_trial or not overload.is_on:
            began += self._begin(self._surplus, room - began)
        now = self._clock.seconds()
        if began:
            self._begun_at = now
        self._allowance = min(self._allowance + REFUSING_SHARE * (worked - before), TURN_SECONDS)
        if now - self._begun_at >= SPARE_SECONDS:
            self._allowance = TURN_SECONDS / 2
        self._refuse_surplus()
        if overload.is_on:
            overload.turned(worked - before, self._began)
            self._began = began
            if overload.is_over(now, self.waiting):
                self._end(now)
        if self._waiting or self._surplus:
            self._turn_after(0)
        elif overload.is_on:
            self._turn_after(LOOK_SECONDS)

    def _begin(self, line: _Line, most: int) -> int:
        began = 0
        while line and began < most:
            exchange, resource = line.popleft()
            if exchange.state is State.DONE:
                continue
            began += 1
            try:
                resource.render(exchange)
            except Exception:
                exchange.crash()
        return began

    def _refuse_surplus(self) -> None:
        """Refuse those who wait for longest, as far as the allowance goes; whoever has left costs nothing."""
        surplus, seconds = self._surplus, self._clock.seconds
        now = seconds()
        while surplus and self.overload.is_on:
            exchange, _ = surplus[0]
            if exchange.state is not State.DONE:
                if self._allowance <= 0:
                    break
                self._refuse(exchange, LATE)
                before, now = now, seconds()
                self._allowance -= now - before
            surplus.popleft()

    def _end(self, now: float) -> None:
        self._metrics.ended(LATE)
        self._update()
        self.log.info(
            "No longer overloaded, after {seconds:.1f} s in which {refused} refused",
            seconds=now - self._since,
            refused=number_of(self.take_refused(LATE), "request was", "requests were"),
            change=_OVER,
        )

    def close(self) -> None:
        """Take no turn any more: whoever waits is cut off with its connection."""
        if self._due is not None and self._due.active():
            self._due.cancel()
        if self._lateness is not None:
            self._lateness.told = None


class _Waits:
    """Stands for a resource while the gate is closed."""

    def __init__(self, gate: Gate, resource: Renders) -> None:
        self._gate = gate
        self._resource = resource

    def render(self, exchange: Exchange) -> int:
        """Have *exchange* wait for its turn."""
        self._gate.put(exchange, self._resource)
        return NOT_DONE_YET


def _call(call: Callable[[], None]) -> None:
    call()
