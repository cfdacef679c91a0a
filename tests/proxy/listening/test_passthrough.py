"""Tunnels of TLS that passes through, in memory: what the balancer is told of them."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ingress.model.backends import Endpoint
from ingress.proxy.listening.passthrough import PassthroughTunnel
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.balancing import Balancer
from ingress.routing.route import Match, Route
from tests.fakes.records import record_of
from tests.proxy.playing import BACKEND, INGRESS, ONE, OWNER, TWO, ProxyCase


class Counting(Balancer):
    """Picks in order, and keeps what it is told."""

    counts = True

    def __init__(self, endpoints: tuple[Endpoint, ...]) -> None:
        super().__init__(endpoints)
        self.told: list[tuple[Endpoint, float, bool]] = []
        self.running = 0

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose the first that is not excluded."""
        return next((each for each in self._endpoints if each not in exclude), None)

    def began(self, endpoint: Endpoint) -> None:
        """Count it."""
        self.running += 1

    def ended(self, endpoint: Endpoint, seconds: float, failed: bool) -> None:
        """Keep it."""
        self.running -= 1
        self.told.append((endpoint, seconds, failed))


class AttemptTests(ProxyCase):
    """Attempts that count."""

    def test_seconds(self) -> None:
        """An attempt takes as long as its connection does to be made, and runs as long as its tunnel does."""
        stage = self.stage
        balancer = Counting((ONE, TWO))
        rotation = Rotation(BACKEND, balancer, self.reactor, stage.deadlines, self.metrics)
        route = Route("shop.test", "/", Match.PREFIX, OWNER, BACKEND)
        connect: Any = self.connector.connect
        self.connector.is_slow = True
        tunnel = PassthroughTunnel(stage.site, connect, route, rotation, b"shop.test")
        down = self.reactor.connect(tunnel.downstream)
        self.reactor.pass_time(3)
        self.connector.refuse("connection refused")
        self.reactor.pass_time(1)
        self.connector.let_through()
        self.reactor.pass_time(500)
        self.assertEqual((balancer.told, balancer.running), ([(ONE, 3.0, True)], 1))
        down.reset()
        self.assertEqual((balancer.told, balancer.running), ([(ONE, 3.0, True), (TWO, 1.0, False)], 0))
        # A tunnel has a line in the log as an exchange has, and counters of its own.
        self.metrics.records.append(record_of(INGRESS))
