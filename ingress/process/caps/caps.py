"""What this process may have at most, and what follows from that.

The limits come of control groups (``ingress.process.caps.cgroups``), of the machine, and of the process itself.  They decide what nobody
says on the command line: how many connections there may be, and how many workers ``--workers auto`` stands for.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from attrs import evolve, frozen
from twisted.logger import Logger

from ingress.process.caps.cgroups import (
    SYSTEM,
    cpu_quota,
    machine_memory,
    memory_limit,
    own_groups,
    task_cap,
)
from ingress.process.caps.descriptors import ENOUGH, connections_within, raise_descriptors
from ingress.wording import number_of

log = Logger()

CONNECTION_SHARE: Final = 2
"""One part in so many of all memory is for connections; the rest is for the process and for what is served."""
CONNECTION_BYTES: Final = 32 << 10
"""What a connection of a client is counted with: one of HTTP/2 over TLS at rest takes 25 KiB and some 4 of the kernel's."""
PARENT_BYTES: Final = 96 << 20
"""What the parent of workers and the fork server take by themselves, and ..."""
WORKER_BYTES: Final = 40 << 20
"""... what each of them does besides; both without connections, and with few routes (``docs/sizing.md``)."""
PARENT_TASKS: Final = 40
"""Threads of a parent: one for each kind that is watched, some that ask and write; and ..."""
WORKER_TASKS: Final = 16
"""... those of a worker, most of them Twisted's, which look up names."""
MEBIBYTE: Final = 1 << 20


@frozen
class Caps:
    """What there may be at most: None where nothing bounds it, or nobody says so."""

    processors: float = 1
    """Processors whose time may be used, such as 1.5."""
    memory: int | None = None
    """Bytes."""
    tasks: int | None = None
    """Processes and threads that may be begun besides those that there are."""
    descriptors: int = ENOUGH
    """Files that each process may have open."""

    def divided_by(self, workers: int) -> "Caps":
        """Return what each of *workers* has of this."""
        memory = None if self.memory is None else self.memory // workers
        return evolve(self, processors=self.processors / workers, memory=memory)


def _usable_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def caps_of_system(root: Path = SYSTEM, usable: Callable[[], int] = _usable_processors) -> Caps:
    """Return the caps of this process, by the files below *root*; *usable* counts processors that it may run on.

    The limit of open files is raised as far as is useful and allowed.
    """
    groups = own_groups(root)
    quota, usable_processors = cpu_quota(groups), usable()
    tasks = task_cap(groups)
    limits = (memory_limit(groups), machine_memory(root))
    return Caps(
        usable_processors if quota is None else min(quota, usable_processors),
        min((each for each in limits if each is not None), default=None),
        None if tasks is None else tasks.left,
        raise_descriptors(),
    )


def connections_in_memory(caps: Caps, most: int) -> int:
    """Return how many connections of clients the memory suffices for, and at most *most*."""
    if caps.memory is None:
        return most
    return max(1, min(most, caps.memory // CONNECTION_SHARE // CONNECTION_BYTES))


def connections_fitting(caps: Caps, most: int) -> int:
    """Return how many connections of clients there is room for in one process, and at most *most*."""
    return min(connections_within(caps.descriptors, most), connections_in_memory(caps, most))


def connections_allowed(asked: int | None, usual: int, caps: Caps) -> int:
    """Return how many connections of clients there may be: as *asked*, or else the *usual* number if that fits."""
    if asked is None:
        return connections_fitting(caps, usual)
    fitting = connections_within(caps.descriptors, asked)
    if fitting < asked:
        log.warn(
            "--max-connections={asked} needs more open files than the {descriptors} that are allowed (ulimit -n); "
            "they suffice for {fitting} served at once",
            asked=asked,
            descriptors=caps.descriptors,
            fitting=number_of(fitting, "connection that is", "connections that are"),
        )
    fitting = connections_in_memory(caps, asked)
    if fitting < asked:
        log.warn(
            "--max-connections={asked} may need more memory than the {mebibytes} MiB that there are; "
            "half of them suffices for {fitting} of HTTP/2 over TLS",
            asked=asked,
            mebibytes=(caps.memory or 0) // MEBIBYTE,
            fitting=number_of(fitting, "connection"),
        )
    return asked


def workers_of_use(caps: Caps) -> int | None:
    """Return how many workers there are to be where nobody says a number: one for each processor, as far as there is room.

    One alone would do what the process does without any (None), for more memory.  Part of a processor is none: workers that may use 1.5 would both use up a period's time together and then stand still until its
    end, with all their connections.  What is left over is for the parent.
    """
    fitting = [int(caps.processors)]
    if caps.memory is not None:
        fitting.append((caps.memory // CONNECTION_SHARE - PARENT_BYTES) // WORKER_BYTES)
    if caps.tasks is not None:
        fitting.append((caps.tasks - PARENT_TASKS) // WORKER_TASKS)
    fits = min(fitting)
    return fits if fits > 1 else None


def tell_caps(caps: Caps, connections: int) -> None:
    """Log what was found and what follows: *connections* of clients at once."""
    found = [f"the time of {caps.processors:g} {'processor' if caps.processors == 1 else 'processors'}"]
    if caps.memory is not None:
        found.append(f"{caps.memory / MEBIBYTE:,.0f} MiB of memory")
    if caps.tasks is not None:
        found.append(number_of(caps.tasks, "further task"))
    found.append(f"{number_of(caps.descriptors, 'open file')} for each process")
    log.info(
        "This process may have {found}; so {connections}",
        found=", ".join(found),
        connections=f"{number_of(connections, 'connection')} of clients at once at most",
    )
    if caps.tasks is not None and caps.tasks < PARENT_TASKS:
        log.warn(
            "{tasks} may be too few: up to {needed} threads are begun (pids.max of the control group)",
            tasks=number_of(caps.tasks, "further task"),
            needed=PARENT_TASKS,
        )
