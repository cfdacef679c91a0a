"""Processes of their own for whatever runs a controller in itself, which a process can do once.

They are forked from one that has imported what can be imported without a reactor: this is most of what a start
costs, and is paid once.  Times are taken elsewhere, in processes that begin from nothing, as a controller does.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

_FORKED: Final = get_context("forkserver")
_FRESH: Final = get_context("spawn")


def forked_processes(count: int = 1) -> ProcessPoolExecutor:
    """Return what runs each call in a process of its own, so many at a time, whose imports are done: to count in."""
    # Nothing else is preloaded, and not the main module: it may install a reactor.
    _FORKED.set_forkserver_preload(["bench.preloaded"])
    return ProcessPoolExecutor(count, mp_context=_FORKED, max_tasks_per_child=1)


def fresh_process() -> ProcessPoolExecutor:
    """Return what runs each call in a process of its own, one at a time, that begins from nothing: to take times in."""
    return ProcessPoolExecutor(1, mp_context=_FRESH, max_tasks_per_child=1)
