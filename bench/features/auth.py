"""What asking another service about each request costs beside nginx's ``auth_request``: ``make bench-auth`` prints it.

One nginx, on the other CPU, is the endpoint and the service that is asked; it answers both from memory.  Measured is the
processor time of the proxy alone, of all its threads and in the kernel, for the same requests with and without asking; the
difference is what asking costs.  The least of several runs is shown: whatever else the machine does makes it
more, never less.

nginx is measured twice: with connections to the service that are kept (the ``keepalive`` of an upstream), which is the
best that it can do, and as ingress-nginx configures it where nothing else is asked for, with a connection for each question.
Ours is measured as ``auth-url`` asks, through the proxy's own pool; and, for comparison, by a filter that asks by treq on
a pooled agent of Twisted's.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from attrs import frozen
from twisted.internet import reactor  # noqa: TID251 - that of the controller that loads this
from twisted.web.client import Agent, HTTPConnectionPool

from bench.measuring.gauges import cpu_seconds
from bench.peers.install import ensure_programs, search_system_folders
from bench.setup.ending import status_of
from bench.setup.processes import HOST, Processes, Running, free_ports, pause, wait_until_it_answers
from ingress.filters import Facts, Filter, Phase, Reply, Services
from ingress.options.installed_filters import GROUP

REQUESTS = 20_000
RUNS = 5
CLIENTS = 8
SETTLE_SECONDS = 0.3
SITE = "one.bench.test"
PROXY_CPU, OTHER_CPU = 0, 1

_NGINX = """
daemon off;
worker_processes 1;
worker_rlimit_nofile 16384;
user root;
pid {folder}/{name}.pid;
error_log stderr error;
events {{ worker_connections 8192; }}
http {{
    access_log {log};
    client_body_temp_path {folder}/{name}-body;
    proxy_temp_path {folder}/{name}-proxy;
    fastcgi_temp_path {folder}/{name}-fastcgi;
    uwsgi_temp_path {folder}/{name}-uwsgi;
    scgi_temp_path {folder}/{name}-scgi;
    keepalive_requests 100000000;
    {content}
}}
"""

PEER = """
    default_type text/plain;
    server {{
        listen {host}:{peer} backlog=4096;
        location / {{ return 200 "{answer}"; }}
        location = /auth {{ add_header X-Auth-Request-User alice; return 202; }}
    }}
"""

_PROXY = """
    upstream endpoint {{ server {host}:{peer}; keepalive 320; keepalive_requests 100000000; }}
    upstream service {{ server {host}:{peer}; keepalive 320; keepalive_requests 100000000; }}
    server {{
        listen {host}:{port} backlog=4096;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $http_host;
        proxy_set_header X-Real-IP $remote_addr;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
        location / {{
            {asks}
            proxy_pass http://endpoint;
        }}
        location = /_auth {{
            internal;
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_set_header Connection "";
            proxy_set_header Host auth.bench.test;
            proxy_set_header X-Original-URL $scheme://$http_host$request_uri;
            proxy_set_header X-Original-Method $request_method;
            proxy_set_header X-Sent-From nginx-ingress-controller;
            proxy_set_header X-Real-IP $remote_addr;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Auth-Request-Redirect $request_uri;
            proxy_pass http://{service}/auth;
        }}
    }}
"""

_ASKS = """
            auth_request /_auth;
            auth_request_set $user $upstream_http_x_auth_request_user;
            proxy_set_header X-Auth-Request-User $user;
"""

_MANIFESTS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: one
  namespace: bench
  annotations: {annotations}
spec:
  ingressClassName: nginx
  rules:
  - host: {site}
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: one, port: {{number: 80}}}}}}}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: one, namespace: bench}}
spec: {{ports: [{{port: 80}}]}}
"""


class _AsksByTreq(Filter):
    """Asks by treq on an agent with a pool: what a filter would do that has nothing but Twisted."""

    def __init__(self, url: str) -> None:
        import treq.client

        pool = HTTPConnectionPool(reactor, persistent=True)
        pool.maxPersistentPerHost = 320
        self._client = treq.client.HTTPClient(Agent(reactor, pool=pool))
        self._url = url

    async def on_request(self, facts: Facts) -> Reply | None:
        """Ask, and read the whole answer, so that its connection is free again."""
        headers: dict[bytes | str, list[bytes | str]] = {
            b"X-Original-URL": [facts.scheme + b"://" + facts.host + facts.target],
            b"X-Original-Method": [facts.method],
            b"X-Sent-From": [b"nginx-ingress-controller"],
            b"X-Real-IP": [facts.client],
            b"X-Forwarded-For": [facts.client],
            b"X-Auth-Request-Redirect": [facts.target],
        }
        answer = await self._client.get(self._url, headers=headers)
        await answer.content()
        return None if answer.code < 300 else Reply(answer.code)


