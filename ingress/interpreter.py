"""The interpreter, set so that nothing keeps the reactor waiting for long.

**Threads.**  A thread that decodes holds the interpreter until another has waited for the switch
interval, and the reactor gives the interpreter up with each system call.  At the usual five milliseconds
a request that needs a few of them waits for tens of milliseconds while objects pour in.

**Garbage.**  The objects of a large cluster are some hundred thousand in memory.  They are freed when the last
reference to them goes, without any collector; yet each full collection walks through all of
them, and everything stands still for a few hundred milliseconds.

So what is there at the start, all modules above all, and whatever survived two collections is frozen: later ones leave it alone, look at what was made since,
and take a few milliseconds.  What is lost are cycles that become garbage after they were frozen.  They are looked for every
few hours: then everything thaws, and is walked through once.
"""

import gc
import sys
from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IReactorTime

SWITCH_SECONDS = 0.0005
"""How long a thread may keep the interpreter from another one that waits."""

# Everything that is not frozen is looked at for each 5,000 objects more.
_THRESHOLDS = (1000, 5, 2)

THAW_SECONDS = 6 * 3600.0
"""Seconds between collections of everything."""

_MIDDLE = 1


def _freeze_survivors(phase: str, about: dict[str, int]) -> None:
    """Freeze what a collection of more than the youngest left: a callback of the collector."""
    if phase == "stop" and about.get("generation", 0) >= _MIDDLE:
        gc.freeze()


def set_up_interpreter(clock: IReactorTime) -> Callable[[], None]:
    """Set the interpreter of this process up; return what sets it back."""
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()

    call: Any = None

    def thaw() -> None:
        nonlocal call
        gc.unfreeze()
        gc.collect()
        call = clock.callLater(THAW_SECONDS, thaw)

    def undo() -> None:
        if call.active():
            call.cancel()
        gc.callbacks.remove(_freeze_survivors)
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)

    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*_THRESHOLDS)
    gc.callbacks.append(_freeze_survivors)
    gc.freeze()
    call = clock.callLater(THAW_SECONDS, thaw)
    return undo
