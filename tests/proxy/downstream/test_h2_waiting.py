"""Clients that do not take what they asked for: what the proxy keeps for them is bounded, and ends."""

from __future__ import annotations

from tests.fakes.http2.client import Http2Client, MemoryWire
from tests.fakes.http2.frames import (
    CANCEL,
    DATA,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    PING,
    RST_STREAM,
    data,
    ping,
    settings,
    window_update,
)
from tests.proxy.h2_playing import LARGE, Http2Stage, SessionCase, usual_answer

USUAL = 65_535
MOST_UNREAD = 256 * 1024
"""Octets that wait for a client which takes none, besides bodies, which wait with their streams."""


class UnreadTests(SessionCase):
    """Clients that ask on, and read nothing of the answers."""

    on_epoll = True

    def unread(self) -> int:
        """Return what waits for the client."""
        return self.stage.session.transport.unsent

    def ask(self, client: Http2Client, count: int, authority: bytes = b"shop.test") -> None:
        """Ask so often, a hundred at a time, for answers without a body."""
        for first in range(1, 2 * count, 200):
            streams = range(first, first + 200, 2)
            client.send(*[client.request(stream, method=b"HEAD", authority=authority) for stream in streams])

    def setUp(self) -> None:
        super().setUp()
        self.stage = Http2Stage(on_epoll=self.on_epoll)
        self.client = self.stage.client()
        [self.peer] = [peer for peer in self.stage.reactor.peers if peer not in self.stage.connector.peers]

    def test_own_replies(self) -> None:
        """What waits is bounded, reading goes on when some is taken, and then everything is answered."""
        self.peer.window = 0
        self.ask(self.client, 20_000, authority=b"none.test")
        self.assertLess(self.unread(), MOST_UNREAD)
        self.assertGreater(self.peer.unread, 0)
        self.peer.widen()
        self.client.look()
        self.assertEqual(len(self.client.of(HEADERS)), 20_000)
        self.assertIsNone(self.client.end)

    def test_heads(self) -> None:
        """The same holds for heads of upstream's answers, however large they are."""
        self.stage.answer = lambda request: b"HTTP/1.1 200 OK\r\nX: %b\r\n\r\n" % (b"y" * 4000)
        self.peer.window = 0
        self.ask(self.client, 20_000)
        self.assertLess(self.unread(), MOST_UNREAD)

    def test_large_heads(self) -> None:
        """A head that waits has the others wait at their endpoints; all come when the client takes them, in order and whole."""
        value = b"y" * 20_000
        self.stage.answer = lambda request: (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: %b\r\nFor: %b\r\n\r\n" % (value, request.start[1])
        )
        self.peer.window = 0
        streams = range(1, 201, 2)
        self.client.send(*[self.client.request(each, method=b"HEAD", path=b"/%d" % each) for each in streams])
        self.assertLess(self.unread(), MOST_UNREAD)
        self.stage.reactor.pass_time(30)
        self.assertLess(self.unread(), MOST_UNREAD)
        while self.unread():
            self.peer.widen(50_000)
            self.client.look()
            self.assertLess(self.unread(), MOST_UNREAD)
        for each in streams:
            [head] = self.client.heads(each)
            self.assertEqual((dict(head)[b"x"], dict(head)[b"for"]), (value, b"/%d" % each))
        self.assertIsNone(self.client.end)

    def test_ended(self) -> None:
        """A client that takes nothing is ended in its time."""
        self.peer.window = 0
        self.ask(self.client, 20_000)
        self.stage.reactor.pass_time(65)
        self.assertTrue(self.peer.closed)

    def test_chatter(self) -> None:
        """It is ended as well while it makes us answer its PING all the time."""
        self.client.send(settings((INITIAL_WINDOW_SIZE, 1 << 30)), window_update(0, 1 << 30))
        self.peer.window = 0
        self.client.send(self.client.request(1, path=b"/large"))
        for _ in range(65):
            self.client.send(ping())
            self.stage.reactor.pass_time(1)
        self.assertTrue(self.peer.closed)
        self.assertEqual(self.stage.open_upstreams, [])

    def test_acknowledgements(self) -> None:
        """What answers PING and SETTINGS is bounded, too, though an upload pays for as many as the client likes."""
        self.peer.window = 0
        self.client.send(self.client.request(1, method=b"POST", ended=False))
        portion = (data(1, b"x" * 20) + ping() + data(1, b"x" * 20) + settings()) * 100
        for _ in range(150):
            self.client.send(portion)
        self.assertLess(self.unread(), MOST_UNREAD)
        self.assertGreater(self.peer.unread, 0)
        self.peer.widen()
        self.client.look()
        self.assertEqual(len(self.client.of(PING)), 15_000)
        self.assertIsNone(self.client.end)

    def test_slow_reader(self) -> None:
        """A client that takes little, but takes it, is served while it asks on."""
        self.peer.window = 0
        self.ask(self.client, 10_000, authority=b"none.test")
        for _ in range(200):
            self.peer.widen(5000)
            self.client.look()
            self.stage.reactor.pass_time(1)
        self.assertFalse(self.peer.closed)
        self.peer.widen()
        self.client.look()
        self.assertEqual(len(self.client.of(HEADERS)), 10_000)


