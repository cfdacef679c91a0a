"""``python -m bench.requests.workers``: what a request costs with several worker processes.

The same controller is started without workers and with 1, 2 and 4, all at the same time, and each is asked in turn, in rounds.  What
is counted is the CPU time of its whole process tree for each request, not throughput: load generator and backend are on the
same two processors.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.endpoints.backend import backend_command
from bench.measuring.gauges import cpu_seconds
from bench.peers.install import ensure_programs, search_system_folders
from bench.setup.ending import status_of
from bench.setup.processes import (
    HOST,
    Processes,
    Running,
    free_ports,
    pause,
    wait_until_it_answers,
    wait_until_it_listens,
)

COUNTS = (0, 1, 2, 4)
"""Workers; 0 is without any."""
CONNECTIONS = 32
"""Of a process that serves.  The more of them have something to say at once, the more of a turn of the reactor they share, so what
several workers cost is compared with as many for each; with as many in all, each worker finds less to do at once."""
WARM_UP = 1
_HOST = "page.bench.test"
_MANIFESTS = f"""
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: page, namespace: bench}}
spec:
  ingressClassName: nginx
  rules:
  - host: {_HOST}
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: page, port: {{number: 80}}}}}}}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: page, namespace: bench}}
spec: {{ports: [{{port: 80}}]}}
"""


def command(folder: Path, ports: Sequence[int], backend: int, workers: int) -> list[str]:
    """Return the command of a controller with so many *workers*."""
    manifests = folder / "page.yaml"
    manifests.write_text(_MANIFESTS)
    http, https, admin = ports
    return [
        sys.executable,
        "-c",
        "from twisted.scripts.twistd import run; run()",
        "--nodaemon",
        "--pidfile=",
        "ingress",
        f"--manifests={manifests}",
        f"--endpoint=bench/page={HOST}:{backend}",
        f"--http=tcp:{http}:interface={HOST}",
        f"--https=tcp:{https}:interface={HOST}",
        f"--admin=tcp:{admin}:interface={HOST}",
        f"--access-log={folder / f'access-{workers}'}",
        "--shutdown-delay=0",
        "--shutdown-grace=1",
        *([f"--workers={workers}"] if workers else []),
    ]


def microseconds(running: Running, port: int, requests: int, connections: int) -> float:
    """Send so many *requests* by so many *connections*; return the CPU time of the tree for each."""
    before = cpu_seconds(running.pid)
    found = subprocess.run(
        [
            "h2load",
            "--h1",
            "--threads=1",
            f"--clients={connections}",
            f"--requests={requests}",
            f"--connect-to={HOST}:{port}",
            f"http://{_HOST}/",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    if f"{requests} 2xx" not in found.stdout:
        raise SystemExit(f"not all requests were answered:\n{found.stdout}")
    # The thread that writes the access log is a little behind.
    pause(0.3)
    return (cpu_seconds(running.pid) - before) / requests * 1e6


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.requests.workers")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--apart", action="store_true", help="processes that serve on CPU 1, all else on CPU 0"
    )
    options = parser.parse_args()
    search_system_folders()
    ensure_programs(["nginx", "h2load", "taskset"])
    ours, others = ("1", "0") if options.apart else ("0,1", "0,1")
    os.sched_setaffinity(0, map(int, others.split(",")))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Processes.logging_to(folder) as processes:
            backend, h2c, *ports = free_ports(2 + 3 * len(COUNTS))
            started = {}
            wait_until_it_listens(
                processes.start("backend", backend_command(folder, backend, h2c), others), backend
            )
            for place, count in enumerate(COUNTS):
                own = ports[3 * place : 3 * place + 3]
                running = processes.start(f"ours-{count}", command(folder, own, backend, count), ours)
                wait_until_it_answers(running, own[0], _HOST)
                started[count] = running, own[0]
            figures: dict[tuple[int, int], list[float]] = {}
            for turn in range(WARM_UP + options.rounds):
                order = COUNTS[turn % len(COUNTS) :] + COUNTS[: turn % len(COUNTS)]
                for count in order:
                    for connections in {CONNECTIONS, CONNECTIONS * max(1, count)}:
                        spent = microseconds(*started[count], options.requests, connections)
                        if turn >= WARM_UP:
                            figures.setdefault((count, connections), []).append(spent)
    print("| workers | connections | CPU per request | to one process without workers |\n|---|---|---|---|")
    alone = figures[0, CONNECTIONS]
    for (count, connections), found in sorted(figures.items()):
        ratio = median(one / base for one, base in zip(found, alone, strict=True))
        print(f"| {count or 'none'} | {connections} | {median(found):.1f} µs | {ratio:.2f} |")


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
