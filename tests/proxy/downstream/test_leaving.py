"""Tests of clients that end their side: whoever has a whole request under way has left, unless the operator says else."""

from ingress.model.serving.limits import Limits
from ingress.proxy.contract.limits import (
    LINGER_GAP_SECONDS,
    LINGER_SECONDS,
    MAX_AHEAD,
    TUNNEL_END_SECONDS,
)
from tests.fakes.transports import Peer
from tests.proxy.exchange.test_tunnel import ASK, SWITCH
from tests.proxy.playing import GET, OK, ONE, TWO, ProxyCase, body_of

GET_1_0 = b"GET / HTTP/1.0\r\nHost: shop.test\r\n\r\n"
LARGE_POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 900000\r\n\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nevent\r\n"


class LeavingTests(ProxyCase):
    """Without the option: a FIN behind a whole request is a client that left."""

    def assert_dropped(self, down: Peer, *statuses: int) -> None:
        """Check that both connections ended, upstream's not regularly, and that the log says *statuses*."""
        self.assertTrue(down.closed)
        self.assertTrue(self.upstream().saw_reset)
        self.assert_ended(*statuses)

    def test_before_the_answer(self) -> None:
        """While the endpoint thinks, it ends the request: 499 in the log, and nothing on the wire."""
        down = self.stage.open()
        down.say(GET)
        down.finish()
        self.assert_dropped(down, 499)
        self.assertEqual(down.take(), b"")

    def test_while_connecting(self) -> None:
        """It does so while a connection is made, and that is kept for the next request."""
        self.connector.is_slow = True
        down = self.stage.open()
        down.say(GET)
        down.finish()
        self.assertTrue(down.closed)
        self.assert_ended(499)
        self.connector.let_through()
        self.assertEqual(self.upstream().take(), b"")

    def test_behind_a_body(self) -> None:
        """A request with a body is no different once it is whole."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 2\r\n\r\nhi")
        down.finish()
        self.assert_dropped(down, 499)

    def test_amid_a_body(self) -> None:
        """A request that will never be whole is answered with 400, for its sender may still listen."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 9\r\n\r\nhi")
        down.finish()
        self.assert_status(down.take(), 400)
        self.assert_dropped(down, 400)

    def test_in_the_answer(self) -> None:
        """An answer that has begun breaks off, however long it would have rested."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(ENDLESS)
        down.finish()
        self.assert_dropped(down, 200)
        self.assertNotIn(b"0\r\n\r\n", down.take())

    def test_in_an_answer_that_ends_with_its_connection(self) -> None:
        """A part of an answer must not pass for the whole of it, should the client be there after all."""
        down = self.stage.open()
        down.say(GET_1_0)
        self.upstream().say(ENDLESS)
        down.finish()
        self.assert_dropped(down, 200)
        self.assertTrue(down.saw_reset)

    def test_pipelined(self) -> None:
        """What came behind the request under way is for nobody either, and is not begun."""
        down = self.stage.open()
        down.say(GET * 3)
        down.finish()
        self.assert_dropped(down, 499)
        self.assertEqual(self.upstream().received.count(b"GET / "), 1)

    def test_own_replies(self) -> None:
        """What needs no endpoint is answered before anybody asks who is still there."""
        down = self.stage.open()
        down.say(GET.replace(b"shop", b"none") * 2)
        down.finish()
        self.assertEqual(down.take().count(b"HTTP/1.1 404 "), 2)
        self.assert_ended(404, 404)

    def test_answered(self) -> None:
        """An answer that is whole is sent to its end, however slowly it is taken."""
        down = self.stage.open(window=0)
        down.say(GET)
        body = b"x" * 65_000
        line = b"X: %b\r\n" % (b"x" * 450)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 65000\r\n" + line + b"\r\n" + body)
        self.assert_ended(200)
        down.finish()
        self.reactor.pass_time(5)
        self.assertFalse(down.closed)
        down.widen()
        self.assertEqual(body_of(down.take()), body)
        self.assertTrue(down.closed)
        self.assertFalse(down.saw_reset)

    def test_while_upstream_takes_nothing(self) -> None:
        """The end is seen within two ticks although nothing is read, with bytes unread before it."""
        down = self.stage.open()
        down.say(LARGE_POST)
        self.upstream().widen(0)
        for _ in range(40):
            down.say(b"x" * 20_000)
        self.assertGreater(down.unread, 100_000)
        self.reactor.pass_time(20)
        self.assertFalse(down.closed)
        down.finish()
        self.assertFalse(down.closed)
        self.reactor.pass_time(2)
        self.assert_dropped(down, 499)

    def test_while_it_takes_nothing(self) -> None:
        """The same while it does not take the answer that has begun."""
        down = self.stage.open(window=0)
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + b"x" * 200_000)
        down.finish()
        self.reactor.pass_time(2)
        self.assertTrue(self.upstream().saw_reset)
        self.assert_ended(200)

    def test_far_ahead(self) -> None:
        """The same while it has sent more requests ahead than are taken."""
        down = self.stage.open()
        down.say(GET)
        for _ in range(10):
            down.say(b"GET /%b HTTP/1.1\r\nHost: shop.test\r\n\r\n" % (b"x" * (MAX_AHEAD // 5)))
        self.assertGreater(down.unread, 0)
        down.finish()
        self.reactor.pass_time(2)
        self.assert_dropped(down, 499)

    def test_reset_while_nothing_is_read(self) -> None:
        """A connection that is gone is noticed as soon, on transports that do not tell, too."""
        down = self.stage.open()
        down.say(LARGE_POST)
        self.upstream().widen(0)
        for _ in range(40):
            down.say(b"x" * 20_000)
        down.reset()
        self.reactor.pass_time(2)
        self.assert_dropped(down, 499)


class LeavingTestsOnEpoll(LeavingTests):
    """The same on the epoll set."""

    on_epoll = True


class StayingTests(ProxyCase):
    """With the option: whoever ended its side is still answered."""

    limits = Limits(allow_half_close=True)

    def test_while_nothing_is_read(self) -> None:
        """An end behind a body that upstream takes slowly harms nothing, however long it takes."""
        self.answer_behind_end(secure=False)

    def test_while_nothing_is_read_over_tls(self) -> None:
        """Nor does it over TLS, where nobody knows whether a ``close_notify`` lies unread before it."""
        self.answer_behind_end(secure=True)

    def answer_behind_end(self, secure: bool) -> None:
        """End a client's side behind a body that upstream takes slowly; check that it is answered."""
        down = self.stage.open(secure=False)
        down.protocol.is_secure = secure  # type: ignore[attr-defined]
        down.say(LARGE_POST)
        self.upstream().widen(0)
        for _ in range(45):
            down.say(b"x" * 20_000)
        down.finish()
        self.reactor.pass_time(20)
        self.upstream().widen()
        self.assertEqual(len(body_of(self.upstream().received)), 900_000)
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)
        self.assertTrue(down.saw_end)
        self.assert_ended(200)


