"""What a change costs or brings: ``make bench-compare REF=HEAD~3`` measures that commit and the working tree in turn, in one run.

Both are started as users start them, by the same interpreter with the same packages, and asked beside nginx.  Each
round starts all of them anew: two processes of the same code differ by a hundredth or two, by where their memory
lies, and a round that is one of many such pairs has that in its noise.  Instructions are counted beside the time.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

from attrs import define, evolve, field, frozen

from bench.loads.catalog import LOADS, Load, Unit
from bench.measuring import machine, quiet
from bench.measuring.campaign import Campaign, Plan, fresh_folder
from bench.measuring.changes import CONFIDENCE, Change, change_of, change_of_counts, rounds_needed
from bench.measuring.measure import Place
from bench.measuring.summary import Sample, ratio, user_us, value
from bench.peers import install
from bench.peers.targets import TARGETS, Target
from bench.reports import tables
from bench.requests.instructions import CALLGRIND_PROGRAMS, PROGRAMS, USUAL_LOADS, count_all
from bench.setup.choosing import allow_open_files, chosen, two_cpus
from bench.setup.ending import status_of
from bench.setup.processes import Processes
from bench.setup.worktrees import Checkout, checked_out

ROUNDS = 10
INSTRUCTION_ROUNDS = 2
BEFORE, AFTER, REFERENCE = "before", "after", "nginx"
REPOSITORY = Path(__file__).parents[2]
FOLDER = Path(sys.prefix) / "bench"

Samples = Mapping[str, Mapping[int, Sample]]


def sides(before: Path, after: Path) -> tuple[Target, ...]:
    """Ours of both folders, and nginx."""
    ours, nginx = chosen("ours,nginx", TARGETS, False)
    return (_from(ours, BEFORE, before), _from(ours, AFTER, after), nginx)


def _from(target: Target, name: str, folder: Path) -> Target:
    # What is found there comes before what is installed.
    environment = {**target.environment, "PYTHONPATH": str(folder)}
    return evolve(target, name=name, title=name, environment=environment)


@define
class Turns:
    """Rounds with fresh processes; *say* is told of each."""

    loads: tuple[Load, ...]
    targets: tuple[Target, ...]
    cpus: tuple[int, int]
    say: Callable[[str], None]
    samples: dict[str, dict[str, dict[int, Sample]]] = field(factory=dict)
    """By load, target and round."""
    failures: dict[str, dict[str, str]] = field(factory=dict)

    def run(self, rounds: int) -> None:
        """Have so many.  Raises BenchError."""
        begun = perf_counter()
        for number in range(rounds):
            self._round(number)
            spent = perf_counter() - begun
            left = spent / (number + 1) * (rounds - number - 1)
            self.say(f"round {number + 1}/{rounds}: {spent:.0f} s, about {left:.0f} s left")

    def _round(self, number: int) -> None:
        folder = fresh_folder(FOLDER, "compare")
        turn = number % len(self.targets)
        plan = Plan(self.loads, (*self.targets[turn:], *self.targets[:turn]), 1)
        campaign = Campaign(plan, Place(folder, *self.cpus), {}, _say_nothing)
        with Processes.logging_to(folder) as processes:
            campaign.run(campaign.start(processes))
        for load, targets in campaign.measured.samples.items():
            for target, samples in targets.items():
                self.samples.setdefault(load, {}).setdefault(target, {})[number] = samples[1]
        for load, failed in campaign.measured.failures.items():
            self.failures.setdefault(load, {}).update(failed)


def _say_nothing(text: str) -> None:
    """Each cell of each round would be too much."""


@frozen
class Row:
    """One figure of one load."""

    what: str
    before: float
    after: float
    change: Change
    more_is_better: bool = False

    def cells(self) -> list[str]:
        """The row of the table."""
        change = self.change
        interval = (
            tables.MISSING
            if change.low is None or change.high is None
            else f"{change.low - 1:+.1%} to {change.high - 1:+.1%}"
        )
        return [
            self.what,
            tables.number(self.before, 4),
            tables.number(self.after, 4),
            f"{change.ratio - 1:+.1%}",
            interval,
            change.verdict(self.more_is_better).value,
        ]


HEAD = ["", BEFORE, AFTER, "change", f"{CONFIDENCE:.0%} surely", ""]


def load_rows(load: Load, samples: Samples, counted: Mapping[str, Sequence[float]]) -> list[Row]:
    """What changed on *load*: its figure, CPU time outside of the kernel, and instructions where they were *counted*."""
    before, after = samples.get(BEFORE, {}), samples.get(AFTER, {})
    rows = [
        _row(tables.UNITS[load.unit.value], before, after, lambda one: value(load, one), load.unit),
        _row("user us", before, after, _user_us),
    ]
    if counted.keys() >= {BEFORE, AFTER}:
        figures = counted[BEFORE], counted[AFTER]
        means = [sum(each) / len(each) for each in figures]
        rows.append(Row("instructions", means[0], means[1], change_of_counts(figures[0], figures[1])))
    return [row for row in rows if row is not None]


def _user_us(sample: Sample) -> float:
    return user_us({0: sample}) or 0.0


def _row(
    what: str,
    before: Mapping[int, Sample],
    after: Mapping[int, Sample],
    figure: Callable[[Sample], float],
    unit: Unit = Unit.MICROSECONDS,
) -> Row | None:
    figures = [{number: figure(one) for number, one in rounds.items()} for rounds in (before, after)]
    change = change_of(figures[0], figures[1])
    if change is None:
        return None
    middles = [median(each.values()) for each in figures]
    return Row(what, middles[0], middles[1], change, unit.more_is_better)


def report(
    load: Load, samples: Samples, failures: Mapping[str, str], counted: Mapping[str, Sequence[float]]
) -> str:
    """What is said about one load."""
    lines = [f"{load.title}"]
    if failures:
        lines += [f"  {target}: {why}" for target, why in failures.items()]
    rows = load_rows(load, samples, counted)
    if rows:
        lines.append(tables.text_table([HEAD, *(row.cells() for row in rows)]))
    values = {
        name: {number: value(load, one) for number, one in rounds.items()} for name, rounds in samples.items()
    }
    reference = values.get(REFERENCE, {})
    to_nginx = [ratio(values.get(name, {}), reference) for name in (BEFORE, AFTER)]
    lines.append(f"to nginx: {' before, '.join(map(tables.ratio, to_nginx))} after")
    return "\n".join(lines)


def compare(arguments: argparse.Namespace, earlier: Checkout) -> None:
    """Measure and print.  Raises BenchError."""
    loads = chosen(arguments.loads, LOADS, False)
    cpus = two_cpus()
    load_average = quiet.load_average()
    os.sched_setaffinity(0, {cpus[0]})
    targets = sides(earlier.folder, REPOSITORY)
    for name, folder in ((BEFORE, earlier.folder), (AFTER, REPOSITORY)):
        install.say(f"{name}: {machine.code_line(machine.code(folder / 'ingress'))}")
    seen = quiet.look([])
    turns = Turns(loads, targets, cpus, install.say)
    turns.run(arguments.rounds)
    busy = quiet.between(seen, quiet.look([]), os.cpu_count() or 1, load_average)
    counted: dict[str, dict[str, list[float]]] = {}
    if not arguments.no_instructions:
        install.say("counting instructions")
        found = count_all(loads, targets[:2], INSTRUCTION_ROUNDS, cpus)
        for load, one in found["loads"].items():
            counted[load] = {
                name: each["samples"] for name, each in one["targets"].items() if "samples" in each
            }
    print(f"before: {earlier.commit} {earlier.subject}\nafter: the working tree")
    for load in loads:
        print()
        print(
            report(
                load,
                turns.samples.get(load.name, {}),
                turns.failures.get(load.name, {}),
                counted.get(load.name, {}),
            )
        )
    print(f"\n{quiet.line(busy)}")


def main(words: Sequence[str]) -> int:
    """Compare; the status is 0, whatever came of it, and 1 where nothing could be measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.requests.compare", description=__doc__)
    parser.add_argument("reference", metavar="REF", help="the commit that the working tree is compared with")
    parser.add_argument("--loads", default=USUAL_LOADS, help=f"default {USUAL_LOADS}")
    parser.add_argument(
        "--rounds",
        type=int,
        default=ROUNDS,
        help=f"default {ROUNDS}; fewer than {rounds_needed()} say nothing for sure",
    )
    parser.add_argument("--no-instructions", action="store_true", help="measure time alone")
    arguments = parser.parse_args(words)
    allow_open_files()
    install.search_system_folders()
    install.ensure_programs((*PROGRAMS, *(() if arguments.no_instructions else CALLGRIND_PROGRAMS)))
    FOLDER.mkdir(exist_ok=True)
    with checked_out(REPOSITORY, arguments.reference) as earlier:
        compare(arguments, earlier)
    return 0


if __name__ == "__main__":
    sys.exit(status_of("bench", lambda: main(sys.argv[1:])))
