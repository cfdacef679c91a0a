"""What counters that only grow say of the last seconds and minutes.  Pure: whoever reads them says when, in seconds of one clock."""

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")


class Window(Generic[T]):
    """What was read within the last *seconds*, and the last of what was read before, from which differences are taken."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._read: deque[tuple[float, T]] = deque()

    def add(self, at: float, value: T) -> None:
        """Note what was read at *at*, which is not before what was read last."""
        read = self._read
        read.append((at, value))
        while len(read) > 1 and read[1][0] <= at - self._seconds:
            read.popleft()

    def last(self) -> tuple[float, T]:
        """Return when and what was read last; something was added before."""
        return self._read[-1]

    def first(self, seconds: float) -> tuple[float, T]:
        """Return when and what was read *seconds* before the last, or the first that there is; something was added before."""
        read = self._read
        least = read[-1][0] - seconds
        before = read[0]
        if before[0] >= least:
            return before
        # Those of the last moments are few, those of minutes many.
        for one in islice(reversed(read), 1, None):
            if one[0] <= least:
                return one
        return before

    def values(self) -> list[T]:
        """Return all of it, the oldest first."""
        return [value for _, value in self._read]

    def clear(self) -> None:
        """Forget all of it."""
        self._read.clear()


def differences(now: Sequence[int], before: Sequence[int]) -> list[int]:
    """Return how much more there is of each; a counter that began anew counts from 0."""
    if len(before) != len(now):
        return list(now)
    return [max(0, one - other) for one, other in zip(now, before, strict=True)]
