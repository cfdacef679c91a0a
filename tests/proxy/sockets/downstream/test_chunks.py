"""A long chunked upload of random chunks and with trailers, through real sockets."""

from __future__ import annotations

import hashlib
import os
from random import Random
from typing import Any

from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from tests.fakes.bodies import MEGABYTE, piece_at
from tests.proxy.sockets.sockets_case import SocketsCase

SIZE = int(os.environ.get("CHUNKED_MEGABYTES", "16")) * MEGABYTE
"""``CHUNKED_MEGABYTES=100`` makes it as long as anybody could wish."""
GROWTH = 8 * MEGABYTE


def resident() -> int:
    """How many bytes of memory this process has now."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@implementer(IPushProducer)
class RandomChunks:
    """Writes a body in chunks of random sizes, with extensions here and there, and trailers behind."""

    def __init__(self, transport: Any, size: int) -> None:
        self._transport = transport
        self._size = size
        self._random = Random(9)
        self._sent = 0
        self._paused = False
        self.digest = hashlib.sha256()
        transport.registerProducer(self, True)

    def resumeProducing(self) -> None:
        """Write until the transport is full or the body ends."""
        self._paused = False
        while not self._paused and self._sent < self._size:
            wanted = self._random.choice((1, 7, 100, 1000, 4096, 20_000, 65_536))
            piece = piece_at(self._sent, min(self._random.randrange(wanted) + 1, self._size - self._sent))
            self._sent += len(piece)
            self.digest.update(piece)
            extension = b";a=b" if not self._random.randrange(5000) else b""
            self._transport.write(b"%X%b\r\n%b\r\n" % (len(piece), extension, piece))
        if self._sent == self._size:
            self._size = -1
            self._transport.write(b"0\r\nX-Sum: 1\r\nContent-Length: 5\r\n\r\n")
            self._transport.unregisterProducer()

    def pauseProducing(self) -> None:
        """Write no more for now."""
        self._paused = True

    def stopProducing(self) -> None:
        """The transport is gone."""
        self._paused = True


class ChunkTests(SocketsCase):
    """On Twisted's transports."""

    async def test_upload(self) -> None:
        """The body arrives as it was, framed once and without trailers, and memory does not grow with it."""
        client = await self.connect()
        client.get()
        await self.whole(client)
        before = most = resident()

        def grows() -> bool:
            nonlocal most
            most = max(most, resident())
            return len(client.answers) < 2 or not client.answers[1].whole

        client.send(b"POST /upload HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunks = RandomChunks(client.transport, SIZE)
        chunks.resumeProducing()
        await self.until(lambda: not grows(), patience=SIZE / MEGABYTE + 20)
        wire = self.upstream.wires[-1]
        self.assertEqual((client.answers[1].status, wire.body_size), (200, SIZE))
        self.assertEqual(wire.digest.hexdigest(), chunks.digest.hexdigest())
        head = wire.heads[0].lower()
        self.assertEqual(head.count(b"\r\ntransfer-encoding:") + head.count(b"\r\ncontent-length:"), 1)
        self.assertLess(most - before, GROWTH)
        # The connection is as good as before: nothing is left on it.
        client.get()
        await self.whole(client)
        self.assertEqual((client.answers[2].status, len(self.upstream.wires)), (200, 2))


class ChunkOnEpollTests(ChunkTests):
    """On the epoll set."""

    use_epoll = True
