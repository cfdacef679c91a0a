"""Credit of a session, both ways, seen from outside: what is sent is never more than was given, and nothing is lost."""

from __future__ import annotations

from ingress.http2.incoming import CONNECTION_WINDOW, STREAM_WINDOW
from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    CANCEL,
    DATA,
    FLOW_CONTROL_ERROR,
    GOAWAY,
    INITIAL_WINDOW_SIZE,
    RST_STREAM,
    WINDOW_UPDATE,
    block,
    data,
    headers,
    reset,
    settings,
    window_update,
)
from tests.proxy.h2_playing import LARGE, SessionCase

USUAL = 65_535


def credit(client: Http2Client, stream: int) -> int:
    """Return what a client was given by WINDOW_UPDATE."""
    return sum(each.increment for each in client.of(WINDOW_UPDATE, stream))


def frames_of(stream: int, count: int) -> list[bytes]:
    """Return so many octets as DATA frames."""
    return [data(stream, b"x" * min(16_384, count - at)) for at in range(0, count, 16_384)]


class UploadTests(SessionCase):
    """What clients may send."""

    def connect(self, path: bytes = b"/") -> Http2Client:
        """Begin an upload on stream 1."""
        client = self.stage.client()
        client.send(client.request(1, ended=False, method=b"POST", path=path))
        client.look()
        return client

    def stall(self) -> None:
        """Have the next upstreams take nothing but a head."""
        self.stage.connector.window = 2000

    def test_given_at_first(self) -> None:
        """SETTINGS and a WINDOW_UPDATE say what a client may send at once."""
        client = self.stage.client()
        self.assertEqual(client.settings[INITIAL_WINDOW_SIZE], STREAM_WINDOW)
        self.assertEqual(credit(client, 0), CONNECTION_WINDOW - USUAL)

    def test_given_back(self) -> None:
        """What upstream takes is given back in time, so that a body of any size goes on."""
        client = self.connect()
        for _ in range(64):
            client.send(*frames_of(1, STREAM_WINDOW // 4))
        client.send(data(1, b"", ended=True))
        client.look()
        self.assertEqual([len(request.body) for request in self.stage.requests], [16 * STREAM_WINDOW])
        self.assertGreaterEqual(credit(client, 1) + STREAM_WINDOW, 16 * STREAM_WINDOW)
        self.assertGreaterEqual(credit(client, 0) + USUAL, 16 * STREAM_WINDOW)
        self.assertEqual(client.statuses(1), [200])

    def test_nothing_for_nobody(self) -> None:
        """While upstream takes nothing the client gets no credit, and no more than the window is kept."""
        self.stall()
        client = self.connect()
        client.send(*frames_of(1, STREAM_WINDOW))
        client.look()
        self.assertLess(credit(client, 1), STREAM_WINDOW // 2 + 1)
        self.stage.connector.peers[0].widen()
        self.stage.serve()
        client.look()
        self.assertGreaterEqual(credit(client, 1), STREAM_WINDOW // 2)

    def begin_stalled(self, client: Http2Client, count: int) -> None:
        """Begin uploads that upstream takes little of, and send as much of them as there is credit for."""
        self.stall()
        for stream in range(1, 2 * count, 2):
            client.send(client.request(stream, ended=False, method=b"POST"))
            client.send(*frames_of(stream, min(STREAM_WINDOW, self.stage.session.incoming.credit)))
        self.stage.connector.window = None

    def test_beside_stalled(self) -> None:
        """While most of the connection's credit is held by others, an upload goes on with what is left."""
        client = self.stage.client()
        self.begin_stalled(client, 3)
        client.send(client.request(7, ended=False, method=b"POST"))
        sent = 0
        while sent < LARGE:
            client.look()
            left = (
                CONNECTION_WINDOW - 3 * STREAM_WINDOW + credit(client, 0) + USUAL - CONNECTION_WINDOW - sent
            )
            self.assertGreater(left, 0, "no credit for what was taken")
            piece = min(left, 16_384)
            client.send(data(7, b"x" * piece))
            sent += piece
        client.send(data(7, b"", ended=True))
        client.look()
        self.assertEqual(client.statuses(7), [200])

    def test_out_of_credit(self) -> None:
        """Who may send nothing, since all credit of the connection is held, is not blamed for it."""
        client = self.stage.client()
        self.begin_stalled(client, 10)
        self.assertTrue(self.stage.session.incoming.is_used_up)
        client.send(client.request(21, ended=False, method=b"POST"))
        self.stage.reactor.pass_time(50)
        client.look()
        self.assertEqual(client.statuses(21), [])
        for peer in self.stage.connector.peers:
            peer.widen()
        client.send(data(21, b"x", ended=True))
        client.look()
        self.assertEqual(client.statuses(21), [200])

    def test_more_than_the_stream(self) -> None:
        """Who sends more than the window of a stream loses the stream, and it counts for the connection."""
        self.stall()
        client = self.connect()
        given = STREAM_WINDOW
        while not client.of(RST_STREAM) and given < 4 * STREAM_WINDOW:
            client.send(*frames_of(1, STREAM_WINDOW + credit(client, 1)))
            client.look()
            given += STREAM_WINDOW
        self.assertEqual([each.code for each in client.of(RST_STREAM, 1)], [FLOW_CONTROL_ERROR])
        self.assertIsNone(client.end)

    def test_more_than_the_connection(self) -> None:
        """Who sends more than the window of the connection loses all."""
        self.stall()
        client = self.stage.client()
        for stream in range(1, 11, 2):
            client.send(client.request(stream, ended=False, method=b"POST"))
            client.send(*frames_of(stream, STREAM_WINDOW))
        client.until(lambda: client.closed)
        self.assertEqual([each.code for each in client.of(GOAWAY)], [FLOW_CONTROL_ERROR])
        self.assertTrue(client.closed)

    def test_reset_by_the_server(self) -> None:
        """What comes for a stream that we reset is counted, and given back to the connection."""
        client = self.stage.client()
        sent = 0
        for stream in range(1, 41, 2):
            fields = [(b"content-length", b"1")]
            client.send(client.request(stream, ended=False, method=b"POST", more=fields))
            client.send(*frames_of(stream, STREAM_WINDOW), data(stream, b"", ended=True))
            sent += STREAM_WINDOW
            client.look()
            self.assertIsNone(client.end)
            self.assertEqual(len(client.of(RST_STREAM, stream)), 1)
        self.assertGreater(credit(client, 0) + USUAL, sent)

    def test_padding(self) -> None:
        """Padding counts, and is given back."""
        client = self.connect()
        for number in range(3 * STREAM_WINDOW // 250):
            client.send(data(1, b"", padding=249) if number % 2 else data(1, b"xx", padding=247))
        client.send(data(1, b"", ended=True))
        client.look()
        self.assertEqual(client.statuses(1), [200])
        self.assertGreaterEqual(credit(client, 1), 2 * STREAM_WINDOW)

    def test_canceled(self) -> None:
        """What a client cancels gives its credit back, time and again."""
        self.stall()
        client = self.stage.client()
        for stream in range(1, 101, 2):
            client.send(client.request(stream, ended=False, method=b"POST"))
            client.send(*frames_of(stream, STREAM_WINDOW // 2), reset(stream, CANCEL))
            client.look()
            self.assertIsNone(client.end)
        self.assertGreater(credit(client, 0), 49 * STREAM_WINDOW // 2 - CONNECTION_WINDOW)

    def test_after_trailers(self) -> None:
        """What upstream had not taken when a body ended with trailers is given back when it does."""
        self.stall()
        client = self.connect()
        client.send(*frames_of(1, STREAM_WINDOW), headers(1, block([(b"x", b"y")])))
        self.stage.connector.peers[0].widen()
        self.stage.connector.window = None
        client.look()
        self.assertEqual(client.statuses(1), [200])
        for stream in range(3, 43, 2):
            client.send(
                client.request(stream, ended=False, method=b"POST"), *frames_of(stream, STREAM_WINDOW - 1)
            )
            client.send(data(stream, b"x", ended=True))
            client.look()
            self.assertEqual(client.statuses(stream), [200])
        self.assertGreater(credit(client, 0), 20 * STREAM_WINDOW - CONNECTION_WINDOW)


class DownloadTests(SessionCase):
    """What is sent to clients."""

    def assert_sent(self, client: Http2Client, stream: int, count: int) -> None:
        """Check how much of an answer came."""
        client.look()
        self.assertEqual(len(client.body(stream)), count)

    def test_connection_window(self) -> None:
        """No more is sent than the window of the connection, however large those of streams are."""
        client = self.stage.client((INITIAL_WINDOW_SIZE, 1 << 30))
        client.send(client.request(1, path=b"/large"), client.request(3, path=b"/large"))
        client.look()
        self.assertEqual(sum(len(each.payload) for each in client.of(DATA)), USUAL)
        client.send(window_update(0, 2 * LARGE))
        client.until(lambda: client.has_ended(1) and client.has_ended(3))
        self.assertEqual((len(client.body(1)), len(client.body(3))), (LARGE, LARGE))

    def test_shared_in_turns(self) -> None:
        """The window of the connection is shared: no stream takes all of it."""
        client = self.stage.client((INITIAL_WINDOW_SIZE, 0))
        client.send(
            window_update(0, LARGE), *[client.request(stream, path=b"/large") for stream in range(1, 21, 2)]
        )
        client.send(settings((INITIAL_WINDOW_SIZE, LARGE)))
        client.look()
        shares = [len(client.body(stream)) for stream in range(1, 21, 2)]
        self.assertEqual(sum(shares), LARGE + USUAL)
        self.assertGreater(min(shares), LARGE // 20)

    def test_each_window(self) -> None:
        """Each change of the initial window moves each open stream, below zero as well, and not the connection's."""
        client = self.stage.client((INITIAL_WINDOW_SIZE, 1000))
        client.send(client.request(1, path=b"/large"), client.request(3, path=b"/large"))
        self.assert_sent(client, 1, 1000)
        client.send(settings((INITIAL_WINDOW_SIZE, 400)), window_update(1, 500))
        self.assert_sent(client, 1, 1000)
        client.send(window_update(1, 101))
        self.assert_sent(client, 1, 1001)
        self.assert_sent(client, 3, 1000)
        client.send(settings((INITIAL_WINDOW_SIZE, 2000)))
        self.assert_sent(client, 1, 2601)
        self.assert_sent(client, 3, 2000)
        client.send(client.request(5, path=b"/large"))
        self.assert_sent(client, 5, 2000)

    def test_frame_size(self) -> None:
        """No frame is larger than every client takes, whatever this one says."""
        client = self.stage.client((5, 1 << 20), (INITIAL_WINDOW_SIZE, 1 << 30))
        client.send(window_update(0, LARGE), client.request(1, path=b"/large"))
        client.until(lambda: client.has_ended(1))
        self.assertLessEqual(max(len(each.payload) for each in client.of(DATA)), 16_384)
        self.assertEqual(client.body(1), b"x" * LARGE)

    def test_slow_stream(self) -> None:
        """A stream that nobody reads harms no other on its connection."""
        client = self.stage.client()
        client.send(client.request(1, path=b"/large"), window_update(0, LARGE))
        self.assert_sent(client, 1, USUAL)
        for stream in range(3, 203, 2):
            client.send(client.request(stream))
            self.assertTrue(client.until(lambda stream=stream: client.has_ended(stream)))  # type: ignore[misc]
        self.assertLess(self.stage.session.streams[1].unsent, 1 << 18)
        client.send(window_update(1, LARGE))
        self.assert_sent(client, 1, LARGE)

    def test_full_transport(self) -> None:
        """A client that takes nothing from its socket stops its upstreams, and is ended at last."""
        client = self.stage.connect(window=5000)
        client.begin((INITIAL_WINDOW_SIZE, 1 << 30))
        client.send(
            window_update(0, 1 << 30), *[client.request(stream, path=b"/large") for stream in range(1, 21, 2)]
        )
        self.assertGreater(self.stage.waiting_bytes, 7 * LARGE)
        self.stage.reactor.pass_time(65)
        self.assertTrue(client.closed)
        self.assertEqual(self.stage.open_upstreams, [])

    def test_dribbled(self) -> None:
        """A credit now and then keeps an answer going, and its end is the end of the stream."""
        client = self.stage.client((INITIAL_WINDOW_SIZE, 0))
        client.send(client.request(1, path=b"/large"), window_update(0, LARGE))
        for _ in range(16):
            self.stage.reactor.pass_time(50)
            client.send(window_update(1, LARGE // 16))
        self.assert_sent(client, 1, LARGE)
        self.assertTrue(client.has_ended(1))
