"""Endpoints that speak HTTP/2, on real sockets: the ``h2`` package judges what is sent to it."""

from __future__ import annotations

from typing import Any

from h2.settings import SettingCodes
from twisted.internet.defer import Deferred

from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings, TlsSettings, UpstreamTls
from tests.fakes.bodies import MEGABYTE, digest_of
from tests.fakes.certificates import issue, make_authority
from tests.fakes.http2.upstreams import Http2Request, Http2Upstream
from tests.proxy.sockets.sockets_case import SocketsCase


class Http2UpstreamsCase(SocketsCase):
    """One upstream that speaks HTTP/2 in the clear."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Listen."""
        await super().setUp()
        self.h2 = self.listening()
        self.publish(self.h2.endpoint)

    def listening(self, **options: Any) -> Http2Upstream:
        """Return an upstream that listens."""
        upstream = Http2Upstream(self.reactor, **options)
        upstream.listen()

        async def stop() -> None:
            stopped = upstream.stop()
            if stopped is not None:
                await stopped
            await self.until(lambda: not upstream.open_wires)
            self.assertEqual([fault for wire in upstream.wires for fault in wire.faults], [])

        self.addCleanup(lambda: Deferred.fromCoroutine(stop()))
        return upstream


class InTheClearTests(Http2UpstreamsCase):
    """In the clear, by prior knowledge."""

    async def test_get(self) -> None:
        """Requests and their answers, one after the other on one connection."""
        self.h2.on_request = lambda request: request.answer(b"hello")
        client = await self.connect()
        for _ in range(3):
            client.get()
            await self.whole(client)
        self.assertEqual([answer.status for answer in client.answers], [200] * 3)
        self.assertEqual([answer.body for answer in client.answers], [b"hello"] * 3)
        (wire,) = self.h2.wires
        self.assertEqual(list(wire.requests), [1, 3, 5])
        fields = wire.requests[1].fields
        self.assertEqual((fields[":scheme"], fields[":path"]), ("http", "/"))

    async def test_upload(self) -> None:
        """A large request body arrives whole, over windows of any size."""
        for window in (65535, 1000):
            upstream = self.listening(settings={SettingCodes.INITIAL_WINDOW_SIZE: window})
            self.publish(upstream.endpoint)
            size = MEGABYTE if window > 1000 else 100_000
            client = await self.connect()
            # This package does not forgive what was sent before its settings came.
            client.get()
            await self.whole(client)
            client.upload(size, chunked=window == 1000)
            await self.whole(client)
            self.assertEqual([answer.status for answer in client.answers], [200, 200])
            request = upstream.wires[0].requests[3]
            self.assertEqual((request.size, request.digest.hexdigest()), (size, digest_of(size)))

    async def test_download(self) -> None:
        """Large answers at once arrive whole, one connection for all of them."""
        self.h2.on_request = lambda request: request.stream_out(2 * MEGABYTE)
        clients = [await self.connect() for _ in range(4)]
        for client in clients:
            client.get()
        for client in clients:
            await self.whole(client, 1)
            answer = client.answers[0]
            self.assertEqual((answer.size, answer.digest), (2 * MEGABYTE, digest_of(2 * MEGABYTE)))
        self.assertEqual(len(self.h2.wires), 1)

    async def test_slow_client(self) -> None:
        """A client that takes nothing holds its own answer up, and little of it is kept meanwhile."""
        self.h2.on_request = lambda request: request.stream_out(16 * MEGABYTE)
        slow, quick = await self.connect(), await self.connect()
        slow.transport.pauseProducing()
        slow.get()
        await self.until(lambda: self.h2.requests == 1)
        quick.get()
        await self.whole(quick)
        self.assertEqual(quick.answers[0].digest, digest_of(16 * MEGABYTE))
        self.assertLess(self.queued(), MEGABYTE)
        request = self.h2.wires[0].requests[1]
        self.assertGreater(request.left, 0)
        slow.transport.resumeProducing()
        await self.whole(slow)
        self.assertEqual(slow.answers[0].digest, digest_of(16 * MEGABYTE))

    async def test_many(self) -> None:
        """More requests at once than one connection has streams for have several."""
        upstream = self.listening(settings={SettingCodes.MAX_CONCURRENT_STREAMS: 5})
        self.publish(upstream.endpoint)
        held: list[Http2Request] = []
        upstream.on_request = lambda request: request.answer()
        first = await self.connect()
        first.get()
        await self.whole(first)
        upstream.on_request = held.append
        clients = [await self.connect() for _ in range(12)]
        for client in clients:
            client.get()
        await self.until(lambda: len(held) == 12)
        self.assertEqual(len(upstream.wires), 3)
        for request in held:
            request.answer()
        for client in clients:
            await self.whole(client, 1)

    async def test_gone(self) -> None:
        """A client that goes away has its stream cancelled, and the connection stays."""
        self.h2.on_request = lambda request: None
        client = await self.connect()
        client.get()
        await self.until(lambda: self.h2.requests == 1)
        client.transport.abortConnection()
        (wire,) = self.h2.wires
        await self.until(lambda: wire.requests[1].reset_by == 8)
        self.assertIsNone(wire.lost)

    async def test_goodbye(self) -> None:
        """An endpoint that says goodbye gets no further request on that connection."""
        client = await self.connect()
        client.get()
        await self.whole(client)
        (wire,) = self.h2.wires
        wire.h2.close_connection()
        wire.flush()
        await self.until(lambda: wire.lost)
        client.post(b"hi")
        await self.whole(client)
        self.assertEqual([answer.status for answer in client.answers], [200, 200])
        self.assertEqual(len(self.h2.wires), 2)


class OverTlsTests(Http2UpstreamsCase):
    """Over TLS, by ALPN."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Issue certificates."""
        await super().setUp()
        self.authority = make_authority()
        self.identity = issue(self.authority, ("app.internal", "127.0.0.1"))

    def over_tls(self, upstream: Http2Upstream) -> Endpoint:
        """Return the endpoint of *upstream*, to be verified."""
        tls = UpstreamTls(TlsSettings(verify=True), ca_pem=self.authority.pem)
        return upstream.endpoint._replace(link_settings=LinkSettings(tls, is_http2=True))

    async def test_get(self) -> None:
        """A verified endpoint that selects h2 is spoken to, and is told that its scheme is https."""
        upstream = self.listening(identity=self.identity)
        upstream.on_request = lambda request: request.stream_out(MEGABYTE)
        self.publish(self.over_tls(upstream))
        client = await self.connect()
        for _ in range(2):
            client.get()
            await self.whole(client)
        self.assertEqual(client.answers[1].digest, digest_of(MEGABYTE))
        (wire,) = upstream.wires
        self.assertEqual(wire.requests[1].fields[":scheme"], "https")

    async def test_other_protocol(self) -> None:
        """One that selects nothing is not spoken to at all."""
        upstream = self.listening(identity=self.identity, protocols=())
        self.publish(self.over_tls(upstream))
        client = await self.connect()
        client.get()
        await self.whole(client)
        self.assertEqual(client.answers[0].status, 502)
        self.assertEqual(upstream.requests, 0)
