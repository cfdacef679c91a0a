"""Clients of HTTP/2 that read nothing of answers which come in HTTP/2, too: no endpoint of these can be had to wait with a head."""

from __future__ import annotations

from ingress.proxy.contract.limits import ABOVE_WATERMARK_SECONDS, MAX_HEADS_UNTAKEN
from ingress.proxy.downstream.h2_session import DownstreamSession
from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    CANCEL,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    RST_STREAM,
    block,
    continuation,
    data,
    headers,
    settings,
)
from tests.proxy.h2_playing import peer_of
from tests.proxy.h2_upstream_case import HEAD, Http2UpstreamCase

STREAMS = 100
"""As many as an endpoint allows at once until it says so."""
FRAME = 16_000
LARGE = 60_000
"""Bytes of a value that comes in several frames."""


def large_block(*fields: tuple[bytes, bytes]) -> bytes:
    """Return a field block with *fields*, and with much besides."""
    return block([*fields, (b"x-large", b"y" * LARGE)])


def in_frames(stream: int, octets: bytes, ended: bool) -> bytes:
    """Return a field block in as many frames as it takes."""
    pieces = [octets[at : at + FRAME] for at in range(0, len(octets), FRAME)]
    first, *others = pieces
    frames = headers(stream, first, ended, whole=not others)
    return frames + b"".join(continuation(stream, piece, whole=piece is others[-1]) for piece in others)


class UnreadAnswerTests(Http2UpstreamCase):
    """A client whose window of TCP is closed, and which asks on."""

    def setUp(self) -> None:
        super().setUp()
        self.asking: Http2Client = self.client()
        self._asked = 0

    @property
    def session(self) -> DownstreamSession:
        """The connection of the client."""
        [session] = self.stage.site.connections.all
        assert isinstance(session, DownstreamSession)
        return session

    def ask(self, count: int = STREAMS) -> None:
        """Ask so often, with a connection to the endpoint that has room for it."""
        first = self._asked * 2 + 1
        self._asked += count
        self.asking.send(*[self.asking.request(each) for each in range(first, first + 2 * count, 2)])

    def answer_all(self) -> None:
        """Have the endpoint answer what it was asked and has not answered: by a small head, and large trailers."""
        server = self.server()
        for each in server.requests():
            server.send(headers(each.stream, HEAD, ended=False))
            server.send(in_frames(each.stream, large_block((b"x-sum", b"1")), ended=True))
        server.frames.clear()

    def test_trailers(self) -> None:
        """Trailers count as heads do: who takes none of them is read no further."""
        peer_of(self.asking).window = 0
        self.ask(20)
        self.answer_all()
        self.assertGreater(self.session.transport.unsent, 20 * LARGE)
        # What is read next is the last.
        self.ask(10)
        self.ask(10)
        self.assertEqual(self.session.requests, 30)
        self.assertGreater(peer_of(self.asking).unread, 0)
        peer_of(self.asking).widen()
        self.asking.look()
        self.answer_all()
        self.asking.look()
        self.assertEqual(len(self.asking.of(HEADERS)), 80)
        self.assertIsNone(self.asking.end)

    def test_trailers_behind_bodies(self) -> None:
        """They count with the bodies that they wait behind: streams that the client gives no credit end soon."""
        self.wait_behind_bodies()
        self.assertGreater(self.session.outgoing.waiting, STREAMS * LARGE)
        self.assertTrue(self.session.backlog.is_above_high_watermark)
        self.reactor.pass_time(ABOVE_WATERMARK_SECONDS + 2)
        self.asking.look()
        self.assertEqual({each.code for each in self.asking.of(RST_STREAM)}, {CANCEL})
        self.assertEqual(len(self.asking.of(RST_STREAM)), STREAMS)
        self.assertEqual((self.session.outgoing.waiting, self.session.streams), (0, {}))
        self.assertFalse(self.session.backlog.is_above_high_watermark)

    def test_trailers_behind_bodies_come(self) -> None:
        """They come with the credit for the bodies, and nothing waits any more then."""
        self.wait_behind_bodies()
        self.asking.send(settings((INITIAL_WINDOW_SIZE, 1)))
        self.asking.look()
        for stream in range(1, 2 * STREAMS, 2):
            self.assertEqual(self.asking.body(stream), b"x")
            self.assertEqual(dict(self.asking.heads(stream)[-1])[b"x-large"], b"y" * LARGE)
        self.assertEqual((self.session.outgoing.waiting, self.session.streams), (0, {}))
        self.assertFalse(self.session.backlog.is_above_high_watermark)

    def wait_behind_bodies(self) -> None:
        """Have large trailers come, each behind an octet of a body that the client gives no credit for."""
        self.asking.send(settings((INITIAL_WINDOW_SIZE, 0)))
        self.ask()
        server = self.server()
        for each in server.requests():
            server.send(headers(each.stream, HEAD, ended=False), data(each.stream, b"x"))
            server.send(in_frames(each.stream, large_block((b"x-sum", b"1")), ended=True))

    def test_too_much(self) -> None:
        """Who takes nothing while megabytes of heads come is cut, and its requests are for nobody."""
        peer_of(self.asking).window = 0
        self.ask()
        server = self.server()
        told = 0
        for each in server.requests():
            if peer_of(self.asking).closed:
                break
            server.send(in_frames(each.stream, large_block((b":status", b"200")), ended=False))
            told += 1
        self.assertTrue(peer_of(self.asking).closed)
        self.assertGreater(told * LARGE, MAX_HEADS_UNTAKEN)
        self.assertLess((told - 4) * LARGE, MAX_HEADS_UNTAKEN)
        self.assertEqual(self.stage.site.connections.all, set())
        self.assertIn(" 0 busy", repr(self.stage.pool))

    def test_interim(self) -> None:
        """Interim heads count, too."""
        peer_of(self.asking).window = 0
        self.ask(20)
        server = self.server()
        for each in server.requests():
            server.send(in_frames(each.stream, large_block((b":status", b"103")), ended=False))
        self.assertTrue(self.session.backlog.is_above_high_watermark)
        peer_of(self.asking).widen()
        self.asking.look()
        self.assertFalse(self.session.backlog.is_above_high_watermark)
        self.assertEqual(self.asking.statuses(1), [103])


class TwistedUnreadAnswerTests(UnreadAnswerTests):
    """The same on Twisted's transports."""

    on_epoll = False
