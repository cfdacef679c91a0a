"""Clients that ask again and again and forgive nothing: what is not answered whole, with 200, has failed.

Blocking sockets, each client in a process of its own.  Nothing is tried again: a client of HTTP/1.1 sees whether its connection
was closed at rest before it asks, and one of HTTP/2 asks on another connection after GOAWAY; both is what their protocols say.
"""

import select
import socket
import ssl
import struct
from collections.abc import Callable
from functools import cache
from threading import Event
from time import monotonic

import hpack
from attrs import define, frozen

HOST = "127.0.0.1"
NAME = "shop.test"
SECONDS = 20.0
"""How long an answer may take."""
ENDED = "the connection ended before the answer did"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEAD = struct.Struct(">BHBBL")
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
_MORE_WINDOW = 1 << 30
_ACK = _END_STREAM = 1
_END_HEADERS = 4


@frozen
class Ports:
    """Where the controller listens."""

    http: int
    https: int


@define
class Count:
    """What became of the requests of one client."""

    asked: int = 0
    failed: int = 0
    connections: int = 0
    reason: str = ""
    """Of the first failure."""

    def fail(self, why: str) -> None:
        """Count a failure."""
        self.failed += 1
        self.reason = self.reason or why


class FailedError(Exception):
    """A request was not answered as it should be."""


class HandshakeError(OSError):
    """A connection was made, from *local_port*, and TLS, HTTP/2 or a WebSocket was not agreed on; the cause says why."""

    def __init__(self, local_port: int) -> None:
        super().__init__("no handshake")
        self.local_port = local_port


