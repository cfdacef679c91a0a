"""Connections to the pages: how long each keeps us waiting, how many there may be, and how they are drained."""

from typing import Any

from attrs import evolve
from twisted.internet.address import IPv4Address
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from ingress.admin.port.connections import REQUEST_SECONDS, REST_SECONDS, TAKING_SECONDS, AdminConnections
from ingress.admin.port.places import MOST_CONNECTIONS
from ingress.admin.port.site import admin_site
from tests.admin.live_case import live_of
from tests.admin.site_case import SiteCase

PEER = IPv4Address("TCP", "10.0.0.9", 40000)
STREAM = b"GET /api/v1/live HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n"
ASKED = b"GET /readyz HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n"
STAR = b"OPTIONS * HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n"
"""Answered by ``twisted.web`` itself, at once."""


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

    def test_twice(self) -> None:
        """Whoever asks for the end while others wait for it waits for the same, and they for no other."""
        asked = [self.drain(), self.drain()]
        for channel, _ in self.pairs:
            channel.connectionLost(Failure(ConnectionDone()))
        for drained in asked:
            self.successResultOf(drained)

    def test_given_up(self) -> None:
        """Who waits no longer is told nothing more."""
        drained = self.drain()
        drained.cancel()
        self.failureResultOf(drained, CancelledError)
        for channel, _ in self.pairs:
            channel.connectionLost(Failure(ConnectionDone()))


class Transport(StringTransport):
    """A connection in memory, which may be cut."""

    is_cut = False
    producer: Any

    def abortConnection(self) -> None:
        """Be cut."""
        self.is_cut = True
        super().abortConnection()


class OneSiteCase(SiteCase):
    """Connections to one site."""

    def setUp(self) -> None:
        super().setUp()
        known = self.known()
        self.site = admin_site(evolve(known, live=live_of(known, self.clock)), self.clock)

    def connect(self, request: bytes = b"") -> tuple[Any, Transport]:
        """Connect, and send *request*."""
        channel: Any = self.site.buildProtocol(PEER)
        transport = Transport()
        channel.makeConnection(transport)
        self.addCleanup(channel.connectionLost, Failure(ConnectionDone()))
        if request:
            channel.dataReceived(request)
            self.clock.advance(0)
        return channel, transport

    def seconds_open(self, channel: Any, transport: Transport, piece: bytes) -> int:
        """Return for how long a connection stays on which *piece* comes each second."""
        seconds = 0
        while not transport.disconnecting and seconds < 1000:
            if piece:
                channel.dataReceived(piece)
            self.clock.advance(1)
            seconds += 1
        return seconds


class TimeTests(OneSiteCase):
    """How long one of them stays."""

    def test_request(self) -> None:
        """A request has its time in all, whether nothing of it comes, a line now and then, or its content byte by byte."""
        for begun, piece in (
            (b"", b""),
            (b"GET /readyz HTTP/1.1\r\n", b""),
            (b"GET /readyz HTTP/1.1\r\n", b"X: y\r\n"),
            (ASKED[:-2] + b"Content-Length: 5000\r\n\r\n", b"x"),
        ):
            self.assertEqual(self.seconds_open(*self.connect(begun), piece), REQUEST_SECONDS, begun)

    def test_rest(self) -> None:
        """Between requests there is more time, and from the first byte on the next one has its own."""
        channel, transport = self.connect(ASKED)
        self.assertEqual(self.seconds_open(channel, transport, b""), REST_SECONDS)
        channel, transport = self.connect(ASKED)
        self.clock.advance(REST_SECONDS - 1)
        channel.dataReceived(ASKED[:1])
        self.assertEqual(self.seconds_open(channel, transport, b""), REQUEST_SECONDS)
        channel, transport = self.connect(ASKED + ASKED[:1])
        self.assertEqual(self.seconds_open(channel, transport, b""), REQUEST_SECONDS)

    def test_answer_not_taken(self) -> None:
        """Of the last answer nothing is kept for a client that does not take it."""
        _, transport = self.connect(ASKED[:-2] + b"Connection: close\r\n\r\n")
        self.assertTrue(transport.disconnecting)
        self.clock.advance(TAKING_SECONDS - 1)
        self.assertFalse(transport.is_cut)
        self.clock.advance(1)
        self.assertTrue(transport.is_cut)

    def test_stream(self) -> None:
        """A stream stays for as long as somebody takes it, whatever came before it or comes behind it."""
        for before, behind in ((b"", b""), (STAR, ASKED), (ASKED, ASKED[:1])):
            channel, transport = self.connect(before + STREAM)
            if behind:
                channel.dataReceived(behind)
            for _ in range(3 * REST_SECONDS):
                self.clock.advance(1)
            self.assertFalse(transport.disconnecting, before)


