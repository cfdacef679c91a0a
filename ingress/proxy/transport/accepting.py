"""What all listeners do when they must not accept, on either network.

A listener rests while there are as many connections as there may be (``connection_limit``), and for a
second when the system has no descriptor or no memory for another one.  Whoever comes meanwhile waits in
the kernel.  Twisted's own ports would accept and close at once what they have no descriptor for.
"""

import _socket
import errno
import socket
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

from twisted.internet import tcp
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.proxy.transport.connection_limit import ConnectionLimit

BACKLOG: Final = 4096
"""Connections that wait to be accepted; the kernel cuts it to ``net.core.somaxconn``."""
MAX_ACCEPTS: Final = 16
"""Connections that are accepted in one go; then others have their turn.  Each is work at once, and again with what it says."""
PAUSE_SECONDS: Final = 1.0
SLOW_SECONDS: Final = 0.005
"""Behind each connection that is accepted slowly: a handshake takes a tenth of that."""
_NO_ROOM: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))

log = Logger()


class AcceptTurn(Protocol):
    """Says which connections are ours, where other processes listen on the same socket."""

    def seconds_to_leave(self) -> float:
        """Return how long to leave what waits to others; 0 when it is ours."""

    def over(self) -> None:
        """What waited was taken, by whomever."""


NewTurn = Callable[[], AcceptTurn]


def _nobody(accepts: bool) -> None:
    """Watch nothing."""


class AcceptPause:
    """Whether one listener accepts, and for which reasons it does not; *watch* is told when that changes."""

    def __init__(
        self, watch: Callable[[bool], None], call_after: Callable[[float, Callable[[], None]], Any]
    ) -> None:
        self.is_on = False
        """Whether it rests."""
        self._watch = watch
        self._call_after = call_after
        self._is_crowded = False
        self._is_short = False
        self._is_busy = False
        self._is_leaving = False
        self._told = False
        self.is_slow = False
        """Whether connections are accepted one by one, with a moment in between."""
        self.turn: AcceptTurn | None = None
        """Where other processes listen, too."""

    def __repr__(self) -> str:
        return f"<Rest {'on' if self.is_on else 'off'}>"

    def end(self) -> None:
        """Tell nobody any more: the listener is closed, and must not be kept by what it keeps."""
        self._watch = _nobody

    def pause(self) -> None:
        """Rest: there are as many connections as there may be."""
        self._is_crowded = True
        self._update()

    def resume(self) -> None:
        """There are fewer again."""
        self._is_crowded = False
        self._update()

    def burden(self) -> None:
        """Rest: so many handshakes wait for their turn that newcomers had better wait in the kernel."""
        self._is_busy = True
        self._update()

    def relieve(self) -> None:
        """Most of them had their turn."""
        self._is_busy = False
        self._update()

    def is_shortage(self, problem: OSError) -> bool:
        """Whether *problem* is that nothing is left for another connection; then rest for a while."""
        if problem.errno not in _NO_ROOM:
            return False
        if not self._told:
            # Until the shortage is over there is nothing more to say.
            self._told = True
            log.error(
                "cannot accept: {error}; trying again every {seconds:g} s",
                error=problem.strerror,
                seconds=PAUSE_SECONDS,
            )
        self._is_short = True
        self._update()
        self._call_after(PAUSE_SECONDS, self._try_again)
        return True

    def leaves_to_others(self) -> bool:
        """Whether what waits is rather for another process; then rest for a moment."""
        seconds = 0.0 if self.turn is None else self.turn.seconds_to_leave()
        if not seconds:
            return False
        self._is_leaving = True
        self._update()
        self._call_after(seconds, self._look_again)
        return True

    def _look_again(self) -> None:
        self._is_leaving = False
        self._update()

    def accepted(self) -> None:
        """Somebody could be accepted."""
        self._told = False
        if self.is_slow:
            self._is_leaving = True
            self._update()
            self._call_after(SLOW_SECONDS, self._look_again)
        if self.turn is not None:
            self.turn.over()

    def found_nobody(self) -> None:
        """Nobody waits any more."""
        if self.turn is not None:
            self.turn.over()

    def _try_again(self) -> None:
        self._is_short = False
        self._update()

    def _update(self) -> None:
        is_on = self._is_crowded or self._is_short or self._is_busy or self._is_leaving
        if is_on is not self.is_on:
            self.is_on = is_on
            self._watch(not is_on)


def keep_to_family(sock: socket.socket) -> socket.socket:
    """Have a socket of IPv6 take no IPv4, so that both can have the same port, and clients no mapped addresses."""
    if sock.family is socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return sock


class AcceptedSocket(socket.socket):
    """A connected socket, of which no file is made: it closes when it is told to."""

    __slots__ = ()

    close = _socket.socket.close


