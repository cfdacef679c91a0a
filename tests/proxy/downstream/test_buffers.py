"""The most that one connection can make the proxy hold, row by row as ``docs/limits.md`` has it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

from ingress.http.grammar import MAX_HEAD
from ingress.model.serving.limits import USUAL_HEAD_BYTES
from ingress.proxy.contract.limits import MAX_AHEAD, MAX_HELD
from ingress.proxy.transport.epoll.stream import HIGH_WATER
from tests.fakes.transports import Peer
from tests.proxy.playing import GET, ProxyCase

MEGABYTES = 4 * 1024 * 1024
WINDOW = 1000
PUT = b"PUT / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n" % MEGABYTES
PUT_CHUNKED = b"PUT / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % MEGABYTES
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
UPGRADE = GET[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
CHUNKS = b"fff\r\n" + b"x" * 4095 + b"\r\n"


class BufferTests(ProxyCase):
    """Peers that send megabytes to those who take nothing."""

    high_water = 64 * 1024
    read = 64 * 1024
    # Chunk sizes and line ends, where a body is framed anew.
    _framing = 8 * 1024

    def pour(self, peer: Peer, octets: bytes, held: Callable[[], int], most: int) -> None:
        """Send *octets* again and again, and check that what is *held* stays within *most* bytes."""
        largest = 0
        for _ in range(max(1, MEGABYTES // len(octets))):
            peer.say(octets)
            largest = max(largest, held())
            if peer.closed:
                break
        self.assertLessEqual(largest, most)

    def test_requests_ahead(self) -> None:
        """Requests that came before their turn."""
        down = self.stage.open()
        down.say(GET)
        channel: Any = down.protocol
        self.pour(down, GET * 1000, lambda: len(channel.reader.ahead), MAX_AHEAD + self.read)
        self.assertGreater(down.unread, MEGABYTES // 2)

    def test_heads(self) -> None:
        """Heads without end, of both sides."""
        down = self.stage.open()
        channel: Any = down.protocol
        self.pour(
            down,
            b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000,
            lambda: len(channel.reader.ahead),
            MAX_HEAD + self.read,
        )
        self.assert_status(down.received, 431)
        down = self.stage.open()
        down.say(GET)
        connection: Any = self.upstream().protocol
        head = b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20_000
        self.pour(self.upstream(), head, lambda: len(connection._buffer), USUAL_HEAD_BYTES + self.read)
        self.assert_status(down.received, 502)

    def test_held(self) -> None:
        """A body for an endpoint that is not connected yet."""
        self.connector.is_slow = True
        down = self.stage.open()
        down.say(PUT)
        channel: Any = down.protocol
        exchange = channel.exchange
        self.pour(down, bytes(100_000), lambda: exchange.passage.held.size, MAX_HELD + self.read)

    def test_upstream_full(self) -> None:
        """A body that the endpoint does not take, in both framings."""
        self.connector.window = WINDOW
        for head, piece in ((PUT, bytes(100_000)), (PUT_CHUNKED, CHUNKS * 20)):
            down = self.stage.open()
            down.say(head)
            transport = self.upstream().transport
            most = max(self.high_water, MAX_HELD) + self.read + self._framing
            self.pour(down, piece, lambda: transport.unsent, most)  # noqa: B023 - it is called at once
            down.reset()

    def test_downstream_full(self) -> None:
        """An answer that the client does not take, in both framings."""
        for head, piece in ((LENGTH, bytes(100_000)), (CHUNKED, CHUNKS * 20)):
            down = self.stage.open(window=WINDOW)
            down.say(GET)
            self.upstream().say(head)
            transport = down.transport
            most = self.high_water + self.read + self._framing
            self.pour(self.upstream(), piece, lambda: transport.unsent, most)  # noqa: B023 - it is called at once
            self.assertGreater(self.upstream().unread, MEGABYTES // 2)
            down.reset()

    def test_tunnel(self) -> None:
        """Both directions of an upgraded connection."""
        self.connector.window = WINDOW
        down = self.stage.open(window=WINDOW)
        down.say(UPGRADE)
        upstream = self.upstream()
        upstream.say(SWITCH)
        for peer, transport in ((upstream, down.transport), (down, upstream.transport)):
            self.pour(peer, bytes(100_000), lambda: transport.unsent, self.high_water + self.read)  # noqa: B023 - as above
            self.assertGreater(peer.unread, MEGABYTES // 2)

    def test_chunk_lines(self) -> None:
        """Chunk lines and trailers without end."""
        for endless in (
            b"1;" + b"x" * 20_000,
            b"0\r\n" + b"X: x\r\n" * 5000,
            b"1" * 20_000,
            b"1;x=y\r\nx\r\n" * 8000,
        ):
            down = self.stage.open()
            down.say(PUT_CHUNKED + endless)
            self.assert_status(down.received, 400)
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(CHUNKED)
            self.upstream().say(endless)
            self.assertTrue(down.closed, endless[:10])


class BufferTestsOnEpoll(BufferTests):
    """The same on the epoll set's transports."""

    on_epoll = True
    high_water = HIGH_WATER
    read = 256 * 1024

    def test_octets(self) -> None:
        """What comes in pieces of an octet takes little more memory than there are octets, whichever way it goes."""
        self.connector.window = WINDOW
        down = self.stage.open(window=WINDOW)
        down.say(UPGRADE)
        upstream = self.upstream()
        upstream.say(SWITCH)
        for peer, transport in ((upstream, down.transport), (down, upstream.transport)):
            tracemalloc.start()
            try:
                for _ in range(WINDOW + self.high_water):
                    peer.say(b"xy")
                    if peer.unread:
                        break
                # What the peer itself has kept is no matter.
                kept, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            self.assertGreater(transport.unsent, self.high_water)
            self.assertLess(kept, 2 * self.high_water)
