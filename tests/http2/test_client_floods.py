"""Floods from an endpoint: each ends its connection within bounds, and what only looks like one does not."""

from __future__ import annotations

from ingress.http2.client import MAX_UNTAKEN
from tests.fakes.http2 import frames as frames
from tests.fakes.http2.frames import (
    block,
    continuation,
    data,
    frame,
    headers,
    literal,
    ping,
    priority,
    reset,
    settings,
    table_size,
    window_update,
)
from tests.http2.client_case import ClientCase

OK = block([(b":status", b"200")])
MOST_FRAMES = 50_000
"""More than any flood may have before it ends."""


class FloodTests(ClientCase):
    """What an endpoint may not do."""

    def test_floods(self) -> None:
        """Frames that carry nothing, or expand to too much, end the connection by ENHANCE_YOUR_CALM."""
        entry = literal(b"x", bytes(4000).replace(b"\0", b"a"), 0x40)
        floods = {
            "ping": ping(),
            "settings": settings(),
            "settings that swing": settings((frames.INITIAL_WINDOW_SIZE, 0))
            + settings((frames.INITIAL_WINDOW_SIZE, 9)),
            "empty pieces": data(1),
            "padding": data(1, b"", padding=255),
            "unknown frames": frame(99, b"x"),
            "priorities": priority(1),
            "small windows": window_update(0, 1),
            "empty continuations": continuation(1, b"", whole=False),
            "table sizes": headers(3, table_size(0) * 3 + OK),
            "interim answers": headers(1, block([(b":status", b"103")]), ended=False),
            "bomb": headers(1, b"\xbe" * 1000),
        }
        allowed = (frames.ENHANCE_YOUR_CALM, frames.COMPRESSION_ERROR)
        for what, octets in floods.items():
            self.setUp()
            stream = self.ask()
            if what == "empty pieces" or what == "padding":
                self.server.send(headers(1, OK, ended=False))
            elif what == "empty continuations":
                self.server.send(headers(1, b"", whole=False))
            elif what == "bomb":
                self.server.send(headers(1, OK + entry, ended=False))
            elif what == "table sizes":
                self.ask()
            count = 0
            while (
                self.connection.fault is None and stream.id in self.connection.streams and count < MOST_FRAMES
            ):
                # No more than there is credit for: what comes in one read is a body in one piece.
                self.server.send(octets * 10)
                count += 10
            self.assertLess(count, MOST_FRAMES, what)
            if what != "interim answers":
                assert self.connection.fault is not None, what
                self.assertIn(self.connection.fault[0], allowed, what)

    def test_untaken_answers(self) -> None:
        """An endpoint that asks on, and takes nothing of what it gets, is not answered without end."""
        stream = self.ask(b"x", ended=False)
        self.server.send(headers(1, OK, ended=False))
        self.connection.outgoing.is_full = True
        sent: list[bytes] = []
        self.connection.outgoing.write = sent.append
        # Seventeen bytes each.
        while self.connection.fault is None and len(sent) < MAX_UNTAKEN // 8:
            self.server.send((data(1, b"x" * 100) + ping() * 8) * 100)
            stream.resume()
        assert self.connection.fault is not None
        self.assertEqual(self.connection.fault[0], frames.ENHANCE_YOUR_CALM)

    def test_look_alikes(self) -> None:
        """Small messages in a long conversation, windows opened for each, and many refusals, are in order."""
        stream = self.ask(b"hello", ended=False)
        self.server.send(headers(1, OK, ended=False))
        for _ in range(5000):
            stream.send(b"x", False)
            self.server.send(window_update(1, 1), window_update(0, 1), data(1, b"y"), ping())
        self.assertIsNone(self.connection.fault)
        # As gRPC for Go does it, which measures the way.
        for _ in range(20_000):
            stream.send(b"x", False)
            self.server.send(window_update(1, 1), window_update(0, 1), ping())
        self.assertIsNone(self.connection.fault)
        for _ in range(3000):
            refused = self.ask()
            self.server.send(reset(refused.id, frames.REFUSED_STREAM))
        self.assertIsNone(self.connection.fault)
