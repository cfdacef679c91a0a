"""Exchanges whose route is dear to find, which wait for a turn in which that is done: one after the other, so that a turn has one of them.

They are those of hosts with very many regular expressions.  The hosts take turns, however many requests each of them has.

What programs of expressions are kept is bounded, so two that have theirs made in turn may take them from each other for ever: whoever is
served first has all of its own made before the next one is.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.exchanges.causes import Cause
from ingress.model.stepwise import Stepwise
from ingress.model.text.lookup_budget import UNBOUNDED, TurnBudget
from ingress.process.in_slices import in_slices
from ingress.proxy.contract.faults import State
from ingress.proxy.exchange.exchange import Exchange

GoOn = Callable[[TurnBudget], object]
"""Called with what the lookup may cost, which is for nothing else that is done meanwhile."""

MAX_TURNS: Final = 64
"""In which programs are made for one exchange; what was made by then is kept for the next one."""
MAX_BEHIND_SECONDS: Final = 30.0
"""How long an exchange waits behind others."""
FEW: Final = 1000
"""Exchanges that wait, of which none is looked for that is over."""


class _Waiting(NamedTuple):
    exchange: Exchange
    go_on: GoOn
    since: float


class LookupQueue:
    """Has exchanges go on whose lookups were deferred, each with a turn of its own; all other lookups draw on *budget*."""

    log: ClassVar[Logger] = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self.budget = TurnBudget()
        self._waiting: OrderedDict[bytes, deque[_Waiting]] = OrderedDict()
        """By host, as the table has that; the host stands first whose exchange is served next."""
        self._count = 0
        self._most = FEW
        """When so many wait, those that are over are let go of."""
        self._served: _Waiting | None = None
        """Who has its turn now, or several."""
        self._is_serving = False
        self._first: Exchange | None = None
        """Whose lookup is being made again."""
        self._is_deferred = False

    def __len__(self) -> int:
        """How many wait."""
        return self._count

    def wait(self, exchange: Exchange, host: bytes, go_on: GoOn) -> None:
        """Have *exchange*, if it is not over by then, *go_on* with its lookup, which leads here again as long as that is deferred.

        *host* is what its own is found as in the table: who has a wildcard has one turn with all names below it.
        """
        if exchange is self._first:
            self._is_deferred = True
            return
        one = _Waiting(exchange, go_on, self._clock.seconds())
        self._waiting.setdefault(host, deque()).append(one)
        self._count += 1
        if self._count > self._most:
            self._let_go()
        if not self._is_serving:
            self._is_serving = True
            self.budget.running = 0
            in_slices(self._clock, self._serve()).addErrback(self._fail)

    def _let_go(self) -> None:
        """Let go of exchanges that are over, which may be many: clients can come and leave faster than others are served."""
        for some in self._waiting.values():
            left = [one for one in some if one.exchange.state is not State.DONE]
            self._count -= len(some) - len(left)
            some.clear()
            some.extend(left)
        self._most = FEW + 2 * self._count

    def _serve(self) -> Stepwise[None]:
        """Have all who wait go on, a lookup at a time."""
        while self._waiting:
            host, some = next(iter(self._waiting.items()))
            if some:
                self._served = some.popleft()
                exchange, go_on, since = self._served
                if self._clock.seconds() - since > MAX_BEHIND_SECONDS:
                    self._give_up(exchange)
                else:
                    turns = 0
                    while self._is_still_deferred(exchange, go_on):
                        turns += 1
                        if turns == MAX_TURNS:
                            self._give_up(exchange)
                            break
                        yield
                self._served = None
                self._count -= 1
            if some:
                self._waiting.move_to_end(host)
            else:
                del self._waiting[host]
            yield
        self._end()

    def _is_still_deferred(self, exchange: Exchange, go_on: GoOn) -> bool:
        """Have *exchange* go on; return whether more programs are to be made for it still."""
        if exchange.state is State.DONE:
            return False
        self._first, self._is_deferred = exchange, False
        # Its answer may lead at once to the next request of its client, whose lookup is one of the others.
        self.budget.making = 0
        own = TurnBudget(UNBOUNDED)
        try:
            go_on(own)
        except Exception:
            exchange.crash()
        finally:
            self._first = None
            self.budget.making = own.making
        return self._is_deferred

    def _end(self) -> None:
        """Let lookups of later turns draw on the budget again, once nobody waits."""
        self._is_serving = False
        self._most = FEW
        self.budget.renew()

    def _give_up(self, exchange: Exchange) -> None:
        exchange.cause = Cause.UNAVAILABLE
        exchange.fail(503, "more expressions of the host were to be compared than are kept")

    def _fail(self, failure: Failure) -> None:
        """Answer those who wait, as any bug has them answered."""
        self.log.failure("Exchanges whose lookups were deferred could not go on", failure=failure)
        served, self._served = self._served, None
        left = [one for some in self._waiting.values() for one in some]
        self._waiting, self._count = OrderedDict(), 0
        self._end()
        for exchange, _, _ in left if served is None else [served, *left]:
            exchange.cause = Cause.BUG
            exchange.fail(500, "a bug of the proxy")
