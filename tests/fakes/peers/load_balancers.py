"""A load balancer in front of several controllers: it knows of them what their health checks say, and learns it late.

It carries TCP and reads nothing.  A target gets new connections from so many good checks on, until so many bad ones, and whatever
is decided holds a while later, as where a program has to be told first.  A target that cannot be connected to costs its client the connection.
"""

from __future__ import annotations

from typing import Any

from attrs import define, field, frozen
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.error import ConnectError, ConnectionDone
from twisted.internet.interfaces import IDelayedCall, IListeningPort
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from tests.fakes.connecting import connect_protocol

LOOPBACK = "127.0.0.1"


@frozen
class Checks:
    """How health is checked: every *period* seconds; so many failures, or successes, in a row count, *lag* seconds later."""

    period: float = 0.1
    failures: int = 3
    successes: int = 2
    lag: float = 0.3

    @property
    def seconds_to_turn_away(self) -> float:
        """How long new connections go on to a target that says that it is not ready, at most."""
        # The first bad check comes up to a period late, and may take one to be answered.
        return (self.failures + 1) * self.period + self.lag


@define(eq=False)
class Target:
    """A controller: where it serves, by the names of ports, and where it is asked for its health."""

    ports: dict[str, int]
    health_port: int
    is_in: bool = False
    """Whether it gets new connections."""
    carried: int = 0
    """How many it got."""
    row: int = 0
    """Checks of the same result in a row; those that failed count downwards."""
    connections: set[Half] = field(factory=set)


class Half(Protocol):
    """One side of a connection that is carried."""

    transport: Any

    def __init__(self) -> None:
        self.other: Half | None = None
        self.held = b""
        self.target: Target | None = None

    def dataReceived(self, data: bytes) -> None:
        if self.other is None:
            self.held += data
        else:
            self.other.transport.write(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self.target is not None:
            self.target.connections.discard(self)
        if self.other is not None:
            if reason.check(ConnectionDone):
                self.other.transport.loseConnection()
            else:
                self.other.transport.abortConnection()


class _Front(Factory):
    noisy = False

    def __init__(self, balancer: LoadBalancer, name: str) -> None:
        self._balancer = balancer
        self._name = name

    def buildProtocol(self, addr: object) -> Half:
        near = Half()
        self._balancer.reactor.callLater(0, self._balancer.carry, near, self._name)
        return near


class LoadBalancer:
    """Shares new connections evenly among the targets that are in; *cut_seconds* after one is out its connections are cut, if ever."""

    def __init__(self, reactor: Any, checks: Checks, cut_seconds: float | None = None) -> None:
        self.reactor = reactor
        self.checks = checks
        self.cut_seconds = cut_seconds
        self.targets: list[Target] = []
        self.failed = 0
        """Connections for which there was no target, or that it did not take."""
        self._turn = 0
        self._fronts: list[IListeningPort] = []
        self._calls: set[IDelayedCall] = set()
        self._is_stopped = False

    def listen(self, name: str) -> int:
        """Listen for what goes to the ports of this *name*; return the port."""
        front = self.reactor.listenTCP(0, _Front(self, name), interface=LOOPBACK)
        self._fronts.append(front)
        port: int = front.getHost().port
        return port

    def add(self, target: Target) -> None:
        """Check *target* from now on."""
        self.targets.append(target)
        Deferred.fromCoroutine(self._check(target))

    def remove(self, target: Target) -> None:
        """Check *target* no more, and send nothing there."""
        self.targets.remove(target)

    async def stop(self) -> None:
        """Carry nothing any more."""
        self._is_stopped = True
        for front in self._fronts:
            await front.stopListening()  # type: ignore[misc]
        for call in self._calls:
            if call.active():
                call.cancel()
        for target in self.targets:
            self._cut(target)

    def carry(self, near: Half, name: str) -> None:
        """Connect *near* to a target that is in."""
        Deferred.fromCoroutine(self._carry(near, name))

    async def _carry(self, near: Half, name: str) -> None:
        usable = [target for target in self.targets if target.is_in]
        if not usable:
            self._fail(near)
            return
        self._turn += 1
        target = usable[self._turn % len(usable)]
        far = Half()
        try:
            await connect_protocol(
                TCP4ClientEndpoint(self.reactor, LOOPBACK, target.ports[name], timeout=5), far
            )
        except ConnectError:
            self._fail(near)
            return
        target.carried += 1
        for half, other in ((near, far), (far, near)):
            half.other, half.target = other, target
            target.connections.add(half)
        if near.held:
            far.transport.write(near.held)
        if not near.transport.connected:
            far.transport.abortConnection()

    def _fail(self, near: Half) -> None:
        self.failed += 1
        near.transport.abortConnection()

    # Health

    async def _check(self, target: Target) -> None:
        while not self._is_stopped and target in self.targets:
            is_ready = await self._asks(target)
            if is_ready:
                target.row = max(target.row, 0) + 1
            else:
                target.row = min(target.row, 0) - 1
            if target.row in (self.checks.successes, -self.checks.failures):
                self._later(self.checks.lag, target, is_ready)
            turn: Deferred[None] = Deferred()
            self._calls.add(self.reactor.callLater(self.checks.period, turn.callback, None))
            await turn

    async def _asks(self, target: Target) -> bool:
        asking = _HealthCheck()
        try:
            endpoint = TCP4ClientEndpoint(self.reactor, LOOPBACK, target.health_port, timeout=1)
            await connect_protocol(endpoint, asking)
        except ConnectError:
            return False
        return await asking.answered

    def _later(self, seconds: float, target: Target, is_in: bool) -> None:
        self._calls.add(self.reactor.callLater(seconds, self._turn_to, target, is_in))

    def _turn_to(self, target: Target, is_in: bool) -> None:
        target.is_in = is_in
        if not is_in and self.cut_seconds is not None:
            self._calls.add(self.reactor.callLater(self.cut_seconds, self._cut, target))

    def _cut(self, target: Target) -> None:
        for half in list(target.connections):
            half.transport.abortConnection()


class _HealthCheck(Protocol):
    """Asks whether a target is ready."""

    transport: Any

    def __init__(self) -> None:
        self.answered: Deferred[bool] = Deferred()
        self._received = b""

    def connectionMade(self) -> None:
        self.transport.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")

    def dataReceived(self, data: bytes) -> None:
        self._received += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.answered.callback(self._received.startswith(b"HTTP/1.1 200 "))
