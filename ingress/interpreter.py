"""The interpreter, set so that nothing keeps the reactor waiting for long.

**Threads.**  A thread that decodes holds the interpreter until another has waited for the switch
interval, and the reactor gives the interpreter up with each system call.  At the usual five milliseconds
a request that needs a few of them waits for tens of milliseconds while objects pour in.

**Garbage.**  Everything here is freed when the last reference to it goes, without any collector: no connection
leaves a cycle behind, nor does an object of the cluster.  The collector is for mistakes, ours and of libraries.  But it walks
through all that lives, be it garbage or not, and 10,000 Ingresses are some 150,000 objects on top of as many of modules: everything
would stand still for a hundred milliseconds and more, in whatever thread it begins.  So objects are *frozen*, which
is to say that the collector leaves them alone, and only the others are walked through:

1. When the process starts, and once more before the first connection is accepted, all that is there is walked through once
   and frozen: modules, and what the cluster had by then.
2. After that, what is not frozen is walked through for each few thousand objects more, also where they replace others.  Few survivors stay as they are, so what
   becomes garbage later is found by the next walk.  Many are frozen, or each walk would take longer than the one before.
3. What was frozen while it lived, and became garbage in a cycle, is lost.  That is bounded by growth: once there are twice as many
   blocks of memory in use as after the last time, all thaws, is walked through, and what is left is frozen anew.

Blocks, because to count what is frozen the collector goes through all of it: 30 ms for half a million objects, while the
allocator knows in one what is in use.  It counts what is needed together with what is lost, so that
what comes and goes, as connections do, can bring that walk, but once: the next one comes at twice of that.
"""

import gc
import sys
from typing import Any, Final

SWITCH_SECONDS: Final = 0.0005
"""How long a thread may keep the interpreter from another one that waits."""

_THRESHOLDS: Final = (1000, 5, 1)
"""The youngest are looked at for each 1,000 objects more, all that is not frozen for each 12,000 or fewer."""

MANY: Final = 10_000
"""Survivors that are frozen; to walk through as many takes one to five milliseconds."""

GROWTH: Final = 2
"""How many times as much memory may be in use as after the last walk through everything, before there is another."""

_OLDEST: Final = 2


class Interpreter:
    """The settings of this process's interpreter; *reactor* is where everything thaws."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._settled = 0
        """How many blocks were in use after the last walk through everything."""
        self._is_looking = self._is_due = self._is_on = False
        """Whether a walk through what is not frozen is to come; one through everything; and whether this is set up."""
        self._before: tuple[tuple[int, int, int], float] | None = None

    def __repr__(self) -> str:
        return f"<Interpreter {'set up' if self._is_on else 'as it was'}, {self._settled} blocks settled>"

    def set_up(self) -> None:
        """Set everything, and freeze what is there."""
        self._before = (gc.get_threshold(), sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.set_threshold(*_THRESHOLDS)
        gc.callbacks.append(self._collected)
        self._is_on = True
        self.settle()

    def settle(self) -> None:
        """Walk through everything, frozen or not, and freeze what is left; to be called where that keeps nobody waiting."""
        if not self._is_on:
            return
        self._is_due = True
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        # How soon the collector is due depends on what its last walk left, and that must not be all of this.
        gc.collect()
        self._settled = _blocks_in_use()
        self._is_due = False

    def undo(self) -> None:
        """Set everything back."""
        if self._before is None:
            return
        self._is_on = False
        gc.callbacks.remove(self._collected)
        gc.unfreeze()
        thresholds, interval = self._before
        self._before = None
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)

    def _look(self) -> None:
        """Walk through what is not frozen, for the collector would not yet.

        It counts objects that were made less those that were freed, and in a storm of changes new ones replace old ones.
        """
        self._is_looking = False
        if self._is_on:
            gc.collect()

    def _collected(self, phase: str, about: dict[str, int]) -> None:
        """Called by the collector, in any thread: freeze many survivors of a walk through all that is not frozen."""
        generation = about.get("generation", 0)
        if phase != "stop" or not generation or self._is_due:
            return
        old = len(gc.get_objects(_OLDEST))
        if generation < _OLDEST:
            if old >= 2 * MANY and not self._is_looking:
                self._is_looking = True
                self._reactor.callFromThread(self._look)
            return
        if old < MANY:
            return
        gc.freeze()
        if _blocks_in_use() > GROWTH * self._settled:
            # Not here: the collector does not begin again amid a call of its own.
            self._is_due = True
            self._reactor.callFromThread(self.settle)


def _blocks_in_use() -> int:
    """Blocks of the interpreter's allocator; under another, which counts none (``PYTHONMALLOC=malloc``), what is frozen."""
    return sys.getallocatedblocks() or gc.get_freeze_count()
