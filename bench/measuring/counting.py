"""How instructions of a process tree are counted that run outside of the kernel: by the processor, or by callgrind.

Unlike time, they do not depend on who else is busy on the machine.  A processor counts at full speed, where the machine
lets programs ask it (virtual ones often do not); callgrind runs the program on a processor of its own, a hundred times
slower.  Either way sockets are real, and what the kernel does for them is not counted.
"""

import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from attrs import frozen

from bench.measuring.gauges import process_tree
from bench.setup.errors import BenchError

EVENT = "instructions:u"
CONTROL_SECONDS = 60
ATTACH_SECONDS = 0.2
"""What ``perf`` needs until it counts; it does not say when it does."""


@frozen
class Callgrind:
    """Counts with valgrind's tool of that name, which leaves its files in *folder*."""

    folder: Path
    name: ClassVar[str] = "callgrind"
    is_slow: ClassVar[bool] = True
    """Whether programs run much slower meanwhile."""

    def command(self, words: Sequence[str]) -> list[str]:
        """What to start in the place of *words*."""
        return [
            "valgrind",
            "--tool=callgrind",
            "--quiet",
            # A worker of nginx can be asked only if this is set.
            "--trace-children=yes",
            # Starting takes some seconds without counting, and most of a minute with it.
            "--instr-atstart=no",
            f"--callgrind-out-file={self.folder}/callgrind.%p",
            *words,
        ]

    def begin(self, pid: int) -> None:
        """Make ready to count the tree of *pid*, which has started.  Raises BenchError."""
        for one in process_tree(pid):
            _tell(one, "instrumentation", "on")

    def during(self, pid: int, act: Callable[[], None]) -> int:
        """Return how many instructions the tree of *pid* runs while *act* is done.  Raises BenchError."""
        processes = list(process_tree(pid))
        for one in processes:
            _tell(one, "zero")
        act()
        for one in processes:
            _tell(one, "dump")
        return sum(self._taken(one) for one in processes)

    def _taken(self, pid: int) -> int:
        files = list(self.folder.glob(f"callgrind.{pid}.*"))
        if not files:
            raise BenchError(f"callgrind has written nothing about process {pid}")
        counted = sum(instructions_in_profile(one.read_text(errors="replace")) for one in files)
        for one in files:
            one.unlink()
        return counted


def _tell(pid: int, *words: str) -> None:
    try:
        done = subprocess.run(
            ["vgdb", f"--pid={pid}", *words], capture_output=True, text=True, timeout=CONTROL_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"valgrind did not {' '.join(words)} within {CONTROL_SECONDS} s") from None
    if done.returncode:
        raise BenchError(f"valgrind did not {' '.join(words)}: {' '.join(done.stderr.split())[-200:]}")


def instructions_in_profile(text: str) -> int:
    """The instructions in a profile that callgrind wrote.  Raises BenchError when it does not say."""
    found = re.search(r"^totals: (\d+)$", text, re.MULTILINE)
    if found is None:
        raise BenchError("callgrind wrote a profile without a sum")
    return int(found[1])


@frozen
class HardwareCounter:
    """Counts with the processor, by ``perf stat``; *event* is what it counts."""

    event: str = EVENT
    name: ClassVar[str] = "hardware counter"
    is_slow: ClassVar[bool] = False

    def command(self, words: Sequence[str]) -> list[str]:
        """What to start: *words* as they are."""
        return list(words)

    def begin(self, pid: int) -> None:
        """There is nothing to do: it attaches itself each time."""

    def during(self, pid: int, act: Callable[[], None]) -> int:
        """Return how many instructions the tree of *pid* runs while *act* is done.  Raises BenchError."""
        processes = ",".join(map(str, process_tree(pid)))
        perf = subprocess.Popen(
            ["perf", "stat", "-x", ",", "-e", self.event, "-p", processes],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            try:
                perf.wait(ATTACH_SECONDS)
            except subprocess.TimeoutExpired:
                act()
            perf.send_signal(signal.SIGINT)
            _, said = perf.communicate(timeout=CONTROL_SECONDS)
        finally:
            perf.kill()
            perf.wait()
        return instructions_of_perf(said, self.event)


Way = Callgrind | HardwareCounter
"""A way of counting."""


def instructions_of_perf(said: str, event: str = EVENT) -> int:
    """The count of *event* in what ``perf stat -x,`` said.  Raises BenchError where there is none."""
    for line in said.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2] == event:
            try:
                return int(float(fields[0]))
            except ValueError:
                raise BenchError(f"perf counts no {event}: {fields[0]}") from None
    raise BenchError(f"perf said nothing about {event}: {' '.join(said.split())[-200:]}")


def counts_in_hardware() -> bool:
    """Whether this machine lets programs ask its processor for instructions."""
    try:
        done = subprocess.run(
            ["perf", "stat", "-x", ",", "-e", EVENT, "true"],
            capture_output=True,
            text=True,
            timeout=CONTROL_SECONDS,
        )
        return instructions_of_perf(done.stderr) > 0
    except (OSError, BenchError, subprocess.TimeoutExpired):
        return False
