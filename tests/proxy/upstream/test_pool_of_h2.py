"""Tests for ``ingress.proxy.upstream.pool`` with HTTP/2: which connection an exchange gets a stream of."""

from __future__ import annotations

from ingress.http2.client import ASSUMED_STREAMS
from ingress.proxy.contract.limits import NAMED_SECONDS
from ingress.proxy.contract.transport import REFUSED, TIMED_OUT
from ingress.proxy.upstream.pool import UpstreamPool
from tests.fakes.http2.frames import MAX_CONCURRENT_STREAMS, REFUSED_STREAM, goaway, reset, settings
from tests.fakes.transports import Peer
from tests.proxy.h2_upstream_case import ONE, TWO, Http2UpstreamCase
from tests.proxy.playing import GET

POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 2\r\n\r\nhi"


class SharingTests(Http2UpstreamCase):
    """Whom a connection is shared by."""

    def ask(self, count: int, request: bytes = GET) -> list[Peer]:
        """Send so many requests, each from a connection of its own."""
        peers = [self.stage.open() for _ in range(count)]
        for peer in peers:
            peer.say(request)
        return peers

    def answer_all(self, number: int) -> None:
        """Answer what is open on a connection."""
        server = self.server(number)
        for request in server.requests():
            server.answer(request.stream)
        server.frames.clear()

    def test_full(self) -> None:
        """When all are full another one is made, and the first with room is used again."""
        self.ask(1)
        self.server().send(settings((MAX_CONCURRENT_STREAMS, 2)))
        self.ask(4)
        self.assert_upstreams(3)
        self.assertEqual([len(self.server(number).requests()) for number in range(3)], [2, 2, 1])
        self.answer_all(0)
        self.ask(2)
        self.assertEqual(len(self.server(0).requests()), 2)
        self.assert_upstreams(3)

    def test_idle_and_busy(self) -> None:
        """A shared connection is in use while it has a stream."""
        count = self.stage.pool.idle_and_busy
        self.ask(2)
        self.assertEqual(count(), (0, 1))
        self.answer_all(0)
        self.assertEqual(count(), (1, 0))
        self.connector.peers[0].finish()
        self.assertEqual(count(), (0, 0))

    def test_waiting(self) -> None:
        """Who asks while a connection is made waits for it with the others, up to the streams that it has."""
        self.connector.is_slow = True
        peers = self.ask(150)
        self.assertEqual(len(self.connector.waiting), 2)
        self.connector.is_slow = False
        self.connector.let_through()
        self.assertEqual([len(self.server(number).requests()) for number in range(2)], [100, 50])
        self.answer_all(0)
        self.answer_all(1)
        for peer in peers:
            self.assert_status(peer.take(), 200)

    def test_left_while_waiting(self) -> None:
        """Who left while a connection was made has no stream on it, and it is kept for others."""
        self.connector.is_slow = True
        gone, here = self.ask(2)
        gone.reset()
        self.connector.let_through()
        self.assertEqual(len(self.server().requests()), 1)
        self.server().answer(1)
        self.assert_status(here.take(), 200)
        self.ask(1)
        self.assert_upstreams(1)

    def test_come_and_gone(self) -> None:
        """Who left makes no room scarce: one connection is made, however many come and leave meanwhile."""
        self.connector.is_slow = True
        for _ in range(3 * ASSUMED_STREAMS):
            [gone] = self.ask(1)
            gone.reset()
        [here] = self.ask(1)
        self.assertEqual(len(self.connector.asked), 1)
        self.connector.let_through()
        self.server().answer(1)
        self.assert_status(here.take(), 200)

    def test_unreachable(self) -> None:
        """What cannot be connected to fails for all who wait; each may try another endpoint."""
        self.connector.is_slow = True
        first, second = self.ask(2, POST)
        self.connector.refuse(REFUSED)
        self.assert_status(first.take(), 502)
        self.assert_status(second.take(), 502)
        peers = self.ask(2, POST)
        self.stage.publish((ONE, TWO))
        self.connector.is_slow = False
        self.connector.refuse(TIMED_OUT)
        self.assertEqual(self.connector.asked[-1], TWO)
        self.answer_all(0)
        for peer in peers:
            self.assert_status(peer.take(), 200)

    def test_unreachable_once(self) -> None:
        """A connection that cannot be made fails once, however many wait for it, so the endpoint is not ejected."""
        self.stage.publish((ONE, TWO))
        self.connector.is_slow = True
        gone, *_ = self.ask(10)
        gone.reset()
        self.connector.refuse(REFUSED)
        self.assertEqual(self.connector.asked[:2], [ONE, TWO])
        self.assertEqual(self.metrics.value("ingress_endpoint_ejections_total"), 0)

    def test_known_limit(self) -> None:
        """What an endpoint said of its streams holds for its next connection before that has said anything."""
        self.ask(1)
        self.server().send(settings((MAX_CONCURRENT_STREAMS, 3)))
        self.connector.is_slow = True
        self.ask(6)
        self.assertEqual(len(self.connector.waiting), 2)

    def test_lowered_limit(self) -> None:
        """An endpoint that takes no streams for now gets another connection."""
        self.ask(1)
        self.server().send(settings((MAX_CONCURRENT_STREAMS, 0)))
        self.ask(1)
        self.assert_upstreams(2)

    def test_none(self) -> None:
        """An endpoint that takes no streams at all is asked each time, and keeps no connection for it."""
        for number in range(5):
            down = self.stage.open()
            down.say(GET)
            self.server(number).send(settings((MAX_CONCURRENT_STREAMS, 0)), reset(1, REFUSED_STREAM))
            self.assert_status(down.take(), 502)
            self.assertTrue(self.upstream(number).saw_end)

    def test_none_at_rest(self) -> None:
        """One that says so while nothing goes on is closed, too."""
        (down,) = self.ask(1)
        self.server().answer(1)
        self.assert_status(down.take(), 200)
        self.server().send(settings((MAX_CONCURRENT_STREAMS, 0)))
        self.assertTrue(self.upstream().saw_end)

    def test_sure(self) -> None:
        """A request that cannot be repeated avoids a resting connection that has something to say."""
        (down,) = self.ask(1)
        self.server().answer(1)
        down.take()
        self.upstream().post(goaway(1))
        down.say(POST)
        self.assert_upstreams(2)
        self.server().answer(1)
        self.assert_status(down.take(), 200)

    def test_named(self) -> None:
        """One to a name takes no streams after a while, and ends with those that it has; another one is made for others."""
        self.stage.publish((ONE._replace(address="db.example.org"),))
        (down,) = self.ask(1)
        self.reactor.pass_time(NAMED_SECONDS)
        self.ask(1)
        self.assert_upstreams(2)
        self.assertFalse(self.upstream(0).saw_end)
        self.server(0).answer(1)
        self.assert_status(down.take(), 200)
        self.assertTrue(self.upstream(0).saw_end)

    def test_terms(self) -> None:
        """The same address without HTTP/2 is another endpoint."""
        self.ask(1)
        self.stage.publish((ONE._replace(link_settings=None),))
        self.ask(1)
        self.assert_upstreams(2)
        self.assertTrue(self.upstream().received.startswith(b"GET / HTTP/1.1\r\n"))


