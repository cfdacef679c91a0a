"""What an idle connection costs in memory: plain ones of HTTP/1.1, and TLS ones of HTTP/2.

Connections are opened and asked once each, and stay.  The memory of the first ones is not
counted: they fill what the allocators have at hand.
"""

import socket
from collections.abc import Callable

from attrs import define, field, frozen

from bench.loads.catalog import PLAIN_HOST, SECURE_HOST, Protocol
from bench.loads.unique_client import Connection, Refused, client_context
from bench.loads.unique_requests import request_frames
from bench.measuring import gauges
from bench.measuring.measure import LoadFailed, Started
from bench.setup.processes import HOST, pause

ANSWER_SECONDS = 10.0
SETTLE_SECONDS = 0.3
_REQUEST = f"GET / HTTP/1.1\r\nHost: {PLAIN_HOST}\r\n\r\n".encode("ascii")
_END_OF_BODY = b"x\n"  # of the answer of the backend
_TLS = client_context()


def ask_http1(connection: socket.socket) -> socket.socket:
    """Ask once.  Raises OSError when that is not answered, or the connection not kept."""
    connection.sendall(_REQUEST)
    answer = b""
    while not answer.endswith(_END_OF_BODY):
        received = connection.recv(65536)
        if not received:
            raise ConnectionError("closed before the answer was whole")
        answer += received
    if b"\r\nconnection: close" in answer.lower():
        raise ConnectionError("is not kept open")
    return connection


def ask_http2(connection: socket.socket) -> socket.socket:
    """Begin TLS, and ask once.  Raises OSError when that is not answered."""
    # What answers the settings of the peer is not to wait for anything.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    secure = _TLS.wrap_socket(connection, server_hostname=SECURE_HOST)
    if secure.selected_alpn_protocol() != "h2":
        raise ConnectionError("no h2 by ALPN")
    asked = Connection(secure, list(request_frames(SECURE_HOST, 1, connection.fileno())))
    try:
        asked.start(1)
        while not asked.is_done:
            asked.read()
    except Refused as refused:
        raise ConnectionError(str(refused)) from None
    if not asked.good:
        raise ConnectionError("the answer has not status 200")
    return secure


@frozen
class IdleKind:
    """One kind of connections; *ask* gets a connected socket and returns what is to be kept."""

    name: str
    title: str
    protocol: Protocol
    is_secure: bool
    first: int
    counted: int
    ask: Callable[[socket.socket], socket.socket]


IDLE_KINDS = (
    IdleKind("idle", "idle keep-alive connections", Protocol.HTTP1, False, 1000, 5000, ask_http1),
    IdleKind("idle_h2", "idle connections of HTTP/2 over TLS", Protocol.HTTP2, True, 500, 2000, ask_http2),
)


@define
class IdleConnections:
    """Connections that are open at *port*; a context manager that closes them."""

    port: int
    ask: Callable[[socket.socket], socket.socket]
    _open: list[socket.socket] = field(factory=list)

    def add(self, count: int) -> None:
        """Open *count* more.  Raises LoadFailed when one does not stay open."""
        for _ in range(count):
            try:
                self._open.append(self._asked())
            except OSError as error:
                raise LoadFailed(f"connection {len(self._open) + 1}: {error}") from None

    def _asked(self) -> socket.socket:
        connection = socket.create_connection((HOST, self.port), timeout=ANSWER_SECONDS)
        try:
            return self.ask(connection)
        except BaseException:
            connection.close()
            raise

    def __enter__(self) -> "IdleConnections":
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._open:
            connection.close()


def idle_bytes(started: Started, kind: IdleKind) -> float:
    """Return by how many bytes each idle connection lets the process tree grow.  Raises LoadFailed."""
    pid, site = started.running.pid, started.site
    with IdleConnections(site.https if kind.is_secure else site.http, kind.ask) as connections:
        connections.add(kind.first)
        pause(SETTLE_SECONDS)
        before = gauges.resident_kib(pid)
        connections.add(kind.counted)
        pause(SETTLE_SECONDS)
        return (gauges.resident_kib(pid) - before) * 1024 / kind.counted
