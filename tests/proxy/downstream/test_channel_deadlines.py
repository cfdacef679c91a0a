"""How long the channel waits, and for what; and how it ends when the process does."""

from ingress.model.serving.limits import Limits
from tests.proxy.downstream.heads import LARGE_POST
from tests.proxy.playing import GET, OK, ProxyCase, body_of, fields_of


class DeadlineTests(ProxyCase):
    """What the deadlines ends, each within about a second of its time."""

    def test_head(self) -> None:
        """A head that is not complete in 10 seconds is answered by 408, however it trickles."""
        down = self.stage.open()
        for octet in b"GET / HTT":
            down.say(bytes([octet]))
            self.assertEqual(down.received, b"")
            self.reactor.pass_time(1)
        self.reactor.pass_time(2)
        self.assert_status(down.received, 408)
        self.assertTrue(down.saw_end)
        self.assert_ended(408)

    def test_silent_connection(self) -> None:
        """A connection that never says anything is closed without a word."""
        down = self.stage.open()
        self.reactor.pass_time(12)
        self.assertEqual(down.received, b"")
        self.assertTrue(down.closed)
        self.assert_ended()

    def test_empty_lines_do_not_count(self) -> None:
        """Empty lines are no way to stay connected without a request."""
        down = self.stage.open()
        for _ in range(4):
            self.reactor.pass_time(8)
            down.say(b"\r\n")
        self.assertTrue(down.saw_end)

    def test_keep_alive(self) -> None:
        """Between two requests a peer may rest for 75 seconds."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        down.take()
        self.reactor.pass_time(Limits().keep_alive_seconds - 1)
        self.assertFalse(down.closed)
        self.reactor.pass_time(2)
        self.assertTrue(down.closed)
        self.assertEqual(down.received, b"")

    def test_body_gap(self) -> None:
        """A body that stops for 30 seconds is answered by 408, and upstream is aborted."""
        down = self.stage.open()
        down.say(LARGE_POST)
        for _ in range(3):
            self.reactor.pass_time(25)
            down.say(b"1" * 30_000)
        self.assertEqual(down.received, b"")
        self.reactor.pass_time(32)
        self.assert_status(down.received, 408)
        self.assertTrue(self.upstream().saw_reset)
        self.assert_ended(408)

    def test_body_rate(self) -> None:
        """A body that never stops, but comes at less than 1 kB a second, is answered by 408 all the same."""
        down = self.stage.open()
        down.say(LARGE_POST)
        for _ in range(5):
            self.reactor.pass_time(5)
            down.say(b"1")
        self.assertEqual(down.received, b"")
        for _ in range(3):
            self.reactor.pass_time(5)
            down.say(b"1")
        self.assert_status(down.received, 408)
        self.assertTrue(self.upstream().saw_reset)

    def test_body_rate_while_upstream_is_slow(self) -> None:
        """The time in which upstream takes nothing is not held against the sender of a body."""
        down = self.stage.open()
        down.say(LARGE_POST)
        self.upstream().widen(0)
        down.say(b"1" * 100_000)
        self.reactor.pass_time(50)
        self.assertEqual(down.received, b"")
        self.upstream().widen()
        self.reactor.pass_time(5)
        down.say(b"1")
        self.assertEqual(down.received, b"")
        self.assertFalse(self.upstream().closed)

    def test_answer_may_take_time(self) -> None:
        """Waiting for upstream is not held against downstream."""
        down = self.stage.open()
        down.say(GET)
        for _ in range(5):
            self.reactor.pass_time(50)
            self.upstream().say(b"HTTP/1.1 102 Processing\r\n\r\n")
        self.upstream().say(OK)
        self.assertIn(b"200 OK", down.received)

    def test_peer_that_takes_nothing(self) -> None:
        """A peer that takes nothing of its answer for 60 seconds is cut, and upstream freed."""
        down = self.stage.open(window=0)
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
        self.upstream().say(b"x" * 100_000)
        self.reactor.pass_time(58)
        self.assertFalse(down.closed)
        self.reactor.pass_time(4)
        self.assertTrue(down.closed)
        self.assertTrue(self.upstream().closed)

    def test_peer_that_takes_slowly(self) -> None:
        """A peer that takes its answer bit by bit is given time, as long as it takes enough."""
        down = self.stage.open(window=0)
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
        for _ in range(3):
            self.upstream().say(b"x" * 100_000)
            self.reactor.pass_time(50)
            self.assertFalse(down.closed)
            down.widen(150_000)
        self.assertEqual(len(body_of(bytes(down.received))), 300_000)
        self.assertFalse(down.closed)


class DrainTests(ProxyCase):
    """The end of the process."""

    def test_drain(self) -> None:
        """Draining closes what rests, lets what runs finish with Connection: close, and then fires."""
        resting, busy, beginning = self.stage.open(), self.stage.open(), self.stage.open()
        resting.say(GET)
        self.upstream().say(OK)
        busy.say(GET)
        beginning.say(GET[:10])
        drained = self.stage.site.connections.drain()
        self.reactor.settle()
        self.assertTrue(resting.closed)
        self.assertFalse(busy.closed)
        self.upstream().say(OK)
        self.assertEqual(fields_of(busy.received)[b"connection"], b"close")
        self.assertTrue(busy.closed)
        self.assertNoResult(drained)
        beginning.say(GET[10:])
        self.upstream().say(OK)
        self.assertEqual(fields_of(beginning.received)[b"connection"], b"close")
        self.assertTrue(beginning.closed)
        self.successResultOf(drained)
        self.assert_ended(200, 200, 200)

    def test_drain_amid_answer(self) -> None:
        """A connection whose answer's head was sent before closes with the last byte, though it promised to stay."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        self.assertTrue(down.take().endswith(b"ab"))
        drained = self.stage.site.connections.drain()
        self.upstream().say(b"cd")
        self.assertEqual(down.take(), b"cd")
        self.assertTrue(down.closed)
        self.successResultOf(drained)

    def test_drain_without_connections(self) -> None:
        """Draining with nothing open is over at once."""
        self.successResultOf(self.stage.site.connections.drain())

    def test_abort(self) -> None:
        """What does not finish in time is aborted, both ways."""
        down = self.stage.open()
        down.say(GET)
        drained = self.stage.site.connections.drain()
        self.stage.site.abort()
        self.reactor.settle()
        self.assertTrue(down.saw_reset)
        self.assertTrue(self.upstream().saw_reset)
        self.successResultOf(drained)
