"""A raw client of HTTP/2, for whatever order of frames a test likes.

It shares no code with the proxy; answers are decoded by the ``hpack`` package.  A client
talks over a *wire*: one in memory (``MemoryWire``) or a blocking socket (``SocketWire``).
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable
from time import monotonic
from typing import Protocol

import hpack

from tests.fakes.http2.frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    GOAWAY,
    HEADERS,
    LARGEST_WINDOW,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    Fields,
    Frame,
    block,
    frame,
    headers,
    request_fields,
    settings,
)
from tests.fakes.transports import MemoryReactor, Peer


class Wire(Protocol):
    """A connection to whoever is tested."""

    @property
    def closed(self) -> bool:
        """Whether the other side ended the connection."""

    def seconds(self) -> float:
        """Return what time it is there."""

    def send(self, octets: bytes) -> None:
        """Send; what nobody takes any more is lost without a word."""

    def receive(self, seconds: float) -> bytes:
        """Return what came, after waiting for so long at most; empty once closed or late."""

    def close(self) -> None:
        """End the connection."""


class MemoryWire:
    """A wire to a protocol in memory; *serve* lets whoever is behind it answer."""

    def __init__(self, reactor: MemoryReactor, peer: Peer, serve: Callable[[], None] = lambda: None) -> None:
        self.peer = peer
        self._reactor = reactor
        self._serve = serve

    @property
    def closed(self) -> bool:
        """Whether the protocol ended the connection."""
        return self.peer.closed or self.peer.saw_end

    def seconds(self) -> float:
        """Return what time it is there."""
        return self._reactor.seconds()

    def send(self, octets: bytes) -> None:
        """Say *octets*, and let everything happen that follows."""
        if not self.peer.closed:
            self.peer.say(octets)
            self._serve()

    def receive(self, seconds: float) -> bytes:
        """Return what was sent; time passes only if nothing was."""
        self._serve()
        octets = self.peer.take()
        if octets or not seconds:
            return octets
        self._reactor.pass_time(seconds)
        self._serve()
        return self.peer.take()

    def close(self) -> None:
        """Go away."""
        if not self.peer.closed:
            self.peer.finish()


class SocketWire:
    """A wire to a TCP address, over TLS that speaks ``h2`` by ALPN if *server_name* is given."""

    def __init__(self, host: str, port: int, server_name: str | None = None, seconds: float = 5.0) -> None:
        self._closed = False
        self._socket = socket.create_connection((host, port), seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if server_name is not None:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            secure = context.wrap_socket(self._socket, server_hostname=server_name)
            self._socket = secure
            if secure.selected_alpn_protocol() != "h2":
                raise ConnectionError(f"{host}:{port} does not speak h2")

    @property
    def closed(self) -> bool:
        """Whether the server ended the connection."""
        return self._closed

    def seconds(self) -> float:
        """Return the time."""
        return monotonic()

    def send(self, octets: bytes) -> None:
        """Send *octets*."""
        try:
            self._socket.settimeout(5.0)
            self._socket.sendall(octets)
        except (ConnectionError, ssl.SSLError):
            # What was sent to us before is still there to be read.
            pass

    def receive(self, seconds: float) -> bytes:
        """Return what came within *seconds*."""
        if self._closed:
            return b""
        self._socket.settimeout(max(seconds, 0.001))
        try:
            octets = self._socket.recv(1 << 16)
        except TimeoutError:
            return b""
        except (ConnectionError, ssl.SSLError):
            octets = b""
        self._closed = not octets
        return octets

    def close(self) -> None:
        """End the connection."""
        self._socket.close()


class Http2Client:
    """The client's end of one connection: it sends what it is told and keeps every frame that comes."""

    def __init__(self, wire: Wire, authority: bytes = b"shop.test", scheme: bytes = b"http") -> None:
        self.wire = wire
        self.authority = authority
        self.scheme = scheme
        self.frames: list[Frame] = []
        """Everything that came."""
        self.settings: dict[int, int] = {}
        """What the server set last."""
        self._decoder = hpack.Decoder(max_header_list_size=1 << 24)
        self._decoded = 0
        self._blocks: dict[int, list[list[tuple[bytes, bytes]]]] = {}
        self._unread = b""

    @property
    def closed(self) -> bool:
        """Whether the server ended the connection."""
        return self.wire.closed

    def send(self, *octets: bytes) -> None:
        """Send all of *octets* at once."""
        self.wire.send(b"".join(octets))

    def send_preface(self, *values: tuple[int, int]) -> None:
        """Send what a client says first."""
        self.send(PREFACE, settings(*values))

    def acknowledge(self) -> None:
        """Acknowledge the server's SETTINGS."""
        self.send(frame(SETTINGS, b"", ACK))

    def begin(self, *values: tuple[int, int]) -> None:
        """Shake hands; raises ``AssertionError`` if the server does not."""
        self.send_preface(*values)
        assert self.until(lambda: self.settings_acks > 0), f"no handshake: {self.frames!r}"
        self.acknowledge()

    def request(self, stream: int, *, ended: bool = True, more: Fields = (), **parts: bytes) -> bytes:
        """Return the HEADERS frame of a request to our authority."""
        parts = {"authority": self.authority, "scheme": self.scheme, **parts}
        return headers(stream, block(request_fields(more=more, **parts)), ended)

    def until(self, condition: Callable[[], object], seconds: float = 2.0) -> bool:
        """Receive until *condition* holds, the connection is closed, or the time is over; return whether it does."""
        until = self.wire.seconds() + seconds
        while True:
            octets = self.wire.receive(0)
            self._feed(octets)
            if condition():
                return True
            if octets:
                continue
            left = until - self.wire.seconds()
            if self.closed or left <= 0:
                return False
            self._feed(self.wire.receive(min(left, 1.0)))

    def look(self) -> None:
        """Take what is there."""
        self.until(lambda: False, 0.0)

    # What came

    @property
    def settings_acks(self) -> int:
        """How often our SETTINGS were acknowledged."""
        return sum(each.kind == SETTINGS and each.flags & ACK for each in self.frames)

    def of(self, kind: int, stream: int | None = None) -> list[Frame]:
        """Return the frames of a kind (on a stream)."""
        return [each for each in self.frames if each.kind == kind and stream in (None, each.stream)]

    def body(self, stream: int) -> bytes:
        """Return what the DATA frames of a stream hold; none of ours has padding."""
        return b"".join(each.payload for each in self.of(DATA, stream))

    def has_ended(self, stream: int) -> bool:
        """Whether the answer on a stream is complete, or the stream was reset."""
        return any(
            each.stream == stream and (each.ends_stream or each.kind == RST_STREAM) for each in self.frames
        )

    def heads(self, stream: int) -> list[list[tuple[bytes, bytes]]]:
        """Return the field blocks of a stream: interim ones, the head, trailers."""
        self._decode()
        return self._blocks.get(stream, [])

    def statuses(self, stream: int) -> list[int]:
        """Return the status of each head of a stream."""
        return [int(dict(head)[b":status"]) for head in self.heads(stream) if b":status" in dict(head)]

    @property
    def end(self) -> Frame | None:
        """The last GOAWAY frame."""
        found = self.of(GOAWAY)
        return found[-1] if found else None

    def _decode(self) -> None:
        """Decode the blocks that came since the last time, in their order."""
        while self._decoded < len(self.frames):
            at = self._decoded
            first = self.frames[at]
            self._decoded += 1
            if first.kind != HEADERS:
                continue
            octets, last = first.payload, first
            while not last.flags & END_HEADERS:
                if self._decoded == len(self.frames):
                    self._decoded = at
                    return
                last = self.frames[self._decoded]
                assert last.kind == CONTINUATION and last.stream == first.stream, last
                octets += last.payload
                self._decoded += 1
            fields = [(bytes(name), bytes(value)) for name, value in self._decoder.decode(octets, raw=True)]
            self._blocks.setdefault(first.stream, []).append(fields)

    def _feed(self, octets: bytes) -> None:
        octets = self._unread + octets
        at = 0
        while len(octets) - at >= 9:
            high, low, kind, flags, stream = struct.unpack_from(">HBBBI", octets, at)
            end = at + 9 + (high << 8 | low)
            if len(octets) < end:
                break
            self._take(Frame(kind, flags, stream & LARGEST_WINDOW, octets[at + 9 : end]))
            at = end
        self._unread = octets[at:]

    def _take(self, each: Frame) -> None:
        self.frames.append(each)
        if each.kind == SETTINGS and not each.flags & ACK:
            for at in range(0, len(each.payload), 6):
                name, value = struct.unpack_from(">HI", each.payload, at)
                self.settings[name] = value
