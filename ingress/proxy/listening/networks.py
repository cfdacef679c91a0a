"""The two networks that the data path stands on: Twisted's transports, or the epoll set.

A network listens and connects; channel and upstream connection cannot tell which one
carries them.  The epoll set listens on ``tcp:``, ``tcp6:`` and ``systemd:`` descriptions;
everything else (UNIX sockets, ``haproxy:``) runs on Twisted's transports in any case.
"""

import socket
from collections.abc import Callable
from typing import Any, cast

from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort
from twisted.internet.protocol import ServerFactory
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ingress.model.network.listeners import backlog_of
from ingress.model.serving.limits import Timeouts
from ingress.model.upstream.backends import Endpoint
from ingress.process.lateness import Lateness
from ingress.process.yielding import YieldToTraffic
from ingress.proxy.contract.burst import Burst
from ingress.proxy.contract.transport import Receiver, is_ip_address
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.listening.buffered_start import Carrying, ConnectionStartFactory
from ingress.proxy.listening.connection_factories import ChannelFactory, StreamFactory
from ingress.proxy.listening.connection_starts import (
    NO_CONNECTION_STARTS,
    ConnectionStartRules,
    ConnectionStarts,
    connection_starts_of,
)
from ingress.proxy.listening.epoll_port import EpollPort
from ingress.proxy.listening.listeners import listen, tls_factory
from ingress.proxy.transport.accepting import BACKLOG, AcceptingSocket, NewTurn, join, keep_to_family
from ingress.proxy.transport.connecting import Connector
from ingress.proxy.transport.datagrams import ReactorSockets, Sockets
from ingress.proxy.transport.epoll.connecting import EpollConnecting
from ingress.proxy.transport.epoll.epoll_set import CAN_SPLICE, EpollSet, is_available
from ingress.proxy.transport.epoll.splice import why_no_splice
from ingress.proxy.transport.name_lookups import NameLookups
from ingress.proxy.transport.resolving import AddressRules, Dial, NamedConnecting
from ingress.proxy.transport.twisted_transports import DirectPort
from ingress.tls.contexts import ServerContexts
from ingress.tls.upstream import UpstreamContexts

_log = Logger()

CONNECT_SECONDS = Timeouts().connect_seconds

NewFactory = Callable[[ProxySite, bool], ChannelFactory | StreamFactory]
"""Makes the factory of a listener; told whether connections are TLS."""


