"""What a datagram of UDP costs of the processor, on its way in and its answer back, here and in an nginx with its stream module.

One client asks from many ports at once, each its next question when it was answered; the endpoint repeats what it gets.  Both are
processes of their own: what is shown is the time of the proxy alone, so it does not matter how fast they are.  Once each question is a
session, as with ingress-nginx's ``proxy-stream-responses: 1``, and once all of a client's are one.
"""

import os
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from bench.peers.install import search_system_folders
from bench.setup.ending import status_of
from bench.setup.processes import HOST, free_ports, pause

CLIENTS = 32
SECONDS = 4.0
ROUNDS = 3
SIZE = 64
MODULE = os.environ.get("STREAM_MODULE", "/usr/lib/nginx/modules/ngx_stream_module.so")
"""That of nginx, which Debian has in the package ``libnginx-mod-stream``."""
_NGINX = """
load_module {module};
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
events {{ worker_connections 4096; }}
stream {{
    log_format line '[$remote_addr] [$time_local] $protocol $status $bytes_sent $bytes_received $session_time';
    access_log {folder}/access.log line;
    server {{ listen {host}:{port} udp; proxy_pass {host}:{backend}; proxy_timeout 600s; {responses} }}
}}
"""
_MANIFESTS = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: udp, namespace: ops}}
data: {{"{port}": "demo/dns:53"}}
---
apiVersion: v1
kind: Service
metadata: {{name: dns, namespace: demo}}
spec: {{ports: [{{name: dns, port: 53, protocol: UDP}}]}}
"""


def serve(port: int) -> None:
    """Repeat what comes to *port*, for ever."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as endpoint:
        endpoint.bind((HOST, port))
        while True:
            datagram, peer = endpoint.recvfrom(2048)
            endpoint.sendto(datagram, peer)


def ask(port: int, seconds: float) -> int:
    """Ask from many ports for some *seconds*; return how many questions were answered."""
    answered = 0
    with ExitStack() as stack:
        waiting = select.epoll()
        stack.callback(waiting.close)
        clients = {}
        for _ in range(CLIENTS):
            client = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            client.connect((HOST, port))
            clients[client.fileno()] = client
            waiting.register(client.fileno(), select.EPOLLIN)
        for client in clients.values():
            client.send(b"x" * SIZE)
        end = monotonic() + seconds
        while monotonic() < end:
            events = waiting.poll(1.0)
            if not events:
                # One was lost.
                for client in clients.values():
                    client.send(b"x" * SIZE)
            for number, _ in events:
                client = clients[number]
                client.recv(2048)
                answered += 1
                client.send(b"x" * SIZE)
    return answered


def cpu_seconds(pid: int) -> float:
    """Return what *pid* and its children that run have had of the processor."""
    pids = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    ticks = 0
    for each in pids:
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def _running(command: list[str], port: int, folder: Path) -> Iterator[int]:
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        deadline = monotonic() + 20
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0.1)
            while monotonic() < deadline:
                try:
                    client.sendto(b"?", (HOST, port))
                    client.recv(64)
                    break
                except OSError:
                    pause(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait(20)


def _ours(folder: Path, port: int, backend: int, responses: int, *options: str) -> list[str]:
    manifests = folder / "manifests.yaml"
    manifests.write_text(_MANIFESTS.format(port=port))
    http, https, admin = free_ports(3)
    return [
        sys.executable, "-m", "twisted", "--log-level=warn", "ingress",
        f"--manifests={manifests}", f"--endpoint=demo/dns={HOST}:{backend}",
        f"--http=tcp:{http}:interface={HOST}", f"--https=tcp:{https}:interface={HOST}", f"--admin=tcp:{admin}:interface={HOST}",
        f"--access-log={folder / 'access.log'}", "--udp-services-configmap=ops/udp", f"--stream-responses={responses}",
        "--shutdown-delay=0", *options,
    ]  # fmt: skip


def _theirs(folder: Path, port: int, backend: int, responses: int) -> list[str]:
    configuration = folder / "nginx.conf"
    said = f"proxy_responses {responses};" if responses == 1 else ""
    configuration.write_text(
        _NGINX.format(module=MODULE, folder=folder, host=HOST, port=port, backend=backend, responses=said)
    )
    return ["nginx", "-e", "stderr", "-c", str(configuration)]


def measure(kind: str, responses: int) -> tuple[float, float]:
    """Return the microseconds of the proxy for a question with its answer, and how many there were a second."""
    port, backend = free_ports(2)
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        endpoint = subprocess.Popen([sys.executable, "-m", "bench.connections.udp", "serve", str(backend)])
        stack.callback(endpoint.wait)
        stack.callback(endpoint.terminate)
        command = (_theirs if kind == "nginx" else _ours)(folder, port, backend, responses)
        pid = stack.enter_context(_running(command, port, folder))
        ask(port, 0.5)
        before = cpu_seconds(pid)
        answered = ask(port, SECONDS)
        spent = cpu_seconds(pid) - before
    if not answered:
        sys.exit(f"{kind} answers nothing")
    return spent / answered * 1e6, answered / SECONDS


def main() -> None:
    """Measure both, in turn."""
    kinds = ["txingress"]
    search_system_folders()
    if shutil.which("nginx") and Path(MODULE).exists():
        kinds.append("nginx")
    else:
        print(f"There is no nginx here, or no {MODULE}, so there is nothing to compare with.")
    print("| sessions | proxy | µs of the processor a question | questions a CPU-second |")
    print("|---|---|--:|--:|")
    for responses, sessions in ((1, "one for each question"), (1_000_000_000, "one for each client")):
        found: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(ROUNDS):
            for kind in kinds:
                found[kind].append(measure(kind, responses)[0])
        for kind, values in found.items():
            best = min(values)
            print(f"| {sessions} | {kind} | {best:.1f} to {max(values):.1f} | {1e6 / best:,.0f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(int(sys.argv[2]))
    else:
        sys.exit(status_of("bench", main))
