"""A proxy in memory that speaks HTTP/2, raw clients of it, and upstreams behind it that speak HTTP/1.1.

All is real but the sockets and the clock: site, session, exchanges, pool.  Upstreams read
strictly with the tests' own reader, so that what reaches one can be read in one way or is told.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from tests.corpus.judge import take_requests
from tests.fakes.http2.client import Http2Client, MemoryWire
from tests.fakes.transports import Peer
from tests.http.strict import Message
from tests.proxy.playing import Stage

BODY = b"hello, world\n"
LARGE = 1 << 20
"""Bytes of the body of ``/large``."""


def usual_answer(request: Message) -> bytes | None:
    """What an upstream says: ``/silent`` gets nothing, ``/large`` a megabyte, all else a greeting."""
    method, target, _ = request.start
    if target == b"/silent":
        return None
    body = b"x" * LARGE if target == b"/large" else BODY
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head if method == b"HEAD" else head + body


def may_be_whole(octets: bytes) -> bool:
    """Whether it is worth while to read a request: uploads in small pieces would be read again and again."""
    head, end, body = octets.partition(b"\r\n\r\n")
    if not end or b"\r\ntransfer-encoding: chunked" not in head.lower():
        return bool(end)
    return body.endswith(b"\r\n\r\n")


def peer_of(client: Http2Client) -> Peer:
    """Return the far end of the connection of *client*, which is one in memory."""
    assert isinstance(client.wire, MemoryWire)
    return client.wire.peer


class Http2Stage(Stage):
    """A stage whose plain listener takes HTTP/2 by prior knowledge, with upstreams that answer."""

    def __init__(self, on_epoll: bool = False) -> None:
        super().__init__(on_epoll=on_epoll)
        self.site.sessions = SessionRules(DownstreamSession, by_prior_knowledge=True)
        self.answer: Callable[[Message], bytes | None] = usual_answer
        self.requests: list[Message] = []
        """The whole requests that reached upstreams, in their order."""
        self.unread: dict[Peer, bytes] = {}
        """What else reached upstreams."""

    def connect(self, window: int | None = None) -> Http2Client:
        """Open a connection; nothing is said yet."""
        return Http2Client(MemoryWire(self.reactor, self.open(window=window), self.serve))

    def client(self, *values: tuple[int, int]) -> Http2Client:
        """Open a connection and shake hands with these settings."""
        client = self.connect()
        client.begin(*values)
        return client

    def serve(self) -> None:
        """Let upstreams answer whatever reached them."""
        busy = True
        while busy:
            busy = False
            for peer in list(self.connector.peers):
                received = peer.take()
                if not received:
                    continue
                busy = True
                unread = self.unread[peer] = self.unread.get(peer, b"") + received
                if not may_be_whole(unread):
                    continue
                requests, self.unread[peer] = take_requests(unread)
                for request in requests:
                    self.requests.append(request)
                    answer = self.answer(request)
                    if answer is not None and not peer.closed:
                        peer.say(answer)

    @property
    def sessions(self) -> list[DownstreamSession]:
        """The open connections that speak HTTP/2."""
        return [each for each in self.site.connections.all if isinstance(each, DownstreamSession)]

    @property
    def session(self) -> DownstreamSession:
        """The only one of these."""
        [session] = self.sessions
        return session

    @property
    def waiting_bytes(self) -> int:
        """What upstreams said and the proxy has not taken."""
        return sum(peer.unread for peer in self.connector.peers)

    @property
    def open_upstreams(self) -> list[Peer]:
        """The upstream connections that are open."""
        return [peer for peer in self.connector.peers if not peer.closed]


class SessionCase(SynchronousTestCase):
    """A test with a proxy that speaks HTTP/2."""

    def setUp(self) -> None:
        self.stage = Http2Stage()

    def assert_nothing_left(self) -> None:
        """Check that no connection, stream or place in the pool is left once downstream is gone."""
        self.assertEqual(self.stage.site.connections.all, set())
        self.assertIn(" 0 busy", repr(self.stage.pool))
        self.assertIn(" 0 connecting", repr(self.stage.pool))


class MessageCase(SessionCase):
    """A client, and upstreams that say what a test has for them."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.answer = lambda request: None
        self.client: Http2Client = self.stage.client()

    @property
    def upstream(self) -> Peer:
        """The upstream that was connected to last."""
        return self.stage.connector.peers[-1]

    def fields(self, stream: int = 1, which: int = -1) -> dict[bytes, bytes]:
        """Return a head of an answer, or its trailers; each name may come once."""
        self.client.look()
        head = self.client.heads(stream)[which]
        self.assertEqual(len(dict(head)), len(head), head)
        return dict(head)
