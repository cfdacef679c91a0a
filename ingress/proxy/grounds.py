"""The two grounds that the data path stands on: Twisted's transports, or the plane.

A ground listens and connects; channel and upstream connection cannot tell which one
carries them.  The plane listens on ``tcp:``, ``tcp6:`` and ``systemd:`` descriptions;
everything else (UNIX sockets, ``haproxy:``) runs on Twisted's transports in any case.
"""

import os
import socket
from collections.abc import Callable
from typing import Any, cast

from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort
from twisted.internet.protocol import Protocol, ServerFactory
from twisted.internet.task import deferLater

from ingress.model.backends import Endpoint
from ingress.model.limits import Timeouts
from ingress.proxy.accepting import join, keep_to_family
from ingress.proxy.buffered_preface import PrefaceFactory
from ingress.proxy.connecting import Connector
from ingress.proxy.listeners import listen, tls_factory
from ingress.proxy.plane.connecting import PlaneConnecting
from ingress.proxy.plane.plane import CAN_SPLICE, Plane, is_available
from ingress.proxy.plane.port import PlanePort
from ingress.proxy.prefaces import NO_PREFACES, PrefaceRules, Prefaces, prefaces_of
from ingress.proxy.resolving import AddressRules, NamedConnecting
from ingress.proxy.site import ProxySite
from ingress.proxy.transports import DirectPort, is_ip_address
from ingress.right_of_way import RightOfWay
from ingress.tls.contexts import ServerContexts
from ingress.tls.upstream import UpstreamContexts

CONNECT_SECONDS = Timeouts().connect_seconds


class TwistedGround:
    """Twisted's transports, in any reactor."""

    def __init__(
        self,
        reactor: Any,
        rules: AddressRules | None = None,
        contexts: UpstreamContexts | None = None,
    ) -> None:
        """*rules* say which addresses tenants may choose, *contexts* how TLS is spoken to endpoints."""
        self._reactor = reactor
        self._rules = rules or AddressRules()
        self._upstream_contexts = contexts or UpstreamContexts()
        self._connector = Connector(reactor, self._upstream_contexts)

    def start(self) -> None:
        """Nothing: the reactor runs."""

    async def stop(self) -> None:
        """Nothing: the reactor is not ours."""

    def connect(
        self,
        endpoint: Endpoint,
        protocol: Protocol,
        failed: Callable[[str], None],
        seconds: float = CONNECT_SECONDS,
    ) -> None:
        """Connect *protocol* to *endpoint* within *seconds*, or call *failed* once with the reason."""
        terms = endpoint.terms
        if is_ip_address(endpoint.address) and (terms is None or not terms.is_external):
            self.dial(endpoint, endpoint.address, protocol, failed, seconds)
            return

        def dial(address: str, seconds: float, failed: Callable[[str], None]) -> None:
            self.dial(endpoint, address, protocol, failed, seconds)

        NamedConnecting(self._reactor, endpoint, dial, failed, seconds, self._rules).start()

    def dial(
        self,
        endpoint: Endpoint,
        address: str,
        protocol: Protocol,
        failed: Callable[[str], None],
        seconds: float,
    ) -> None:
        """Connect *protocol* to *endpoint* by this IP *address* of it, within *seconds*."""
        self._connector.connect(endpoint, address, protocol, failed, seconds)

    async def listen(
        self,
        description: str,
        site: ProxySite,
        contexts: ServerContexts | None,
        rules: PrefaceRules = NO_PREFACES,
    ) -> IListeningPort:
        """Listen on *description*, with TLS if *contexts* are given; raises ``StartError``.

        By *rules*, connections begin with a preface.
        """
        if contexts is None:
            factory: Any = site.factory(secure=False)
        else:
            factory = tls_factory(site, contexts, self._reactor)
        prefaces = prefaces_of(site, rules, self.connect, contexts is not None)
        if prefaces is not None:
            factory = PrefaceFactory(prefaces, factory)
        return join(site.crowd, await listen(self._reactor, description, factory, DirectPort))


