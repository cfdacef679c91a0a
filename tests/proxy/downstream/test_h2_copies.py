"""Answers of known length that go from their socket straight into frames: whole, in turns, and without harm to others."""

from __future__ import annotations

from ingress.http2.frame_room import COPIED_FRAMES, PIECE_BYTES
from ingress.http2.frames import FRAME_BYTES, FRAME_HEAD_BYTES
from ingress.http2.outgoing import MOST_PUMPED
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.transport.epoll.epoll_set import READ
from ingress.proxy.transport.epoll.stream import HIGH_WATER, StreamTransport
from tests.fakes.bodies import piece_at
from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    CANCEL,
    DATA,
    INITIAL_WINDOW_SIZE,
    INTERNAL_ERROR,
    MAX_FRAME_SIZE,
    RST_STREAM,
    reset,
    settings,
    window_update,
)
from tests.proxy.h2_playing import Http2Stage, SessionCase, peer_of, usual_answer

SIZE = 400_003
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE
BODY = piece_at(0, SIZE)
WIDE = 1 << 30


class CopyCase(SessionCase):
    """A client of large answers, for whom nothing of these is kept."""

    def setUp(self) -> None:
        super().setUp()
        self.stage = Http2Stage(on_epoll=True)
        self.stage.answer = lambda request: (
            HEAD + BODY if request.start[1] == b"/large" else usual_answer(request)
        )
        self.client = self.stage.client()

    def ask(self, *streams: int) -> None:
        """Ask for a large answer on each of these."""
        self.client.send(*[self.client.request(stream, path=b"/large") for stream in streams])

    @property
    def stalled(self) -> list[int]:
        """The streams that wait, though nothing of them is here."""
        streams = self.stage.session.streams.values()
        return [stream.id for stream in streams if stream.is_blocked and not stream.unsent]

    def tearDown(self) -> None:
        """Whatever has happened, no answer counts as one that is copied once its client is gone."""
        peer_of(self.client).reset()
        self.stage.reactor.settle()
        self.assertEqual(self.stage.site.frame_room.users, 0)

    def assert_whole(self, *streams: int) -> None:
        """Check that these answers are what upstream said, and ended."""
        for stream in streams:
            self.assertTrue(self.client.body(stream) == BODY, f"{len(self.client.body(stream))} bytes")
            self.assertTrue(self.client.has_ended(stream))
        self.assertEqual(self.client.of(RST_STREAM), [])


class WindowTests(CopyCase):
    """Clients that give credit in many ways."""

    def test_wide(self) -> None:
        """With all the credit there can be, an answer arrives whole, in frames that any peer takes."""
        self.client.send(
            settings((INITIAL_WINDOW_SIZE, WIDE), (MAX_FRAME_SIZE, 1 << 20)), window_update(0, WIDE)
        )
        self.ask(1)
        self.client.look()
        self.assert_whole(1)
        sizes = {len(each.payload) for each in self.client.of(DATA)}
        self.assertLessEqual(max(sizes), FRAME_BYTES)
        self.assertIn(PIECE_BYTES, sizes)

    def test_odd_windows(self) -> None:
        """Whatever credit comes, of the stream or of the connection, no more is sent, nothing is lost, and nothing is kept."""
        self.ask(1)
        self.client.look()
        given = 65_535
        steps = [1, 100, 16_383, 16_384, 16_385, 65_537, 7]
        while not self.client.has_ended(1):
            self.assertEqual(len(self.client.body(1)), min(given, SIZE))
            self.assertEqual(self.stalled, [1])
            step = steps[given % len(steps)]
            first, second = (0, 1) if step % 2 else (1, 0)
            self.client.send(window_update(first, step))
            self.client.look()
            self.assertEqual(len(self.client.body(1)), given)
            self.client.send(window_update(second, step))
            self.client.look()
            given += step
        self.assert_whole(1)

    def test_taken_back(self) -> None:
        """Credit that SETTINGS take back, below nothing, stops an answer until there is some again."""
        self.client.send(window_update(0, WIDE))
        self.ask(1)
        self.client.send(settings((INITIAL_WINDOW_SIZE, 100)), window_update(1, 65_000))
        self.client.look()
        self.assertEqual(len(self.client.body(1)), 65_535)
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)))
        self.client.look()
        self.assert_whole(1)

    def test_behind_first_piece(self) -> None:
        """What came with the head, and had to wait, goes first."""
        self.client.send(settings((INITIAL_WINDOW_SIZE, 10)))
        self.ask(1)
        self.client.look()
        self.assertEqual(self.client.body(1), BODY[:10])
        self.assertGreater(self.stage.session.streams[1].unsent, 0)
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)), window_update(0, WIDE))
        self.client.look()
        self.assert_whole(1)


