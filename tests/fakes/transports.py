"""Connections in memory: the proxy's own transports on sockets that a test plays.

The transport is ``DirectServer`` or the epoll set's ``StreamTransport``, so writing,
back-pressure by producers, half-close and abort are Twisted's own code and ours, not
an imitation.  What is replaced is below: ``Peer`` stands for the socket and whoever
is at its other end, ``MemoryEpoll`` for the kernel's readiness, and ``MemoryReactor``
is a ``Clock`` that also lets descriptors read and write.  Nothing here opens a socket
or waits.
"""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import Iterable, Sequence
from errno import ECONNRESET, EPIPE, EWOULDBLOCK
from typing import Any, cast

from twisted.internet import interfaces
from twisted.internet.address import IPv4Address
from twisted.internet.main import CONNECTION_LOST
from twisted.internet.posixbase import _DisconnectSelectableMixin
from twisted.internet.task import Clock
from twisted.logger import Logger
from zope.interface import implementer

from ingress.proxy.contract.transport import Receiver, Transport
from ingress.proxy.transport.epoll.epoll_set import EpollSet
from ingress.proxy.transport.epoll.stream import StreamTransport
from ingress.proxy.transport.twisted_protocol import TwistedProtocol
from ingress.proxy.transport.twisted_transports import DirectServer

UNBOUNDED = 1 << 60
MAX_TURNS = 10_000