@frozen
class TreqSpec:
    """Asks by treq."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "bench-treq"

    url: str

    def describe(self) -> str:
        """Say whom it asks."""
        return f"asks {self.url} by treq"

    def make(self, services: Services) -> Filter:
        """Make it."""
        return _AsksByTreq(self.url)


@frozen
class Candidate:
    """One way to serve the requests: its name, and the command that runs it at a port with a peer."""

    title: str
    command: Callable[[Path, int, int], list[str]]
    plain: str = ""
    """The title of the one that does the same without asking."""


def nginx_command(folder: Path, name: str, content: str, log: str = "off") -> list[str]:
    """Return what runs nginx with *content* for its ``http``."""
    config = folder / f"{name}.conf"
    config.write_text(_NGINX.format(folder=folder, name=name, content=content, log=log))
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(config)]


def _nginx_proxy(asks: str, service: str) -> Callable[[Path, int, int], list[str]]:
    def command(folder: Path, port: int, peer: int) -> list[str]:
        where = service or f"{HOST}:{peer}"
        text = _PROXY.format(host=HOST, port=port, peer=peer, asks=asks, service=where)
        return nginx_command(folder, f"nginx-{port}", text, f"{folder}/nginx-{port}.access")

    return command


def our_command(annotations: str, *options: str) -> Callable[[Path, int, int], list[str]]:
    """Return what makes the command of a controller with one Ingress, which has these *annotations*."""

    def command(folder: Path, port: int, peer: int) -> list[str]:
        manifests = folder / f"ours-{port}.yaml"
        manifests.write_text(
            _MANIFESTS.format(annotations=annotations.format(host=HOST, peer=peer), site=SITE)
        )
        return [
            sys.executable,
            "-c",
            "from twisted.scripts.twistd import run; run()",
            "--nodaemon",
            "--pidfile=",
            "ingress",
            f"--manifests={manifests}",
            f"--endpoint=bench/one={HOST}:{peer}",
            f"--http=tcp:{port}:interface={HOST}",
            f"--https=tcp:0:interface={HOST}",
            f"--admin=tcp:0:interface={HOST}",
            f"--access-log={folder}/ours-{port}.access",
            "--keep-alive-requests=1000000000",
            "--shutdown-delay=0",
            "--shutdown-grace=1",
            *(option.format(host=HOST, peer=peer) for option in options),
        ]

    return command


_BELOW = "nginx.ingress.kubernetes.io"
_URL = "http://{host}:{peer}/auth"
_ASKING = f'{{{{"{_BELOW}/auth-url": "{_URL}", "{_BELOW}/auth-response-headers": "X-Auth-Request-User"}}}}'
CANDIDATES = (
    Candidate("nginx", _nginx_proxy("", "service")),
    Candidate("nginx, auth_request, kept connections", _nginx_proxy(_ASKS, "service"), "nginx"),
    Candidate("nginx, auth_request, a connection each", _nginx_proxy(_ASKS, ""), "nginx"),
    Candidate("ours", our_command("{{}}")),
    Candidate("ours, auth-url", our_command(_ASKING, f"--auth-url-allow={HOST}"), "ours"),
    Candidate("ours, by treq", our_command("{{}}", f"--filter=bench-treq={_URL}"), "ours"),
)


def load(port: int, requests: int) -> None:
    """Have so many requests answered, or end the program."""
    command = ["taskset", "--cpu-list", str(OTHER_CPU), "h2load", "--h1", "--threads=1"]
    command += [
        f"--clients={CLIENTS}",
        f"--requests={requests}",
        f"--connect-to={HOST}:{port}",
        f"http://{SITE}/page",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    if f" {requests} succeeded" not in done.stdout:
        raise SystemExit(done.stdout)


def _measure(running: Running, port: int) -> float:
    """Return how many microseconds a request takes of the processor."""
    before = cpu_seconds(running.pid)
    load(port, REQUESTS)
    pause(SETTLE_SECONDS)
    return (cpu_seconds(running.pid) - before) / REQUESTS * 1e6


def measure(folder: Path) -> dict[str, float]:
    """Measure all candidates, one after the other, in several rounds."""
    least: dict[str, float] = {}
    with Processes.logging_to(folder) as processes:
        peer, *ports = free_ports(1 + len(CANDIDATES))
        content = PEER.format(host=HOST, peer=peer, answer="x" * 99 + "\\n")
        backend = processes.start("peer", nginx_command(folder, "peer", content), OTHER_CPU)
        wait_until_it_answers(backend, peer, SITE)
        running = []
        for number, (candidate, port) in enumerate(zip(CANDIDATES, ports, strict=True)):
            process = processes.start(
                f"candidate-{number}",
                candidate.command(folder, port, peer),
                PROXY_CPU,
                {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
            )
            wait_until_it_answers(process, port, SITE)
            load(port, REQUESTS // 10)
            running.append((candidate, process, port))
        for _ in range(RUNS):
            for candidate, process, port in running:
                taken = _measure(process, port)
                least[candidate.title] = min(taken, least.get(candidate.title, taken))
    return least


def table(least: dict[str, float]) -> str:
    """Return what was measured as lines."""
    lines = [f"{'':42}{'µs':>8}{'more':>8}{'of nginx':>10}"]
    best = least[CANDIDATES[1].title] - least[CANDIDATES[0].title]
    for candidate in CANDIDATES:
        taken = least[candidate.title]
        line = f"{candidate.title:42}{taken:8.1f}"
        if candidate.plain:
            more = taken - least[candidate.plain]
            line += f"{more:+8.1f}{more / best:10.2f}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    search_system_folders()
    ensure_programs(["nginx", "h2load", "taskset"])
    with TemporaryDirectory() as name:
        folder = Path(name)
        brought = folder / "bench_auth-1.dist-info"
        brought.mkdir()
        (brought / "METADATA").write_text("Metadata-Version: 2.1\nName: bench-auth\nVersion: 1\n")
        entries = "bench-treq = bench.features.auth:TreqSpec\n"
        (brought / "entry_points.txt").write_text(f"[{GROUP}]\n{entries}")
        print(table(measure(folder)))


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
