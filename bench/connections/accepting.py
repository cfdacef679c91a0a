"""``python -m bench.connections.accepting``: ways to have connections of one port accepted by several processes.

Each way has two small processes that accept, answer one byte with one byte, and hold their connections until the client ends them: what
differs is only how they come by connections.

- *shared*: both accept on one socket, by turns (``ingress.workers.accepting.accept_turn``), as workers do;
- *shared, without turns*: whoever is first has it;
- *SO_REUSEPORT*: a socket for each, the kernel spreads by addresses and ports;
- *passed*: the parent accepts, and sends descriptors to each in turn.
"""

import argparse
import os
import select
import signal
import socket
from collections.abc import Callable, Sequence
from statistics import median
from time import monotonic, monotonic_ns, perf_counter
from typing import NoReturn

from attrs import define, frozen

from bench.measuring.gauges import cpu_seconds
from bench.setup.processes import HOST, pause
from ingress.workers.accepting.accept_turn import BEAT_SECONDS, AcceptTurn
from ingress.workers.shared_page import SharedPage

WORKERS = 2
HELD = 1000
SLOWLY_SECONDS = 0.001
STOPPED = 200
PATIENCE_SECONDS = 0.5
_BACKLOG = 1024
_READ = select.EPOLLIN


class _Accepting:
    """The process of one worker; its connections come from *listener*, or as descriptors over *passed*."""

    def __init__(
        self,
        page: SharedPage,
        number: int,
        listener: socket.socket | None,
        passed: socket.socket | None,
        turns: bool,
    ) -> None:
        self._row = page.row(number)
        self._listener = listener
        self._passed = passed
        self._connections: dict[int, socket.socket] = {}
        self._epoll = select.epoll()
        self._left_until = 0.0
        others = [page.row(other) for other in range(page.rows) if other != number]
        self._turn = (
            AcceptTurn(others, lambda: len(self._connections), lambda: False, monotonic_ns) if turns else None
        )

    def run(self) -> NoReturn:
        """Accept and answer for ever."""
        self._row.accept(True)
        source = self._listener or self._passed
        assert source is not None
        source.setblocking(False)
        self._epoll.register(source, _READ)
        beat = 0.0
        while True:
            if monotonic() >= beat:
                self._row.pulse(False)
                beat = monotonic() + BEAT_SECONDS
            wait = self._left_until - monotonic() if self._left_until else beat - monotonic()
            for descriptor, _ in self._epoll.poll(max(0.0, wait), 64):
                if descriptor == source.fileno():
                    self._take()
                else:
                    self._answer(descriptor)
            if self._left_until and monotonic() >= self._left_until:
                self._left_until = 0.0
                self._epoll.register(source, _READ)
                self._take()

    def _take(self) -> None:
        while True:
            try:
                if self._listener is None:
                    assert self._passed is not None
                    _, descriptors, _, _ = socket.recv_fds(self._passed, 1, 1)
                    self._add(socket.socket(fileno=descriptors[0]))
                    continue
                if self._turn is not None and (seconds := self._turn.seconds_to_leave()):
                    self._left_until = monotonic() + seconds
                    self._epoll.unregister(self._listener)
                    return
                self._add(self._listener.accept()[0])
            except BlockingIOError:
                return
            finally:
                if self._turn is not None and not self._left_until:
                    self._turn.over()

    def _add(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._connections[sock.fileno()] = sock
        self._row.count(len(self._connections))
        self._epoll.register(sock, _READ)

    def _answer(self, descriptor: int) -> None:
        sock = self._connections[descriptor]
        try:
            received = sock.recv(64)
        except ConnectionError:
            received = b""
        if received:
            sock.send(received)
        else:
            self._epoll.unregister(sock)
            del self._connections[descriptor]
            sock.close()
            self._row.count(len(self._connections))


@frozen
class Way:
    """One way to have connections accepted."""

    title: str
    reuses_port: bool = False
    passes: bool = False
    turns: bool = False


WAYS = (
    Way("shared, by turns", turns=True),
    Way("shared, without turns"),
    Way("SO_REUSEPORT", reuses_port=True),
    Way("passed descriptors", passes=True),
)


@define
class Running:
    """The processes of one way, at a port."""

    port: int
    pids: list[int]
    """Workers, and behind them, where there is one, the parent that passes."""
    page: SharedPage

    def end(self) -> None:
        """End all of them."""
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _fork(run: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            run()
        finally:
            os._exit(1)
    return pid


def _listening(port: int, *, reuses: bool) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if reuses:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind((HOST, port))
    sock.listen(_BACKLOG)
    return sock


def _pass_on(listener: socket.socket, ends: Sequence[socket.socket]) -> None:
    number = 0
    while True:
        sock, _ = listener.accept()
        socket.send_fds(ends[number % len(ends)], [b"1"], [sock.fileno()])
        sock.close()
        number += 1


def start(way: Way) -> Running:
    """Start the processes of *way*."""
    page = SharedPage(WORKERS)
    first = _listening(0, reuses=way.reuses_port)
    port = first.getsockname()[1]
    pids, ends, closing = [], [], [first]
    for number in range(WORKERS):
        listener: socket.socket | None = first
        passed: socket.socket | None = None
        if way.passes:
            end, passed = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            listener = None
            ends.append(end)
            closing += [end, passed]
        elif way.reuses_port and number:
            listener = _listening(port, reuses=True)
            closing.append(listener)
        pids.append(_fork(_Accepting(page, number, listener, passed, way.turns).run))
    if way.passes:
        pids.append(_fork(lambda: _pass_on(first, ends)))
    for sock in closing:
        sock.close()
    return Running(port, pids, page)


def _connected(port: int, seconds: float | None = None) -> socket.socket | None:
    """Return a connection that has had an answer; None if there is none within *seconds*."""
    sock = socket.create_connection((HOST, port), seconds)
    try:
        sock.sendall(b"x")
        sock.recv(1)
    except TimeoutError:
        sock.close()
        return None
    return sock


def in_a_row(running: Running, count: int) -> tuple[float, float]:
    """Make *count* connections one after the other; return how many in a second, and microseconds of the processes for each."""
    spent, began = sum(map(cpu_seconds, running.pids)), perf_counter()
    for _ in range(count):
        sock = _connected(running.port)
        assert sock is not None
        sock.close()
    took = perf_counter() - began
    return count / took, (sum(map(cpu_seconds, running.pids)) - spent) / count * 1e6


def spread(running: Running) -> list[int]:
    """Hold some connections that come one by one; return how many each worker has."""
    held = []
    for _ in range(HELD):
        held.append(_connected(running.port))
        pause(SLOWLY_SECONDS)
    found = [running.page.row(number).connections for number in range(WORKERS)]
    for sock in held:
        if sock is not None:
            sock.close()
    pause(0.2)
    return found


def while_stopped(running: Running) -> tuple[float, float, int]:
    """Stop one worker; return the median and longest milliseconds to the answer on a new connection, and how many had none."""
    os.kill(running.pids[0], signal.SIGSTOP)
    times, lost = [], 0
    for _ in range(STOPPED):
        began = perf_counter()
        sock = _connected(running.port, PATIENCE_SECONDS)
        if sock is None:
            lost += 1
        else:
            times.append((perf_counter() - began) * 1000)
            sock.close()
        if lost == 20:
            break
    os.kill(running.pids[0], signal.SIGCONT)
    return median(times), max(times), lost


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.connections.accepting")
    parser.add_argument("--connections", type=int, default=3000)
    options = parser.parse_args()
    print(
        "| way | connections a second | CPU for each | spread of 1000 that come one by one | one worker stopped: median, longest, without an answer |"
    )
    print("|---|---|---|---|---|")
    for way in WAYS:
        running = start(way)
        try:
            pause(0.2)
            in_a_row(running, options.connections // 10)
            rate, spent = in_a_row(running, options.connections)
            pause(0.2)
            counts = spread(running)
            usual, longest, lost = while_stopped(running)
        finally:
            running.end()
        asked = f"{lost} of {STOPPED}" if lost < 20 else "20, then given up"
        print(
            f"| {way.title} | {rate:,.0f} | {spent:.0f} µs | {' + '.join(map(str, counts))} "
            f"| {usual:.1f} ms, {longest:.0f} ms, {asked} |"
        )


if __name__ == "__main__":
    main()
