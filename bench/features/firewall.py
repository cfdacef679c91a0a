"""What the firewall costs: seconds and processor time of requests and pages, without it, with the recommended configuration, and with the core rules.

    python -m bench.features.firewall

It needs libmodsecurity 3 and the core rules.  Requests come one after the other on one connection of this machine.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter
from typing import Final

import yaml

from bench.setup.ending import status_of
from ingress.translate.options import ANNOTATIONS_PREFIX
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.processes import free_port
from tests.firewall.test_modsecurity import firewall_processes

REQUESTS: Final = 900
"""On one connection, which takes a thousand."""
PAGES: Final = 150
WARMING: Final = 50
PATIENCE: Final = 60.0
CRS: Final = "SecRuleEngine On\nInclude /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf"
FULL: Final = f"Include /etc/nginx/modsecurity/modsecurity.conf\n{CRS}"
CASES: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("without", {}),
    ("recommended", {"enable-modsecurity": "true"}),
    (
        "core rules, which only detect",
        {"enable-modsecurity": "true", "enable-owasp-core-rules": "true"},
    ),
    ("core rules", {"enable-modsecurity": "true", "modsecurity-snippet": FULL}),
)
FORM: Final = b"name=Jane+Doe&text=" + b"hello+world+" * 80
WORDS: Final = b"<p class=item>The shop has <a href=/x?y=1>hats</a>, shoes and tables for 12.50 EUR</p>\n"
HEAD: Final = b"Host: shop.test\r\nUser-Agent: Mozilla/5.0 (X11; Linux)\r\nAccept: */*\r\n"
SORTS: Final = (
    ("GET", REQUESTS, b"GET /shop?page=2&sort=price HTTP/1.1\r\n" + HEAD + b"\r\n"),
    (
        "POST of 1 kB",
        REQUESTS,
        b"POST /form HTTP/1.1\r\n%bContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%b"
        % (HEAD, len(FORM), FORM),
    ),
    ("GET, a page of 16 kB", PAGES, b"GET /page/16384 HTTP/1.1\r\n" + HEAD + b"\r\n"),
    ("GET, a page of 128 kB", PAGES, b"GET /page/131072 HTTP/1.1\r\n" + HEAD + b"\r\n"),
)
TICKS: Final = os.sysconf("SC_CLK_TCK")


def answer_all(listening: socket.socket) -> None:
    """Answer each request of each connection with a few bytes, or with a page of as many as its path says."""
    while True:
        sock, _ = listening.accept()
        threading.Thread(target=answer_one, args=(sock,), daemon=True).start()


def answer_one(sock: socket.socket) -> None:
    """Answer the requests of one connection, which come whole."""
    buffer = b""
    while octets := sock.recv(65536):
        buffer += octets
        head, end, rest = buffer.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        if end and len(rest) >= length:
            buffer = rest[length:]
            size = int(head.partition(b"GET /page/")[2].partition(b" ")[0] or 0)
            kind, body = (b"html", (WORDS * (size // len(WORDS) + 1))[:size]) if size else (b"plain", b"ok")
            fields = b"Content-Type: text/%b\r\nContent-Length: %d\r\n" % (kind, len(body))
            sock.sendall(b"HTTP/1.1 200 OK\r\n%b\r\n%b" % (fields, body))


@contextmanager
def controller(annotations: dict[str, str], endpoint: str) -> Iterator[tuple[int, int]]:
    """Run a controller; yield its process id and the port where it serves HTTP."""
    made = ingress_object("shop", "shop.test")
    made["metadata"]["annotations"] = {
        f"{ANNOTATIONS_PREFIX}/{name}": value for name, value in annotations.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "all.yaml").write_text(yaml.safe_dump_all((made, service_object("shop"))))
        port, admin, https = free_port(), free_port(), free_port()
        listeners = (("http", port), ("https", https), ("admin", admin))
        options = [f"--{name}=tcp:{number}:interface=127.0.0.1" for name, number in listeners]
        options += [f"--manifests={folder}", f"--endpoint={NAMESPACE}/shop={endpoint}", "--shutdown-delay=0"]
        options += ["--disable-access-log", *(["--firewall-processes=2"] if annotations else [])]
        command = [
            str(Path(sys.executable).with_name("twistd")),
            "--nodaemon",
            "--pidfile=",
            "ingress",
            *options,
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            until_served(port)
            yield process.pid, port
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def until_served(port: int) -> None:
    """Wait until the port answers."""
    deadline = monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if monotonic() > deadline:
                raise
            threading.Event().wait(0.05)
        else:
            return


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def resident(pid: int) -> float:
    """Return the proportional set size of a process in MiB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024


def read_answer(sock: socket.socket) -> None:
    """Read one answer, which says how long it is."""
    answer = b""
    while True:
        head, end, body = answer.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            break
        more = sock.recv(262_144)
        if not more:
            raise SystemExit(f"no answer: {answer[:200]!r}")
        answer += more
    if b" 200 " not in answer[:16]:
        raise SystemExit(f"another answer: {answer[:200]!r}")


def measure(port: int, request: bytes, count: int) -> list[float]:
    """Return the seconds of each of *count* requests, in order of length."""
    seconds = []
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(WARMING + count):
            begun = perf_counter()
            sock.sendall(request)
            read_answer(sock)
            if number >= WARMING:
                seconds.append(perf_counter() - begun)
    return sorted(seconds)


def main() -> None:
    """Print a table."""
    listening = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=answer_all, args=(listening,), daemon=True).start()
    endpoint = f"127.0.0.1:{listening.getsockname()[1]}"
    print(
        "| rules | request | p50 ms | p99 ms | CPU ms, serving | CPU ms, firewall | MiB a firewall process |"
    )
    print("|---|---|--:|--:|--:|--:|--:|")
    for rules, asked in CASES:
        with controller(asked, endpoint) as (pid, port):
            for sort, number, request in SORTS:
                firewalls = firewall_processes(pid)
                before = processor_seconds(pid), sum(map(processor_seconds, firewalls))
                seconds = measure(port, request, number)
                count = WARMING + number
                spent = processor_seconds(pid) - before[0], sum(map(processor_seconds, firewalls)) - before[1]
                size = f"{max(map(resident, firewalls)):.0f}" if firewalls else ""
                print(
                    f"| {rules} | {sort} | {seconds[len(seconds) // 2] * 1000:.2f} | {seconds[len(seconds) * 99 // 100] * 1000:.2f} "
                    f"| {spent[0] / count * 1000:.2f} | {spent[1] / count * 1000:.2f} | {size} |",
                    flush=True,
                )


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
