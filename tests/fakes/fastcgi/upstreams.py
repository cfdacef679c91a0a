"""A responder of FastCGI on a real socket, as well or as badly behaved as it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IListeningPort
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from tests.fakes.fastcgi.records import OK, Asked, asked


class ResponderWire(Protocol):
    """One connection; *received* is all that came, *lost* why it ended."""

    transport: Any

    def __init__(self, responder: Responder) -> None:
        self.responder = responder
        self.received = b""
        self.answered = 0
        self.began = 0
        self.lost: BaseException | None = None

    @property
    def requests(self) -> list[Asked]:
        """All requests so far."""
        return asked(self.received)

    def connectionMade(self) -> None:
        self.responder.wires.append(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.lost = reason.value

    def dataReceived(self, data: bytes) -> None:
        self.received += data
        requests = self.requests
        while self.began < len(requests) and requests[self.began].has_params:
            self.began += 1
            self.responder.on_params(self)
        while self.answered < len(requests) and requests[self.answered].is_whole:
            request = requests[self.answered]
            self.answered += 1
            self.responder.on_request(self)
            if not request.keeps:
                self.transport.loseConnection()

    def write(self, octets: bytes) -> None:
        """Say *octets*."""
        self.transport.write(octets)


class Responder(Factory):
    """Listens on a free loopback port; ``on_params`` is called when all params came, ``on_request`` when all of a request did."""

    noisy = False

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self.wires: list[ResponderWire] = []
        self.on_params: Callable[[ResponderWire], object] = lambda wire: None
        self.on_request: Callable[[ResponderWire], object] = lambda wire: wire.write(OK)
        self.port: IListeningPort | None = None

    def buildProtocol(self, addr: object) -> ResponderWire:
        return ResponderWire(self)

    def listen(self) -> Endpoint:
        """Listen, and return where."""
        self.port = self._reactor.listenTCP(0, self, interface="127.0.0.1")
        assert self.port is not None
        host: Any = self.port.getHost()
        return Endpoint("127.0.0.1", host.port, LinkSettings(is_fastcgi=True))

    def stop(self) -> Deferred[None] | None:
        """Reset all connections and listen no more."""
        for wire in self.open_wires:
            wire.transport.abortConnection()
        port, self.port = self.port, None
        return None if port is None else port.stopListening()

    @property
    def open_wires(self) -> list[ResponderWire]:
        """The connections that are open now."""
        return [wire for wire in self.wires if wire.lost is None]
