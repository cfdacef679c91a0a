"""
The connections of the tests' API server, below TLS and HTTP.

A frozen connection stays open and silent: what arrives and what is written is
held back, and so is closing. Thawed, everything goes on in its order, as after
a network that was away for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol
from twisted.internet.protocol import connectionDone
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure
from twisted.web.http import Request


class Connection(ProtocolWrapper):
    """One accepted TCP connection."""

    factory: ConnectionFactory

    def __init__(self, factory: ConnectionFactory, wrappedProtocol: IProtocol) -> None:
        super().__init__(factory, wrappedProtocol)
        self._held: list[Callable[[], object]] = []

    @property
    def tcp(self) -> Any:
        """Twisted's TCP transport below this connection."""
        return self.transport

    def connectionMade(self) -> None:
        """Send small writes at once: tests look at single chunks."""
        self.tcp.setTcpNoDelay(True)
        super().connectionMade()

    def dataReceived(self, data: bytes) -> None:
        """Pass bytes up, now or when thawed."""
        self._do(lambda: super(Connection, self).dataReceived(data))

    def write(self, data: bytes) -> None:
        """Pass bytes down, now or when thawed."""
        self._do(lambda: self.tcp.write(data))

    def writeSequence(self, data: Iterable[bytes]) -> None:
        """Pass bytes down, now or when thawed."""
        self.write(b"".join(data))

    def loseConnection(self) -> None:
        """Close when all is written, and not while frozen."""
        self._do(lambda: super(Connection, self).loseConnection())

    def abortConnection(self) -> None:
        """Reset the connection at once, frozen or not."""
        self._held.clear()
        self.tcp.abortConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Forget what was held back."""
        self._held.clear()
        super().connectionLost(reason)

    def release(self) -> None:
        """Do everything that was held back."""
        held, self._held = self._held, []
        for action in held:
            action()

    @property
    def is_flushed(self) -> bool:
        """Whether every byte that was written has left the process."""
        return not (self._held or self.tcp.dataBuffer or self.tcp._tempDataBuffer)

    def _do(self, action: Callable[[], object]) -> None:
        if self.factory.is_frozen:
            self._held.append(action)
        else:
            action()


class ConnectionFactory(WrappingFactory[Connection]):
    """Knows every open connection."""

    protocol = Connection
    noisy = False

    def __init__(self, wrappedFactory: Any) -> None:
        super().__init__(wrappedFactory)
        self.is_frozen = False
        self._emptied: Deferred[None] | None = None

    def freeze(self) -> None:
        """Hold back everything from now on, new connections included."""
        self.is_frozen = True

    def thaw(self) -> None:
        """Go on where ``freeze`` stopped."""
        self.is_frozen = False
        for connection in tuple(self.protocols):
            connection.release()

    def unregisterProtocol(self, p: ProtocolWrapper) -> None:
        """Forget a connection that is lost."""
        super().unregisterProtocol(p)
        if not self.protocols and self._emptied is not None:
            emptied, self._emptied = self._emptied, None
            emptied.callback(None)

    async def abort_all(self) -> None:
        """Reset every connection and wait until all are gone."""
        if not self.protocols:
            return
        self._emptied = Deferred()
        emptied = self._emptied
        for connection in tuple(self.protocols):
            connection.abortConnection()
        await emptied


def connection_of(request: Request) -> Connection:
    """Return the TCP connection that a request came on."""
    transport: Any = request.channel.transport
    while not isinstance(transport, Connection):
        transport = transport.transport
    return transport
