"""Exchanges that wait while the programs are made of the expressions that their routes are found by.

What programs are kept is bounded, so two that have theirs made in turn may take them from each other for ever: one after the other has.
"""

from collections import deque
from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.exchanges.causes import Cause
from ingress.model.stepwise import Stepwise
from ingress.process.in_slices import in_slices
from ingress.proxy.contract.faults import State
from ingress.proxy.exchange.exchange import Exchange

GoOn = Callable[[], object]

MAX_TURNS: Final = 64
"""In which programs are made for one exchange; what was made by then is kept for the next one."""
MAX_BEHIND_SECONDS: Final = 30.0
"""How long an exchange waits behind others."""


class _Waiting(NamedTuple):
    exchange: Exchange
    go_on: GoOn
    since: float


class ProgramQueue:
    """Has exchanges go on that wait for programs: one after the other, and one lookup at a time between which others are served."""

    log: ClassVar[Logger] = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._waiting: deque[_Waiting] = deque()
        self._first: Exchange | None = None
        """Whose lookup is being made again."""
        self._is_missing = False

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def wait(self, exchange: Exchange, go_on: GoOn) -> None:
        """Have *exchange*, if it is not over by then, *go_on* with its lookup, which leads here again as long as programs are missing."""
        if exchange is self._first:
            self._is_missing = True
            return
        self._waiting.append(_Waiting(exchange, go_on, self._clock.seconds()))
        if len(self._waiting) == 1:
            in_slices(self._clock, self._serve()).addErrback(self._fail)

    def _serve(self) -> Stepwise[None]:
        """Have all who wait go on; who is served stands first until it needs no more programs."""
        while True:
            exchange, go_on, since = self._waiting[0]
            if self._clock.seconds() - since > MAX_BEHIND_SECONDS:
                self._give_up(exchange)
            else:
                turns = 0
                while self._is_still_missing(exchange, go_on):
                    turns += 1
                    if turns == MAX_TURNS:
                        self._give_up(exchange)
                        break
                    yield
            self._waiting.popleft()
            if not self._waiting:
                return
            yield

    def _is_still_missing(self, exchange: Exchange, go_on: GoOn) -> bool:
        """Have *exchange* go on; return whether programs are missing still."""
        if exchange.state is State.DONE:
            return False
        self._first, self._is_missing = exchange, False
        try:
            go_on()
        except Exception:
            exchange.crash()
        finally:
            self._first = None
        return self._is_missing

    def _give_up(self, exchange: Exchange) -> None:
        exchange.cause = Cause.UNAVAILABLE
        exchange.fail(503, "more expressions of the host were to be compared than are kept")

    def _fail(self, failure: Failure) -> None:
        """Answer those who wait, as any bug has them answered."""
        self.log.failure("Exchanges that wait for programs could not go on", failure=failure)
        waiting, self._waiting = self._waiting, deque()
        for exchange, _, _ in waiting:
            exchange.cause = Cause.BUG
            exchange.fail(500, "a bug of the proxy")