class TwistedNetwork:
    """Twisted's transports, in any reactor."""

    def __init__(
        self,
        reactor: Any,
        rules: AddressRules | None = None,
        contexts: UpstreamContexts | None = None,
    ) -> None:
        """*rules* say which addresses tenants may choose, *contexts* how TLS is spoken to endpoints."""
        self._reactor = reactor
        self.rules = rules or AddressRules()
        self.names = NameLookups(reactor)
        self._upstream_contexts = contexts or UpstreamContexts()
        self._connector = Connector(reactor, self._upstream_contexts)
        self.new_turn: NewTurn | None = None
        """Where other processes listen on the same sockets, says for each which connections are ours."""
        self.lateness: Lateness | None = None
        """How late it is; None where nobody can say."""
        self.burst = Burst()
        """On where many events are told in one turn; never where nobody can say."""
        self.sockets: Sockets = ReactorSockets(reactor)
        """Who tells of datagrams."""

    def after_standing_still(self, call: Callable[[], None]) -> None:
        """Call when the process stood still, before what came meanwhile is told, where that is known."""

    def spare_memory(self, is_short: bool) -> None:
        """Keep less of what waits for slow peers while memory is short, where that can be decided."""

    def call_in_batch(self, call: Callable[[], None]) -> None:
        """Call so that what is written meanwhile is sent together, where that makes a difference."""
        call()

    def start(self) -> None:
        """Nothing: the reactor runs."""

    async def stop(self) -> None:
        """Nothing: the reactor is not ours."""

    def connect(
        self,
        endpoint: Endpoint,
        receiver: Receiver,
        failed: Callable[[str], None],
        seconds: float = CONNECT_SECONDS,
    ) -> None:
        """Connect *receiver* to *endpoint* within *seconds*, or call *failed* once with the reason."""
        link_settings = endpoint.link_settings
        if is_ip_address(endpoint.address) and (link_settings is None or not link_settings.is_external):
            self.dial(endpoint, endpoint.address, receiver, failed, seconds)
            return

        def dial(address: str, seconds: float, failed: Callable[[str], None]) -> None:
            self.dial(endpoint, address, receiver, failed, seconds)

        self.find_address(endpoint, dial, failed, seconds)

    def find_address(
        self, endpoint: Endpoint, dial: Dial, failed: Callable[[str], None], seconds: float
    ) -> None:
        """Find the addresses of *endpoint*, judge them where a tenant has chosen it, and *dial* one after the other within *seconds*.

        Where none of them will do *failed* is called once with the reason.
        """
        NamedConnecting(self._reactor, self.names, endpoint, dial, failed, seconds, self.rules).start()

    def dial(
        self,
        endpoint: Endpoint,
        address: str,
        receiver: Receiver,
        failed: Callable[[str], None],
        seconds: float,
    ) -> None:
        """Connect *receiver* to *endpoint* by this IP *address* of it, within *seconds*."""
        self._connector.connect(endpoint, address, receiver, failed, seconds)

    async def listen(
        self,
        description: str,
        site: ProxySite,
        contexts: ServerContexts | None,
        rules: ConnectionStartRules = NO_CONNECTION_STARTS,
        new_factory: NewFactory = ChannelFactory,
        sock: socket.socket | None = None,
    ) -> IListeningPort:
        """Listen on *description*, with TLS if *contexts* are given; raises ``StartError``.

        By *rules*, connections begin with a connection start; *new_factory* makes what makes their protocols.
        Where *sock* is given it listens already, as the description says, and is the listener's own from now on.
        """
        carrying: Carrying | None = None
        if contexts is None:
            factory: Any = new_factory(site, False)
        else:
            factory = tls_factory(new_factory(site, True), contexts, self._reactor)
            carrying = factory.carry
        connection_starts = connection_starts_of(site, rules, self.connect, contexts is not None)
        if connection_starts is not None:
            factory = ConnectionStartFactory(connection_starts, factory, carrying)
        port = await listen(self._reactor, description, factory, DirectPort, sock)
        return join(site.connections.limit, port, self.new_turn)


