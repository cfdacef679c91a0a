"""How late this process comes to what waits for it: measured by probes, and only while there is much to do.

Each turn of the reactor takes some of what has come, and so its length says little about how long something waits that comes
now: there may be a hundred turns' work before it.  A *probe* is an event that we send to ourselves.  It gets in line behind all
that waits, and how long it takes to come back is how long a request takes to be begun.

What waits in this process for a turn of its own, as slices of long work do, delays what comes by the length of turns.  From
outside, a turn with much of that looks like rest; but rest takes no processor's time.

Pure: whoever sends probes says when, in seconds of one clock.
"""

from collections.abc import Callable
from typing import Final

EVERY_SECONDS: Final = 0.01
"""How long after one probe came back the next one is sent, while there is much to do."""
VALID_SECONDS: Final = 0.05
"""How long what a probe has found is true; if no other one is sent meanwhile, there is little to do."""
LATE_SECONDS: Final = 0.05
"""A process that is later than this leaves new connections to others, if there are any."""

BUSY_SHARE: Final = 0.5
"""A thread that had the processor for so much of the time did not rest."""

NEVER: Final = float("-inf")


class Lateness:
    """What probes found; one at a time is under way."""

    __slots__ = ("_back_at", "_found", "_sent_at", "told")

    def __init__(self) -> None:
        self._sent_at: float | None = None
        self._back_at = NEVER
        self._found = 0.0
        self.told: Callable[[float, float], None] | None = None
        """Told of the lateness, and the time, with each probe that comes back, and while one takes longer than the last."""

    def __repr__(self) -> str:
        way = "" if self._sent_at is None else ", a probe is under way"
        return f"<Lateness of {self._found:.3f} s{way}>"

    def wants_probe(self, now: float) -> bool:
        """Whether a probe is to be sent, since there is much to do; tells how late it is if one takes longer than the last."""
        if self._sent_at is None:
            return now - self._back_at >= EVERY_SECONDS
        if self.told is not None and now - self._sent_at > self._found:
            self.told(now - self._sent_at, now)
        return False

    def sent(self, now: float) -> None:
        """A probe was sent."""
        self._sent_at = now

    def came_back(self, now: float) -> None:
        """The probe came back."""
        if self._sent_at is None:
            return
        found, self._sent_at = now - self._sent_at, None
        self._find(found, now)

    def was_away(self, seconds: float, now: float) -> None:
        """Nothing of what came was taken for *seconds*, for other work."""
        self._find(seconds, now)

    def _find(self, seconds: float, now: float) -> None:
        self._found = seconds
        self._back_at = now
        if self.told is not None:
            self.told(seconds, now)

    def seconds(self, now: float) -> float:
        """Return how long what comes now waits at least, as far as that is known; 0 while there is little to do."""
        found = self._found if now - self._back_at <= VALID_SECONDS else 0.0
        return found if self._sent_at is None else max(found, now - self._sent_at)

    def is_late(self, now: float) -> bool:
        """Whether new connections had better go to another process."""
        return self.seconds(now) > LATE_SECONDS
