"""A request that came back too often, in memory."""

from ingress.model.exchanges.causes import Cause
from ingress.proxy.exchange.loops import FEWEST, SHARE, usual_most
from tests.fakes.http2.client import Http2Client
from tests.fakes.transports import Peer
from tests.proxy.h2_playing import SessionCase
from tests.proxy.playing import INGRESS, OK, ONE, ProxyCase

BY_PROXY = b"X-Request-ID: one\r\nX-Real-IP: 10.0.0.9\r\n"


def get(fields: bytes, target: bytes = b"/") -> bytes:
    """Return a GET with these field lines."""
    return b"GET %b HTTP/1.1\r\nHost: shop.test\r\n%b\r\n" % (target, fields)


class LoopEndTests(ProxyCase):
    """Requests over HTTP/1.1, of which two with one id may be under way."""

    def setUp(self) -> None:
        super().setUp()
        self.loops = self.stage.site.context.loops
        self.loops.most = 2

    def ask(self, fields: bytes, target: bytes = b"/") -> Peer:
        """Send a GET over a connection of its own."""
        client = self.stage.open()
        client.say(get(fields, target))
        return client

    def test_one_too_many(self) -> None:
        """Of those that a proxy sent with one id, no more get to an endpoint than may; the next is answered 508, and told as a loop."""
        for _ in range(2):
            self.ask(BY_PROXY)
        refused = self.ask(BY_PROXY)
        self.assert_upstreams(2)
        self.assert_status(refused.take(), 508)
        record = self.metrics.records[-1]
        self.assertEqual((record.cause, record.id, record.owner), (Cause.LOOP, b"one", INGRESS))
        self.assertIn("loop", record.reason)
        self.assertEqual(self.metrics.value("ingress_failures_total", cause="loop"), 1)

    def test_others_go_on(self) -> None:
        """Requests with other ids, without any, or that no proxy sent, are as welcome as before."""
        for _ in range(2):
            self.ask(BY_PROXY)
        for number, fields in enumerate(
            (
                b"X-Request-ID: two\r\nX-Real-IP: 10.0.0.9\r\n",
                b"X-Real-IP: 10.0.0.9\r\n",
                b"X-Request-ID: one\r\n",
                b"",
            )
        ):
            self.ask(fields)
            self.assert_upstreams(3 + number)

    def test_room_again(self) -> None:
        """Whatever ended one, answered or left, there is room for the next, and of an id nothing is left with its last request."""
        answered, left = self.ask(BY_PROXY), self.ask(BY_PROXY)
        self.upstream(0).say(OK)
        self.assert_status(answered.take(), 200)
        left.finish()
        self.assertEqual(len(self.loops), 0)
        for _ in range(2):
            self.ask(BY_PROXY)
        self.assert_status(self.ask(BY_PROXY).take(), 508)
        self.assertEqual(len(self.loops), 1)

    def test_answers_that_last(self) -> None:
        """A download that has begun, a WebSocket that is open count no more, and are counted off once."""
        begun = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123"
        switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        upgrade = BY_PROXY + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
        lasting: list[Peer] = []
        for number, (fields, answer) in enumerate(2 * ((BY_PROXY, begun), (upgrade, switched))):
            lasting.append(self.ask(fields))
            self.assertEqual(len(self.loops), 1)
            self.upstream(number).say(answer)
            self.assertEqual(len(self.loops), 0)
        waiting = self.ask(BY_PROXY)
        for one in lasting:
            one.finish()
        self.assertEqual(len(self.loops), 1)
        self.ask(BY_PROXY)
        self.assert_status(self.ask(BY_PROXY).take(), 508)
        self.upstream(len(lasting)).say(OK)
        self.assert_status(waiting.take(), 200)

    def test_one_connection(self) -> None:
        """Requests one behind the other on one connection are never too many."""
        client = self.stage.open()
        for _ in range(5):
            client.say(get(BY_PROXY))
            self.upstream().say(OK)
            self.assert_status(client.take(), 200)

    def test_without_route(self) -> None:
        """What no route takes is answered 404, and then counts no more."""
        for _ in range(5):
            client = self.stage.open()
            client.say(get(BY_PROXY).replace(b"shop.test", b"none.test"))
            self.assert_status(client.take(), 404)
        self.assertEqual(len(self.loops), 0)

    def test_switched_off(self) -> None:
        """Where none are looked for nobody is counted; those that were counted before are forgotten with their end."""
        counted = self.ask(BY_PROXY)
        self.loops.most = 0
        for _ in range(5):
            self.ask(BY_PROXY)
        self.assert_upstreams(6)
        self.assertEqual(len(self.loops), 1)
        counted.finish()
        self.assertEqual(len(self.loops), 0)

    def test_grpc(self) -> None:
        """A client of gRPC hears of it in its own words."""
        for _ in range(2):
            self.ask(BY_PROXY)
        answer = self.ask(BY_PROXY + b"Content-Type: application/grpc\r\n").take()
        self.assert_status(answer, 200)
        self.assertIn(b"\r\ngrpc-status: 2\r\n", answer)
        self.assertIn(b"\r\ngrpc-message: The request came back here again and again.\r\n", answer)
        self.assertEqual(self.metrics.records[-1].status, 508)

    def test_as_it_is_sent(self) -> None:
        """What an endpoint is sent counts as what a proxy sent, if it comes back as it is."""
        self.stage.publish((ONE,))
        client = self.stage.open()
        client.say(get(b""))
        for _ in range(2):
            sent = self.upstream().take()
            again = self.stage.open()
            again.say(sent)
        self.assertEqual(len(self.loops), 1)
        again = self.stage.open()
        again.say(self.upstream().take())
        self.assert_status(again.take(), 508)

    def test_usual_number(self) -> None:
        """Without being told, an eighth of the connections, and some dozens at least."""
        self.assertEqual(usual_most(8000), 8000 // SHARE)
        self.assertEqual(usual_most(16), FEWEST)


class OverHttp2Tests(SessionCase):
    """Requests over HTTP/2, of which two with one id may be under way."""

    def test_streams(self) -> None:
        """Streams of one connection count like requests of several."""
        loops = self.stage.site.context.loops
        loops.most = 2
        client: Http2Client = self.stage.client()
        more = ((b"x-request-id", b"one"), (b"x-real-ip", b"10.0.0.9"))
        for stream in (1, 3, 5):
            client.send(client.request(stream, more=more, path=b"/silent"))
        client.look()
        self.assertEqual([client.statuses(stream) for stream in (1, 3, 5)], [[], [], [508]])
        self.assertEqual(len(self.stage.requests), 2)
        client.wire.close()
        self.assertEqual(len(loops), 0)
        self.assert_nothing_left()
