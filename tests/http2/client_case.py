"""A connection of ``ingress.http2.client`` in the hands of a test, and its server by hand."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.response_head import ResponseHead
from ingress.http2.client import (
    ClientConnection,
    ClientStream,
)
from ingress.http2.faults import ErrorCode
from tests.fakes.http2.frames import (
    RST_STREAM,
    block,
)
from tests.fakes.http2.server import Http2Server

GET = b"\x82\x86\x84\x01\x01a"
"""``GET / http a`` by the static table."""
OK = block([(b":status", b"200")])
WITH_LENGTH = block([(b":status", b"200"), (b"content-length", b"2")])
HINTS = block([(b":status", b"103"), (b"link", b"</a>")])
TRAILERS = block([(b"grpc-status", b"0")])


class Told(ClientStream):
    """A stream that notes what it is told."""

    __slots__ = ("seen",)

    def __init__(self, connection: Connected, has_no_content: bool = False) -> None:
        super().__init__(connection, has_no_content)
        self.seen: list[object] = []

    def interim(self, head: ResponseHead) -> None:
        self.seen.append(head.status)

    def answered(self, head: ResponseHead, ended: bool) -> None:
        self.seen.append((head.status, ended))

    def body(self, piece: bytes, ended: bool) -> None:
        self.seen.append((piece, ended))

    def trailers(self, lines: list[bytes]) -> None:
        self.seen.append(lines)

    def broken(self, code: ErrorCode | int, why: str) -> None:
        self.seen.append(f"broken {int(code)}")

    def drained(self) -> None:
        self.seen.append("drained")


class Connected(ClientConnection[Told]):
    """A connection whose other end is a test."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)
        self.sent = b""
        self.outgoing.write = self._send
        self.closed_streams: list[int] = []
        self.said_goodbye = 0
        self.fault: tuple[ErrorCode, str] | None = None

    def _send(self, octets: bytes) -> None:
        self.sent += octets

    def stream_closed(self, stream: Told) -> None:
        self.closed_streams.append(stream.id)

    def no_more_streams(self) -> None:
        self.said_goodbye += 1

    def failed(self, code: ErrorCode, why: str) -> None:
        self.fault = (code, why)


class PureWire:
    """A wire right into a connection."""

    closed = False

    def __init__(self, connection: Connected) -> None:
        self._connection = connection

    def seconds(self) -> float:
        return 0.0

    def send(self, octets: bytes) -> None:
        self._connection.receive(octets)
        while self._connection.reader.has_more:
            self._connection.receive(b"")

    def receive(self, seconds: float) -> bytes:
        sent, self._connection.sent = self._connection.sent, b""
        return sent

    def close(self) -> None: ...


class ClientCase(SynchronousTestCase):
    """A connection and its server."""

    def setUp(self) -> None:
        self.connection = Connected()
        self.server = Http2Server(PureWire(self.connection))
        self.connection.greet()
        self.server.greet()

    def ask(self, body: bytes = b"", ended: bool = True, has_no_content: bool = False) -> Told:
        """Begin a request."""
        stream = Told(self.connection, has_no_content)
        self.connection.begin(stream, GET, body, ended)
        self.server.look()
        return stream

    def resets(self) -> list[tuple[int, int]]:
        """Return the streams that were reset, and why."""
        self.server.look()
        return [(each.stream, each.code) for each in self.server.of(RST_STREAM)]
