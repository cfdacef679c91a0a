"""Bodies that end or break off while some of them waits for its turn: none may look whole to whoever gets it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ingress.http.body import LINES_AT_ONCE
from ingress.model.serving.limits import Limits
from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import DATA, END_STREAM, HEADERS, RST_STREAM, data, headers, window_update
from tests.fakes.transports import Peer
from tests.http.strict import StrictError, read_answer, read_request
from tests.proxy.contract.turns import CountingQueue
from tests.proxy.h2_playing import peer_of
from tests.proxy.h2_upstream_case import HEAD, Http2UpstreamCase
from tests.proxy.playing import GET, ProxyCase

POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = b"1\r\nx\r\n" * (5 * LINES_AT_ONCE // 2) + b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"
"""Of three turns."""
FRAMES = data(1, b"x") * 2500 + data(1, b"hello", ended=True)
"""The same in HTTP/2."""


def cuts(whole: bytes, first: int) -> Iterator[bytes]:
    """Yield *whole* cut at each byte of its end, and of where the *first* turn ends."""
    for size in (*range(first - 6, first + 7), *range(len(whole) - 27, len(whole))):
        yield whole[:size]


def is_cut(end: Http2Client, number: int) -> bool:
    """Whether the other side of *end* reset a stream, and did not end it."""
    frames = [*end.of(HEADERS, number), *end.of(DATA, number)]
    return len(end.of(RST_STREAM, number)) == 1 and not any(each.flags & END_STREAM for each in frames)


def wait_and_reset(case: ProxyCase, peer: Peer, octets: bytes) -> None:
    """Say *octets*, and break the connection off once the first turn is over."""
    queue = CountingQueue(case.stage, lambda: 0)

    def leave() -> None:
        peer.broken = True

    queue.between = leave
    peer.say(octets)
    peer.reset()


def wait_and_finish(case: ProxyCase, peer: Peer, octets: bytes) -> None:
    """Say *octets*, and end the connection behind them, while they wait."""
    peer.post(octets)
    peer.finish()


ENDS: tuple[Callable[[ProxyCase, Peer, bytes], None], ...] = (wait_and_finish, wait_and_reset)


class CutCase(Http2UpstreamCase):
    """A proxy between two ends, of which one breaks off."""

    def assert_no_request(self) -> None:
        """Check that the endpoint asked last saw no whole request, and no regular end."""
        upstream = self.upstream()
        self.assertTrue(upstream.saw_reset)
        self.assertFalse(upstream.saw_end)
        self.assertRaises(StrictError, read_request, upstream.received)

    def assert_nothing_under_way(self) -> None:
        """Check that nothing is left of it all."""
        self.assertIn(" 0 busy", repr(self.stage.pool))
        self.assertEqual(repr(self.stage.deadlines.run_queue), "<RunQueue of 0>")


class Http1CutTests(CutCase):
    """HTTP/1.1 on both sides."""

    def setUp(self) -> None:
        ProxyCase.setUp(self)

    def test_trailers(self) -> None:
        """Trailers that are too many, which is found out turns later, are refused; upstream is reset."""
        down = self.stage.open()
        down.say(POST + b"5\r\nhello\r\n0\r\n", *[b"A: 1\r\n" * 2000] * 10)
        self.assert_status(down.received, 400)
        self.assert_no_request()
        self.assert_ended(400)

    def test_requests(self) -> None:
        """A client that ends its side within its body, or breaks off, wherever that is."""
        for may_half_close in (False, True):
            self.stage.site.context.limits = Limits(allow_half_close=may_half_close)
            for end in ENDS:
                for body in cuts(BODY, 6 * LINES_AT_ONCE):
                    end(self, self.stage.open(), POST + body)
                    self.assert_no_request()
        self.assertNotIn(200, {status for _, status, _ in self.metrics.ended})
        self.assert_nothing_under_way()

    def test_answers(self) -> None:
        """An endpoint that ends its connection within its answer, or breaks off, wherever that is."""
        for get in (GET, GET.replace(b"1.1", b"1.0")):
            for end in ENDS:
                for body in cuts(BODY, 6 * LINES_AT_ONCE):
                    down = self.stage.open()
                    down.say(get)
                    end(self, self.upstream(), CHUNKED + body)
                    self.assertTrue(down.closed)
                    if down.received:
                        self.assertRaises(StrictError, read_answer, down.received, b"GET", not down.saw_reset)
        self.assert_nothing_under_way()


class TwistedHttp1CutTests(Http1CutTests):
    """The same on Twisted's transports."""

    on_epoll = False


class DownstreamHttp2CutTests(CutCase):
    """HTTP/2 to HTTP/1.1."""

    def setUp(self) -> None:
        ProxyCase.setUp(self)

    def test_requests(self) -> None:
        """A client that leaves within its body."""
        for end in ENDS:
            for frames in cuts(FRAMES, 10 * 1024):
                client = self.client()
                client.send(client.request(1, method=b"POST", ended=False))
                end(self, peer_of(client), frames)
                self.assert_no_request()
        self.assert_nothing_under_way()

    def test_answers(self) -> None:
        """An endpoint that ends its connection within its answer."""
        for end in ENDS:
            for body in cuts(BODY, 6 * LINES_AT_ONCE):
                client = self.client()
                client.send(client.request(1))
                end(self, self.upstream(), CHUNKED + body)
                client.look()
                if client.statuses(1) == [200]:
                    self.assertTrue(is_cut(client, 1))
                else:
                    self.assertEqual(client.statuses(1), [502])
                client.wire.close()
        self.assert_nothing_under_way()


class TwistedDownstreamHttp2CutTests(DownstreamHttp2CutTests):
    """The same on Twisted's transports."""

    on_epoll = False


class UpstreamHttp2CutTests(CutCase):
    """HTTP/1.1 to HTTP/2."""

    def test_trailers(self) -> None:
        """Trailers that are too many reset the stream, which has not ended before."""
        down = self.stage.open()
        down.say(POST + b"5\r\nhello\r\n0\r\n", *[b"A: 1\r\n" * 2000] * 10)
        self.assert_status(down.received, 400)
        self.assert_reset()

    def assert_reset(self) -> None:
        """Check that the stream of the endpoint was reset, and did not end before."""
        server = self.server()
        self.assertTrue(is_cut(server, server.requests()[-1].stream))

    def test_requests(self) -> None:
        """A client that ends its side within its body, or breaks off, wherever that is."""
        for end in ENDS:
            for body in cuts(BODY, 6 * LINES_AT_ONCE):
                end(self, self.stage.open(), POST + body)
                self.assert_reset()
                self.server().send(window_update(0, len(body)))
        self.assert_nothing_under_way()

    def test_answers(self) -> None:
        """An endpoint that ends its connection within its answer, or breaks off, wherever that is."""
        for end in ENDS:
            for frames in cuts(FRAMES, 10 * 1024):
                down = self.stage.open()
                down.say(GET)
                self.server()
                end(self, self.upstream(), headers(1, HEAD, ended=False) + frames)
                self.assertTrue(down.closed)
                if down.received:
                    self.assertRaises(StrictError, read_answer, down.received, b"GET", not down.saw_reset)
        self.assert_nothing_under_way()


class TwistedUpstreamHttp2CutTests(UpstreamHttp2CutTests):
    """The same on Twisted's transports."""

    on_epoll = False
