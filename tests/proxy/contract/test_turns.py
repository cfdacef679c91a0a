"""What one connection of HTTP/1.1 may have done in one turn, on both of its sides."""

from __future__ import annotations

from ingress.http.body import LINES_AT_ONCE
from ingress.http.work import LATER_TURN_WORK, REQUEST_WORK, TURN_WORK
from ingress.model.serving.limits import Limits
from ingress.proxy.contract.limits import MAX_AHEAD
from tests.fakes.specs import SpecOf
from tests.http.strict import read_request
from tests.proxy.contract.turns import CountingQueue, Deciding
from tests.proxy.playing import GET, OK, ProxyCase, body_of

NOWHERE = GET.replace(b"shop", b"none")
POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
MANY = 10 * LINES_AT_ONCE
TEXT = b"".join(b"%d" % (number % 10) for number in range(MANY))
CHUNKS = b"".join(b"1\r\n%c\r\n" % octet for octet in TEXT)
MOST_REQUESTS = TURN_WORK // REQUEST_WORK + 1
MOST_LATER = 2 * (LATER_TURN_WORK // REQUEST_WORK + 1)
"""Between two turns of the queue there may be one of a new read."""
PATIENCE = 30


class PipelineTests(ProxyCase):
    """Requests in one breath that the proxy answers itself."""

    on_epoll = True

    def requests_in_turns(self) -> CountingQueue:
        return CountingQueue(self.stage, lambda: len(self.metrics.ended))

    def test_turns(self) -> None:
        """They are answered some a turn, all of them, in order."""
        queue = self.requests_in_turns()
        down = self.stage.open()
        down.say(NOWHERE * 500 + b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertLessEqual(max(queue.turns), MOST_REQUESTS)
        self.assertLessEqual(max(queue.turns[1:]), MOST_LATER)
        self.assertEqual([status for _, status, _ in self.metrics.ended], [404] * 500 + [405])
        self.assertEqual(down.received.count(b"HTTP/1.1 404 "), 500)

    def test_once_more(self) -> None:
        """Who had to wait a moment ago has fewer of them answered with what it says next, and as many as any other later."""
        queue = self.requests_in_turns()
        down = self.stage.open()
        down.say(NOWHERE * 100)
        before = len(queue.turns)
        down.say(NOWHERE * 100)
        self.assertLessEqual(max(queue.turns[before - 1 :]), MOST_LATER)
        self.reactor.pass_time(3)
        before = len(queue.turns)
        down.say(NOWHERE * 100)
        self.assertGreater(max(queue.turns[before - 1 :]), MOST_LATER)
        self.assertEqual(len(self.metrics.ended), 300)

    def test_long_decisions(self) -> None:
        """Of requests whose route takes long to decide fewer are begun in a turn, of quick ones as many as ever."""
        for seconds, least, most in ((0.0, 50, MOST_REQUESTS), (0.0002, 20, 22), (0.0015, 3, 4)):
            self.stage.publish((), filters=(SpecOf(Deciding(self.reactor, seconds)),))
            queue, before = self.requests_in_turns(), len(self.metrics.ended)
            down = self.stage.open()
            down.say(GET * 300)
            self.assertEqual([status for _, status, _ in self.metrics.ended[before:]], [403] * 300)
            self.assertEqual(down.received.count(b"HTTP/1.1 403 "), 300)
            self.assertTrue(least <= queue.turns[0] <= most, queue.turns[0])
            self.assertLessEqual(max(queue.turns[1:]), min(MOST_LATER, 2 * most))
            down.finish()

    def test_large_heads(self) -> None:
        """Large heads are fewer a turn."""
        queue = self.requests_in_turns()
        down = self.stage.open()
        head = NOWHERE.replace(b"\r\n\r\n", b"\r\nX-Long: %b\r\n\r\n" % bytes(4000).replace(b"\0", b"x"))
        down.say(head * 30)
        self.assertEqual(len(self.metrics.ended), 30)
        self.assertLessEqual(max(queue.turns), 4)

    def test_fair(self) -> None:
        """Another client is served between two turns."""
        queue = self.requests_in_turns()
        modest = self.stage.open()
        queue.between = lambda: modest.post(NOWHERE) if queue.turns == [65] else None
        greedy = self.stage.open()
        greedy.say(NOWHERE * 500)
        self.assertEqual(modest.received.count(b"HTTP/1.1 404 "), 0)
        modest.say(NOWHERE)
        self.assertEqual(modest.received.count(b"HTTP/1.1 404 "), 1)

    def test_end(self) -> None:
        """A client that ends its side behind them is answered in full, and then its connection ends."""
        queue = self.requests_in_turns()
        down = self.stage.open()
        down.post(NOWHERE * 500)
        down.finish()
        self.assertEqual(down.received.count(b"HTTP/1.1 404 "), 500)
        self.assertTrue(down.saw_end)
        self.assertGreater(len(queue.turns), 5)

    def test_reset(self) -> None:
        """Of a client that is gone nothing is worked off."""
        queue = self.requests_in_turns()
        down = self.stage.open()

        def leave() -> None:
            down.broken = True

        queue.between = leave
        down.say(NOWHERE * 500)
        self.assertLessEqual(len(self.metrics.ended), 2 * MOST_REQUESTS)
        self.assertEqual(self.stage.site.connections.all, set())

    def test_time(self) -> None:
        """While they wait for their turns no time of theirs runs out, nor are they taken for silent."""
        queue = self.requests_in_turns()
        down = self.stage.open()
        rests: list[float] = []

        def wait() -> None:
            [channel] = self.stage.site.connections.all
            rests.append(channel.rests_since())
            self.reactor.rightNow += 2 * PATIENCE
            self.stage.deadlines.tick()

        queue.between = wait
        down.say(NOWHERE * 300)
        self.assertEqual(down.received.count(b"HTTP/1.1 404 "), 300)
        self.assertEqual(set(rests), {float("inf")})

    def test_memory(self) -> None:
        """What comes meanwhile is read no further than what may wait."""
        queue = self.requests_in_turns()
        down = self.stage.open()
        held: list[int] = []

        def look() -> None:
            [channel] = self.stage.site.connections.all
            held.append(len(channel.reader.ahead))  # type: ignore[attr-defined]

        queue.between = look
        down.post(*[NOWHERE * 100] * 10)
        down.say(NOWHERE)
        self.assertEqual(len(self.metrics.ended), 1000)
        self.assertLessEqual(max(held), MAX_AHEAD + 100 * len(NOWHERE))


class TwistedPipelineTests(PipelineTests):
    """The same on Twisted's transports."""

    on_epoll = False


class BodyCase(ProxyCase):
    """Bodies in chunks of an octet."""

    def assert_turns(self, queue: CountingQueue) -> None:
        """Check that few chunks were read in each turn; between two of the queue there may be one of a new read."""
        self.assertGreater(len(queue.turns), MANY // LINES_AT_ONCE // 2)
        self.assertLessEqual(max(queue.turns), 2 * LINES_AT_ONCE + 40)


class UploadTests(BodyCase):
    """Request bodies in chunks of an octet."""

    on_epoll = True

    def taken(self) -> int:
        """Return how much of the body went upstream."""
        return len(body_of(self.upstream().received)) if self.connector.peers else 0

    def test_turns(self) -> None:
        """They go on some a turn, put together, and what follows them is answered."""
        queue = CountingQueue(self.stage, self.taken)
        down = self.stage.open()
        down.say(POST + CHUNKS + b"0\r\n\r\n" + NOWHERE)
        self.assert_turns(queue)
        message, _ = read_request(self.upstream().received)
        self.assertEqual(message.body, TEXT)
        self.upstream().say(OK)
        self.assert_ended(200, 404)

    def test_end(self) -> None:
        """A client that ends its side behind the body has its answer; one that ends it within has 400."""
        self.stage.site.context.limits = Limits(allow_half_close=True)
        for last, status in ((b"0\r\n\r\n", 200), (b"", 400)):
            down = self.stage.open()
            down.post(POST + CHUNKS + last)
            down.finish()
            if last:
                self.upstream().say(OK)
            self.assert_status(down.received, status)
            self.assertTrue(down.saw_end)

    def test_bad(self) -> None:
        """What cannot be read is refused in its turn, and ends the connection."""
        down = self.stage.open()
        down.say(POST + CHUNKS + b"x\r\n")
        self.assert_status(down.received, 400)
        self.assertTrue(self.upstream().saw_reset)

    def test_early_answer(self) -> None:
        """An answer that comes before the body is read is sent, and the rest of the body is dropped."""
        queue = CountingQueue(self.stage, self.taken)
        down = self.stage.open()
        queue.between = lambda: self.upstream().post(OK) if len(queue.turns) == 2 else None
        down.say(POST + CHUNKS)
        self.assert_status(down.received, 200)
        down.say(CHUNKS)
        down.finish()
        self.assertEqual(self.stage.site.connections.all, set())

    def test_full(self) -> None:
        """An endpoint that takes nothing gets the rest of it once it does."""
        self.connector.window = 0
        down = self.stage.open()
        down.say(POST + CHUNKS * 5, CHUNKS * 10 + b"0\r\n\r\n")
        self.assertEqual(self.upstream().received, b"")
        self.upstream().widen()
        message, _ = read_request(self.upstream().received)
        self.assertEqual(message.body, TEXT * 15)

    def test_time(self) -> None:
        """A client that waits for its turns is not too slow; one that stops is."""
        queue = CountingQueue(self.stage, self.taken)

        def wait() -> None:
            self.reactor.rightNow += 2 * PATIENCE
            self.stage.deadlines.tick()

        queue.between = wait
        down = self.stage.open()
        down.say(POST + CHUNKS)
        self.assertEqual(len(self.metrics.ended), 0)
        self.reactor.pass_time(PATIENCE + 2)
        self.assert_status(down.received, 408)


class TwistedUploadTests(UploadTests):
    """The same on Twisted's transports."""

    on_epoll = False


class AnswerTests(BodyCase):
    """Answers in chunks of an octet."""

    on_epoll = True

    def setUp(self) -> None:
        super().setUp()
        self.down = self.stage.open()
        self.down.say(GET)
        self.queue = CountingQueue(self.stage, lambda: len(body_of(self.down.received)))

    def body(self) -> bytes:
        """Return the body that arrived, without its framing."""
        pieces = body_of(self.down.received).split(b"\r\n")
        return b"".join(pieces[1::2])

    def test_turns(self) -> None:
        """They go on some a turn, put together; the connection is used again for the next request."""
        self.upstream().say(CHUNKED + CHUNKS, b"0\r\n\r\n")
        self.assert_turns(self.queue)
        self.assertEqual(self.body(), TEXT)
        self.down.take()
        self.down.say(GET)
        self.assert_upstreams(1)
        self.upstream().say(OK)
        self.assert_ended(200, 200)

    def test_later_pieces(self) -> None:
        """So does what comes behind the first read."""
        self.upstream().say(CHUNKED, CHUNKS, CHUNKS + b"0\r\n\r\n")
        self.assertEqual(self.body(), TEXT * 2)
        self.assert_turns(self.queue)
        self.assert_ended(200)

    def test_end(self) -> None:
        """An endpoint that ends the connection behind its answer has told it whole."""
        self.upstream().post(CHUNKED + CHUNKS + b"0\r\n\r\n")
        self.upstream().finish()
        self.assertEqual(self.body(), TEXT)
        self.assert_ended(200)
        self.assertIn(" 0 idle", repr(self.stage.pool))

    def test_loss(self) -> None:
        """What came before a connection was lost is told, and that it was not all."""
        self.upstream().say(CHUNKED)
        waits: list[bool] = []

        def lose() -> None:
            if not waits:
                waits.append(True)
                self.upstream().protocol.abort()  # type: ignore[attr-defined]

        self.queue.between = lose
        self.upstream().say(CHUNKS)
        read = (len(CHUNKS) - self.upstream().unread) // 6
        self.assertGreater(read, 2 * LINES_AT_ONCE)
        self.assertEqual(self.body()[:read], TEXT[:read])
        self.assertLessEqual(len(self.body()), read + 1)
        self.assertTrue(self.down.closed)
        self.assertNotIn(b"\r\n0\r\n\r\n", self.down.received)
        self.assertIn(" 0 busy", repr(self.stage.pool))
        self.assertEqual(len(self.metrics.ended), 1)

    def test_client_leaves(self) -> None:
        """With the client goes what waits for its turn."""

        def leave() -> None:
            self.down.broken = True

        self.queue.between = leave
        self.upstream().say(CHUNKED + CHUNKS)
        self.assertLessEqual(len(self.queue.turns), 3)
        self.assertTrue(self.upstream().saw_reset)
        self.assertIn(" 0 busy", repr(self.stage.pool))

    def test_slow_client(self) -> None:
        """A client that takes nothing stops the endpoint, and gets all of it once it does."""
        self.down.window = 10
        self.upstream().say(CHUNKED, CHUNKS * 5, *[CHUNKS * 5] * 5, b"0\r\n\r\n")
        self.assertGreater(self.upstream().unread, 0)
        self.down.widen()
        self.assertEqual(self.body(), TEXT * 30)

    def test_time(self) -> None:
        """An endpoint whose answer waits for its turns is not silent; one that stops is."""

        def wait() -> None:
            self.reactor.rightNow += 200
            self.stage.deadlines.tick()

        self.queue.between = wait
        self.upstream().say(CHUNKED + CHUNKS)
        self.assertEqual(len(self.metrics.ended), 0)
        self.assertEqual(self.body(), TEXT)
        self.reactor.pass_time(62)
        self.assertEqual(len(self.metrics.ended), 1)


class TwistedAnswerTests(AnswerTests):
    """The same on Twisted's transports."""

    on_epoll = False
