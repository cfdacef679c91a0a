"""A downstream peer on a real socket: it sends what it is told, byte for byte, and reads answers strictly."""

from __future__ import annotations

import hashlib
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from tests.fakes.bodies import BodyProducer
from tests.fakes.peers.upstreams import nothing

KEPT = 1 << 16


@define
class Answer:
    """One answer: its head, how its body ended, and what was in it."""

    head: bytes
    status: int
    framing: bytes
    """``chunked``, ``length``, ``none`` or ``until close``."""
    size: int = 0
    whole: bool = False
    body: bytes = b""
    """At most ``KEPT`` bytes of the body."""
    _digest: Any = field(factory=hashlib.sha256)

    @property
    def digest(self) -> str:
        """The SHA-256 of the whole body."""
        return str(self._digest.hexdigest())

    def add(self, piece: bytes) -> None:
        """Take a piece of the body."""
        self.size += len(piece)
        self._digest.update(piece)
        self.body = (self.body + piece)[:KEPT]

    def has(self, line: bytes) -> bool:
        """Whether the head holds this field line."""
        return b"\r\n%b\r\n" % line in self.head + b"\r\n"


@implementer(IHalfCloseableProtocol)
class DownstreamWire(Protocol):
    """One connection to the proxy.

    *answers* are those whose head came, the last of them perhaps not whole;
    *tunnel* is what came behind a 101; *lost* is why the connection ended,
    *saw_end* whether the peer ended its side.
    """

    transport: Any

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.tunnel = bytearray()
        self.saw_end = False
        self.lost: BaseException | None = None
        self.pace: tuple[Any, int, float] | None = None
        """Reactor, bytes, seconds: rest so long after so many bytes."""
        self._since_rest = 0
        self._buffer = b""
        self._left = 0
        self._waiting: list[tuple[int, Deferred[None]]] = []

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._end()
        self.lost = reason.value
        self._look()

    def readConnectionLost(self) -> None:
        """The peer sends no more."""
        self._end()
        self._look()
        self.transport.loseConnection()

    def writeConnectionLost(self) -> None:
        """Our side is shut down, as we asked."""

    def _end(self) -> None:
        self.saw_end = True
        if self.answers and self.answers[-1].framing == b"until close":
            self.answers[-1].whole = True

    def dataReceived(self, data: bytes) -> None:
        if self.answers and self.answers[-1].status == 101:
            self.tunnel += data
        else:
            self._buffer += data
            while self._buffer and self._read():
                pass
        self._look()
        self._rest(len(data))

    def _rest(self, received: int) -> None:
        if self.pace is None:
            return
        reactor, size, seconds = self.pace
        self._since_rest += received
        if self._since_rest >= size:
            self._since_rest = 0
            self.transport.pauseProducing()
            reactor.callLater(seconds, self._go_on)

    def _go_on(self) -> None:
        if self.lost is None:
            self.transport.resumeProducing()

    def _read(self) -> bool:
        if self.answers and not self.answers[-1].whole:
            return self._read_body(self.answers[-1])
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return False
        self._buffer = rest
        status = int(head.split(b" ", 2)[1])
        if 100 <= status < 200 and status != 101:
            return True
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields.get(b"content-length", b"-1"))
        if fields.get(b"transfer-encoding") == b"chunked":
            framing = b"chunked"
        elif status in (101, 204, 304) or length == 0:
            framing = b"none"
        else:
            framing = b"length" if length > 0 else b"until close"
        self._left = max(0, length)
        self.answers.append(Answer(head, status, framing, whole=framing == b"none"))
        if status == 101:
            self.tunnel, self._buffer = bytearray(self._buffer), b""
        return True

    def _read_body(self, answer: Answer) -> bool:
        if answer.framing == b"until close":
            answer.add(self._buffer)
            self._buffer = b""
            return False
        if answer.framing == b"chunked" and not self._left:
            line, end, rest = self._buffer.partition(b"\r\n")
            if not end or (line == b"0" and len(rest) < 2):
                return False
            self._buffer = rest
            if line == b"0":
                self._buffer = rest[2:]
                answer.whole = True
            else:
                self._left = int(line, 16) + 2
            return True
        piece, self._buffer = self._buffer[: self._left], self._buffer[self._left :]
        self._left -= len(piece)
        if answer.framing == b"chunked":
            piece = piece[: len(piece) - min(max(0, 2 - self._left), len(piece))]
        elif not self._left:
            answer.whole = True
        answer.add(piece)
        return True

    # For tests

    def send(self, octets: bytes) -> None:
        """Send bytes."""
        self.transport.write(octets)

    def get(self, path: bytes = b"/", host: bytes = b"app.test", fields: bytes = b"") -> None:
        """Send a GET request; *fields* are whole lines."""
        self.send(b"GET %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (path, host, fields))

    def post(self, body: bytes, path: bytes = b"/", fields: bytes = b"") -> None:
        """Send a POST request with a length."""
        head = b"POST %b HTTP/1.1\r\nHost: app.test\r\nContent-Length: %d\r\n%b\r\n"
        self.send(head % (path, len(body), fields) + body)

    def upload(self, size: int, chunked: bool) -> BodyProducer:
        """Send a POST request with *size* bytes of the test body."""
        framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size
        self.send(b"POST /upload HTTP/1.1\r\nHost: app.test\r\n%b\r\n\r\n" % framing)
        producer = BodyProducer(self.transport, size, chunked, nothing)
        producer.start()
        return producer

    def answer(self, count: int | None = None) -> Deferred[None]:
        """Fire when *count* answers (by default one more than are whole now) are whole, or the connection ended."""
        wanted = self._whole() + 1 if count is None else count
        waiter: Deferred[None] = Deferred()
        self._waiting.append((wanted, waiter))
        self._look()
        return waiter

    def _whole(self) -> int:
        # No other one begins before one is whole.
        return len(self.answers) - (1 if self.answers and not self.answers[-1].whole else 0)

    def _look(self) -> None:
        for entry in tuple(self._waiting):
            wanted, waiter = entry
            if self.lost is not None or self._whole() >= wanted:
                self._waiting.remove(entry)
                waiter.callback(None)