class SlowTests(CopyCase):
    """A client whose connection takes little."""

    def setUp(self) -> None:
        super().setUp()
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)), window_update(0, WIDE))
        self.wire = peer_of(self.client)

    def most_queued(self, *streams: int) -> int:
        """Take answers in odd pieces; return the most that waited in this process."""
        self.wire.window = 0
        self.ask(*streams)
        most, number = 0, 0
        while not all(self.client.has_ended(stream) for stream in streams):
            transport, kept = self.stage.session.transport, self.stage.session.outgoing.waiting
            most = max(most, transport.queued + kept)
            number += 1
            self.wire.widen(1 + number * 7919 % 50_021)
            self.client.look()
        return most

    def test_one(self) -> None:
        """An answer arrives whole, and little of it ever waits here."""
        most = self.most_queued(1)
        self.assert_whole(1)
        self.assertGreater(most, 0)
        self.assertLessEqual(most, HIGH_WATER + 32 * 1024 + 100)

    def test_many(self) -> None:
        """Of 32 answers no more waits than of a few: what came with their heads, and what the transport has."""
        streams = range(1, 65, 2)
        most = self.most_queued(*streams)
        self.assert_whole(*streams)
        self.assertLessEqual(most, HIGH_WATER + 32 * 1024 + 32 * 16 * 1024)

    def test_at_once(self) -> None:
        """Of who takes all, more is read at once each time, up to sixteen frames; who had to be waited for begins anew."""
        body = piece_at(0, 2_000_000)
        self.stage.answer = lambda request: None
        self.ask(1)
        [one] = self.stage.connector.peers
        one.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body[:1_400_000])
        self.assertEqual(self.wire.largest_write, COPIED_FRAMES * FRAME_BYTES)
        self.wire.window = 100_000
        one.say(body[1_400_000:1_800_000])
        queued = self.stage.session.transport.queued
        self.assertTrue(0 < queued <= COPIED_FRAMES * FRAME_BYTES, queued)
        self.wire.widen()
        self.wire.largest_write = 0
        one.say(body[1_800_000:1_900_000])
        self.assertEqual(self.wire.largest_write, 4 * FRAME_BYTES)
        one.say(body[1_900_000:])
        self.client.look()
        self.assertTrue(self.client.body(1) == body)

    def test_no_crumbs(self) -> None:
        """What goes by turns goes in whole frames: the few that are small are the last ones of answers."""
        streams = range(1, 9, 2)
        self.wire.window = 0
        self.ask(*streams)
        while not all(self.client.has_ended(stream) for stream in streams):
            self.wire.widen(50_000)
            self.client.look()
        crumbs = [frame for frame in self.client.of(DATA) if 0 < len(frame.payload) < PIECE_BYTES // 100]
        self.assertLessEqual(len(crumbs), len(streams))

    def test_never(self) -> None:
        """Who takes nothing more is ended in the usual time, and upstream with it."""
        self.wire.window = 100_000
        self.ask(1)
        self.stage.reactor.pass_time(65)
        self.assertTrue(self.wire.closed)
        self.assertEqual(self.stage.open_upstreams, [])

    def test_beside_much(self) -> None:
        """What others wrote in the same turn, and the client takes at once, keeps no answer waiting: nobody would wake it up."""
        beside = b"x" * 200_000
        self.stage.answer = lambda request: None
        self.ask(1)
        self.client.send(self.client.request(3))
        one, _ = self.stage.connector.peers
        one.say(HEAD + BODY[:100_000])
        one.post(BODY[100_000:])
        session = self.stage.session

        def in_one_turn() -> None:
            session.streams[3].send(beside, False)
            self.assertEqual(session.transport.queued, len(beside) + 13 * FRAME_HEAD_BYTES)
            source = one.transport
            assert isinstance(source, StreamTransport)
            source.ready(READ)

        session.transport.call_in_batch(in_one_turn)
        self.stage.reactor.settle()
        self.client.look()
        self.assertTrue(self.client.body(3) == beside)
        self.assertEqual(self.stalled, [])
        self.assert_whole(1)

    def test_upstream_waits(self) -> None:
        """An upstream that has said all, and waits for the client alone, is not blamed however long that takes."""
        self.wire.window = 0
        self.ask(1)
        for _ in range(25):
            self.wire.widen(10_000)
            self.client.look()
            self.stage.reactor.pass_time(5)
        self.assertEqual((self.stalled, self.stage.site.frame_room.users), ([1], 1))
        self.wire.widen()
        self.client.look()
        self.assert_whole(1)


class TurnTests(CopyCase):
    """Several streams of one client."""

    def test_small_beside_large(self) -> None:
        """A small answer beside eight large ones needs no more credit of the connection than one turn of each."""
        large = range(1, 17, 2)
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)))
        self.ask(*large)
        self.client.send(self.client.request(17))
        self.client.look()
        self.assertFalse(self.client.has_ended(17))
        for _ in range(9):
            self.client.send(window_update(0, FRAME_BYTES))
        self.client.look()
        self.assertTrue(self.client.has_ended(17))

    def test_turns(self) -> None:
        """Credit of the connection goes to large answers by turns: none is a frame or two ahead of another."""
        streams = range(1, 17, 2)
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)))
        self.ask(*streams)
        self.client.look()
        before = {stream: len(self.client.body(stream)) for stream in streams}
        for _ in range(40):
            self.client.send(window_update(0, FRAME_BYTES))
        self.client.look()
        grown = [len(self.client.body(stream)) - before[stream] for stream in streams]
        self.assertEqual(sum(grown), 40 * FRAME_BYTES)
        self.assertLessEqual(max(grown) - min(grown), 2 * FRAME_BYTES)
        self.client.send(window_update(0, WIDE))
        self.client.look()
        self.assert_whole(*streams)

    def test_others_have_theirs(self) -> None:
        """A client that takes all there is, at once, has no more than so much in one go; the rest goes as it comes, between what others say."""
        streams = range(1, 65, 2)
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)))
        self.ask(*streams)
        self.client.look()
        session = self.stage.session
        self.assertTrue(all(stream.is_blocked for stream in session.streams.values()))
        session.window_received(0, WIDE)
        sent = WIDE - session.outgoing.window
        self.assertGreaterEqual(sent, MOST_PUMPED)
        self.assertLess(sent, MOST_PUMPED + FRAME_BYTES)
        self.stage.reactor.settle()
        self.client.look()
        self.assert_whole(*streams)

    def test_beside_kept(self) -> None:
        """One whose length nobody knows, and which is kept while it waits, takes its turns with the others."""
        chunk = b"4000\r\n" + bytes(1 << 14) + b"\r\n"
        usual = self.stage.answer
        self.stage.answer = lambda request: (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 24 + b"0\r\n\r\n"
            if request.start[1] == b"/chunked"
            else usual(request)
        )
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)))
        self.ask(1, 3)
        self.client.send(self.client.request(5, path=b"/chunked"))
        self.client.look()
        before = {stream: len(self.client.body(stream)) for stream in (1, 3, 5)}
        for _ in range(30):
            self.client.send(window_update(0, FRAME_BYTES))
        self.client.look()
        grown = [len(self.client.body(stream)) - before[stream] for stream in before]
        self.assertEqual(sum(grown), 30 * FRAME_BYTES)
        self.assertLessEqual(max(grown) - min(grown), 3 * FRAME_BYTES)


