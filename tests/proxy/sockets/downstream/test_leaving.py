"""Clients on real sockets that end their side, over TLS too, and the log that tells of it."""

from __future__ import annotations

import socket

from twisted.internet.endpoints import TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.ssl import Certificate, optionsForClientTLS
from zope.interface import alsoProvides

from ingress.model.serving.limits import Limits
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from tests.fakes.bodies import MEGABYTE
from tests.fakes.connecting import connect_protocol
from tests.fakes.http2.downstreams import Http2Downstream
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.proxy.sockets.sockets_case import SocketsCase, socket_of

UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"


class LeavingCase(SocketsCase):
    """Clients that end their side, plain and over TLS."""

    sessions = SessionRules(DownstreamSession, over_tls=True)

    async def setUp(self) -> None:  # type: ignore[override]
        """Let the endpoint think for ever."""
        await super().setUp()
        self.authority = self.certify("app.test")
        self.upstream.on_request = lambda wire: None

    async def open(self, secure: bool) -> DownstreamWire:
        """Open a connection."""
        return await (self.connect_tls("app.test", self.authority) if secure else self.connect())

    def end_side(self, client: DownstreamWire, secure: bool) -> None:
        """Have *client* end its side: by close_notify and the end of TCP, or by the latter alone."""
        if secure:
            client.transport.loseConnection()
        else:
            client.transport.loseWriteConnection()

    async def assert_logged(self, status: int, times: int = 1) -> None:
        """Wait for so many lines with *status*, and no other."""
        self.access_log.flush()
        await self.until(lambda: len(b"".join(self.lines).splitlines()) >= times)
        statuses = [int(line.split(b" ")[5]) for line in b"".join(self.lines).splitlines()]
        self.assertEqual(statuses, [status] * times)

    async def tunnel(self, secure: bool) -> tuple[DownstreamWire, UpstreamWire]:
        """Open a tunnel to an endpoint that may end its side alone; return both ends."""
        self.upstream.on_request = lambda wire: wire.switch()
        client = await self.open(secure)
        client.get(fields=UPGRADE)
        await self.whole(client)
        wire = self.upstream.open_wires[0]
        alsoProvides(wire, IHalfCloseableProtocol)
        wire.writeConnectionLost = lambda: None  # type: ignore[attr-defined]
        return client, wire


class LeavingTests(LeavingCase):
    """Whoever has a whole request under way and ends its side has left."""

    async def test_while_it_thinks(self) -> None:
        """The request ends at once at the endpoint, and as 499 in the log, plain and over TLS."""
        for secure in (False, True):
            client = await self.open(secure)
            client.get()
            await self.until(lambda: self.upstream.open_wires and self.upstream.open_wires[-1].heads)
            self.end_side(client, secure)
            await self.until(lambda: not self.upstream.open_wires)
            await self.end_of(client)
            self.assertEqual(client.answers, [])
        await self.assert_logged(499, 2)

    async def test_while_nothing_is_read(self) -> None:
        """So it does while the endpoint takes nothing of a body that lies unread in the proxy's socket."""

        def stop(wire: UpstreamWire) -> None:
            wire.transport.pauseProducing()

        self.upstream.on_head = stop
        for times, secure in enumerate((False, True), 1):
            client = await self.open(secure)
            client.send(b"POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: %d\r\n\r\n" % (64 * MEGABYTE))
            await self.until(lambda: self.upstream.open_wires)
            wire = self.upstream.open_wires[0]
            while self.channels[0].is_reading:
                client.send(bytes(1 << 16))
                await self.turns(2)
            # What lies between the two by now is little enough for the end to arrive behind it.
            if secure:
                # Twisted's TLS would wait for a close_notify in turn, which nobody has read the reason for.
                client.transport.abortConnection()
            else:
                client.transport.loseWriteConnection()
            await self.assert_logged(499, times)
            wire.transport.resumeProducing()
            await self.until(lambda one=wire: one.lost)  # type: ignore[misc]

    async def test_in_a_quiet_answer(self) -> None:
        """An answer that has begun and rests, such as a stream of events, ends, too."""
        self.upstream.on_request = lambda wire: wire.write(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nevent\r\n"
        )
        for secure in (False, True):
            client = await self.open(secure)
            client.get()
            await self.until(lambda one=client: one.answers and one.answers[0].size == 5)  # type: ignore[misc]
            self.end_side(client, secure)
            await self.until(lambda: not self.upstream.open_wires)
            self.assertFalse(client.answers[0].whole)
        await self.assert_logged(200, 2)

    async def test_tunnel_downstream_first(self) -> None:
        """A client that ends its side of a WebSocket still gets the endpoint's last words."""
        client, wire = await self.tunnel(secure=False)

        def ended() -> None:
            wire.write(b"last words")
            wire.close()

        wire.readConnectionLost = ended  # type: ignore[attr-defined]
        client.send(b"bye")
        client.transport.loseWriteConnection()
        await self.until(lambda: client.lost)
        self.assertEqual((wire.after, client.tunnel), (b"bye", b"last words"))
        await self.assert_logged(101)

    async def test_tunnel_upstream_first(self) -> None:
        """An endpoint that ends its side of a WebSocket still gets the client's last words."""
        client, wire = await self.tunnel(secure=False)
        wire.readConnectionLost = wire.close  # type: ignore[attr-defined]

        def ended() -> None:
            client.send(b"last words")
            client.transport.loseConnection()

        client.readConnectionLost = ended  # type: ignore[method-assign]
        wire.write(b"bye")
        wire.transport.loseWriteConnection()
        await self.until(lambda: wire.lost)
        self.assertEqual((wire.after, client.tunnel), (b"last words", b"bye"))
        await self.assert_logged(101)

    async def test_tunnel_over_tls(self) -> None:
        """Over TLS, which has no half, the end of the endpoint's side is that of the client's connection."""
        client, wire = await self.tunnel(secure=True)
        wire.write(b"bye")
        wire.transport.loseWriteConnection()
        wire.readConnectionLost = wire.close  # type: ignore[attr-defined]
        await self.until(lambda: client.lost and wire.lost)
        self.assertEqual(client.tunnel, b"bye")
        await self.assert_logged(101)


