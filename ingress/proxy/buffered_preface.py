"""Prefaces on Twisted's transports: what has come is kept, and given to the protocol that follows.

Twisted has a protocol for PROXY headers (``twisted.protocols.haproxy``), which believes every
peer, waits for a header without end, and keeps what comes meanwhile without bound.
"""

from functools import partial
from typing import Any

from twisted.internet.interfaces import IAddress, IHalfCloseableProtocol, IProtocolFactory
from twisted.internet.protocol import Protocol, ServerFactory, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.proxy.passthrough import PassthroughTunnel
from ingress.proxy.prefaces import Preface, Prefaces
from ingress.proxy.transports import deliver_to


class PrefaceFactory(ServerFactory):
    """Gives each connection a preface, and then a protocol of *following*."""

    noisy = False

    def __init__(self, prefaces: Prefaces, following: IProtocolFactory) -> None:
        self._prefaces = prefaces
        self._following = following

    def buildProtocol(self, addr: IAddress | None) -> Protocol:
        return BufferedPreface(self._prefaces, self._following)

    def doStart(self) -> None:
        super().doStart()
        self._following.doStart()

    def doStop(self) -> None:
        self._following.doStop()
        super().doStop()


def _same(address: IAddress) -> IAddress:
    return address


@implementer(IHalfCloseableProtocol)
class BufferedPreface(Protocol):
    """The protocol of a connection until it is known which one it is to have."""

    transport: Any

    def __init__(self, prefaces: Prefaces, following: IProtocolFactory) -> None:
        self._prefaces = prefaces
        self._following = following
        self._preface: _KeptPreface | None = None

    def connectionMade(self) -> None:
        self._preface = _KeptPreface(self._prefaces, self, self._following)
        self._preface.begin()

    def leave(self) -> None:
        """The connection has its protocol."""
        self._preface = None

    def dataReceived(self, received: bytes) -> None:
        if self._preface is not None:
            self._preface.came(received)

    def readConnectionLost(self) -> None:
        """The peer sends no more, and it was not enough."""
        if self._preface is not None:
            self._preface.ended()

    def writeConnectionLost(self) -> None:
        """Never: nothing is written."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        preface, self._preface = self._preface, None
        if preface is not None:
            preface.ended()


class _KeptPreface(Preface):
    """A preface whose bytes are kept here."""

    def __init__(self, prefaces: Prefaces, protocol: BufferedPreface, following: IProtocolFactory) -> None:
        super().__init__(prefaces, protocol.transport.getPeer())
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
        self._give(tunnel.downstream)

    def close(self) -> None:
        """Close at once."""
        self._transport.abortConnection()

    def _give(self, following: Any) -> None:
        transport = self._transport
        # Of this very connection: another address than that of its socket.
        transport.getPeer = partial(_same, self.peer)
        if self.local is not None:
            transport.getHost = partial(_same, self.local)
        deliver_to(transport, following, self._protocol)
        self._protocol.leave()
        following.makeConnection(transport)
