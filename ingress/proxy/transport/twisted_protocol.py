"""Twisted's transports as ``contract.transport`` has them: where its interfaces and base classes meet a ``Receiver``.

Nothing else of the data path knows Twisted's ``Protocol`` or an interface of zope's.  One of Twisted's transports gets a
``TwistedProtocol(receiver)`` for its protocol, and the receiver a ``TwistedTransport`` for its transport::

    tcp.Connection ──calls──▶ TwistedProtocol ──calls──▶ receiver
    (or a layer of TLS)                                     │
          ◀──────────────── TwistedTransport ◀──────calls───┘

What Twisted's transports do not know, such as moving bytes in the kernel, has its answer here.
"""

import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from OpenSSL import SSL
from twisted.internet import main, tcp
from twisted.internet.interfaces import (
    IAddress,
    IHalfCloseableProtocol,
    IHandshakeListener,
    IProtocol,
    IPushProducer,
)
from twisted.internet.protocol import Protocol, connectionDone
from twisted.protocols.policies import ProtocolWrapper
from twisted.protocols.tls import TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.proxy.contract.addresses import host_of, port_of
from ingress.proxy.contract.transport import NOBODY, Borrower, CopyTaker, KernelCopy, Receiver
from ingress.proxy.transport.socket_facts import has_ended, in_kernel, is_quiet
from ingress.tls.handshake import awaits_hello

_DONE = Failure(main.CONNECTION_DONE)


def _same(address: IAddress) -> IAddress:
    return address


def _nothing(octets: bytes = b"") -> None:
    """What is asked of a connection that is over."""


def _holds_more(tls: SSL.Connection) -> bool:
    """Whether Twisted, which hands on record by record, has more for *tls* than was handed on, be it the end."""
    try:
        tls.recv(1, socket.MSG_PEEK)
    except SSL.WantReadError:
        return False
    except SSL.Error:
        return True
    return True


@implementer(IHalfCloseableProtocol, IHandshakeListener, IPushProducer)
class TwistedProtocol(Protocol):
    """Tells *receiver* what one of Twisted's transports tells."""

    transport: Any

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self._told: TwistedTransport | None = None
        """What the receiver has, while there is a connection."""

    def __repr__(self) -> str:
        return f"<TwistedProtocol of {self.receiver!r}>"

    def connectionMade(self) -> None:
        self.transport.registerProducer(self, True)
        self._told = TwistedTransport(self.transport, self)
        self.receiver.makeConnection(self._told)

    def leave(self) -> None:
        """Somebody else has the connection."""
        self.receiver = NOBODY
        self._told = None

    def handshakeCompleted(self) -> None:
        self.receiver.handshakeCompleted()

    def dataReceived(self, data: bytes) -> None:
        self.receiver.dataReceived(data)

    def readConnectionLost(self) -> None:
        """The peer has ended its side, which is the end of all for most."""
        if self.receiver.half_closes:
            self.receiver.readConnectionLost()
        else:
            # What Twisted's transports do with protocols that know no half-close.
            self.transport.connectionLost(_DONE)

    def writeConnectionLost(self) -> None:
        """Our side is shut down, as was asked."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        receiver, self.receiver = self.receiver, NOBODY
        told, self._told = self._told, None
        if told is not None:
            told.end()
        receiver.connectionLost(reason)

    def pauseProducing(self) -> None:
        """The transport's buffer is full."""
        self.receiver.pauseProducing()

    def resumeProducing(self) -> None:
        """The transport's buffer has room again."""
        self.receiver.resumeProducing()

    def stopProducing(self) -> None:
        """The transport is gone; ``connectionLost`` says so too."""


