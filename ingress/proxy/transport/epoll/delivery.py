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
    """Looks after one connection from now on, also past its end; must be closed."""

    __slots__ = ("_before", "_sock")

    def __init__(self, sock: socket.socket) -> None:
        # One of our own: the transport closes its socket before anybody learns of the end.
        self._sock = sock.dup()
        self._before = self._acknowledged()

    def took_nothing(self) -> bool:
        """Whether the peer's kernel has acknowledged nothing since; False where that is not known."""
        return self._before is not None and self._acknowledged() == self._before

    def _acknowledged(self) -> int | None:
        try:
            told = self._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
        except OSError:
            return None
        if len(told) < _ACKNOWLEDGED.size:
            return None
        count: int = _ACKNOWLEDGED.unpack_from(told)[0]
        return count

    def close(self) -> None:
        """Let go of the connection, which ends only then."""
        self._sock.close()
