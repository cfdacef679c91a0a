"""Counts by key that several workers share: each writes its own, and reads those of the others.

Every worker has a part of the memory, which nobody else writes as long as it lives; so no count is ever lost, and none can be wrong
but for the moment in which another worker is about to count.  What a worker that died had counted is taken back as a whole.

A part has rows of 16 keys, and a number for each.  What has no place in its row is counted by its worker
alone, which says so.
"""

from collections.abc import Callable, Sequence
from mmap import mmap
from struct import Struct
from typing import Final

ROW: Final = 16
"""Keys of a row."""
SLOTS: Final = 1 << 14
"""Keys of one worker."""
_PAGE: Final = 4096
_WORD: Final = 8
_ROW_BYTES: Final = ROW * _WORD
_NOTHING: Final = bytes(_WORD)
_pack = Struct("=q").pack


class SharedCounts:
    """The memory of the counts of so many *workers*, to be made before they are."""

    def __init__(self, workers: int, slots: int = SLOTS) -> None:
        """*slots* is a power of two, and how many keys each has at most."""
        self.workers = workers
        self.mask = slots - 1
        self.part_bytes = _PAGE + 2 * slots * _WORD
        self.memory = mmap(-1, workers * self.part_bytes)
        view = memoryview(self.memory)
        self.keys = view.cast("q")
        self.words = view.cast("Q")

    def forget(self, number: int) -> None:
        """Take back what worker *number* had counted, which is not there any more."""
        begin = number * self.part_bytes
        if self.words[begin // _WORD]:
            self.memory[begin : begin + self.part_bytes] = bytes(self.part_bytes)

    def row(self, number: int, key: int) -> int:
        """Return where, in bytes, the keys of the row of *key* begin in the part of worker *number*."""
        return number * self.part_bytes + _PAGE + (key & self.mask & -ROW) * _WORD

    def place(self, row: int, wanted: bytes) -> int:
        """Return which word of the *row* has the eight bytes *wanted*; -1 where there is none."""
        at = self.memory.find(wanted, row, row + _ROW_BYTES)
        while at >= 0 and at & _WORD - 1:
            at = self.memory.find(wanted, at + 1, row + _ROW_BYTES)
        return at // _WORD if at >= 0 else -1


class WorkerCounts:
    """What worker *number* counts for all to see; *crowded* is called when it counts something that has no place."""

    def __init__(self, counts: SharedCounts, number: int, crowded: Callable[[], object]) -> None:
        counts.forget(number)
        self._counts = counts
        self._number = number
        self._crowded = crowded
        self._places: dict[int, int] = {}
        self._size = counts.mask + 1
        self._used = number * counts.part_bytes // _WORD
        """The word that says how many keys the worker has."""
        self._others: Sequence[tuple[int, int]] = [
            (other, other * counts.part_bytes // _WORD) for other in range(counts.workers) if other != number
        ]

    def of_others(self, key: int) -> int:
        """Return what the other workers have counted for *key*."""
        counts, words = self._counts, self._counts.words
        found = 0
        packed = b""
        for other, used in self._others:
            if words[used]:
                packed = packed or _pack(key)
                at = counts.place(counts.row(other, key), packed)
                if at >= 0:
                    found += words[at + self._size]
        return found

    def tell(self, key: int, count: int) -> None:
        """Have *count* be what this worker has counted for *key*; of 0 nothing is kept."""
        at = self._places.get(key, -1)
        counts = self._counts
        if at < 0:
            if not count:
                return
            at = counts.place(counts.row(self._number, key), _NOTHING)
            if at < 0:
                self._crowded()
                return
            self._places[key] = at
            counts.words[self._used] = len(self._places)
            counts.words[at + self._size] = count
            counts.keys[at] = key
        elif count:
            counts.words[at + self._size] = count
        else:
            counts.keys[at] = 0
            del self._places[key]
            counts.words[self._used] = len(self._places)
