"""A controller with some traffic and some trouble, to be looked at: manifests, pods and clients of one process.

Pods are threads, which answer soon, late, with errors, or not at all; clients are one thread, which asks for one host after the other.
"""

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.fakes.certificates import issue, make_authority
from tests.fakes.processes import free_port

HOST = "127.0.0.1"
TWISTD = "from twisted.scripts.twistd import run; run()"
_START_SECONDS = 120.0
_pause = threading.Event().wait

Object = dict[str, Any]
_authority = make_authority()


def service(namespace: str, name: str) -> Object:
    """Return a Service of a port 80."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"ports": [{"port": 80}]},
    }


def endpoints(namespace: str, name: str, *ports: int) -> Object:
    """Return the EndpointSlice of a Service, with an address for each of *ports*: a slice has one port, so each is a Service's own."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "addressType": "IPv4",
        "metadata": {
            "name": f"{name}-{ports[0]}",
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": name},
        },
        "ports": [{"port": ports[0], "name": ""}],
        "endpoints": [{"addresses": [HOST], "conditions": {"ready": True}}],
    }


def ingress(
    namespace: str,
    name: str,
    host: str,
    path: str = "/",
    *,
    tls: str = "",
    backend: str = "",
    **annotations: str,
) -> Object:
    """Return an Ingress of one host and path; *annotations* are named with underscores."""
    prefix = "nginx.ingress.kubernetes.io/"
    made: Object = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {
                prefix + "ssl-redirect": "false",
                **{prefix + word.replace("_", "-"): value for word, value in annotations.items()},
            },
        },
        "spec": {
            "ingressClassName": "nginx",
            "rules": [
                {
                    "host": host,
                    "http": {
                        "paths": [
                            {
                                "path": path,
                                "pathType": "Prefix",
                                "backend": {"service": {"name": backend or name, "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ],
        },
    }
    if tls:
        made["spec"]["tls"] = [{"hosts": [host], "secretName": tls}]
    return made


def secret(namespace: str, name: str, host: str, days: float = 90.0) -> Object:
    """Return a Secret with a certificate for *host* that ends in so many *days*."""
    chain, key = issue(_authority, [host], not_after=datetime.now(UTC) + timedelta(days=days))
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": {"tls.crt": chain.decode(), "tls.key": key.decode()},
    }


class Pods:
    """Pods by name; each answers as *behavior* has it: after how many seconds, and with which status."""

    def __init__(self) -> None:
        self._servers: list[ThreadingHTTPServer] = []

    def start(self, behavior: Callable[[], tuple[float, int]]) -> int:
        """Start one; return its port."""

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                seconds, status = behavior()
                _pause(seconds)
                with suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Length", "3")
                    self.end_headers()
                    self.wfile.write(b"ok\n")

            def log_message(self, format: str, *args: object) -> None:
                """Write nothing."""

        server = ThreadingHTTPServer((HOST, 0), Answers)
        server.daemon_threads = True
        self._servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return int(server.server_address[1])

    def stop(self) -> None:
        """Stop all."""
        for server in self._servers:
            server.shutdown()
            server.server_close()


class Clients:
    """Asks for *targets*, pairs of a host and a path with how often a second each, until it is stopped."""

    def __init__(self, port: int, targets: Sequence[tuple[str, str, float]]) -> None:
        self._port = port
        self._targets = targets
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._ask, args=(target,), daemon=True) for target in targets
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, target: tuple[str, str, float]) -> None:
        host, path, per_second = target
        connection = http.client.HTTPConnection(HOST, self._port, timeout=10)
        while not self._is_over.wait(random.expovariate(per_second)):
            try:
                connection.request("GET", path, headers={"Host": host})
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                connection.close()

    def stop(self) -> None:
        """Ask no more."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(15)


class Scene:
    """A controller that serves *objects*, which are written into *folder*."""

    def __init__(self, folder: Path, objects: Sequence[Object], *options: str, admin: int = 0) -> None:
        self.folder = folder
        self.options = options
        self.http, self.https, self.admin = free_port(), free_port(), admin or free_port()
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "manifests").mkdir(parents=True, exist_ok=True)
        self.write("all", objects)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.admin}/"

    @property
    def pid(self) -> int:
        """The process of the controller."""
        assert self._process is not None
        return self._process.pid

    def write(self, name: str, objects: Sequence[Object]) -> None:
        """Have a file of manifests with *objects*, at once."""
        path = self.folder / "manifests" / f"{name}.yaml"
        beside = path.with_suffix(".new")
        beside.write_text("\n---\n".join(map(json.dumps, objects)), "utf-8")
        beside.replace(path)

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        command = (
            sys.executable, "-c", TWISTD, "--nodaemon", "--pidfile=", "ingress", f"--manifests={self.folder / 'manifests'}",
            *(f"--{name}=tcp:{port}:interface={HOST}" for name, port in (("http", self.http), ("https", self.https), ("admin", self.admin))),
            "--access-log=/dev/null", "--shutdown-delay=0", "--shutdown-grace=2", *self.options,
        )  # fmt: skip
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=Path(__file__).parents[2], env=dict(os.environ)
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise AssertionError((self.folder / "log").read_text("utf-8")[-2000:])
            _pause(0.1)

    def _is_ready(self) -> bool:
        try:
            return self.ask("/readyz")[0] == 200
        except OSError:
            return False

    def ask(self, path: str, fields: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """Ask the admin port for *path*."""
        connection = http.client.HTTPConnection(HOST, self.admin, timeout=10)
        try:
            connection.request("GET", path, headers=dict(fields or {}))
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def look(self) -> socket.socket:
        """Return the connection of a viewer of the stream, once its answer has begun."""
        viewer = socket.create_connection((HOST, self.admin))
        viewer.sendall(b"GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        begun = b""
        while b"\r\n\r\n" not in begun:
            some = viewer.recv(65536)
            if not some:
                break
            begun += some
        return viewer

    def stop(self) -> float:
        """Have it end; return how long that took."""
        if self._process is None:
            return 0.0
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
        return time.monotonic() - began
