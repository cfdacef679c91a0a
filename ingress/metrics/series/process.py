"""The series about the process itself, as Prometheus' client libraries name them.

The library's own collector lists all file descriptors in one call, which takes 25 ms with 20,000
connections.  Linux tells their number since version 6.2; before that they are counted in steps.
"""

import os
import resource
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

AT_ONCE: Final = 200
"""Descriptors counted in a step."""
# Fields of /proc/PID/stat behind the name of the program, as proc(5) counts them, less three.
_USER_TICKS, _SYSTEM_TICKS, _START_TICKS, _VIRTUAL_BYTES, _RESIDENT_PAGES = 11, 12, 19, 20, 21


def resident_bytes(pid: int, proc: Path = Path("/proc")) -> int | None:
    """Return the resident memory of process *pid*; None where that cannot be found out."""
    try:
        return int((proc / str(pid) / "statm").read_bytes().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return None


class ProcessMetrics:
    """Reads *proc*, the file system of that name; shows nothing where there is none."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._process = proc / "self"
        self._booted = _booted(proc)

    def families(self) -> Iterator[Metric | None]:
        """Yield the series, and None where one takes another step."""
        try:
            stat = (self._process / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return
        ticks = os.sysconf("SC_CLK_TCK")
        yield CounterMetricFamily(
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            value=(int(stat[_USER_TICKS]) + int(stat[_SYSTEM_TICKS])) / ticks,
        )
        yield GaugeMetricFamily(
            "process_virtual_memory_bytes", "Virtual memory size in bytes.", value=int(stat[_VIRTUAL_BYTES])
        )
        yield GaugeMetricFamily(
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            value=int(stat[_RESIDENT_PAGES]) * resource.getpagesize(),
        )
        if self._booted is not None:
            yield GaugeMetricFamily(
                "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds.",
                value=self._booted + int(stat[_START_TICKS]) / ticks,
            )
        yield from self._descriptors()

    def _descriptors(self) -> Iterator[Metric | None]:
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        yield GaugeMetricFamily(
            "process_max_fds",
            "Maximum number of open file descriptors.",
            value=float("inf") if most == resource.RLIM_INFINITY else most,
        )
        folder = self._process / "fd"
        try:
            count = folder.stat().st_size
            if not count:
                count = yield from counted(folder)
        except OSError:
            return
        yield GaugeMetricFamily("process_open_fds", "Number of open file descriptors.", value=count)


def counted(folder: Path) -> Generator[None, None, int]:
    """Count the entries of *folder* in steps; the number is the value of ``yield from``."""
    count = 0
    with os.scandir(folder) as entries:
        for _ in entries:
            count += 1
            if not count % AT_ONCE:
                yield
    return count


def _booted(proc: Path) -> float | None:
    """Return when the machine was started, in seconds since the epoch."""
    try:
        with (proc / "stat").open("rb") as stat:
            for line in stat:
                if line.startswith(b"btime "):
                    return float(line.split()[1])
    except OSError:
        pass
    return None
