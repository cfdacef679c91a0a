"""Tests of endpoints that take connections and requests, and say nothing: frozen processes, and honest slow ones."""

from twisted.logger import capturedLogs

from ingress.model.serving.limits import AskedTimeouts
from ingress.model.upstream.backends import Endpoint
from tests.fakes.http2.frames import HEADERS, headers
from tests.fakes.transports import Peer
from tests.proxy import h2_upstream_case
from tests.proxy.h2_upstream_case import HEAD, Http2UpstreamCase
from tests.proxy.playing import GET, OK, ONE, TWO, ProxyCase

POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 2\r\n\r\nhi"
"""Nothing that is tried elsewhere."""


class FrozenTests(ProxyCase):
    """Two endpoints that speak HTTP/1.1."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.publish((ONE, TWO), timeouts=AskedTimeouts(read_seconds=10.0))

    @property
    def asked(self) -> list[Endpoint]:
        """The endpoints of the requests so far, in their order."""
        return [peer.protocol.endpoint for peer in self.busy]  # type: ignore[attr-defined]

    @property
    def busy(self) -> list[Peer]:
        """The connections on which an answer is awaited."""
        return [each for each in self.connector.peers if each.protocol.exchange is not None]  # type: ignore[attr-defined]

    def ask(self, request: bytes = POST) -> tuple[Peer, Peer]:
        """Send a request; return its client and its connection to an endpoint."""
        before = self.busy
        down = self.stage.open()
        down.say(request)
        (peer,) = [each for each in self.busy if each not in before]
        return down, peer

    def endpoint_of(self, peer: Peer) -> Endpoint:
        """Who *peer* is."""
        endpoint: Endpoint = peer.protocol.endpoint  # type: ignore[attr-defined]
        return endpoint

    def freeze_one(self) -> None:
        """Have ONE miss three deadlines while TWO answers."""
        while sum(status == 504 for _, status, _ in self.metrics.ended) < 3:
            down, peer = self.ask()
            if self.endpoint_of(peer) == TWO:
                peer.say(OK)
                self.assert_status(down.take(), 200)
            else:
                self.reactor.pass_time(11)
                self.assert_status(down.take(), 504)

    def test_ejected(self) -> None:
        """After three deadlines in a row all requests go to the other one, and the log says why."""
        with capturedLogs() as events:
            self.freeze_one()
        self.assertEqual(self.metrics.value("ingress_endpoints_ejected"), 1)
        self.assertTrue(any("misses" in event for event in events))
        for _ in range(5):
            _, peer = self.ask()
            self.assertEqual(self.endpoint_of(peer), TWO)

    def test_all_at_once(self) -> None:
        """Requests that wait at the same time count each."""
        downs = [self.ask()[0] for _ in range(8)]
        for peer in self.busy:
            if self.endpoint_of(peer) == TWO:
                peer.say(OK)
        self.reactor.pass_time(11)
        self.assertEqual(self.metrics.value("ingress_endpoints_ejected"), 1)
        self.assertEqual(sum(down.take().startswith(b"HTTP/1.1 504") for down in downs), 4)

    def test_slow_and_honest(self) -> None:
        """One that says anything to anybody while requests wait in vain is slow, and stays."""
        for _ in range(6):
            waiting = [self.ask()[1] for _ in range(4)]
            self.reactor.pass_time(5)
            for endpoint in (ONE, TWO):
                next(each for each in waiting if self.endpoint_of(each) == endpoint).say(OK)
            self.reactor.pass_time(6)
        self.assertEqual(sum(status == 504 for _, status, _ in self.metrics.ended), 12)
        self.assertEqual(self.metrics.value("ingress_endpoint_ejections_total"), 0)

    def test_answer_between(self) -> None:
        """An answer between two of them begins a new row."""
        for _ in range(4):
            for _ in range(4):
                self.ask()
            self.reactor.pass_time(11)
            for _ in range(2):
                self.ask()[1].say(OK)
        # Each round, two requests of each endpoint waited in vain.
        self.assertEqual(self.metrics.value("ingress_endpoint_ejections_total"), 0)

    def test_stalled(self) -> None:
        """Streams of events that rest, three and more, are no reason to eject who sends them."""
        for _ in range(8):
            self.ask(GET)[1].say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.reactor.pass_time(30)
        self.assertEqual(self.metrics.value("ingress_endpoint_ejections_total"), 0)

    def test_trial_and_return(self) -> None:
        """It gets one request when its time is over, and all of its share once that is answered."""
        self.freeze_one()
        self.reactor.pass_time(12)
        peers = [self.ask()[1] for _ in range(6)]
        self.assertEqual([self.endpoint_of(each) for each in peers].count(ONE), 1)
        trial = next(each for each in peers if self.endpoint_of(each) == ONE)
        trial.say(OK)
        self.reactor.pass_time(2)
        self.assertEqual(self.metrics.value("ingress_endpoints_ejected"), 0)
        peers = [self.ask()[1] for _ in range(6)]
        self.assertEqual([self.endpoint_of(each) for each in peers].count(ONE), 3)

    def test_lost_trial(self) -> None:
        """A trial that waits in vain is the end of the next ones for twice as long."""
        self.freeze_one()
        self.reactor.pass_time(12)
        for _ in range(6):
            _, peer = self.ask()
            if self.endpoint_of(peer) == TWO:
                peer.say(OK)
        self.reactor.pass_time(11)
        self.assertEqual(self.metrics.value("ingress_endpoint_ejections_total"), 2)
        self.reactor.pass_time(15)
        self.assertEqual({self.endpoint_of(self.ask()[1]) for _ in range(4)}, {TWO})

    def test_both(self) -> None:
        """The last endpoint is never ejected: when both are frozen, requests go on to one of them, and then to both."""
        for _ in range(8):
            self.ask()
        self.reactor.pass_time(11)
        self.assertEqual(self.metrics.value("ingress_endpoints_ejected"), 1)
        down, _ = self.ask()
        self.reactor.pass_time(11)
        self.assert_status(down.take(), 504)


class FrozenTestsOnEpoll(FrozenTests):
    """The same on the epoll set."""

    on_epoll = True


class FrozenHttp2Tests(Http2UpstreamCase):
    """Two endpoints that speak HTTP/2."""

    def test_ejected(self) -> None:
        """Streams that wait in vain count as requests do; what comes for any of them counts as well."""
        self.stage.publish(
            (h2_upstream_case.ONE, h2_upstream_case.TWO), timeouts=AskedTimeouts(read_seconds=10.0)
        )
        for _ in range(8):
            self.stage.open().say(POST)
        answering = self.server(1)
        for each in [each.stream for each in answering.of(HEADERS)]:
            answering.send(headers(each, HEAD))
        self.reactor.pass_time(12)
        self.assertEqual(self.metrics.value("ingress_endpoints_ejected"), 1)
        self.assertEqual(sum(status == 504 for _, status, _ in self.metrics.ended), 4)
        down = self.stage.open()
        down.say(POST)
        answering.send(headers(max(each.stream for each in self.server(1).of(HEADERS)), HEAD))
        self.assert_status(down.take(), 200)
