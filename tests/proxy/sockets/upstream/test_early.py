"""Upstreams that answer an upload early and hang up on the rest of it, on real sockets."""

from __future__ import annotations

from tests.fakes.bodies import MEGABYTE
from tests.fakes.peers.upstreams import UpstreamWire
from tests.proxy.sockets.sockets_case import SocketsCase

ANSWER = b"HTTP/1.1 409 Conflict\r\nConnection: close\r\nContent-Length: 5\r\n\r\nearly"


class EarlyAnswerTests(SocketsCase):
    """On Twisted's transports."""

    async def early(self, chunked: bool, seconds: float) -> None:
        """Upload, be answered after *seconds*, and see the answer although upstream resets."""

        def refuse(wire: UpstreamWire) -> None:
            wire.transport.pauseProducing()
            self.reactor.callLater(seconds, hang_up, wire)

        def hang_up(wire: UpstreamWire) -> None:
            # What was not read turns this into a reset.
            wire.write(ANSWER)
            wire.transport.loseConnection()

        self.upstream.on_head = refuse
        for _ in range(5):
            client = await self.connect()
            client.upload(8 * MEGABYTE, chunked)
            await self.until(lambda client=client: client.answers or client.lost)  # type: ignore[misc]
            self.assertEqual([answer.status for answer in client.answers], [409])
            self.assertTrue(client.answers[0].has(b"Connection: close"))

    async def test_length(self) -> None:
        """The answer arrives while a body of known length is on its way."""
        await self.early(chunked=False, seconds=0.02)

    async def test_chunked(self) -> None:
        """The answer arrives while chunks are on their way."""
        await self.early(chunked=True, seconds=0.02)

    async def test_at_once(self) -> None:
        """So it does when upstream never looks at the body."""
        await self.early(chunked=False, seconds=0)
        await self.early(chunked=True, seconds=0)


class EarlyAnswerOnEpollTests(EarlyAnswerTests):
    """On the epoll set."""

    use_epoll = True
