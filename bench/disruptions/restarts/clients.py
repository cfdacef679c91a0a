"""Clients of eight kinds, each kind a process with several of them, which ask at a steady rate and try nothing again.

Each remembers from which local port it asked, so that what failed can be told by the process that had the connection.
"""

import errno
import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection as Pipe
from threading import Event, Thread
from time import monotonic

from attrs import Factory, define, frozen

from bench.disruptions.restarts.pod import ASKED, ECHOED, GAP_SECONDS, KEY, PIECE, PIECES
from bench.disruptions.takeover.loads import (
    ENDED,
    NAME,
    FailedError,
    HandshakeError,
    Http1Connection,
    Http2Connection,
    Ports,
)

AT_REST = "closed at rest"


class Download(Http1Connection):
    """Downloads what comes slowly."""

    def get(self, *, last: bool, path: bytes = b"/download") -> None:
        """Download once."""
        super().get(last=last, path=path)


class Upload(Http1Connection):
    """Uploads slowly."""

    def get(self, *, last: bool, path: bytes = b"/upload") -> None:
        """Upload once."""
        self.is_begun = False
        ending = b"Connection: close\r\n" if last else b""
        head = b"POST %b HTTP/1.1\r\nHost: %b\r\n%bContent-Length: %d\r\n\r\n"
        self._sock.sendall(head % (path, NAME.encode(), ending, PIECES * PIECE))
        self.is_begun = True
        waiting = Event()
        for _ in range(PIECES):
            self._sock.sendall(bytes(PIECE))
            waiting.wait(GAP_SECONDS)
        self._read_answer(last)


class WebSocket(Http1Connection):
    """Sends a message, and waits for its echo."""

    def __init__(self, port: int, *, patience: float) -> None:
        super().__init__(port, patience=patience)
        self._came = b""
        try:
            self._open()
        except (FailedError, OSError) as error:
            self.close()
            raise HandshakeError(self.local_port) from error

    def _open(self) -> None:
        upgrade = (
            b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
        )
        self._sock.sendall(b"GET /chat HTTP/1.1\r\nHost: %b\r\n%b%b\r\n\r\n" % (NAME.encode(), upgrade, KEY))
        while b"\r\n\r\n" not in self._came:
            self._came += self._receive()
        head, _, self._came = self._came.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101"):
            raise FailedError(head.split(b"\r\n")[0].decode("latin-1"))

    def get(self, *, last: bool, path: bytes = b"/chat") -> None:
        """Have one message echoed."""
        self.is_begun, self.longest_wait = False, 0.0
        self._sock.sendall(ASKED)
        while len(self._came) < len(ECHOED):
            self._came += self._receive()
        if self._came != ECHOED:
            raise FailedError("something else than the echo")
        self._came = b""


Connection = Http1Connection | Http2Connection


@frozen
class Kind:
    """One kind of client.  *is_transfer* says that a request takes long by nature; *share* is that of the rate of all."""

    title: str
    connect: Callable[[Ports, float], Connection]
    per_connection: int = 1_000_000
    is_transfer: bool = False
    minds_ends: bool = False
    """Whether it is a loss that a connection at rest is closed."""


KINDS = {
    "new": Kind("new connection", lambda ports, patience: Http1Connection(ports.http, patience=patience), 1),
    "keep-alive": Kind("keep-alive", lambda ports, patience: Http1Connection(ports.http, patience=patience)),
    "tls": Kind(
        "TLS, new connection",
        lambda ports, patience: Http1Connection(ports.https, secure=True, patience=patience),
        1,
    ),
    "tls-keep-alive": Kind(
        "TLS, keep-alive",
        lambda ports, patience: Http1Connection(ports.https, secure=True, patience=patience),
    ),
    "h2": Kind("HTTP/2", lambda ports, patience: Http2Connection(ports.https, patience=patience)),
    "websocket": Kind(
        "WebSocket", lambda ports, patience: WebSocket(ports.http, patience=patience), minds_ends=True
    ),
    "download": Kind(
        "download", lambda ports, patience: Download(ports.http, patience=patience), is_transfer=True
    ),
    "upload": Kind("upload", lambda ports, patience: Upload(ports.http, patience=patience), is_transfer=True),
}


@frozen
class Loss:
    """A request that failed, or a WebSocket that was closed at rest.  *port* is the client's, 0 where it had none."""

    at: float
    port: int
    why: str
    is_cut: bool
    """Whether a part had come, or was sent."""


@define
class Seen:
    """What clients of one kind saw."""

    asked: int = 0
    lost: list[Loss] = Factory(list)
    pauses: dict[int, float] = Factory(dict)
    """The longest time without a good answer though one was wanted, in seconds, by the client's port before it."""

    def paused(self, port: int, seconds: float) -> None:
        """Note a pause."""
        self.pauses[port] = max(seconds, self.pauses.get(port, 0.0))

    def add(self, other: "Seen") -> None:
        """Add what another client saw."""
        self.asked += other.asked
        self.lost += other.lost
        for port, seconds in other.pauses.items():
            self.paused(port, seconds)


