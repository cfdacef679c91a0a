"""One measurement: a load is sent to a target, and the kernel is asked what that cost."""

import subprocess
from pathlib import Path
from time import perf_counter

from attrs import frozen

from bench.loads import generators
from bench.loads.catalog import Generator, Load
from bench.measuring import gauges
from bench.measuring.summary import Sample, percentile
from bench.peers.targets import Site, Target
from bench.setup.errors import BenchError
from bench.setup.processes import Running, pause

GENERATOR_SECONDS = 120
SETTLE_SECONDS = 0.1
"""Before the second reading: what a proxy writes behind, such as its access log, is counted."""
MAX_FAILED_SHARE = 0.01
"""Of all requests.  wrk cuts what is under way when its time is over."""
LEAST_REQUESTS = 8
LONGEST_REASON = 100
"""Of what a generator says; it has to fit into a cell of a table."""
REPOSITORY = Path(__file__).parents[2]


@frozen
class Started:
    """A target that runs."""

    target: Target
    site: Site
    running: Running


@frozen
class Place:
    """Where a measurement happens."""

    folder: Path
    load_cpu: int
    proxy_cpu: int


class LoadFailed(Exception):  # noqa: N818 - an outcome of one cell, not of the benchmark
    """The target did not answer the load as it should; the message is for the table."""


def measure(
    place: Place, load: Load, started: Started, scale: float = 1.0, seconds: int | None = None
) -> Sample:
    """Send *load*, *scale* times as many requests as usual, or for *seconds*; return what it cost.

    Raises LoadFailed when answers are missing or wrong, BenchError when nothing can be measured.
    """
    pid = started.running.pid
    # At a fixed rate everybody gets the same.
    speed = 1.0 if load.rate else started.target.speed
    command = _command(place, load, started, int(load.requests * speed * scale), seconds or load.seconds)

    gauges.reset_peak(pid)
    user, system = gauges.user_and_system_seconds(pid)
    busy, cpu, clock = gauges.cpu_busy(place.proxy_cpu), gauges.cpu_seconds(pid), perf_counter()
    output = _run(place, load.generator, command)
    pause(SETTLE_SECONDS)
    wall = perf_counter() - clock
    spent = gauges.cpu_seconds(pid) - cpu
    user_after, system_after = gauges.user_and_system_seconds(pid)
    busy_after = gauges.cpu_busy(place.proxy_cpu)
    started.running.check()

    outcome = _outcome(load, output)
    p50 = p99 = None
    if load.rate:
        took = generators.latencies(_log(place).read_text().splitlines())
        p50, p99 = percentile(took, 0.5), percentile(took, 0.99)
    others = (busy_after.processes - busy.processes) - spent + (busy_after.stolen - busy.stolen)
    return Sample(
        requests=outcome.succeeded,
        cpu_seconds=spent,
        wall_seconds=wall,
        peak_kib=gauges.peak_kib(pid),
        noise=max(0.0, others) / wall,
        user_seconds=user_after - user,
        system_seconds=system_after - system,
        p50_us=p50,
        p99_us=p99,
    )


def send(place: Place, load: Load, started: Started, requests: int, seconds: int) -> int:
    """Send so many *requests*, or for *seconds* where the generator knows no number; return how many were answered.

    Raises LoadFailed when answers are missing or wrong, BenchError when nothing can be sent.
    """
    command = _command(place, load, started, requests, seconds)
    output = _run(place, load.generator, command)
    started.running.check()
    return _outcome(load, output).succeeded


def least_requests(load: Load) -> int:
    """How many requests *load* has at least, however few are asked for: one for each stream."""
    return max(LEAST_REQUESTS, load.connections * load.streams)


def _log(place: Place) -> Path:
    return place.folder / "requests.log"


def _command(place: Place, load: Load, started: Started, requests: int, seconds: int) -> list[str]:
    site = started.site
    port = site.https if load.scheme == "https" else site.http
    body, log = place.folder / f"body-{load.name}", _log(place)
    if load.upload_bytes and not body.exists():
        body.write_bytes(b"\0" * load.upload_bytes)
    log.unlink(missing_ok=True)
    certificate = site.shown_to(load.host).certificate_path
    return generators.command(
        load, port, max(least_requests(load), requests), seconds, body, log, certificate
    )


def _outcome(load: Load, output: str) -> generators.Outcome:
    outcome = generators.outcome(load.generator, output)
    if outcome.protocol not in (None, load.protocol.downstream):
        raise LoadFailed(f"{outcome.protocol.value} was spoken")
    if outcome.failed > MAX_FAILED_SHARE * max(outcome.succeeded, 1) or not outcome.succeeded:
        count = f"{outcome.failed} of {outcome.failed + outcome.succeeded} requests failed"
        reason = " ".join(outcome.reason.split())[:LONGEST_REASON]
        raise LoadFailed(f"{count}: {reason}" if reason else count)
    return outcome


def _run(place: Place, generator: Generator, command: list[str]) -> str:
    pinned = ["taskset", "--cpu-list", str(place.load_cpu), *command]
    try:
        done = subprocess.run(
            pinned,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=REPOSITORY,  # the programs of this folder are found from there
            timeout=GENERATOR_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise LoadFailed(f"not done within {GENERATOR_SECONDS} s") from None
    if done.returncode:
        raise BenchError(
            f"{generator.value} failed with status {done.returncode}: {done.stdout.strip()[-200:]}"
        )
    return done.stdout
