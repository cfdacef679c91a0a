"""Tests of sessions of HTTP/2 where few sockets are left: who has much gets no more, and others something."""

from ingress.proxy.transport.connection_limit import ConnectionLimit
from tests.fakes.http2.frames import REFUSED_STREAM, RST_STREAM
from tests.proxy.h2_playing import SessionCase

MOST = 8
"""Connections of clients; so there may be 16 sockets, of which the last two are for who has nothing."""


class FewSocketsTests(SessionCase):
    """A proxy that may have few connections."""

    def setUp(self) -> None:
        super().setUp()
        site = self.stage.site
        site.connections.limit = ConnectionLimit(
            site.connections.all, MOST, self.stage.deadlines, self.stage.metrics.connections
        )
        self.client = self.stage.client()

    def ask(self, first: int, count: int) -> list[int]:
        """Begin requests that nobody answers; return those that were refused."""
        ids = range(first, first + 2 * count, 2)
        for stream in ids:
            self.client.send(self.client.request(stream, path=b"/silent"))
        self.client.look()
        return [each.stream for each in self.client.of(RST_STREAM) if each.code == REFUSED_STREAM]

    def test_one_client(self) -> None:
        """A client that has most of the sockets is refused more of them, and may ask again for all that is refused."""
        self.assertEqual(self.ask(1, 20), list(range(27, 41, 2)))
        self.assertEqual(len(self.stage.requests), 13)
        self.assertEqual(self.stage.metrics.value("ingress_http2_streams_refused_total"), 7)

    def test_others(self) -> None:
        """Who has nothing yet is served meanwhile, and so is the client itself once others have ended."""
        self.ask(1, 20)
        other = self.stage.client()
        other.send(other.request(1))
        other.look()
        self.assertEqual(other.statuses(1), [200])
        for upstream in self.stage.connector.peers[:6]:
            upstream.say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        self.assertEqual(len(self.ask(41, 3)), 7)
        self.assertEqual(len(self.stage.requests), 17)
