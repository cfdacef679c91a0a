"""How long to wait after an error: longer each time, never in step with other replicas.  Pure.

The figures are those of the reflectors in Kubernetes' own Go client: 0.8 s, doubled up to
30 s, times a random factor between 1 and 2, and back to 0.8 s after two minutes without error.
"""

from collections.abc import Callable


class Backoff:
    """Counts errors and answers each with a delay.

    *clock* returns seconds of any monotonic clock, *random* a number in [0, 1).
    """

    def __init__(
        self,
        clock: Callable[[], float],
        random: Callable[[], float],
        *,
        first_seconds: float = 0.8,
        ceiling_seconds: float = 30.0,
        forget_after_seconds: float = 120.0,
    ) -> None:
        self._clock = clock
        self._random = random
        self._first_seconds = first_seconds
        self._ceiling_seconds = ceiling_seconds
        self._forget_after_seconds = forget_after_seconds
        self._next_seconds = first_seconds
        self._last_error: float | None = None

    def __repr__(self) -> str:
        return f"<Backoff next={self._next_seconds:g}s>"

    def failed(self, at_least_seconds: float = 0.0) -> float:
        """Note an error; return the seconds to wait, *at_least_seconds* (``Retry-After``) or more."""
        now = self._clock()
        if self._last_error is not None and now - self._last_error > self._forget_after_seconds:
            self._next_seconds = self._first_seconds
        self._last_error = now
        delay = self._next_seconds * (1.0 + self._random())
        self._next_seconds = min(self._next_seconds * 2, self._ceiling_seconds)
        return max(delay, at_least_seconds)

    def worked(self) -> None:
        """Note that all was well for a while: the next error is a first one."""
        self._next_seconds = self._first_seconds
