"""Whether the peer took anything of what was sent: what the kernel says of acknowledged bytes.

A connection that was kept may be closed by upstream in the very moment in which a request
is sent on it.  If the peer ended its side and its kernel has acknowledged nothing of the
request, then nothing of it was read, and it may be sent elsewhere, whatever its method: who
closed a connection before a request came must not act on that request (RFC 9112 section
9.6).  A reset proves nothing, since it may overtake the acknowledgment of what was read.
"""

import socket
import struct
from typing import Final

_INFO_BYTES: Final = 136
_ACKNOWLEDGED: Final = struct.Struct("=120xQ")
"""``tcpi_bytes_acked`` of ``struct tcp_info`` (Linux 4.1 and later)."""


class Delivery:
    """Looks after one connection from now on, up to its end."""

    __slots__ = ("_before", "_sock", "_took_nothing")

    def __init__(self, sock: socket.socket) -> None:
        self._sock: socket.socket | None = sock
        self._before = _acknowledged(sock)
        self._took_nothing = False

    def took_nothing(self) -> bool:
        """Whether the peer's kernel has acknowledged nothing since, up to the end; False where that is not known."""
        if self._sock is not None:
            self._took_nothing = self._before is not None and _acknowledged(self._sock) == self._before
        return self._took_nothing

    def end(self) -> None:
        """Remember how it is by now: the socket is about to be closed."""
        self.took_nothing()
        self._sock = None


def _acknowledged(sock: socket.socket) -> int | None:
    """Return how many bytes the peer's kernel has acknowledged so far; None if that is not known."""
    try:
        told = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    except OSError:
        return None
    if len(told) < _ACKNOWLEDGED.size:
        return None
    count: int = _ACKNOWLEDGED.unpack_from(told)[0]
    return count
