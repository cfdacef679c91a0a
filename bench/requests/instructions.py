"""How many instructions a request costs outside of the kernel: ``make bench-instructions`` prints them, ours beside nginx.

The proxies run as they do for ``make bench``, with their real sockets, but under a counter (``counting``).  Each load is
sent twice to a process that has been warmed up, the second time with three times as many requests; what the second
took more is divided by the requests it had more.  So starting, connections, handshakes and what is done for the first time
cancel out.  What a process does by the clock is counted while it idles, and taken off.

A proxy under callgrind is so slow that its clients always wait for it: it finds as much to do each time it
looks as it ever will, whoever else is busy on the machine.  Counts of the same code differ by half a percent.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from attrs import evolve, frozen

from bench.loads.catalog import LOADS, Generator, Load
from bench.measuring import machine
from bench.measuring.campaign import Campaign, Plan, fresh_folder
from bench.measuring.counting import Callgrind, HardwareCounter, Way, counts_in_hardware
from bench.measuring.measure import LoadFailed, Place, Started, least_requests, send
from bench.peers import install
from bench.peers.targets import TARGETS, Target, available, compiled_package
from bench.reports import tables
from bench.setup.choosing import allow_open_files, chosen, two_cpus
from bench.setup.ending import status_of
from bench.setup.errors import BenchError
from bench.setup.processes import Processes, pause

USUAL_LOADS = "get-repeating,get-unique,post-1k,h2-10x10,h2-unique,grpc-h2load"
USUAL_TARGETS = "ours,ours-compiled,nginx"
ROUNDS = 2
IDLE_SECONDS = 2.0
PROGRAMS = ("nginx", "h2load", "wrk", "taskset")
CALLGRIND_PROGRAMS = ("valgrind", "vgdb")
TIMES_MORE = 3
SLOWER = 16
"""So many times fewer requests than usual are sent to a program that runs much slower."""
QUICKER = 4
"""And to one that does not."""
FOLDER = Path(sys.prefix) / "bench"


@frozen
class Count:
    """What one load took: of a proxy *instructions*, for so many *requests* in *seconds*."""

    instructions: int
    requests: int
    seconds: float


def per_request(fewer: Count, more: Count, idle_per_second: float) -> float:
    """Instructions of one request: what *more* took more than *fewer*, without what would have run anyway.

    Raises BenchError when *more* is none.
    """
    requests = more.requests - fewer.requests
    if requests <= 0:
        raise BenchError(f"the longer run had {more.requests} requests, the shorter {fewer.requests}")
    anyway = idle_per_second * (more.seconds - fewer.seconds)
    return (more.instructions - fewer.instructions - anyway) / requests


def requests_of(load: Load, is_slow: bool) -> int:
    """How many requests the shorter run of *load* has."""
    return max(least_requests(load), load.requests // (SLOWER if is_slow else QUICKER) // TIMES_MORE)


def countable(load: Load) -> Load:
    """*load*, by a generator that sends an exact number of requests where there is one."""
    return evolve(load, generator=Generator.UNIQUE_HTTP1) if load.script == "unique.lua" else load


def cell(samples: Sequence[float], reference: Sequence[float]) -> dict[str, Any]:
    """The figures of one target on one load; *reference* has those of nginx."""
    found = median(samples)
    return {
        "per_request": round(found),
        "samples": [round(one) for one in samples],
        "spread": round((max(samples) - min(samples)) / found, 4),
        "to_nginx": round(found / median(reference), 3) if reference else None,
    }


@frozen
class Counting:
    """Targets that run under a counter."""

    place: Place
    way: Way
    started: Sequence[Started]
    rounds: int

    def results(self, loads: Sequence[Load]) -> dict[str, Any]:
        """Count all of it.  Raises BenchError."""
        idle = {one.target.name: self._idle_per_second(one) for one in self.started}
        found: dict[str, Any] = {}
        for load in map(countable, loads):
            samples: dict[str, list[float]] = {}
            failures: dict[str, str] = {}
            for one in self.started:
                name = one.target.name
                if load.protocol not in one.target.protocols:
                    continue
                try:
                    samples[name] = self._samples(load, one, idle[name])
                except LoadFailed as failure:
                    failures[name] = str(failure)
            reference = samples.get("nginx", [])
            cells = {name: cell(each, reference) for name, each in samples.items()}
            cells |= {name: {"failure": why} for name, why in failures.items()}
            found[load.name] = {"title": load.title, "targets": cells}
        return {"way": self.way.name, "rounds": self.rounds, "loads": found}

    def _samples(self, load: Load, one: Started, idle_per_second: float) -> list[float]:
        few = requests_of(load, self.way.is_slow)
        send(self.place, load, one, few, 1)
        samples = []
        # Counts of nginx hardly vary.
        for number in range(1 if one.target.name == "nginx" else self.rounds):
            fewer = self._count(load, one, few, 1)
            more = self._count(load, one, few * TIMES_MORE, TIMES_MORE)
            samples.append(per_request(fewer, more, idle_per_second))
            install.say(f"{load.name:15} {one.target.name:13} round {number + 1}: {samples[-1]:12,.0f}")
        return samples

    def _count(self, load: Load, one: Started, requests: int, seconds: int) -> Count:
        begun = perf_counter()
        answered = 0

        def act() -> None:
            nonlocal answered
            answered = send(self.place, load, one, requests, seconds)

        instructions = self.way.during(one.running.pid, act)
        return Count(instructions, answered, perf_counter() - begun)

    def _idle_per_second(self, one: Started) -> float:
        begun = perf_counter()
        counted = self.way.during(one.running.pid, lambda: _pause(IDLE_SECONDS))
        return counted / (perf_counter() - begun)


def _pause(seconds: float) -> None:
    pause(seconds)


def under(way: Way, target: Target) -> Target:
    """*target*, to be started under *way*."""
    more = target.when_slow if way.is_slow else ()
    return evolve(target, command=lambda site: way.command([*target.command(site), *more]))


def count_all(
    loads: tuple[Load, ...], targets: tuple[Target, ...], rounds: int, cpus: tuple[int, int]
) -> dict[str, Any]:
    """Start *targets* under a counter and count *loads*; what the document keeps of it.  Raises BenchError."""
    folder = fresh_folder(FOLDER, "instructions")
    way: Way
    if counts_in_hardware():
        way = HardwareCounter()
    else:
        install.ensure_programs(CALLGRIND_PROGRAMS)
        way = Callgrind(folder)
    place = Place(folder, *cpus)
    plan = Plan(loads, tuple(under(way, one) for one in targets), rounds)
    with Processes.logging_to(folder) as processes:
        started = Campaign(plan, place, {}, install.say).start(processes)
        for one in started:
            way.begin(one.running.pid)
        return Counting(place, way, started, rounds).results(loads)


def usual(cpus: tuple[int, int]) -> dict[str, Any]:
    """Count what ``make bench`` shows.  Raises BenchError."""
    return count_all(
        chosen(USUAL_LOADS, LOADS, False), available(chosen(USUAL_TARGETS, TARGETS, False)), ROUNDS, cpus
    )


def main(words: Sequence[str]) -> int:
    """Count and print; the status is 0, or 1 where nothing could be counted."""
    parser = argparse.ArgumentParser(prog="python -m bench.requests.instructions", description=__doc__)
    parser.add_argument("--loads", default=USUAL_LOADS, help=f"default {USUAL_LOADS}")
    parser.add_argument("--targets", default=USUAL_TARGETS, help=f"default {USUAL_TARGETS}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the figures there, too, as JSON")
    arguments = parser.parse_args(words)
    loads = chosen(arguments.loads, LOADS, False)
    targets = available(chosen(arguments.targets, TARGETS, False))
    cpus = two_cpus()
    os.sched_setaffinity(0, {cpus[0]})
    allow_open_files()
    install.search_system_folders()
    install.ensure_programs(PROGRAMS)
    FOLDER.mkdir(exist_ok=True)
    found = count_all(loads, targets, arguments.rounds, cpus)
    print(tables.text_table(tables.instruction_rows(found)))
    print(f"\ncounted by {found['way']}, {found['rounds']} rounds")
    print(machine.codes_line(machine.codes((one.name for one in targets), compiled_package())))
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(status_of("bench", lambda: main(sys.argv[1:])))
