"""Conversations in memory with endpoints that speak HTTP/2, as ``playing`` has them with others."""

from __future__ import annotations

from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from tests.fakes.http2.client import Http2Client, MemoryWire
from tests.fakes.http2.frames import RST_STREAM, block
from tests.fakes.http2.server import Http2Server
from tests.proxy.playing import ProxyCase

HTTP_2 = LinkSettings(is_http2=True)
ONE = Endpoint("10.0.0.1", 8000, HTTP_2)
TWO = Endpoint("10.0.0.2", 8000, HTTP_2)

HEAD = block([(b":status", b"200")])
POST = b"POST /add HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 2\r\n\r\nhi"
BEGUN = b"POST /add HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"
CALL = [(b"content-type", b"application/grpc"), (b"te", b"trailers")]


def codes(server: Http2Server) -> list[tuple[int, int]]:
    """Return the streams that were reset, and why."""
    server.look()
    return [(each.stream, each.code) for each in server.of(RST_STREAM)]


class Http2UpstreamCase(ProxyCase):
    """A stage whose endpoints speak HTTP/2."""

    on_epoll = True

    def setUp(self) -> None:
        super().setUp()
        self.stage.publish((ONE,))
        self._servers: dict[int, Http2Server] = {}

    def server(self, number: int = -1) -> Http2Server:
        """Return the server's end of an upstream connection, by default of the one made last."""
        number %= len(self.connector.peers)
        server = self._servers.get(number)
        if server is None:
            wire = MemoryWire(self.reactor, self.connector.peers[number])
            server = self._servers[number] = Http2Server(wire)
            server.greet()
        server.look()
        return server

    def client(self) -> Http2Client:
        """Open a downstream connection that speaks HTTP/2, too."""
        self.stage.site.sessions = SessionRules(DownstreamSession, by_prior_knowledge=True)
        client = Http2Client(MemoryWire(self.reactor, self.stage.open()))
        client.begin()
        return client
