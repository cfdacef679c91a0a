"""Looks at memory once a second, and tells whoever can do with less of it."""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.process.cgroups import Cap, memory_cap, own_groups
from ingress.process.memory_marks import Level, MemoryMarks

INTERVAL_SECONDS: Final = 1.0
_MEBIBYTE: Final = 1 << 20


def own_memory() -> Callable[[], Cap | None]:
    """Return what says how much memory the control group of this process has left."""
    return partial(memory_cap, own_groups())


def give_back() -> None:
    """Have the allocator give back to the system what is free; does nothing where it cannot."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class MemoryWatch:
    """Tells *told* of each level that is not roomy, with each look, and of the end of that once."""

    log: ClassVar[Logger] = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        cap: Callable[[], Cap | None],
        told: Callable[[Level], None],
        trim: Callable[[], None] = give_back,
    ) -> None:
        self.marks = MemoryMarks()
        self._clock = clock
        self._cap = cap
        self._told = told
        self._trim = trim
        self._loop = LoopingCall(self.look)
        self._loop.clock = clock

    def start(self) -> None:
        """Begin to look; saying it again changes nothing."""
        if not self._loop.running:
            self._loop.start(INTERVAL_SECONDS).addErrback(self._failed)

    def stop(self) -> None:
        """Look no more."""
        if self._loop.running:
            self._loop.stop()

    def look(self) -> None:
        """Look now."""
        before = self.marks.level
        cap = self._cap()
        level = self.marks.take(cap, self._clock.seconds())
        if level is not before:
            self._say(level, before, cap)
        if level or before:
            self._told(level)
        if level:
            self._trim()

    def _say(self, level: Level, before: Level, cap: Cap | None) -> None:
        figures = {}
        if cap is not None:
            figures = {"used": cap.used // _MEBIBYTE, "limit": cap.limit // _MEBIBYTE}
        if level is Level.ROOMY:
            self.log.info("There is memory again: {used} MiB of {limit} MiB are used", **_known(figures))
        elif level is Level.SHORT:
            self.log.warn(
                "Memory is short: {used} MiB of {limit} MiB are used; new requests are refused with 503",
                **_known(figures),
            )
        elif before is Level.ROOMY:
            self.log.warn(
                "Memory is nearly used up: {used} MiB of {limit} MiB are used; connections at rest are ended, "
                "and no others accepted",
                **_known(figures),
            )
        else:
            self.log.info(
                "New requests are served again: {used} MiB of {limit} MiB of memory are used",
                **_known(figures),
            )

    def _failed(self, failure: Failure) -> None:
        self.log.failure("Looking at memory failed, which is a bug; nobody looks any more", failure)
        self._told(Level.ROOMY)


def _known(figures: dict[str, int]) -> dict[str, int | str]:
    """Return *figures*, where the limit has gone with words in their place."""
    return {"used": "?", "limit": "?", **figures}