class LeavingTestsOnEpoll(LeavingTests):
    """The same on the epoll set."""

    use_epoll = True


class TLSStayingTests(LeavingCase):
    """With the option: who says by ``close_notify`` that it says no more is answered, where the epoll set carries it."""

    use_epoll = True
    limits = Limits(allow_half_close=True)

    async def test_while_it_thinks(self) -> None:
        """The whole answer comes, though it begins later and is long, and then the connection ends."""
        client = await self.open(secure=True)
        client.get()
        await self.until(lambda: self.upstream.open_wires and self.upstream.open_wires[-1].heads)
        self.end_side(client, secure=True)
        await self.until(lambda: self.channels[0].is_half_closed)
        self.upstream.open_wires[0].stream(4 * MEGABYTE, chunked=True)
        await self.end_of(client)
        (answer,) = client.answers
        self.assertEqual((answer.whole, answer.size), (True, 4 * MEGABYTE))
        await self.assert_logged(200)

    async def test_requests_ahead(self) -> None:
        """So do the answers to all requests that came before the end, and in the same read."""
        self.upstream.on_request = lambda wire: wire.write(OK)
        client = await self.open(secure=True)
        client.send(b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n" * 3)
        self.end_side(client, secure=True)
        await self.end_of(client)
        self.assertEqual([answer.body for answer in client.answers], [b"ok"] * 3)
        await self.assert_logged(200, 3)

    async def test_amid_a_body(self) -> None:
        """A request that ends amid its body is refused, and never whole for the endpoint."""
        client = await self.open(secure=True)
        client.send(b"POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 10\r\n\r\nhalf")
        await self.until(lambda: self.upstream.open_wires)
        self.end_side(client, secure=True)
        await self.end_of(client)
        self.assertEqual([answer.status for answer in client.answers], [400])
        self.assertEqual(self.upstream.requests, 0)

    async def test_truncated(self) -> None:
        """The end of TCP alone says nothing of the kind: what TLS carried may have been cut off."""
        client = await self.open(secure=True)
        client.get()
        await self.until(lambda: self.upstream.open_wires and self.upstream.open_wires[-1].heads)
        with socket_of(client.transport.transport) as raw:
            raw.shutdown(socket.SHUT_WR)
        await self.until(lambda: not self.upstream.open_wires)
        await self.assert_logged(499)

    async def test_http2(self) -> None:
        """A connection that speaks HTTP/2 ends as a whole."""
        trust = Certificate.loadPEM(self.authority.pem)
        options = optionsForClientTLS("app.test", trustRoot=trust, acceptableProtocols=[b"h2"])
        endpoint = TCP4ClientEndpoint(self.reactor, "127.0.0.1", self._secure.getHost().port)
        wire = Http2Downstream()
        await connect_protocol(wrapClientTLS(options, endpoint), wire)
        wire.ask([(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", "app.test")])
        await self.until(lambda: self.upstream.open_wires and self.upstream.open_wires[-1].heads)
        wire.transport.loseConnection()
        await self.until(lambda: not self.upstream.open_wires)
        await self.assert_logged(499)

    async def test_tunnel(self) -> None:
        """So does a WebSocket, of which the end of one side cannot be told alone."""
        client, wire = await self.tunnel(secure=True)
        wire.readConnectionLost = wire.close  # type: ignore[attr-defined]
        client.send(b"bye")
        self.end_side(client, secure=True)
        await self.until(lambda: client.lost and wire.lost)
        self.assertEqual(wire.after, b"bye")
        await self.assert_logged(101)
