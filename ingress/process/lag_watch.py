"""Looks twice a second whether the reactor comes in time to what is due.

A worker looks more often, for others go by it (``ingress.workers.worker``); this is for the process that shows what was found.
"""

from collections.abc import Callable
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

EVERY_SECONDS: Final = 0.5


class LagWatch:
    """Calls *looked* with how late each look was, and the time."""

    def __init__(self, clock: IReactorTime, looked: Callable[[float, float], object]) -> None:
        self._clock = clock
        self._looked = looked
        self._next: IDelayedCall | None = None
        self._due = 0.0

    def start(self) -> None:
        """Begin."""
        self._due = self._clock.seconds() + EVERY_SECONDS
        self._next = self._clock.callLater(EVERY_SECONDS, self._look)

    def _look(self) -> None:
        now = self._clock.seconds()
        self._looked(now - self._due, now)
        self.start()

    def stop(self) -> None:
        """Look no more; saying it again changes nothing."""
        if self._next is not None and self._next.active():
            self._next.cancel()
