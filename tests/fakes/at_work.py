"""Whether processes have something to do, or wait: how long they only wait is not for a busy machine to say."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_WAITS_FOR_PROCESSOR_OR_DISK = ("R", "D")


_ENDED = ("Z", "X")


def is_at_work(pid: int) -> bool:
    """Whether a thread of the process *pid*, or of one below it, runs, or waits for nothing but a processor or a disk.

    Where there is no ``/proc`` nobody is.
    """
    processes = [Path(f"/proc/{pid}")]
    while processes:
        process = processes.pop()
        with suppress(FileNotFoundError, ProcessLookupError):  # It has ended meanwhile.
            for thread in os.listdir(process / "task"):
                of_thread = process / "task" / thread
                # Its name, in brackets, may have any others.
                state = (of_thread / "stat").read_text(errors="replace").rpartition(") ")[2][:1]
                if state in _WAITS_FOR_PROCESSOR_OR_DISK:
                    return True
                processes += [
                    Path(f"/proc/{child}") for child in (of_thread / "children").read_text().split()
                ]
    return False


def has_ended(pid: int) -> bool:
    """Whether the process *pid* has ended, be it that whoever started it has not come to see that; not known where there is no ``/proc``."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2][:1]
    except (FileNotFoundError, ProcessLookupError):
        return Path("/proc/self").exists()
    return state in _ENDED
