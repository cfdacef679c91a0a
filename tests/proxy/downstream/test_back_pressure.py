"""Tests of back-pressure: whoever does not take bytes holds up whoever sends them."""

from ingress.model.upstream.retries import RetryRule
from ingress.proxy.contract.limits import MAX_HELD, UPSTREAM_IDLE_SECONDS
from tests.fakes.transports import Peer
from tests.proxy.playing import GET, OK, ONE, TWO, ProxyCase, body_of

BIG = 1_000_000
PIECE = b"x" * 50_000
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % BIG
POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n" % BIG
ONE_READ = 64 * 1024
"""What a transport reads at once, and what it queues before it calls itself full."""


def pour(peer: Peer, total: int = BIG) -> None:
    """Let *peer* send *total* bytes, as far as the proxy reads them."""
    for _ in range(total // len(PIECE)):
        peer.say(PIECE)


class AnswerTests(ProxyCase):
    """A downstream that does not read."""

    def test_upstream_is_paused(self) -> None:
        """What downstream does not take stays with upstream, but for two reads."""
        down = self.stage.open(window=0)
        down.say(GET)
        self.upstream().say(ANSWER)
        pour(self.upstream())
        self.assertLessEqual(BIG - self.upstream().unread, 2 * ONE_READ)
        down.widen()
        self.assertEqual(self.upstream().unread, 0)
        self.assertEqual(len(body_of(down.received)), BIG)
        self.assert_ended(200)

    def test_bit_by_bit(self) -> None:
        """However little downstream takes at a time, the answer arrives whole and in order."""
        down = self.stage.open(window=0)
        down.say(GET)
        whole = b"".join(b"%09d\n" % number for number in range(BIG // 10))
        self.upstream().say(ANSWER)
        self.upstream().say(whole)
        for _ in range(BIG // 30_000 + 2):
            down.widen(30_000)
        self.assertEqual(body_of(down.received), whole)

    def test_silence_is_ours(self) -> None:
        """An upstream that is not read is not blamed for its silence."""
        down = self.stage.open(window=0)
        down.say(GET)
        self.upstream().say(ANSWER)
        pour(self.upstream())
        for _ in range(4):
            down.widen(200_000)
            self.reactor.pass_time(30)
            self.assertFalse(down.closed)
        down.widen()
        self.assertEqual(len(body_of(down.received)), BIG)

    def test_another_attempt(self) -> None:
        """A downstream that took nothing of what came before a failed attempt holds up the next one, too."""
        self.stage.publish((ONE, TWO), retries=RetryRule(on_invalid=True))
        hint = b"HTTP/1.1 103 Early Hints\r\nLink: %b\r\n\r\n" % bytes(10_000).replace(b"\0", b"x")
        down = self.stage.open(window=0)
        down.say(GET)
        self.upstream().say(*[hint] * 6, hint + b"nonsense\r\n\r\n")
        self.assert_upstreams(2)
        self.upstream().say(ANSWER)
        pour(self.upstream())
        self.assertLessEqual(BIG - self.upstream().unread, 2 * ONE_READ)
        down.widen()
        self.assertTrue(down.received.endswith(PIECE))
        self.assert_ended(200)

    def test_last_bytes_fill_downstream(self) -> None:
        """A connection whose last bytes fill downstream is read for its next exchange."""
        size = 2 * ONE_READ
        down = self.stage.open(window=0)
        down.say(GET)
        upstream = self.upstream()
        upstream.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % ONE_READ)
        upstream.say(b"x" * ONE_READ)
        other = self.stage.open()
        other.say(GET)
        self.assert_upstreams(1)
        upstream.say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        self.assertEqual(body_of(other.received), b"ok")
        down.widen()
        self.assertEqual(len(body_of(down.received)), size // 2)

    def test_interim_answers_fill_downstream(self) -> None:
        """A connection that is paused before its final answer comes is read for its next exchange."""
        down = self.stage.open(window=0)
        down.say(GET)
        upstream = self.upstream()
        upstream.say(b"HTTP/1.1 103 Early\r\nX: %b\r\n\r\n" % (b"x" * 60_000))
        upstream.say(b"HTTP/1.1 103 Early\r\nX: %b\r\n\r\n" % (b"x" * 10_000) + OK)
        other = self.stage.open()
        other.say(GET)
        self.assert_upstreams(1)
        upstream.say(OK)
        self.assertEqual(body_of(other.received), b"ok")

    def test_paused_answer_that_ends(self) -> None:
        """A connection that was paused and resumed is reused like any other."""
        down = self.stage.open(window=0)
        down.say(GET)
        self.upstream().say(ANSWER)
        pour(self.upstream())
        down.widen()
        down.take()
        down.say(GET)
        self.assert_upstreams(1)
        self.upstream().say(ANSWER)
        pour(self.upstream())
        self.assertEqual(len(body_of(down.received)), BIG)


class RequestTests(ProxyCase):
    """An upstream that does not read."""

    def test_downstream_is_paused(self) -> None:
        """What upstream does not take stays with downstream, but for two reads."""
        self.connector.window = 0
        down = self.stage.open()
        down.say(POST)
        pour(down)
        self.assertLessEqual(BIG - down.unread, 2 * ONE_READ)
        self.upstream().widen()
        self.assertEqual(down.unread, 0)
        self.assertEqual(len(body_of(self.upstream().received)), BIG)

    def test_first_write_fills_upstream(self) -> None:
        """What was held for a slow connection counts: downstream is not read on when that fills it."""
        self.connector.window = 0
        self.connector.is_slow = True
        down = self.stage.open()
        down.say(POST)
        pour(down)
        held = BIG - down.unread
        self.assertLessEqual(held, MAX_HELD + ONE_READ)
        self.connector.let_through()
        self.assertEqual(BIG - down.unread, held)
        self.upstream().widen()
        self.assertEqual(len(body_of(self.upstream().received)), BIG)

    def test_gap_is_upstream_s(self) -> None:
        """A peer whose body upstream does not take is not blamed for the gap."""
        self.connector.window = 0
        down = self.stage.open()
        down.say(POST)
        pour(down)
        self.reactor.pass_time(50)
        self.assertEqual(down.received, b"")
        self.upstream().widen(200_000)
        self.reactor.pass_time(50)
        self.assertEqual(down.received, b"")

    def test_gap_while_connecting(self) -> None:
        """A body that is held back until there is a connection is nobody's fault either."""
        self.connector.is_slow = True
        down = self.stage.open()
        down.say(POST)
        pour(down)
        self.reactor.pass_time(40)
        self.assertEqual(down.received, b"")
        self.connector.let_through()
        self.assertEqual(len(body_of(self.upstream().received)), BIG)

    def test_chunked(self) -> None:
        """A chunked body is held up in the same way."""
        self.connector.window = 0
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(20):
            down.say(b"%x\r\n%b\r\n" % (len(PIECE), PIECE))
        self.assertLessEqual(BIG - down.unread, 2 * ONE_READ)
        down.say(b"0\r\n\r\n")
        self.upstream().widen()
        self.assertTrue(self.upstream().received.endswith(b"\r\n0\r\n\r\n"))

    def test_early_answer_from_a_full_upstream(self) -> None:
        """An upstream that answers without reading gets its answer through."""
        self.connector.window = 0
        down = self.stage.open()
        down.say(POST)
        pour(down)
        self.upstream().say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        self.assert_status(down.received, 413)
        self.assertEqual(down.unread, 0, "what still comes is taken and thrown away")
        self.assertTrue(self.upstream().saw_reset)


class IdleTests(ProxyCase):
    """Upstream connections between exchanges."""

    def test_idle_limit(self) -> None:
        """An upstream connection that nobody needs is closed after its time."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        self.reactor.pass_time(UPSTREAM_IDLE_SECONDS - 1)
        self.assertFalse(self.upstream().saw_end)
        self.reactor.pass_time(2)
        self.assertTrue(self.upstream().saw_end)
        down.say(GET)
        self.assert_upstreams(2)

    def test_closing_does_not_last(self) -> None:
        """A connection that is closed while upstream takes nothing is aborted after a while."""
        down = self.stage.open()
        self.connector.window = 0
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        self.assert_status(down.received, 200)
        self.assertFalse(self.upstream().closed)
        self.reactor.pass_time(32)
        self.assertTrue(self.upstream().closed)
        self.assertEqual(self.metrics.value("ingress_upstream_connections"), 0)

    def test_nothing_stays_of_an_endpoint(self) -> None:
        """When the last connection to an endpoint is gone, the pool knows nothing of it."""
        for busy_at_the_end in (False, True):
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            if busy_at_the_end:
                down.say(GET)
                self.upstream().say(b"HTTP/1.1")
            self.upstream().reset()
            self.assertNotIn(ONE, self.stage.pool.endpoints)
        self.assert_upstreams(2)
