"""What connections, routes, certificates and workers take of memory, and requests of processors: ``python -m bench.cluster.sizing``.

Real controllers on manifests, each on its own.  Memory is the proportional set size of the process tree: pages that processes
share count once.  What a request costs is read from ``bench/results.json``, which ``make bench`` writes.
"""

import asyncio
import base64
import json
import resource
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attrs import frozen
from cryptography.hazmat.primitives.asymmetric import ec

from bench.connections.tls import make_secret
from bench.loads.catalog import PLAIN_HOST, SECURE_HOST
from bench.measuring import gauges
from bench.measuring.idle import IdleConnections, ask_http1, ask_http2
from bench.reports.results import RESULTS
from bench.reports.tables import text_table
from bench.setup.certificate import KeyPair, write_key_pair
from bench.setup.ending import status_of
from bench.setup.errors import BenchError
from bench.setup.processes import HOST, Processes, Running, free_ports, pause, wait_until_it_answers
from ingress.identity.certificates import CHAIN_KEY, PRIVATE_KEY_KEY

FIRST, COUNTED = 500, 2000
OBJECTS = 2000
WORKERS = (1, 2, 4)
SETTLE_SECONDS = 1.5
_MIB = 1024.0
BACKEND = "--backend"
# Twisted imports h2 where it is installed, which it is for tests alone: a megabyte that no user has.
_TWISTD = "import sys; sys.modules['h2'] = None; from twisted.scripts.twistd import run; run()"
_LOADS = (
    ("get-repeating", "GET, keep-alive"),
    ("get-unique", "GET, keep-alive, headers of each request new"),
    ("tls-keep-alive", "GET over TLS, keep-alive"),
    ("h2-32x1", "GET, HTTP/2 over TLS"),
    ("new-connection", "GET, a connection for each"),
    ("tls-handshake", "GET, a TLS handshake for each (P-256)"),
)
# Of what a TCP socket is for the kernel, by its slab caches.
_SLABS = ("TCP", "sock_inode_cache", "dentry", "filp", "eventpoll_epi", "eventpoll_pwq")


# What is served


