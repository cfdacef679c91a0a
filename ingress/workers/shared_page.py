"""A page of memory that all workers and their parent share: how many connections each has, and when it was last well.

Every worker writes its own row and reads the others'; a row is one cache line of whole machine words, each written at once, so
there is no lock, and nobody waits for a worker that was stopped.  Times are nanoseconds of the monotonic clock, which is one for
all processes of the machine, and stands still while that sleeps.
"""

import mmap
from time import monotonic_ns
from typing import Final

_WORDS: Final = 8
_BEAT, _CONNECTIONS, _LATE, _ACCEPTS, _LATENESS = range(5)
_NANOSECONDS: Final = 1e9
WORD_BYTES: Final = 8


class SharedPage:
    """Rows of workers, by number from 0; to be made before the processes that share it."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._words = memoryview(mmap.mmap(-1, rows * _WORDS * WORD_BYTES)).cast("Q")

    def row(self, number: int) -> "Row":
        """Return the row of worker *number*."""
        return Row(self._words[number * _WORDS : (number + 1) * _WORDS])

    def clear(self, number: int) -> None:
        """Forget the worker that had this row."""
        for word in range(_WORDS):
            self._words[number * _WORDS + word] = 0


class Row:
    """What one worker says of itself."""

    def __init__(self, words: memoryview) -> None:
        self._words = words

    @property
    def beat(self) -> int:
        """When its reactor last had a turn, in nanoseconds; 0 before the first one."""
        return int(self._words[_BEAT])

    @property
    def connections(self) -> int:
        """How many connections of clients it has."""
        return int(self._words[_CONNECTIONS])

    @property
    def is_late(self) -> bool:
        """Whether its reactor was late when it last looked."""
        return bool(self._words[_LATE])

    @property
    def lateness_seconds(self) -> float:
        """How late its reactor was of late, at worst."""
        return int(self._words[_LATENESS]) / _NANOSECONDS

    @property
    def silent_seconds(self) -> float:
        """For how long it has had no turn; 0 before the first one."""
        beat = self.beat
        return max(0, monotonic_ns() - beat) / _NANOSECONDS if beat else 0.0

    @property
    def accepts(self) -> bool:
        """Whether it accepts connections."""
        return bool(self._words[_ACCEPTS])

    def count(self, connections: int) -> None:
        """Say how many connections there are."""
        self._words[_CONNECTIONS] = connections

    def accept(self, accepts: bool) -> None:
        """Say whether connections are accepted here."""
        self._words[_ACCEPTS] = accepts

    def late_by(self, seconds: float) -> None:
        """Say how late the reactor was of late, at worst."""
        self._words[_LATENESS] = int(max(0.0, seconds) * _NANOSECONDS)

    def pulse(self, is_late: bool) -> None:
        """Say that the reactor has a turn now, and whether it was late for it."""
        self._words[_LATE] = is_late
        self._words[_BEAT] = monotonic_ns()
