"""``python -m bench.disruptions.takeover``: take over again and again under load, and count what is lost."""

import argparse
import multiprocessing
import signal
import socket
import sys
import tempfile
from base64 import b64encode
from multiprocessing.pool import AsyncResult
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

from bench.disruptions.takeover.chain import Chain, Cost
from bench.disruptions.takeover.loads import HOST, LOADS, NAME, Count, Ports, ask
from bench.setup.certificate import write_key_pair
from bench.setup.ending import status_of
from bench.setup.errors import BenchError

# What this program itself defines is known in forked processes alone, where Python no longer forks by itself (3.14).
_FORKED = multiprocessing.get_context("fork")

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class _Backend(StreamRequestHandler):
    """Answers every request."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer until the connection ends."""
        try:
            while line := self.rfile.readline():
                if line == b"\r\n":
                    self.wfile.write(_ANSWER)
        except OSError:
            return


class _Server(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True


def _serve(port: Any) -> None:
    with _Server((HOST, 0), _Backend) as server:
        port.value = server.server_address[1]
        server.serve_forever()


class Shared:
    """Known in each process of the pool: when it is enough, and how often each client has asked."""

    enough: Event
    asked: Any

    @classmethod
    def begin(cls, enough: Event, asked: Any) -> None:
        """Learn of both, in a process of its own, which SIGTERM ends at once: it cannot raise in who waits for a lock."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        cls.enough, cls.asked = enough, asked


def _ask(number: int, name: str, ports: Ports, pause: float) -> Count:
    def told(asked: int) -> None:
        Shared.asked[number] = asked

    return ask(LOADS[name], ports, Shared.enough.is_set, told, pause)


def _free_ports(count: int) -> list[int]:
    socks = [socket.socket() for _ in range(count)]
    for sock in socks:
        sock.bind((HOST, 0))
    ports = [sock.getsockname()[1] for sock in socks]
    for sock in socks:
        sock.close()
    return ports


def _backend() -> tuple[BaseProcess, int]:
    port = _FORKED.Value("i", 0)
    process = _FORKED.Process(target=_serve, args=(port,), daemon=True)
    process.start()
    while not port.value:
        process.join(0.01)
        if process.exitcode is not None:
            raise BenchError(f"the backend ended with status {process.exitcode}")
    return process, port.value


def _told(name: str, count: Count) -> str:
    reason = f" ({count.reason})" if count.reason else ""
    return (
        f"{LOADS[name].title:<28} {count.failed} failed of {count.asked:,}, "
        f"on {count.connections:,} connections{reason}"
    )


def _told_cost(number: int, cost: Cost) -> str:
    return (
        f"takeover {number:>2}: process {cost.pid}, {cost.seconds:.2f} s until the one before had ended, "
        f"{cost.resident_kib / 1024:.1f} MiB, {cost.descriptors} descriptors"
    )


def _played(arguments: argparse.Namespace, folder: Path) -> bool:
    """Play it; return whether nothing was lost, or left behind."""
    pair = write_key_pair(folder, (NAME,))
    Chain.write_objects(folder, b64encode(pair.certificate_pem).decode(), b64encode(pair.key_pem).decode())
    http, https, admin = _free_ports(3)
    ports = Ports(http, https)
    backend, port = _backend()
    chain = Chain(folder, ports, admin, f"{HOST}:{port}", tuple(arguments.option))
    names = [name for name in LOADS if not arguments.only or name in arguments.only.split(",")]
    costs: list[Cost] = []
    try:
        chain.start()
        enough = _FORKED.Event()
        asked = _FORKED.Array("L", len(names), lock=False)
        with _FORKED.Pool(len(names), Shared.begin, (enough, asked)) as pool:
            clients: list[AsyncResult[Count]] = [
                pool.apply_async(_ask, (number, name, ports, arguments.pause))
                for number, name in enumerate(names)
            ]
            # One follows the other until all have asked: none of the requests is made in quiet times.
            while len(costs) < arguments.takeovers or min(asked) < arguments.requests:
                costs.append(chain.follow(in_place=len(costs) % 2 == 1))
                sys.stdout.write(f"{_told_cost(len(costs), costs[-1])}\n")
                sys.stdout.flush()
            enough.set()
            counts = [one.get() for one in clients]
        left = chain.end()
    finally:
        chain.stop()
        backend.terminate()
    for name, count in zip(names, counts, strict=True):
        sys.stdout.write(f"{_told(name, count)}\n")
    sys.stdout.write(f"{len(left)} processes are left behind\n")
    return not left and not any(count.failed for count in counts)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m bench.disruptions.takeover", description=__doc__)
    made.add_argument(
        "--takeovers", type=int, default=20, help="how many, at least; every other one is in place"
    )
    made.add_argument("--requests", type=int, default=10_000, help="of each kind, at least")
    made.add_argument("--pause", type=float, default=0.0005, help="seconds between the requests of a client")
    made.add_argument("--only", default="", metavar="NAMES", help=f"of {','.join(LOADS)}")
    made.add_argument("--option", action="append", default=[], metavar="OPTION", help="of twistd ingress")
    return made


def main(given: list[str]) -> int:
    """Play what *given* asks for; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        return 0 if _played(parser().parse_args(given), Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(status_of("bench", lambda: main(sys.argv[1:])))