class LimitTests(Http2UpstreamCase):
    """How many connections there may be to one endpoint."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.site.context.pool = self.stage.pool = UpstreamPool(
            self.connector.connect, self.stage.deadlines, self.metrics, most=2
        )

    def test_most(self) -> None:
        """What finds no room on as many connections as there may be goes elsewhere, or is answered 503."""
        first = self.stage.open()
        first.say(GET)
        self.server().send(settings((MAX_CONCURRENT_STREAMS, 1)))
        self.stage.open().say(GET)
        self.server().send(settings((MAX_CONCURRENT_STREAMS, 1)))
        down = self.stage.open()
        down.say(GET)
        self.assert_status(down.take(), 503)
        self.assert_upstreams(2)
        self.server(0).answer(1)
        down.say(GET)
        self.assertEqual(len(self.server(0).requests()), 2)
        self.stage.publish((ONE, TWO))
        down = self.stage.open()
        down.say(GET)
        self.assertEqual(self.connector.asked[-1], TWO)

    def test_waiting_is_room(self) -> None:
        """Who waits for a connection with others needs none of his own."""
        self.connector.is_slow = True
        for _ in range(5):
            self.stage.open().say(GET)
        self.assertEqual(len(self.connector.waiting), 1)
        self.assert_ended()

    def test_nothing_left_behind(self) -> None:
        """Of an endpoint whose connections are gone nothing is kept."""
        self.stage.open().say(GET)
        self.upstream().reset()
        self.assertEqual(repr(self.stage.pool), "<UpstreamPool 0 busy, 0 idle, 0 connecting>")
        self.assertEqual(list(self.stage.pool.endpoints), [])


class CloseTests(Http2UpstreamCase):
    """The end of the pool."""

    def test_close(self) -> None:
        """What rests is closed at once, and what is in use after its last answer; nothing new begins there."""
        down, other = self.stage.open(), self.stage.open()
        down.say(GET)
        self.server().send(settings((MAX_CONCURRENT_STREAMS, 1)))
        other.say(GET)
        self.server(1).answer(1)
        self.stage.pool.close()
        self.assertTrue(self.upstream(1).saw_end)
        self.assertFalse(self.upstream(0).saw_end)
        self.server(0).answer(1)
        self.assert_status(down.take(), 200)
        self.assertTrue(self.upstream(0).saw_end)

    def test_close_while_connecting(self) -> None:
        """A connection that is made for somebody after that serves him alone."""
        self.connector.is_slow = True
        down = self.stage.open()
        down.say(GET)
        self.stage.pool.close()
        self.connector.let_through()
        self.server().answer(1)
        self.assert_status(down.take(), 200)
        self.assertTrue(self.upstream().saw_end)
