"""Clients on real sockets that are slow to take what the proxy said last, on a connection that it ends: they get all of it."""

from __future__ import annotations

import socket
import ssl

from ingress.proxy.contract.limits import LINGER_SECONDS
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from tests.fakes.bodies import MEGABYTE, piece_at
from tests.fakes.http2.frames import (
    DATA,
    INITIAL_WINDOW_SIZE,
    NO_ERROR,
    PREFACE,
    block,
    goaway,
    headers,
    request_fields,
    settings,
    window_update,
)
from tests.fakes.peers.web_sockets import accept_of
from tests.proxy.leftovers_case import LeftoversCase, Peer, on_all_networks, with_tls

WINDOW = 1 << 24
SAID = piece_at(0, MEGABYTE)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(SAID) + SAID
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
UPGRADE = b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
LOOKS = 3
PIECE = 32 * 1024


def bodies_in(frames: bytes) -> bytes:
    """Return what DATA frames among whole *frames* have."""
    bodies = []
    while frames:
        end = 9 + int.from_bytes(frames[:3], "big")
        if frames[3] == DATA:
            bodies.append(frames[9:end])
        frames = frames[end:]
    return b"".join(bodies)


class SlowAtTheEndTests(LeftoversCase):
    """Nothing is left of the answer but what the kernel has."""

    sessions = SessionRules(DownstreamSession, by_prior_knowledge=True)

    async def calls(self, *protocols: str) -> Peer:
        """Connect, with little room for what is not read."""
        client = await self.call(*protocols)
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        return client

    async def answer(self, backend: Peer, answer: bytes = ANSWER) -> None:
        """Say all of the answer."""
        left = memoryview(answer)

        def say() -> bool:
            nonlocal left
            try:
                left = left[backend.sock.send(left) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                pass
            return not left

        await self.until(say)

    def take(self, client: Peer) -> None:
        """Have *client* take a little, if anything has come."""
        try:
            piece = client.sock.recv(PIECE)
        except OSError:
            return
        client.received += piece
        client.is_over = client.is_over or not piece

    async def looks(self, client: Peer, chatter: bytes) -> None:
        """While *client* takes a little, and says *chatter*, have its deadline come some times."""
        (channel,) = self.channels
        below = channel.transport
        await self.until(lambda: not below.queued)
        looks, seen = 0, below.untaken
        self.assertGreater(seen, MEGABYTE // 4)

        def take_and_look() -> bool:
            nonlocal looks, seen
            self.take(client)
            if below.untaken < seen:
                looks, seen = looks + 1, below.untaken
                client.say(chatter)
                self.all_deadlines_come()
            return looks == LOOKS

        await self.until(take_and_look)

    def all_deadlines_come(self) -> None:
        """Have the deadline of each connection come, on either side."""
        for each in (*self.channels, *self.pool.connections):
            each.deadline = min(each.deadline, 0.0)
        self.deadlines.tick()

    async def last_words(self, client: Peer) -> None:
        """Open a tunnel, of which the endpoint says a lot and closes."""
        client.say(UPGRADE)
        backend = await self.arrived()
        await self.answer(backend, SWITCH + SAID)
        backend.close()
        (channel,) = self.channels
        await self.until(lambda: channel.exchange is None or channel.exchange.sent == len(SAID))
        await self.turns(5)

    async def takes_all(self, client: Peer, chatter: bytes) -> None:
        """Have *client* take the rest, saying *chatter*; it is the one who closes."""
        size = 0

        def take() -> bool:
            nonlocal size
            self.take(client)
            if len(client.received) > size:
                size = len(client.received)
                client.say(chatter)
            return client.is_over or SAID[-64:] in client.received[-1024:]

        await self.until(take)
        client.close()
        await self.until(lambda: not self.channels)

    async def test_session(self) -> None:
        """A session that ends with its last stream has its client take that, and give credit for it."""
        client = await self.calls("h2")
        credit = window_update(0, 1)
        request = headers(1, block(request_fields(authority=b"app.test")))
        client.say(
            PREFACE
            + settings((INITIAL_WINDOW_SIZE, WINDOW))
            + window_update(0, WINDOW)
            + request
            + goaway(1, NO_ERROR)
        )
        backend = await self.arrived()
        await self.answer(backend)
        await self.until(lambda: self.channels and not self.channels[0].streams)
        await self.looks(client, credit)
        await self.takes_all(client, credit)
        self.assertEqual(bodies_in(client.received), SAID)
        backend.close()

    async def test_early_answer(self) -> None:
        """A client that was answered amid its request, and says no more of it, is not cut for that."""
        client = await self.calls()
        client.say(b"POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 100\r\n\r\nx")
        backend = await self.arrived()
        await self.answer(backend)
        await self.until(lambda: self.channels and self.channels[0].exchange is None)
        await self.looks(client, b"")
        await self.takes_all(client, b"")
        self.assertTrue(client.received.endswith(SAID))
        backend.close()

    async def test_tunnel(self) -> None:
        """A client that speaks on gets the last words of an endpoint that has closed, and then the end."""
        client = await self.calls()
        await self.last_words(client)
        await self.looks(client, b"x")
        await self.takes_all(client, b"x")
        self.assertTrue(client.received.endswith(SAID))

    async def test_left_tunnel(self) -> None:
        """An endpoint that speaks on gets the last words of a client that has left, however slowly it takes them."""
        self.listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        client = await self.call()
        client.say(UPGRADE)
        backend = await self.arrived()
        backend.say(SWITCH)
        await self.until(lambda: client.has(b"\r\n\r\n"))
        backend.received = b""
        said, size, seen = SAID[: MEGABYTE // 2], 0, 0
        await self.answer(client, said)
        (connection,) = self.pool.connections
        await self.until(lambda: connection.transport.untaken > MEGABYTE // 8 and not self.queued())
        await self.turns(5)
        client.close()

        def take() -> bool:
            nonlocal size, seen
            self.take(backend)
            if len(backend.received) > size:
                size = len(backend.received)
                backend.say(b"x")
            if not self.channels:
                before, seen = seen, connection.transport.untaken
                if seen < before:
                    self.all_deadlines_come()
            return backend.is_over

        await self.until(take)
        self.assertEqual(len(backend.received), len(said))
        backend.close()
        await self.until(lambda: not self.pool.connections)

    async def test_tunnel_in_a_stream(self) -> None:
        """So does one whose WebSocket is a stream of HTTP/2, until it closes itself."""
        client = await self.calls("h2")
        ask = [
            (b":method", b"CONNECT"),
            (b":protocol", b"websocket"),
            (b":scheme", b"https"),
            (b":path", b"/"),
            (b":authority", b"app.test"),
            (b"sec-websocket-version", b"13"),
        ]
        client.say(
            PREFACE
            + settings((INITIAL_WINDOW_SIZE, WINDOW))
            + window_update(0, WINDOW)
            + headers(1, block(ask), ended=False)
        )
        backend = await self.arrived()
        key = next(
            line.split(b": ")[1]
            for line in backend.received.split(b"\r\n")
            if line.lower().startswith(b"sec-websocket-key")
        )
        accepted = SWITCH.replace(b"\r\n\r\n", b"\r\nSec-WebSocket-Accept: %b\r\n\r\n" % accept_of(key))
        await self.answer(backend, accepted + SAID)
        client.say(goaway(0, NO_ERROR))
        backend.close()
        await self.until(lambda: self.channels and not self.channels[0].streams)
        await self.looks(client, window_update(0, 1))
        await self.takes_all(client, window_update(0, 1))
        self.assertEqual(bodies_in(client.received), SAID)

    async def test_silent_tunnel(self) -> None:
        """A client that has taken all that an endpoint said last, and neither speaks nor closes, is cut after a while."""
        client = await self.calls()
        await self.last_words(client)
        (channel,) = self.channels

        def take() -> bool:
            self.take(client)
            return client.is_over and not channel.transport.untaken

        await self.until(take)
        self.assertTrue(client.received.endswith(SAID))
        for _ in range(4):
            self.all_deadlines_come()
            await self.turns(2)
            if not self.channels:
                break
            due = min(each.deadline for each in (channel, *self.pool.connections))
            self.assertLessEqual(due - self.deadlines.now, LINGER_SECONDS)
        self.assertEqual(self.channels, [])
        client.close()


with_tls(globals(), SlowAtTheEndTests)
on_all_networks(globals())
