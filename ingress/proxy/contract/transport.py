"""What the data path asks of whatever carries its bytes, be it the epoll set or Twisted's transports.

``Transport`` is what all have; the functions ask for what some have besides, and say what holds where they do not.
"""

import fcntl
import socket
import sys
import termios
from collections.abc import Callable
from typing import Protocol

from attrs import frozen
from OpenSSL import SSL
from twisted.internet import address
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.interfaces import IAddress

_TCP_CLOSE, _TCP_CLOSE_WAIT = 7, 8
"""Of Linux: the connection is gone; the peer has ended its side, and we have not."""


_BEFORE_HELLO = b"before SSL initialization"


class Transport(Protocol):
    """What the data path asks of a transport; Twisted's plain and TLS ones have it all."""

    def write(self, octets: bytes, /) -> None: ...
    def loseConnection(self) -> None: ...
    def loseWriteConnection(self) -> None: ...
    def abortConnection(self) -> None: ...
    def pauseProducing(self) -> None: ...
    def resumeProducing(self) -> None: ...
    def registerProducer(self, producer: object, streaming: bool) -> None: ...
    def unregisterProducer(self) -> None: ...
    def setTcpNoDelay(self, enabled: bool) -> None: ...
    def setTcpKeepAlive(self, enabled: bool) -> None: ...
    def getPeer(self) -> IAddress: ...
    def getHost(self) -> IAddress: ...


@frozen
class KernelCopy:
    """Bytes that the kernel is asked to move: the next *count* that come to *source*.

    *moved* is told how many went each time, *ended* that all have.  Until then nothing is
    received from *source*, and nothing may be written to the target.  With *to_end*, the end of
    *source* is a regular one before *count*, which it is told of as without a copy.
    """

    source: Transport
    count: int
    moved: Callable[[int], None]
    ended: Callable[[], None]
    to_end: bool = False


def splice(target: Transport, copy: KernelCopy) -> bool:
    """Begin *copy* to *target*; False, and nothing happens, if these transports cannot."""
    splice_from = getattr(target, "splice_from", None)
    return splice_from is not None and bool(splice_from(copy))


def deliver_to(transport: object, protocol: object, instead_of: object) -> None:
    """Have *transport* tell *protocol* what comes and when it ends, and *instead_of* nothing any more."""
    # A transport that wraps another one, such as that of TLS over Twisted's, calls its protocol so.
    wraps = getattr(transport, "wrappedProtocol", None) is instead_of
    setattr(transport, "wrappedProtocol" if wraps else "protocol", protocol)


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


def has_left(transport: object) -> bool:
    """Whether the peer of *transport* has ended its side, which a transport does not tell while it does not read."""
    own = getattr(transport, "has_left", None)
    if own is not None:
        return bool(own)
    # Twisted's own: a layer of TLS above another transport, or a transport.
    below = getattr(transport, "transport", None)
    if below is not None:
        return has_left(below)
    sock = getattr(transport, "socket", None)
    return sock is not None and has_ended(sock)


def unsent(transport: object) -> int:
    """Return how many bytes wait for the peer of *transport*: a number that changes with whatever is taken of them."""
    own = getattr(transport, "unsent", None)
    if isinstance(own, int):
        return own
    # Twisted's own: a layer of TLS above another transport, or a transport.
    waiting = sum(map(len, getattr(transport, "_appSendBuffer", ())))
    below = getattr(transport, "transport", None)
    if below is not None:
        return waiting + unsent(below)
    buffered = len(getattr(transport, "dataBuffer", b"")) - getattr(transport, "offset", 0)
    waiting += buffered + int(getattr(transport, "_tempDataLen", 0))
    return waiting + in_kernel(getattr(transport, "socket", None)) if waiting else 0


def in_batch(transport: object, call: Callable[[], None]) -> None:
    """Call, and have what is written meanwhile sent together, if *transport* knows how."""
    call_in_batch = getattr(transport, "call_in_batch", None)
    if call_in_batch is None:
        call()
    else:
        call_in_batch(call)


def _socket_of(transport: object) -> socket.socket | None:
    """Return the socket below *transport*, which may be a layer of TLS above another one."""
    below = transport
    while below is not None:
        sock = getattr(below, "socket", None)
        if isinstance(sock, socket.socket):
            return sock
        below = getattr(below, "transport", None)
    return None


def has_said_nothing(transport: object) -> bool:
    """Whether not a byte has come from the peer of *transport*, of which nobody has read one either.

    Of TLS, what is read before the ClientHello is whole counts as nothing.
    """
    handle = getattr(transport, "getHandle", None)
    connection = handle() if handle is not None else None
    if isinstance(connection, SSL.Connection) and connection.get_state_string() != _BEFORE_HELLO:
        return False
    quiet = getattr(transport, "is_quiet", None)
    if quiet is not None:
        return bool(quiet)
    sock = _socket_of(transport)
    try:
        return sock is None or not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False


class Delivery(Protocol):
    """Looks at one connection from now on, also past its end; must be closed."""

    def took_nothing(self) -> bool:
        """Whether the peer has taken nothing since; False where that is not known."""

    def close(self) -> None:
        """Let go of the connection, which ends only then."""


def watch_delivery(transport: object) -> Delivery | None:
    """Begin to look whether the peer of *transport* takes what is sent from now on; None where that cannot be known."""
    watch = getattr(transport, "watch_delivery", None)
    delivery: Delivery | None = None if watch is None else watch()
    return delivery


def took_nothing_of(delivery: Delivery | None) -> bool:
    """Look no more; return whether it is known that nothing was taken."""
    if delivery is None:
        return False
    took_nothing = delivery.took_nothing()
    delivery.close()
    return took_nothing


def gather_writes(transport: object) -> None:
    """Have *transport* send as seldom as it can, if it knows how: for a connection with many exchanges."""
    gather = getattr(transport, "gather_writes", None)
    if gather is not None:
        gather()


def is_held_up(source: object) -> bool:
    """Whether the kernel moves what comes to *source*, and waits for whom it is to go to."""
    return bool(getattr(source, "is_held_up", False))


REFUSED = "connection refused"
TIMED_OUT = "connect timed out"
"""The reason that becomes a 504; every other one becomes a 502."""


def is_ip_address(host: str) -> bool:
    """Whether *host* needs no resolving."""
    return isIPAddress(host) or isIPv6Address(host)


def peer_address(of: IAddress) -> bytes:
    """Return the host of a transport's address, IPv4 in its own notation even on an IPv6 socket."""
    if isinstance(of, address.IPv4Address | address.IPv6Address):
        host = of.host
        return host.removeprefix("::ffff:").encode() if "." in host else host.encode()
    return b"unknown"
