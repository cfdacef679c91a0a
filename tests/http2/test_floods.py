"""What hostile clients cost: each flood ends the connection soon, and little is kept or asked of upstreams meanwhile."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from itertools import islice

from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.server import MAX_STREAMS
from tests.fakes.http2.frames import GOAWAY
from tests.http2.floods import FLOODS, MADE_YOU_RESET, Flood
from tests.proxy.h2_playing import Http2Stage

AT_ONCE = 16
"""Pieces that come in one packet."""
MOST_BYTES = 2 << 20
"""What the proxy and this test may keep more of for one flood: answers on their way, and what is remembered of each stream."""


def flood_proxy(case: SynchronousTestCase, flood: Flood) -> None:
    """Send *flood* to a proxy, and look at what comes of it."""
    stage = Http2Stage(on_epoll=True)
    stage.client().wire.close()
    client = stage.client()
    pieces = flood.pieces(client)
    most_open = most_kept = sent = 0
    # What is there already is none of what is kept, and would be looked through time and again.
    gc.freeze()
    case.addCleanup(gc.unfreeze)
    tracemalloc.start()
    try:
        while sent < flood.within:
            packet = list(islice(pieces, min(AT_ONCE, flood.within - sent)))
            if not packet:
                break
            client.send(*packet)
            client.look()
            sent += len(packet)
            most_open = max(most_open, len(stage.open_upstreams))
            del packet
            kept = tracemalloc.get_traced_memory()[0] - stage.waiting_bytes
            most_kept = max(most_kept, kept - sum(len(each.payload) for each in client.frames))
            if client.end is not None:
                break
    finally:
        tracemalloc.stop()
    case.assertIsNotNone(client.end, f"not ended by {sent} pieces")
    case.assertTrue(client.until(lambda: client.closed, 3.0), "GOAWAY, and not closed")
    assert client.end is not None
    case.assertIn(client.end.code, flood.codes)
    case.assertEqual(len(client.of(GOAWAY)), 1)
    case.assertLessEqual(most_kept, MOST_BYTES)
    case.assertLessEqual(most_open, MAX_STREAMS)
    case.assertLessEqual(len(stage.connector.asked), flood.within)
    stage.reactor.pass_time(5)
    case.assertEqual(stage.site.connections.all, set())
    case.assertIn(" 0 busy", repr(stage.pool))


class FloodTests(SynchronousTestCase):
    """One test for each flood."""

    def test_all(self) -> None:
        """There are floods of every kind of frame, and the six by which a server is made to reset."""
        self.assertEqual(len(MADE_YOU_RESET), 6)
        self.assertGreaterEqual(len(FLOODS), 30)


def flooding(flood: Flood) -> Callable[[FloodTests], None]:
    """Return the test of one flood."""

    def test(self: FloodTests) -> None:
        flood_proxy(self, flood)

    test.__doc__ = f"A flood ends the connection within {flood.within}: {flood.name}."
    return test


for _flood in FLOODS:
    setattr(FloodTests, "test_" + "_".join(_flood.name.lower().split()), flooding(_flood))
