"""``python -m bench.disruptions.faults``: play the fault scripts, print what is required and what was measured."""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from bench.disruptions.faults import catalog, report
from bench.disruptions.faults.checks import Finding, Verdict
from bench.disruptions.faults.fault import Fault
from bench.disruptions.faults.proxies import COMMANDS, installed
from bench.disruptions.faults.stage import Stage, more_files
from bench.measuring import machine
from bench.peers.install import search_system_folders
from bench.setup.ending import status_of
from bench.setup.errors import BenchError

LONGEST_SECONDS = 150.0
"""For one script at one proxy; the long ones know their own time."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m bench.disruptions.faults", description=__doc__)
    made.add_argument("--only", metavar="NAMES", help="only these scripts, separated by commas")
    made.add_argument(
        "--targets",
        metavar="NAMES",
        help=f"of {','.join(COMMANDS)}; by default ours, and of the others those that are installed",
    )
    made.add_argument("--list", action="store_true", help="name the scripts, and what each breaks")
    made.add_argument("--option", action="append", default=[], metavar="OPTION", help="of twistd ingress")
    made.add_argument("--keep", action="store_true", help="keep the folder with configurations and logs")
    made.add_argument("--output", type=Path, metavar="FILE", help="write the results there")
    return made


def chosen_targets(names: str | None) -> tuple[str, ...]:
    """The proxies that *names* lists; without names those that are there.  Raises BenchError."""
    there = installed()
    if not names:
        return there
    wanted = names.split(",")
    for name in wanted:
        if name not in COMMANDS:
            raise BenchError(f"there is no target {name!r}; there are {', '.join(COMMANDS)}")
        if name not in there:
            raise BenchError(f"{name} is not installed")
    return tuple(name for name in COMMANDS if name in wanted)


async def play(fault: Fault, stage: Stage) -> Finding:
    """Play *fault* on *stage*; a script that cannot go on is a finding, too."""
    began = monotonic()
    broken = ""
    try:
        async with stage:
            limit = None if fault in catalog.LONG_FAULTS else LONGEST_SECONDS
            async with asyncio.timeout(limit):
                await fault.play(stage)
    except TimeoutError:
        broken = f"the script did not end within {LONGEST_SECONDS:g} s"
    except (BenchError, OSError, asyncio.IncompleteReadError) as error:
        broken = f"the script broke: {type(error).__name__}: {error}"
    measured = "; ".join(filter(None, (str(stage.checks), broken)))
    verdict = Verdict.FAILED if broken else stage.checks.verdict
    return Finding(
        fault.name, stage.target, verdict, measured, tuple(stage.checks.found), monotonic() - began
    )


def play_all(
    faults: tuple[Fault, ...],
    targets: tuple[str, ...],
    folder: Path,
    cpus: tuple[int, int],
    options: tuple[str, ...],
) -> list[Finding]:
    """Play everything, one after the other, and print each row when it is known."""
    findings = []
    print(report.head(), flush=True)
    for fault in faults:
        found = []
        for target in targets:
            if target in fault.targets:
                place = folder / f"{fault.name}-{target}"
                place.mkdir()
                stage = Stage(target, place, sys.executable, *cpus, options)
                found.append(asyncio.run(play(fault, stage)))
        if found:
            print(report.rows(fault, found), flush=True)
        findings += found
    return findings


def run(arguments: argparse.Namespace) -> list[Finding]:
    """Play what is asked for, print and write.  Raises BenchError."""
    search_system_folders()
    faults, targets = catalog.chosen(arguments.only), chosen_targets(arguments.targets)
    cpus = sorted(os.sched_getaffinity(0))
    files = more_files()
    setting: dict[str, Any] = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine.machine(cpus[0], cpus[-1]),
        "python": machine.python(),
        "programs": machine.program_versions(
            {name: shutil.which(name) or "" for name in targets if name != "ours"}
        ),
        "open_files": files,
        "options": arguments.option,
    }
    folder = Path(tempfile.mkdtemp(prefix="txingress-faults-"))
    began = monotonic()
    # The load has the first CPU, with everything that is started beside it; the proxy has the last one.
    os.sched_setaffinity(0, {cpus[0]})
    try:
        findings = play_all(faults, targets, folder, (cpus[0], cpus[-1]), tuple(arguments.option))
    finally:
        if arguments.keep:
            print(f"logs and configurations: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{report.summary(findings)}\nin {monotonic() - began:.0f} s")
    setting["seconds"] = round(monotonic() - began)
    # A part of the scripts replaces no results of all.
    output = arguments.output or (report.RESULTS if not arguments.only else None)
    if output is not None:
        report.write(report.document(faults, findings, setting), output)
    return findings


def main() -> int:
    """Run; the status is 0 if ours passed every row, 1 if not, or if nothing could be measured."""
    arguments = parser().parse_args()
    if arguments.list:
        for fault in (*catalog.FAULTS, *catalog.LONG_FAULTS):
            print(f"{fault.name:18} {fault.sentence}")
        return 0
    findings = run(arguments)
    failed = [one for one in findings if one.target == "ours" and one.verdict is Verdict.FAILED]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(status_of("faults", main))
