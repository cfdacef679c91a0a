"""A scripted upstream on a real socket: it reads requests well and answers them as badly as it is told."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IListeningPort
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from ingress.model.upstream.backends import Endpoint
from tests.fakes.bodies import BodyProducer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def nothing() -> None:
    """Do nothing."""


class UpstreamWire(Protocol):
    """One connection to the upstream.

    *heads* are the heads received so far; *body_size* and *digest* are of the
    body of the last request, *after* what came behind a request without end
    (a tunnel).  *lost* is why the connection ended.
    """

    transport: Any

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.heads: list[bytes] = []
        self.body_size = 0
        self.digest = hashlib.sha256()
        self.lost: BaseException | None = None
        self.is_tunnel = False
        self.after = b""
        self._buffer = b""
        self._left = 0
        self._is_chunked = False
        self._in_body = False

    def connectionMade(self) -> None:
        self.upstream.wires.append(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.lost = reason.value

    def dataReceived(self, data: bytes) -> None:
        self._buffer += data
        if self.is_tunnel:
            self.after += self._buffer
            self._buffer = b""
            self.upstream.on_tunnel(self)
            return
        while self._buffer and not self.is_tunnel:
            if not (self._read_body() if self._in_body else self._read_head()):
                return

    def _read_head(self) -> bool:
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return False
        self._buffer = rest
        self.heads.append(head)
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        self._is_chunked = fields.get(b"transfer-encoding") == b"chunked"
        self._left = int(fields.get(b"content-length", b"0"))
        self.body_size = 0
        self.digest = hashlib.sha256()
        self._in_body = self._is_chunked or self._left > 0
        self.upstream.on_head(self)
        if not self._in_body:
            self._requested()
        return True

    def _read_body(self) -> bool:
        if self._is_chunked and not self._left:
            line, end, rest = self._buffer.partition(b"\r\n")
            if not end or (line == b"0" and len(rest) < 2):
                return False
            self._buffer = rest
            if line == b"0":
                self._buffer = rest[2:]
                self._requested()
            else:
                # The CRLF behind the payload counts as part of it, and is taken off at the end.
                self._left = int(line, 16) + 2
            return True
        piece, self._buffer = self._buffer[: self._left], self._buffer[self._left :]
        self._left -= len(piece)
        if self._is_chunked:
            ending = max(0, 2 - self._left)
            piece = piece[: len(piece) - min(ending, len(piece))]
        self.body_size += len(piece)
        self.digest.update(piece)
        if not self._left and not self._is_chunked:
            self._requested()
        return True

    def _requested(self) -> None:
        self._in_body = False
        self.upstream.requests += 1
        self.upstream.on_request(self)

    # For scripts

    def write(self, octets: bytes) -> None:
        """Send bytes."""
        self.transport.write(octets)

    def close(self) -> None:
        """End the connection regularly once everything is sent."""
        self.transport.loseConnection()

    def reset(self) -> None:
        """Reset the connection."""
        self.transport.abortConnection()

    def stream(self, size: int, chunked: bool, done: Callable[[], None] = nothing) -> BodyProducer:
        """Answer with *size* bytes of the test body."""
        framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size
        self.write(b"HTTP/1.1 200 OK\r\n%b\r\n\r\n" % framing)
        producer = BodyProducer(self.transport, size, chunked, done)
        producer.start()
        return producer

    def switch(self, protocol: bytes = b"websocket") -> None:
        """Accept an upgrade; what follows is a tunnel."""
        self.is_tunnel = True
        self.write(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n" % protocol
        )


class Upstream(Factory):
    """Listens on a free loopback port and answers by script.

    ``on_head`` is called when a head is complete, ``on_request`` when the request
    is, ``on_tunnel`` when bytes of a tunnel came; a test sets what it needs.
    """

    noisy = False

    def __init__(self, reactor: Any, on_request: Callable[[UpstreamWire], object] | None = None) -> None:
        self.wires: list[UpstreamWire] = []
        self.requests = 0
        self.on_head: Callable[[UpstreamWire], object] = lambda wire: None
        self.on_request: Callable[[UpstreamWire], object] = on_request or (lambda wire: wire.write(OK))
        self.on_tunnel: Callable[[UpstreamWire], object] = lambda wire: None
        self._reactor = reactor
        self.port: IListeningPort | None = None

    def buildProtocol(self, addr: object) -> UpstreamWire:
        return UpstreamWire(self)

    def listen(self, port: int = 0) -> Endpoint:
        """Listen, and return where: whoever stops and listens again on the same *port* has it of ``free_port``."""
        self.port = self._reactor.listenTCP(port, self, interface="127.0.0.1")
        return self.endpoint

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens."""
        assert self.port is not None, "listen() comes first"
        return Endpoint("127.0.0.1", self.port.getHost().port)  # type: ignore[attr-defined]

    def stop(self) -> Deferred[None] | None:
        """Reset all connections and listen no more."""
        for wire in self.wires:
            if wire.lost is None:
                wire.reset()
        port, self.port = self.port, None
        return None if port is None else port.stopListening()

    @property
    def open_wires(self) -> list[UpstreamWire]:
        """The connections that are open now."""
        return [wire for wire in self.wires if wire.lost is None]
