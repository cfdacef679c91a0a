"""Downstream peers on real sockets that leave, close one side, or say nothing."""

from __future__ import annotations

from twisted.internet.error import ConnectionDone

from ingress.model.serving.limits import Limits
from tests.fakes.bodies import MEGABYTE
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.proxy.sockets.sockets_case import SocketsCase


class VanishTests(SocketsCase):
    """A peer that goes away in the middle of something, while no deadline can come."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Have the coarse time stand still."""
        await super().setUp()
        self.deadlines.stop()

    async def test_in_the_answer(self) -> None:
        """Upstream is aborted at once, and the log line tells what was sent."""
        self.upstream.on_request = lambda wire: wire.stream(64 * MEGABYTE, False)
        client = await self.connect()
        client.get(b"/large")
        await self.until(lambda: client.answers and client.answers[0].size)
        client.transport.abortConnection()
        await self.until(lambda: self.upstream.wires[0].lost)
        self.assertNotIsInstance(self.upstream.wires[0].lost, ConnectionDone)
        self.access_log.flush()
        await self.until(lambda: self.lines)
        self.assertIn(b' GET app.test "/large" 200 ', self.lines[0])

    async def test_by_a_regular_close(self) -> None:
        """A peer that closes both sides regularly is as gone as one that resets."""
        self.upstream.on_request = lambda wire: wire.stream(64 * MEGABYTE, True)
        client = await self.connect()
        client.get()
        await self.until(lambda: client.answers and client.answers[0].size)
        client.transport.loseConnection()
        await self.until(lambda: self.upstream.wires[0].lost)

    async def test_before_the_answer(self) -> None:
        """A reset while upstream still thinks frees upstream too, and is a 499 in the log."""
        self.upstream.on_request = lambda wire: None
        client = await self.connect()
        client.get()
        await self.until(lambda: self.upstream.requests)
        client.transport.abortConnection()
        await self.until(lambda: self.upstream.wires[0].lost)
        self.access_log.flush()
        await self.until(lambda: self.lines)
        self.assertIn(b' "/" 499 0 ', self.lines[0])

    async def test_in_the_request_body(self) -> None:
        """Upstream never sees a cut request body end regularly."""
        for regular in (True, False):
            client = await self.connect()
            client.send(
                b"POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n"
            )
            await self.until(lambda: self.upstream.wires and self.upstream.wires[-1].body_size == 5)
            if regular:
                client.transport.loseConnection()
            else:
                client.transport.abortConnection()
            await self.until(lambda: self.upstream.wires[-1].lost)
            self.assertNotIsInstance(self.upstream.wires[-1].lost, ConnectionDone)
        self.assertEqual(self.upstream.requests, 0)


class HalfCloseTests(SocketsCase):
    """A peer that ends its side and waits, where that is allowed."""

    limits = Limits(allow_half_close=True)

    async def test_after_the_request(self) -> None:
        """A whole request gets its whole answer, and then the connection ends."""
        waiting: list[UpstreamWire] = []
        self.upstream.on_request = waiting.append
        client = await self.connect()
        client.get()
        client.transport.loseWriteConnection()
        await self.until(lambda: waiting and self.channels[0].is_half_closed)
        waiting[0].write(OK)
        await self.whole(client)
        self.assertEqual(client.answers[0].body, b"ok")
        await self.until(lambda: client.lost)

    async def test_requests_ahead(self) -> None:
        """So do all requests that were sent ahead, in their order."""
        self.upstream.on_request = lambda wire: wire.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + wire.heads[-1].split()[1]
        )
        client = await self.connect()
        for path in (b"/1", b"/2", b"/3"):
            client.get(path)
        client.transport.loseWriteConnection()
        await self.whole(client, 3)
        self.assertEqual([answer.body for answer in client.answers], [b"/1", b"/2", b"/3"])
        await self.until(lambda: client.lost)

    async def test_between_requests(self) -> None:
        """Without a request the connection just ends."""
        client = await self.connect()
        client.transport.loseWriteConnection()
        await self.until(lambda: client.lost and not self.channels)
        self.assertEqual(client.answers, [])


