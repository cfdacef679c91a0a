"""A table that processes share: keys are found again, it is bounded, and it takes no more memory than it has to."""

import os
from pathlib import Path
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.process.shared.shared_table import KEPT, ROW, SharedTable

NOW = 1000


class TableCase(SynchronousTestCase):
    """A test with a small table, and somebody who is told when it is crowded."""

    def setUp(self) -> None:
        self.table = SharedTable((9, 10))
        self.crowded = 0

    def begin(self, key: int, until: int = NOW + 100, table: SharedTable | None = None) -> int:
        """Claim a slot for *key*, which says something *until* then, as users of the table do."""
        table = table or self.table
        at = table.claim(key, NOW, self._count)
        table.words[at + 3 * table.slots] = until
        table.keys[at] = key
        return at

    def _count(self) -> None:
        self.crowded += 1


class FindingTests(TableCase):
    """Keys are found where they were put."""

    def test_found(self) -> None:
        """Whatever keys there are, of either sign, each has a slot of its own until there are too many."""
        random = Random(1)
        keys = [random.randrange(-(1 << 63), 1 << 63) for _ in range(1000)]
        for key in keys:
            self.begin(key)
        found = [self.table.find(key, NOW) for key in keys]
        self.assertEqual(len(set(found)), 1000)
        self.assertEqual([self.table.keys[at] for at in found], keys)
        self.assertEqual(self.table.find(12345, NOW), -1)
        self.assertEqual(self.crowded, 0)

    def test_words_of_neighbors(self) -> None:
        """A key is not found in the end of one and the beginning of the next."""
        key = 0x4444_4444_1111_1000
        row = self.table.first_key
        self.table.keys[row] = (key & 0xFFFF_FFFF) << 32 | 0x2222_2222
        self.table.keys[row + 1] = 0x3333_3333 << 32 | key >> 32
        self.assertEqual(key & self.table.first_mask & -ROW, 0)
        self.assertEqual(self.table.find(key, NOW), -1)

    def test_moved(self) -> None:
        """One that had to evade comes to where it is looked for first, once that is free."""
        first, second = (self.begin(key) for key in ((1 << 9) + 1, (2 << 9) + 1))
        self.assertNotEqual(first, second)
        words, slots = self.table.words, self.table.slots
        words[second + slots] = 7
        words[first + 3 * slots] = NOW
        moved = self.table.find((2 << 9) + 1, NOW)
        self.assertEqual((moved, words[moved + slots], words[moved + 3 * slots]), (first, 7, NOW + 100))
        self.assertEqual(self.table.find((1 << 9) + 1, NOW), -1)


class FullTests(TableCase):
    """Too many keys."""

    def fill(self, until: int) -> None:
        """Fill all rows in which one key may be, and one key more."""
        number = 1
        while not self.crowded:
            self.begin((number << 20) + 1, until)
            number += 1

    def test_who_goes(self) -> None:
        """The one goes that would say nothing the soonest, and one that is marked only when all others are gone."""
        self.fill(NOW + 500 | KEPT)
        soon = (1 << 40) + 1
        self.begin(soon, NOW + 900)
        self.begin((2 << 40) + 1, NOW + 400 | KEPT)
        self.assertEqual(self.table.find(soon, NOW), -1)
        self.begin((3 << 40) + 1, NOW + 600 | KEPT)
        self.assertEqual(self.table.find((2 << 40) + 1, NOW), -1)
        self.assertGreater(self.table.find((3 << 40) + 1, NOW), 0)
        self.assertEqual(self.crowded, 4)

    def test_those_who_are_over_go_first(self) -> None:
        """Nobody is sent away while anybody's slot says nothing any more, marked or not."""
        self.fill(NOW + 500 | KEPT)
        told = self.crowded
        row = self.table.first_key
        over = next(at for at in range(row, row + ROW) if self.table.keys[at])
        self.table.words[over + 3 * self.table.slots] = NOW - 1 | KEPT
        self.assertEqual(self.begin((3 << 40) + 1), over)
        self.assertEqual(self.crowded, told)


class MemoryTests(TableCase):
    """How much memory a table takes."""

    def test_used_as_needed(self) -> None:
        """Little is in use while keys are few; all that may be comes to 32 bytes for each of more than a million slots."""
        table = SharedTable()
        self.assertLess(table.size, 33 * table.slots)
        self.assertGreater(table.slots, 1_000_000)
        before = _shared_bytes()
        for number in range(3000):
            at = self.begin(hash(b"%d" % number), table=table)
            table.words[at + table.slots] = table.words[at + 2 * table.slots] = number
            table.find(hash(b"other %d" % number), NOW)
        self.assertLess(_shared_bytes() - before, 1.1 * 1024**2)

    def test_inherited(self) -> None:
        """What a child writes is there for its parent, also where the child was the first to need a larger part."""
        keys = [(number << 9) + 1 for number in range(1, 40)]
        child = os.fork()
        if not child:
            try:
                for key in keys:
                    self.begin(key, NOW + 5)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        found = [self.table.find(key, NOW) for key in keys]
        self.assertEqual([self.table.keys[at] for at in found], keys)
        self.assertEqual(self.table.words[found[0] + 3 * self.table.slots], NOW + 5)


def _shared_bytes() -> int:
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.split("RssShmem:")[1].split()[0]) * 1024
