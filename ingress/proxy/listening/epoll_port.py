"""A listening socket in the epoll set."""

import socket
from collections.abc import Callable
from typing import Final

from OpenSSL import SSL
from twisted.internet.interfaces import IAddress, IListeningPort
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.proxy.contract.transport import Receiver
from ingress.proxy.listening.connection_starts import ConnectionStarts
from ingress.proxy.listening.peeked_start import PeekedStart
from ingress.proxy.transport.accepting import BACKLOG, MAX_ACCEPTS, AcceptPause
from ingress.proxy.transport.epoll.epoll_set import READ, EpollSet
from ingress.proxy.transport.epoll.sockets import SocketName, address_of
from ingress.proxy.transport.epoll.stream import StreamTransport
from ingress.proxy.transport.epoll.tls import TLSTransport

MakeConnection = Callable[[socket.socket, bool], SSL.Connection]
"""Begins the server side of TLS on a socket; told whether a protocol of ours is agreed on in the handshake."""


_USUALLY_ALONE: Final = 16
"""Connections in a row that came alone, after which the next one is expected to."""
_ASKED: Final = 8
"""Connections that usually come alone of which one shows whether they still do."""


@implementer(IListeningPort)
class EpollPort:
    """Accepts connections and gives each a receiver; with *secure*, over TLS."""

    def __init__(
        self,
        epoll_set: EpollSet,
        sock: socket.socket,
        build: Callable[[], Receiver],
        secure: MakeConnection | None,
        connection_starts: ConnectionStarts | None = None,
        backlog: int = BACKLOG,
    ) -> None:
        """With *connection_starts*, the first bytes of each connection decide what becomes of it; *backlog* of them may wait to be accepted."""
        self._epoll_set = epoll_set
        self._sock = sock
        self._build = build
        self._secure = secure
        self._connection_starts = connection_starts
        self._backlog = backlog
        self._port: int = sock.getsockname()[1]
        self._is_listening = False
        self._alone = 0
        """How many connections in a row came alone, as far as anybody asked for another one."""
        self.rest = AcceptPause(self._watch, epoll_set.call_after)

    def __repr__(self) -> str:
        return f"<EpollPort {'listening' if self._is_listening else 'closed'}>"

    def startListening(self) -> None:
        """Accept from now on."""
        self._sock.setblocking(False)
        # Accepted sockets have these from their listener, which saves two calls for each.
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._sock.listen(self._backlog)
        self._is_listening = True
        self._watch(not self.rest.is_on)

    def _watch(self, accepts: bool) -> None:
        if not self._is_listening:
            return
        if accepts:
            self._epoll_set.add(self, self._sock.fileno(), READ)
        else:
            self._epoll_set.remove(self._sock.fileno())

    def pause(self) -> None:
        """Accept nothing until ``resume``."""
        self.rest.pause()

    def resume(self) -> None:
        """Accept again."""
        self.rest.resume()

    def slow_down(self, is_slow: bool) -> None:
        """Accept one by one, or as they come."""
        self.rest.is_slow = is_slow

    def stopListening(self) -> None:
        """Accept no more; connections stay."""
        if self._is_listening:
            self._is_listening = False
            self._epoll_set.remove(self._sock.fileno())
            self._epoll_set.close(self._sock)
            self.rest.end()

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        return self._sock.fileno()

    def getHost(self) -> IAddress:
        """The address that is listened on."""
        return address_of(self._sock.getsockname())

    def ready(self, events: int) -> None:
        """
        Accept who waits, some at a time.

        Where each comes alone, as over TLS, whose handshakes take longer than what they wait for, it is seldom asked for
        another one: if there is one, epoll tells at the next look.
        """
        rest = self.rest
        asks = self._alone < _USUALLY_ALONE or not self._alone % _ASKED
        for count in range(MAX_ACCEPTS if asks else 1):
            if rest.is_on or (rest.turn is not None and rest.leaves_to_others()):
                return
            if self._secure is not None and not self._epoll_set.handshakes.has_room(rest.relieve):
                rest.burden()
                return
            try:
                sock, name = self._sock.accept()
            except (BlockingIOError, InterruptedError):
                if rest.turn is not None:
                    rest.found_nobody()
                return
            except OSError as problem:
                if rest.is_shortage(problem):
                    return
                # The peer gave up before it was accepted.
                continue
            self._alone = 0 if count else self._alone + 1
            rest.accepted()
            sock.setblocking(False)
            starts = self._connection_starts
            if starts is None or not starts.is_wanted:
                self._take(sock, name)
            else:
                PeekedStart(starts, self._epoll_set, sock, address_of(name), self._take).begin()

    def _take(
        self,
        sock: socket.socket,
        peer: IAddress | SocketName,
        local: IAddress | None = None,
        receiver: Receiver | None = None,
    ) -> None:
        transport: StreamTransport
        if self._secure is None:
            transport = StreamTransport(self._epoll_set, sock, receiver or self._build(), peer, self._port)
        else:
            connection = self._secure(sock, receiver is None)
            transport = TLSTransport(
                self._epoll_set, sock, receiver or self._build(), peer, connection, self._port
            )
        if local is not None:
            transport.said_local = local
        try:
            transport.start()
        except Exception:
            self._epoll_set.fail(transport)

    def failed(self, failure: Failure) -> None:
        """A connection could not be begun; the port goes on."""
