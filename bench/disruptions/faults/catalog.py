"""All scripts, in the order in which they are played."""

from bench.disruptions.faults.fault import Fault
from bench.disruptions.faults.scripts import (
    answers,
    bodies,
    changes,
    crowds,
    deaths,
    floods,
    greed,
    inside,
    retries,
    short,
    slowness,
    soak,
)
from bench.setup.errors import BenchError

FAULTS: tuple[Fault, ...] = (
    *deaths.FAULTS,
    *answers.FAULTS,
    *retries.FAULTS,
    *bodies.FAULTS,
    *slowness.FAULTS,
    *crowds.FAULTS,
    *floods.FAULTS,
    *greed.FAULTS,
    *changes.FAULTS,
    *inside.FAULTS,
)
"""Those of ``make faults``."""

LONG_FAULTS: tuple[Fault, ...] = (*soak.FAULTS, *short.FAULTS)
"""Those that are only played when they are named."""


def chosen(names: str | None) -> tuple[Fault, ...]:
    """The faults that *names* lists, separated by commas; without names all but the long ones.  Raises BenchError."""
    if not names:
        return FAULTS
    by_name = {fault.name: fault for fault in (*FAULTS, *LONG_FAULTS)}
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in by_name:
            raise BenchError(f"there is no fault {name!r}; there are {', '.join(by_name)}")
    return tuple(fault for fault in by_name.values() if fault.name in wanted)
