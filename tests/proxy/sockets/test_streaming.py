"""Large bodies through real sockets: whole, paced by the slower side, and never held."""

from __future__ import annotations

import socket

from twisted.internet.task import LoopingCall

from ingress.identity.certificates import CertificateTable
from tests.fakes.bodies import MEGABYTE, digest_of
from tests.fakes.certificates import make_authority
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.proxy.sockets.sockets_case import SocketsCase, certificate_of, queued_in, socket_of

LARGE = 64 * MEGABYTE
BOUND = MEGABYTE // 2
"""Bytes that the proxy may hold for one exchange: its two transports' buffers and a piece on its way."""


class BodyCase(SocketsCase):
    """Bodies of 64 MB, and a look at the proxy's buffers while they pass."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Watch the buffers."""
        await super().setUp()
        self.most = 0
        watching = LoopingCall(self.look)
        watching.start(0.002)
        self.addCleanup(watching.stop)

    def look(self) -> None:
        """Remember the most that the proxy ever held."""
        self.most = max(self.most, self.queued())

    async def download(self, client: DownstreamWire, chunked: bool, size: int = LARGE) -> None:
        """Fetch a body and compare its digest."""
        self.upstream.on_request = lambda wire: wire.stream(size, chunked)
        client.get()
        await self.whole(client)
        answer = client.answers[-1]
        self.assertEqual((answer.status, answer.whole, answer.size), (200, True, size))
        self.assertEqual(answer.framing, b"chunked" if chunked else b"length")
        self.assertEqual(answer.digest, digest_of(size))
        self.assertLess(self.most, BOUND)


