"""Tests for who looks at memory, and what is told of it."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ingress.process.caps.cgroups import Cap, memory_cap, own_groups
from ingress.process.caps.memory_marks import Level
from ingress.process.caps.memory_watch import MemoryWatch, give_back
from tests.fakes.system_files import system

MIB = 1 << 20
BLOCK = 64 * 1024


def resident() -> int:
    """How many bytes of memory this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class MemoryWatchTests(SynchronousTestCase):
    """A process in a group of 100 MiB."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.used = 20
        self.told: list[Level] = []
        self.trims = 0
        self.watch = MemoryWatch(
            self.clock, lambda: Cap(100 * MIB, self.used * MIB), self.told.append, self.trim
        )
        self.watch.start()
        self.addCleanup(self.watch.stop)

    def trim(self) -> None:
        """Give memory back."""
        self.trims += 1

    def use(self, used: int) -> list[str]:
        """Have so many MiB used at the next look; return what the log says about it."""
        self.used = used
        with capturedLogs() as events:
            self.clock.pump([0.05] * 21)
        return [formatEvent(event) for event in events]

    def test_room(self) -> None:
        """While there is room nobody is told anything."""
        self.assertEqual(self.use(80), [])
        self.assertEqual((self.told, self.trims), ([], 0))

    def test_story(self) -> None:
        """Each change is told in one line with figures; who can do with less is told each second, and free memory given back."""
        self.assertEqual(
            [self.use(used) for used in (91, 92, 96, 97, 92, 60, 60)],
            [
                [
                    "Memory is nearly used up: 91 MiB of 100 MiB are used; connections at rest are ended, and no others accepted"
                ],
                [],
                ["Memory is short: 96 MiB of 100 MiB are used; new requests are refused with 503"],
                [],
                ["New requests are served again: 92 MiB of 100 MiB of memory are used"],
                ["There is memory again: 60 MiB of 100 MiB are used"],
                [],
            ],
        )
        near, short = [Level.NEAR] * 2, [Level.SHORT] * 2
        self.assertEqual(self.told, [*near, *short, Level.NEAR, Level.ROOMY])
        self.assertEqual(self.trims, 5)

    def test_bug(self) -> None:
        """Should looking fail, that is told once, and nobody is refused any more."""
        self.use(96)
        self.watch._cap = lambda: 1 // 0  # type: ignore[assignment, return-value]
        self.clock.advance(1.0)
        self.clock.advance(10.0)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual(self.told[-1], Level.ROOMY)

    def test_files(self) -> None:
        """What a group says in its files is what counts."""
        root = Path(self.mktemp())
        groups = own_groups(system(root, {"memory.max": f"{100 * MIB}\n", "memory.current": f"{96 * MIB}\n"}))
        self.watch._cap = lambda: memory_cap(groups)
        self.clock.advance(1.0)
        self.assertEqual(self.told, [Level.SHORT])

    def test_give_back(self) -> None:
        """What is free goes back to the system, though something behind it is not."""
        libc = ctypes.CDLL(None)
        if not hasattr(libc, "malloc_trim"):
            raise SkipTest("the allocator of this system is not glibc's")
        libc.malloc.restype = ctypes.c_void_p
        blocks = [ctypes.c_void_p(libc.malloc(BLOCK)) for _ in range(512)]
        for block in blocks:
            ctypes.memset(block, 1, BLOCK)
        behind = blocks.pop()
        self.addCleanup(libc.free, behind)
        for block in blocks:
            libc.free(block)
        before = resident()
        give_back()
        self.assertGreater(before - resident(), 16 * MIB)