class TwistedUnreadTests(UnreadTests):
    """The same on Twisted's transports."""

    on_epoll = False


class HeldTests(SessionCase):
    """Answers that a client lets wait: a hundred at once, of 256 KiB each."""

    on_epoll = True
    STREAMS = range(1001, 1201, 2)
    SIZE = 1 << 18

    def whole(self) -> bytes:
        """Return an answer, of which pieces are read before they can be sent."""
        chunk = b"4000\r\n" + bytes(1 << 14) + b"\r\n"
        return (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunk * (self.SIZE >> 14)
            + b"0\r\n\r\n"
        )

    def setUp(self) -> None:
        super().setUp()
        self.stage = Http2Stage(on_epoll=self.on_epoll)
        whole = self.whole()
        self.stage.answer = lambda request: whole if request.start[1] == b"/large" else usual_answer(request)
        self.client = self.stage.client()
        # Connections to endpoints that were read from in large pieces.
        self.client.send(window_update(0, 1 << 30), settings((INITIAL_WINDOW_SIZE, 1 << 30)))
        self.client.send(*[self.client.request(stream, path=b"/large") for stream in range(1, 201, 2)])
        self.client.look()
        self.assertEqual(sum(len(each.payload) for each in self.client.of(DATA)), 100 * self.SIZE)
        self.client.frames.clear()

    def ask(self) -> None:
        """Ask, and let nothing come."""
        self.client.send(settings((INITIAL_WINDOW_SIZE, 0)))
        self.client.send(*[self.client.request(stream, path=b"/large") for stream in self.STREAMS])
        self.client.look()
        self.assertEqual(self.client.of(DATA), [])

    @property
    def kept(self) -> int:
        """What was read from endpoints, and not sent."""
        return sum(stream.unsent for stream in self.stage.session.streams.values())

    def look_at_kept(self) -> None:
        """Check that something is kept of answers that wait."""
        self.assertGreater(self.kept, 0)

    def test_bounded(self) -> None:
        """Less than a megabyte is kept of all of them, and within a minute all of them have ended."""
        self.ask()
        self.assertEqual(len(self.stage.requests), 200)
        for _ in range(60):
            self.assertLess(self.kept, LARGE)
            self.stage.reactor.pass_time(1)
        self.client.look()
        self.assertEqual([each.code for each in self.client.of(RST_STREAM)], [CANCEL] * 100)
        self.assertEqual(self.stage.open_upstreams, [])
        self.client.send(settings((INITIAL_WINDOW_SIZE, USUAL)), self.client.request(1301))
        self.client.look()
        self.assertEqual(self.client.statuses(1301), [200])

    def test_few(self) -> None:
        """A few answers that wait have the usual minute, and harm nobody."""
        self.client.send(settings((INITIAL_WINDOW_SIZE, 0)))
        self.client.send(self.client.request(1001, path=b"/large"), self.client.request(1003, path=b"/large"))
        self.client.send(settings((INITIAL_WINDOW_SIZE, USUAL)))
        for stream in range(1005, 1105, 2):
            self.client.send(self.client.request(stream))
            self.stage.reactor.pass_time(1)
        self.assertEqual(self.client.of(RST_STREAM), [])
        self.stage.reactor.pass_time(20)
        self.client.look()
        self.assertEqual([each.stream for each in self.client.of(RST_STREAM)], [1001, 1003])
        self.assertTrue(all(self.client.has_ended(stream) for stream in range(1005, 1105, 2)))

    def test_paused_videos(self) -> None:
        """Large answers that a page lets lie do not keep the rest of it waiting for more than some seconds."""
        videos = range(1001, 1021, 2)
        self.client.send(settings((INITIAL_WINDOW_SIZE, self.SIZE // 2)))
        self.client.send(*[self.client.request(stream, path=b"/large") for stream in videos])
        self.assertTrue(all(stream.is_blocked for stream in self.stage.session.streams.values()))
        self.look_at_kept()
        self.client.send(*[self.client.request(stream) for stream in range(1301, 1341, 2)])
        self.stage.reactor.pass_time(8)
        self.client.look()
        self.assertTrue(all(self.client.has_ended(stream) for stream in range(1301, 1341, 2)))
        self.assertLessEqual({each.stream for each in self.client.of(RST_STREAM)}, set(videos))

    def test_taken_in_turns(self) -> None:
        """When the client takes them after all, it gets all of them, and little is kept meanwhile."""
        self.ask()
        left = dict.fromkeys(self.STREAMS, self.SIZE)
        while left:
            for stream in list(left)[:7]:
                self.client.send(window_update(stream, self.SIZE // 4))
                left[stream] -= self.SIZE // 4
                if not left[stream]:
                    del left[stream]
            self.client.look()
            self.assertLess(self.kept, LARGE)
        sizes = [0] * len(self.STREAMS)
        for each in self.client.of(DATA):
            sizes[(each.stream - self.STREAMS.start) // 2] += len(each.payload)
        self.assertEqual(sizes, [self.SIZE] * len(self.STREAMS))
        self.assertEqual(self.client.of(RST_STREAM), [])

    def test_slow(self) -> None:
        """Whose way is slow loses nothing, however long that takes."""
        wire = self.client.wire
        assert isinstance(wire, MemoryWire)
        wire.peer.window = 0
        self.client.send(*[self.client.request(stream, path=b"/large") for stream in self.STREAMS])
        while self.stage.session.streams:
            self.assertLess(self.kept, LARGE)
            wire.peer.widen(LARGE)
            self.client.look()
            self.stage.reactor.pass_time(30)
        wire.peer.widen()
        self.client.look()
        self.assertEqual(self.client.of(RST_STREAM), [])
        self.assertTrue(all(self.client.has_ended(stream) for stream in self.STREAMS))

    def test_dribbled(self) -> None:
        """Who gives each stream credit every now and then loses none of them."""
        self.ask()
        for _ in range(50):
            self.stage.reactor.pass_time(4)
            self.client.send(*[window_update(stream, self.SIZE // 50 + 1) for stream in self.STREAMS])
            self.client.look()
        self.assertEqual(self.client.of(RST_STREAM), [])
        self.assertTrue(all(self.client.has_ended(stream) for stream in self.STREAMS))

    def test_late_endpoints(self) -> None:
        """What is asked for while much waits is asked of endpoints, and waits there."""
        self.ask()
        self.stage.connector.is_slow = True
        self.client.send(*[self.client.request(stream, path=b"/large") for stream in range(1301, 1341, 2)])
        self.stage.connector.let_through()
        self.client.look()
        self.assertEqual(len(self.stage.requests), 220)
        self.assertLess(self.kept, LARGE)
        self.client.send(settings((INITIAL_WINDOW_SIZE, 1 << 30)))
        self.client.until(lambda: self.client.has_ended(1339))
        self.assertTrue(all(self.client.has_ended(stream) for stream in range(1301, 1341, 2)))


class CopiedHeldTests(HeldTests):
    """The same with answers whose length is known, which stay in their sockets until they can be sent."""

    def whole(self) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self.SIZE + bytes(self.SIZE)

    def look_at_kept(self) -> None:
        """Check that nothing is kept but what came with the heads."""
        self.assertEqual(self.kept, 0)


class TwistedHeldTests(HeldTests):
    """The same on Twisted's transports."""

    on_epoll = False
