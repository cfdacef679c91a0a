"""The interpreter, set so that nothing keeps the reactor waiting for long.

**Threads.**  A thread that decodes holds the interpreter until another has waited for the switch
interval, and the reactor gives the interpreter up with each system call.  At the usual five milliseconds
a request that needs a few of them waits for tens of milliseconds while objects pour in.

**Garbage.**  Everything here is freed when the last reference to it goes, without any collector: no connection
leaves a cycle behind, nor does an object of the cluster.  The collector is for mistakes, ours and of libraries.  But it walks
through all that lives, be it garbage or not, and 10,000 Ingresses are some 150,000 objects on top of as many of modules: everything
would stand still for a hundred milliseconds and more, in whatever thread it begins.  So objects are *frozen*, which
is to say that the collector leaves them alone, and only the others are walked through:

1. While modules are imported, only what is new is walked through, once, while it is still near the processor: nearly all of it
   stays, but each class of attrs leaves a first draft of itself in a cycle.  To walk through all that is there by then would
   be a tenth of the start, and to walk through nothing leaves the drafts in between what stays.  When the reactor runs, and once
   more before the first connection is accepted, what is there is frozen: modules, and what the cluster had by then.
2. After that, what is not frozen is walked through for each few thousand objects more.  Few survivors stay as they are, so what
   becomes garbage later is found by the next walk.  Many are frozen as soon as they have survived twice: in a storm of changes
   most of them live on, and to walk through them once more would take longer than all that is done for a request.
3. What was frozen while it lived, and became garbage in a cycle, is lost.  That is bounded by growth.  Once twice as much memory
   is in use as when connections were first accepted, or as after the last time, what lives is counted, a few hundred references in each
   turn (``reachable``).  Mostly it is what has grown, as where a cluster gets more hosts, and nothing else is to be done.  Only where there is far more
   memory in use than that many objects take, and still is when they are counted once more half a minute later, all of it thaws, is walked
   through, and what is left is frozen anew: everybody waits for that, but it takes a mistake, and as much garbage as there is memory of any use.

**Memory.**  What objects were read from was freed in between them, so the allocator keeps it for what comes.  In the turn after
the first snapshot, when what made that has let go of its own, it gives back what it can: with 10,000 Ingresses some megabytes.  From then on it is to
keep a little: bodies come in pieces of some hundred kilobytes, and if what these were in went back to the system with each of them, the next one
would pay for it anew, page by page.
"""

import gc
import sys
from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.stepwise import Stepwise
from ingress.process.caps.memory_watch import give_back
from ingress.process.in_slices import in_slices
from ingress.process.reachable import count_reachable

SWITCH_SECONDS: Final = 0.0005
"""How long a thread may keep the interpreter from another one that waits."""

_THRESHOLDS: Final = (1000, 5, 2)
"""The youngest are looked at for each 1,000 objects more, all that is not frozen for some thousands."""

MANY: Final = 5_000
"""Survivors that are frozen; to walk through as many takes a millisecond or two."""

GROWTH: Final = 2
"""How many times as much memory may be in use as when growth was last judged, before it is judged again."""

BLOCKS_EACH: Final = 3.0
"""Blocks of the allocator in use for each object that lives, above which there is garbage.

Without any there are 1.9 where nothing is served, and 1.5 with 30,000 Ingresses.
"""

AGAIN_SECONDS: Final = 30.0
"""Behind a count that finds too few objects there is another one: what a thread is reading just then is found by none."""

MARGIN: Final = 1.5
"""How many times as many blocks for each object there may be as a walk through everything left, if it left more than was expected."""

_NEVER: Final = 1_000_000
"""So many walks of the young come before one of older ones, which is to say that there is none."""

KEPT: Final = 1024 * 1024
"""Bytes of the largest piece that the allocator has in its heap, of whose end it keeps twice as much when it is free."""

_log = Logger()

_YOUNGEST: Final = 0
_MIDDLE: Final = 1
_OLDEST: Final = 2


def walk_through_the_young_only() -> None:
    """Have the collector leave alone what it has seen once, until an interpreter is set up."""
    gc.set_threshold(_THRESHOLDS[_YOUNGEST], _NEVER, _NEVER)


