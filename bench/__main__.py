"""``python -m bench``: measure, print tables, and write what came out."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.loads.catalog import LOADS
from bench.measuring import machine, quiet
from bench.measuring.campaign import Campaign, Plan, fresh_folder
from bench.measuring.idle import IDLE_KINDS
from bench.measuring.measure import Place
from bench.peers import install
from bench.peers.targets import TARGETS, available, compiled_package
from bench.reports import pages, results, tables
from bench.requests import instructions
from bench.setup.choosing import allow_open_files, chosen, two_cpus
from bench.setup.ending import status_of
from bench.setup.errors import BenchError
from bench.setup.processes import Processes

ROUNDS = 5
QUICK_ROUNDS = 5
QUICK_WRK_SECONDS = 1
QUICK_LIMIT_SECONDS = 36.0
LOOKUP_SECONDS = 300
QUICK_PROGRAMS = ("nginx", "h2load", "wrk", "taskset")
ALL_PROGRAMS = (*QUICK_PROGRAMS, "haproxy", "caddy")
# Beside the environment that runs this, so that "make clean" removes it.
FOLDER = Path(sys.prefix) / "bench"
REPOSITORY = Path(__file__).parents[1]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    made.add_argument("--quick", action="store_true", help="only the small GETs, ours, nginx and Go")
    made.add_argument("--rounds", type=int, metavar="N", help=f"how often all is measured (default {ROUNDS})")
    made.add_argument("--loads", metavar="NAMES", help=f"only these: {','.join(one.name for one in LOADS)}")
    made.add_argument(
        "--targets", metavar="NAMES", help=f"only these: {','.join(one.name for one in TARGETS)}"
    )
    made.add_argument(
        "--render", action="store_true", help="measure nothing; write the page of results.json anew"
    )
    made.add_argument("--output", type=Path, metavar="FILE", help="write the results there, and no document")
    return made


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Install, measure, print and write.  Raises BenchError."""
    loads = chosen(arguments.loads, LOADS, arguments.quick)
    targets = available(chosen(arguments.targets, TARGETS, arguments.quick))
    load_cpu, proxy_cpu = two_cpus()
    load_average = quiet.load_average()
    os.sched_setaffinity(0, {load_cpu})
    allow_open_files()
    install.search_system_folders()
    install.ensure_programs(QUICK_PROGRAMS if arguments.quick else ALL_PROGRAMS)
    programs = {}
    names = {one.name for one in targets}
    if "ingress-nginx-like" in names:
        install.ensure_lua()
    FOLDER.mkdir(exist_ok=True)
    if "go" in names:
        programs["goproxy"] = install.build_go_proxy(FOLDER)
    if "envoy" in names:
        programs["envoy"] = install.environment_program("envoy")
    folder = fresh_folder(FOLDER, "run")
    found_python = machine.python()
    install.say(machine.python_line(found_python))
    install.say(f"built with: {machine.configure_arguments() or 'unknown options'}")

    setting = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine.machine(load_cpu, proxy_cpu),
        "python": found_python,
        "code": machine.codes((one.name for one in targets), compiled_package()),
        "programs": machine.program_versions(_paths(programs)) | machine.distribution_versions(("grpcio",)),
    }
    plan = Plan(
        loads,
        targets,
        arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS),
        QUICK_WRK_SECONDS if arguments.quick else None,
        QUICK_LIMIT_SECONDS if arguments.quick else None,
    )
    campaign = Campaign(plan, Place(folder, load_cpu, proxy_cpu), programs, install.say)
    is_whole = not (arguments.quick or arguments.loads)
    with Processes.logging_to(folder) as processes:
        started = campaign.start(processes)
        before = quiet.look(processes.pids)
        campaign.run(started)
        after = quiet.look(processes.pids)
    setting["busy"] = quiet.between(before, after, os.cpu_count() or 1, load_average)
    command = "bench-quick" if arguments.quick else "bench"
    found = results.document(command, loads, targets, campaign.measured, setting)
    if is_whole:
        # By other processes: these would have memory left to reuse, and the others a peak of no load.
        for kind in IDLE_KINDS:
            folder = fresh_folder(FOLDER, kind.name)
            fresh = Campaign(plan, Place(folder, load_cpu, proxy_cpu), programs, install.say)
            with Processes.logging_to(folder) as processes:
                fresh.run_idle(fresh.start(processes), kind)
            found[kind.name] = results.idle_results(kind, fresh.measured.idle)
        install.say("counting instructions")
        found["instructions"] = instructions.usual((load_cpu, proxy_cpu))
        install.say("finding routes among 10 to 100,000 hosts")
        found["lookup"] = results.lookup_results(route_lookups(proxy_cpu))
    return found


def route_lookups(cpu: int) -> dict[str, dict[str, float]]:
    """What ``bench.requests.lookup`` measures in a process of its own on *cpu*.  Raises BenchError."""
    command = ["taskset", "--cpu-list", str(cpu), sys.executable, "-m", "bench.requests.lookup"]
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, capture_output=True, text=True, timeout=LOOKUP_SECONDS, check=True
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"the route lookups took longer than {LOOKUP_SECONDS} s") from None
    except subprocess.CalledProcessError as error:
        raise BenchError(f"the route lookups failed: {error.stderr.strip().splitlines()[-1:]}") from None
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def _paths(programs: dict[str, str]) -> dict[str, str]:
    paths = {name: shutil.which(name) or "" for name in ALL_PROGRAMS if name != "taskset"}
    if "envoy" in programs:
        paths["envoy"] = programs["envoy"]
    if "goproxy" in programs:
        paths["go"] = install.environment_program("go")
    return {name: path for name, path in paths.items() if path}


def show(found: dict[str, Any]) -> None:
    """Print the tables."""
    for load in found["loads"].values():
        print(f"\n{load['title']} ({tables.how_many(load)})")
        print(tables.text_table(tables.load_rows(load, found["targets"])))
    print("\nGoals (ratios of ours)")
    print(tables.text_table(tables.figure_rows(found["figures"], found["loads"])))
    if "lookup" in found:
        for kind in IDLE_KINDS:
            print(f"\n{kind.title}")
            print(tables.text_table(tables.idle_rows(found[kind.name], found["targets"])))
        print(f"\nInstructions outside of the kernel, by {found['instructions']['way']}")
        print(tables.text_table(tables.instruction_rows(found["instructions"])))
        print("\nFinding a route")
        print(tables.text_table(tables.lookup_rows(found["lookup"])))
        print()
        print(tables.text_table(tables.memory_and_lookup_rows(found)))
    print(f"\nmeasured with {machine.python_line(found['python'])}; {found['rounds']} rounds, medians")
    print(machine.codes_line(found["code"]))
    if tables.has_doubtful(found):
        print(tables.DOUBTFUL_NOTE)
    print(quiet.line(found["busy"]))


def main() -> int:
    """Run; the status is 0, also when goals are missed."""
    arguments = parser().parse_args()
    if arguments.render:
        pages.write(results.read())
        return 0
    found = run(arguments)
    show(found)
    try:
        results.write(found, arguments.output or results.RESULTS)
        # A part of the benchmark does not make a page.
        if arguments.output is None and "lookup" in found and arguments.targets is None:
            pages.write(found)
    except OSError as error:
        raise BenchError(str(error)) from None
    return 0


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
