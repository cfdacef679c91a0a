"""How sessions end: in two steps when the proxy drains, at once after an error, and by time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve

from ingress.proxy.contract.limits import LEAVE_SECONDS, LINGER_GAP_SECONDS, LINGER_SECONDS, MEMO_SECONDS
from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    ACK,
    GOAWAY,
    INITIAL_WINDOW_SIZE,
    LARGEST_WINDOW,
    NO_ERROR,
    PING,
    PREFACE,
    PROTOCOL_ERROR,
    RST_STREAM,
    block,
    continuation,
    data,
    frame,
    headers,
    literal,
    ping,
    request_fields,
    settings,
    window_update,
)
from tests.proxy.h2_playing import SessionCase, peer_of

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Untaken:
    """The transport of *session*, whose client acknowledges nothing from now on; *untaken* bytes at first."""

    def __init__(self, session: Any, untaken: int = 0) -> None:
        self._transport = session.transport
        self.untaken = untaken
        session.transport = self
        session.outgoing.write = self.write

    def write(self, octets: bytes) -> None:
        """Have the kernel take *octets*."""
        self.untaken += len(octets)
        self._transport.write(octets)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def ends(client: Http2Client) -> list[tuple[int, int]]:
    """Return code and last stream of each GOAWAY."""
    client.look()
    return [(each.code, each.last_stream) for each in client.of(GOAWAY)]


def pong(client: Http2Client) -> None:
    """Answer the server's PING."""
    client.look()
    [asked] = [each for each in client.of(PING) if not each.flags & ACK]
    client.send(ping(asked.payload, ack=True))


