"""Exchanges that wait while the balancer of their backend is prepared, a slice at a time between which others are served.

Only where keys decide, and where there are hundreds of endpoints that were not known before.
"""

from collections.abc import Callable
from typing import ClassVar

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.causes import Cause
from ingress.model.stepwise import Stepwise
from ingress.process.in_slices import in_slices
from ingress.proxy.contract.faults import State
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.upstream.rotation import Rotation

GoOn = Callable[[], object]


class Preparing:
    """Prepares rotations that somebody waits for."""

    log: ClassVar[Logger] = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._waiting: dict[Rotation, list[tuple[Exchange, GoOn]]] = {}

    def __len__(self) -> int:
        """How many rotations are waited for."""
        return len(self._waiting)

    def wait(self, rotation: Rotation, exchange: Exchange, go_on: GoOn) -> None:
        """Have *exchange*, if it is not over by then, *go_on* once *rotation* is prepared."""
        waiting = self._waiting.get(rotation)
        if waiting is not None:
            waiting.append((exchange, go_on))
            return
        self._waiting[rotation] = [(exchange, go_on)]
        prepared = in_slices(self._clock, _preparing(rotation))
        prepared.addCallbacks(lambda _: self._go_on(rotation), lambda failure: self._fail(rotation, failure))

    def _go_on(self, rotation: Rotation) -> None:
        for exchange, go_on in self._waiting.pop(rotation):
            if exchange.state is not State.DONE:
                try:
                    go_on()
                except Exception:
                    exchange.crash()

    def _fail(self, rotation: Rotation, failure: Failure) -> None:
        """Answer those who wait, as any bug has them answered; the next one has it tried again."""
        self.log.failure("A rotation could not be prepared", failure=failure)
        for exchange, _ in self._waiting.pop(rotation):
            exchange.cause = Cause.BUG
            exchange.fail(500, "a bug of the proxy")


def _preparing(rotation: Rotation) -> Stepwise[None]:
    while not rotation.prepare_some():
        yield