class Peer:
    """The far end of a connection; to the transport it is the socket.

    ``say``, ``finish`` (half-close) and ``reset`` put something on the way to the
    protocol.  ``received`` is what the protocol sent, ``saw_end`` and ``saw_reset``
    how its side ended.  ``window`` is how many more bytes the peer takes.
    """

    def __init__(self, reactor: MemoryReactor, receiver: Receiver, number: int) -> None:
        self._reactor = reactor
        self._number = number
        self.protocol = receiver
        self.window = UNBOUNDED
        self._received = bytearray()
        self.largest_write = 0
        """Bytes of the largest write that arrived."""
        self.saw_end = False
        """A FIN came, after everything that the protocol had to say."""
        self.saw_reset = False
        self.acknowledged = 0
        """Bytes that arrived and that the kernel at the far end took."""
        self.has_left = False
        """The far end closed its socket, and takes nothing any more; ``finish`` lets its FIN arrive."""
        self.closed = False
        """The protocol's side of the socket is closed for both ways."""
        self.broken = False
        self._incoming: list[bytes] = []
        self._finished = False
        self._resets_on_close = False

    def __repr__(self) -> str:
        return f"<Peer of {self.protocol!r}>"

    @property
    def transport(self) -> Transport:
        """What the receiver has."""
        transport: Transport = cast(Any, self.protocol).transport
        return transport

    # What the peer does

    def say(self, *pieces: bytes) -> None:
        """Send each of *pieces*, and let the reactor see to it before the next."""
        for piece in pieces:
            if piece:
                self._incoming.append(piece)
                self._reactor.settle()

    def post(self, *pieces: bytes) -> None:
        """Have *pieces* come, each by itself, once the reactor has its next turn."""
        self._incoming.extend(pieces)

    def finish(self) -> None:
        """End the peer's side of the connection (FIN); it can still receive."""
        self._finished = True
        self._reactor.settle()

    def reset(self) -> None:
        """Break the connection off (RST)."""
        self.broken = True
        self._reactor.settle()

    def widen(self, count: int = UNBOUNDED) -> None:
        """Take *count* more bytes."""
        self.window = count
        self._reactor.settle()

    def take(self) -> bytes:
        """Return what arrived since the last call."""
        taken = self.received
        self._received.clear()
        return taken

    @property
    def received(self) -> bytes:
        """What arrived since the last ``take``."""
        return bytes(self._received)

    @property
    def unread(self) -> int:
        """How many bytes are under way that the protocol did not read."""
        return sum(map(len, self._incoming))

    # What the reactor and the transport ask of a socket

    @property
    def is_readable(self) -> bool:
        return not self.closed and bool(self._incoming or self._finished or self.broken)

    @property
    def is_writable(self) -> bool:
        return not self.closed and (self.window > 0 or self.broken)

    @property
    def events(self) -> int:
        """What epoll tells of a socket in this state."""
        events = 0
        if not self.closed:
            # As in the two above, which cost each turn of every connection two calls.
            if self._incoming or self._finished or self.broken:
                events = select.EPOLLIN
            if self.window > 0 or self.broken:
                events |= select.EPOLLOUT
        if self.broken:
            events |= select.EPOLLERR | select.EPOLLHUP
        elif self._finished and self.saw_end:
            events |= select.EPOLLHUP
        return events

    def recv(self, size: int, flags: int = 0) -> bytes:
        if self.broken:
            raise OSError(ECONNRESET, "reset")
        if self._incoming and flags & socket.MSG_PEEK:
            return self._incoming[0][:size]
        if self._incoming:
            first = self._incoming.pop(0)
            if len(first) > size:
                self._incoming.insert(0, first[size:])
            return first[:size]
        if self._finished:
            return b""
        raise OSError(EWOULDBLOCK, "nothing there")

    def recvmsg_into(self, spaces: Sequence[memoryview]) -> tuple[int, list[object], int, None]:
        received = self.recv(sum(map(len, spaces)))
        at = 0
        for space in spaces:
            piece = received[at : at + len(space)]
            space[: len(piece)] = piece
            at += len(piece)
        return len(received), [], 0, None

    def send(self, octets: memoryview, flags: int = 0) -> int:
        if self.broken:
            raise OSError(EPIPE, "broken pipe")
        if not self.window:
            raise OSError(EWOULDBLOCK, "full")
        taken = bytes(octets[: self.window])
        self.window -= len(taken)
        self._received += taken
        self.acknowledged += 0 if self.has_left else len(taken)
        self.largest_write = max(self.largest_write, len(taken))
        return len(taken)

    def sendmsg(self, pieces: Iterable[memoryview]) -> int:
        return self.send(memoryview(b"".join(pieces)))

    def shutdown(self, how: int) -> None:
        # What was not read turns a close into a reset, as in TCP.
        self._resets_on_close = self._resets_on_close or (how == socket.SHUT_RDWR and self.unread > 0)
        self.saw_end = self.saw_end or not self._resets_on_close

    def setsockopt(self, level: int, option: int, value: object) -> None:
        # Twisted asks for a reset by a linger time of zero.
        if option == socket.SO_LINGER:
            self._resets_on_close = True

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        assert (level, option) == (socket.IPPROTO_TCP, socket.TCP_INFO)
        if size > 1:
            return bytes(120) + self.acknowledged.to_bytes(8, sys.byteorder) + bytes(8)
        # The states of TCP: closed, the far end has ended its side, established.
        return b"\x07" if self.broken else b"\x08" if self._finished else b"\x01"

    def close(self) -> None:
        self.closed = True
        self.saw_reset = self._resets_on_close = self._resets_on_close or self.unread > 0
        self.saw_end = self.saw_end or not self._resets_on_close

    def setblocking(self, flag: bool) -> None: ...

    def fileno(self) -> int:
        return self._number

    def getsockname(self) -> tuple[str, int]:
        return "192.0.2.1", 8080


class MemoryEpoll:
    """The epoll set of an epoll set whose sockets are peers."""

    def __init__(self) -> None:
        self.peers: dict[int, Peer] = {}
        """Every peer by its file descriptor."""
        self._wanted: dict[int, int] = {}

    def register(self, fileno: int, events: int) -> None:
        assert fileno not in self._wanted
        self.modify(fileno, events)

    def modify(self, fileno: int, events: int) -> None:
        # The kernel tells of these whether they are asked for or not.
        self._wanted[fileno] = events | select.EPOLLERR | select.EPOLLHUP

    def unregister(self, fileno: int) -> None:
        del self._wanted[fileno]

    @property
    def has_any(self) -> bool:
        """Whether ``poll`` would return anything."""
        peers = self.peers
        return any(peers[fileno].events & wanted for fileno, wanted in self._wanted.items())

    def poll(self, timeout: float = 0, most: int = -1) -> list[tuple[int, int]]:
        peers = self.peers
        return [
            (fileno, events)
            for fileno, wanted in self._wanted.items()
            if (events := peers[fileno].events & wanted)
        ]

    def fileno(self) -> int:
        return -1

    def close(self) -> None: ...