class TunnelEndTests(ProxyCase):
    """Either side of a tunnel may end before the other."""

    def open_tunnel(self) -> Peer:
        """Open a tunnel through which nothing has gone yet."""
        down = self.stage.open()
        down.say(ASK)
        self.upstream().say(SWITCH)
        down.take()
        self.upstream().take()
        return down

    def test_downstream_first(self) -> None:
        """Upstream gets downstream's last words and its end, and is heard until its own."""
        down = self.open_tunnel()
        down.say(b"bye")
        down.finish()
        self.assertEqual(self.upstream().take(), b"bye")
        self.assertTrue(self.upstream().saw_end)
        for _ in range(3):
            self.reactor.pass_time(TUNNEL_END_SECONDS - 2)
            self.upstream().say(b"wait")
        self.assertEqual(down.take(), b"wait" * 3)
        self.assertFalse(down.saw_end)
        self.upstream().finish()
        self.assertTrue(down.closed and self.upstream().closed)
        self.assertFalse(down.saw_reset or self.upstream().saw_reset)
        self.assert_ended(101)

    def test_upstream_first(self) -> None:
        """The same the other way round."""
        down = self.open_tunnel()
        self.upstream().say(b"bye")
        self.upstream().finish()
        self.assertEqual(down.take(), b"bye")
        self.assertTrue(down.saw_end)
        for _ in range(3):
            self.reactor.pass_time(TUNNEL_END_SECONDS - 2)
            down.say(b"wait")
        self.assertEqual(self.upstream().take(), b"wait" * 3)
        self.assertFalse(self.upstream().saw_end)
        down.finish()
        self.assertTrue(down.closed and self.upstream().closed)
        self.assertFalse(down.saw_reset or self.upstream().saw_reset)
        self.assert_ended(101)

    def test_no_last_words(self) -> None:
        """Whoever does not end its side in time has it ended, whichever side that is."""
        for first in ("down", "up"):
            down = self.open_tunnel()
            (down if first == "down" else self.upstream()).finish()
            self.reactor.pass_time(TUNNEL_END_SECONDS - 2)
            self.assertFalse(down.closed or self.upstream().closed)
            self.reactor.pass_time(4)
            self.assertTrue(down.saw_end and self.upstream().closed)
            self.reactor.pass_time(LINGER_GAP_SECONDS)
            self.assertTrue(down.closed)
        self.assert_ended(101, 101)

    def test_speaks_on(self) -> None:
        """A client that speaks on when the time of its tunnel is over is heard for a while, and has the end before that."""
        down = self.open_tunnel()
        self.upstream().finish()
        self.reactor.pass_time(TUNNEL_END_SECONDS + 2)
        self.assertTrue(self.upstream().closed)
        for _ in range(14):
            self.assertTrue(down.saw_end)
            self.assertFalse(down.closed or down.unread)
            down.say(b"?")
            self.reactor.pass_time(2)
        self.reactor.pass_time(4)
        self.assertTrue(down.closed)
        self.assert_ended(101)

    def test_nobody_takes_the_last_words(self) -> None:
        """Last words that nobody takes stop who says them, and do not keep the connections."""
        down = self.open_tunnel()
        down.widen(0)
        down.finish()
        for _ in range(20):
            self.upstream().say(b"x" * 50_000)
        self.assertGreater(self.upstream().unread, 800_000)
        self.reactor.pass_time(TUNNEL_END_SECONDS + 2)
        self.assertTrue(self.upstream().closed)
        self.assert_ended(101)
        self.reactor.pass_time(100)
        self.assertTrue(down.closed)

    def test_reset(self) -> None:
        """A side that is reset after it ended takes the other with it."""
        for first in ("down", "up"):
            down = self.open_tunnel()
            peer = down if first == "down" else self.upstream()
            peer.finish()
            peer.reset()
            self.reactor.pass_time(2)
            self.upstream().say(b"?")
            down.say(b"?")
            self.reactor.pass_time(2)
            self.assertTrue(down.saw_end and self.upstream().closed, first)
            self.reactor.pass_time(LINGER_GAP_SECONDS)
            self.assertTrue(down.closed, first)
        self.assert_ended(101, 101)

    def clog(self, sender: Peer, taker: Peer) -> None:
        """Have *sender* say more than is read of it, as *taker* takes nothing."""
        taker.widen(0)
        for _ in range(20):
            sender.say(b"x" * 50_000)
        self.assertGreater(sender.unread, 800_000)

    def test_ends_unread(self) -> None:
        """Who has ended its side behind what nobody takes, and so nobody reads, keeps no tunnel, whichever side that is."""
        for first in ("down", "up"):
            down = self.open_tunnel()
            sides = (down, self.upstream()) if first == "down" else (self.upstream(), down)
            self.clog(*sides)
            sides[0].finish()
            self.reactor.pass_time(2 * TUNNEL_END_SECONDS + LINGER_SECONDS + 4)
            self.assertTrue(self.upstream().closed, first)
            self.reactor.pass_time(100)
            self.assertTrue(down.closed, first)
        self.assert_ended(101, 101)

    def test_is_read_at_last(self) -> None:
        """As long as something is taken it is waited for, and all that was said arrives, with the end behind it."""
        for first in ("down", "up"):
            down = self.open_tunnel()
            sender, taker = (down, self.upstream()) if first == "down" else (self.upstream(), down)
            self.clog(sender, taker)
            sender.finish()
            for _ in range(20):
                self.reactor.pass_time(TUNNEL_END_SECONDS - 2)
                taker.widen(100)
            self.assertFalse(down.closed or self.upstream().closed, first)
            taker.widen()
            self.assertEqual(len(taker.take()), 1_000_000)
            self.assertTrue(taker.saw_end)
            taker.finish()
            self.assertTrue(down.closed and self.upstream().closed, first)
            self.assertFalse(down.saw_reset or self.upstream().saw_reset)
        self.assert_ended(101, 101)

    def test_rests_full(self) -> None:
        """A tunnel of which no side has ended stays while one takes nothing of what the other has said, for as long as it may do so."""
        for first in ("down", "up"):
            down = self.open_tunnel()
            sides = (down, self.upstream()) if first == "down" else (self.upstream(), down)
            self.clog(*sides)
            self.reactor.pass_time(self.stage.site.context.limits.send_seconds - 5)
            sides[1].widen()
            self.assertEqual(len(sides[1].take()), 1_000_000)
            self.reactor.pass_time(3600)
            sides[0].say(b"more")
            self.assertEqual(sides[1].take(), b"more")
            down.reset()

    def test_not_used_again(self) -> None:
        """What was a tunnel carries no other request."""
        down = self.open_tunnel()
        self.upstream().finish()
        down.finish()
        other = self.stage.open()
        other.say(GET)
        self.assert_upstreams(2)
        self.upstream().say(OK)
        self.assert_status(other.take(), 200)

    def test_two_endpoints(self) -> None:
        """The end of a tunnel is no fault of its endpoint."""
        self.stage.publish((ONE, TWO))
        down = self.open_tunnel()
        self.upstream().finish()
        down.finish()
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), 0)


class TunnelEndTestsOnEpoll(TunnelEndTests):
    """The same on the epoll set."""

    on_epoll = True
