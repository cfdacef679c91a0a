"""How late a reactor has come of late: the worst of the last seconds, since a moment's number says little.  Pure."""

from typing import Final

WINDOW_SECONDS: Final = 5.0


class WorstLateness:
    """The largest number of this window and the one before, so of the last five to ten seconds."""

    def __init__(self) -> None:
        self._until = 0.0
        self._now = self._before = 0.0

    def take(self, now: float, seconds: float) -> float:
        """Take that it was *seconds* late at *now*; return the worst."""
        if now >= self._until:
            is_next = now < self._until + WINDOW_SECONDS
            self._before, self._now = self._now if is_next else 0.0, 0.0
            self._until = now + WINDOW_SECONDS
        self._now = max(self._now, seconds)
        return max(self._now, self._before)
