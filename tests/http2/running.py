"""The controller as a process, with a backend behind it, for programs that talk to it over sockets."""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

import yaml
from attrs import frozen

from tests.fakes.processes import ROOT, TWISTD, free_port
from tests.proxy.h2_playing import BODY, LARGE

READY_SECONDS = 60.0


class Backend(ThreadingHTTPServer):
    """Answers as ``playing.usual_answer`` does, and counts its connections."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.open = self.most_open = self.total = 0
        self.stopped = Event()
        self.lock = Lock()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections that are broken off are what this is about."""


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Backend

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.total += 1
            self.server.open += 1
            self.server.most_open = max(self.server.most_open, self.server.open)

    def finish(self) -> None:
        with self.server.lock:
            self.server.open -= 1
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def answer(self) -> None:
        """Take the request body, then answer."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                self.rfile.read(size + 2)
            while self.rfile.readline().strip():
                pass
        else:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/silent":
            self.server.stopped.wait(60)
            return
        body = b"x" * LARGE if self.path == "/large" else BODY
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_OPTIONS = do_DELETE = answer


@frozen
class Controller:
    """A process that serves ``shop.test``."""

    pid: int
    http: int
    https: int

    @property
    def resident_kib(self) -> int:
        """Memory of the process."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGESIZE") // 1024

    @property
    def cpu_seconds(self) -> float:
        """What it has worked so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def backend() -> Iterator[Backend]:
    """A backend that runs meanwhile."""
    server = Backend()
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def controller(behind: Backend) -> Iterator[Controller]:
    """A controller that runs meanwhile, speaking HTTP/2 with prior knowledge and over TLS."""
    with tempfile.TemporaryDirectory(prefix="http2-") as directory:
        Path(directory, "manifests").mkdir()
        Path(directory, "manifests", "shop.yaml").write_text(yaml.safe_dump_all(_manifests(behind.port)))
        http, https, admin = (free_port() for _ in range(3))
        options = (
            f"--manifests={directory}/manifests",
            f"--http=tcp:{http}:interface=127.0.0.1",
            f"--https=tcp:{https}:interface=127.0.0.1",
            f"--admin=tcp:{admin}:interface=127.0.0.1",
            f"--access-log={directory}/access.log",
            "--http2-prior-knowledge",
            "--shutdown-delay=0",
            "--shutdown-grace=1",
        )
        command = [sys.executable, "-c", TWISTD, "--nodaemon", "--pidfile=", "ingress", *options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": directory}
        with Path(directory, "output").open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=directory)
        try:
            _await_ready(process, admin)
            yield Controller(process.pid, http, https)
        finally:
            process.terminate()
            process.wait(30)


def _await_ready(process: subprocess.Popen[bytes], admin: int) -> None:
    deadline = monotonic() + READY_SECONDS
    never = Event()
    while process.poll() is None and monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", admin, timeout=5)
        with contextlib.suppress(OSError):
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        connection.close()
        never.wait(0.05)
    raise RuntimeError(f"the controller did not start: {process.poll()}")


def _manifests(port: int) -> list[dict[str, Any]]:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    metadata = {"namespace": "shop", "name": "web"}
    return [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": {"name": "nginx"},
            "spec": {"controller": "k8s.io/ingress-nginx"},
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": metadata,
            "spec": {
                "ingressClassName": "nginx",
                "rules": [{"host": "shop.test", "http": {"paths": [path]}}],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"ports": [{"port": 80, "targetPort": port}]},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**metadata, "labels": {"kubernetes.io/service-name": "web"}},
            "addressType": "IPv4",
            "ports": [{"name": "", "port": port, "protocol": "TCP"}],
            "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}],
        },
    ]