class DrainTests(SessionCase):
    """The proxy is told to end."""

    def test_at_rest(self) -> None:
        """A client at rest hears that all is over, and the connection is closed when it has heard."""
        client = self.stage.client()
        self.stage.site.connections.drain()
        self.assertEqual(ends(client), [(NO_ERROR, LARGEST_WINDOW)])
        self.assertFalse(client.closed)
        pong(client)
        self.assertEqual(ends(client), [(NO_ERROR, LARGEST_WINDOW), (NO_ERROR, 0)])
        self.assertTrue(client.closed)

    def test_crossing(self) -> None:
        """A request that crosses the first GOAWAY is answered, and the second one names it."""
        client = self.stage.client()
        client.send(client.request(1, path=b"/silent"))
        self.stage.site.connections.drain()
        client.send(client.request(3, path=b"/silent"))
        pong(client)
        self.assertEqual(ends(client), [(NO_ERROR, LARGEST_WINDOW), (NO_ERROR, 3)])
        for upstream in self.stage.connector.peers:
            upstream.say(OK)
        client.look()
        self.assertEqual((client.statuses(1), client.statuses(3)), ([200], [200]))
        self.assertTrue(client.closed)
        self.assertEqual(self.stage.site.connections.all, set())

    def test_deaf(self) -> None:
        """A client that never answers the PING has its time, and no more."""
        client = self.stage.client()
        self.stage.site.connections.drain()
        self.assertTrue(client.until(lambda: client.closed, 5.0))
        self.assertEqual(ends(client), [(NO_ERROR, LARGEST_WINDOW), (NO_ERROR, 0)])

    def slow(self, seconds: float) -> Http2Client:
        """Return a client whose connection ends with an answer that has waited *seconds* for it, and is taken now."""
        client = self.stage.client()
        client.send(client.request(1, path=b"/silent"))
        self.stage.site.connections.drain()
        pong(client)
        wire = peer_of(client)
        wire.window = 0
        self.stage.connector.peers[-1].say(OK)
        self.stage.reactor.settle()
        self.stage.reactor.pass_time(seconds)
        wire.widen()
        client.look()
        self.assertEqual(client.statuses(1), [200])
        self.assertFalse(client.closed)
        return client

    def test_taken(self) -> None:
        """A client that has taken what waited for it, and is silent, has a moment to close."""
        client = self.slow(20)
        self.stage.reactor.pass_time(LEAVE_SECONDS + 2)
        self.assertTrue(client.closed)

    def test_taken_amid_words(self) -> None:
        """One that still says something, as who has more to read in its own system does, is not reset for that, within bounds."""
        client = self.slow(20)
        for _ in range(6):
            client.send(window_update(0, 1))
            self.stage.reactor.pass_time(LINGER_GAP_SECONDS - 1.5)
            self.assertFalse(client.closed)
        while not client.closed:
            self.stage.reactor.pass_time(1)
            client.send(window_update(0, 1))
        self.assertLess(self.stage.reactor.seconds(), 20 + LINGER_SECONDS + 5)

    def test_taken_between_looks(self) -> None:
        """So it is with one that has taken all before anybody looked, as most do."""
        client = self.slow(0)
        for _ in range(round(LINGER_SECONDS) + 3):
            client.send(window_update(0, 1))
            self.stage.reactor.pass_time(1)
        self.assertTrue(client.closed)

    def test_stuck(self) -> None:
        """A client that takes no more of what only the kernel has, for as long as it may, is cut."""
        client = self.stage.client((INITIAL_WINDOW_SIZE, 1 << 24))
        client.send(window_update(0, 1 << 24), client.request(1, path=b"/silent"))
        session = self.stage.session
        session.make_way()
        wire = peer_of(client)
        wire.window = 0
        self.stage.connector.peers[-1].say(
            b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + bytes(300_000)
        )
        self.stage.reactor.settle()
        while session.streams:
            wire.widen(10_000)
            self.stage.reactor.settle()
        self.assertTrue(session.outgoing.is_full)
        Untaken(session, 1000)
        wire.widen()
        self.assertTrue(client.until(lambda: client.closed, self.stage.site.context.limits.send_seconds + 5))

    def gone(self, end: Callable[[Http2Client], object]) -> Http2Client:
        """Return a client that takes nothing any more after its answer, whose connection *end* ends."""
        client = self.stage.client()
        client.send(client.request(1))
        client.look()
        self.stage.reactor.pass_time(3)
        Untaken(self.stage.session)
        end(client)
        return client

    def test_gone(self) -> None:
        """A client that left without a word is not waited for, as it is owed nothing: a stop would take all of its grace."""
        client = self.gone(lambda client: self.stage.site.connections.drain())
        self.assertTrue(client.until(lambda: client.closed, LEAVE_SECONDS + 2))

    def test_gone_amid(self) -> None:
        """One that was asking is owed its answer."""

        def end(client: Http2Client) -> None:
            self.stage.site.connections.drain()
            client.send(client.request(3))

        client = self.gone(end)
        self.assertFalse(client.until(lambda: client.closed, LEAVE_SECONDS + 10))

    def test_making_way(self) -> None:
        """One that makes way while it is owed nothing is gone at once."""
        client = self.gone(lambda client: self.stage.session.make_way())
        self.assertTrue(client.until(lambda: client.closed, 0.5))

    def test_stalled(self) -> None:
        """When it was the proxy that stood still, what the client said meanwhile is read before its time is over."""
        client = self.stage.client()
        self.stage.site.connections.drain()
        client.look()
        [asked] = client.of(PING)
        peer_of(client).post(client.request(1) + ping(asked.payload, ack=True))
        # The tick comes first in a turn, and reading after it.
        self.stage.reactor.rightNow += 10
        self.stage.reactor.settle()
        client.look()
        self.assertEqual(client.statuses(1), [200])
        self.assertEqual(ends(client), [(NO_ERROR, LARGEST_WINDOW), (NO_ERROR, 1)])

    def test_after_the_last(self) -> None:
        """What comes above the last stream is not looked at, harms nothing, and is never named as last."""
        client = self.stage.client()
        client.send(client.request(1, path=b"/silent"))
        self.stage.site.connections.drain()
        pong(client)
        client.send(
            client.request(3, ended=False, method=b"POST"), data(3, b"test"), data(3, b"", ended=True)
        )
        client.send(headers(5, block(request_fields()) + literal(b"x-kept", b"yes", 0x40)))
        self.assertEqual(len(self.stage.requests), 1)
        self.stage.connector.peers[0].say(OK)
        client.look()
        self.assertEqual(client.statuses(1), [200])
        self.assertEqual(client.of(RST_STREAM, 1), [])
        self.assertTrue(client.until(lambda: client.closed, 3.0))
        self.assertEqual(ends(client), [(NO_ERROR, LARGEST_WINDOW), (NO_ERROR, 1)])

    def test_error_after_the_last(self) -> None:
        """An error after the second GOAWAY is told, with no higher last stream than before (section 6.8)."""
        client = self.stage.client()
        client.send(client.request(1, path=b"/silent"))
        self.stage.site.connections.drain()
        pong(client)
        client.send(client.request(7), frame(PING, bytes(8), 0, 3))
        self.assertEqual(ends(client)[1:], [(NO_ERROR, 1), (PROTOCOL_ERROR, 1)])

    def test_uploads_end(self) -> None:
        """An upload that runs is taken to its end."""
        client = self.stage.client()
        client.send(client.request(1, ended=False, method=b"POST"), data(1, b"te"))
        drained: list[None] = []
        self.stage.site.connections.drain().addCallback(drained.append)
        pong(client)
        client.send(data(1, b"st", ended=True))
        client.look()
        self.assertEqual(client.statuses(1), [200])
        self.assertEqual([request.body for request in self.stage.requests], [b"test"])
        self.assertEqual(drained, [None])

    def test_aborted(self) -> None:
        """Who is told to end at once ends at once, and upstream sees no regular end."""
        client = self.stage.client()
        client.send(client.request(1, ended=False, method=b"POST"))
        self.stage.site.abort()
        self.stage.reactor.settle()
        self.assertTrue(client.closed)
        self.assertTrue(self.stage.connector.peers[0].saw_reset)


