"""Connections to the pages that are drained."""

from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from ingress.admin.connections import AdminConnections
from ingress.admin.site import admin_site
from tests.admin.site_case import SiteCase

PEER = IPv4Address("TCP", "10.0.0.9", 40000)
ASKED = b"GET /readyz HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n"


class DrainTests(SiteCase):
    """Two of them, on two sites."""

    def setUp(self) -> None:
        super().setUp()
        self.connections = AdminConnections()
        sites = [admin_site(self.known(), self.clock, connections=self.connections) for _ in range(2)]
        self.pairs: list[tuple[Any, StringTransport]] = [
            (site.buildProtocol(PEER), StringTransport()) for site in sites
        ]
        for channel, transport in self.pairs:
            channel.makeConnection(transport)
            self.addCleanup(channel.connectionLost, Failure(ConnectionDone()))

    def send(self, at: int, request: bytes = ASKED) -> None:
        """Send this on one of them."""
        self.pairs[at][0].dataReceived(request)
        self.clock.advance(0)

    def drain(self) -> Deferred[None]:
        """Begin to end them."""
        drained = self.connections.drain()
        self.assertNoResult(drained)
        return drained

    def ends(self, at: int) -> bool:
        """Whether one of them is being closed from here."""
        return self.pairs[at][1].disconnecting

    def test_none(self) -> None:
        """Without connections there is nothing to wait for."""
        self.successResultOf(AdminConnections().drain())

    def test_at_rest(self) -> None:
        """What was answered ends at once; it is waited for until all of that is sent."""
        for at in range(2):
            self.send(at)
        drained = self.drain()
        self.assertEqual([self.ends(0), self.ends(1)], [True, True])
        self.pairs[0][0].connectionLost(Failure(ConnectionDone()))
        self.assertNoResult(drained)
        self.pairs[1][0].connectionLost(Failure(ConnectionDone()))
        self.successResultOf(drained)
        self.assertEqual(self.connections.all, set())

    def test_not_asked_yet(self) -> None:
        """Who has not asked yet may do so, even in parts, and is answered; then it ends."""
        self.drain()
        self.assertFalse(self.ends(0))
        self.send(0, ASKED[:20])
        self.assertFalse(self.ends(0))
        self.send(0, ASKED[20:])
        answer = self.pairs[0][1].value()
        self.assertEqual((answer.count(b"HTTP/1.1 200 OK"), answer.count(b"Connection: close")), (1, 1))
        self.assertEqual([self.ends(0), self.ends(1)], [True, False])

    def test_being_answered(self) -> None:
        """An answer under way is waited for, and a request that came behind it is answered as well."""
        self.pairs[0][0].dataReceived(ASKED * 2)
        self.drain()
        self.assertFalse(self.ends(0))
        self.clock.pump([0] * 3)
        first, second = self.pairs[0][1].value().split(b"HTTP/1.1 200 OK")[1:]
        self.assertEqual([b"Connection: close" in answer for answer in (first, second)], [False, True])
        self.assertTrue(self.ends(0))

    def test_given_up(self) -> None:
        """Who waits no longer is told nothing more."""
        drained = self.drain()
        drained.cancel()
        self.failureResultOf(drained, CancelledError)
        for channel, _ in self.pairs:
            channel.connectionLost(Failure(ConnectionDone()))
