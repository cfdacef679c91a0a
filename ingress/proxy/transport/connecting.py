"""Connections to upstream over Twisted's transports: TCP, and TLS where an endpoint's settings say so.

The epoll set has its own (``ingress.proxy.transport.epoll.connecting``), with the same behavior.
"""

from collections.abc import Callable
from typing import Any

from twisted.internet import error, tcp
from twisted.internet.interfaces import IAddress
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.protocol import ClientFactory, Protocol
from twisted.python.failure import Failure

from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.transport import REFUSED, TIMED_OUT, Receiver
from ingress.proxy.transport.twisted_protocol import TwistedProtocol
from ingress.proxy.transport.twisted_transports import DirectClient
from ingress.proxy.transport.upstream_handshake import UpstreamHandshake, secure_factory
from ingress.tls.upstream import UpstreamContexts


class _OneConnection(ClientFactory):
    """Hands out one protocol or reports why it did not connect, and knows neither afterwards.

    The transport keeps the factory, so what that kept would be a cycle.
    """

    noisy = False

    def __init__(self, protocol: Protocol, failed: Callable[[str], None]) -> None:
        self._protocol: Protocol | None = protocol
        self._failed: Callable[[str], None] | None = failed

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:
        protocol, self._protocol, self._failed = self._protocol, None, None
        return protocol

    def clientConnectionFailed(self, connector: object, reason: Failure) -> None:
        failed, self._protocol, self._failed = self._failed, None, None
        if failed is not None:
            failed(_why(reason))


class _DirectConnector(tcp.Connector):
    """Twisted's connector, making a ``DirectClient``."""

    def _makeTransport(self) -> tcp.Client:
        return DirectClient(self.host, self.port, self.bindAddress, self, self.reactor)

    def connectionLost(self, reason: Failure) -> None:
        super().connectionLost(reason)
        # It knows its connector, too.
        self.transport = None


def _why(reason: Failure) -> str:
    if reason.check(error.TimeoutError, error.TCPTimedOutError):
        return TIMED_OUT
    if reason.check(error.ConnectionRefusedError):
        return REFUSED
    return reason.getErrorMessage() or repr(reason.value)


class Connector:
    """Makes upstream connections on *reactor*; those with TLS as *contexts* begin and judge them."""

    def __init__(self, reactor: Any, contexts: UpstreamContexts) -> None:
        self._reactor = reactor
        self._contexts = contexts

    def connect(
        self,
        endpoint: Endpoint,
        address: str,
        receiver: Receiver,
        failed: Callable[[str], None],
        seconds: float,
    ) -> None:
        """Connect *receiver* to *endpoint* by its IP *address* within *seconds*, or call *failed* once with why not."""
        factory: ClientFactory
        if endpoint.link_settings is None or endpoint.link_settings.tls is None:
            factory = _OneConnection(TwistedProtocol(receiver), failed)
        else:
            try:
                connection = self._contexts.begin(endpoint)
            except ValueError as error:
                failed(str(error))
                return
            gate = UpstreamHandshake(
                endpoint, receiver, failed, self._contexts, connection, self._reactor, seconds
            )
            factory = secure_factory(_OneConnection(gate, gate.give_up), connection, self._reactor)
        if isinstance(self._reactor, PosixReactorBase):
            _DirectConnector(address, endpoint.port, factory, seconds, None, self._reactor).connect()
        else:
            self._reactor.connectTCP(address, endpoint.port, factory, seconds)
