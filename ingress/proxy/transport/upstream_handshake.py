"""TLS to endpoints over Twisted's transports: a connection counts as made when it may be used.

Twisted tells a protocol that it is connected before the handshake has begun.  A request must
not leave before it is known who will read it.  So ``UpstreamHandshake`` stands in for the upstream
connection until the handshake is done and the certificate judged, and steps aside then.
Whatever goes wrong before that is a connection that could not be made.
"""

from collections.abc import Callable
from typing import Any

from OpenSSL import SSL
from twisted.internet.interfaces import (
    IDelayedCall,
    IHandshakeListener,
    IOpenSSLClientConnectionCreator,
    IReactorTime,
)
from twisted.internet.protocol import ClientFactory, Protocol, connectionDone
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.transport import TIMED_OUT, Receiver
from ingress.proxy.transport.tls_layer import TLSLayer
from ingress.proxy.transport.twisted_protocol import TwistedProtocol
from ingress.tls.upstream import UpstreamContexts


class _ClientTLS(TLSLayer):
    """The TLS layer of one upstream connection."""

    keep_session: Callable[[], None] | None = None
    """Called once, behind what is received first after the connection was judged."""

    def dataReceived(self, bytes: bytes) -> None:
        keep = self.keep_session
        super().dataReceived(bytes)
        if keep is not None:
            self.keep_session = None
            keep()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        super().connectionLost(reason)
        self.keep_session = None


@implementer(IOpenSSLClientConnectionCreator)
class _Begun:
    """Gives out a connection that was begun already, once: the connection knows the layer that knows this."""

    def __init__(self, connection: SSL.Connection) -> None:
        self._connection: SSL.Connection | None = connection

    def clientConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:
        connection, self._connection = self._connection, None
        assert connection is not None
        return connection


@implementer(IHandshakeListener)
class UpstreamHandshake(Protocol):
    """Holds *receiver* back until the connection to *endpoint* may be used, for *seconds* at most."""

    transport: Any

    def __init__(
        self,
        endpoint: Endpoint,
        receiver: Receiver,
        failed: Callable[[str], None],
        contexts: UpstreamContexts,
        connection: SSL.Connection,
        clock: IReactorTime,
        seconds: float,
    ) -> None:
        self._endpoint = endpoint
        self._receiver = receiver
        self._failed: Callable[[str], None] | None = failed
        self._contexts = contexts
        self._connection = connection
        self._timeout: IDelayedCall | None = clock.callLater(seconds, self._timed_out)

    def __repr__(self) -> str:
        return f"<UpstreamHandshake before {self._receiver!r}>"

    def give_up(self, why: str) -> None:
        """Tell once that there will be no connection."""
        failed, self._failed = self._failed, None
        self._stop_waiting()
        if failed is not None:
            failed(why)

    def _stop_waiting(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _timed_out(self) -> None:
        self._timeout = None
        if self.transport is not None:
            self.transport.abortConnection()
        self.give_up(TIMED_OUT)

    def connectionMade(self) -> None:
        if self._failed is None:
            # The deadline was a moment quicker: nobody waits for this any more.
            self.transport.abortConnection()

    def handshakeCompleted(self) -> None:
        """Judge who answered, and let the upstream connection through."""
        if self._failed is None:
            return
        fault = self._contexts.judge(self._endpoint, self._connection)
        transport = self.transport
        if fault:
            transport.abortConnection()
            self.give_up(fault)
            return
        self._stop_waiting()
        self._failed = None
        protocol = TwistedProtocol(self._receiver)
        transport.wrappedProtocol = protocol
        transport.keep_session = lambda: self._contexts.keep_session(self._endpoint, self._connection)
        protocol.makeConnection(transport)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._failed is not None:
            self.give_up(self._contexts.why_failed(self._connection, reason.value))


def secure_factory(factory: ClientFactory, connection: SSL.Connection, clock: IReactorTime) -> Any:
    """Put TLS below the protocol that *factory* makes, which is a ``UpstreamHandshake``."""
    wrapped = TLSMemoryBIOFactory(_Begun(connection), True, factory, clock)
    wrapped.protocol = _ClientTLS
    wrapped.noisy = False
    return wrapped
