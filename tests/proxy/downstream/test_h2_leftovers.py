"""Nothing of a downstream connection that speaks HTTP/2 outlives it, whatever becomes of it: no cycle that only a collector would find.

Each test is played on both networks, and where it can be, without TLS and with it.
"""

from __future__ import annotations

from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from tests.fakes.http2.frames import (
    ENABLE_CONNECT_PROTOCOL,
    INITIAL_WINDOW_SIZE,
    PREFACE,
    block,
    data,
    goaway,
    headers,
    ping,
    request_fields,
    reset,
    settings,
)
from tests.proxy.leftovers_case import (
    GET,
    LAST_OK,
    LeftoversCase,
    Peer,
    on_all_networks,
    with_tls,
)

SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
LARGE = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + bytes(1 << 20)


SESSIONS = SessionRules(DownstreamSession, by_prior_knowledge=True)
FIRST = PREFACE + settings()
WEB_SOCKET = [
    (b":method", b"CONNECT"),
    (b":protocol", b"websocket"),
    (b":scheme", b"http"),
    (b":path", b"/"),
    (b":authority", b"app.test"),
    (b"sec-websocket-version", b"13"),
]
ONE = block(request_fields(authority=b"app.test"))
UPLOAD = block(request_fields(b"POST", authority=b"app.test"))


class Http2Tests(LeftoversCase):
    """HTTP/2: how a connection and its streams may go, and end."""

    sessions = SESSIONS

    async def greeted(self, *values: tuple[int, int]) -> Peer:
        """Connect as the class does, and greet."""
        client = await self.call("h2")
        client.say(PREFACE + settings(*values))
        await self.until(lambda: client.has(settings()[9:12]))
        return client

    async def answered(self, client: Peer, frames: bytes, answer: bytes = LAST_OK) -> None:
        """Send a request, and wait for its answer."""
        backend = await self.asked(client, frames)
        backend.say(answer)
        client.received = b""
        await self.until(lambda: client.has(b"ok"))
        backend.close()

    async def test_ended(self) -> None:
        """Some requests, and the client closes, breaks off or says goodbye; or the connection is too old."""

        async def play() -> None:
            for end in (Peer.close, Peer.reset, self.say_goodbye, self.let_leave):
                client = await self.greeted()
                for stream in (1, 3):
                    await self.answered(client, headers(stream, ONE))
                end(client)
                await self.until(lambda: not self.channels)
                client.close()

        await self.nothing_is_left(play)

    def say_goodbye(self, client: Peer) -> None:
        """End as browsers do."""
        client.say(goaway())
        client.close()

    def let_leave(self, client: Peer) -> None:
        """Have us end the connection."""
        for session in self.channels:
            session.close()
        client.close()

    async def test_many_heads(self) -> None:
        """Heads that are remembered while the connection lasts."""
        heads = [block(request_fields(path=b"/%d" % number, authority=b"app.test")) for number in range(8)]

        async def play() -> None:
            client = await self.greeted()
            for number, head in enumerate(heads):
                await self.answered(client, headers(2 * number + 1, head))
            client.close()

        await self.nothing_is_left(play)

    async def test_silent(self) -> None:
        """A connection on which nothing, or only the connection start or half of it, comes; and one that is no HTTP/2."""
        firsts = (PREFACE[:10], PREFACE, PREFACE + settings()[:5], PREFACE + b"GET / HTTP/1.1\r\n\r\n", FIRST)

        async def play() -> None:
            for first in firsts:
                for end in (Peer.close, Peer.reset):
                    client = await self.call("h2")
                    client.say(first)
                    await self.turns(3)
                    end(client)
                    await self.until(lambda: not self.channels)

        await self.nothing_is_left(play)

    async def test_faults(self) -> None:
        """What ends a connection, or one stream of it."""
        faults = (
            headers(2, ONE),
            headers(1, b"\xff\xff\xff"),
            headers(1, ONE, whole=False) + ping(),
            b"\xff" * 9,
            headers(1, block([(b":method", b"GET")])) + goaway(),
            headers(1, block(request_fields(path=b"/%00", authority=b"app.test"))) + goaway(),
        )

        async def play() -> None:
            for fault in faults:
                client = await self.greeted()
                client.say(fault)
                await self.turns(3)
                self.deadlines.tick()
                await self.turns(3)
                client.close()
                await self.until(lambda: not self.channels)

        await self.nothing_is_left(play)

    async def test_streams_left(self) -> None:
        """Streams that end before their time: by RST_STREAM, or with the connection, amid request or answer."""

        async def play() -> None:
            for frames in (headers(1, ONE), headers(1, UPLOAD, ended=False) + data(1, b"x" * 100)):
                for answer in (b"", LARGE):
                    for end in (self.reset_stream, Peer.close, Peer.reset):
                        client = await self.greeted((INITIAL_WINDOW_SIZE, 1000))
                        backend = await self.asked(client, frames)
                        backend.say(answer)
                        client.received = b""
                        await self.until(lambda: not answer or client.has(b"\x00" * 100))  # noqa: B023
                        end(client)
                        await self.until(backend.ended)
                        client.close()
                        backend.close()
                        await self.until(lambda: not self.channels)

        await self.nothing_is_left(play)

    def reset_stream(self, client: Peer) -> None:
        """End the stream alone."""
        client.say(reset(1))

    async def test_web_socket(self) -> None:
        """A tunnel in a stream, ended by either side, or refused."""

        async def play() -> None:
            for accepted in (True, False):
                client = await self.greeted((ENABLE_CONNECT_PROTOCOL, 1))
                backend = await self.asked(client, headers(1, block(WEB_SOCKET), ended=False))
                backend.say(SWITCHED if accepted else LAST_OK)
                client.say(data(1, b"hello"))
                await self.turns(5)
                client.close()
                backend.close()

        await self.nothing_is_left(play)

    async def test_bug(self) -> None:
        """A bug of ours in one stream."""

        def fails(*arguments: object) -> None:
            raise ZeroDivisionError

        async def play() -> None:
            with_bug = self.patch(self.resource, "render", fails)
            client = await self.greeted()
            client.received = b""
            client.say(headers(1, ONE))
            # Of stream 1, and :status 500; our SETTINGS, which may come as late, have a number that looks like the former.
            await self.until(lambda: client.has(b"\x00\x00\x00\x01\x8e"))
            client.close()
            with_bug.restore()
            self.flushLoggedErrors(ZeroDivisionError)

        await self.nothing_is_left(play)

    async def test_http1(self) -> None:
        """Where HTTP/2 could have been spoken, and HTTP/1.1 was."""

        async def play() -> None:
            client = await self.call("http/1.1")
            await self.answered(client, GET)
            client.close()

        await self.nothing_is_left(play)


with_tls(globals(), Http2Tests)
on_all_networks(globals())
