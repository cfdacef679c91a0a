"""Exchanges that wait while the balancer of their backend is prepared, a slice at a time between which others are served.

Only where keys decide, and where there are hundreds of endpoints that were not known before.
"""

from collections import deque
from collections.abc import Callable
from typing import ClassVar, Final

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.exchanges.causes import Cause
from ingress.model.stepwise import Stepwise
from ingress.process.in_slices import in_slices
from ingress.proxy.contract.faults import State
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.upstream.rotation import Rotation

GoOn = Callable[[], object]

AT_ONCE: Final = 16
"""Exchanges that go on in one turn; each takes about a tenth of a millisecond."""
MOST_CHANGES: Final = 8
"""So often endpoints may change while somebody waits; then what is left is done at once, some milliseconds of 5,000, or it might never be done."""


class Preparing:
    """Prepares rotations that somebody waits for."""

    log: ClassVar[Logger] = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._waiting: dict[Rotation, deque[tuple[Exchange, GoOn]]] = {}

    def __len__(self) -> int:
        """How many rotations are waited for."""
        return len(self._waiting)

    def wait(self, rotation: Rotation, exchange: Exchange, go_on: GoOn) -> None:
        """Have *exchange*, if it is not over by then, *go_on* once *rotation* is prepared; those go first who came first."""
        waiting = self._waiting.get(rotation)
        if waiting is not None:
            waiting.append((exchange, go_on))
            return
        waiting = self._waiting[rotation] = deque(((exchange, go_on),))
        in_slices(self._clock, self._serve(rotation, waiting)).addErrback(
            lambda failure: self._fail(rotation, failure)
        )

    def _serve(self, rotation: Rotation, waiting: deque[tuple[Exchange, GoOn]]) -> Stepwise[None]:
        """Prepare *rotation* and have those go on who wait for it, some a step: they may be as many as there are connections."""
        endpoints, changes = rotation.endpoints, 0
        while waiting:
            # Once more, where its endpoints have changed between two steps.
            while not rotation.prepare_some():
                if rotation.endpoints is not endpoints:
                    endpoints = rotation.endpoints
                    changes += 1
                if changes <= MOST_CHANGES:
                    yield
            for _ in range(min(AT_ONCE, len(waiting))):
                exchange, go_on = waiting.popleft()
                if exchange.state is not State.DONE:
                    try:
                        go_on()
                    except Exception:
                        exchange.crash()
            yield
        del self._waiting[rotation]

    def _fail(self, rotation: Rotation, failure: Failure) -> None:
        """Answer those who wait, as any bug has them answered; the next one has it tried again."""
        self.log.failure("A rotation could not be prepared", failure=failure)
        for exchange, _ in self._waiting.pop(rotation):
            exchange.cause = Cause.BUG
            exchange.fail(500, "a bug of the proxy")
