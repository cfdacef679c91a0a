"""Looks at memory, the more often the less is left, and tells whoever can do with less of it."""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.process.caps.cgroups import Cap, memory_cap, own_groups
from ingress.process.caps.memory_marks import Level, MemoryMarks

REPEAT_SECONDS: Final = 1.0
"""How often those are told again who can do with less."""
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
    """Tells *told* of each level that is another, and once a second of one that is not roomy."""

    log: ClassVar[Logger] = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        cap: Callable[[], Cap | None],
        told: Callable[[Level], None],
        trim: Callable[[], None] = give_back,
    ) -> None:
        """*cap* says how much memory there may be and is used, *trim* gives back what is free."""
        self.marks = MemoryMarks()
        self._clock = clock
        self._cap = cap
        self._told = told
        self._told_at = 0.0
        self._trim = trim
        self._call: IDelayedCall | None = None

    def start(self) -> None:
        """Begin to look; saying it again changes nothing."""
        if self._call is None:
            self._look()

    def stop(self) -> None:
        """Look no more."""
        if self._call is not None and self._call.active():
            self._call.cancel()
        self._call = None

    def _look(self) -> None:
        try:
            cap = self._take()
        except Exception:
            self.log.failure("Looking at memory failed, which is a bug; nobody looks any more")
            self._told(Level.ROOMY)
        else:
            self._call = self._clock.callLater(self.marks.seconds_to_next(cap), self._look)

    def _take(self) -> Cap | None:
        before, now = self.marks.level, self._clock.seconds()
        cap = self._cap()
        level = self.marks.take(cap, now)
        if level is not before:
            self._say(level, before, cap)
        if level is not before or (level and now - self._told_at >= REPEAT_SECONDS):
            self._told_at = now
            self._told(level)
            if level:
                self._trim()
        return cap

    def _say(self, level: Level, before: Level, cap: Cap | None) -> None:
        figures = {}
        if cap is not None:
            figures = {"used": cap.used // _MEBIBYTE, "limit": cap.limit // _MEBIBYTE}
        if level is Level.ROOMY:
            self.log.info(
                "There is memory again: {used} MiB of {limit} MiB are used",
                change=_mark("memory suffices"),
                **_known(figures),
            )
        elif level is Level.SHORT:
            self.log.warn(
                "Memory is short: {used} MiB of {limit} MiB are used; new requests are refused with 503",
                change=_mark("memory is short"),
                **_known(figures),
            )
        elif before is Level.ROOMY:
            self.log.warn(
                "Memory is nearly used up: {used} MiB of {limit} MiB are used; connections at rest are ended, "
                "and no others accepted",
                change=_mark("memory is nearly used up"),
                **_known(figures),
            )
        else:
            self.log.info(
                "New requests are served again: {used} MiB of {limit} MiB of memory are used",
                change=_mark("memory is nearly used up"),
                **_known(figures),
            )


def _mark(verb: str) -> Mark:
    is_over = verb == "memory suffices"
    return Mark(ChangeSort.OVERLOAD, verb, is_trouble=not is_over, state="memory", is_over=is_over)


def _known(figures: dict[str, int]) -> dict[str, int | str]:
    """Return *figures*, where the limit has gone with words in their place."""
    return {"used": "?", "limit": "?", **figures}
