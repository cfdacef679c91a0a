"""Of all that takes long, one slice in each turn of the reactor, however many have something to do; short calls share one.

The reactor makes all calls that are due before it looks again whether anybody has asked for anything.  While objects change by the
thousand, several go on at once: what comes from threads is taken over, a round is translated, endpoints are found, and it is told
what changed.  Each of them has its slice, and a request that came meanwhile waits for the sum of them; and once more on its
way back.  Here they stand in a line, and who comes again goes to its end.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from twisted.internet.base import DelayedCall
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from zope.interface import implementer

from ingress.process.in_slices import SLICE_SECONDS


@implementer(IReactorTime)
class OneEachTurn:
    """Time as *reactor* has it; but of what is to be called at once, no more in a turn than takes a slice."""

    def __init__(self, reactor: IReactorTime) -> None:
        self._reactor = reactor
        self._waiting: deque[DelayedCall] = deque()
        self._is_called = False

    def __repr__(self) -> str:
        return f"<OneEachTurn {len(self._waiting)} waiting>"

    def seconds(self) -> float:
        """Return the reactor's time."""
        now: float = self._reactor.seconds()
        return now

    def callLater(
        self, delay: float, callable: Callable[..., object], *args: object, **kwargs: object
    ) -> IDelayedCall:
        """Call after *delay* seconds; without any in the next turn in which nobody is before it, and then it may be cancelled, not put off."""
        if delay > 0:
            later: IDelayedCall = self._reactor.callLater(delay, callable, *args, **kwargs)
            return later
        now = self.seconds()
        call = DelayedCall(now, callable, args, kwargs, self._waiting.remove, _stay, self.seconds)
        self._waiting.append(call)
        self._call_soon()
        return call

    def getDelayedCalls(self) -> list[IDelayedCall]:
        """Return what the reactor is to call, and what waits for its turn."""
        return [*self._reactor.getDelayedCalls(), *self._waiting]

    def _call_soon(self) -> None:
        if self._waiting and not self._is_called:
            self._is_called = True
            self._reactor.callLater(0, self._turn)

    def _turn(self) -> None:
        self._is_called = False
        until = self.seconds() + SLICE_SECONDS
        try:
            # Who comes again has its next call in a turn to come; one of these may be cancelled by another.
            left = len(self._waiting)
            while left and self._waiting:
                left -= 1
                call = self._waiting.popleft()
                call.called = 1
                call.func(*call.args, **call.kw)
                if self.seconds() >= until:
                    break
        finally:
            self._call_soon()


def _stay(call: Any) -> None:
    """What is called in a turn or two is not put off."""