class DownloadTests(BodyCase):
    """Answers with large bodies."""

    async def test_length(self) -> None:
        """A body with a length arrives whole, with its length."""
        await self.download(await self.connect(), chunked=False)

    async def test_chunked(self) -> None:
        """A chunked body arrives whole, and is chunked again."""
        await self.download(await self.connect(), chunked=True)

    async def test_slow_reader(self) -> None:
        """A reader that rests after each megabyte sets the pace: the proxy holds no more than for a quick one."""
        client = await self.connect()
        client.pace = (self.reactor, MEGABYTE, 0.01)
        await self.download(client, chunked=False)

    async def test_slow_reader_over_tls(self) -> None:
        """So it is over TLS."""
        authority = make_authority()
        table = CertificateTable({"app.test": (certificate_of(authority, "app.test"),)}, {}, None)
        self.contexts.publish(table)
        client = await self.connect_tls("app.test", authority)
        client.pace = (self.reactor, MEGABYTE, 0.01)
        await self.download(client, chunked=True, size=16 * MEGABYTE)

    async def test_reader_that_stopped(self) -> None:
        """While downstream takes nothing, upstream is made to stop; when it takes again, the rest comes."""
        producers = []
        self.upstream.on_request = lambda wire: producers.append(wire.stream(LARGE, False))
        client = await self.connect()
        client.transport.pauseProducing()
        client.get()
        await self.until(lambda: producers and producers[0].is_paused)
        sent = -1

        def rests() -> bool:
            nonlocal sent
            before, sent = sent, producers[0].sent
            return before == sent and self.channels[0].is_full

        await self.until(rests)
        # What the kernel keeps is its own affair; it is less than this body by far.
        self.assertLess(producers[0].sent, LARGE // 2)
        client.transport.resumeProducing()
        await self.whole(client)
        self.assertEqual(client.answers[0].digest, digest_of(LARGE))
        self.assertLess(self.most, BOUND)

    async def test_connection_after_a_full_buffer(self) -> None:
        """An upstream connection whose last bytes had to wait for downstream serves the next request."""
        self.upstream.on_request = lambda wire: wire.write(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        slow, quick = await self.connect(), await self.connect()
        await self.until(lambda: len(self.channels) == 2)
        for end in (slow, *self.channels):
            # Fixed sizes: the kernel takes no more than it takes at first.
            with socket_of(end.transport) as sock:
                for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    sock.setsockopt(socket.SOL_SOCKET, option, 1 << 16)
        slow.transport.pauseProducing()
        slow.get()
        await self.until(lambda: self.upstream.requests)
        (wire,) = self.upstream.wires
        sent = 0
        while self.queued() < 0x4000:
            wire.write(b"2000\r\n%b\r\n" % bytes(0x2000))
            sent += 0x2000
            await self.until(lambda: not queued_in(wire.transport))
            await self.turns(2)
        self.assertFalse(any(channel.is_full for channel in self.channels))
        # The last piece fills the buffer, and then the answer is over.
        wire.write(b"fa00\r\n%b\r\n0\r\n\r\n" % bytes(0xFA00))
        await self.until(lambda: any(channel.is_full for channel in self.channels))
        slow.transport.resumeProducing()
        await self.whole(slow)
        self.assertEqual(slow.answers[0].size, sent + 0xFA00)
        self.upstream.on_request = lambda wire: wire.write(OK)
        quick.get()
        await self.whole(quick)
        self.assertEqual((quick.answers[0].body, len(self.upstream.wires)), (b"ok", 1))


class UploadTests(BodyCase):
    """Requests with large bodies."""

    async def upload(self, client: DownstreamWire, chunked: bool) -> None:
        """Send a body and compare its digest."""
        client.upload(LARGE, chunked)
        await self.whole(client)
        (wire,) = self.upstream.wires
        self.assertEqual((client.answers[0].status, wire.body_size), (200, LARGE))
        self.assertEqual(wire.digest.hexdigest(), digest_of(LARGE))
        framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % LARGE
        self.assertEqual(wire.heads[0].count(framing), 1)
        self.assertLess(self.most, BOUND)

    async def test_length(self) -> None:
        """A body with a length arrives whole, with its length."""
        await self.upload(await self.connect(), chunked=False)

    async def test_chunked(self) -> None:
        """A chunked body arrives whole, and is chunked again."""
        await self.upload(await self.connect(), chunked=True)

    async def test_slow_upstream(self) -> None:
        """An upstream that rests for a while makes downstream rest; nothing piles up in between."""

        def rest(wire: UpstreamWire) -> None:
            wire.transport.pauseProducing()
            self.reactor.callLater(0.2, wire.transport.resumeProducing)

        self.upstream.on_head = rest
        client = await self.connect()
        producer = client.upload(LARGE, False)
        await self.until(lambda: self.upstream.wires and producer.is_paused)
        self.assertLess(producer.sent, LARGE // 2)
        await self.whole(client)
        self.assertEqual(self.upstream.wires[0].digest.hexdigest(), digest_of(LARGE))
        self.assertLess(self.most, BOUND)

    async def test_early_answer(self) -> None:
        """An answer in the middle of the body arrives, and the connection ends; upstream's does too."""
        self.upstream.on_head = lambda wire: wire.write(OK)
        client = await self.connect()
        client.send(b"POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 1000000\r\n\r\nbegin")
        await self.whole(client)
        self.assertEqual((client.answers[0].status, client.answers[0].body), (200, b"ok"))
        self.assertTrue(client.answers[0].has(b"Connection: close"))
        await self.until(lambda: client.saw_end and not self.upstream.open_wires)
        self.assertEqual(self.upstream.requests, 0)

    async def test_early_answer_and_close(self) -> None:
        """An upstream that answers 413 and closes at once, unread body and all, is heard."""

        def refuse(wire: UpstreamWire) -> None:
            wire.write(
                b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n"
            )
            wire.close()

        self.upstream.on_head = refuse
        client = await self.connect()
        client.upload(16 * MEGABYTE, True)
        await self.whole(client)
        self.assertEqual((client.answers[0].status, client.answers[0].body), (413, b"no\n"))