class EndTests(CopyCase):
    """Answers that end before their end."""

    def assert_goes_on(self, client: Http2Client, stream: int) -> None:
        """Check that the connection serves the next request."""
        client.send(settings((INITIAL_WINDOW_SIZE, WIDE)), window_update(0, WIDE))
        self.ask(stream)
        client.look()
        self.assertTrue(client.body(stream) == BODY)

    def test_cancelled(self) -> None:
        """A stream that is reset in the middle takes its upstream along, and no other stream."""
        self.client.send(window_update(0, WIDE))
        self.ask(1, 3)
        self.client.look()
        self.assertEqual(self.stalled, [1, 3])
        self.client.send(reset(1, CANCEL), window_update(1, WIDE))
        self.client.look()
        self.assertEqual(len(self.client.body(1)), 65_535)
        self.assertEqual(len(self.stage.open_upstreams), 1)
        self.client.send(window_update(3, WIDE))
        self.client.look()
        self.assert_whole(3)
        self.assertEqual(self.stage.session.outgoing.blocked, {})
        self.assert_goes_on(self.client, 5)

    def test_cancelled_while_it_goes(self) -> None:
        """The same holds between two reads, while nothing waits."""
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)), window_update(0, WIDE))
        self.stage.answer = lambda request: HEAD + BODY[:200_000]
        self.ask(1)
        self.client.look()
        self.assertEqual(self.stalled, [])
        [upstream] = self.stage.open_upstreams
        self.client.send(reset(1, CANCEL))
        self.assertTrue(upstream.closed)
        self.stage.answer = lambda request: HEAD + BODY
        self.assert_goes_on(self.client, 3)

    def test_cut_short(self) -> None:
        """An answer whose upstream ends too soon is no whole one to the client, which gets what came."""
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)), window_update(0, WIDE))
        self.stage.answer = lambda request: HEAD + BODY[:200_000]
        self.ask(1)
        self.client.look()
        self.stage.open_upstreams[0].finish()
        self.client.look()
        self.assertEqual([each.code for each in self.client.of(RST_STREAM)], [INTERNAL_ERROR])
        self.assertTrue(self.client.body(1) == BODY[:200_000])

    def test_silent(self) -> None:
        """An upstream that falls silent in the middle is given up in its time."""
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)), window_update(0, WIDE))
        self.stage.answer = lambda request: HEAD + BODY[:200_000]
        self.ask(1)
        self.stage.reactor.pass_time(65)
        self.client.look()
        self.assertEqual([each.code for each in self.client.of(RST_STREAM)], [INTERNAL_ERROR])

    def test_lost(self) -> None:
        """A client that goes away in the middle leaves nothing behind."""
        self.ask(1, 3)
        self.client.look()
        peer_of(self.client).reset()
        self.stage.reactor.settle()
        self.assertEqual(self.stage.open_upstreams, [])
        self.assert_nothing_left()

    def test_connection_used_again(self) -> None:
        """A connection to upstream that brought a whole answer brings the next one, and what is logged is what was sent."""
        self.client.send(settings((INITIAL_WINDOW_SIZE, WIDE)), window_update(0, WIDE))
        for stream in (1, 3, 5):
            self.ask(stream)
        self.client.look()
        self.assert_whole(1, 3, 5)
        self.assertEqual(self.stage.site.frame_room.users, 0)
        self.assertEqual(len(self.stage.connector.peers), 1)

    def test_one_room(self) -> None:
        """Connections of all listeners read into the same memory, however many listeners there are."""
        site = self.stage.site
        assert isinstance(site.resource, IngressProxyResource)
        self.assertIs(site.part(site.resource).frame_room, site.frame_room)
