"""What the kernel knows about a process tree: its CPU time and its memory.

Reads ``/proc`` and changes nothing, but for ``reset_peak``.  CPU time is taken from
``schedstat``, which counts nanoseconds, not from ``stat``, which counts ticks of 10 ms.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

_PROC = Path("/proc")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Writing 5 to clear_refs sets VmHWM to what is resident now (proc(5)).
_RESET_PEAK = "5"


def process_tree(pid: int) -> Iterator[int]:
    """Yield *pid* and all of its descendants that run now."""
    yield pid
    try:
        threads = list((_PROC / str(pid) / "task").iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            children = (thread / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            yield from process_tree(int(child))


def cpu_seconds(pid: int) -> float:
    """Return the CPU time, user and system, of all threads of the tree of *pid*."""
    nanoseconds = 0
    for process in process_tree(pid):
        for path in (_PROC / str(process) / "task").glob("*/schedstat"):
            try:
                nanoseconds += int(path.read_text().split()[0])
            except OSError:
                continue  # the thread has ended meanwhile
    return nanoseconds / 1e9


def user_and_system_seconds(pid: int) -> tuple[float, float]:
    """Return the CPU time of the tree of *pid* in programs and in the kernel; to 10 ms, so for shares only."""
    user = system = 0
    for process in process_tree(pid):
        try:
            text = (_PROC / str(process) / "stat").read_text()
        except OSError:
            continue
        # The name, in parentheses, may hold anything; the fields after it are numbered from 3 (proc(5)).
        fields = text.rpartition(")")[2].split()
        user += int(fields[14 - 3])
        system += int(fields[15 - 3])
    return user / _TICKS_PER_SECOND, system / _TICKS_PER_SECOND


def _status_kib(pid: int, field: str) -> int:
    total = 0
    for process in process_tree(pid):
        try:
            lines = (_PROC / str(process) / "status").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith(f"{field}:"):
                total += int(line.split()[1])
    return total


def resident_kib(pid: int) -> int:
    """Return the resident memory of the tree of *pid*; pages that its processes share count for each."""
    return _status_kib(pid, "VmRSS")


def proportional_kib(pid: int) -> int:
    """Return the memory of the tree of *pid*: of pages that processes share, each has its part."""
    return sum(map(own_proportional_kib, process_tree(pid)))


def own_proportional_kib(pid: int) -> int:
    """Return the memory of *pid* alone, and its part of what it shares with others."""
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def peak_kib(pid: int) -> int:
    """Return the most that was resident since the start, or since ``reset_peak``."""
    return _status_kib(pid, "VmHWM")


def reset_peak(pid: int) -> None:
    """Let ``peak_kib`` begin anew.  Where the kernel refuses, the peak is that since the start."""
    for process in process_tree(pid):
        try:
            (_PROC / str(process) / "clear_refs").write_text(_RESET_PEAK)
        except OSError:
            continue


@frozen
class CpuBusy:
    """What one CPU, or several, have spent since boot, in seconds: on processes, and on other guests of the host."""

    processes: float
    stolen: float


def cpu_busy(cpu: int) -> CpuBusy:
    """Return what CPU number *cpu* has spent; beside the proxy, that is noise."""
    return _cpu_line(f"cpu{cpu}")


def all_cpus_busy() -> CpuBusy:
    """Return what all CPUs together have spent."""
    return _cpu_line("cpu")


def _cpu_line(wanted: str) -> CpuBusy:
    for line in (_PROC / "stat").read_text().splitlines():
        name, *fields = line.split()
        if name == wanted:
            ticks = [int(field) for field in fields]
            return CpuBusy(sum(ticks[:3]) / _TICKS_PER_SECOND, ticks[7] / _TICKS_PER_SECOND)
    return CpuBusy(0.0, 0.0)
