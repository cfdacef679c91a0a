"""The times of an exchange that its route bounds, to the point, and what it waits for between two attempts.

A tunnel is bound by none of them: the request that asked for it is answered.

Made only for exchanges of routes that say something about time: connections look after their own times by the ticks of the deadlines,
which is enough for all others.
"""

from collections.abc import Callable
from typing import Protocol

from twisted.internet.interfaces import IDelayedCall

from ingress.model.serving.limits import AskedTimeouts
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.faults import Fault, State
from ingress.proxy.contract.sides import Upstream


class Timed(Protocol):
    """The exchange, as its times see it."""

    state: State
    upstream: Upstream | None
    """The side that answers; None as long as there is none, and once it has answered."""

    def give_up(self, status: int, why: str, fault: Fault) -> None:
        """Answer with the error *status*, or cut an answer that has begun; *fault* ends the attempt under way."""

    def upstream_lost(self, why: str, fault: Fault) -> None:
        """The attempt is of no use any more."""

    def crash(self) -> None:
        """End the exchange, which met a bug of ours; called while it is handled."""


class Timing:
    """What one exchange waits for."""

    # What most leave as it is stands here, and costs each of them nothing.
    _whole: IDelayedCall | None = None
    _attempt: IDelayedCall | None = None
    _pause: IDelayedCall | None = None

    def __init__(self, exchange: Timed, deadlines: Deadlines, timeouts: AskedTimeouts, began: float) -> None:
        """Have *exchange*, which *began* then, end in time, if its route says when that is."""
        self._exchange = exchange
        self._deadlines = deadlines
        self.spares_tunnels = timeouts.spares_tunnels
        """Whether a tunnel may rest for as long as it likes."""
        self._attempt_seconds = timeouts.attempt_seconds
        seconds = timeouts.request_seconds
        if seconds:
            left = began + seconds - deadlines.exact_seconds()

            def over() -> None:
                if exchange.state is not State.TUNNEL:
                    why = f"the request took longer than the {seconds:g} s of its route"
                    exchange.give_up(504, why, Fault.LATE)

            self._whole = self._call(max(0.0, left), over)

    def attempt_begins(self, upstream: Upstream) -> None:
        """Have the attempt at *upstream* end in time, if its route says when that is."""
        seconds = self._attempt_seconds
        if not seconds:
            return

        def over() -> None:
            exchange = self._exchange
            if exchange.upstream is upstream and exchange.state is not State.TUNNEL:
                upstream.abandon()
                why = f"the attempt took longer than the {seconds:g} s of its route"
                exchange.upstream_lost(why, Fault.LATE)

        _cancel(self._attempt)
        self._attempt = self._call(seconds, over)

    def pause(self, seconds: float, attempt: Callable[[], None]) -> None:
        """Wait before the next *attempt*, which is not made if the exchange is answered otherwise meanwhile."""

        def go_on() -> None:
            if self._exchange.state is State.CONNECTING:
                attempt()

        self._pause = self._call(seconds, go_on)

    def close(self) -> None:
        """Wait for nothing any more."""
        for call in (self._whole, self._attempt, self._pause):
            _cancel(call)

    def _call(self, seconds: float, call: Callable[[], None]) -> IDelayedCall:
        def guarded() -> None:
            try:
                call()
            except Exception:
                self._exchange.crash()

        return self._deadlines.call_after(seconds, guarded)


def _cancel(call: IDelayedCall | None) -> None:
    if call is not None and call.active():
        call.cancel()
