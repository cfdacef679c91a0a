"""Python's garbage collector, told to look at small portions only.

The objects of a large cluster are some hundred thousand in memory.  They are freed when the last
reference to them goes, without any collector; yet each full collection walks through all of
them, and everything stands still for a few hundred milliseconds.

So whatever survived a full collection is frozen: later ones leave it alone.  A full collection
comes when some ten thousand objects were added, takes a few milliseconds, and freezes again.
What is lost are cycles that become garbage after they were frozen.  They are looked for every
few hours: then everything thaws, and is walked through once.
"""

import gc
from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IReactorTime

# The middle generation is collected for each 20,000 objects more, and everything that is not
# frozen for each 60,000.
_THRESHOLDS = (2000, 10, 2)

THAW_SECONDS = 6 * 3600.0
"""Seconds between collections of everything."""

_OLDEST = 2


def _freeze_survivors(phase: str, about: dict[str, int]) -> None:
    """Freeze what a full collection left: a callback of the collector."""
    if phase == "stop" and about.get("generation") == _OLDEST:
        gc.freeze()


def collect_in_portions(clock: IReactorTime) -> Callable[[], None]:
    """Set the collector of this process up; return what sets it back."""
    before = gc.get_threshold()

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
        gc.set_threshold(*before)

    gc.set_threshold(*_THRESHOLDS)
    gc.callbacks.append(_freeze_survivors)
    call = clock.callLater(THAW_SECONDS, thaw)
    return undo
