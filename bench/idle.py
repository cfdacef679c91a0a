"""What an idle keep-alive connection costs in memory.

Connections are opened and asked once each, and stay.  The memory of the first thousand is not
counted: it fills what the allocators have at hand.
"""

import socket

from attrs import define, field

from bench import gauges
from bench.loads import PLAIN_HOST
from bench.measure import LoadFailed, Started
from bench.processes import HOST, pause

FIRST = 1000
COUNTED = 5000
ANSWER_SECONDS = 10.0
SETTLE_SECONDS = 0.3
_REQUEST = f"GET / HTTP/1.1\r\nHost: {PLAIN_HOST}\r\n\r\n".encode("ascii")
_END_OF_BODY = b"x\n"  # of the answer of the backend


@define
class IdleConnections:
    """Connections that are open at *port*; a context manager that closes them."""

    port: int
    _open: list[socket.socket] = field(factory=list)

    def add(self, count: int) -> None:
        """Open *count* more.  Raises LoadFailed when one does not stay open."""
        for _ in range(count):
            try:
                self._open.append(self._ask())
            except OSError as error:
                raise LoadFailed(f"connection {len(self._open) + 1}: {error}") from None

    def _ask(self) -> socket.socket:
        connection = socket.create_connection((HOST, self.port), timeout=ANSWER_SECONDS)
        try:
            connection.sendall(_REQUEST)
            answer = b""
            while not answer.endswith(_END_OF_BODY):
                received = connection.recv(65536)
                if not received:
                    raise ConnectionError("closed before the answer was whole")
                answer += received
            if b"\r\nconnection: close" in answer.lower():
                raise ConnectionError("is not kept open")
        except BaseException:
            connection.close()
            raise
        return connection

    def __enter__(self) -> "IdleConnections":
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._open:
            connection.close()


def idle_bytes(started: Started) -> float:
    """Return by how many bytes each idle connection lets the process tree grow.  Raises LoadFailed."""
    pid = started.running.pid
    with IdleConnections(started.site.http) as connections:
        connections.add(FIRST)
        pause(SETTLE_SECONDS)
        before = gauges.resident_kib(pid)
        connections.add(COUNTED)
        pause(SETTLE_SECONDS)
        return (gauges.resident_kib(pid) - before) * 1024 / COUNTED