def why(error: Exception) -> str:
    """Return the reason of a failure, in words that are the same for all of its sort."""
    if isinstance(error, HandshakeError):
        cause = error.__cause__
        assert isinstance(cause, Exception)
        return f"{why(cause)} in the handshake"
    if isinstance(error, FailedError):
        return "ended before the answer" if str(error) == ENDED else str(error)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.errno in (errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE):
        return "refused" if error.errno == errno.ECONNREFUSED else "reset"
    return type(error).__name__


class Client:
    """One client of a *kind*, which asks once in *gap* seconds, and as soon as it can where an answer took longer."""

    def __init__(self, kind: Kind, ports: Ports, patience: float, gap: float) -> None:
        self.seen = Seen()
        self._kind = kind
        self._ports = ports
        self._patience = patience
        self._gap = gap
        self._connection: Connection | None = None
        self._requests = 0
        self._without: tuple[float, int] | None = None
        """Since when nothing was answered, and from which port it was asked for first."""

    def run(self, first: float, stop: Event) -> None:
        """Ask until *stop*, from the moment *first* on."""
        due = first
        while not stop.wait(max(0.0, due - monotonic())):
            self._ask()
            due = max(due + self._gap, monotonic())
            if self._without is not None:
                due = max(due, monotonic() + self._gap)
        if self._without is not None:
            since, port = self._without
            self.seen.paused(port, monotonic() - since)
        self._leave()

    def _ask(self) -> None:
        kind, seen = self._kind, self.seen
        began = monotonic()
        one = self._connection
        if one is not None and (one.is_over or one.was_closed()):
            if kind.minds_ends:
                seen.lost.append(Loss(began, one.local_port, AT_REST, True))
            self._leave()
        seen.asked += 1
        port = 0
        try:
            if self._connection is None:
                self._connection, self._requests = kind.connect(self._ports, self._patience), 0
            one, port = self._connection, self._connection.local_port
            self._requests += 1
            one.get(last=self._requests == kind.per_connection)
        except (FailedError, OSError) as error:
            now = monotonic()
            port = error.local_port if isinstance(error, HandshakeError) else port
            is_cut = isinstance(self._connection, Http1Connection) and self._connection.is_begun
            seen.lost.append(Loss(now, port, why(error), is_cut))
            if self._without is None:
                waited = self._wait_of(self._connection, began, now)
                self._without = now - waited, port
            self._leave()
            return
        now = monotonic()
        waited = self._wait_of(self._connection, began, now)
        if self._without is not None:
            since, port = self._without
            seen.paused(port, began + waited - since)
            self._without = None
        else:
            seen.paused(port, waited)

    def _wait_of(self, connection: Connection | None, began: float, now: float) -> float:
        if self._kind.is_transfer and isinstance(connection, Http1Connection):
            return max(0.0, connection.longest_wait - GAP_SECONDS)
        return now - began

    def _leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _play(kind: Kind, ports: Ports, patience: float, count: int, gap: float) -> Callable[[], Seen]:
    stop, began = Event(), monotonic()
    clients = [Client(kind, ports, patience, gap) for _ in range(count)]
    threads = [
        Thread(target=one.run, args=(began + gap * place / count, stop), daemon=True)
        for place, one in enumerate(clients)
    ]
    for thread in threads:
        thread.start()

    def stopped() -> Seen:
        stop.set()
        found = Seen()
        for thread, client in zip(threads, clients, strict=True):
            thread.join()
            found.add(client.seen)
        return found

    return stopped


def _process(name: str, ports: Ports, patience: float, count: int, gap: float, pipe: Pipe) -> None:
    # What the process that forks does at it is not for those.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    stopped = _play(KINDS[name], ports, patience, count, gap)
    pipe.recv()
    pipe.send(stopped())


class Crowd:
    """All kinds, each with *count* clients and *rate* requests a second."""

    def __init__(self, ports: Ports, names: Sequence[str], count: int, rate: float, patience: float) -> None:
        self._pipes: dict[str, Pipe] = {}
        self._processes = []
        # Nothing of this process, which has neither threads nor locks, is in their way.
        forking = multiprocessing.get_context("fork")
        for name in names:
            here, there = forking.Pipe()
            process = forking.Process(
                target=_process, args=(name, ports, patience, count, count / rate, there), daemon=True
            )
            process.start()
            there.close()
            self._pipes[name] = here
            self._processes.append(process)

    def stop(self) -> dict[str, Seen]:
        """Have all stop when their requests are over; return what they saw, by kind."""
        for pipe in self._pipes.values():
            pipe.send(None)
        found: dict[str, Seen] = {name: pipe.recv() for name, pipe in self._pipes.items()}
        for process in self._processes:
            process.join()
        return found
