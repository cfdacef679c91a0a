"""A table in memory that several processes share: a few words for each of a million keys, without locks.

The memory is made before the processes are forked, and is theirs as long as one of them lives.  A *slot* is four words of 64 bits: a
key, two words of whoever uses the table, and until when the slot says anything (``ingress.annotations.rate_limits.shared_buckets`` keeps
counts of clients in them).  Each word is written by one store, so nobody ever sees half of one; beyond that processes do not
wait for each other, and what two of them do to one slot in the same microsecond may be lost for one of them.  Whoever dies between
two stores leaves a slot that is free, or one whose words are a request apart.

A key is a number that no client can choose.  It says where its slot is: in one of a few *rows* of 16, in parts of the table of
which the smaller ones are used first, so that ten thousand clients take a megabyte and not all of the memory.  Each key has
one slot that is looked at before all others; whoever had to evade comes there when it is free.  Where all rows of
a key are full of what still says something, the slot goes that would say nothing the soonest, and those that are marked as ``KEPT``
last.
"""

from collections.abc import Callable
from mmap import mmap
from struct import Struct
from typing import Final

from attrs import frozen

ROW: Final = 16
"""Slots of a row."""
PART_BITS: Final = (15, 18, 20)
"""Slots of each part, as powers of two."""
KEPT: Final = 1 << 63
"""Set in the last word of slots that go last."""
_TIME: Final = KEPT - 1
_PAGE_WORDS: Final = 512
_WORD_BYTES: Final = 8
_ROW_BYTES: Final = ROW * _WORD_BYTES
_pack = Struct("=q").pack


@frozen
class _Place:
    """Where, of one part, the row of a key is."""

    start: int
    """The word of its first key."""
    mask: int
    """Which bits of a key say the slot, ..."""
    shift: int = 0
    """... how far from the right."""


class SharedTable:
    """Slots for keys; all words are counted from the beginning of the memory.

    The first page has a word for each part, which says whether it is in use.
    """

    def __init__(self, part_bits: tuple[int, ...] = PART_BITS) -> None:
        """*part_bits* say how large the parts are, each at least a page of keys; the keys of the last have two rows there."""
        sizes = [1 << bits for bits in part_bits]
        self.slots = sum(sizes)
        """How many slots there are, and so how many words it is from a key to the next word of its slot."""
        self.spare = _PAGE_WORDS - 1
        """A word for whoever uses the table; 0 at first."""
        self._memory = mmap(-1, (_PAGE_WORDS + 4 * self.slots) * _WORD_BYTES)
        view = memoryview(self._memory)
        self.keys = view.cast("q")
        """The memory as keys: signed, as ``hash`` has them."""
        self.words = view.cast("Q")
        """The memory as words."""
        starts = [_PAGE_WORDS + sum(sizes[:number]) for number in range(len(sizes))]
        places = [_Place(start, size - 1) for start, size in zip(starts, sizes, strict=True)]
        again = _Place(starts[-1], sizes[-1] - 1, max(part_bits))
        self._parts = (*((place,) for place in places[:-1]), (places[-1], again))
        self._use(1)

    def _use(self, parts: int) -> None:
        """Have so many parts be in use, the largest of which is looked into first."""
        self._used = parts
        self._places = tuple(place for part in reversed(self._parts[:parts]) for place in part)
        first = self._places[0]
        self.first_key, self.first_mask = first.start, first.mask
        """Where a key is looked for at first: at ``first_key + (key & first_mask)``."""

    @property
    def size(self) -> int:
        """How many bytes of memory there are, most of them not in use."""
        return len(self._memory)

    def find(self, key: int, now: int) -> int:
        """Return the word that has *key*; -1 where there is none.

        If its slot is not the one that is looked at first, and that one says nothing after *now*, it is moved there.
        """
        while self._used < len(self._parts) and self.words[self._used]:
            # Another process uses one more by now.
            self._use(self._used + 1)
        packed, find = _pack(key), self._memory.find
        for place in self._places:
            begin = (place.start + (key >> place.shift & place.mask) & -ROW) * _WORD_BYTES
            at = find(packed, begin, begin + _ROW_BYTES)
            while at >= 0 and at & _WORD_BYTES - 1:
                # The end of one key and the beginning of the next.
                at = find(packed, at + 1, begin + _ROW_BYTES)
            if at >= 0:
                return self._moved(at // _WORD_BYTES, key, now)
        return -1

    def _moved(self, slot: int, key: int, now: int) -> int:
        words, slots = self.words, self.slots
        usual = self.first_key + (key & self.first_mask)
        if usual == slot or words[usual + 3 * slots] & _TIME > now:
            return slot
        self.keys[usual] = 0
        for after in (slots, 2 * slots, 3 * slots):
            words[usual + after] = words[slot + after]
        self.keys[usual] = key
        self.keys[slot] = words[slot + 3 * slots] = 0
        return usual

    def claim(self, key: int, now: int, crowded: Callable[[], object]) -> int:
        """Return the word for *key*, which has none yet, of a slot that says nothing after *now*.

        The slot has no key until the caller has written its other words, and then this one.  *crowded* is called where it
        had to be taken from who still needed it.
        """
        usual = self.first_key + (key & self.first_mask)
        if self.words[usual + 3 * self.slots] <= now:
            return self._free(usual)
        tried: tuple[_Place, ...] = ()
        soonest, found = KEPT << 1, 0
        while True:
            for place in self._places:
                if place in tried:
                    continue
                slot = place.start + (key >> place.shift & place.mask)
                row = slot & -ROW
                last = row + 3 * self.slots
                ends = self.words[last : last + ROW].tolist()
                at = _over(ends, slot - row, now)
                if at >= 0:
                    return self._free(row + at)
                least = min(ends)
                if least < soonest:
                    soonest, found = least, row + ends.index(least)
            if self._used == len(self._parts):
                crowded()
                return self._free(found)
            tried = self._places
            self.words[self._used] = 1
            self._use(self._used + 1)

    def _free(self, slot: int) -> int:
        self.keys[slot] = 0
        return slot


def _over(ends: list[int], wanted: int, now: int) -> int:
    """Return which slot of a row with such *ends* says nothing any more, the *wanted* one if that is so; -1 if none is."""
    if ends[wanted] & _TIME <= now:
        return wanted
    least = min(ends)
    if least <= now:
        return ends.index(least)
    return next((at for at, end in enumerate(ends) if end & _TIME <= now), -1)
