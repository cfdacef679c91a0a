"""What a process takes before anybody asks anything, and for what: ``make bench-memory`` prints it beside the goals.

Each figure is that of a real ``twistd ingress`` on loopback.  Memory depends little on what else the machine does; the seconds
of the start do, so their median stands beside the processor's share of it, which does not.  OpenSSL alone is shown by a process
that accepts as many connections of TLS, on contexts like ours, and speaks nothing on them: no connection over TLS takes less.
"""

import argparse
import asyncio
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

from attrs import frozen
from OpenSSL import SSL

from bench.cluster.sizing import Bench, start_backend, tls_client
from bench.cluster.watch.__main__ import Bench as WatchBench
from bench.loads.catalog import PLAIN_HOST, SECURE_HOST
from bench.measuring import gauges
from bench.measuring.idle import IDLE_KINDS, SETTLE_SECONDS, IdleConnections
from bench.reports.tables import MISSING, text_table
from bench.setup.certificate import KeyPair, write_key_pair
from bench.setup.ending import status_of
from bench.setup.processes import HOST, Processes, free_ports, pause
from ingress.tls.bases import Bases, BegunConnection
from ingress.tls.binding import put_on_socket, restrict_groups
from ingress.tls.profile import HTTP_1_1, HTTP_2, known_groups, settle_profile

INGRESSES: Final = 10_000
STARTS: Final = 10
WORKERS: Final = 2
_ALONE: Final = "--tls-alone"
_MIB: Final = 1024.0
_ALONE_KIND: Final = IDLE_KINDS[-1]
_HYBRID: Final = b"X25519MLKEM768"


@frozen
class Figure:
    """One row: what was measured, and the most that it is to be; None where there is no goal."""

    what: str
    unit: str
    measured: float
    goal: float | None = None

    def row(self) -> list[str]:
        """As cells of a table."""
        digits = 2 if self.measured < 100 else 0
        if self.goal is None:
            return [f"{self.what}, {self.unit}", f"{self.measured:.{digits}f}", MISSING, MISSING]
        met = "yes" if self.measured <= self.goal else "no"
        return [f"{self.what}, {self.unit}", f"{self.measured:.{digits}f}", f"≤ {self.goal:g}", met]


HEAD: Final = ["", "measured", "goal", "met"]


def start_figures(bench: Bench) -> Iterator[Figure]:
    """Yield how long it takes from the start of the process to its first answer, and what it takes then."""
    seconds: list[float] = []
    spent: list[float] = []
    for number in range(STARTS + 1):
        began = monotonic()
        with bench.controller() as controller:
            # The first one warms up: bytecode and pages of libraries come from the disk.
            if number:
                seconds.append(monotonic() - began)
                spent.append(gauges.cpu_seconds(controller.running.pid))
    yield Figure("start with manifests, to the first answer", "s", median(seconds), 0.6)
    yield Figure("of that, on a processor", "s", median(spent))


def process_figures(bench: Bench) -> Iterator[Figure]:
    """Yield what processes take that serve two hosts, and nobody has asked."""
    with bench.controller() as controller:
        yield Figure("one process", "MiB PSS", controller.mebibytes())
        yield Figure("one process", "MiB RSS", gauges.resident_kib(controller.running.pid) / _MIB, 45)
    with bench.controller(f"--workers={WORKERS}") as controller:
        total = controller.mebibytes()
        root, *others = gauges.process_tree(controller.running.pid)
        own = gauges.own_proportional_kib
        yield Figure("with 2 workers, all processes", "MiB PSS", total)
        yield Figure("of these, the parent", "MiB PSS", own(root) / _MIB)
        yield Figure("the largest of the others", "MiB PSS", max(map(own, others)) / _MIB)


def connection_figures(bench: Bench, folder: Path, pair: KeyPair) -> Iterator[Figure]:
    """Yield what a connection at rest takes that has asked once, and what OpenSSL takes of it."""
    goals = {"idle": 1.5, "idle_h2": 20.0}
    for kind in IDLE_KINDS:
        with bench.controller("--max-connections=20000") as controller:
            port = controller.https if kind.is_secure else controller.http
            each = _growth(controller.running.pid, port, kind.ask, kind.first, kind.counted)
        yield Figure(kind.title, "KiB each", each, goals[kind.name])
    (port,) = free_ports(1)
    with Processes.logging_to(folder) as processes:
        command = [
            sys.executable,
            "-m",
            "bench.cluster.memory",
            _ALONE,
            str(port),
            str(pair.certificate_path),
            str(pair.key_path),
        ]
        running = processes.start("tls", command, 1, {"PYTHONPATH": str(Path(__file__).parents[2])})
        _wait_for(port)
        for what, ask in (
            ("OpenSSL's part of one over TLS", tls_client),
            ("the same of a browser, by X25519MLKEM768", _hybrid_client),
        ):
            each = _growth(running.pid, port, ask, _ALONE_KIND.first, _ALONE_KIND.counted)
            yield Figure(what, "KiB each", each)


