"""What is no overload, and what memory does: ``make bench-overload-cases`` prints what becomes of each case.

1. *Slow endpoints*: thousands of requests wait a second and more for their endpoint; nobody may be refused.
2. *A burst of handshakes*: five thousand clients connect over TLS at once, each for one request; all get it.
3. *Patient clients*: four hundred connections, each of which asks again as soon as it is answered; nobody may be refused.
4. *Streams*: fifty connections of HTTP/2 with a hundred requests each at once, for longer than a burst.
5. *Memory*: in a control group of its own, four thousand clients ask for a large answer, 800 a second, and take nothing of it.  Once as
   it is, and once with ``--overload-memory=0``.

The proxy has a core, and all else the other one.
"""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.endpoints.backend import backend_command
from bench.loads.catalog import HOSTS, PLAIN_HOST, RSA_HOST, SECURE_HOST
from bench.measuring.campaign import fresh_folder
from bench.peers import install
from bench.peers.targets import TARGETS, Site
from bench.requests.overload import FOLDER, SOURCE, Loader
from bench.setup.certificate import write_key_pair, write_rsa_pair
from bench.setup.choosing import allow_open_files, two_cpus
from bench.setup.ending import status_of
from bench.setup.errors import BenchError
from bench.setup.processes import (
    HOST,
    Processes,
    Running,
    free_ports,
    pause,
    wait_until_it_answers,
    wait_until_it_listens,
)

MIB = 1 << 20
SLOW_SECONDS = 2.0
SLOW_RATE = 2500
CONNECTIONS = 6500
MEMORY_MIB = 160
"""What the process may take besides that which it takes at rest."""
READERS = 4000
READERS_A_SECOND = 800
_GROUPS = Path("/sys/fs/cgroup/memory")
_GROUPS_V2 = Path("/sys/fs/cgroup")


class Ours:
    """The proxy, with *options*, in front of an endpoint."""

    def __init__(
        self, processes: Processes, folder: Path, cpus: tuple[int, int], endpoint: int, *options: str
    ) -> None:
        http, https, admin, h2c, grpc = free_ports(5)
        pairs = write_key_pair(folder, HOSTS), write_rsa_pair(folder, (RSA_HOST,))
        self.site = Site(folder, http, https, admin, endpoint, h2c, grpc, *pairs, {})
        [target] = (one for one in TARGETS if one.name == "ours")
        command = [*target.command(self.site), *options]
        self.running: Running = processes.start("ours", command, cpus[1])
        wait_until_it_listens(self.running, https)

    def series(self) -> dict[str, float]:
        """Return what the metrics say of overload."""
        text = _get(self.site.admin, HOST, "/metrics")
        return {
            name: float(value)
            for name, value in re.findall(r"^(ingress_overload\S*) (\S+)$", text, re.MULTILINE)
        }

    def refused(self) -> int:
        """Return how many requests were refused so far."""
        return int(sum(value for name, value in self.series().items() if "requests_refused" in name))