class EpollNetwork(TwistedNetwork):
    """The epoll set, and Twisted's transports for what it does not do."""

    def __init__(
        self,
        reactor: Any,
        can_splice: bool = CAN_SPLICE,
        rules: AddressRules | None = None,
        yielding: YieldToTraffic | None = None,
        contexts: UpstreamContexts | None = None,
    ) -> None:
        super().__init__(reactor, rules, contexts)
        self.epoll_set = EpollSet(reactor, can_splice, yielding)
        self.sockets = self.epoll_set
        self.lateness = self.epoll_set.lateness
        self.burst = self.epoll_set.burst
        self.why_no_splice = ""
        """The system's reason why bodies are copied, which is told at the start; empty where there is none."""

    def after_standing_still(self, call: Callable[[], None]) -> None:
        """Have the epoll set call."""
        self.epoll_set.stood_still = call

    def spare_memory(self, is_short: bool) -> None:
        """Keep no more than one read of what waits for each slow peer while memory is short."""
        self.epoll_set.spares_memory = is_short

    def call_in_batch(self, call: Callable[[], None]) -> None:
        """Call as if for an event of the epoll set."""
        self.epoll_set.call_in_batch(call)

    def start(self) -> None:
        """Let the epoll set join the reactor."""
        if self.why_no_splice:
            _log.warn(
                "Large bodies are copied, as splice(2) is of no use here: {why}", why=self.why_no_splice
            )
        self.epoll_set.start()

    async def stop(self) -> None:
        """Take the epoll set out of the reactor, once all that was closed has been told of its end."""
        await deferLater(self._reactor, 0)
        self.epoll_set.stop()

    def dial(
        self,
        endpoint: Endpoint,
        address: str,
        receiver: Receiver,
        failed: Callable[[str], None],
        seconds: float,
    ) -> None:
        """Connect *receiver* to *endpoint* by this IP *address* of it, within *seconds*."""
        EpollConnecting(self.epoll_set, endpoint, address, receiver, failed, seconds, self._upstream_contexts)

    async def listen(
        self,
        description: str,
        site: ProxySite,
        contexts: ServerContexts | None,
        rules: ConnectionStartRules = NO_CONNECTION_STARTS,
        new_factory: NewFactory = ChannelFactory,
        sock: socket.socket | None = None,
    ) -> IListeningPort:
        """Listen on *description*, with TLS if *contexts* are given; raises ``StartError``.

        By *rules*, connections begin with a connection start; *new_factory* makes what makes their protocols.
        Where *sock* is given it listens already, as the description says, and is the listener's own from now on.
        """
        is_of_ip = sock is None or sock.family is not socket.AF_UNIX
        if not description.startswith(("tcp:", "tcp6:", "systemd:")) or not is_of_ip:
            return await super().listen(description, site, contexts, rules, new_factory, sock)
        factory = new_factory(site, contexts is not None)
        secure = contexts.connection_on if contexts is not None else None
        connection_starts = connection_starts_of(site, rules, self.connect, contexts is not None)
        listening = _EpollListening(
            self._reactor,
            self.epoll_set,
            factory.build,
            secure,
            connection_starts,
            sock,
            backlog_of(description),
        )
        port = await listen(listening, description, factory, sock=sock)
        return join(site.connections.limit, port, self.new_turn)


class _EpollListening:
    """Stands for the reactor in ``serverFromString``: what it is told to listen on, the epoll set does."""

    def __init__(
        self,
        reactor: Any,
        epoll_set: EpollSet,
        build: Callable[[], Receiver],
        secure: Any,
        connection_starts: ConnectionStarts | None,
        sock: socket.socket | None,
        backlog: int | None,
    ) -> None:
        """Where *sock* is given, that is what is listened on; *backlog* is None where nobody says one."""
        self._reactor = reactor
        self._epoll_set = epoll_set
        self._build = build
        self._secure = secure
        self._connection_starts = connection_starts
        self._given = sock
        self._backlog = BACKLOG if backlog is None else backlog

    def __getattr__(self, name: str) -> object:
        return getattr(self._reactor, name)

    def listenTCP(
        self, port: int, factory: ServerFactory, backlog: int = 50, interface: str = ""
    ) -> IListeningPort:
        if self._given is not None:
            return self._listen(self._given)
        sock = socket.socket(socket.AF_INET6 if ":" in interface else socket.AF_INET, socket.SOCK_STREAM)
        try:
            keep_to_family(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((interface, port))
            return self._listen(sock)
        except OSError as problem:
            sock.close()
            raise CannotListenError(interface, port, problem) from problem

    def _listen(self, sock: socket.socket) -> IListeningPort:
        accepting = AcceptingSocket(sock)
        port = EpollPort(
            self._epoll_set, accepting, self._build, self._secure, self._connection_starts, self._backlog
        )
        try:
            port.startListening()
        except OSError:
            accepting.close()
            raise
        return cast(IListeningPort, port)


def network_for(
    reactor: Any,
    use_epoll: bool,
    rules: AddressRules | None = None,
    yielding: YieldToTraffic | None = None,
    contexts: UpstreamContexts | None = None,
) -> TwistedNetwork:
    """Return the epoll set where it is wanted and this system has it, else Twisted's transports.

    Only of the epoll set it is known when it has something to do, and so the *yielding*.
    """
    if use_epoll and is_available(reactor):
        why_not = why_no_splice()
        network = EpollNetwork(reactor, not why_not, rules, yielding, contexts)
        network.why_no_splice = why_not
        return network
    return TwistedNetwork(reactor, rules, contexts)