class ErrorTests(SessionCase):
    """The client does what it must not."""

    def test_streams_end(self) -> None:
        """Upstreams hear of the end of all streams, and nothing is kept."""
        client = self.stage.client()
        client.send(*[client.request(stream, path=b"/silent") for stream in range(1, 21, 2)])
        self.assertEqual(len(self.stage.open_upstreams), 10)
        client.send(frame(PING, bytes(7)))
        self.assertEqual(self.stage.open_upstreams, [])
        self.assertTrue(client.until(lambda: client.closed, 3.0))
        self.assertEqual(len(ends(client)), 1)
        self.assert_nothing_left()
        self.assertEqual([status for _, status, _ in self.stage.metrics.ended], [499] * 10)

    def test_flood(self) -> None:
        """Who goes on after that is not heard for as long as it takes nothing."""
        client = self.stage.client()
        client.send(client.request(1))
        Untaken(self.stage.session, 1000)
        client.send(frame(PING, bytes(7)))
        for _ in range(3):
            client.send(ping())
            self.stage.reactor.pass_time(1)
        self.assertTrue(client.closed)

    def test_nothing_read(self) -> None:
        """Nothing is read behind an error."""
        client = self.stage.client()
        client.send(frame(PING, bytes(7)), client.request(1), ping())
        client.send(client.request(3))
        client.look()
        self.assertEqual(self.stage.requests, [])
        self.assertEqual(client.frames[-1].kind, GOAWAY)

    def test_lost(self) -> None:
        """A client that goes away without a word leaves nothing."""
        for way in ("finish", "reset"):
            client = self.stage.client()
            client.send(*[client.request(stream, path=b"/silent") for stream in range(1, 21, 2)])
            client.send(client.request(21, ended=False, method=b"POST"), data(21, b"x"))
            getattr(peer_of(client), way)()
            self.stage.reactor.settle()
            self.assertEqual(self.stage.open_upstreams, [])
            self.assert_nothing_left()


class TimeTests(SessionCase):
    """The client does nothing."""

    def test_no_preface(self) -> None:
        """A preface must be whole in the time of a head."""
        client = self.stage.connect()
        client.send(PREFACE[:-1])
        self.assertTrue(client.until(lambda: client.closed, 15.0))

    def test_no_settings(self) -> None:
        """So must the first SETTINGS."""
        client = self.stage.connect()
        client.send(PREFACE, settings()[:-1])
        self.assertTrue(client.until(lambda: client.closed, 15.0))

    def test_half_a_block(self) -> None:
        """So must a field block, on a connection that did well until then."""
        client = self.stage.client()
        client.send(client.request(1))
        client.send(headers(3, block(request_fields())[:10], whole=False))
        for _ in range(13):
            client.send(continuation(3, b"", whole=False))
            self.stage.reactor.pass_time(1)
        self.assertTrue(client.until(lambda: client.closed, 3.0))
        self.assertEqual(ends(client), [(PROTOCOL_ERROR, 1)])
        self.assertEqual(len(self.stage.requests), 1)

    def test_nothing_asked(self) -> None:
        """Who shakes hands and asks for nothing rests no longer than others, and PING does not help."""
        client = self.stage.client()
        for _ in range(80):
            client.send(ping())
            self.stage.reactor.pass_time(1)
        self.assertTrue(client.closed)

    def test_rest(self) -> None:
        """After an answer a connection rests for the time of a kept one, then ends with GOAWAY."""
        client = self.stage.client()
        client.send(client.request(1))
        self.stage.reactor.pass_time(70)
        self.assertFalse(client.closed)
        client.send(client.request(3))
        self.stage.reactor.pass_time(70)
        self.assertFalse(client.closed)
        self.assertTrue(client.until(lambda: client.closed, 10.0))
        self.assertEqual(ends(client)[-1], (NO_ERROR, 3))

    def test_keeps_pinging(self) -> None:
        """PING alone does not keep a connection for ever."""
        client = self.stage.client()
        client.send(client.request(1))
        for _ in range(90):
            client.send(ping())
            self.stage.reactor.pass_time(1)
        self.assertTrue(client.closed)


class AgeTests(SessionCase):
    """A connection that has become too old for more requests."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.site.context.limits = evolve(self.stage.site.context.limits, keep_alive_age_seconds=100.0)

    def test_at_rest(self) -> None:
        """It ends when nothing was asked over it for a while, and not under requests."""
        client = self.stage.client()
        for stream in range(1, 209, 2):
            client.send(client.request(stream))
            self.stage.reactor.pass_time(1)
        self.assertEqual(ends(client), [])
        self.stage.reactor.pass_time(MEMO_SECONDS)
        self.assertEqual(ends(client), [(NO_ERROR, LARGEST_WINDOW)])
        client.send(client.request(209))
        pong(client)
        self.assertEqual(client.statuses(209), [200])
        self.assertEqual(ends(client), [(NO_ERROR, LARGEST_WINDOW), (NO_ERROR, 209)])
        self.assertTrue(client.closed)

    def test_busy(self) -> None:
        """If it never rests, it ends all the same, when it is a tenth older than it should be."""
        client = self.stage.client()
        for stream in range(1, 219, 2):
            client.send(client.request(stream))
            self.stage.reactor.pass_time(1)
        self.assertEqual(ends(client), [])
        self.stage.reactor.pass_time(2)
        client.send(client.request(219))
        self.assertEqual(ends(client), [(NO_ERROR, LARGEST_WINDOW)])
        self.assertEqual(client.statuses(219), [200])