def _get(port: int, host: str, path: str) -> str:
    with socket.create_connection((HOST, port), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        heard = b""
        while octets := connection.recv(65536):
            heard += octets
    return heard.decode("latin-1")


def _h2load(cpu: int, port: int, *words: str) -> str:
    """Ask over TLS; return how the answers were, and how long they took."""
    command = [
        "taskset",
        "--cpu-list",
        str(cpu),
        "h2load",
        "--threads=1",
        f"--connect-to={HOST}:{port}",
        *words,
    ]
    done = subprocess.run([*command, f"https://{SECURE_HOST}/"], capture_output=True, text=True, timeout=120)
    said = re.search(r"^status codes: (.*)$", done.stdout, re.MULTILINE)
    took = re.search(r"^finished in (\S+),", done.stdout, re.MULTILINE)
    if said is None or took is None:
        raise BenchError(f"h2load printed no counts: {done.stderr[-200:]}")
    return f"{said[1]} in {took[1]}"


def slow_endpoints(stack: ExitStack, cpus: tuple[int, int], program: str) -> str:
    """Have thousands wait for their endpoint."""
    folder = fresh_folder(FOLDER, "overload-slow")
    processes = stack.enter_context(Processes.logging_to(folder))
    [port] = free_ports(1)
    behind = processes.start(
        "slow",
        [sys.executable, "-m", "bench.endpoints.slow_endpoint", str(port), str(SLOW_SECONDS)],
        cpus[0],
        {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    wait_until_it_listens(behind, port)
    ours = Ours(processes, folder, cpus, port, "--max-connections=8000")
    loader = Loader(program, cpus[0], f"{HOST}:{ours.site.http}", "/", ours.running.pid)
    found = loader.ask(SLOW_RATE, 8, CONNECTIONS)
    under_way = SLOW_RATE * SLOW_SECONDS
    return (
        f"{found['accepted']} answered, {found['refused']} refused, {found['failed']} failed; p50 {found['p50_ms']:.0f} ms, "
        f"p99 {found['p99_ms']:.0f} ms of {1000 * SLOW_SECONDS:.0f} ms that the endpoint takes; some {under_way:,.0f} under way"
    )


@contextmanager
def group() -> Iterator[Path]:
    """A control group of memory, which is removed when its processes have ended."""
    is_v1 = (_GROUPS / "cgroup.procs").exists()
    made = (_GROUPS if is_v1 else _GROUPS_V2) / f"txingress-bench-{os.getpid()}"
    made.mkdir()
    try:
        yield made
    finally:
        for _ in range(100):
            try:
                made.rmdir()
                break
            except OSError:
                pause(0.1)


def _number(made: Path, v1: str, v2: str) -> int:
    path = made / v1
    return int((path if path.exists() else made / v2).read_text())


def _limit(made: Path, limit: int) -> None:
    path = made / "memory.limit_in_bytes"
    (path if path.exists() else made / "memory.max").write_text(str(limit))


def memory(stack: ExitStack, cpus: tuple[int, int], *options: str) -> str:
    """Have clients ask for much and take nothing."""
    folder = fresh_folder(FOLDER, "overload-memory")
    made = stack.enter_context(group())
    processes = stack.enter_context(Processes.logging_to(folder))
    backend, h2c = free_ports(2)
    behind = processes.start("backend", backend_command(folder, backend, h2c), cpus[0])
    wait_until_it_answers(behind, backend, PLAIN_HOST)
    (made / "cgroup.procs").write_text(str(os.getpid()))
    try:
        ours = Ours(processes, folder, cpus, backend, *options)
    finally:
        (made.parent / "cgroup.procs").write_text(str(os.getpid()))
    wait_until_it_answers(ours.running, ours.site.http, PLAIN_HOST)
    pause(1)
    base = _number(made, "memory.usage_in_bytes", "memory.current")
    _limit(made, base + MEMORY_MIB * MIB)
    # Until that is seen.
    pause(2)
    readers = [stack.enter_context(socket.socket()) for _ in range(READERS)]
    request = f"GET /download/body HTTP/1.1\r\nHost: {PLAIN_HOST}\r\n\r\n".encode()
    statuses: dict[str, int] = {}
    for each in readers:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        each.settimeout(0.01)
        try:
            each.connect((HOST, ours.site.http))
            each.sendall(request)
        except OSError:
            statuses["not connected"] = statuses.get("not connected", 0) + 1
        pause(1 / READERS_A_SECOND)
    pause(2)
    for each in readers:
        try:
            status = each.recv(12)[9:].decode() or "closed"
        except OSError as problem:
            status = "waits" if isinstance(problem, TimeoutError) else "closed"
        statuses[status] = statuses.get(status, 0) + 1
    is_alive = ours.running.popen.poll() is None
    most = _number(made, "memory.max_usage_in_bytes", "memory.peak")
    after = ""
    if is_alive:
        for each in readers:
            each.close()
        pause(4)
        served = _get(ours.site.http, PLAIN_HOST, "/")[9:12]
        after = f"; a request after that: {served}"
    told = [
        line.partition("] ")[2]
        for line in ours.running.log.read_text().splitlines()
        if "emory" in line and "MiB of" in line
    ]
    lines = "".join(f"\n        {line}" for line in told if "time of" not in line)
    return (
        f"{'alive' if is_alive else 'ENDED by the kernel'}; {base / MIB:.0f} MiB at rest, at most {most / MIB:.0f} of "
        f"{(base / MIB) + MEMORY_MIB:.0f}; {READERS} readers: {statuses}{after}{lines}"
    )


def main() -> int:
    """Print what becomes of each."""
    cpus = two_cpus()
    os.sched_setaffinity(0, {cpus[0]})
    allow_open_files()
    install.search_system_folders()
    install.ensure_programs(("nginx", "h2load", "taskset"))
    FOLDER.mkdir(exist_ok=True)
    program = install.build_go(SOURCE, FOLDER)
    with ExitStack() as stack:
        print("slow endpoints:", slow_endpoints(stack, cpus, program), flush=True)
    with ExitStack() as stack:
        folder = fresh_folder(FOLDER, "overload-cases")
        processes = stack.enter_context(Processes.logging_to(folder))
        backend, h2c = free_ports(2)
        behind = processes.start("backend", backend_command(folder, backend, h2c), cpus[0])
        wait_until_it_answers(behind, backend, PLAIN_HOST)
        ours = Ours(processes, folder, cpus, backend)
        burst = _h2load(cpus[0], ours.site.https, "--h1", "--clients=5000", "--requests=5000")
        print("5,000 handshakes at once:", burst, f"; {ours.refused()} refused", flush=True)
        patient = _h2load(cpus[0], ours.site.https, "--h1", "--clients=400", "--requests=40000")
        print("400 patient clients:", patient, f"; {ours.refused()} refused", flush=True)
        streams = _h2load(
            cpus[0],
            ours.site.https,
            "--npn-list=h2",
            "--clients=50",
            "--max-concurrent-streams=100",
            "--requests=100000",
        )
        print("50 connections with 100 streams each:", streams, flush=True)
        print("   ", {name: value for name, value in ours.series().items() if value}, flush=True)
    for options in ((), ("--overload-memory=0",)):
        with ExitStack() as stack:
            print("memory", *options, end=": ", flush=True)
            print(memory(stack, cpus, *options), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
