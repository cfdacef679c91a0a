"""What compression costs, beside nginx: ``make bench-gzip`` prints it.

A page of JSON is asked for, one request after the other, over one connection: compressed and as it is, of this controller with ``--use-gzip``
and of nginx as ingress-nginx configures it, which has to be installed.  Times are what each needs of the processor for a GET, the
reactor's thread here and the worker process there, in user and in system; the least of several batches counts.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic
from typing import Any

from attrs import frozen

from bench.features.filters import thread_time_of
from bench.peers.install import ensure_programs, search_system_folders
from bench.requests.calls import Http1Peer, run_here
from bench.setup.ending import status_of
from bench.setup.own_process import fresh_process

HOST = "127.0.0.1"
REQUESTS = 200
BATCHES = 5
_RANDOM = Random(1)
BODY = json.dumps(
    [
        {
            "id": number,
            "name": f"article {_RANDOM.randrange(1000)}",
            "price": _RANDOM.random(),
            "in_stock": True,
        }
        for number in range(1200)
    ]
).encode()
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)
_PLAIN = b"GET / HTTP/1.1\r\nHost: one.bench.test\r\nAccept: */*\r\n\r\n"
_END_OF_CHUNKS = b"\r\n0\r\n\r\n"
_CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 64; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_comp_level {level};
    gzip_http_version 1.1;
    gzip_min_length 256;
    gzip_types application/json;
    gzip_proxied any;
    gzip_vary on;
    upstream backend {{ server {host}:{backend}; keepalive 8; keepalive_requests 100000000; }}
    server {{
        listen {host}:{port};
        keepalive_requests 100000000;
        location / {{
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_buffering off;
            proxy_buffer_size 4k;
            proxy_pass http://backend;
        }}
    }}
}}
"""


@frozen
class Case:
    """What is asked for: a coding, or none, and its level."""

    coding: str
    level: int

    @property
    def options(self) -> list[str]:
        """Those of the controller."""
        switch = {"gzip": "use-gzip", "br": "enable-brotli", "zstd": "enable-zstd"}.get(self.coding)
        name = {"br": "brotli"}.get(self.coding, self.coding)
        return [] if switch is None else [f"--{switch}=true", f"--{name}-level={self.level}"]

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.coding}, level {self.level}" if self.coding else "as it is"


CASES = (Case("", 1), Case("gzip", 1), Case("gzip", 5), Case("br", 4), Case("zstd", 3))


def _answer(endpoint: socket.socket) -> None:
    def serve(connection: socket.socket) -> None:
        heard = b""
        while octets := connection.recv(65536):
            heard += octets
            while b"\r\n\r\n" in heard:
                heard = heard.partition(b"\r\n\r\n")[2]
                connection.sendall(_ANSWER)

    while True:
        try:
            connection, _ = endpoint.accept()
        except TimeoutError:
            continue
        except OSError:
            return
        Thread(target=serve, args=(connection,), daemon=True).start()


def _least(port: int, case: Case, used: Callable[[], float]) -> float:
    """Return the least seconds of the processor that a GET took, by what *used* says before and after."""
    request = (
        _PLAIN.replace(b"\r\n\r\n", f"\r\nAccept-Encoding: {case.coding}\r\n\r\n".encode())
        if case.coding
        else _PLAIN
    )
    last = _END_OF_CHUNKS if case.coding else BODY[-64:]
    client = Http1Peer(socket.create_connection((HOST, port), 10), request, last)
    taken = []
    for batch in range(BATCHES + 1):
        before = used()
        for _ in range(REQUESTS):
            client.say()
            client.hear()
        if batch:
            taken.append((used() - before) / REQUESTS)
    return min(taken)


def ours(case: Case) -> float:
    """Measure this controller; in a process of its own."""

    def drive(reactor: Any, port: int, endpoints: tuple[socket.socket, socket.socket]) -> float:
        Thread(target=_answer, args=endpoints[:1], daemon=True).start()
        return _least(port, case, lambda: thread_time_of(reactor))

    return run_here([*case.options, "--keep-alive-requests=1000000000"], drive)


def _worker_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def nginx(case: Case) -> float:
    """Measure nginx."""
    with (
        TemporaryDirectory() as folder,
        socket.create_server((HOST, 0)) as endpoint,
        socket.create_server((HOST, 0)) as free,
    ):
        port = free.getsockname()[1]
        free.close()
        Thread(target=_answer, args=(endpoint,), daemon=True).start()
        configuration = Path(folder, "nginx.conf")
        backend = endpoint.getsockname()[1]
        configuration.write_text(
            _CONFIGURATION.format(folder=folder, host=HOST, port=port, backend=backend, level=case.level)
        )
        process = subprocess.Popen(["nginx", "-c", str(configuration), "-p", folder])
        try:
            deadline = monotonic() + 10
            while socket.socket().connect_ex((HOST, port)) and monotonic() < deadline:
                Event().wait(0.05)
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()
            return _least(port, case, lambda: _worker_time(int(children[0])))
        finally:
            process.terminate()
            process.wait(10)


def main() -> None:
    """Print the table."""
    search_system_folders()
    ensure_programs(["nginx"])
    print(f"{len(BODY):,} bytes of JSON; microseconds of the processor for a GET\n")
    print(f"{'':20}{'ours':>9}{'nginx':>9}{'ratio':>8}{'more, ours':>13}{'nginx':>9}{'ratio':>8}")
    plain: tuple[float, float] | None = None
    for case in CASES:
        with fresh_process() as pool:
            here = pool.submit(ours, case).result() * 1e6
        there = nginx(case) * 1e6 if case.coding in ("", "gzip") else None
        line = f"{case.title:20}{here:9.0f}"
        if there is not None:
            line += f"{there:9.0f}{here / there:8.2f}"
            if plain is not None:
                more, theirs = here - plain[0], there - plain[1]
                line += f"{more:13.0f}{theirs:9.0f}{more / theirs:8.2f}"
            plain = plain or (here, there)
        print(line, flush=True)


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
