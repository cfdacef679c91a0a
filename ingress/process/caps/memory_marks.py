"""How near memory is to the limit of the control group: two marks, and what there is above each.  Pure.

Above the first mark what rests is given up and nobody new is let in; above the second one nothing new is begun.  Both lie in
what is left above that which the process takes by itself: one with ten thousand routes may take most of its limit for years.  What
is above a mark for long, and does not get less, is such a need, too, and the marks move up: a process must not refuse
everybody for ever because memory that was freed does not go back to the system, or because somebody else in the group has it.

    0 ────── base ────────────────────────── near ──────── short ──────── limit
             what the process needs          90 %          95 %           the kernel kills
"""

from enum import IntEnum
from typing import Final

from ingress.process.caps.cgroups import Cap

NEAR_SHARE: Final = 0.9
"""Of the limit, if the operator does not say otherwise."""
LASTING_SECONDS: Final = 30.0
"""After so long above a mark, that is what the process needs."""


GROWTH: Final = 400 << 20
"""Bytes a second: what a thousand clients that take nothing of large answers come to."""
LONGEST_SECONDS: Final = 1.0
SHORTEST_SECONDS: Final = 0.05


class Level(IntEnum):
    """How near it is."""

    ROOMY = 0
    NEAR = 1
    SHORT = 2


class MemoryMarks:
    """Where memory is; *near_share* of the limit is the first mark, and with 0 there is none."""

    def __init__(self, near_share: float = NEAR_SHARE) -> None:
        self.near_share = near_share
        self.level = Level.ROOMY
        self._base: int | None = None
        self._above_since = 0.0

    def __repr__(self) -> str:
        return f"<MemoryMarks: {self.level.name}>"

    def marks(self, limit: int) -> tuple[int, int]:
        """Return both marks in bytes."""
        base = min(self._base or 0, limit)
        near = max(int(limit * self.near_share), base + (limit - base) // 2)
        return near, near + (limit - near) // 2

    def take(self, cap: Cap | None, now: float) -> Level:
        """Return the level at *cap*; without one there is room."""
        if cap is None or not self.near_share:
            self.level = Level.ROOMY
            return self.level
        if self._base is None or cap.used < self._base:
            self._base = cap.used
        before, self.level = self.level, self._level(cap)
        if before is Level.ROOMY:
            self._above_since = now
        elif self.level and now - self._above_since >= LASTING_SECONDS:
            self._base, self.level = cap.used, Level.ROOMY
        return self.level

    def seconds_to_next(self, cap: Cap | None) -> float:
        """Return after how long to look again: before memory can have grown to the next mark, or to the limit."""
        if cap is None or not self.near_share:
            return LONGEST_SECONDS
        following = min((mark for mark in self.marks(cap.limit) if mark > cap.used), default=cap.limit)
        return min(max((following - cap.used) / GROWTH, SHORTEST_SECONDS), LONGEST_SECONDS)

    def _level(self, cap: Cap) -> Level:
        near, short = self.marks(cap.limit)
        if self.level is Level.SHORT:
            # Not at every byte: it has to be less than that by a good part.
            short -= (cap.limit - short) // 2
        if self.level is not Level.ROOMY:
            near -= (cap.limit - near) // 4
        return Level.SHORT if cap.used >= short else Level.NEAR if cap.used >= near else Level.ROOMY
