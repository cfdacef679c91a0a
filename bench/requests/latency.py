"""How long requests take while something else goes on: ``make bench-latency``.

2,000 requests a second are due, whatever becomes of those before (``openloop``, which reads as soon as something has
come), on 32 connections.  The proxy has the second CPU, everything else the first one.  In turn:

1. ours and nginx, at rest: evenly spaced, and in bursts of 32;
2. both beside a client that asks 256 times at once, ten times a second, and beside eight downloads of 10 MB over HTTP/2, as fast as
   they go, by a client that lets others have the first CPU before it (500 requests a second there);
3. ours with 10,000 Ingresses of an API server: at rest, while ten of them change each second, while all of them change
   as fast as that is taken, and while ``/metrics`` and each list of the admin port are read once a second.

Latencies count from when a request was due to the last byte of its answer.  Of a burst the median of the first answers
and of the last ones tells how much is the order in which they are served.  How long the garbage collector took at
most, and which share of the processor's time it had, is what the process itself counts.  The p99 of others is compared with
the one at rest.  What befalls the machine for a moment is in both, so compared are the medians of the p99 of each second.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from attrs import frozen

from bench.cluster.admin import page
from bench.cluster.watch import objects
from bench.cluster.watch.__main__ import Child
from bench.cluster.watch.traffic import Client
from bench.endpoints.backend import backend_command
from bench.loads.catalog import FIXED_RATE, HOSTS, LOADS, PLAIN_HOST, RSA_HOST
from bench.loads.generators import command
from bench.measuring.campaign import fresh_folder
from bench.peers import install
from bench.peers.targets import TARGETS, Site, Target
from bench.reports.tables import text_table
from bench.setup.certificate import write_key_pair, write_rsa_pair
from bench.setup.choosing import chosen, two_cpus
from bench.setup.ending import status_of
from bench.setup.errors import BenchError
from bench.setup.processes import (
    HOST,
    Processes,
    free_ports,
    wait_until_it_answers,
)

FOLDER = Path(sys.prefix) / "bench"
SOURCE = Path(__file__).parents[1] / "loads" / "openloop"
CONNECTIONS = 32
BURST = 32
CROWD = 256
DOWNLOADS = next(load for load in LOADS if load.name == "h2-download")
DOWNLOADS_RATE = 500
MANY = 1_000_000
"""More downloads than are ever made."""
CROWD_RATE = 10 * CROWD
CHANGES_RATE = 10
LISTS = ("/api/v1/routes", "/api/v1/problems", "/api/v1/certificates", "/api/v1/endpoints")
_READY_SECONDS = 60.0
_LEAD_SECONDS = 1.2
"""What goes on beside the requests begins when these have begun: the load program waits a second."""


@frozen
class Loader:
    """Asks one proxy, by *program* on CPU number *cpu*."""

    program: str
    cpu: int
    seconds: float

    def command(self, port: int, host: str, rate: float, connections: int, burst: int) -> list[str]:
        """The command that asks at *port* for *host*."""
        words = ["taskset", "--cpu-list", str(self.cpu), self.program]
        words += [f"-address={HOST}:{port}", f"-host={host}", f"-rate={rate}", f"-seconds={self.seconds}"]
        return [*words, "-settled=0", f"-connections={connections}", f"-burst={burst}", "-pause=0"]

    async def ask(
        self,
        port: int,
        host: str,
        *,
        rate: float = FIXED_RATE,
        connections: int = CONNECTIONS,
        burst: int = 1,
    ) -> dict[str, Any]:
        """Ask; return what became of it."""
        process = await asyncio.create_subprocess_exec(
            *self.command(port, host, rate, connections, burst),
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "GOMAXPROCS": "1"},
        )
        told, _ = await process.communicate()
        if process.returncode:
            raise BenchError(f"the load program failed with status {process.returncode}")
        found: dict[str, Any] = json.loads(told)
        return found


HEAD = (
    "",
    "p50 ms",
    "p99 ms",
    "median of each second's",
    "p99.9 ms",
    "longest ms",
    "first of a burst",
    "last",
    "times at rest",
    "to nginx",
    "collector, longest ms",
    "its share",
    "failed",
)


def row(
    title: str, found: Mapping[str, Any], rest: Mapping[str, Any] | None, nginx: Mapping[str, Any] | None
) -> list[str]:
    """What is shown of one situation; *rest* is the same proxy at rest, *nginx* the other one in the same situation."""
    collector = found.get("collector")
    bursts = found["first_p50_ms"] != found["p50_ms"]
    return [
        title,
        *(f"{found[name]:.2f}" for name in ("p50_ms", "p99_ms", "median_p99_ms", "p999_ms", "longest_ms")),
        f"{found['first_p50_ms']:.2f}" if bursts else "",
        f"{found['last_p50_ms']:.2f}" if bursts else "",
        "" if rest is None else f"{found['median_p99_ms'] / rest['median_p99_ms']:.1f}",
        "" if nginx is None else f"{found['median_p99_ms'] / nginx['median_p99_ms']:.2f}",
        "" if collector is None else f"{collector['longest_ms']:.2f}",
        "" if collector is None else f"{collector['share']:.2%}",
        str(found["failed"] + found["others"] + found["refused"] + found["due"] - found["sent"]),
    ]


@contextmanager
def proxies(
    targets: Sequence[Target], cpus: tuple[int, int], folder: Path
) -> Iterator[tuple[dict[str, Site], int]]:
    """Start the backend and *targets*; yield the sites by name, and the backend's port."""
    load_cpu, proxy_cpu = cpus
    pair, rsa_pair = write_key_pair(folder, HOSTS), write_rsa_pair(folder, (RSA_HOST,))
    backend, h2c, grpc = free_ports(3)
    with Processes.logging_to(folder) as processes:
        behind = processes.start("backend", backend_command(folder, backend, h2c), load_cpu)
        wait_until_it_answers(behind, backend, PLAIN_HOST)
        sites = {}
        for target in targets:
            http, https, admin = free_ports(3)
            site = Site(folder, http, https, admin, backend, h2c, grpc, pair, rsa_pair, {})
            running = processes.start(target.name, target.command(site), proxy_cpu, target.environment)
            wait_until_it_answers(running, http, PLAIN_HOST)
            sites[target.name] = site
        yield sites, backend