class TwistedTransport:
    """One of Twisted's transports: plain, or a layer of TLS above another one."""

    def __init__(self, transport: Any, protocol: TwistedProtocol) -> None:
        self._transport = transport
        self._protocol = protocol
        self._is_secure = isinstance(transport, TLSMemoryBIOProtocol)
        below = transport
        while isinstance(below, ProtocolWrapper):
            below = below.transport
        self._connection: Any = below if isinstance(below, tcp.Connection) else None
        """What has the socket; None for a transport that has none."""
        self._is_over = self._is_shutting = False
        # As they are, without a call more for each use.
        self.write: Callable[[bytes], None] = transport.write
        self.pauseProducing: Callable[[], None] = transport.pauseProducing
        self.resumeProducing: Callable[[], None] = transport.resumeProducing
        self.abortConnection: Callable[[], None] = transport.abortConnection

    def __repr__(self) -> str:
        return f"<TwistedTransport of {self._protocol.receiver!r}>"

    def end(self) -> None:
        """The connection is over: do nothing from now on, where Twisted's layer of TLS would raise."""
        self._is_over = True
        self.write = self.pauseProducing = self.resumeProducing = self.abortConnection = _nothing

    def deliver_to(self, receiver: Receiver) -> None:
        """Tell *receiver* whatever happens from now on."""
        self._protocol.receiver = receiver

    def give_to(self, protocol: IProtocol) -> None:
        """Have *protocol*, one of Twisted's own, go on with what is below; this and its receiver are out of it."""
        transport = self._transport
        self._protocol.leave()
        transport.unregisterProducer()
        # A transport that wraps another one, as Twisted's for ``haproxy:`` does, calls its protocol so.
        if isinstance(transport, ProtocolWrapper):
            transport.wrappedProtocol = protocol
        else:
            transport.protocol = protocol
        protocol.makeConnection(transport)

    def say_addresses(self, peer: IAddress, local: IAddress | None) -> None:
        """Say from now on, to whoever asks, that these are the addresses of the connection."""
        self._transport.getPeer = partial(_same, peer)
        if local is not None:
            self._transport.getHost = partial(_same, local)

    # Sending

    def write_at_once(self, octets: memoryview) -> None:
        """Send a copy of *octets*."""
        self.write(bytes(octets))

    def lend_to(self, borrower: Borrower) -> None:
        """Nothing: Twisted has made objects of what comes."""

    def gather_writes(self) -> None:
        """Nothing: what is written is sent at once."""

    def call_in_batch(self, call: Callable[[], None]) -> None:
        """Call: what is written is sent at once, and not together."""
        call()

    @property
    def unsent(self) -> int:
        """Bytes that wait for the peer, here, in the layer of TLS or in the kernel; 0 once the kernel has all."""
        return self.untaken if self.queued else 0

    @property
    def untaken(self) -> int:
        """Bytes that the peer did not acknowledge, here, in the layer of TLS or in the kernel."""
        waiting = self.queued
        connection = self._connection
        if connection is None or not connection.connected:
            return waiting
        return waiting + in_kernel(connection.socket)

    @property
    def queued(self) -> int:
        """Bytes that wait in this process."""
        waiting = sum(map(len, self._transport._appSendBuffer)) if self._is_secure else 0
        connection = self._connection
        if connection is not None:
            waiting += len(connection.dataBuffer) - connection.offset + connection._tempDataLen
        return waiting

    def loseConnection(self) -> None:
        """Send what waits, then close."""
        if not self._is_over:
            # With a producer, Twisted's transports would wait for what that has still to say.
            self._transport.unregisterProducer()
            self._transport.loseConnection()

    def loseWriteConnection(self) -> None:
        """Send what waits, then end our side only."""
        if not self._is_over and not self._is_shutting:
            # What is written or asked then, Twisted's transports would try to send.
            self._is_shutting, self.write = True, _nothing
            self._transport.unregisterProducer()
            # Twisted's layer of TLS waits for the goodbye of the peer, and is told meanwhile what that says.
            end = self._transport.loseConnection if self._is_secure else self._transport.loseWriteConnection
            end()

    # Receiving

    @property
    def has_left(self) -> bool:
        """Whether the peer has ended its side, which Twisted's transports do not tell while they do not read."""
        connection = self._connection
        return connection is not None and connection.connected and has_ended(connection.socket)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has come that was not read yet, neither bytes nor an end."""
        tls = self.tls
        if tls is not None and not awaits_hello(tls) and _holds_more(tls):
            return False
        connection = self._connection
        return connection is None or (connection.connected and is_quiet(connection.socket))

    @property
    def has_said_nothing(self) -> bool:
        """Whether not a byte has come, or over TLS not a whole hello."""
        tls = self.tls
        return (tls is None or awaits_hello(tls)) and self.is_quiet

    # In the kernel

    def splice_from(self, copy: KernelCopy) -> bool:
        """Say that these transports cannot."""
        return False

    def copy_into(self, copy: KernelCopy, taker: CopyTaker) -> None:
        """Nothing: these transports cannot."""

    is_held_up = False

    def watch_delivery(self) -> None:
        """Nothing: what the peer has taken is not known here."""

    # The socket

    def fileno(self) -> int:
        """The number of the socket; -1 if there is none."""
        return -1 if self._connection is None else int(self._connection.fileno())

    @property
    def tls(self) -> SSL.Connection | None:
        """OpenSSL's side of the layer of TLS."""
        found = self._transport.getHandle() if self._is_secure else None
        return found if isinstance(found, SSL.Connection) else None

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Set TCP_NODELAY."""
        self._transport.setTcpNoDelay(enabled)

    def setTcpKeepAlive(self, enabled: bool) -> None:
        """Set SO_KEEPALIVE."""
        self._transport.setTcpKeepAlive(enabled)

    def getPeer(self) -> IAddress:
        """The address of the other side."""
        address: IAddress = self._transport.getPeer()
        return address

    @property
    def peer_host(self) -> str:
        """The host of the other side."""
        return host_of(self.getPeer())

    @property
    def local_port(self) -> int:
        """The port of our own side."""
        return port_of(self.getHost())

    def getHost(self) -> IAddress:
        """Our own address."""
        address: IAddress = self._transport.getHost()
        return address
