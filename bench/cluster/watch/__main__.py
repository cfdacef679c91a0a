"""``python -m bench.cluster.watch``: read a large cluster, change it, and say what that costs.

The controller has a core for itself (the second), everything else the first.  Three runs give
processor time and memory, without a timer in the process; one more watches the reactor and
gives everything else.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from attrs import frozen

from bench.cluster.watch import objects
from bench.cluster.watch.traffic import Client, Load, quantile, start_pod
from bench.measuring import machine
from bench.setup.ending import status_of
from bench.setup.processes import free_ports

RESULTS = Path(__file__).parents[2] / "watch-results.json"
_TIMEOUT_SECONDS = 60.0
# Between two requests that look whether a burst has arrived: they are traffic, too.
_PAUSE_SECONDS = 0.01
_NICENESS = -15


@frozen
class Goal:
    """One row of the table; *is_better* tells how a figure is compared."""

    name: str
    text: str
    unit: str
    must: float
    aim: float | None
    more_is_better: bool = False


GOALS = (
    Goal("sync_cpu_s", "initial sync and first publish: CPU", "s", 3.0, 2.0),
    Goal("sync_memory_mib", "memory growth, after the first publish", "MiB", 60, 45),
    Goal("sync_stall_ms", "longest stall of the reactor, before the first publish", "ms", 100, 30),
    Goal("updates_stall_ms", "longest stall, 500 updates of route objects/s for 10 s", "ms", 20, 10),
    Goal("slice_p99_ms", "EndpointSlice change: wire to requests, p99", "ms", 20, 5),
    Goal("route_p99_ms", "change of a route object: wire to routable, p99", "ms", 50, 10),
    Goal("burst_per_s", "burst of changes: events/s", "1/s", 5000, 10000, True),
    Goal("burst_live_s", "last state live after the last event of the burst", "s", 1.0, None),
    Goal("idle_percent", "idle cost of the watches", "% of a core", 0.1, None),
    Goal("traffic_failed", "requests that failed during the burst", "", 0, None),
    Goal("traffic_p99_ratio", "p99 during the burst, as a multiple of the idle p99", "", 3.0, None),
)


class Child:
    """A process on one core."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, core: int, module: str, *arguments: str) -> "Child":
        """Start ``python -m MODULE``."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            module,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: _have_core(core % (os.cpu_count() or 1)),
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def line(self) -> str:
        """The next line that it writes."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), _TIMEOUT_SECONDS)
        if not line:
            raise SystemExit("bench.cluster.watch: a process ended early")
        return line.decode()

    async def report(self, command: str = "report") -> dict[str, Any]:
        """Give a command to the controller; return what it measured."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())
        report: dict[str, Any] = json.loads(await self.line())
        return report

    async def stop(self) -> None:
        """End it."""
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


class Bench:
    """An API server, a controller, and what is measured with them."""

    def __init__(self, count: int, folder: Path, routes: str = "ingresses") -> None:
        self._count = count
        self._routes = routes
        self._folder = folder
        self.measured: dict[str, float] = {}
        self.details: dict[str, Any] = {}
        self._unique = 0
        self._children: list[Child] = []
        self._http = 0

    async def run(self, runs: int, burst: int, seconds: float) -> None:
        """Measure everything, and leave no process behind."""
        try:
            await self._run(runs, burst, seconds)
        finally:
            await self._stop()

    async def memory(self, runs: int) -> float:
        """Return how many MiB the first sync takes, and leave no process behind."""
        try:
            self._pods = [await start_pod(name) for name in (b"a", b"b")]
            await self._sync(runs)
        finally:
            await self._stop()
        return self.measured["sync_memory_mib"]

    async def _run(self, runs: int, burst: int, seconds: float) -> None:
        self._pods = [await start_pod(name) for name in (b"a", b"b")]
        await self._sync(runs)
        await self._start(self._count, is_ticking=True)
        ready = (await self._controller.report())["ready"]
        self.measured["sync_stall_ms"] = ready["stall_ms"]
        self.details["sync_stall_cpu_ms"] = ready["stall_cpu_ms"]
        self._probe = Client(self._http)
        await self._updates(seconds)
        await self._slices(200)
        await self._route_objects(200)
        await self._traffic(burst, seconds)
        await self._burst(burst)
        await self._idle(2 * seconds)

    async def _start(self, count: int, *, is_ticking: bool) -> None:
        """Start API server and controller, and wait for the first snapshot."""
        self._http, https, admin = free_ports(3)
        self._server = await self._child(
            0,
            "bench.cluster.watch.server",
            f"--count={count}",
            f"--port={self._pods[0]}",
            f"--routes={self._routes}",
            # Where the command line listens, a Gateway is served by the same listener.
            *([] if self._routes == "ingresses" else [f"--gateway-port={self._http}"]),
        )
        port = int(await self._server.line())
        self._control = Client(port)
        options = {"http": self._http, "https": https, "admin": admin}
        self._controller = await self._child(
            1,
            "bench.cluster.watch.subject",
            "ticking" if is_ticking else "still",
            str(self._folder / "log"),
            f"--server=http://127.0.0.1:{port}",
            "--access-log=/dev/null",
            "--allow-endpoint-networks=127.0.0.0/8",
            *(f"--{name}=tcp:{number}:interface=127.0.0.1" for name, number in options.items()),
        )
        deadline = monotonic() + _TIMEOUT_SECONDS
        while (await self._controller.report("look"))["ready"] is None:
            if monotonic() > deadline:
                raise SystemExit(f"bench.cluster.watch: not ready; see {self._folder / 'log'}")
            await asyncio.sleep(0.2)

    async def _child(self, core: int, module: str, *arguments: str) -> Child:
        child = await Child.start(core, module, *arguments)
        self._children.append(child)
        return child

    async def _stop(self) -> None:
        while self._children:
            await self._children.pop().stop()

    async def _sync(self, runs: int) -> None:
        """Processor time and memory of the first sync, less the memory of one of nothing."""
        ready: list[dict[str, float]] = []
        for count in (0, *[self._count] * runs):
            await self._start(count, is_ticking=False)
            ready.append((await self._controller.report())["ready"])
            await self._stop()
        empty, *full = ready
        self.details["sync_runs"] = {"empty": empty, "full": full}
        self.measured["sync_cpu_s"] = statistics.median(run["cpu_seconds"] for run in full)
        resident = statistics.median(run["resident_mib"] for run in full)
        self.measured["sync_memory_mib"] = resident - empty["resident_mib"]

    async def _command(self, **command: Any) -> dict[str, Any]:
        status, answer = await self._control.get("api", "/control", json.dumps(command).encode())
        assert status == 200
        told: dict[str, Any] = json.loads(answer)
        return told

    def _new_path(self) -> str:
        self._unique += 1
        return f"/live-{self._unique}"

    async def _until(
        self, host: str, path: str, is_live: Callable[[tuple[int, bytes]], bool], pause: float = 0.0
    ) -> float:
        """Ask again and again; return when the request began that was answered as wanted."""
        deadline = monotonic() + _TIMEOUT_SECONDS
        while True:
            began = monotonic()
            if is_live(await self._probe.get(host, path)):
                return began
            if began > deadline:
                raise SystemExit(f"bench.cluster.watch: {host}{path} never came to life")
            if pause:
                await asyncio.sleep(pause)

    async def _updates(self, seconds: float) -> None:
        """500 changes of route objects a second."""
        await self._controller.report()
        told = await self._command(do="updates", rate=500, seconds=seconds, path="/after-updates")
        live = await self._live_path("/after-updates")
        report = await self._controller.report()
        self.measured["updates_stall_ms"] = report["now"]["stall_ms"]
        self.details["updates_stall_cpu_ms"] = report["now"]["stall_cpu_ms"]
        self.details["updates_live_s"] = live - told["at"]

    async def _live_path(self, path: str, pause: float = 0.0) -> float:
        return await self._until(objects.HOST.format(index=0), path, lambda answer: answer[0] == 200, pause)

    async def _slices(self, times: int) -> None:
        """An EndpointSlice leads to another port: how long until requests go there."""
        delays = []
        for number in range(times):
            index, name = 1 + number % (objects.LIVE_HOSTS - 1), (b"b", b"a")[number // 19 % 2]
            port = self._pods[0 if name == b"a" else 1]
            told = await self._command(do="slice", index=index, port=port)
            host = objects.HOST.format(index=index)
            live = await self._until(host, "/", lambda answer, name=name: answer == (200, name))  # type: ignore[misc]
            delays.append((live - told["at"]) * 1000)
            await asyncio.sleep(0.005)
        self._delays("slice", delays)

    async def _route_objects(self, times: int) -> None:
        """A route object gets another path: how long until requests find it."""
        delays = []
        for _ in range(times):
            path = self._new_path()
            told = await self._command(do="route", index=0, path=path)
            delays.append((await self._live_path(path) - told["at"]) * 1000)
            await asyncio.sleep(0.005)
        self._delays("route", delays)

    def _delays(self, name: str, delays: list[float]) -> None:
        self.details[f"{name}_p50_ms"] = quantile(delays, 0.5)
        self.measured[f"{name}_p99_ms"] = quantile(delays, 0.99)

    async def _burst(self, count: int) -> None:
        """Changes as fast as they are taken."""
        await self._controller.report("timer on")
        path = self._new_path()
        await self._command(do="prepare", count=count)
        told = await self._command(do="burst", path=path)
        live = await self._live_path(path, _PAUSE_SECONDS)
        report = await self._controller.report()
        self.measured["burst_per_s"] = count / (live - told["start"])
        self.measured["burst_live_s"] = live - told["at"]
        self.details["burst_stall_ms"] = report["now"]["stall_ms"]
        self.details["burst_stall_cpu_ms"] = report["now"]["stall_cpu_ms"]

    async def _traffic(self, count: int, seconds: float) -> None:
        """A burst with requests going on, beside the same requests without."""
        await self._controller.report("timer off")
        hosts = tuple(objects.HOST.format(index=index) for index in range(1, objects.LIVE_HOSTS))

        async def loaded(work: Awaitable[object]) -> Load:
            load = Load(self._http, hosts, 500)
            running = asyncio.create_task(load.run())
            await work
            load.is_over = True
            await running
            return load

        async def burst() -> None:
            path = self._new_path()
            await self._command(do="burst", path=path)
            await self._live_path(path, _PAUSE_SECONDS)

        await self._command(do="prepare", count=count)
        idle = await loaded(asyncio.sleep(seconds))
        busy = await loaded(burst())
        p99 = quantile(idle.latencies, 0.99), quantile(busy.latencies, 0.99)
        self.measured["traffic_failed"] = idle.failed + busy.failed
        self.measured["traffic_p99_ratio"] = p99[1] / p99[0]
        self.details["traffic"] = {
            "idle_p99_ms": p99[0] * 1000,
            "burst_p99_ms": p99[1] * 1000,
            "burst_requests": len(busy.latencies),
        }

    async def _idle(self, seconds: float) -> None:
        """Nothing happens."""
        await self._controller.report("timer off")
        await asyncio.sleep(2.0)
        before = (await self._controller.report())["now"]
        await asyncio.sleep(seconds)
        after = (await self._controller.report())["now"]
        spent, passed = (after[name] - before[name] for name in ("cpu_seconds", "wall_seconds"))
        self.measured["idle_percent"] = 100 * spent / passed


def _have_core(core: int) -> None:
    """Bind this process to a core, before others where that is allowed."""
    os.sched_setaffinity(0, {core})
    try:
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
        # Where Linux groups processes by session, it is the group's niceness that counts.
        Path("/proc/self/autogroup").write_text(str(_NICENESS), encoding="ascii")
    except OSError:
        # The figures then contain what else the machine does.
        pass


def verdict(goal: Goal, value: float) -> str:
    """What a figure comes to: ``aim``, ``must`` or ``missed``."""

    def meets(bound: float) -> bool:
        return value >= bound if goal.more_is_better else value <= bound

    if goal.aim is not None and meets(goal.aim):
        return "aim"
    return "must" if meets(goal.must) else "missed"


def table(measured: dict[str, float]) -> str:
    """The figures beside what they must be and what is aimed for."""
    lines = [f"{'what':60} {'must':>8} {'aim':>8} {'measured':>10}"]
    for goal in GOALS:
        value = measured[goal.name]
        aim = "" if goal.aim is None else f"{goal.aim:g}"
        lines.append(
            f"{f'{goal.text} ({goal.unit})' if goal.unit else goal.text:60} {goal.must:8g} {aim:>8}"
            f" {value:10.2f}  {verdict(goal, value)}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.watch", description=__doc__)
    parser.add_argument(
        "--count", type=int, default=10_000, help="route objects, Services, EndpointSlices, each"
    )
    parser.add_argument(
        "--routes", choices=("ingresses", "httproutes"), default="ingresses", help="kind of the route objects"
    )
    parser.add_argument("--burst", type=int, default=20_000, help="changes of the burst")
    parser.add_argument("--runs", type=int, default=3, help="syncs that processor time is the median of")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of each part with a fixed rate")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file for the figures")
    known = parser.parse_args()
    _have_core(0)
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="txingress-watch-") as folder:
        bench = Bench(known.count, Path(folder), known.routes)
        asyncio.run(bench.run(known.runs, known.burst, known.seconds))
    print(table(bench.measured))
    results = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "routes": known.routes,
        "objects_of_each_kind": known.count,
        "burst": known.burst,
        "load_average_before": load,
        "python": machine.python(),
        "measured": bench.measured,
        "details": bench.details,
    }
    known.results.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