async def beside_nginx(loader: Loader, sites: Mapping[str, Site]) -> dict[str, dict[str, dict[str, Any]]]:
    """Measure what every proxy can be asked: by situation, then by target."""
    found: dict[str, dict[str, dict[str, Any]]] = {}

    async def all_of(title: str, ask: Callable[[Site], Awaitable[dict[str, Any]]]) -> None:
        found[title] = {}
        for name, site in sites.items():
            install.say(f"asking {name}, {title}")
            found[title][name] = await ask(site)

    async def crowded(site: Site) -> dict[str, Any]:
        others = asyncio.create_task(
            loader.ask(site.http, PLAIN_HOST, rate=CROWD_RATE, connections=CROWD, burst=CROWD)
        )
        asked = await loader.ask(site.http, PLAIN_HOST)
        await others
        return asked

    async def downloading(site: Site) -> dict[str, Any]:
        words = command(DOWNLOADS, site.https, MANY, 0, Path(os.devnull), Path(os.devnull), Path(os.devnull))
        others = await asyncio.create_subprocess_exec(
            *("taskset", "--cpu-list", str(loader.cpu), "nice", *words), stdout=subprocess.DEVNULL
        )
        try:
            asked = await loader.ask(site.http, PLAIN_HOST, rate=DOWNLOADS_RATE)
            if others.returncode is not None:
                raise BenchError("the downloads ended before the requests")
            return asked
        finally:
            if others.returncode is None:
                others.terminate()
            await others.wait()

    await all_of("at rest", lambda site: loader.ask(site.http, PLAIN_HOST))
    await all_of(
        f"at rest, in bursts of {BURST}", lambda site: loader.ask(site.http, PLAIN_HOST, burst=BURST)
    )
    await all_of(f"beside bursts of {CROWD}", crowded)
    await all_of(f"beside {DOWNLOADS.connections * DOWNLOADS.streams} downloads over HTTP/2", downloading)
    return found


class Cluster:
    """Ours with the Ingresses of an API server, and what can go on there."""

    def __init__(self, controller: Child, api: Client, http: int, admin: int) -> None:
        self.controller = controller
        self.http = http
        self._api = api
        self._admin = admin

    async def command(self, **command: Any) -> None:
        """Have the API server do something."""
        status, _ = await self._api.get("api", "/control", json.dumps(command).encode())
        if status != 200:
            raise BenchError(f"the API server refused: {command}")

    async def read(self, path: str, seconds: float) -> None:
        """Read a page of the admin port once a second."""
        until = monotonic() + seconds
        while (began := monotonic()) < until:
            if not await page(self._admin, path):
                raise BenchError(f"{path} was not answered")
            await asyncio.sleep(max(0.0, began + 1.0 - monotonic()))


