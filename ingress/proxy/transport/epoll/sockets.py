"""What is asked of a socket, and told to it: addresses as Twisted writes them, its unread bytes, its end."""

import socket
import struct
from collections.abc import Callable
from typing import Any, Final, Protocol

from OpenSSL import SSL
from twisted.internet import address
from twisted.internet.interfaces import IAddress
from twisted.python.failure import Failure

from ingress.proxy.contract.addresses import host_of, port_of
from ingress.proxy.contract.transport import NOBODY, Receiver
from ingress.proxy.transport.epoll.delivery import Delivery
from ingress.proxy.transport.socket_facts import has_ended, is_quiet

SocketName = tuple[Any, ...]
"""What a socket calls an address: host and port, and for IPv6 two numbers more."""

_CORK: Final = 3
"""``TCP_CORK`` of Linux."""


def address_of(name: SocketName) -> IAddress:
    """Make an address of what a socket calls one."""
    host, port = name[:2]
    kind = address.IPv6Address if ":" in host else address.IPv4Address
    return kind("TCP", host, port)


def ask_address(ask: Callable[[], SocketName]) -> IAddress:
    """Make an address of what *ask* says: ``getsockname`` or ``getpeername`` of a socket."""
    try:
        return address_of(ask())
    except OSError:
        # A peer that is gone before it was looked at has no address any more.
        return address.IPv4Address("TCP", "0.0.0.0", 0)


def has_unread(sock: socket.socket) -> bool:
    """Whether the peer said something, perhaps before it went away, that nobody read."""
    try:
        return bool(sock.recv(1, socket.MSG_PEEK))
    except OSError:
        return False


def reset_on_close(sock: socket.socket) -> None:
    """Have the closing of *sock* break the connection off."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass  # The peer was quicker; there is nothing left to reset.


def hold_back(sock: socket.socket) -> None:
    """Have the kernel keep what is less than a packet until ``end_writing``, so that both go together."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, _CORK, 1)
    except OSError:
        pass  # It is no socket of TCP, or the peer is gone.


def end_writing(sock: socket.socket) -> None:
    """Tell the peer that nothing follows, with what the kernel still has for it.

    To be done before *sock* is closed: if the peer said something more that nobody read, that would drop what the kernel kept.
    """
    try:
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # The peer is gone.


class Told(Protocol):
    """A transport that has a receiver."""

    receiver: Receiver


def tell_end(transport: Told, reason: Failure) -> None:
    """Tell the receiver of *transport* that this is over.

    It knows the transport; if that knew it as well, nothing but a collector would ever find the two.
    """
    receiver, transport.receiver = transport.receiver, NOBODY
    receiver.connectionLost(reason)


class ConnectedSocket:
    """What a transport is asked about its socket, and to set on it."""

    __slots__ = ("_delivery", "_fileno", "_peer", "_port", "_sock", "_was_accepted", "said_local")

    def __init__(self, sock: socket.socket, peer: IAddress | SocketName | None, port: int = 0) -> None:
        """With *peer*, the socket was accepted, on *port* if that is given: it has TCP_NODELAY and SO_KEEPALIVE from its listener."""
        self._sock = sock
        self._fileno = sock.fileno()
        self._peer = peer
        self._was_accepted = peer is not None
        self._port = port
        self._delivery: Delivery | None = None
        """The last one that somebody asked for."""
        self.said_local: IAddress | None = None
        """The address that the client connected to, where a PROXY header says so."""

    @property
    def has_left(self) -> bool:
        """Whether the peer has ended its side, be what it said before that read or not, or is gone."""
        return has_ended(self._sock)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing came that was not read yet, neither bytes nor an end."""
        return is_quiet(self._sock)

    @property
    def has_said_nothing(self) -> bool:
        """Whether not a byte has come, for a receiver that has got none."""
        return is_quiet(self._sock)

    @property
    def tls(self) -> SSL.Connection | None:
        """OpenSSL's side of it, if there is one."""
        return None

    def watch_delivery(self) -> Delivery:
        """Begin to look whether the peer takes what is sent from now on."""
        delivery = self._delivery = Delivery(self._sock)
        return delivery

    def fileno(self) -> int:
        """The number of the socket."""
        return self._fileno

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Set TCP_NODELAY, unless the socket has it from its listener."""
        if not self._was_accepted:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, enabled)

    def setTcpKeepAlive(self, enabled: bool) -> None:
        """Set SO_KEEPALIVE, unless the socket has it from its listener."""
        if not self._was_accepted:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, enabled)

    def getPeer(self) -> IAddress:
        """The address of the other side."""
        peer = self._peer
        if peer is None:
            peer = self._peer = ask_address(self._sock.getpeername)
        elif isinstance(peer, tuple):
            peer = self._peer = address_of(peer)
        return peer

    @property
    def peer_host(self) -> str:
        """The host of the other side."""
        peer = self._peer
        if isinstance(peer, tuple):
            host: str = peer[0]
            return host
        return host_of(self.getPeer())

    @property
    def local_port(self) -> int:
        """The port of our own side, or of what stands for it."""
        if self.said_local is None and self._port:
            return self._port
        return port_of(self.getHost())

    def getHost(self) -> IAddress:
        """Our own address, or the one that stands for it."""
        return self.said_local or ask_address(self._sock.getsockname)
