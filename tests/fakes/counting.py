"""Counts calls, which, unlike times, are the same in each run."""

import gc
import sys
from collections.abc import Callable, Iterator


def calls(work: Callable[[], object]) -> int:
    """Return how many functions, of Python and of C, *work* calls.

    The collector waits meanwhile: it calls what has to do with nothing of this, whenever it is due.
    """
    events = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal events
        events += 1

    before, was_enabled = sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
        if was_enabled:
            gc.enable()
    # Each call has an end, too, but that of this function's last one, which comes once nothing is counted any more.
    return (events + 1) // 2


def longest_step(steps: Iterator[None]) -> int:
    """Take all *steps*; return how many calls the longest of them takes."""
    found = 0
    is_over = False

    def take() -> None:
        nonlocal is_over
        is_over = next(steps, steps) is steps

    while not is_over:
        found = max(found, calls(take))
    return found
