"""The stage of one script at one proxy: a folder, ports, backends and the proxy, all ended when it is left."""

import asyncio
import os
import resource
import signal
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType

from attrs import define, evolve, frozen

from bench.disruptions.faults import gauges as more_gauges
from bench.disruptions.faults.backends import Backend, Behavior, BlackHole
from bench.disruptions.faults.checks import Checks
from bench.disruptions.faults.proxies import COMMANDS, DEFAULT_DEADLINES, REPOSITORY, TITLES, Deadlines, Site
from bench.measuring import gauges
from bench.setup.errors import BenchError
from bench.setup.processes import HOST, READY_SECONDS, Processes, Running, answers, free_ports

_POLL_SECONDS = 0.02
# A port may take connections before the process that serves them is there.
_SETTLE_SECONDS = 0.2


@frozen
class Proxy:
    """A proxy that runs."""

    name: str
    site: Site
    running: Running

    @property
    def http(self) -> int:
        """Its port."""
        return self.site.http

    @property
    def pid(self) -> int:
        """The root of its tree."""
        return self.running.pid

    def resident_kib(self) -> int:
        """What is in memory now."""
        return gauges.resident_kib(self.pid)

    def open_files(self) -> int:
        """How many descriptors are open now."""
        return more_gauges.open_files(self.pid)

    def tracebacks(self) -> int:
        """How many exceptions it has logged so far."""
        return self.running.log.read_text(errors="replace").count("Traceback (most recent call last)")


@define
class Pod:
    """A backend in a process of its own, which answers with its *name*."""

    name: str
    port: int
    _stage: "Stage"
    _running: Running | None = None

    @property
    def body(self) -> bytes:
        """What it answers."""
        return self.name.encode()

    async def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [
            self._stage.python,
            "-m",
            "bench.disruptions.faults.pod",
            f"--port={self.port}",
            f"--name={self.name}",
        ]
        self._running = self._stage.spawn(f"pod-{self.name}", command, self._stage.load_cpu)
        await until_open(self._running, self.port)

    def kill(self) -> None:
        """End it at once, as the kernel does when memory is short."""
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end, as Kubernetes does."""
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        assert self._running is not None
        os.kill(self._running.pid, number)
        if number == signal.SIGKILL:
            self._running.popen.wait()


class Stage:
    """Where a script is played to the proxy *target*; an asynchronous context manager."""

    def __init__(
        self,
        target: str,
        folder: Path,
        python: str,
        load_cpu: int,
        proxy_cpu: int,
        options: tuple[str, ...] = (),
    ) -> None:
        self.target = target
        self.python = python
        self.load_cpu = load_cpu
        self.proxy_cpu = proxy_cpu
        self.checks = Checks()
        self.tracebacks_allowed = 0
        """How many the script asks for."""
        self._folder = folder
        self._options = options
        """Of ours, in every script."""
        self._processes = Processes.logging_to(folder)
        self._backends: list[Backend] = []
        self._holes: list[BlackHole] = []
        self._proxies: list[Proxy] = []

    def __repr__(self) -> str:
        return f"<Stage {self.target} {self._folder}>"

    async def __aenter__(self) -> "Stage":
        self._processes.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for proxy in self._proxies:
                if kind is None:
                    self._look_at_end(proxy)
        finally:
            self._processes.__exit__(kind, error, trace)
        for backend in self._backends:
            await backend.stop()
        for hole in self._holes:
            hole.close()

    def _look_at_end(self, proxy: Proxy) -> None:
        """Whatever a script breaks, the proxy must still run, and must not have tripped."""
        if proxy.running.popen.poll() is not None:
            self.checks.holds("the proxy still runs", False)
        if proxy.name == "ours":
            tracebacks = proxy.tracebacks()
            if tracebacks != self.tracebacks_allowed:
                self.checks.equal("tracebacks", tracebacks, self.tracebacks_allowed)

    @property
    def is_ours(self) -> bool:
        """Whether it is our proxy."""
        return self.target == "ours"

    def spawn(self, name: str, command: Sequence[str], cpu: int) -> Running:
        """Start a process that can import this repository."""
        return self._processes.start(name, command, cpu, {"PYTHONPATH": str(REPOSITORY)})

    async def backend(
        self, behavior: Behavior, *, reads_body: bool = True, addresses: Sequence[str] = (HOST,)
    ) -> Backend:
        """Start a backend in this process."""
        backend = Backend(behavior, reads_body=reads_body)
        self._backends.append(backend)
        await backend.start(free_ports(1)[0], addresses)
        return backend

    def black_hole(self) -> int:
        """Return a port on which no connect ends."""
        (port,) = free_ports(1)
        self._holes.append(BlackHole(port))
        return port

    async def pods(self, count: int) -> list[Pod]:
        """Start so many backends, each in a process of its own; they are named a, b, c ..."""
        names = [chr(ord("a") + number) for number in range(count)]
        pods = [Pod(name, port, self) for name, port in zip(names, free_ports(count), strict=True)]
        await asyncio.gather(*(pod.start() for pod in pods))
        return pods

    def site(self, *ports: int) -> Site:
        """Return a new site in front of *ports*, to be changed and given to ``start``."""
        http, https, admin = free_ports(3)
        folder = self._folder / f"{self.target}-{http}"
        folder.mkdir()
        return Site(folder, http, https, admin, ports)

    async def start(self, site: Site) -> Proxy:
        """Start the proxy there, and wait until it is ready."""
        command = COMMANDS[self.target](evolve(site, options=(*self._options, *site.options)), more_files())
        running = self.spawn(f"{self.target}-{site.http}", command, self.proxy_cpu)
        proxy = Proxy(self.target, site, running)
        if self.is_ours:
            deadline = monotonic() + READY_SECONDS
            while not await asyncio.to_thread(answers, site.admin, "localhost", "/readyz"):
                running.check()
                if monotonic() > deadline:
                    raise BenchError(f"{TITLES[self.target]} is not ready; see {running.log}")
                await asyncio.sleep(_POLL_SECONDS)
        await until_open(running, site.http)
        await asyncio.sleep(_SETTLE_SECONDS)
        self._proxies.append(proxy)
        return proxy

    async def proxy(
        self, *ports: int, deadlines: Deadlines = DEFAULT_DEADLINES, plants_bug: bool = False
    ) -> Proxy:
        """Start the proxy in front of *ports*."""
        return await self.start(evolve(self.site(*ports), deadlines=deadlines, plants_bug=plants_bug))


def more_files() -> int:
    """Let this process and its children open as many files as they may; return how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(hard, 1 << 20) if hard != resource.RLIM_INFINITY else 1 << 20


async def until_open(running: Running, port: int) -> None:
    """Wait until *port* takes connections.  Raises BenchError when *running* ends, or takes too long."""
    deadline = monotonic() + READY_SECONDS
    while True:
        try:
            _, writer = await asyncio.open_connection(HOST, port)
        except OSError:
            running.check()
            if monotonic() > deadline:
                raise BenchError(f"{running.name} does not listen; see {running.log}") from None
            await asyncio.sleep(_POLL_SECONDS)
        else:
            writer.close()
            return


async def run_beside(stage: Stage, name: str, command: Sequence[str]) -> str:
    """Run *command* on the load's CPU; return what it says, once it has ended."""
    running = stage.spawn(name, command, stage.load_cpu)
    while running.popen.poll() is None:
        await asyncio.sleep(_POLL_SECONDS)
    if running.popen.returncode:
        raise BenchError(f"{name} ended with status {running.popen.returncode}; see {running.log}")
    return running.log.read_text()
