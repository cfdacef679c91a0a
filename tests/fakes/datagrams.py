"""Sockets of UDP in memory, and who tells of them."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections import deque
from typing import Any

from ingress.proxy.transport.epoll.epoll_set import READ, Descriptor

CLIENT = ("192.0.2.1", 4000)


def error_of(number: int) -> OSError:
    """Return the error of the system that has this *number*."""
    return OSError(number, os.strerror(number))


class FakeSocket:
    """A socket without a kernel: what comes is put into ``inbox``, what was sent is in ``sent``."""

    family = socket.AF_INET
    type = socket.SOCK_DGRAM
    _last = 100

    def __init__(self, name: tuple[str, int] = ("10.9.9.9", 53)) -> None:
        FakeSocket._last += 1
        self._fileno = FakeSocket._last
        self._name = name
        self.inbox: deque[Any] = deque()
        """Datagrams, those of a port with the address of the client; or errors."""
        self.sent: list[Any] = []
        """Datagrams, those of a port with the address of the client."""
        self.refusing: OSError | None = None
        """What the next one that is sent meets."""
        self.unread = 0
        """Datagrams that the kernel had no room for."""

    def fileno(self) -> int:
        """Return its number, -1 once it is closed."""
        return self._fileno

    def getsockname(self) -> tuple[str, int]:
        """Return what it is bound to."""
        return self._name

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        """Return what the kernel says of its memory (``SO_MEMINFO``)."""
        assert (level, option) == (socket.SOL_SOCKET, 55)
        if self._fileno == -1:
            raise error_of(errno.EBADF)
        return struct.pack("=9I", *8 * [0], self.unread)

    def close(self) -> None:
        """Close it."""
        self._fileno = -1

    def _next(self) -> Any:
        if not self.inbox:
            raise BlockingIOError
        found = self.inbox.popleft()
        if isinstance(found, OSError):
            raise found
        return found

    def recv(self, size: int) -> bytes:
        """Return a datagram of the endpoint."""
        found: bytes = self._next()
        return found

    def recvfrom(self, size: int) -> Any:
        """Return a datagram of a client."""
        return self._next()

    def _refuse(self) -> None:
        refusing, self.refusing = self.refusing, None
        if refusing is not None:
            raise refusing

    def send(self, datagram: bytes) -> int:
        """Send to the endpoint."""
        self._refuse()
        self.sent.append(datagram)
        return len(datagram)

    def sendto(self, datagram: bytes, peer: tuple[str, int]) -> int:
        """Send to a client."""
        self._refuse()
        self.sent.append((datagram, peer))
        return len(datagram)


class FakeSockets:
    """Makes sockets that are connected to endpoints, and tells of what comes."""

    def __init__(self) -> None:
        self.descriptors: dict[int, Descriptor] = {}
        self.opened: list[tuple[str, int, FakeSocket]] = []
        """What was connected to, in order."""
        self.failing: dict[str, int] = {}
        """Addresses that cannot be connected to, with the number of the error."""
        self.room = 1 << 30
        """How many sockets may be open."""

    def open(self, address: str, port: int) -> Any:
        """Do what ``connect_datagrams`` does."""
        if address in self.failing:
            raise error_of(self.failing[address])
        if sum(sock.fileno() != -1 for *_, sock in self.opened) >= self.room:
            raise error_of(errno.EMFILE)
        sock = FakeSocket((address, port))
        self.opened.append((address, port, sock))
        return sock

    def add(self, descriptor: Descriptor, fileno: int, events: int) -> None:
        """Tell *descriptor* from now on."""
        assert fileno not in self.descriptors
        self.descriptors[fileno] = descriptor

    def remove(self, fileno: int) -> None:
        """Tell of nothing any more."""
        del self.descriptors[fileno]

    def close(self, sock: Any) -> None:
        """Close a socket."""
        assert sock.fileno() not in self.descriptors
        sock.close()

    def put(self, sock: FakeSocket, *found: Any) -> None:
        """Have *found* come to *sock*, and tell until all of it is read, or nobody listens any more."""
        sock.inbox.extend(found)
        while sock.inbox and sock.fileno() in self.descriptors:
            self.descriptors[sock.fileno()].ready(READ)

    @property
    def open_count(self) -> int:
        """How many are open."""
        return sum(sock.fileno() != -1 for *_, sock in self.opened)
