"""How busy a machine is with other things than the benchmark, and from when on that is too much.

A busy machine makes the kernel dear, for everybody alike; that hides what a program itself costs, and lets
ratios look better than they are.
"""

import os
import resource
from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any

from attrs import frozen

from bench.measuring import gauges

MOST_OTHERS = 0.03
"""Of the time of all CPUs; more makes a machine busy."""
MOST_STOLEN = 0.01
MOST_NOISE = 0.10
"""Of the time of the proxy's CPU during one measurement; more makes a figure doubtful."""


@frozen
class Seen:
    """What was seen at one moment: seconds since some beginning, CPU time of all, of other guests, and of ours."""

    clock: float
    processes: float
    stolen: float
    own: float


def look(running: Iterable[int]) -> Seen:
    """Look now; *running* are the roots of the processes that belong to the benchmark, and have not ended."""
    busy = gauges.all_cpus_busy()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own = sum(one.ru_utime + one.ru_stime for one in used) + sum(map(gauges.cpu_seconds, running))
    return Seen(perf_counter(), busy.processes, busy.stolen, own)


def between(before: Seen, after: Seen, cpus: int, load_average: float) -> dict[str, Any]:
    """How busy *cpus* were from *before* to *after*: ``others`` and ``stolen`` are shares of their time."""
    seconds = max((after.clock - before.clock) * cpus, 1e-9)
    stolen = max(0.0, after.stolen - before.stolen) / seconds
    others = max(0.0, (after.processes - before.processes) - (after.own - before.own)) / seconds
    return {
        "load_average": round(load_average, 2),
        "others": round(others, 4),
        "stolen": round(stolen, 4),
        "is_busy": others > MOST_OTHERS or stolen > MOST_STOLEN,
    }


def line(found: Mapping[str, Any]) -> str:
    """One line about what ``between`` has returned."""
    verdict = "BUSY: compare these figures with no others" if found["is_busy"] else "quiet"
    return (
        f"The machine was {verdict}. Load average before the start {found['load_average']:.2f}; while it was measured "
        f"others took {found['others']:.1%} of all CPUs, and other guests of the host {found['stolen']:.1%}."
    )


def is_doubtful(noise: float) -> bool:
    """Whether a figure is to be marked, while which others took *noise* of the proxy's CPU."""
    return noise > MOST_NOISE


def load_average() -> float:
    """The load average of the last minute."""
    return os.getloadavg()[0]
