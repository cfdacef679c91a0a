"""Connection starts on Twisted's transports: what has come is kept, and given to the protocol that follows.

Twisted has a protocol for PROXY headers (``twisted.protocols.haproxy``), which believes every
peer, waits for a header without end, and keeps what comes meanwhile without bound.
"""

from functools import partial
from typing import Any

from twisted.internet.interfaces import IAddress, IHalfCloseableProtocol, IProtocolFactory
from twisted.internet.protocol import Protocol, ServerFactory, connectionDone
from twisted.protocols.policies import ProtocolWrapper
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.proxy.listening.connection_starts import ConnectionStart, ConnectionStarts
from ingress.proxy.listening.passthrough import PassthroughTunnel
from ingress.proxy.transport.twisted_protocol import TwistedProtocol


class ConnectionStartFactory(ServerFactory):
    """Gives each connection a connection start, and then a protocol of *following*."""

    noisy = False

    def __init__(self, connection_starts: ConnectionStarts, following: IProtocolFactory) -> None:
        self._connection_starts = connection_starts
        self._following = following

    def buildProtocol(self, addr: IAddress | None) -> Protocol:
        return BufferedStart(self._connection_starts, self._following)

    def doStart(self) -> None:
        super().doStart()
        self._following.doStart()

    def doStop(self) -> None:
        self._following.doStop()
        super().doStop()


def _same(address: IAddress) -> IAddress:
    return address


@implementer(IHalfCloseableProtocol)
class BufferedStart(Protocol):
    """The protocol of a connection until it is known which one it is to have."""

    transport: Any

    def __init__(self, connection_starts: ConnectionStarts, following: IProtocolFactory) -> None:
        self._connection_starts = connection_starts
        self._following = following
        self._connection_start: _KeptStart | None = None

    def connectionMade(self) -> None:
        self._connection_start = _KeptStart(self._connection_starts, self, self._following)
        self._connection_start.begin()

    def leave(self) -> None:
        """The connection has its protocol."""
        self._connection_start = None

    def dataReceived(self, received: bytes) -> None:
        if self._connection_start is not None:
            self._connection_start.came(received)

    def readConnectionLost(self) -> None:
        """The peer sends no more, and it was not enough."""
        if self._connection_start is not None:
            self._connection_start.ended()

    def writeConnectionLost(self) -> None:
        """Never: nothing is written."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        connection_start, self._connection_start = self._connection_start, None
        if connection_start is not None:
            connection_start.ended()


class _KeptStart(ConnectionStart):
    """A connection start whose bytes are kept here."""

    def __init__(
        self, connection_starts: ConnectionStarts, protocol: BufferedStart, following: IProtocolFactory
    ) -> None:
        super().__init__(connection_starts, protocol.transport.getPeer())
        self._protocol = protocol
        self._transport = protocol.transport
        self._following = following
        self._kept = b""

    def came(self, received: bytes) -> None:
        """Look at what has come, with more of it."""
        if not self._is_over:
            self._kept += received
            self.look(self._kept)

    def take_off(self, count: int) -> None:
        """Take the first *count* bytes off what is kept."""
        self._kept = self._kept[count:]

    def terminate(self) -> None:
        """Give the connection to the protocol of the listener."""
        following = self._following.buildProtocol(self.peer)
        if following is None:
            self.close()
        else:
            self._give(following)
            if self._kept:
                following.dataReceived(self._kept)

    def pass_through(self, tunnel: PassthroughTunnel) -> None:
        """Give the connection to *tunnel*, which sends what is kept once it may."""
        tunnel.first = self._kept
        self._give(TwistedProtocol(tunnel.downstream))

    def close(self) -> None:
        """Close at once."""
        self._transport.abortConnection()

    def _give(self, following: Any) -> None:
        transport = self._transport
        # Of this very connection: another address than that of its socket.
        transport.getPeer = partial(_same, self.peer)
        if self.local is not None:
            transport.getHost = partial(_same, self.local)
        # A transport that wraps another one, as Twisted's for ``haproxy:`` does, calls its protocol so.
        if isinstance(transport, ProtocolWrapper):
            transport.wrappedProtocol = following
        else:
            transport.protocol = following
        self._protocol.leave()
        following.makeConnection(transport)