class PlaneGround(TwistedGround):
    """The plane, and Twisted's transports for what it does not do."""

    def __init__(
        self,
        reactor: Any,
        can_splice: bool = CAN_SPLICE,
        rules: AddressRules | None = None,
        right_of_way: RightOfWay | None = None,
        contexts: UpstreamContexts | None = None,
    ) -> None:
        super().__init__(reactor, rules, contexts)
        self._plane = Plane(reactor, can_splice, right_of_way)

    def start(self) -> None:
        """Let the plane join the reactor."""
        self._plane.start()

    async def stop(self) -> None:
        """Take the plane out of the reactor, once all that was closed has been told of its end."""
        await deferLater(self._reactor, 0)
        self._plane.stop()

    def dial(
        self,
        endpoint: Endpoint,
        address: str,
        protocol: Protocol,
        failed: Callable[[str], None],
        seconds: float,
    ) -> None:
        """Connect *protocol* to *endpoint* by this IP *address* of it, within *seconds*."""
        PlaneConnecting(self._plane, endpoint, address, protocol, failed, seconds, self._upstream_contexts)

    async def listen(
        self,
        description: str,
        site: ProxySite,
        contexts: ServerContexts | None,
        rules: PrefaceRules = NO_PREFACES,
    ) -> IListeningPort:
        """Listen on *description*, with TLS if *contexts* are given; raises ``StartError``.

        By *rules*, connections begin with a preface.
        """
        if not description.startswith(("tcp:", "tcp6:", "systemd:")) or "domain=UNIX" in description:
            return await super().listen(description, site, contexts, rules)
        factory = site.factory(secure=contexts is not None)
        secure = contexts.connection_on if contexts is not None else None
        prefaces = prefaces_of(site, rules, self.connect, contexts is not None)
        listening = _PlaneListening(self._reactor, self._plane, factory.build, secure, prefaces)
        return join(site.crowd, await listen(listening, description, factory))


class _PlaneListening:
    """Stands for the reactor in ``serverFromString``: what it is told to listen on, the plane does."""

    def __init__(
        self,
        reactor: Any,
        plane: Plane,
        build: Callable[[], Protocol],
        secure: Any,
        prefaces: Prefaces | None,
    ) -> None:
        self._reactor = reactor
        self._plane = plane
        self._build = build
        self._secure = secure
        self._prefaces = prefaces

    def __getattr__(self, name: str) -> object:
        return getattr(self._reactor, name)

    def listenTCP(
        self, port: int, factory: ServerFactory, backlog: int = 50, interface: str = ""
    ) -> IListeningPort:
        sock = socket.socket(socket.AF_INET6 if ":" in interface else socket.AF_INET, socket.SOCK_STREAM)
        try:
            keep_to_family(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((interface, port))
            return self._listen(sock)
        except OSError as problem:
            sock.close()
            raise CannotListenError(interface, port, problem) from problem

    def adoptStreamPort(self, fileno: int, family: int, factory: ServerFactory) -> IListeningPort:
        return self._listen(socket.socket(family, socket.SOCK_STREAM, fileno=os.dup(fileno)))

    def _listen(self, sock: socket.socket) -> IListeningPort:
        port = PlanePort(self._plane, sock, self._build, self._secure, self._prefaces)
        port.startListening()
        return cast(IListeningPort, port)


def ground_for(
    reactor: Any,
    use_plane: bool,
    rules: AddressRules | None = None,
    right_of_way: RightOfWay | None = None,
    contexts: UpstreamContexts | None = None,
) -> TwistedGround:
    """Return the plane where it is wanted and this system has it, else Twisted's transports.

    Only of the plane it is known when it has something to do, and so the *right_of_way*.
    """
    if use_plane and is_available(reactor):
        return PlaneGround(reactor, rules=rules, right_of_way=right_of_way, contexts=contexts)
    return TwistedGround(reactor, rules, contexts)
