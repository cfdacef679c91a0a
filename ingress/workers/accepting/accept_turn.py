"""Which worker takes a connection that waits on a socket which all of them share.

The kernel wakes up whoever has nothing to do, and the first to ask gets the connection: that would be the same one again and again
while connections come slowly.  So each looks at the shared page first.  One that has more than its share leaves the connection to the
others for a millisecond, a few times, and then takes it: they may have more to do than their numbers say.  One whose reactor is
late takes nothing while there is another that is not.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

MOMENT_SECONDS: Final = 0.001
"""How long a connection is left to others; one that has nothing to do takes a tenth of that to take it."""
MOMENTS: Final = 4
"""So often it is; in the worst case all others have just been stopped, and a visitor waits for so many milliseconds."""
LATE_MOMENT_SECONDS: Final = 0.01
"""The same for a worker that is late, until it is no longer, or all are."""
SLACK: Final = 16
"""One part in so many is what a worker may have more than the one with the fewest: ± 3 % with two workers; and it may have ..."""
FEW: Final = 4
"""... so many more in any case: with a handful of connections it does not matter who has them, and nobody waits for it."""

BEAT_SECONDS: Final = 0.025
"""How often a worker says that it is well ..."""
LONGEST_BEAT_SECONDS: Final = 0.05
"""... and how often while it has no connections: a process at rest is to cost next to nothing."""
SILENT_NANOSECONDS: Final = 100_000_000
"""Who has not said so for this long is not counted upon."""


def beat_seconds(connections: int) -> float:
    """Return how long after this time a worker with so many *connections* says again that it is well."""
    return BEAT_SECONDS if connections else LONGEST_BEAT_SECONDS


class Colleague(Protocol):
    """What another worker says of itself."""

    @property
    def beat(self) -> int:
        """When its reactor last had a turn, in nanoseconds."""

    @property
    def connections(self) -> int:
        """How many connections of clients it has."""

    @property
    def is_late(self) -> bool:
        """Whether its reactor was late when it last looked."""

    @property
    def accepts(self) -> bool:
        """Whether it accepts connections."""


class AcceptTurn:
    """Says whether a connection that waits is ours; of one listener.

    *others* are the workers beside this one, *connections* returns how many this one has, *is_late* whether it is late, and
    *nanoseconds* the time by which beats are told.
    """

    def __init__(
        self,
        others: Sequence[Colleague],
        connections: Callable[[], int],
        is_late: Callable[[], bool],
        nanoseconds: Callable[[], int],
    ) -> None:
        self._others = others
        self._connections = connections
        self._is_late = is_late
        self._nanoseconds = nanoseconds
        self._left = 0

    def seconds_to_leave(self) -> float:
        """Return how long to leave what waits to others; 0 when it is ours."""
        since = self._nanoseconds() - SILENT_NANOSECONDS
        fewest: int | None = None
        for other in self._others:
            if other.accepts and other.beat > since and not other.is_late:
                theirs = other.connections
                if fewest is None or theirs < fewest:
                    fewest = theirs
        if fewest is None:
            return 0.0
        if self._is_late():
            return LATE_MOMENT_SECONDS
        if self._left < MOMENTS and self._connections() > fewest + max(FEW, fewest // SLACK):
            self._left += 1
            return MOMENT_SECONDS
        return 0.0

    def over(self) -> None:
        """What waited was taken, by whomever."""
        self._left = 0
