"""Connection starts in the epoll set: the first bytes are looked at in the socket, and stay there.

``MSG_PEEK`` shows what has come without taking it, so OpenSSL reads the ClientHello from
the socket afterwards, and an endpoint gets it from there: nothing has to be fed back.  A socket that
holds something is ready to read for ever; so epoll is asked for edges, that is to tell only
when more has come.
"""

import select
import socket
from collections.abc import Callable

from twisted.internet.interfaces import IAddress
from twisted.python.failure import Failure

from ingress.proxy.contract.transport import Receiver
from ingress.proxy.listening.connection_starts import (
    MAX_CONNECTION_START_BYTES,
    ConnectionStart,
    ConnectionStarts,
)
from ingress.proxy.listening.stream_tunnel import StreamTunnel
from ingress.proxy.transport.epoll.epoll_set import BROKEN, READ, EpollSet
from ingress.proxy.transport.epoll.stream import StreamTransport

_PEER_ENDED = getattr(select, "EPOLLRDHUP", 0)
_EVENTS = READ | _PEER_ENDED | getattr(select, "EPOLLET", 0)

Begin = Callable[[socket.socket, IAddress, IAddress | None, Receiver | None], None]
"""Gives a socket to the protocol of its listener, or to a receiver in its place: socket, peer, and the address it connected to."""


class PeekedStart(ConnectionStart):
    """An accepted socket, in the epoll set until it is known what becomes of it."""

    def __init__(
        self,
        connection_starts: ConnectionStarts,
        epoll_set: EpollSet,
        sock: socket.socket,
        peer: IAddress,
        terminate: Begin,
    ) -> None:
        super().__init__(connection_starts, peer)
        self._epoll_set = epoll_set
        self._sock = sock
        self._terminate = terminate

    def begin(self) -> None:
        """Enter the epoll set."""
        self._epoll_set.add(self, self._sock.fileno(), _EVENTS)
        super().begin()

    def ready(self, events: int) -> None:
        """Look at what has come so far."""
        if self._is_over:
            return
        try:
            received = self._sock.recv(MAX_CONNECTION_START_BYTES, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            received = b""
        except OSError:
            self.ended()
            return
        if received:
            self.look(received)
        if events & (_PEER_ENDED | BROKEN) and not self._is_over:
            self.ended()

    def failed(self, failure: Failure) -> None:
        """Deciding raised: close."""
        self.abort()

    def take_off(self, count: int) -> None:
        """Read *count* bytes that were seen, so that they are there."""
        while count:
            count -= len(self._sock.recv(count))

    def terminate(self, receiver: Receiver | None = None) -> None:
        """Give the socket to the protocol of the listener, or what TLS carries to *receiver*."""
        self._epoll_set.remove(self._sock.fileno())
        self._terminate(self._sock, self.peer, self.local, receiver)

    def pass_through(self, tunnel: StreamTunnel) -> None:
        """Give the socket to *tunnel*."""
        self._epoll_set.remove(self._sock.fileno())
        transport = StreamTransport(self._epoll_set, self._sock, tunnel.downstream, self.peer)
        try:
            transport.start()
        except Exception:
            self._epoll_set.fail(transport)

    def close(self) -> None:
        """Close at once."""
        self._epoll_set.remove(self._sock.fileno())
        self._epoll_set.close(self._sock)