def _object(version: str, kind: str, name: str, **rest: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "bench", **rest.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def _host(name: str, host: str, port: int, secret: str = "") -> list[dict[str, Any]]:
    """An Ingress for *host* with one path, its Service and the endpoint at *port*."""
    backend = {"service": {"name": name, "port": {"number": 80}}}
    rule = {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    spec: dict[str, Any] = {"ingressClassName": "nginx", "rules": [rule]}
    if secret:
        spec["tls"] = [{"hosts": [host], "secretName": secret}]
    return [
        _object("v1", "Service", name, spec={"ports": [{"name": "http", "port": 80}]}),
        _object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            f"{name}-1",
            metadata={"labels": {"kubernetes.io/service-name": name}},
            addressType="IPv4",
            ports=[{"name": "http", "port": port}],
            endpoints=[{"addresses": [HOST], "conditions": {"ready": True}}],
        ),
        _object("networking.k8s.io/v1", "Ingress", name, spec=spec),
    ]


def _secret(name: str, chain: bytes, key: bytes) -> dict[str, Any]:
    content = {CHAIN_KEY: base64.b64encode(chain).decode(), PRIVATE_KEY_KEY: base64.b64encode(key).decode()}
    return _object("v1", "Secret", name, type="kubernetes.io/tls", data=content)


def manifest(pair: KeyPair, port: int, ingresses: int = 0, *, certificates: bool = False) -> str:
    """Return the objects that lead to *port*: two hosts, and so many *ingresses* more, with *certificates* of their own or without."""
    objects = [
        *_host("plain", PLAIN_HOST, port),
        *_host("secure", SECURE_HOST, port, "secure"),
        _secret("secure", pair.certificate_pem, pair.key_pem),
    ]
    for number in range(ingresses):
        name = f"shop-{number:05}"
        objects += _host(name, f"{name}.customers.example.com", port, name if certificates else "")
        if certificates:
            made = make_secret(number, ec.generate_private_key(ec.SECP256R1()))
            objects.append(_secret(name, made.content[CHAIN_KEY], made.content[PRIVATE_KEY_KEY]))
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


# Processes


@frozen
class Controller:
    """A controller that runs."""

    running: Running
    http: int
    https: int

    def mebibytes(self) -> float:
        """The memory of its processes."""
        pause(SETTLE_SECONDS)
        return gauges.proportional_kib(self.running.pid) / _MIB


class Bench:
    """Starts controllers, one at a time."""

    def __init__(self, folder: Path, pair: KeyPair, backend: int) -> None:
        self._folder = folder
        self._pair = pair
        self._backend = backend

    @contextmanager
    def controller(
        self, *options: str, ingresses: int = 0, certificates: bool = False
    ) -> Iterator[Controller]:
        """Have one run that serves what ``manifest`` makes."""
        text = manifest(self._pair, self._backend, ingresses, certificates=certificates)
        path = self._folder / "objects.json"
        path.write_text(text)
        http, https, admin = free_ports(3)
        command = [
            sys.executable,
            "-c",
            _TWISTD,
            "--nodaemon",
            "--pidfile=",
            "ingress",
            f"--manifests={path}",
            f"--http=tcp:{http}:interface={HOST}",
            f"--https=tcp:{https}:interface={HOST}",
            f"--admin=tcp:{admin}:interface={HOST}",
            "--disable-access-log",
            "--shutdown-delay=0",
            "--shutdown-grace=0",
            *options,
        ]
        with Processes.logging_to(self._folder) as processes:
            running = processes.start("controller", command, 1)
            wait_until_it_answers(running, http, PLAIN_HOST)
            yield Controller(running, http, https)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The backend: answers each request, and agrees to every upgrade."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if b"upgrade: websocket" in head.lower():
                writer.write(
                    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                )
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _run_backend(port: int) -> None:
    server = await asyncio.start_server(_serve, HOST, port, backlog=4096)
    await server.serve_forever()


# Connections


def _ask_websocket(connection: socket.socket) -> socket.socket:
    connection.sendall(
        b"GET / HTTP/1.1\r\nHost: %b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        % PLAIN_HOST.encode()
    )
    if b" 101 " not in connection.recv(65536):
        raise ConnectionError("no upgrade")
    return connection


def tls_client(connection: socket.socket) -> socket.socket:
    """Begin TLS on *connection*, whoever is at its other end."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(connection, server_hostname=PLAIN_HOST)


def _secure(ask: Callable[[socket.socket], socket.socket]) -> Callable[[socket.socket], socket.socket]:
    return lambda connection: ask(tls_client(connection))


CONNECTIONS: tuple[tuple[str, bool, Callable[[socket.socket], socket.socket], int], ...] = (
    ("HTTP/1.1, at rest", False, ask_http1, 1),
    ("HTTP/1.1 over TLS, at rest", True, _secure(ask_http1), 1),
    ("HTTP/2 over TLS, at rest", True, ask_http2, 1),
    ("WebSocket, with its endpoint's connection", False, _ask_websocket, 2),
    ("WebSocket over TLS, with its endpoint's", True, _secure(_ask_websocket), 2),
)


def kernel_kib_per_socket() -> float | None:
    """Return what a socket of TCP that holds no bytes takes of the kernel's memory; None for who may not know."""
    try:
        lines = Path("/proc/slabinfo").read_text().splitlines()
    except OSError:
        return None
    sizes = {fields[0]: int(fields[3]) for line in lines[2:] if (fields := line.split())}
    return sum(sizes.get(name, 0) for name in _SLABS) / 1024


# What is printed


def connection_rows(bench: Bench) -> Iterator[list[str]]:
    """Yield a row for each kind of connections."""
    kernel = kernel_kib_per_socket()
    yield ["1,000 connections", "MiB", "and in the kernel"]
    for title, is_secure, ask, sockets in CONNECTIONS:
        with bench.controller("--max-connections=20000") as controller:
            port = controller.https if is_secure else controller.http
            with IdleConnections(port, ask) as connections:
                connections.add(FIRST)
                before = controller.mebibytes()
                connections.add(COUNTED)
                each = (controller.mebibytes() - before) * 1000 / COUNTED
        yield [title, f"{each:.1f}", "?" if kernel is None else f"{kernel * sockets * 1000 / 1024:.1f}"]


def object_rows(bench: Bench) -> Iterator[list[str]]:
    """Yield a row for what is served, without workers and with two."""
    yield ["MiB", "one process", "2 workers, in all"]
    found = []
    for options in ((), ("--workers=2",)):
        column = []
        for ingresses, certificates in ((0, False), (OBJECTS, False), (OBJECTS, True)):
            with bench.controller(*options, ingresses=ingresses, certificates=certificates) as controller:
                column.append(controller.mebibytes())
        found.append(column)
    thousands = OBJECTS / 1000
    yield ["with two hosts", *(f"{column[0]:.0f}" for column in found)]
    yield ["1,000 Ingresses more", *(f"{(column[1] - column[0]) / thousands:.1f}" for column in found)]
    yield [
        "1,000 certificates more (P-256)",
        *(f"{(column[2] - column[1]) / thousands:.1f}" for column in found),
    ]


def worker_rows(bench: Bench) -> Iterator[list[str]]:
    """Yield what processes take that serve nearly nothing."""
    yield ["processes", "MiB in all", "more than one process"]
    alone = 0.0
    for workers in (0, *WORKERS):
        options = (f"--workers={workers}",) if workers else ()
        with bench.controller(*options) as controller:
            found = controller.mebibytes()
        alone = alone or found
        title = f"{workers} workers, their parent, the fork server" if workers else "one process"
        yield [title, f"{found:.0f}", f"{found - alone:.0f}"]


def request_rows(file: Path = RESULTS) -> Iterator[list[str]]:
    """Yield what 1,000 requests a second take of a processor, as it was measured last.  Raises BenchError."""
    loads = json.loads(file.read_text())["loads"]
    if missing := [name for name, _ in _LOADS if name not in loads]:
        raise BenchError(
            f"{file} lacks {', '.join(missing)}, as make bench-quick leaves it; make bench has all"
        )
    yield ["1,000 requests a second", "% of a processor"]
    for name, title in _LOADS:
        each = loads[name]["targets"]["ours"]["us_per_request"]
        yield [title, f"{each / 10:.1f}"]


def start_backend(processes: Processes) -> int:
    """Start what answers requests and holds WebSockets, among *processes*; return its port."""
    (port,) = free_ports(1)
    processes.start(
        "backend",
        [sys.executable, "-m", "bench.cluster.sizing", BACKEND, str(port)],
        0,
        {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    return port


def main() -> None:
    """Print all tables."""
    if sys.argv[1:2] == [BACKEND]:
        asyncio.run(_run_backend(int(sys.argv[2])))
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with TemporaryDirectory() as name:
        folder = Path(name)
        pair = write_key_pair(folder, (PLAIN_HOST, SECURE_HOST))
        with Processes.logging_to(folder) as processes:
            bench = Bench(folder, pair, start_backend(processes))
            for rows in (connection_rows(bench), worker_rows(bench), object_rows(bench), request_rows()):
                print(text_table(list(rows)), end="\n\n", flush=True)


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
