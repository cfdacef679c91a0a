"""Nothing of a downstream connection outlives it, whatever becomes of it: no cycle that only a collector would find.

Each test is played on both networks, and where it can be, without TLS and with it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from attrs import evolve

from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.routing.table import RouteTable
from tests.proxy.leftovers_case import (
    GET,
    LAST_OK,
    OK,
    POST,
    LeftoversCase,
    Peer,
    on_all_networks,
    with_tls,
)
from tests.proxy.sockets.sockets_case import ANY_PATH, APP
from tests.tls.hellos import openssl_hello

LAST_GET = b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n"
UPGRADE = b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
VAULT = BackendReference("demo", "vault", 443)
LARGE = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + bytes(1 << 20)


class Http1Tests(LeftoversCase):
    """HTTP/1.1: how a connection may go, and end."""

    async def test_ended_by_client(self) -> None:
        """A request, its answer, and the client closes or breaks off."""
        for end in (Peer.close, Peer.reset):

            async def play(end: Callable[[Peer], None] = end) -> None:
                client = await self.call()
                backend = await self.asked(client)
                backend.say(LAST_OK)
                await self.until(lambda: client.has(b"ok"))
                end(client)
                backend.close()

            await self.nothing_is_left(play)

    async def test_ended_by_us(self) -> None:
        """A client that says that this is its last request."""

        async def play() -> None:
            client = await self.call()
            backend = await self.asked(client, LAST_GET)
            backend.say(LAST_OK)
            await self.until(client.ended)
            client.close()
            backend.close()

        await self.nothing_is_left(play)

    async def test_many_requests(self) -> None:
        """Requests one after the other, and all at once, on connections that are kept on both sides."""

        async def play() -> None:
            client = await self.call()
            backend = await self.asked(client)
            for _ in range(3):
                backend.say(OK)
                await self.until(lambda: client.has(b"ok"))
                client.received = backend.received = b""
                client.say(GET)
                await self.until(lambda: backend.has(b"\r\n\r\n"))
            client.say(GET * 3)
            for _ in range(4):
                backend.say(OK)
                await self.until(lambda: client.has(b"ok"))
                client.received = b""
            client.close()
            backend.close()

        await self.nothing_is_left(play)

    async def test_silent(self) -> None:
        """Nobody says anything: closed by the client, reset by it, or ended by the deadline."""

        async def play() -> None:
            for end in (Peer.close, Peer.reset, self.wait_out):
                client = await self.call()
                await self.until(lambda: self.channels)
                end(client)
                await self.until(lambda: not self.channels)
                client.close()

        await self.nothing_is_left(play)

    def wait_out(self, client: Peer) -> None:
        """Have all deadlines of downstream connections be over."""
        for channel in self.channels:
            channel.expire()

    async def test_half_head(self) -> None:
        """A head that never comes to its end: closed, reset, or answered with 408."""

        async def play() -> None:
            for end in (Peer.close, Peer.reset, self.wait_out):
                client = await self.call()
                client.say(GET[:-2])
                await self.until(lambda: any(len(each.reader.ahead) for each in self.channels))
                end(client)
                if end == self.wait_out:
                    await self.until(lambda: client.has(b" 408 "))  # noqa: B023 - it is awaited here
                client.close()
                await self.until(lambda: not self.channels)

        await self.nothing_is_left(play)

    async def test_refused(self) -> None:
        """Heads that are answered with an error of ours."""
        refused = {
            b"GET / HTTP/1.1\r\n\r\n": b" 400 ",
            b"GET /%00 HTTP/1.1\r\nHost: app.test\r\n\r\n": b" 400 ",
            b"GET / HTTP/1.1\r\nHost: app.test\r\nX: " + b"x" * 70_000 + b"\r\n\r\n": b" 431 ",
            b"POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n": b" 400 ",
        }
        self.publish()

        async def play() -> None:
            for request, status in refused.items():
                client = await self.call()
                client.say(request)
                await self.until(lambda client=client, status=status: client.has(status))  # type: ignore[misc]
                client.close()

        await self.nothing_is_left(play)

    async def test_no_route(self) -> None:
        """404, 503 and 413, on a connection that goes on."""
        small = evolve(ANY_PATH, host="small.test", max_body_bytes=10)
        table = RouteTable([evolve(ANY_PATH, host="app.test", backend=VAULT), small])
        self.resource.publish(table, {VAULT: BackendState(()), APP: BackendState((self.endpoint,))})

        async def play() -> None:
            client = await self.call()
            client.say(GET.replace(b"app", b"none"))
            await self.until(lambda: client.has(b" 404 "))
            client.say(GET)
            await self.until(lambda: client.has(b" 503 "))
            client.say(POST.replace(b"app", b"small"))
            await self.until(lambda: client.has(b" 413 "))
            client.close()

        await self.nothing_is_left(play)

    async def test_upload_left(self) -> None:
        """A client leaves in the midst of its body, or is too slow with it."""

        async def play() -> None:
            for end in (Peer.close, Peer.reset, self.slow):
                client = await self.call()
                backend = await self.asked(client, POST + b"x" * 1000)
                end(client)
                await self.until(backend.ended)
                backend.close()
                client.close()
                await self.until(lambda: not self.channels)

        await self.nothing_is_left(play)

    def slow(self, client: Peer) -> None:
        """Have the body come too late."""
        for channel in self.channels:
            channel.exchange.request_broken(408, "late")

    async def test_upload(self) -> None:
        """A body that comes whole, in a length and in chunks."""
        chunked = b"POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n"

        async def play() -> None:
            for head, rest in ((POST, bytes(99_999) + b"."), (chunked, b"5\r\nhello\r\n0\r\n\r\n")):
                client = await self.call()
                backend = await self.asked(client, head)
                client.say(rest)
                await self.until(lambda: backend.has(rest[-5:]))  # noqa: B023 - it is awaited here
                backend.say(LAST_OK)
                await self.until(lambda: client.has(b"ok"))  # noqa: B023
                client.close()
                backend.close()

        await self.nothing_is_left(play)

    async def test_answer_left(self) -> None:
        """A client leaves before its answer, or in the midst of a large one."""

        async def play() -> None:
            for answer in (b"", LARGE):
                for end in (Peer.close, Peer.reset):
                    client = await self.call()
                    backend = await self.asked(client)
                    backend.say(answer)
                    await self.until(lambda: not answer or client.has(b" 200 "))  # noqa: B023 - it is awaited here
                    end(client)
                    # What a half-close means is not this test's subject: somebody tries to answer.
                    more = bytes(1000) if answer else LAST_OK
                    await self.until(lambda: backend.ended_amid(more))  # noqa: B023
                    backend.close()

        await self.nothing_is_left(play)

    async def test_taken_too_slowly(self) -> None:
        """A client takes nothing of a large answer, and is cut."""

        async def play() -> None:
            client = await self.call()
            backend = await self.asked(client)
            backend.say(LARGE)

            def is_stuck() -> bool:
                backend.say(LARGE)
                return any(each.is_full or each.sending.is_copying for each in self.channels)

            await self.until(is_stuck)
            self.site.abort()
            await self.until(backend.ended)
            client.close()
            backend.close()

        await self.nothing_is_left(play)

    async def test_half_close(self) -> None:
        """A client ends its side, and then reads its answer."""

        async def play() -> None:
            client = await self.call()
            backend = await self.asked(client)
            client.finish()
            backend.say(LAST_OK)
            await self.until(client.ended)
            client.close()
            backend.close()

        await self.nothing_is_left(play)

    async def test_tunnel(self) -> None:
        """A tunnel, ended by either side in either way."""

        async def play() -> None:
            for by_client in (True, False):
                for end in (Peer.close, Peer.reset):
                    client = await self.call()
                    backend = await self.asked(client, UPGRADE)
                    backend.say(SWITCHED)
                    await self.until(lambda: client.has(b" 101 "))  # noqa: B023 - it is awaited here
                    client.say(b"there")
                    await self.until(lambda: backend.has(b"there"))  # noqa: B023
                    backend.say(b"and back")
                    await self.until(lambda: client.has(b"back"))  # noqa: B023
                    end(client if by_client else backend)
                    await self.until((backend if by_client else client).ended)
                    client.close()
                    backend.close()

        await self.nothing_is_left(play)

    async def test_crowded_out(self) -> None:
        """Connections at rest that are closed to make room."""

        async def play() -> None:
            clients = [await self.call() for _ in range(3)]
            await self.until(lambda: len(self.channels) == 3)
            for channel in self.channels:
                channel.drain()
            await self.until(lambda: all(client.ended() for client in clients))
            for client in clients:
                client.close()

        await self.nothing_is_left(play)

    async def test_bug(self) -> None:
        """A bug of ours, in the midst of a request or of its answer."""

        def fails(*arguments: object) -> None:
            raise ZeroDivisionError

        async def play() -> None:
            with_bug = self.patch(self.resource, "render", fails)
            client = await self.call()
            client.say(GET)
            await self.until(lambda: client.has(b" 500 "))
            client.close()
            with_bug.restore()
            with_bug = self.patch(self.site.context, "listeners", (fails,))
            client = await self.call()
            backend = await self.asked(client)
            backend.say(LAST_OK)
            await self.until(client.ended)
            client.close()
            backend.close()
            with_bug.restore()
            self.flushLoggedErrors(ZeroDivisionError)

        await self.nothing_is_left(play)


class HandshakeTests(LeftoversCase):
    """TLS connections that never came to their first request."""

    async def test_broken_off(self) -> None:
        """A handshake that ends before it began, amid the ClientHello, or after our answer."""
        hello = openssl_hello(b"app.test")

        async def play() -> None:
            for first, is_answered in ((b"", False), (hello[:50], False), (hello, True)):
                for end in (Peer.close, Peer.reset, self.abort):
                    client = self.dial(self._secure)
                    client.say(first)
                    await self.until(lambda: self.channels)
                    await self.until(lambda: not is_answered or client.has(b"\x16\x03\x03"))  # noqa: B023
                    end(client)
                    client.close()
                    await self.until(lambda: not self.channels)

        await self.nothing_is_left(play)

    def abort(self, client: Peer) -> None:
        """End everything."""
        self.site.abort()

    async def test_refused(self) -> None:
        """What is no ClientHello, and an alert in place of the end."""
        hello = openssl_hello(b"app.test")
        refused = (GET, b"\x16\x03\x01\x00\x02\x01\x00", b"\x00" * 100, hello[:20] + bytes(200))

        async def play() -> None:
            for octets in refused:
                client = self.dial(self._secure)
                client.say(octets)
                await self.turns(3)
                client.close()
            client = self.dial(self._secure)
            client.say(hello)
            await self.until(lambda: client.has(b"\x16\x03\x03"))
            client.say(b"\x15\x03\x01\x00\x02\x02\x30")
            await self.until(client.ended)
            client.close()

        await self.nothing_is_left(play)

    async def test_broken_record(self) -> None:
        """Bytes behind the handshake that are no records."""

        async def play() -> None:
            client = await self.dial_tls()
            await self.until(lambda: self.channels)
            below = socket.socket(fileno=client.sock.detach())
            below.send(b"GET / HTTP/1.1\r\n\r\n" * 10)
            await self.until(lambda: not self.channels)
            below.close()

        await self.nothing_is_left(play)


with_tls(globals(), Http1Tests)
on_all_networks(globals())