def keep_some() -> None:
    """Have the allocator keep what is free at the end of its heap, up to twice ``KEPT``, and have pieces up to that size in it.

    That of glibc goes by the largest piece that it had outside of its heap and was given back, which is 128 KiB before there was any
    (mallopt(3), M_MMAP_THRESHOLD).  None of it is touched, so none of it is memory of this process.
    """
    piece = bytes(KEPT)
    del piece


def _count_all() -> Stepwise[int]:
    return count_reachable([sys.modules])


class Interpreter:
    """The settings of this process's interpreter; *reactor* is where everything thaws, *trim* gives back what is free.

    *count* says in steps how many objects live.
    """

    def __init__(
        self,
        reactor: Any,
        trim: Callable[[], None] = give_back,
        count: Callable[[], Stepwise[int]] = _count_all,
    ) -> None:
        self._reactor = reactor
        self._trim = trim
        self._count = count
        self._settled = 0
        """How many blocks were in use when growth was last judged from; 0 before anybody is served."""
        self._most_each = BLOCKS_EACH
        self._is_walking = self._is_judging = self._is_on = False
        """Whether a walk through everything goes on; whether growth is being judged; and whether this is set up."""
        self._counting: Deferred[int] | None = None
        self._again: IDelayedCall | None = None
        """The next count, where the last one found too little."""
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
        keep_some()
        # The others were walked through when they were young.
        gc.collect(_YOUNGEST)
        gc.freeze()

    def settle(self) -> None:
        """Freeze what is there, but for garbage, and judge growth from here on: the first connection is to be accepted."""
        if self._is_on:
            self._freeze_anew()
            # What led here keeps some of what is to be given back until its end.
            self._reactor.callFromThread(self._trim)

    def _freeze_anew(self) -> None:
        self._is_walking = True
        gc.collect()
        gc.freeze()
        # How soon the collector is due depends on what its last walk left, and that must not be all of this.
        gc.collect()
        self._settled = _blocks_in_use()
        self._is_walking = False

    def _judge(self) -> None:
        """Begin to find out whether what has grown is what lives."""
        if not self._is_on:
            self._is_judging = False
        elif sys.getallocatedblocks():
            self._counting = in_slices(self._reactor, self._count())
            self._counting.addCallback(self._counted).addErrback(self._uncounted)
        else:
            # Another allocator is for looking for mistakes, and counts nothing.
            self._thaw()

    def _counted(self, living: int) -> None:
        self._counting = None
        again, self._again = self._again, None
        blocks = sys.getallocatedblocks()
        if blocks > self._most_each * living:
            if again is None:
                self._again = self._reactor.callLater(AGAIN_SECONDS, self._judge)
                return
            self._thaw()
            # Whatever is left is of use, though all of it is not found.
            self._most_each = max(self._most_each, MARGIN * self._settled / max(living, 1))
        else:
            self._settled = blocks
            self._is_judging = False

    def _uncounted(self, failure: Failure) -> None:
        self._counting = self._again = None
        self._is_judging = False
        if not failure.check(CancelledError):
            _log.failure("cannot count what lives", failure)

    def _thaw(self) -> None:
        """Walk through everything, frozen or not."""
        gc.unfreeze()
        self._freeze_anew()
        self._is_judging = False
        self._trim()

    def undo(self) -> None:
        """Set everything back."""
        if self._before is None:
            return
        self._is_on = False
        if self._counting is not None:
            self._counting.cancel()
        if self._again is not None and self._again.active():
            self._again.cancel()
        self._again = None
        gc.callbacks.remove(self._collected)
        gc.unfreeze()
        thresholds, interval = self._before
        self._before = None
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)

    def _collected(self, phase: str, about: dict[str, int]) -> None:
        """Called by the collector, in any thread: freeze many survivors of all but the youngest."""
        if phase != "stop" or about.get("generation", 0) < _MIDDLE or self._is_walking:
            return
        if len(gc.get_objects(_OLDEST)) < MANY:
            return
        gc.freeze()
        if self._settled and not self._is_judging and _blocks_in_use() > GROWTH * self._settled:
            # Not here: the collector does not begin again amid a call of its own.
            self._is_judging = True
            self._reactor.callFromThread(self._judge)


def _blocks_in_use() -> int:
    """Blocks of the interpreter's allocator; under another, which counts none (``PYTHONMALLOC=malloc``), what is frozen."""
    return sys.getallocatedblocks() or gc.get_freeze_count()
