"""When it is looked again at what was replaced and was still in use then, such as for requests under way.  Pure.

Soon first, and then after longer pauses.  Whatever else is replaced meanwhile begins them anew and puts off no look that is due soon:
where endpoints change all the time there would never be one.
"""

from collections.abc import Iterator
from typing import Final

PAUSES: Final = (1.0, 10.0, 60.0, 600.0, 3600.0)
"""Seconds to each look from the one before."""


class Looks:
    """The next look; times are seconds of one clock that nobody sets."""

    def __init__(self) -> None:
        self._pauses: Iterator[float] = iter(())
        self.at: float | None = None
        """When that is; None where none is due any more."""

    def begin(self, now: float) -> None:
        """Something was replaced."""
        self._pauses = iter(PAUSES)
        soon = now + next(self._pauses)
        if self.at is None or not now <= self.at <= soon:
            self.at = soon

    def is_due(self, now: float) -> bool:
        """Whether it is to be looked now, and then later again."""
        if self.at is None or now < self.at:
            return False
        pause = next(self._pauses, None)
        self.at = None if pause is None else now + pause
        return True
