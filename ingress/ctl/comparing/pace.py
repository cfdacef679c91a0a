"""The pace: how many requests a second, of both sides together; less where a side has too much to do."""

from collections.abc import Callable
from typing import Final

MAX_DISTANCE: Final = 5.0
"""Seconds between two requests, however busy a side is, unless it says how long it wants to be left alone."""
MAX_RETRY_AFTER: Final = 60.0


class Pace:
    """Keeps requests *rate* a second apart at least; *clock* says seconds, *sleep* waits for some."""

    def __init__(self, rate: float, clock: Callable[[], float], sleep: Callable[[float], object]) -> None:
        self._least = 1.0 / rate
        self.distance = self._least
        """Seconds between two requests."""
        self.was_slowed = False
        self._clock = clock
        self._sleep = sleep
        self._next: float | None = None

    def wait(self) -> None:
        """Wait until the next request may go."""
        now = self._clock()
        while self._next is not None and now < self._next:
            self._sleep(self._next - now)
            now = self._clock()
        # From now on, and not from when it might have gone: what was missed is not made up for.
        self._next = now + self.distance

    def slow_down(self, seconds: float = 0.0) -> None:
        """Double the distance; send nothing for *seconds* where a side asks for that."""
        self.was_slowed = True
        self.distance = max(self._least, min(self.distance * 2, MAX_DISTANCE))
        self._next = max(self._next or 0.0, self._clock() + max(min(seconds, MAX_RETRY_AFTER), self.distance))

    def speed_up(self) -> None:
        """Halve the distance, down to that of the rate."""
        self.distance = max(self.distance / 2, self._least)