class AcceptingSocket(socket.socket):
    """A socket that was opened as another object, which is of no use any more, and is to be accepted on.

    For each connection ``accept`` asks what it is accepted on for its family and type, which ``socket.socket`` makes enums of
    each time: that takes longer than the system call.  Here they are known.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._family, self._type, self._proto = sock.family, sock.type, sock.proto
        super().__init__(sock.family, sock.type, sock.proto, sock.detach())

    def accept(self) -> tuple[socket.socket, Any]:
        """Return a connection and the address of its peer."""
        descriptor, name = self._accept()  # type: ignore[attr-defined]
        accepted = AcceptedSocket.__new__(AcceptedSocket)
        _socket.socket.__init__(accepted, self._family, self._type, self._proto, descriptor)
        # As ``socket.socket`` has it, for who ends with it or hands its descriptor on.
        accepted._io_refs = 0  # type: ignore[attr-defined]
        accepted._closed = False  # type: ignore[attr-defined]
        return accepted, name

    @property
    def family(self) -> socket.AddressFamily:
        """The family of its addresses."""
        return self._family

    @property
    def type(self) -> socket.SocketKind:
        """The kind of its connections."""
        return self._type


class FamilyPort(tcp.Port):
    """Twisted's port, for one family of addresses."""

    usual_backlog = BACKLOG
    """How many connections may wait to be accepted where nobody says how many."""

    # Twisted would shut a socket down that it closes, and with it the listening of all processes that share the socket.
    _shouldShutdown = False  # noqa: N815 - Twisted's name

    def createInternetSocket(self) -> socket.socket:
        return keep_to_family(super().createInternetSocket())


class PausablePort(FamilyPort):
    """One with this way to rest."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._reactor: Any = self.reactor
        self.rest = AcceptPause(self._watch, cast(Any, self.reactor).callLater)

    def _watch(self, accepts: bool) -> None:
        if not self.connected or self.disconnecting:
            return
        if accepts:
            self.startReading()
        else:
            self.stopReading()

    def startListening(self) -> None:
        try:
            super().startListening()
        except CannotListenError:
            self.rest.end()
            raise

    def connectionLost(self, reason: Failure) -> None:
        super().connectionLost(reason)
        self.rest.end()

    def pause(self) -> None:
        """Accept nothing until ``resume``."""
        self.rest.pause()

    def resume(self) -> None:
        """Accept again."""
        self.rest.resume()

    def slow_down(self, is_slow: bool) -> None:
        """Accept one by one, or as they come."""
        self.rest.is_slow = is_slow

    def doRead(self) -> None:
        """Accept who waits, some at a time."""
        for _ in range(MAX_ACCEPTS):
            if self.rest.is_on or self.disconnecting or self.rest.leaves_to_others():
                return
            try:
                sock, peer = self.socket.accept()
            except (BlockingIOError, InterruptedError):
                self.rest.found_nobody()
                return
            except OSError as problem:
                if self.rest.is_shortage(problem):
                    return
                # The peer gave up before it was accepted.
                continue
            self.rest.accepted()
            try:
                self._begin(sock, peer)
            except Exception:
                log.failure("A connection could not be begun, which is a bug; the listener goes on")

    def _begin(self, sock: Any, peer: Any) -> None:
        sock.setblocking(False)
        factory: Any = self.factory
        protocol = factory.buildProtocol(self._buildAddr(peer))
        if protocol is None:
            sock.close()
            return
        self.sessionno += 1
        protocol.makeConnection(self.transport(sock, protocol, peer, self, self.sessionno, self._reactor))


class _OtherPort:
    """A port of some other kind, as for UNIX sockets."""

    def __init__(self, port: Any) -> None:
        self.port = port

    def pause(self) -> None:
        self.port.stopReading()

    def resume(self) -> None:
        if self.port.connected:
            self.port.startReading()

    def slow_down(self, is_slow: bool) -> None:
        """Twisted's own ports accept as many as they like."""


def join(connection_limit: ConnectionLimit, port: Any, new_turn: NewTurn | None = None) -> IListeningPort:
    """Have *port* rest while *connection_limit* is as large as it may be, if it is of a kind that can.

    Where other processes listen on its socket, a *new_turn* says which connections are its own.
    """
    rest = getattr(port, "rest", None)
    if rest is not None and new_turn is not None:
        rest.turn = new_turn()
    if hasattr(port, "pause"):
        connection_limit.add_port(port)
    elif hasattr(port, "stopReading"):
        connection_limit.add_port(_OtherPort(port))
    joined: IListeningPort = port
    return joined


def leave(connection_limit: ConnectionLimit, port: Any) -> None:
    """Have *port*, which was closed, rest with the others no more."""
    connection_limit.remove_port(
        lambda one: one is port or (isinstance(one, _OtherPort) and one.port is port)
    )
