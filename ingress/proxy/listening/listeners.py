"""Listeners: the addresses we accept on, plain or with TLS."""

import socket
from ipaddress import ip_address
from typing import Any, cast

from OpenSSL import SSL
from twisted.internet import tcp, unix
from twisted.internet.endpoints import serverFromString
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import (
    IListeningPort,
    IOpenSSLServerConnectionCreator,
    IProtocol,
    IProtocolFactory,
    IReactorTime,
)
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.protocol import ServerFactory, connectionDone
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.errors import StartError
from ingress.http.plain_request import ANSWER, is_plain_request
from ingress.model.network.listeners import backlog_of, interface_of, port_of, udp_port_of
from ingress.proxy.contract.transport import Receiver, is_ip_address
from ingress.proxy.transport.accepting import FamilyPort
from ingress.proxy.transport.handshake_queue import HandshakeQueue
from ingress.proxy.transport.path_port import PathPort
from ingress.proxy.transport.tls_layer import TLSLayer
from ingress.proxy.transport.twisted_protocol import TwistedProtocol
from ingress.tls.contexts import ServerContexts


def tls_factory(channels: ServerFactory, contexts: ServerContexts, clock: IReactorTime) -> "ServerTLSFactory":
    """Wrap what *channels* makes in TLS, without the layer that gathers small writes: ours are whole."""
    factory = ServerTLSFactory(contexts, False, channels, clock)
    factory.handshakes = HandshakeQueue(clock)
    factory.carrying = ServerTLSFactory(_Speechless(contexts), False, channels, clock)
    factory.carrying.handshakes = factory.handshakes
    return factory


@implementer(IOpenSSLServerConnectionCreator)
class _Speechless:
    """Makes connections in whose handshakes no protocol of ours is agreed on."""

    def __init__(self, contexts: ServerContexts) -> None:
        self._contexts = contexts

    def serverConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol | None) -> SSL.Connection:
        """Begin a connection."""
        return self._contexts.connection_on(None, speaks=False)


