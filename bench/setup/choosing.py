"""What is measured, of all that could be, and where: names of the command line, CPUs, open files."""

import os
import resource
from collections.abc import Sequence
from typing import Any

from bench.setup.errors import BenchError

OPEN_FILES = 16384


def chosen(names: str | None, known: Sequence[Any], is_quick: bool) -> tuple[Any, ...]:
    """Those of *known* that *names* lists; without names all, or the quick ones.  Raises BenchError."""
    if names is None:
        return tuple(one for one in known if one.is_quick or not is_quick)
    by_name = {one.name: one for one in known}
    for name in names.split(","):
        if name not in by_name:
            raise BenchError(f"there is no {name!r}; there are {', '.join(by_name)}")
    return tuple(one for one in known if one.name in names.split(","))


def two_cpus() -> tuple[int, int]:
    """The CPUs for load and proxy.  Raises BenchError when there are not two."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise BenchError("two CPUs are needed, one for the proxy and one for everything else")
    return allowed[0], allowed[1]


def allow_open_files() -> None:
    """Let this process and its children open enough connections.  Raises BenchError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < OPEN_FILES:
        raise BenchError(f"{OPEN_FILES} open files are needed, but the limit is {hard}; raise it: ulimit -Hn")
    if soft < OPEN_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, hard))