@implementer(interfaces.IReactorFDSet)
class MemoryReactor(Clock, _DisconnectSelectableMixin):
    """A clock that also lets descriptors read and write, as a reactor's turn does.

    Connections are Twisted's, or those of an epoll set with *on_epoll*.
    """

    log = Logger()

    def __init__(self, on_epoll: bool = False) -> None:
        Clock.__init__(self)
        self.epoll = MemoryEpoll()
        self._epoll_set = self._make_epoll_set() if on_epoll else None
        self._readers: dict[Any, None] = {}
        self._writers: dict[Any, None] = {}
        self._transports: list[DirectServer] = []
        self._settling = False

    def _make_epoll_set(self) -> EpollSet:
        return EpollSet(self, can_splice=False, epoll=cast(select.epoll, self.epoll))

    def addReader(self, reader: Any) -> None:
        self._readers[reader] = None

    def addWriter(self, writer: Any) -> None:
        self._writers[writer] = None

    def removeReader(self, reader: Any) -> None:
        self._readers.pop(reader, None)

    def removeWriter(self, writer: Any) -> None:
        self._writers.pop(writer, None)

    def removeAll(self) -> list[Any]:
        everything = list({**self._readers, **self._writers})
        self._readers.clear()
        self._writers.clear()
        return everything

    def getReaders(self) -> list[Any]:
        return list(self._readers)

    def getWriters(self) -> list[Any]:
        return list(self._writers)

    @property
    def peers(self) -> list[Peer]:
        """The far ends of all connections that there ever were, in their order."""
        return list(self.epoll.peers.values())

    def connect(
        self,
        receiver: Receiver,
        host: str = "198.51.100.7",
        port: int = 40000,
        window: int | None = None,
    ) -> Peer:
        """Connect *receiver* to a new peer, which takes *window* bytes at first, and return the peer."""
        number = len(self.epoll.peers)
        peer = self.epoll.peers[number] = Peer(self, receiver, number)
        if window is not None:
            peer.window = window
        if self._epoll_set is not None:
            address = IPv4Address("TCP", host, port)
            StreamTransport(self._epoll_set, cast(socket.socket, peer), receiver, address).start()
            self.settle()
            return peer
        protocol = TwistedProtocol(receiver)
        transport = DirectServer(
            cast(socket.socket, peer), protocol, (host, port), cast(Any, None), 1, cast(Any, self)
        )
        transport.repstr = f"<transport of {protocol!r}>"
        self._transports.append(transport)
        protocol.makeConnection(transport)
        self.settle()
        return peer

    def settle(self) -> None:
        """Turn until nothing happens any more; time stands still meanwhile."""
        if self._settling:
            return
        self._settling = True
        try:
            for _ in range(MAX_TURNS):
                if not self._turn():
                    return
            raise AssertionError("the connections do not come to rest")
        finally:
            self._settling = False

    def pass_time(self, seconds: float) -> None:
        """Let *seconds* go by, a second at a time."""
        while seconds > 0:
            self.advance(min(1.0, seconds))
            self.settle()
            seconds -= 1.0

    def _turn(self) -> bool:
        happened = False
        now = self.seconds()
        for call in [each for each in self.calls if each.getTime() <= now]:
            # What these ask for at once is for the next turn, as in any reactor.
            happened = True
            if call.active():
                self.calls.remove(call)
                call.called = 1
                call.func(*call.args, **call.kw)
        if self._epoll_set is not None and self.epoll.has_any:
            happened = True
            self._epoll_set.doRead()
        for reader in [reader for reader in self._readers if reader.socket.is_readable]:
            if reader in self._readers:
                happened = True
                self._do(reader, "doRead")
        for writer in [writer for writer in self._writers if writer.socket.is_writable]:
            if writer in self._writers:
                happened = True
                self._do(writer, "doWrite")
        for transport in list(self._transports):
            if transport.disconnected:
                self._transports.remove(transport)
            elif cast(Peer, transport.socket).broken:
                # Reactors hear of a reset even where nobody reads.
                happened = True
                self._disconnectSelectable(transport, CONNECTION_LOST, False)
        return happened

    def _do(self, descriptor: Any, method: str) -> None:
        try:
            why = getattr(descriptor, method)()
        except Exception as error:
            # As reactors do: the fault is logged and costs this descriptor its life.
            self.log.failure("a descriptor failed")
            why = error
        if why:
            try:
                self._disconnectSelectable(descriptor, why, method == "doRead")
            except Exception:
                self.log.failure("an end could not be told")
