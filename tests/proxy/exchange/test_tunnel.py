"""Tests of tunnels: WebSockets that pass through, as other upgrades do."""

from typing import Any, cast

from twisted.internet.defer import Deferred

from ingress.filters import AnswerEdit, Facts, Filter, Reply
from ingress.model.serving.limits import AskedTimeouts, Limits
from ingress.proxy.contract.limits import LINGER_SECONDS, MAX_HELD, TUNNEL_END_SECONDS
from tests.fakes.specs import SpecOf
from tests.fakes.transports import Peer
from tests.proxy.playing import GET, OK, ONE, TWO, ProxyCase, fields_of

ASK = (
    b"GET /chat HTTP/1.1\r\nHost: shop.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
SWITCH = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Accept: x\r\n\r\n"
)


class TunnelTests(ProxyCase):
    """The handshake, and the bytes after it."""

    def test_both_ways(self) -> None:
        """After the handshake bytes pass both ways as they are, also those sent along with it."""
        down = self.stage.open()
        down.say(ASK + b"early")
        got = self.upstream().take()
        self.assertEqual(fields_of(got)[b"connection"], b"Upgrade")
        self.assertEqual(fields_of(got)[b"upgrade"], b"websocket")
        self.assertEqual(fields_of(got)[b"sec-websocket-key"], b"AAAAAAAAAAAAAAAAAAAAAA==")
        self.upstream().say(SWITCH + b"hello")
        answer = down.take()
        self.assertTrue(answer.endswith(b"\r\n\r\nhello"))
        self.assertEqual(fields_of(answer)[b"upgrade"], b"websocket")
        self.assertEqual(fields_of(answer)[b"sec-websocket-accept"], b"x")
        self.assertEqual(self.upstream().take(), b"early")
        down.say(b"\x81\x00", GET)
        self.assertEqual(self.upstream().take(), b"\x81\x00" + GET)
        self.upstream().say(b"\r\n\r\n", OK)
        self.assertEqual(down.take(), b"\r\n\r\n" + OK)
        self.assert_ended()

    def test_outlives_deadlines_and_routes(self) -> None:
        """A quiet tunnel stays, whatever becomes of its route."""
        down = self.stage.open()
        down.say(ASK)
        self.upstream().say(SWITCH)
        down.take()
        self.stage.publish((TWO,), host="other.test")
        self.reactor.pass_time(3600)
        self.upstream().say(b"still here")
        self.assertEqual(down.take(), b"still here")

    def test_filtered(self) -> None:
        """The head that opens a tunnel passes the filters of its route, and what follows it does not."""

        class Marks(Filter):
            def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
                edit.put(b"X-Mark", b"%d" % edit.status)

        self.stage.publish((ONE,), filters=(SpecOf(Marks()),))
        down = self.stage.open()
        down.say(ASK + b"early")
        self.upstream().take()
        self.upstream().say(SWITCH + b"hello")
        answer = down.take()
        self.assertEqual(fields_of(answer)[b"x-mark"], b"101")
        self.assertTrue(answer.startswith(b"HTTP/1.1 101 ") and answer.endswith(b"\r\n\r\nhello"))
        self.assertEqual(self.upstream().take(), b"early")
        down.say(b"more")
        self.assertEqual(self.upstream().take(), b"more")

    def test_awaited(self) -> None:
        """A tunnel waits for a decision about its head with all that is said; one that is not wanted is none."""
        coming: list[Deferred[Reply | None]] = []

        class Waits(Filter):
            async def on_answer(self, facts: Facts, edit: AnswerEdit) -> Reply | None:
                coming.append(Deferred())
                return await coming[-1]

        self.stage.publish((ONE,), filters=(SpecOf(Waits()),))
        for reply in (None, Reply(403, body=b"no")):
            down = self.stage.open()
            down.say(ASK)
            self.upstream().say(SWITCH + b"hello")
            self.upstream().say(b" there")
            down.say(b"early")
            self.assertEqual(down.received, b"")
            coming[-1].callback(reply)
            self.reactor.settle()
            if reply is None:
                self.assertTrue(down.take().endswith(b"\r\n\r\nhello there"))
                self.assertTrue(self.upstream().take().endswith(b"early"))
                down.reset()
            else:
                self.assert_status(down.take(), 403)
                self.assertTrue(self.upstream().closed)
        self.assert_ended(101, 403)

    def test_reasons(self) -> None:
        """A tunnel that is broken off is no failure, but its record says why it was; one that a side has ended says nothing."""
        silent = "upstream was silent for too long"
        for asked, end, why in (
            (None, self.finish, ""),
            (None, Peer.reset, ""),
            (None, self.reset, "connection lost"),
            (AskedTimeouts(read_seconds=3), self.rest, silent),
            (None, self.cut_off, "the process ends"),
        ):
            self.stage.publish((ONE,), timeouts=asked)
            down = self.stage.open()
            down.say(ASK)
            self.upstream().say(SWITCH)
            end(down)
            record = self.metrics.records[-1]
            self.assertEqual((record.status, record.cause, record.reason), (101, None, why))

    def finish(self, down: Peer) -> None:
        """Have both sides end."""
        self.upstream().finish()
        down.finish()

    def reset(self, down: Peer) -> None:
        """Have the endpoint break off."""
        self.upstream().reset()

    def rest(self, down: Peer) -> None:
        """Have nothing happen for longer than the route asks for."""
        self.reactor.pass_time(6)

    def cut_off(self, down: Peer) -> None:
        """End all connections, with the process."""
        self.stage.site.abort()
        self.reactor.settle()

    def test_half_close(self) -> None:
        """When downstream ends its side, upstream is told, and heard until it ends, too."""
        down = self.stage.open(window=0)
        down.say(ASK)
        self.upstream().say(SWITCH + b"12345")
        down.finish()
        self.assertTrue(self.upstream().saw_end)
        self.assertFalse(self.upstream().closed)
        self.upstream().say(b"678")
        self.upstream().finish()
        self.assert_ended(101)
        down.widen()
        self.assertTrue(down.take().endswith(b"12345678"))

    def test_half_close_before_switch(self) -> None:
        """An end that came before the switch is passed on behind what was said before it, and bounds the tunnel all the same."""
        self.stage.site.context.limits = Limits(allow_half_close=True)
        down = self.stage.open()
        down.say(ASK + b"early")
        down.finish()
        self.assertFalse(self.upstream().closed)
        self.upstream().take()
        self.upstream().say(SWITCH)
        self.assertEqual(self.upstream().take(), b"early")
        self.assertTrue(self.upstream().saw_end)
        self.reactor.pass_time(TUNNEL_END_SECONDS + 2)
        self.assertTrue(down.closed and self.upstream().closed)

    def test_downstream_ends(self) -> None:
        """When downstream ends, upstream gets what was said last and then the end; one line is logged."""
        for end in ("finish", "reset"):
            down = self.stage.open()
            down.say(ASK)
            self.upstream().say(SWITCH + b"12345")
            self.upstream().take()
            down.say(b"bye")
            getattr(down, end)()
            self.assertEqual(self.upstream().take(), b"bye")
            self.assertTrue(self.upstream().saw_end)
            self.upstream().finish()
            self.assertTrue(down.closed)
        self.assert_ended(101, 101)
        lines = self.stage.log_lines()
        self.assertEqual(len(lines), 2)
        self.assertIn(b'"/chat" 101 5 ', lines[0])

    def test_upstream_ends(self) -> None:
        """When upstream ends, downstream gets what was said last and then the end."""
        for end in ("finish", "reset"):
            down = self.stage.open()
            down.say(ASK)
            self.upstream().say(SWITCH)
            self.upstream().say(b"bye")
            getattr(self.upstream(), end)()
            self.assertTrue(down.received.endswith(b"bye"))
            self.assertTrue(down.saw_end)
            down.finish()
        self.assert_ended(101, 101)

    def test_back_pressure(self) -> None:
        """Each side is held up when the other does not take its bytes, and nothing is lost."""
        down = self.stage.open()
        down.say(ASK)
        self.upstream().say(SWITCH)
        down.take()
        self.upstream().take()
        for sender, taker in ((down, self.upstream()), (self.upstream(), down)):
            taker.widen(0)
            for _ in range(20):
                sender.say(b"x" * 50_000)
            self.assertGreater(sender.unread, 800_000)
            taker.widen()
            self.assertEqual(len(taker.take()), 1_000_000)
            self.assertEqual(sender.unread, 0)

    def test_full(self) -> None:
        """A tunnel of which a side, or each, takes nothing for as long as it may ends; who takes a little keeps it."""
        limits = self.stage.site.context.limits
        for is_down_stuck, is_up_stuck in ((True, False), (False, True), (True, True)):
            down = self.stage.open()
            down.say(ASK)
            up = self.upstream()
            up.say(SWITCH)
            down.take()
            up.take()
            for sender, taker, is_stuck in ((up, down, is_down_stuck), (down, up, is_up_stuck)):
                if is_stuck:
                    taker.widen(0)
                    for _ in range(20):
                        sender.say(b"x" * 50_000)
            for _ in range(3):
                self.reactor.pass_time(limits.send_seconds - 5)
                for taker, is_stuck in ((down, is_down_stuck), (up, is_up_stuck)):
                    if is_stuck:
                        taker.widen(10)
            self.assertFalse(down.closed or up.closed)
            self.reactor.pass_time(limits.send_seconds + 2)
            if is_down_stuck:
                self.assertTrue(down.closed)
            if is_up_stuck:
                self.assertTrue(up.closed)
            self.reactor.pass_time(2 * LINGER_SECONDS + 2)
            self.assertTrue(down.closed and up.closed)
        self.assert_ended(101, 101, 101)

    def test_last_words_to_a_slow_upstream(self) -> None:
        """Upstream has a while to take what downstream said last, and no longer."""
        down = self.stage.open()
        down.say(ASK)
        self.upstream().say(SWITCH)
        self.upstream().take()
        self.upstream().widen(0)
        down.say(b"last words")
        down.finish()
        self.upstream().say(b"still talking")
        self.reactor.pass_time(20)
        self.assertTrue(down.closed)
        self.assertFalse(self.upstream().closed)
        self.upstream().widen()
        self.upstream().say(b"and on")
        self.assertEqual(self.upstream().take(), b"last words")
        self.assertTrue(self.upstream().saw_end)
        self.assertFalse(self.upstream().closed or self.upstream().unread)
        self.upstream().finish()
        self.assertTrue(self.upstream().closed)

    def test_last_words_that_upstream_takes_slowly(self) -> None:
        """As long as upstream takes what downstream said last, it may talk, and when downstream has left it gets all of that."""
        down = self.stage.open()
        down.say(ASK)
        self.upstream().say(SWITCH)
        self.upstream().take()
        self.upstream().widen(0)
        down.say(b"x" * 300)
        down.finish()
        for _ in range(3):
            self.reactor.pass_time(TUNNEL_END_SECONDS - 2)
            self.upstream().widen(10)
        self.upstream().say(b"answer")
        self.assertTrue(down.take().endswith(b"\r\n\r\nanswer"))
        down.reset()
        for _ in range(5):
            self.reactor.pass_time(LINGER_SECONDS - 2)
            self.assertFalse(self.upstream().closed)
            self.upstream().widen(50)
        self.assertEqual(self.upstream().take(), b"x" * 280)
        self.reactor.pass_time(2 * LINGER_SECONDS + 2)
        self.assertTrue(self.upstream().closed)

    def test_last_words_that_downstream_takes_slowly(self) -> None:
        """As long as downstream takes what upstream said last, it may talk, too."""
        down = self.stage.open()
        down.say(ASK)
        self.upstream().say(SWITCH)
        down.take()
        down.widen(0)
        self.upstream().say(b"x" * 30)
        self.upstream().finish()
        for _ in range(3):
            self.reactor.pass_time(TUNNEL_END_SECONDS - 2)
            down.widen(10)
        down.say(b"thanks")
        self.assertTrue(self.upstream().take().endswith(b"\r\n\r\nthanks"))
        self.assertTrue(down.saw_end)
        self.reactor.pass_time(2 * TUNNEL_END_SECONDS + 2)
        self.assertTrue(self.upstream().closed)

    def test_refused(self) -> None:
        """An upstream that does not switch answers as usual, and the connection goes on."""
        down = self.stage.open()
        down.say(ASK)
        self.upstream().say(b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n")
        self.assert_status(down.take(), 426)
        down.say(GET)
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)
        self.assert_upstreams(1)

    def test_other_protocols(self) -> None:
        """Any upgrade that upstream agrees to is a tunnel, of which it is told as the client asked."""
        for asked, agreed in (
            (b"SPDY/3.1", b"SPDY/3.1"),
            (b"SPDY/3.1", b"spdy/3.1"),
            (b"tcp, SPDY/3.1", b"tcp"),
        ):
            down = self.stage.open()
            down.say(ASK.replace(b"websocket", asked) + b"early")
            fields = fields_of(self.upstream().take())
            self.assertEqual((fields[b"connection"], fields[b"upgrade"]), (b"Upgrade", asked))
            self.upstream().say(SWITCH.replace(b"websocket", agreed) + b"hello")
            answer = down.take()
            self.assertTrue(answer.startswith(b"HTTP/1.1 101 ") and answer.endswith(b"\r\n\r\nhello"))
            self.assertEqual(fields_of(answer)[b"upgrade"], agreed)
            self.assertEqual(self.upstream().take(), b"early")
            down.say(GET)
            self.assertEqual(self.upstream().take(), GET)
            down.reset()
            self.upstream().finish()
        self.assert_ended(101, 101, 101)

    def test_with_a_body(self) -> None:
        """A tunnel begins behind the body of its request; what comes behind that is the tunnel's, or the next request."""
        for framing, body in (
            (b"Content-Length: 0\r\n", b""),
            (b"Content-Length: 2\r\n", b"{}"),
            (b"Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n"),
        ):
            ask = ASK.replace(b"GET", b"POST").replace(b"websocket", b"tcp")[:-2] + framing + b"\r\n"
            down = self.stage.open()
            down.say(ask, body + GET)
            self.assertTrue(self.upstream().take().endswith(b"\r\n\r\n" + body))
            self.upstream().say(SWITCH.replace(b"websocket", b"tcp"))
            self.assert_status(down.take(), 101)
            self.assertEqual(self.upstream().take(), GET)
            down.reset()
            self.upstream().finish()
            down = self.stage.open()
            down.say(ask, body + GET)
            self.upstream().take()
            self.upstream().say(OK)
            self.assert_status(down.take(), 200)
            self.assertTrue(self.upstream().take().startswith(b"GET "))
            self.upstream().say(OK)
            self.assert_status(down.take(), 200)
            down.reset()

    def test_holds_no_body(self) -> None:
        """What was held of a body, to be sent once more, is let go of when the tunnel begins."""
        down = self.stage.open()
        down.say(ASK[:-2] + b"Content-Length: 5\r\n\r\nhello")
        passage = cast(Any, down.protocol).exchange.passage
        self.assertIsNotNone(passage.held)
        self.upstream().say(SWITCH)
        self.assert_status(down.take(), 101)
        self.assertIsNone(passage.held)

    def test_behind_a_body_that_waited(self) -> None:
        """A client that had to wait with a body, since nobody took it yet, is read again once there is a tunnel."""
        coming: list[Deferred[Reply | None]] = []

        class Waits(Filter):
            async def on_request(self, facts: Facts) -> Reply | None:
                coming.append(Deferred())
                return await coming[-1]

        self.stage.publish((ONE,), filters=(SpecOf(Waits()),))
        for size in (MAX_HELD, MAX_HELD + 1):
            down = self.stage.open()
            down.say(ASK[:-2] + b"Content-Length: %d\r\n\r\n" % size + bytes(size))
            coming[-1].callback(None)
            self.reactor.settle()
            self.assertTrue(self.upstream().take().endswith(b"\r\n\r\n" + bytes(size)))
            self.upstream().say(SWITCH)
            self.assert_status(down.take(), 101)
            down.say(b"early")
            self.assertEqual(self.upstream().take(), b"early")
            down.reset()
            self.upstream().finish()
        self.assert_ended(101, 101)

    def test_too_soon(self) -> None:
        """Upstream may not switch amid the body, whose rest would be taken for what the tunnel begins with."""
        down = self.stage.open()
        down.say(ASK[:-2] + b"Content-Length: 5\r\n\r\nhel")
        self.upstream().say(SWITCH + b"hello")
        self.assert_status(down.take(), 502)
        self.assertTrue(self.upstream().closed)
        self.assert_ended(502)

    def test_hidden_requests(self) -> None:
        """What would carry further requests past the rules is a plain request upstream, and no tunnel, whatever upstream says."""
        for protocol in (b"h2c", b"TLS/1.0", b"HTTP/2.0", b"websocket, h2c"):
            down = self.stage.open()
            down.say(ASK.replace(b"websocket", protocol))
            fields = fields_of(self.upstream().received)
            self.assertNotIn(b"upgrade", fields, protocol)
            self.assertNotIn(b"connection", fields, protocol)
            self.upstream().say(SWITCH.replace(b"websocket", protocol))
            self.assert_status(down.take(), 502)

    def test_other_answer(self) -> None:
        """An upstream that switches to another protocol than the one asked for, or does not say to which, gets 502."""
        for asked, said in (
            (b"websocket", b"Upgrade: h2c\r\n"),
            (b"SPDY/3.1", b"Upgrade: websocket\r\n"),
            (b"SPDY/3.1", b"Upgrade: h2c\r\nUpgrade: SPDY/3.1\r\n"),
            (b"SPDY/3.1", b""),
        ):
            down = self.stage.open()
            down.say(ASK.replace(b"websocket", asked))
            self.upstream().say(SWITCH.replace(b"Upgrade: websocket\r\n", said))
            self.assert_status(down.take(), 502)

    def test_unasked(self) -> None:
        """An upstream that switches for who asks in HTTP/1.0, or without Connection, gets 502: it was asked for nothing."""
        for ask in (
            ASK.replace(b"HTTP/1.1", b"HTTP/1.0"),
            ASK.replace(b"Connection: keep-alive, Upgrade\r\n", b""),
        ):
            down = self.stage.open()
            down.say(ask)
            self.assertNotIn(b"upgrade", fields_of(self.upstream().received))
            self.upstream().say(SWITCH)
            self.assert_status(down.take(), 502)

    def test_drain(self) -> None:
        """A tunnel outlives the beginning of a drain and ends with the abort at its end."""
        down = self.stage.open()
        down.say(ASK)
        self.upstream().say(SWITCH)
        drained = self.stage.site.connections.drain()
        self.assertNoResult(drained)
        down.say(b"still")
        self.assertTrue(self.upstream().received.endswith(b"still"))
        self.stage.site.abort()
        self.reactor.settle()
        self.successResultOf(drained)
        self.assert_ended(101)
