"""What tests of sessions of UDP in memory share: a port, clients that speak to it, and endpoints that answer."""

from __future__ import annotations

import errno
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred

from ingress.model.network.streams import StreamSort
from ingress.model.serving.limits import Limits
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.model.upstream.upstream_tls import DATAGRAMS
from ingress.proxy.udp.port import UdpPort
from ingress.proxy.udp.sessions import UdpSessions
from ingress.routing.streams import StreamRoute, StreamTable
from ingress.routing.table import RouteTable
from ingress.routing.variants import WeightedBackend
from tests.fakes.datagrams import CLIENT, FakeSocket, FakeSockets, error_of
from tests.proxy.listening.test_passthrough import KeptRecords
from tests.proxy.playing import ONE, OWNER, TWO, ProxyCase

DNS = BackendReference("shop", "dns", 53, protocol=DATAGRAMS)
REST = 600.0
REFUSED = error_of(errno.ECONNREFUSED)


class UdpCase(ProxyCase):
    """A port that leads to ``DNS``, on a stage."""

    limits = Limits(stream_responses=1)

    def setUp(self) -> None:
        super().setUp()
        self.kept = self.stage.site.access_log = KeptRecords(self.reactor)
        self.sockets = FakeSockets()
        self.finding: list[tuple[Endpoint, Any, Any]] = []
        self.sessions = self.new_sessions()
        self.port_socket = FakeSocket()
        self.port = UdpPort(self.port_socket, self.stage.site, self.sessions)  # type: ignore[arg-type]
        self.port.start()
        self.lead(ONE, TWO)
        self.clients = 0
        self.addCleanup(self.assert_nothing_left)

    def new_sessions(self, most: int = 1000) -> UdpSessions:
        """Make what has all sessions."""
        return UdpSessions(
            self.stage.site,
            self.sockets,
            lambda endpoint, dial, failed, seconds: self.finding.append((endpoint, dial, failed)),
            most,
            self.sockets.open,
            lambda address: address == "10.9.9.9",
        )

    def assert_nothing_left(self) -> None:
        """At the end no socket, no session, nothing kept, no timer is left, and each session has ended in one record."""
        self.sessions.abort()
        self.successResultOf(self.close())
        self.assertEqual(
            (self.sockets.descriptors, self.sockets.open_count, self.port_socket.fileno()), ({}, 0, -1)
        )
        self.assertEqual((len(self.sessions), self.sessions.kept_bytes, self.sessions.ports), (0, 0, {}))
        self.assertNotIn(self.sessions, self.stage.deadlines.watched)
        self.stage.deadlines.stop()
        self.assertEqual(self.reactor.getDelayedCalls(), [])
        self.assertEqual(self.metrics.value("ingress_stream_connections", sort="udp"), 0)

    def close(self) -> Any:
        """Close the port."""
        return Deferred.fromCoroutine(self.port.close())

    def lead(self, *endpoints: Endpoint, reason: str = "") -> None:
        """Have the port lead to *endpoints*."""
        self.route = StreamRoute("", StreamSort.UDP, OWNER, (WeightedBackend(DNS),))
        backends = {DNS: BackendState(endpoints, reason)}
        self.stage.resource.publish(RouteTable(), backends, StreamTable((self.route,)))

    def limit(self, **limits: Any) -> None:
        """Have other limits hold from now on."""
        context = self.stage.site.context
        context.limits = evolve(context.limits, **limits)

    def say(self, datagram: bytes = b"?", client: tuple[str, int] = CLIENT) -> None:
        """Have *client* send *datagram* to the port."""
        self.sockets.put(self.port_socket, (datagram, client))

    def stranger(self) -> tuple[str, int]:
        """Return a client that has said nothing yet."""
        self.clients += 1
        return "198.51.100.1", 1000 + self.clients

    def at(self, number: int = -1) -> FakeSocket:
        """Return a socket to an endpoint, by default the one that was opened last."""
        return self.sockets.opened[number][2]

    def answer(self, *answers: Any, number: int = -1) -> None:
        """Have the endpoint of a socket answer."""
        self.sockets.put(self.at(number), *answers)

    @property
    def went_to(self) -> list[str]:
        """The addresses that were connected to, in order."""
        return [address for address, _, _ in self.sockets.opened]

    @property
    def ended(self) -> list[tuple[int, str]]:
        """Status and reason of each session that ended."""
        return [(one.status, one.reason) for one in self.kept.records]

    @property
    def answers(self) -> list[tuple[bytes, tuple[str, int]]]:
        """What was sent to clients."""
        return self.port_socket.sent

    def dropped(self, cause: str) -> float:
        """Return how many datagrams were dropped for *cause*."""
        return self.metrics.value("ingress_udp_datagrams_dropped_total", cause=cause)
