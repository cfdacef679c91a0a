"""Sockets of UDP: those that take datagrams of clients, and those that are connected to one endpoint.

A socket of all addresses has the kernel say of each datagram which one it was sent to (``IP_PKTINFO``, RFC 3542 section 6), so
that the answer can come from there: clients drop one of any other address.
"""

import errno
import os
import socket
import struct
from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any, Final, Protocol

from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.errors import StartError
from ingress.model.network.listeners import interface_of, udp_port_of
from ingress.proxy.contract.transport import is_ip_address
from ingress.proxy.transport.accepting import keep_to_family
from ingress.proxy.transport.epoll.epoll_set import ERROR, READ, Descriptor

log = Logger()

MAX_DATAGRAM: Final = 65_535
"""Bytes that are read of a datagram: more than any has, which are 65,507 over IPv4 and 65,527 over IPv6."""
CONTROL_BYTES: Final = 64
"""What the kernel says beside a datagram: one of the structures below, with its head."""
RECEIVE_BYTES: Final = 1 << 20
"""Datagrams of clients that wait in the kernel, which cuts it to ``net.core.rmem_max``."""
NO_DESCRIPTOR: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
"""What the system says where nothing is left for another socket."""

# Linux, ip(7); the socket module of Python before 3.14 does not know it.
_IP_PKTINFO: Final = 8
_INFO_4: Final = struct.Struct("=i4s4s")
"""``struct in_pktinfo``: index of the interface, our address, the one in the datagram's head."""
_INFO_6: Final = struct.Struct("=16si")
"""``struct in6_pktinfo``: our address, index of the interface."""
# Linux 4.12, socket(7); asm-generic/socket.h and linux/sock_diag.h.
_SO_MEMINFO: Final = 55
_MEMINFO: Final = struct.Struct("=9I")
_MEMINFO_DROPS: Final = 8
_AROUND: Final = 1 << 32
"""Where the kernel's count begins anew."""

Control = tuple[tuple[int, int, bytes], ...]
"""What goes beside an answer, for ``sendmsg``; empty where the socket has one address."""


class Sockets(Protocol):
    """Who tells when there is something to read on a socket: the epoll set, or a reactor."""

    def add(self, descriptor: Descriptor, fileno: int, events: int) -> None:
        """Tell *descriptor* of *events* on *fileno* from now on, and of errors."""

    def remove(self, fileno: int) -> None:
        """Tell of nothing any more."""

    def close(self, sock: socket.socket) -> None:
        """Close a socket that was removed, as soon as its number may be used again."""


class ReactorSockets:
    """A reactor as ``Sockets``."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._readers: dict[int, _Reader] = {}

    def add(self, descriptor: Descriptor, fileno: int, events: int) -> None:
        """Tell *descriptor* of what there is to read on *fileno* from now on, and of errors."""
        reader = self._readers[fileno] = _Reader(descriptor, fileno, self._reactor)
        self._reactor.addReader(reader)

    def remove(self, fileno: int) -> None:
        """Tell of nothing any more."""
        reader = self._readers.pop(fileno, None)
        if reader is not None:
            reader.is_removed = True
            self._reactor.removeReader(reader)

    def close(self, sock: socket.socket) -> None:
        """Close a socket that was removed."""
        sock.close()


class _Reader:
    """A descriptor as Twisted's reactors know one."""

    def __init__(self, descriptor: Descriptor, fileno: int, reactor: Any) -> None:
        self.is_removed = False
        self._descriptor = descriptor
        self._fileno = fileno
        self._reactor = reactor

    def fileno(self) -> int:
        return self._fileno

    def logPrefix(self) -> str:
        """Name it in Twisted's log."""
        return "UDP"

    def doRead(self) -> None:
        """There is something to read."""
        self._tell(READ)

    def connectionLost(self, reason: Failure) -> None:
        """There is an error alone, which a reactor takes for the end: it is told, and what follows is awaited again."""
        if not self.is_removed:
            self._tell(ERROR)
            if not self.is_removed:
                self._reactor.addReader(self)

    def _tell(self, events: int) -> None:
        try:
            self._descriptor.ready(events)
        except Exception:
            failure = Failure()
            log.failure("A socket of UDP failed, which is a bug; it is the only one that ends", failure)
            self._descriptor.failed(failure)


def take_datagrams(description: str) -> socket.socket:
    """Return a socket that takes what comes to *description*, such as ``udp:53``; raises ``StartError`` naming it."""
    port = udp_port_of(description)
    interface = interface_of(description)
    family = _family_of(description, interface)
    if port is None:
        raise StartError(f"cannot listen on {description}: it names no port of UDP")
    try:
        sock = socket.socket(family, socket.SOCK_DGRAM)
        try:
            keep_to_family(sock)
            sock.bind((interface, port))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
            sock.setblocking(False)
            if is_everywhere(sock):
                tell_addresses(sock)
        except OSError:
            sock.close()
            raise
    except (OSError, OverflowError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise StartError(f"cannot listen on {description}: {why}") from error
    return sock


def _family_of(description: str, interface: str) -> socket.AddressFamily:
    is_six = description.startswith("udp6:") or (":" in interface and is_ip_address(interface))
    return socket.AF_INET6 if is_six else socket.AF_INET


def connect_datagrams(address: str, port: int) -> socket.socket:
    """Return a socket whose datagrams go to *port* of *address*, an IP address, and come from there alone; raises ``OSError``."""
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.connect((address, port))
    except OSError:
        sock.close()
        raise
    return sock


def is_everywhere(sock: socket.socket) -> bool:
    """Whether *sock* takes what is sent to any address of this machine."""
    return ip_address(sock.getsockname()[0].partition("%")[0]).is_unspecified


def tell_addresses(sock: socket.socket) -> None:
    """Have the kernel say of each datagram which address it was sent to; raises ``OSError``."""
    if sock.family is socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    else:
        sock.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)


class UnreadDatagrams:
    """How many datagrams the kernel dropped of *sock* from now on: it keeps some, and has no room for more while nobody reads these.

    It counts for the socket, which others may have had before, or have besides.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._known = self._all()

    def further(self) -> int:
        """Return how many there are that were not returned yet; 0 where the system does not say."""
        known, self._known = self._known, self._all()
        return 0 if known is None or self._known is None else (self._known - known) % _AROUND

    def _all(self) -> int | None:
        try:
            said = self._sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
        except OSError:
            return None
        found: int | None = _MEMINFO.unpack(said)[_MEMINFO_DROPS] if len(said) == _MEMINFO.size else None
        return found


def answer_from(said: Sequence[tuple[int, int, bytes]]) -> Control:
    """Return what goes beside an answer for it to come from the address that a datagram was sent to, by what was *said* of that.

    The kernel chooses the way, but for an address of the link, which means something on one interface alone.
    """
    for level, kind, octets in said:
        if level == socket.IPPROTO_IP and kind == _IP_PKTINFO and len(octets) == _INFO_4.size:
            _, ours, _ = _INFO_4.unpack(octets)
            return ((level, kind, _INFO_4.pack(0, ours, b"\0\0\0\0")),)
        if level == socket.IPPROTO_IPV6 and kind == socket.IPV6_PKTINFO and len(octets) == _INFO_6.size:
            ours, interface = _INFO_6.unpack(octets)
            is_of_link = IPv6Address(ours).is_link_local
            return ((level, kind, _INFO_6.pack(ours, interface if is_of_link else 0)),)
    return ()
