"""Connection starts on Twisted's transports: what has come is kept, and given to the protocol that follows.

Twisted has a protocol for PROXY headers (``twisted.protocols.haproxy``), which believes every
peer, waits for a header without end, and keeps what comes meanwhile without bound.
"""

from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IAddress, IProtocol
from twisted.internet.protocol import Factory, ServerFactory
from twisted.python.failure import Failure

from ingress.proxy.contract.transport import Receiver, Transport
from ingress.proxy.listening.connection_starts import ConnectionStart, ConnectionStarts
from ingress.proxy.listening.stream_tunnel import StreamTunnel
from ingress.proxy.transport.twisted_protocol import TwistedProtocol, TwistedTransport

Carrying = Callable[[Receiver], IProtocol]
"""Makes the TLS of one connection, whose content a receiver gets."""


class ConnectionStartFactory(ServerFactory):
    """Gives each connection a connection start where one is wanted, and then a protocol of *following*."""

    noisy = False

    def __init__(
        self,
        connection_starts: ConnectionStarts,
        following: Factory,
        carrying: "Carrying | None" = None,
    ) -> None:
        """*carrying* makes the protocol of TLS whose content is not for *following*."""
        self._connection_starts = connection_starts
        self._following = following
        self._carrying = carrying

    def buildProtocol(self, addr: IAddress | None) -> Any:
        if not self._connection_starts.is_wanted:
            return self._following.buildProtocol(addr)
        return TwistedProtocol(BufferedStart(self._connection_starts, self._following, self._carrying))

    def doStart(self) -> None:
        super().doStart()
        self._following.doStart()

    def doStop(self) -> None:
        self._following.doStop()
        super().doStop()


class BufferedStart:
    """The receiver of a connection until it is known which protocol it is to have."""

    half_closes = True

    def __init__(
        self,
        connection_starts: ConnectionStarts,
        following: Factory,
        carrying: "Carrying | None" = None,
    ) -> None:
        self._connection_starts = connection_starts
        self._following = following
        self._carrying = carrying
        self._connection_start: _KeptStart | None = None

    def makeConnection(self, transport: Transport) -> None:
        """Look at what comes from now on."""
        if not isinstance(transport, TwistedTransport):
            raise TypeError(f"{transport!r} is none of Twisted's")
        self._connection_start = _KeptStart(
            self._connection_starts, self, transport, self._following, self._carrying
        )
        self._connection_start.begin()

    def leave(self) -> None:
        """The connection has its protocol."""
        self._connection_start = None

    def handshakeCompleted(self) -> None:
        """Never: this is below TLS."""

    def dataReceived(self, received: bytes) -> None:
        """Look at what has come."""
        if self._connection_start is not None:
            self._connection_start.came(received)

    def readConnectionLost(self) -> None:
        """The peer sends no more, and it was not enough."""
        if self._connection_start is not None:
            self._connection_start.ended()

    def connectionLost(self, reason: Failure) -> None:
        """The connection is gone before its beginning."""
        connection_start, self._connection_start = self._connection_start, None
        if connection_start is not None:
            connection_start.ended()

    def pauseProducing(self) -> None:
        """Never: nothing is written."""

    def resumeProducing(self) -> None:
        """Never: nothing is written."""


class _KeptStart(ConnectionStart):
    """A connection start whose bytes are kept here."""

    def __init__(
        self,
        connection_starts: ConnectionStarts,
        receiver: BufferedStart,
        transport: TwistedTransport,
        following: Factory,
        carrying: "Carrying | None",
    ) -> None:
        super().__init__(connection_starts, transport.getPeer())
        self._receiver = receiver
        self._transport = transport
        self._following = following
        self._carrying = carrying
        self._kept = b""

    def came(self, received: bytes) -> None:
        """Look at what has come, with more of it."""
        if not self._is_over:
            self._kept += received
            self.look(self._kept)

    def take_off(self, count: int) -> None:
        """Take the first *count* bytes off what is kept."""
        self._kept = self._kept[count:]

    def terminate(self, receiver: Receiver | None = None) -> None:
        """Give the connection to the protocol of the listener, or what TLS carries to *receiver*."""
        following: IProtocol | None
        if receiver is None or self._carrying is None:
            following = self._following.buildProtocol(self.peer)
        else:
            following = self._carrying(receiver)
        if following is None:
            self.close()
            return
        self._receiver.leave()
        self._transport.say_addresses(self.peer, self.local)
        self._transport.give_to(following)
        if self._kept:
            following.dataReceived(self._kept)

    def pass_through(self, tunnel: StreamTunnel) -> None:
        """Give the connection to *tunnel*, which sends what is kept once it may."""
        tunnel.first = self._kept
        self._receiver.leave()
        self._transport.say_addresses(self.peer, self.local)
        self._transport.deliver_to(tunnel.downstream)
        tunnel.downstream.makeConnection(self._transport)

    def close(self) -> None:
        """Close at once."""
        self._transport.abortConnection()