@asynccontextmanager
async def cluster(count: int, backend: int, folder: Path, cpus: tuple[int, int]) -> AsyncIterator[Cluster]:
    """Start an API server with *count* Ingresses, and ours, which reads them."""
    server = await Child.start(
        cpus[0], "bench.cluster.watch.server", f"--count={count}", f"--port={backend}", "--network=127"
    )
    children = [server]
    try:
        port = int(await server.line())
        http, https, admin = free_ports(3)
        options = {"http": http, "https": https, "admin": admin}
        controller = await Child.start(
            cpus[1],
            "bench.cluster.watch.subject",
            "still",
            str(folder / "log"),
            f"--server=http://{HOST}:{port}",
            f"--access-log={folder / 'access'}",
            "--allow-endpoint-networks=127.0.0.0/8",
            *(f"--{name}=tcp:{number}:interface={HOST}" for name, number in options.items()),
        )
        children.append(controller)
        deadline = monotonic() + _READY_SECONDS
        while (await controller.report("look"))["ready"] is None:
            if monotonic() > deadline:
                raise BenchError("the controller is not ready")
            await asyncio.sleep(0.2)
        yield Cluster(controller, Client(port), http, admin)
    finally:
        for child in children:
            await child.stop()


async def of_cluster(loader: Loader, served: Cluster, count: int) -> dict[str, dict[str, Any]]:
    """Measure what goes on in a large cluster, by situation."""
    found: dict[str, dict[str, Any]] = {}
    hosts = objects.HOST.format(index=3)

    async def beside(title: str, work: Awaitable[None] | None = None) -> None:
        install.say(f"asking ours with {count:,} Ingresses, {title}")
        before = (await served.controller.report())["now"]
        asking = asyncio.create_task(loader.ask(served.http, hosts))
        if work is not None:
            await asyncio.sleep(_LEAD_SECONDS)
            await work
        asked = await asking
        now = (await served.controller.report())["now"]
        spent = now["cpu_seconds"] - before["cpu_seconds"]
        asked["collector"] = {
            "longest_ms": now["collector_longest_ms"],
            "share": (now["collector_seconds"] - before["collector_seconds"]) / max(spent, 1e-9),
        }
        found[title] = asked

    seconds = loader.seconds - 1.0
    await beside("at rest")
    changes = {"do": "updates", "rate": CHANGES_RATE, "seconds": seconds, "path": "/changed"}
    await beside(f"{CHANGES_RATE} change each second", served.command(**changes))
    await served.command(do="prepare", count=2 * count)
    await beside("all change, as fast as it goes", served.command(do="burst", path="/all-changed"))
    for path in ("/metrics", *LISTS):
        await beside(f"{path} each second", served.read(path, seconds))
    return found


def shown(compared: Mapping[str, Mapping[str, Any]], alone: Mapping[str, Any], count: int) -> str:
    """The table."""
    rows = [list(HEAD)]
    rest: Mapping[str, Any] = next(iter(compared.values()), {})
    for title, by_name in compared.items():
        for name, found in by_name.items():
            is_rest = found is rest[name]
            beside = by_name.get("nginx") if name != "nginx" else None
            rows.append(row(f"{name}, {title}", found, None if is_rest else rest[name], beside))
    at_rest = next(iter(alone.values()), None)
    for title, found in alone.items():
        before = None if found is at_rest else at_rest
        rows.append(row(f"ours with {count:,} Ingresses, {title}", found, before, None))
    return text_table(rows)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.requests.latency", description=__doc__)
    parser.add_argument("--targets", default="ours,nginx", metavar="NAMES")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each situation")
    parser.add_argument("--count", type=int, default=10_000, help="Ingresses; 0 leaves the cluster out")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write what came out there, as JSON")
    arguments = parser.parse_args()
    cpus = two_cpus()
    install.search_system_folders()
    install.ensure_programs(("nginx", "taskset"))
    FOLDER.mkdir(exist_ok=True)
    loader = Loader(install.build_go(SOURCE, FOLDER), cpus[0], arguments.seconds)
    targets = chosen(arguments.targets, TARGETS, False) if arguments.targets else ()
    folder = fresh_folder(FOLDER, "latency")
    with proxies(targets, cpus, folder) as (sites, backend):
        compared, alone = asyncio.run(_measure(loader, sites, backend, arguments.count, cpus))
    print(shown(compared, alone, arguments.count))
    if arguments.output is not None:
        document = {"compared": compared, "ingresses": arguments.count, "cluster": alone}
        arguments.output.write_text(json.dumps(document, indent=1) + "\n")
    return 0


async def _measure(
    loader: Loader, sites: Mapping[str, Site], backend: int, count: int, cpus: tuple[int, int]
) -> tuple[dict[str, dict[str, dict[str, Any]]], dict[str, dict[str, Any]]]:
    compared = await beside_nginx(loader, sites) if sites else {}
    if not count:
        return compared, {}
    folder = Path(tempfile.mkdtemp(prefix="txingress-latency-"))
    try:
        async with cluster(count, backend, folder, cpus) as served:
            return compared, await of_cluster(loader, served, count)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