class StallTests(OneSiteCase):
    """A client that does not take what was sent."""

    def answers(self, transport: Transport) -> int:
        """Return how many were sent, in a while."""
        for _ in range(9):
            self.clock.advance(0)
        return int(transport.value().count(b"HTTP/1.1 200 OK"))

    def test_many_requests(self) -> None:
        """Of many requests that come along, no more are answered than it takes: their answers would wait in memory."""
        channel, transport = self.connect()
        channel.dataReceived(ASKED * 3 + ASKED[:9])
        channel.pauseProducing()
        self.assertEqual(self.answers(transport), 1)
        channel.resumeProducing()
        self.assertEqual(self.answers(transport), 3)
        channel.dataReceived(ASKED[9:])
        self.assertEqual(self.answers(transport), 4)
        self.assertEqual(self.seconds_open(channel, transport, b""), REST_SECONDS)

    def test_much_content(self) -> None:
        """Nothing is read of it meanwhile, also not while its answer is made; then it goes on."""
        channel, transport = self.connect(STREAM)
        channel.pauseProducing()
        self.assertEqual(transport.producerState, "paused")
        channel, transport = self.connect(ASKED)
        channel.pauseProducing()
        channel.resumeProducing()
        self.assertEqual(transport.producerState, "producing")
        self.assertEqual(self.seconds_open(channel, transport, b""), REST_SECONDS)


class PlaceTests(OneSiteCase):
    """Who makes way where there are as many as there may be."""

    def test_flood(self) -> None:
        """The silent and unfinished make way in the order in which they came, and whoever asks has an answer."""
        stream = self.connect(STREAM)[1]
        answered = self.connect(ASKED)[1]
        flood = [self.connect(ASKED[:20] if number % 2 else b"") for number in range(MOST_CONNECTIONS - 2)]
        self.assertFalse(answered.disconnecting)
        for number in range(3):
            probe = self.connect(ASKED)[1]
            self.assertTrue(probe.value().startswith(b"HTTP/1.1 200 OK"))
            leaving = [answered, *(transport for _, transport in flood)]
            self.assertEqual(
                [one.disconnecting for one in leaving[:4]], [True] * (number + 1) + [False] * (3 - number)
            )
        # An answer may still be on its way.
        self.assertEqual([answered.is_cut, flood[0][1].is_cut, stream.disconnecting], [False, True, False])
        self.clock.advance(1)
        self.assertTrue(answered.is_cut)

    def test_owed(self) -> None:
        """Where all have asked, those make way that do not take their answers, then the others, and streams last."""
        stream = self.connect(STREAM)[1]
        owed = [self.connect() for _ in range(MOST_CONNECTIONS - 1)]
        for channel, _ in owed:
            channel.dataReceived(ASKED)
        owed[7][0].pauseProducing()
        self.connect()[0].dataReceived(ASKED)
        self.assertEqual([number for number, (_, one) in enumerate(owed) if one.disconnecting], [7])
        self.connect()[0].dataReceived(ASKED)
        self.assertEqual([number for number, (_, one) in enumerate(owed) if one.disconnecting], [0, 7])
        self.assertFalse(stream.disconnecting)

    def test_each_port(self) -> None:
        """Those of one port take no places of another one."""
        first = self.connect()[1]
        self.site = admin_site(self.known(), self.clock, only_probes=True)
        for _ in range(MOST_CONNECTIONS):
            self.connect()
        self.assertFalse(first.disconnecting)
