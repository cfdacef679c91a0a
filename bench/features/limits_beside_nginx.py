"""The limits of nginx and ours, asked for the same at the same time: what passes, and what does not.

Both have the same endpoint and the same limits, nginx as ingress-nginx would write them.  Requests come in bursts with pauses in
between; then some that last, all at once.
"""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic

from bench.peers.install import search_system_folders
from bench.setup.ending import status_of
from bench.setup.processes import HOST, free_ports

BURSTS = ((0.0, 20), (1.0, 8), (0.5, 5), (3.0, 20), (0.21, 3))
"""Seconds of rest, and how many requests then."""
LASTING = 8
_PREFIX = "nginx.ingress.kubernetes.io"
_ANNOTATIONS = {
    "rates.test": {"limit-rps": "5", "limit-rpm": "120", "limit-burst-multiplier": "2"},
    "connections.test": {"limit-connections": "3"},
}
_NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    limit_req_zone $binary_remote_addr zone=second:5m rate=5r/s;
    limit_req_zone $binary_remote_addr zone=minute:5m rate=120r/m;
    limit_conn_zone $binary_remote_addr zone=connections:5m;
    upstream backend {{ server {host}:{backend}; }}
    server {{
        listen {host}:{port};
        server_name rates.test;
        location / {{
            limit_req zone=second burst=10 nodelay;
            limit_req zone=minute burst=240 nodelay;
            proxy_pass http://backend;
        }}
    }}
    server {{
        listen {host}:{port};
        server_name connections.test;
        location / {{ limit_conn connections 3; proxy_pass http://backend; }}
    }}
}}
"""


def _answer(connection: socket.socket) -> None:
    with connection:
        heard = b""
        while b"\r\n\r\n" not in heard:
            octets = connection.recv(65536)
            if not octets:
                return
            heard += octets
        if heard.startswith(b"GET /lasting "):
            Event().wait(1.0)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")


def _serve(endpoint: socket.socket) -> None:
    while True:
        try:
            connection, _ = endpoint.accept()
        except OSError:
            return
        Thread(target=_answer, args=(connection,), daemon=True).start()


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        deadline = monotonic() + 20
        while monotonic() < deadline:
            with closing(socket.socket()) as client:
                if not client.connect_ex((HOST, port)):
                    break
            Event().wait(0.05)
        yield
    finally:
        process.terminate()
        process.wait(20)


def _manifests() -> str:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "demo"},
        "spec": {"ports": [{"port": 80}]},
    }
    path = {
        "path": "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": "web", "port": {"number": 80}}},
    }
    ingresses = [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {
                "name": host.partition(".")[0],
                "namespace": "demo",
                "annotations": {f"{_PREFIX}/{name}": value for name, value in annotations.items()},
            },
            "spec": {"ingressClassName": "nginx", "rules": [{"host": host, "http": {"paths": [path]}}]},
        }
        for host, annotations in _ANNOTATIONS.items()
    ]
    # What is JSON is YAML.
    return "\n---\n".join(map(json.dumps, (service, *ingresses)))


def _get(port: int, host: str, path: str = "/") -> int:
    with closing(HTTPConnection(HOST, port, timeout=10)) as connection:
        connection.request("GET", path, headers={"Host": host})
        return connection.getresponse().status


def _bursts(port: int) -> list[int]:
    passed = []
    for rest, count in BURSTS:
        Event().wait(rest)
        passed.append([_get(port, "rates.test") for _ in range(count)].count(200))
    return passed


def _lasting(port: int) -> int:
    with ThreadPoolExecutor(LASTING) as pool:
        asked = [pool.submit(_get, port, "connections.test", "/lasting") for _ in range(LASTING)]
        return [one.result() for one in asked].count(200)


def main() -> None:
    """Print what passes of each."""
    search_system_folders()
    if shutil.which("nginx") is None:
        print("nginx is not installed here, so there is nothing to compare with")
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        endpoint = stack.enter_context(closing(socket.create_server((HOST, 0), backlog=512)))
        Thread(target=_serve, args=(endpoint,), daemon=True).start()
        nginx, http, https, admin = free_ports(4)
        backend, ports = endpoint.getsockname()[1], {"nginx": nginx, "ours": http}
        (folder / "nginx.conf").write_text(
            _NGINX.format(folder=folder, host=HOST, backend=backend, port=ports["nginx"])
        )
        (folder / "manifests.yaml").write_text(_manifests())
        ours = [
            str(Path(sys.executable).with_name("twistd")),
            "-n",
            "--pidfile=",
            "ingress",
            f"--manifests={folder}/manifests.yaml",
            f"--endpoint=demo/web={HOST}:{backend}",
            f"--http=tcp:{ports['ours']}:interface={HOST}",
            f"--https=tcp:{https}:interface={HOST}",
            f"--admin=tcp:{admin}:interface={HOST}",
            f"--access-log={folder}/access.log",
        ]
        stack.enter_context(
            _running(["nginx", "-c", f"{folder}/nginx.conf", "-p", str(folder)], ports["nginx"])
        )
        stack.enter_context(_running(ours, ports["ours"]))
        with ThreadPoolExecutor(2) as pool:
            bursts = {name: pool.submit(_bursts, port) for name, port in ports.items()}
            print(
                f"of bursts of {[count for _, count in BURSTS]}, after {[rest for rest, _ in BURSTS]} s, pass:"
            )
            for name, found in bursts.items():
                print(f"{name:8}{found.result()}")
        print(f"of {LASTING} requests at once, with limit-connections 3, pass:")
        for name, port in ports.items():
            print(f"{name:8}{_lasting(port)}")


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
