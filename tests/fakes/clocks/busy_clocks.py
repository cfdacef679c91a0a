"""A clock of memory by which work takes time, so that it can be told what is done in one turn of a reactor."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock


class BusyClock(Clock):
    """Work ``takes`` time; ``turns`` has how long each turn took in which something was done, besides the one that goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[float] = []

    def take(self, seconds: float) -> None:
        """Work for so long."""
        self.rightNow += seconds

    def callLater(
        self,
        delay: float,
        callable: Callable[..., object],
        *args: object,
        **kw: object,
    ) -> IDelayedCall:
        """Call later, and note how long that took."""

        def noted() -> None:
            begun = self.seconds()
            callable(*args, **kw)
            self.turns.append(self.seconds() - begun)

        return super().callLater(delay, noted)