class DeadlineTests(SocketsCase):
    """Deadlines, brought about by moving them instead of waiting."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Take the time, before which no deadline is set."""
        await super().setUp()
        self.began = self.deadlines.now

    async def expire(self, after: float) -> None:
        """Check that the one connection's deadline is so long after some tick of this test, and let it pass."""
        await self.until(lambda: self.channels)
        (channel,) = self.channels
        self.assertGreaterEqual(channel.deadline, self.began + after)
        self.assertLessEqual(channel.deadline, self.deadlines.now + after)
        channel.deadline = 0.0
        self.deadlines.tick()

    async def test_silence(self) -> None:
        """A connection that never says a word is closed without an answer."""
        client = await self.connect()
        await self.expire(Limits().head_seconds)
        await self.until(lambda: client.lost)
        self.assertEqual(client.answers, [])

    async def test_slow_head(self) -> None:
        """A head that does not end is answered with 408; its bytes do not move the deadline."""
        client = await self.connect()
        client.send(b"GET / HTTP/1.1\r\n")
        await self.until(lambda: self.channels and self.channels[0].reader.ahead)
        before = self.channels[0].deadline
        self.deadlines.tick()
        client.send(b"Host: app.test\r\n")
        await self.until(lambda: len(self.channels[0].reader.ahead) > 20)
        self.assertEqual(self.channels[0].deadline, before)
        await self.expire(Limits().head_seconds)
        await self.whole(client)
        self.assertEqual(client.answers[0].status, 408)

    async def test_slow_body(self) -> None:
        """A request body that stops coming is a 408, and upstream never sees it end regularly."""
        client = await self.connect()
        client.send(b"POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 10\r\n\r\nbegin")
        await self.until(lambda: self.upstream.wires and self.upstream.wires[0].body_size == 5)
        await self.expire(Limits().body_seconds)
        await self.whole(client)
        self.assertEqual(client.answers[0].status, 408)
        await self.until(lambda: self.upstream.wires[0].lost)
        self.assertNotIsInstance(self.upstream.wires[0].lost, ConnectionDone)

    async def test_slow_read(self) -> None:
        """A peer that does not take its answer is cut, and upstream with it."""
        self.upstream.on_request = lambda wire: wire.stream(64 * MEGABYTE, False)
        client = await self.connect()
        client.transport.pauseProducing()
        client.get()
        await self.takes_nothing()

    async def takes_nothing(self) -> None:
        """Watch the one channel, whose client takes nothing, last for its time, and then be cut."""
        await self.until(lambda: self.channels[0].is_full)
        await self.turns(50)
        self.deadlines.tick()
        (channel,) = self.channels
        progress = channel.sending.progress
        self.assertTrue(self.began <= progress.since <= self.deadlines.now)
        self.assertGreater(progress.unsent, 0)
        progress.since = self.deadlines.now - (Limits().send_seconds - 2)
        self.deadlines.tick()
        self.assertEqual(self.channels, [channel])
        await self.until_cut(progress)

    async def test_slow_read_that_goes_on(self) -> None:
        """A peer that takes its answer in time has no deadline but the next one."""
        self.upstream.on_request = lambda wire: wire.stream(16 * MEGABYTE, False)
        client = await self.connect()
        client.transport.pauseProducing()
        client.get()
        await self.until(lambda: self.channels[0].is_full)
        client.transport.resumeProducing()
        await self.whole(client)
        self.assertEqual(client.answers[0].size, 16 * MEGABYTE)
        await self.expire(Limits().keep_alive_seconds)
        await self.until(lambda: client.lost)

    async def test_slow_tunnel(self) -> None:
        """A tunnel whose client takes nothing of what waits is cut as an answer is."""
        self.upstream.on_request = lambda wire: wire.switch()
        self.upstream.on_tunnel = lambda wire: wire.write(bytes(32 * MEGABYTE))
        client = await self.connect()
        client.get(fields=b"Connection: Upgrade\r\nUpgrade: websocket\r\n")
        await self.whole(client)
        client.transport.pauseProducing()
        client.send(b"?")
        await self.takes_nothing()
