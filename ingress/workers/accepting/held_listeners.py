"""The listening sockets, held by the parent: bound once, and given to each worker, or those of UDP to one of them.

Connections that nobody has accepted, and datagrams that nobody has read, wait in the kernel, whichever worker ends meanwhile.  The
parent takes none itself.
"""

import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.internet.defer import maybeDeferred
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from ingress.data_plane import SocketOf
from ingress.errors import StartError
from ingress.model.network.listeners import Listener, backlog_of
from ingress.proxy.listening.listeners import listen
from ingress.proxy.listening.open_listeners import OpenListeners
from ingress.proxy.transport.accepting import BACKLOG
from ingress.proxy.transport.datagrams import take_datagrams


class HeldListeners:
    """Keeps the sockets of those listeners that were asked for last.

    *changed* is called when another one is held, or one no more; *refused* is told which ones cannot be bound, and why.
    """

    def __init__(
        self,
        reactor: Any,
        socket_of: SocketOf,
        changed: Callable[[], None],
        refused: Callable[[Mapping[Listener, str]], None],
        failed: Callable[[Failure], None],
    ) -> None:
        self._reactor = reactor
        self._socket_of = socket_of
        self._changed = changed
        self._listeners = OpenListeners(self._hold, reactor, failed, refused)
        self._last = 0
        self.held: dict[Listener, Held] = {}
        """Those that are held, in the order in which they were bound."""

    @property
    def open(self) -> tuple[Listener, ...]:
        """Those that are held."""
        return self._listeners.open

    @property
    def is_working(self) -> bool:
        """Whether sockets are being bound or closed."""
        return self._listeners.is_working

    def sockets(self) -> Mapping[str, int]:
        """Return the descriptors of those that are held, by their descriptions."""
        return self._listeners.sockets()

    async def follow(self, listeners: Sequence[Listener]) -> None:
        """Hold just *listeners*; raises ``StartError`` for one that is required and cannot be bound."""
        await self._listeners.follow(listeners)

    async def close(self) -> None:
        """Hold nothing any more."""
        await self._listeners.close()

    async def _hold(self, listener: Listener) -> "Held":
        sock = await self._socket_of(listener)
        if listener.is_udp:
            return self._keep(listener, HeldDatagrams(sock or take_datagrams(listener.description)))
        port: Any = await listen(self._reactor, listener.description, _Nobody(), sock=sock)
        try:
            port.stopReading()
            # Others listen on the same socket, also after it was closed here.
            port._shouldShutdown = False
            port.socket.setblocking(False)
            said = backlog_of(listener.description)
            port.socket.listen(BACKLOG if said is None else said)
        except (AttributeError, OSError) as error:
            await maybeDeferred(port.stopListening)
            raise StartError(
                f"cannot listen on {listener.description}: it has no socket that could be given to --workers"
            ) from error
        return self._keep(listener, HeldPort(port))

    def _keep(self, listener: Listener, bound: "HeldPort | HeldDatagrams") -> "Held":
        self._last += 1
        held = self.held[listener] = Held(self._last, bound, lambda: self._gone(listener))
        self._changed()
        return held

    def _gone(self, listener: Listener) -> None:
        del self.held[listener]
        self._changed()


class Held:
    """A socket that listens, or takes datagrams, by its *number*."""

    def __init__(self, number: int, bound: "HeldPort | HeldDatagrams", gone: Callable[[], None]) -> None:
        self.number = number
        self._bound = bound
        self._gone = gone

    @property
    def socket(self) -> socket.socket:
        """The socket."""
        return self._bound.socket

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        return self.socket.fileno()

    async def close(self) -> None:
        """Hold it no more."""
        self._gone()
        await self._bound.close()


class HeldPort:
    """A port of Twisted's."""

    def __init__(self, port: Any) -> None:
        self._port = port
        self.socket: socket.socket = port.socket

    async def close(self) -> None:
        """Close it."""
        await maybeDeferred(self._port.stopListening)


class HeldDatagrams:
    """A socket of UDP."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock

    async def close(self) -> None:
        """Close it."""
        self.socket.close()


class _Nobody(Factory):
    """Serves nobody: no connection is accepted by it."""

    noisy = False

    def logPrefix(self) -> str:
        """Name it in Twisted's log."""
        return "Listener for workers"

    def buildProtocol(self, addr: IAddress | None) -> None:
        """Never called."""
