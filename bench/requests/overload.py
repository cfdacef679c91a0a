"""What becomes of three times the load that one core takes: ``make bench-overload``, beside nginx and HAProxy.

Each proxy has a core of its own, with one worker; the load program (``openloop``) and the endpoint share the other one.  Requests are due
at a rate, whatever becomes of those before; connections are kept, as those of clients and load balancers are, and
many, so that much can wait.  For each proxy in turn:

1. the *best* goodput: as many requests as it answers with 200, where a few connections ask again at once, or where
   many ask at a little less than that rate, whichever is more;
2. *idle*: a tenth of that rate;
3. *three times* that rate.  The first two seconds, in which a proxy finds out about it, are told apart;
4. a tenth of it again, at once: what is left of the overload.

What is not sent, since nothing was answered on any connection, is counted: a client with so many connections has no
more to give.  Where the load program is what ends first, fewer requests are due than three times as many, which is shown.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

from attrs import frozen

from bench.endpoints.backend import backend_command
from bench.loads.catalog import HOSTS, PLAIN_HOST, RSA_HOST
from bench.measuring.campaign import fresh_folder
from bench.measuring.gauges import cpu_seconds
from bench.peers import install
from bench.peers.targets import TARGETS, Site, Target
from bench.reports.tables import text_table
from bench.setup.certificate import write_key_pair, write_rsa_pair
from bench.setup.choosing import allow_open_files, chosen, two_cpus
from bench.setup.ending import status_of
from bench.setup.errors import BenchError
from bench.setup.processes import (
    HOST,
    Processes,
    Running,
    answers,
    free_ports,
    pause,
    wait_until_it_answers,
    wait_until_it_listens,
)

PAGE = "/download/page"
_PAGE_LINES = 400
"""Some 32 KiB of text."""
FOLDER = Path(sys.prefix) / "bench"
SOURCE = Path(__file__).parents[1] / "loads" / "openloop"
FEW = 64
"""Connections that keep a core busy."""
MANY = 2000
TIMES = 3
_BESIDE = "ours,nginx,haproxy"
_ENDLESS = 1_000_000
_REST_SECONDS = 2.0


@frozen
class Loader:
    """Asks one proxy: *program* on CPU number *cpu*."""

    program: str
    cpu: int
    address: str
    path: str
    pid: int

    def ask(self, rate: float, seconds: float, connections: int) -> dict[str, Any]:
        """Ask at *rate*; return what became of it."""
        command = ["taskset", "--cpu-list", str(self.cpu), self.program]
        command += [
            f"-address={self.address}",
            f"-host={PLAIN_HOST}",
            f"-path={self.path}",
            f"-rate={rate:.0f}",
        ]
        command += [f"-seconds={seconds}", f"-connections={connections}"]
        before = cpu_seconds(self.pid)
        one_core = {**os.environ, "GOMAXPROCS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 120, env=one_core)
        if done.returncode:
            raise BenchError(f"the load program failed: {done.stderr.strip().splitlines()[-1:]}")
        found: dict[str, Any] = json.loads(done.stdout)
        # With what making the connections took, and the last answers.
        found["worked"] = cpu_seconds(self.pid) - before
        return found


class Health:
    """Asks an admin port for its health ten times a second, in a thread of its own."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ends = Event()
        self.seconds: list[float] = []
        """How long each answer took."""
        self.failed = 0

    def __enter__(self) -> "Health":
        self._thread = Thread(target=self._ask, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._ends.wait(0.1):
            began = monotonic()
            if answers(self._port, HOST, "/healthz"):
                self.seconds.append(monotonic() - began)
            else:
                self.failed += 1

    def figures(self) -> dict[str, Any]:
        """Return the longest time in milliseconds, how many answers there were, and how many were missing."""
        longest = max(self.seconds, default=0.0)
        return {"longest_ms": longest * 1000, "answered": len(self.seconds), "failed": self.failed}


def measure(loader: Loader, seconds: float, connections: int, admin: int | None) -> dict[str, Any]:
    """Find the best goodput of one proxy, and ask for a tenth and for three times of it; and at *admin* for its health."""
    closed = loader.ask(_ENDLESS, 4, FEW)
    pause(_REST_SECONDS)
    best = max(closed, loader.ask(0.95 * closed["goodput"], 4, connections), key=itemgetter("goodput"))
    rate = best["goodput"]
    pause(_REST_SECONDS)
    found = {"best": best, "idle": loader.ask(rate / 10, 8, connections)}
    if admin is None:
        found["over"] = loader.ask(TIMES * rate, seconds, connections)
    else:
        with Health(admin) as health:
            found["over"] = loader.ask(TIMES * rate, seconds, connections)
        found["health"] = health.figures()
    found["after"] = loader.ask(rate / 10, 4, connections)
    return found


COLUMNS = (
    "",
    "best /s",
    "idle p99 ms",
    "due /s",
    "goodput /s",
    "of best",
    "p50 ms",
    "p99 ms",
    "times idle",
    "p99 with the first 2 s",
    "refused /s",
    "not sent /s",
    "failed",
    "of the core",
    "of best, by its time",
    "p99 ms right after",
    "health, longest ms",
)


def row(title: str, found: dict[str, Any]) -> list[str]:
    """Return what is shown of one proxy."""
    best, idle, over, health = found["best"]["goodput"], found["idle"], found["over"], found.get("health")
    by_time = (over["accepted"] / over["worked"]) / (found["best"]["accepted"] / found["best"]["worked"])
    return [
        title,
        f"{best:,.0f}",
        f"{idle['p99_ms']:.2f}",
        f"{over['due'] / over['seconds']:,.0f}",
        f"{over['settled_goodput']:,.0f}",
        f"{100 * over['settled_goodput'] / best:.0f} %",
        f"{over['settled_p50_ms']:.2f}",
        f"{over['settled_p99_ms']:.2f}",
        f"{over['settled_p99_ms'] / idle['p99_ms']:.1f}",
        f"{over['p99_ms']:.1f}",
        f"{over['refused'] / over['seconds']:,.0f}",
        f"{(over['due'] - over['sent']) / over['seconds']:,.0f}",
        str(over["failed"] + over["others"]),
        f"{100 * over['worked'] / over['seconds']:.0f} %",
        f"{100 * by_time:.0f} %",
        f"{found['after']['p99_ms']:.2f}",
        "" if health is None else f"{health['longest_ms']:.1f}",
    ]


def compressing(name: str, command: list[str]) -> list[str]:
    """Have the proxy that *command* starts compress text, quickly, as all of them would by default where it is on."""
    if name == "ours":
        return [*command, "--use-gzip=true", "--gzip-types=text/plain"]
    config = Path(command[-1])
    before, after = _COMPRESSING[name]
    config.write_text(config.read_text().replace(before, after, 1))
    return command


_COMPRESSING = {
    "nginx": ("http {", "http { gzip on; gzip_proxied any; gzip_types text/plain;"),
    "haproxy": (
        "backend only\n",
        "backend only\n    filter compression\n    compression algo gzip\n    compression type text/plain\n",
    ),
}
"""What of each configuration is replaced, and by what."""


@contextmanager
def proxies(targets: Sequence[Target], cpus: tuple[int, int]) -> Iterator[dict[str, tuple[Running, Site]]]:
    """Start the endpoint and all *targets*; on leaving, all are ended."""
    load_cpu, proxy_cpu = cpus
    folder = fresh_folder(FOLDER, "overload")
    pair, rsa_pair = write_key_pair(folder, HOSTS), write_rsa_pair(folder, (RSA_HOST,))
    backend, h2c, grpc = free_ports(3)
    with Processes.logging_to(folder) as processes:
        behind = processes.start("backend", backend_command(folder, backend, h2c), load_cpu)
        wait_until_it_answers(behind, backend, PLAIN_HOST)
        page = "".join(
            f"{number:05} of many lines that a page of a shop has: {number**5:x}, {number**3:o}\n"
            for number in range(_PAGE_LINES)
        )
        (folder / "files" / "download" / "page").write_text(page)
        found = {}
        for target in targets:
            http, https, admin = free_ports(3)
            site = Site(folder, http, https, admin, backend, h2c, grpc, pair, rsa_pair, {})
            command = compressing(target.name, target.command(site))
            running = processes.start(target.name, command, proxy_cpu, target.environment)
            wait_until_it_answers(running, http, PLAIN_HOST)
            wait_until_it_listens(running, https)
            found[target.name] = running, site
        yield found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.requests.overload", description=__doc__)
    parser.add_argument("--targets", default=_BESIDE, metavar="NAMES")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--connections", type=int, default=MANY)
    parser.add_argument(
        "--path", default=PAGE, help="what is asked for; a page that is compressed, or / for a small one"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write what came out there, as JSON")
    arguments = parser.parse_args()
    cpus = two_cpus()
    allow_open_files()
    install.search_system_folders()
    install.ensure_programs(("nginx", "haproxy", "taskset"))
    FOLDER.mkdir(exist_ok=True)
    program = install.build_go(SOURCE, FOLDER)
    targets = chosen(arguments.targets, TARGETS, False)
    found = {}
    with proxies(targets, cpus) as started:
        for target in targets:
            install.say(f"asking {target.title}")
            running, site = started[target.name]
            loader = Loader(program, cpus[0], f"{HOST}:{site.http}", arguments.path, running.pid)
            found[target.name] = measure(
                loader,
                arguments.seconds,
                arguments.connections,
                site.admin if target.name == "ours" else None,
            )
    rows = [row(target.title, found[target.name]) for target in targets]
    # Proxies as columns: there are fewer of them than figures.
    print(text_table([list(each) for each in zip(COLUMNS, *rows, strict=True)]))
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