class _ServerTLS(TLSLayer):
    """The TLS layer of one downstream connection; its handshake waits for its turn."""

    factory: "ServerTLSFactory"
    _is_shaking = True
    _has_begun = False
    _held = b""
    """What came while others had their turn."""

    def makeConnection(self, transport: Any) -> None:
        self.factory.handshakes.begin(self)
        super().makeConnection(transport)

    def dataReceived(self, octets: bytes) -> None:
        if not self._is_shaking:
            super().dataReceived(octets)
            return
        self._held += octets
        if self.factory.handshakes.may_step(self):
            self._step()

    def park(self) -> None:
        """Receive nothing: it is the turn of others."""
        cast(Any, self.transport).pauseProducing()

    def unpark(self) -> None:
        """Take the step that had to wait."""
        cast(Any, self.transport).resumeProducing()
        self._step()

    def _step(self) -> None:
        octets, self._held = self._held, b""
        if not self._has_begun:
            self._has_begun = True
            if is_plain_request(octets):
                transport = cast(Any, self.transport)
                transport.write(ANSWER)
                transport.loseConnection()
                return
        super().dataReceived(octets)
        if self._handshakeDone and self._is_shaking:
            self._is_shaking = False
            self.factory.handshakes.end(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.factory.handshakes.end(self)
        super().connectionLost(reason)


class ServerTLSFactory(TLSMemoryBIOFactory):
    """Begins the TLS of downstream connections."""

    protocol = _ServerTLS
    noisy = False
    handshakes: HandshakeQueue
    carrying: "ServerTLSFactory"
    """The same, for connections that carry streams."""

    def carry(self, receiver: Receiver) -> IProtocol:
        """Begin the TLS of one connection whose content *receiver* gets."""
        return self.carrying.protocol(self.carrying, TwistedProtocol(receiver))


class _OwnPorts:
    """Stands for a reactor in ``serverFromString``: its ports of TCP are of *kind*, those of paths have no lock, all else is the
    reactor's own.

    Where *sock* is given, its port listens on that.  What *description* says of a backlog counts, or else what is usual for *kind*.
    """

    def __init__(
        self,
        reactor: PosixReactorBase,
        kind: type[FamilyPort],
        description: str,
        sock: socket.socket | None = None,
    ) -> None:
        self._reactor = reactor
        self._kind = kind
        said = backlog_of(description)
        self._backlog = kind.usual_backlog if said is None else said
        self._given = sock

    def __getattr__(self, name: str) -> object:
        return getattr(self._reactor, name)

    def listenTCP(
        self, port: int, factory: ServerFactory, backlog: int = 50, interface: str = ""
    ) -> IListeningPort:
        listening: Any
        if self._given is not None and self._given.family == socket.AF_UNIX:
            listening = _GivenUnixPort(b"", factory, backlog, reactor=self._reactor)
        else:
            if self._given is not None and self._given.family == socket.AF_INET6:
                # The addresses of peers are of the family that the port takes from this.
                interface = "::"
            # Twisted does not tell whether anybody has said one.
            listening = self._kind(port, factory, self._backlog, interface, self._reactor)
        if self._given is not None:
            listening._preexistingSocket = self._given
        listening.startListening()
        return cast(IListeningPort, listening)

    def listenUNIX(
        self, address: str, factory: ServerFactory, backlog: int = 50, mode: int = 0o666, wantPID: int = 0
    ) -> IListeningPort:
        listening = PathPort(cast(Any, address), factory, self._backlog, mode, self._reactor)
        listening.startListening()
        return cast(IListeningPort, listening)


class _GivenUnixPort(unix.Port):
    """A port on a socket of a path that somebody else has made, and takes away."""

    # Others may listen on the same socket: it is closed here, and not shut down for all.
    _shouldShutdown = False  # noqa: N815 - Twisted's name

    def startListening(self) -> None:
        given: Any = self._preexistingSocket
        cast(Any, self.factory).doStart()
        vars(self).update(socket=given, fileno=given.fileno, _preexistingSocket=None)
        self.connected = True
        self.numberAccepts = 100
        self.startReading()

    def connectionLost(self, reason: Failure) -> None:
        tcp.Port.connectionLost(self, reason)


async def listen(
    reactor: object,
    description: str,
    factory: IProtocolFactory,
    kind: type[FamilyPort] = FamilyPort,
    sock: socket.socket | None = None,
) -> IListeningPort:
    """Listen on *description*, on TCP by a port of *kind*; raises ``StartError`` naming it when that is impossible.

    Where *sock* is given it listens already, and is the port's own from now on.
    """
    if isinstance(reactor, PosixReactorBase):
        reactor = _OwnPorts(reactor, kind, description, sock)
    try:
        written = description if sock is None else _without_address(description)
        endpoint = serverFromString(cast(Any, reactor), written)
        return cast(IListeningPort, await endpoint.listen(factory))
    except CannotListenError as error:
        # Twisted's way here is in it, which holds it in turn, and with it whatever was to be served.
        error.__traceback__ = None
        raise StartError(f"cannot listen on {description}: {error.socketError}") from error
    except LookupError as error:
        raise StartError(f"cannot listen on {description}: no such socket was handed over") from error
    except (ValueError, TypeError, AttributeError, OverflowError, OSError) as error:
        # Twisted's readers of descriptions raise whatever bad arguments bring about.
        raise StartError(f"cannot listen on {description}: {error}") from error


def _without_address(description: str) -> str:
    """Return a description of the same kind of listener, for a socket that listens already, wherever that is."""
    return "haproxy:tcp:0" if description.startswith("haproxy:") else "tcp:0"


def bound_to(description: str) -> tuple[str, int] | None:
    """Return the address and the port, of TCP or UDP, that *description* listens on, or None where it names no port.

    The address is empty for all of this machine, and also where a name stands for it.
    """
    port = port_of(description) or udp_port_of(description)
    if not port:
        return None
    interface = interface_of(description)
    if interface == "localhost":
        return "127.0.0.1", port
    return ("" if not is_ip_address(interface) or ip_address(interface).is_unspecified else interface), port
