"""Tests for ``ingress.proxy.upstream.h2_session``: what is asked again, and where."""

from __future__ import annotations

from ingress.model.upstream.retries import RetryRule
from ingress.proxy.contract.limits import UPSTREAM_IDLE_SECONDS
from ingress.proxy.upstream.pool import UpstreamPool
from tests.fakes.http2.frames import (
    GOAWAY,
    INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS,
    REFUSED_STREAM,
    block,
    goaway,
    headers,
    reset,
    settings,
    window_update,
)
from tests.proxy.h2_upstream_case import ONE, POST, TWO, Http2UpstreamCase
from tests.proxy.playing import GET, body_of

WINDOW = 65535
"""What an endpoint takes at first."""


class AgainTests(Http2UpstreamCase):
    """What is sent again, and where."""

    def test_goodbye(self) -> None:
        """What is above the last stream of a goodbye is sent again, whatever it is; the rest is answered."""
        first, second = self.stage.open(), self.stage.open()
        first.say(POST)
        old = self.server()
        second.say(POST)
        old.look()
        old.send(goaway(1))
        self.assert_upstreams(2)
        new = self.server()
        self.assertEqual((new.fields(1)[b":path"], new.body(1)), (b"/add", b"hi"))
        new.answer(1, b"new")
        self.assertEqual(body_of(second.take()), b"3\r\nnew\r\n0\r\n\r\n")
        self.assertFalse(self.upstream(0).saw_end)
        old.answer(1, b"old")
        self.assertEqual(body_of(first.take()), b"3\r\nold\r\n0\r\n\r\n")
        self.assertTrue(self.upstream(0).saw_end)
        self.assert_ended(200, 200)
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), 0)

    def test_idle_goodbye(self) -> None:
        """After a goodbye nobody asks there any more."""
        down = self.stage.open()
        down.say(GET)
        self.server().answer(1)
        self.server().send(goaway(1))
        self.assertTrue(self.upstream().saw_end)
        down.take()
        down.say(POST)
        self.assert_upstreams(2)
        self.server().answer(1)
        self.assert_status(down.take(), 200)

    def test_refused(self) -> None:
        """A stream refused on a connection in use is begun on a new one, and there no second time."""
        self.stage.publish((ONE,))
        other, down = self.stage.open(), self.stage.open()
        other.say(POST)
        down.say(POST)
        self.server().send(reset(3, REFUSED_STREAM))
        self.assert_upstreams(2)
        self.assertEqual(self.server().body(1), b"hi")
        self.server().send(reset(1, REFUSED_STREAM))
        self.assert_status(down.take(), 502)
        self.assert_upstreams(2)

    def test_large_body(self) -> None:
        """A large body that was refused is sent again as long as no more of it has come than the endpoint takes at first."""
        body = bytes(range(256)) * 1200
        head = b"POST /add HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n" % len(body)
        for refusal in (reset(3, REFUSED_STREAM), goaway(1)):
            self.setUp()
            other, down = self.stage.open(), self.stage.open()
            other.say(POST)
            down.say(head + body)
            old = self.server()
            self.assertEqual(len(old.body(3)), WINDOW - 2)
            old.send(refusal)
            self.assert_upstreams(2)
            new = self.server()
            while len(new.body(1)) < len(body):
                new.send(window_update(1, WINDOW), window_update(0, WINDOW))
                new.look()
            self.assertEqual(new.body(1), body)
            new.answer(1)
            self.assert_status(down.take(), 200)

    def test_too_large_body(self) -> None:
        """Of what it has taken more of than is held nothing can be sent again."""
        other, down = self.stage.open(), self.stage.open()
        other.say(POST)
        down.say(b"POST /add HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 300000\r\n\r\n" + bytes(300_000))
        server = self.server()
        for _ in range(2):
            server.send(window_update(3, WINDOW), window_update(0, WINDOW))
            server.look()
        server.send(reset(3, REFUSED_STREAM))
        self.assert_status(down.take(), 502)
        self.assert_upstreams(1)

    def test_refused_among_others(self) -> None:
        """What a new connection refused beside others is begun on one of its own, and there no second time."""
        self.stage.publish((ONE,))
        peers = [self.stage.open() for _ in range(4)]
        for peer in peers:
            peer.say(POST)
        self.server().send(b"".join(reset(stream, REFUSED_STREAM) for stream in (3, 5, 7)))
        self.assert_upstreams(2)
        self.server().send(b"".join(reset(stream, REFUSED_STREAM) for stream in (3, 5)))
        self.assert_upstreams(4)
        self.assertEqual([len(self.server(number).requests()) for number in (2, 3)], [1, 1])
        for number in (0, 1, 2):
            self.server(number).answer(1)
        for peer in peers[:3]:
            self.assert_status(peer.take(), 200)
        self.server(3).send(reset(1, REFUSED_STREAM))
        self.assert_status(peers[3].take(), 502)
        self.assert_upstreams(4)

    def test_goodbye_after_each(self) -> None:
        """An endpoint that takes one request of each connection gets as many connections as there are requests."""
        peers = [self.stage.open() for _ in range(8)]
        for peer in peers:
            peer.say(POST)
        number = 0
        while number < len(self.connector.peers):
            self.server(number).send(goaway(1))
            self.server(number).answer(1)
            number += 1
        for peer in peers:
            self.assert_status(peer.take(), 200)
        self.assert_upstreams(8)

    def test_refused_where_there_is_no_room(self) -> None:
        """Where there may be no connection of its own, what is refused beside others fails in the end."""
        self.stage.site.context.pool = self.stage.pool = UpstreamPool(
            self.connector.connect, self.stage.deadlines, self.metrics, most=1
        )
        other, down = self.stage.open(), self.stage.open()
        other.say(POST)
        down.say(POST)
        for stream in (3, 5, 7):
            self.server().send(reset(stream, REFUSED_STREAM))
        self.assert_status(down.take(), 502)
        self.assertEqual(len(self.server().requests()), 4)
        self.server().answer(1)
        self.assert_status(other.take(), 200)
        self.assert_upstreams(1)

    def test_refused_at_once(self) -> None:
        """One refused on a new connection is tried elsewhere, if the route wants that after errors."""
        self.stage.publish((ONE, TWO))
        down = self.stage.open()
        down.say(POST)
        self.server().send(reset(1, REFUSED_STREAM))
        self.assertEqual(self.connector.asked, [ONE, TWO])
        self.server().answer(1)
        self.assert_status(down.take(), 200)
        self.stage.publish((ONE, TWO), retries=RetryRule(on_error=False, on_timeout=False))
        self.reactor.pass_time(UPSTREAM_IDLE_SECONDS + 2)
        down = self.stage.open()
        down.say(POST)
        self.server().send(reset(1, REFUSED_STREAM))
        self.assert_status(down.take(), 502)

    def test_refused_after_a_piece(self) -> None:
        """Nothing is sent again once anything of an answer has come."""
        self.stage.publish((ONE, TWO))
        down = self.stage.open()
        down.say(POST)
        self.server().send(headers(1, block([(b":status", b"100")]), ended=False), reset(1, REFUSED_STREAM))
        self.assertIn(b"HTTP/1.1 502 ", down.take())
        self.assert_upstreams(1)

    def test_lost(self) -> None:
        """What a connection takes with it is asked again if that is safe: here on a new one, or elsewhere if it was new."""
        self.stage.publish((ONE, TWO))
        down = self.stage.open()
        down.say(GET)
        self.server().answer(1)
        down.take()
        self.assertEqual(self.connector.asked, [ONE])
        self.stage.publish((ONE,))
        down.say(GET)
        self.stage.publish((ONE, TWO))
        self.upstream().finish()
        self.assertEqual(self.connector.asked, [ONE, ONE])
        self.upstream().reset()
        self.assertEqual(self.connector.asked, [ONE, ONE, TWO])
        self.server().answer(1)
        self.assert_status(down.take(), 200)
        down.say(POST)
        self.server().look()
        for peer in self.connector.peers:
            if not peer.closed:
                peer.reset()
        self.assert_status(down.take(), 502)

    def test_untaken(self) -> None:
        """What a resting connection took nothing of, since it was being closed, is sent on a new one, whatever it is."""
        for has_left, upstreams in ((False, 1), (True, 2)):
            self.setUp()
            down = self.stage.open()
            down.say(GET)
            self.server().answer(1)
            down.take()
            self.upstream().has_left = has_left
            down.say(POST)
            self.upstream().finish()
            self.assert_upstreams(upstreams)
            if has_left:
                self.assertEqual(self.server().body(1), b"hi")
                self.server().answer(1)
            self.assert_status(down.take(), 200 if has_left else 502)

    def test_storm(self) -> None:
        """Streams refused together share the new connections, as many as the endpoint lets them have."""
        peers = [self.stage.open() for _ in range(12)]
        for peer in peers:
            peer.say(POST)
        server = self.server()
        server.send(settings((MAX_CONCURRENT_STREAMS, 4), (INITIAL_WINDOW_SIZE, 65535)))
        server.look()
        server.send(b"".join(reset(each.stream, REFUSED_STREAM) for each in server.requests()[4:]))
        self.assert_upstreams(3)
        for number in range(3):
            for request in self.server(number).requests()[:4]:
                self.server(number).answer(request.stream)
        for peer in peers:
            self.assert_status(peer.take(), 200)

    def test_windows_begin_anew(self) -> None:
        """A body that waited for one connection's window is whole on the next."""
        down = self.stage.open()
        self.stage.open().say(GET)
        server = self.server()
        server.send(settings((INITIAL_WINDOW_SIZE, 1)))
        down.say(POST)
        self.assertEqual(server.body(3), b"")
        server.look()
        self.assertEqual(server.body(3), b"h")
        server.send(goaway(1))
        self.assertEqual(self.server().body(1), b"hi")

    def test_goodbye_of_all(self) -> None:
        """Goodbyes end with the endpoint's connections, and their frames name none of its streams."""
        self.stage.open().say(GET)
        server = self.server()
        server.answer(1)
        self.stage.pool.close()
        server.look()
        self.assertEqual([each.last_stream for each in server.of(GOAWAY)], [0])
        self.assertTrue(self.upstream().saw_end)
