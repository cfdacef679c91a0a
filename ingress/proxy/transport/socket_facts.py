"""What the kernel knows of a socket that no transport tells."""

import fcntl
import socket
import sys
import termios
from typing import Final

_TCP_CLOSE: Final = 7
_TCP_CLOSE_WAIT: Final = 8
"""Of Linux: the connection is gone; the peer has ended its side, and we have not."""


def in_kernel(sock: object) -> int:
    """Return how many bytes the kernel has for the peer of *sock* that the peer did not acknowledge.

    A socket with much room tells of it in large steps only, and between two of them a slow peer may take
    its time.
    """
    if not isinstance(sock, socket.socket) or sock.fileno() < 0:
        return 0
    try:
        return int.from_bytes(fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except OSError:
        return 0  # This system does not tell.


def has_ended(sock: socket.socket) -> bool:
    """Whether the peer of *sock* has ended its side, be what it said before that read or not, or the connection."""
    try:
        if sys.platform == "linux":
            # The first octet of ``struct tcp_info`` is the state of the connection.
            return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] in (_TCP_CLOSE, _TCP_CLOSE_WAIT)
        return not sock.recv(1, socket.MSG_PEEK)
    except OSError:
        return False


def is_quiet(sock: socket.socket) -> bool:
    """Whether nothing has come to *sock*, which does not block, that was not read yet, neither bytes nor an end."""
    try:
        sock.recv(1, socket.MSG_PEEK)
    except (BlockingIOError, InterruptedError):
        return True
    except OSError:
        return False
    return False
