"""The two grounds that the data path stands on: Twisted's transports, or the plane.

A ground listens and connects; channel and upstream connection cannot tell which one
carries them.  The plane takes ``tcp:``, ``tcp6:`` and ``systemd:`` descriptions and IP
addresses; everything else (UNIX sockets, ``haproxy:``, names that must be resolved)
runs on Twisted's transports in any case.
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
from ingress.proxy.limits import CONNECT_SECONDS
from ingress.proxy.listeners import listen, tls_factory
from ingress.proxy.plane.connecting import PlaneConnecting
from ingress.proxy.plane.plane import CAN_SPLICE, Plane, is_available
from ingress.proxy.plane.port import PlanePort
from ingress.proxy.site import ProxySite
from ingress.proxy.transports import Connector, DirectListening, is_ip_address
from ingress.tls.contexts import ServerContexts


class TwistedGround:
    """Twisted's transports, in any reactor."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._connector = Connector(reactor, CONNECT_SECONDS)

    def start(self) -> None:
        """Nothing: the reactor runs."""

    async def stop(self) -> None:
        """Nothing: the reactor is not ours."""

    def connect(self, endpoint: Endpoint, protocol: Protocol, failed: Callable[[str], None]) -> None:
        """Connect *protocol* to *endpoint*, or call *failed* once with the reason."""
        self._connector.connect(endpoint, protocol, failed)

    async def listen(
        self, description: str, site: ProxySite, contexts: ServerContexts | None
    ) -> IListeningPort:
        """Listen on *description*, with TLS if *contexts* are given; raises ``StartError``."""
        if contexts is None:
            factory: Any = site.factory(secure=False)
        else:
            factory = tls_factory(site, contexts, self._reactor)
        return await listen(DirectListening(self._reactor), description, factory)


class PlaneGround(TwistedGround):
    """The plane, and Twisted's transports for what it does not do."""

    def __init__(self, reactor: Any, can_splice: bool = CAN_SPLICE) -> None:
        super().__init__(reactor)
        self._plane = Plane(reactor, can_splice)

    def start(self) -> None:
        """Let the plane join the reactor."""
        self._plane.start()

    async def stop(self) -> None:
        """Take the plane out of the reactor, once all that was closed has been told of its end."""
        await deferLater(self._reactor, 0)
        self._plane.stop()

    def connect(self, endpoint: Endpoint, protocol: Protocol, failed: Callable[[str], None]) -> None:
        """Connect *protocol* to *endpoint*, or call *failed* once with the reason."""
        if is_ip_address(endpoint.address):
            PlaneConnecting(self._plane, endpoint, protocol, failed, CONNECT_SECONDS)
        else:
            super().connect(endpoint, protocol, failed)

    async def listen(
        self, description: str, site: ProxySite, contexts: ServerContexts | None
    ) -> IListeningPort:
        """Listen on *description*, with TLS if *contexts* are given; raises ``StartError``."""
        if not description.startswith(("tcp:", "tcp6:", "systemd:")) or "domain=UNIX" in description:
            return await super().listen(description, site, contexts)
        factory = site.factory(secure=contexts is not None)
        secure = contexts.connection_on if contexts is not None else None
        return await listen(
            _PlaneListening(self._reactor, self._plane, factory.build, secure), description, factory
        )


class _PlaneListening:
    """Stands for the reactor in ``serverFromString``: what it is told to listen on, the plane does."""

    def __init__(self, reactor: Any, plane: Plane, build: Callable[[], Protocol], secure: Any) -> None:
        self._reactor = reactor
        self._plane = plane
        self._build = build
        self._secure = secure

    def __getattr__(self, name: str) -> object:
        return getattr(self._reactor, name)

    def listenTCP(
        self, port: int, factory: ServerFactory, backlog: int = 50, interface: str = ""
    ) -> IListeningPort:
        sock = socket.socket(socket.AF_INET6 if ":" in interface else socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((interface, port))
            return self._listen(sock)
        except OSError as problem:
            sock.close()
            raise CannotListenError(interface, port, problem) from problem

    def adoptStreamPort(self, fileno: int, family: int, factory: ServerFactory) -> IListeningPort:
        return self._listen(socket.socket(family, socket.SOCK_STREAM, fileno=os.dup(fileno)))

    def _listen(self, sock: socket.socket) -> IListeningPort:
        port = PlanePort(self._plane, sock, self._build, self._secure)
        port.startListening()
        return cast(IListeningPort, port)


def ground_for(reactor: Any, use_plane: bool) -> TwistedGround:
    """Return the plane where it is wanted and this system has it, else Twisted's transports."""
    return PlaneGround(reactor) if use_plane and is_available(reactor) else TwistedGround(reactor)