def _hybrid_client(connection: socket.socket) -> socket.socket:
    """Begin TLS on *connection* with a key that is agreed on as current browsers do, which the ``ssl`` of an older OpenSSL cannot."""
    context = SSL.Context(SSL.TLS_METHOD)
    restrict_groups(context, known_groups(_HYBRID))
    connection.settimeout(None)
    begun = SSL.Connection(context, connection)
    begun.set_connect_state()
    begun.do_handshake()
    return connection


def _growth(
    pid: int, port: int, ask: Callable[[socket.socket], socket.socket], first: int, counted: int
) -> float:
    with IdleConnections(port, ask) as connections:
        connections.add(first)
        pause(SETTLE_SECONDS)
        before = gauges.resident_kib(pid)
        connections.add(counted)
        pause(SETTLE_SECONDS)
        return (gauges.resident_kib(pid) - before) / counted


def _wait_for(port: int) -> None:
    while True:
        try:
            socket.create_connection((HOST, port)).close()
        except OSError:
            pause(0.05)
        else:
            return


def accept_tls(port: int, certificate: str, key: str) -> None:
    """Accept connections on *port* and finish their handshakes, one after the other; never returns."""
    bases = Bases()
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    settle_profile(context, SSL.TLS1_2_VERSION, protocols=(HTTP_2, HTTP_1_1))
    context.use_certificate_chain_file(certificate)
    context.use_privatekey_file(key)

    def choose(connection: SSL.Connection) -> int | None:
        connection.set_context(context)
        return None

    kept: list[SSL.Connection] = []
    with socket.create_server((HOST, port), backlog=1024) as listening:
        while True:
            sock, _ = listening.accept()
            connection = bases.begin(BegunConnection, sock, choose, b"alone")
            connection.set_accept_state()
            put_on_socket(connection, sock)
            try:
                connection.do_handshake()
            except SSL.Error:
                continue
            kept.append(connection)


def cluster_figures(folder: Path) -> Iterator[Figure]:
    """Yield what Ingresses of an API server take, each with a Service and an EndpointSlice."""
    grown = asyncio.run(WatchBench(INGRESSES, folder).memory(1))
    yield Figure(f"{INGRESSES:,} Ingresses", "MiB more", grown, 40)


def command_figures() -> Iterator[Figure]:
    """Yield how long ``ingressctl`` takes to say its version."""
    command = [str(Path(sys.executable).with_name("ingressctl")), "--version"]
    seconds = []
    for _ in range(STARTS + 1):
        began = monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(monotonic() - began)
    yield Figure("ingressctl --version", "s", median(seconds[1:]))


PARTS: Final = ("start", "processes", "connections", "cluster", "command")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, part by part."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == [_ALONE]:
        accept_tls(int(given[1]), *given[2:])
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.memory", description=__doc__)
    # No choices: until Python 3.12 argparse asks whether none at all is one of them.
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)}; all without"
    )
    wanted = parser.parse_args(given).parts or PARTS
    if unknown := [part for part in wanted if part not in PARTS]:
        parser.error(f"there is no {unknown[0]}, only {', '.join(PARTS)}")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with TemporaryDirectory() as name, Processes.logging_to(Path(name)) as processes:
        folder = Path(name)
        pair = write_key_pair(folder, (PLAIN_HOST, SECURE_HOST))
        bench = Bench(folder, pair, start_backend(processes))
        makers: dict[str, Callable[[], Iterator[Figure]]] = {
            "start": lambda: start_figures(bench),
            "processes": lambda: process_figures(bench),
            "connections": lambda: connection_figures(bench, folder, pair),
            "cluster": lambda: cluster_figures(folder),
            "command": command_figures,
        }
        print(f"Load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs\n")
        for part in wanted:
            print(text_table([HEAD, *(figure.row() for figure in makers[part]())]), end="\n\n", flush=True)


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
