"""How much of what comes a session reads at once: others have their turn in between."""

from __future__ import annotations

from ingress.http.work import LATER_TURN_WORK, REQUEST_WORK, TURN_WORK
from ingress.proxy.contract.deadlines import NEVER
from tests.fakes.http2.frames import (
    DATA,
    HEADERS,
    PROTOCOL_ERROR,
    block,
    data,
    headers,
    literal,
    request_fields,
    reset,
)
from tests.fakes.specs import SpecOf
from tests.proxy.contract.turns import CountingQueue, Deciding
from tests.proxy.h2_playing import BODY, Http2Stage, SessionCase, peer_of

REQUESTS_AT_ONCE = TURN_WORK // REQUEST_WORK
MANY = 40 * REQUESTS_AT_ONCE
PATIENCE = 10
"""Seconds for a head."""


class TurnTests(SessionCase):
    """Clients that say thousands of things in one breath."""

    on_epoll = True

    def setUp(self) -> None:
        super().setUp()
        self.stage = Http2Stage(on_epoll=self.on_epoll)

    def test_requests(self) -> None:
        """Whoever asks for much at once is answered in full, and another one does not wait until then."""
        greedy, modest = self.stage.client(), self.stage.client()
        said = modest.request(1, method=b"TRACE", authority=b"none.test")
        peer_of(modest).post(said)
        streams = range(1, 2 * MANY, 2)
        greedy.send(*[greedy.request(each, method=b"HEAD", authority=b"none.test") for each in streams])
        greedy.look()
        self.assertEqual(len(greedy.of(HEADERS)), MANY)
        statuses = [status for _, status, _ in self.stage.metrics.ended]
        self.assertLess(statuses.index(405), 3 * REQUESTS_AT_ONCE)

    def test_later_turns(self) -> None:
        """In the turns behind the first one fewer are answered."""
        queue = CountingQueue(self.stage, lambda: len(self.stage.metrics.ended))
        client = self.stage.client()
        streams = range(1, 2 * REQUESTS_AT_ONCE * 4, 2)
        client.send(*[client.request(each, method=b"HEAD", authority=b"none.test") for each in streams])
        self.assertEqual(len(self.stage.metrics.ended), len(streams))
        self.assertLessEqual(max(queue.turns[1:]), LATER_TURN_WORK // REQUEST_WORK)

    def test_long_decisions(self) -> None:
        """Of requests whose route takes long to decide fewer are begun in a turn, and all are answered."""
        for seconds, first, later in (
            (0.0, REQUESTS_AT_ONCE, LATER_TURN_WORK // REQUEST_WORK),
            (0.0002, 22, 30),
            (0.0015, 4, 6),
        ):
            self.stage.publish((), filters=(SpecOf(Deciding(self.stage.reactor, seconds)),))
            before = len(self.stage.metrics.ended)
            queue = CountingQueue(self.stage, lambda: len(self.stage.metrics.ended))
            client = self.stage.client()
            streams = range(1, 2 * 4 * REQUESTS_AT_ONCE, 2)
            client.send(*[client.request(each, method=b"HEAD") for each in streams])
            self.assertEqual(
                [status for _, status, _ in self.stage.metrics.ended[before:]], [403] * len(streams)
            )
            self.assertLessEqual(queue.turns[0], first)
            # Between two turns of the queue there may be one of a new read.
            self.assertLessEqual(max(queue.turns[1:]), later)

    def test_body(self) -> None:
        """A body in thousands of pieces arrives whole."""
        client = self.stage.client()
        pieces = [data(1, b"%04d" % number) for number in range(MANY)]
        client.send(client.request(1, method=b"POST", ended=False), *pieces, data(1, b"", ended=True))
        self.assertTrue(client.until(lambda: client.has_ended(1)))
        self.assertEqual(self.stage.requests[0].body, b"".join(b"%04d" % number for number in range(MANY)))

    def test_held(self) -> None:
        """What is held of such a body for another attempt is kept in few pieces."""
        client = self.stage.client()
        pieces = [data(1, b"%04d" % number) for number in range(MANY)]
        client.send(client.request(1, method=b"PUT", ended=False, path=b"/silent"), *pieces)
        client.look()
        held = self.stage.session.streams[1].exchange.passage.held  # type: ignore[union-attr]
        self.assertEqual(held.joined(), b"".join(b"%04d" % number for number in range(MANY)))
        self.assertLess(held.pieces, 20)

    def test_leaves(self) -> None:
        """A client that leaves while it has something left to say takes everything with it."""
        client = self.stage.client()
        peer_of(client).post(
            b"".join(client.request(each, path=b"/silent") + reset(each) for each in range(1, 601, 2))
        )
        client.wire.close()
        self.stage.reactor.pass_time(PATIENCE)
        self.assert_nothing_left()

    def test_answer(self) -> None:
        """An answer is whole though its request came behind thousands of frames."""
        client = self.stage.client()
        client.send(
            *[client.request(each, method=b"HEAD", authority=b"none.test") for each in range(1, 999, 2)],
            client.request(999),
        )
        self.assertTrue(client.until(lambda: client.has_ended(999)))
        self.assertEqual(client.body(999), BODY)
        self.assertEqual(client.of(DATA, 1), [])

    def fields(self, stream: int) -> bytes:
        """A request with much to decode, which is answered with 404."""
        much = literal(b"x-much", b"x" * 8000)
        return headers(stream, block(request_fields(authority=b"none.test", method=b"HEAD")) + much)

    def test_fields(self) -> None:
        """Of requests with much to decode few are read a turn."""
        queue = CountingQueue(self.stage, lambda: len(self.stage.metrics.ended))
        client = self.stage.client()
        client.send(*[self.fields(stream) for stream in range(1, 121, 2)])
        self.assertEqual(len(self.stage.metrics.ended), 60)
        # Between two turns of the queue there may be one of a new read, once.
        self.assertLessEqual(max(queue.turns), 6)
        self.assertGreater(len(queue.turns), 60 // 4)

    def test_heavy(self) -> None:
        """Any number of connections that need more than a turn each get one turn among them, again and again."""
        clients = [self.stage.client() for _ in range(20)]
        for session in self.stage.sessions:
            session.turns.is_heavy = True
        queue = CountingQueue(self.stage, lambda: len(self.stage.metrics.ended))
        much = b"".join(self.fields(stream) for stream in range(1, 9, 2))
        for client in clients:
            peer_of(client).post(much)
        self.stage.reactor.settle()
        self.assertEqual(len(self.stage.metrics.ended), 20 * 4)
        self.assertLessEqual(max(queue.turns), 3)
        for client in clients:
            peer_of(client).post(client.request(9))
        self.stage.reactor.settle()
        self.assertFalse(any(session.turns.is_heavy for session in self.stage.sessions))

    def test_rest(self) -> None:
        """Whoever waits for its turn is not at rest, and no time of it runs out."""
        queue = CountingQueue(self.stage, lambda: len(self.stage.metrics.ended))
        client = self.stage.client()
        rests: list[float] = []

        def wait() -> None:
            rests.append(self.stage.session.rests_since())
            self.stage.reactor.rightNow += 100
            self.stage.deadlines.tick()

        queue.between = wait
        client.send(*[self.fields(stream) for stream in range(1, 61, 2)])
        self.assertEqual(len(self.stage.metrics.ended), 30)
        self.assertEqual(set(rests), {NEVER})
        client.look()
        self.assertIsNone(client.end)

    def test_pieces_of_one(self) -> None:
        """A body in pieces of an octet reaches its exchange in few calls."""
        client = self.stage.client()
        client.send(client.request(1, method=b"POST", ended=False))
        exchange = self.stage.session.streams[1].exchange
        assert exchange is not None and exchange.passage is not None
        pieces: list[bytes] = []
        self.patch(type(exchange.passage), "take", lambda self, piece: pieces.append(piece))
        client.send(data(1, b"x") * MANY)
        self.assertEqual(b"".join(pieces), b"x" * MANY)
        self.assertLess(len(pieces), MANY / 100)


class TwistedTurnTests(TurnTests):
    """The same on Twisted's transports."""

    on_epoll = False


class AmidTests(SessionCase):
    """Clients that are amid something at each tick of the clock."""

    def test_busy(self) -> None:
        """Whoever is amid another request each time is only busy."""
        client = self.stage.client()
        client.send(client.request(1)[:5])
        for number in range(1, 2 * PATIENCE + 1):
            self.stage.reactor.pass_time(1)
            rest, begun = client.request(2 * number - 1)[5:], client.request(2 * number + 1)[:5]
            client.send(rest + begun)
        client.look()
        self.assertIsNone(client.end)

    def test_dripping(self) -> None:
        """Whoever drips one head ends, however many bytes came of it."""
        client = self.stage.client()
        whole = headers(1, bytes(10_000), ended=True)
        for at in range(PATIENCE + 3):
            client.send(whole[at : at + 1])
            self.stage.reactor.pass_time(1)
        client.look()
        assert client.end is not None
        self.assertEqual(client.end.code, PROTOCOL_ERROR)