@cache
def _context(protocols: tuple[str, ...]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def _connect(port: int, secure: bool, patience: float, protocols: tuple[str, ...] = ()) -> socket.socket:
    sock = socket.create_connection((HOST, port), timeout=patience)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not secure:
        return sock
    local_port = sock.getsockname()[1]
    try:
        return _context(protocols).wrap_socket(sock, server_hostname=NAME)
    except OSError as error:
        sock.close()
        raise HandshakeError(local_port) from error


class Http1Connection:
    """One connection of HTTP/1.1, on which nobody waits longer than *patience*, in seconds."""

    def __init__(self, port: int, *, secure: bool = False, patience: float = SECONDS) -> None:
        self._sock = _connect(port, secure, patience)
        self._patience = patience
        self.local_port: int = self._sock.getsockname()[1]
        self.is_over = False
        self.is_begun = False
        """Whether a part of the last answer has come."""
        self.longest_wait = 0.0
        """For bytes of the last answer, in seconds."""

    def was_closed(self) -> bool:
        """Whether it was closed at rest."""
        readable, _, _ = select.select([self._sock], [], [], 0)
        if not readable or (isinstance(self._sock, ssl.SSLSocket) and self._sock.pending()):
            return False
        self._sock.setblocking(False)
        try:
            return not self._sock.recv(1)
        except (ssl.SSLWantReadError, BlockingIOError):
            return False  # Session tickets.
        except OSError:
            return True
        finally:
            self._sock.settimeout(self._patience)

    def get(self, *, last: bool, path: bytes = b"/") -> None:
        """Ask once; raises ``FailedError`` or ``OSError``."""
        ending = b"Connection: close\r\n" if last else b""
        self._sock.sendall(b"GET %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (path, NAME.encode(), ending))
        self._read_answer(last)

    def _read_answer(self, last: bool) -> None:
        self.is_begun, self.longest_wait = False, 0.0
        came = b""
        while b"\r\n\r\n" not in came:
            came += self._receive()
        head, _, body = came.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        if not lines[0].startswith(b"http/1.1 200"):
            raise FailedError(lines[0].decode("latin-1"))
        length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
        left = length - len(body)
        while left > 0:
            left -= len(self._receive())
        self.is_over = last or b"connection: close" in lines

    def _receive(self) -> bytes:
        began = monotonic()
        try:
            came = self._sock.recv(65536)
        finally:
            self.longest_wait = max(self.longest_wait, monotonic() - began)
        if not came:
            raise FailedError(ENDED)
        self.is_begun = True
        return came

    def close(self) -> None:
        """End it."""
        self._sock.close()


class Http2Connection:
    """One connection of HTTP/2, with one request at a time.

    Frames are read here (RFC 9113): clients by the ``h2`` package give up what is under way at the first GOAWAY, whatever it lets
    go on.
    """

    def __init__(self, port: int, *, patience: float = SECONDS) -> None:
        self._sock = _connect(port, True, patience, ("h2",))
        self.local_port: int = self._sock.getsockname()[1]
        self._decoder = hpack.Decoder()
        self._head = hpack.Encoder()
        self._next = 1
        self._came = b""
        self._last: int | None = None
        window = _frame(_WINDOW_UPDATE, 0, 0, _MORE_WINDOW.to_bytes(4, "big"))
        try:
            self._sock.sendall(_PREFACE + _frame(_SETTINGS, 0, 0) + window)
        except OSError as error:
            self.close()
            raise HandshakeError(self.local_port) from error

    @property
    def is_over(self) -> bool:
        """Whether no further request may begin."""
        return self._last is not None

    def was_closed(self) -> bool:
        """Take what came at rest; whether no request may begin any more."""
        try:
            while select.select([self._sock], [], [], 0)[0]:
                self._receive()
                self._take(0)
        except (FailedError, OSError):
            self._last = self._last or 0
        return self.is_over

    def get(self, *, last: bool) -> None:
        """Ask once; raises ``FailedError`` or ``OSError``."""
        stream, self._next = self._next, self._next + 2
        fields = [(":method", "GET"), (":scheme", "https"), (":authority", NAME), (":path", "/")]
        self._sock.sendall(_frame(_HEADERS, _END_STREAM | _END_HEADERS, stream, self._head.encode(fields)))
        while not self._take(stream):
            if self._last is not None and stream > self._last:
                raise FailedError(f"stream {stream} came after the last one that GOAWAY names")
            self._receive()

    def _receive(self) -> None:
        came = self._sock.recv(65536)
        if not came:
            raise FailedError(ENDED)
        self._came += came

    def _take(self, stream: int) -> bool:
        """Take all frames that are whole; return whether the answer on *stream* is."""
        is_over = False
        while len(self._came) >= _HEAD.size:
            high, low, kind, flags, on = _HEAD.unpack_from(self._came)
            size = _HEAD.size + (high << 16 | low)
            if len(self._came) < size:
                break
            payload, self._came = self._came[_HEAD.size : size], self._came[size:]
            if kind in (_SETTINGS, _PING) and not flags & _ACK:
                self._sock.sendall(_frame(kind, _ACK, 0, payload if kind == _PING else b""))
            elif kind == _GOAWAY:
                self._last = int.from_bytes(payload[:4], "big")
            elif kind == _HEADERS:
                fields = [(str(name), str(value)) for name, value in self._decoder.decode(payload)]
                if (":status", "200") not in fields:
                    raise FailedError(f"stream {stream} was answered with {fields[:1]}")
            elif kind == _RST_STREAM and on == stream:
                raise FailedError(f"stream {stream} was reset by {int.from_bytes(payload, 'big')}")
            is_over = is_over or (on == stream and kind in (_HEADERS, _DATA) and bool(flags & _END_STREAM))
        return is_over

    def close(self) -> None:
        """End it."""
        self._sock.close()


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return _HEAD.pack(len(payload) >> 16, len(payload) & 0xFFFF, kind, flags, stream) + payload


Connection = Http1Connection | Http2Connection


@frozen
class Load:
    """One kind of client.  *per_connection* requests go on one connection, as far as it lasts."""

    title: str
    connect: Callable[[Ports], Connection]
    per_connection: int


LOADS = {
    "new": Load("a new connection each", lambda ports: Http1Connection(ports.http), 1),
    "keep-alive": Load("keep-alive", lambda ports: Http1Connection(ports.http), 1_000_000),
    "tls": Load("TLS, a new connection each", lambda ports: Http1Connection(ports.https, secure=True), 1),
    "tls-keep-alive": Load(
        "TLS, keep-alive", lambda ports: Http1Connection(ports.https, secure=True), 1_000_000
    ),
    "h2": Load("HTTP/2", lambda ports: Http2Connection(ports.https), 1_000_000),
}


def ask(
    load: Load, ports: Ports, is_enough: Callable[[], bool], told: Callable[[int], None], pause: float
) -> Count:
    """Ask until *is_enough*, with a *pause* after each request; *told* learns how often it was."""
    count = Count()
    connection: Connection | None = None
    on_this, waiting = 0, Event()
    while not is_enough():
        count.asked += 1
        told(count.asked)
        try:
            if connection is not None and (connection.is_over or connection.was_closed()):
                connection.close()
                connection = None
            if connection is None:
                connection, on_this = load.connect(ports), 0
                count.connections += 1
            on_this += 1
            connection.get(last=on_this == load.per_connection)
        except (FailedError, OSError) as error:
            count.fail(f"{type(error).__name__}: {error}")
            if connection is not None:
                connection.close()
            connection = None
        waiting.wait(pause)
    if connection is not None:
        connection.close()
    return count
