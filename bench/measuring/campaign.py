"""The whole measurement: everything is started, then asked one at a time in interleaved rounds.

All targets are up at the same time.  In each round every load goes to every target,
one after the other, in an order that moves on by one each round, so that no target is always
measured after the same other.  The round before the first is a short warm-up and is
not kept.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from attrs import define, field, frozen

from bench.endpoints.backend import backend_command, grpc_command
from bench.loads.catalog import HOSTS, PLAIN_HOST, RSA_HOST, Load, Protocol
from bench.measuring import measure
from bench.measuring.idle import IdleKind, idle_bytes
from bench.measuring.summary import Sample, value
from bench.peers.targets import Site, Target
from bench.setup.certificate import write_key_pair, write_rsa_pair
from bench.setup.processes import Processes, free_ports, wait_until_it_answers, wait_until_it_listens

WARM_UP_SCALE = 0.15
WARM_UP_SECONDS = 1
LEAST_ROUNDS = 2


@frozen
class Plan:
    """What is to be measured."""

    loads: tuple[Load, ...]
    targets: tuple[Target, ...]
    rounds: int
    wrk_seconds: int | None = None
    """Instead of what the loads say."""
    time_limit_seconds: float | None = None
    """No round is begun that would end later, but two are measured in any case."""

    def loads_of_round(self, number: int) -> list[Load]:
        """What is asked in round *number*; 0 is the warm-up."""
        return [load for load in self.loads if load.most_rounds is None or number <= load.most_rounds]

    def is_asked(self, number: int, load: Load, target: Target) -> bool:
        """Whether *target* is asked for *load* in round *number*."""
        is_late = target.most_rounds is not None and number > target.most_rounds
        return load.protocol in target.protocols and not is_late

    def cells(self) -> int:
        """How many measurements there are in all rounds, the warm-up included."""
        return sum(
            self.is_asked(number, load, target)
            for number in range(self.rounds + 1)
            for load in self.loads_of_round(number)
            for target in self.targets
        )


@define
class Measured:
    """What came of it: samples by load, target and round, and what failed."""

    samples: dict[str, dict[str, dict[int, Sample]]] = field(factory=dict)
    failures: dict[str, dict[str, str]] = field(factory=dict)
    rounds: int = 0
    idle: dict[str, float | str] = field(factory=dict)
    """Bytes of each idle connection by target, or why there are none."""

    def add(self, load: Load, target: Target, number: int, sample: Sample) -> None:
        """Keep *sample* of round *number*."""
        self.samples.setdefault(load.name, {}).setdefault(target.name, {})[number] = sample

    def has_failed(self, load: Load, target: Target) -> bool:
        """Whether *target* could not serve *load* before; it is not asked again."""
        return target.name in self.failures.get(load.name, {})


@define
class Campaign:
    """A plan that is carried out in *place*; *say* is told of every step."""

    plan: Plan
    place: measure.Place
    programs: dict[str, str]
    say: Callable[[str], None]
    measured: Measured = field(factory=Measured)
    _begun: float = field(factory=perf_counter)
    _done: int = 0

    def start(self, processes: Processes) -> list[measure.Started]:
        """Start the backends and all targets, and wait until they answer.  Raises BenchError."""
        folder, place = self.place.folder, self.place
        pair, rsa_pair = write_key_pair(folder, HOSTS), write_rsa_pair(folder, (RSA_HOST,))
        backend, h2c, grpc, *ports = free_ports(3 + 3 * len(self.plan.targets))
        running = processes.start("backend", backend_command(folder, backend, h2c), place.load_cpu)
        wait_until_it_answers(running, backend, PLAIN_HOST)
        if any(load.protocol is Protocol.GRPC for load in self.plan.loads):
            running = processes.start("grpc", grpc_command(grpc), place.load_cpu)
            wait_until_it_listens(running, grpc)
        started = []
        for number, target in enumerate(self.plan.targets):
            http, https, admin = ports[3 * number : 3 * number + 3]
            site = Site(folder, http, https, admin, backend, h2c, grpc, pair, rsa_pair, self.programs)
            self.say(f"starting {target.title}")
            running = processes.start(target.name, target.command(site), place.proxy_cpu, target.environment)
            started.append(measure.Started(target, site, running))
        for one in started:
            wait_until_it_answers(one.running, one.site.http, PLAIN_HOST)
        return started

    def run_idle(self, started: Sequence[measure.Started], kind: IdleKind) -> None:
        """Measure idle connections; to be called while the targets are fresh, so that nothing is left to reuse."""
        for one in started:
            if kind.protocol not in one.target.protocols:
                continue
            try:
                grown = idle_bytes(one, kind)
            except measure.LoadFailed as failure:
                self.measured.idle[one.target.name] = str(failure)
                self.say(f"{kind.title}: {one.target.name} {failure}")
            else:
                self.measured.idle[one.target.name] = grown
                self.say(f"{kind.title}: {one.target.name} {grown / 1024:.1f} KiB each")

    def run(self, started: Sequence[measure.Started]) -> None:
        """Measure all rounds.  What a target cannot do is noted, and the others go on."""
        self._round(0, started)
        for number in range(1, self.plan.rounds + 1):
            begun = perf_counter()
            self._round(number, started)
            self.measured.rounds = number
            now = perf_counter()
            limit = self.plan.time_limit_seconds
            is_late = limit is not None and now - self._begun + (now - begun) > limit
            if is_late and LEAST_ROUNDS <= number < self.plan.rounds:
                self.say(f"stopping after round {number}: the time is over")
                break

    def _round(self, number: int, started: Sequence[measure.Started]) -> None:
        turn = number % len(started)
        for load in self.plan.loads_of_round(number):
            for one in [*started[turn:], *started[:turn]]:
                if not self.plan.is_asked(number, load, one.target):
                    continue
                if not self.measured.has_failed(load, one.target):
                    self._measure(number, load, one)
                self._done += 1

    def _measure(self, number: int, load: Load, one: measure.Started) -> None:
        name = f"{load.name:15} {one.target.name:13}"
        try:
            if number:
                sample = measure.measure(self.place, load, one, seconds=self.plan.wrk_seconds)
                self.measured.add(load, one.target, number, sample)
                result = f"{value(load, sample):10.1f} {load.unit.value}"
            else:
                measure.measure(self.place, load, one, WARM_UP_SCALE, WARM_UP_SECONDS)
                result = "warm"
        except measure.LoadFailed as failure:
            if number:
                self.measured.failures.setdefault(load.name, {})[one.target.name] = str(failure)
            result = str(failure)
        self.say(f"{self._progress()} round {number}/{self.plan.rounds} {name} {result}")

    def _progress(self) -> str:
        share = (self._done + 1) / self.plan.cells()
        spent = perf_counter() - self._begun
        return f"[{share:4.0%}, {spent:4.0f} s, about {spent / share - spent:4.0f} s left]"


def fresh_folder(parent: Path, name: str) -> Path:
    """Return an empty folder for the files of one run; that of the run before is removed."""
    folder = parent / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
