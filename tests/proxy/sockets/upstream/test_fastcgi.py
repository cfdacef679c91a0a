"""Endpoints that speak FastCGI, on real sockets: well and badly."""

from __future__ import annotations

from attrs import evolve
from twisted.internet.defer import Deferred

from ingress.model.upstream.backends import BackendState
from ingress.routing.table import RouteTable
from tests.fakes.bodies import MEGABYTE
from tests.fakes.fastcgi.records import OK, answered, end, record, stderr, stdout
from tests.fakes.fastcgi.upstreams import Responder, ResponderWire
from tests.proxy.fastcgi_case import spec
from tests.proxy.sockets.sockets_case import ANY_PATH, APP, SocketsCase


class FastCgiSocketsTests(SocketsCase):
    """On Twisted's transports."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Listen."""
        await super().setUp()
        self.responder = Responder(self.reactor)
        self.where = self.responder.listen()
        self.serve()

        async def stop() -> None:
            stopped = self.responder.stop()
            if stopped is not None:
                await stopped
            await self.until(lambda: not self.responder.open_wires)

        self.addCleanup(lambda: Deferred.fromCoroutine(stop()))

    def serve(self, keeps_connections: bool = True) -> None:
        """Have every path lead there."""
        route = evolve(ANY_PATH, filters=(spec(keeps_connections),))
        self.resource.publish(RouteTable([route]), {APP: BackendState((self.where,))})

    async def got(self) -> tuple[int, bytes, bool]:
        """Ask once; return status and body, and whether the client saw that it is not whole."""
        client = await self.connect()
        client.get()
        await self.until(lambda: client.lost or (client.answers and client.answers[0].whole))
        answer = client.answers[0] if client.answers else None
        if answer is None:
            return 0, b"", True
        return answer.status, answer.body, client.lost is not None

    async def test_kept(self) -> None:
        """One connection has all requests of one client after another, if it may."""
        client = await self.connect()
        for _ in range(3):
            client.get()
            await self.whole(client)
        self.assertEqual([answer.body for answer in client.answers], [b"ok"] * 3)
        (wire,) = self.responder.wires
        self.assertEqual(
            [request.params[b"SCRIPT_FILENAME"] for request in wire.requests], [b"/app/index.php"] * 3
        )

    async def test_not_kept(self) -> None:
        """Otherwise each has its own, and none is left."""
        self.serve(keeps_connections=False)
        client = await self.connect()
        for _ in range(3):
            client.get()
            await self.whole(client)
        self.assertEqual(len(self.responder.wires), 3)
        await self.until(lambda: not self.responder.open_wires)

    async def test_upload(self) -> None:
        """Megabytes go up as they are."""
        body = bytes(range(256)) * (4 * MEGABYTE // 256)
        client = await self.connect()
        client.post(body)
        await self.whole(client)
        (request,) = self.responder.wires[0].requests
        self.assertEqual((request.body == body, request.params[b"CONTENT_LENGTH"]), (True, b"%d" % len(body)))

    async def test_download(self) -> None:
        """Megabytes come down as they are, in records of any length."""
        body = b"0123456789" * 400_000
        pieces = [body[at : at + 65_535] for at in range(0, len(body), 65_535)]
        whole = b"".join(stdout(piece, padding=3) for piece in pieces)
        for head in (b"A: b\r\n\r\n", b"Content-Length: %d\r\n\r\n" % len(body)):
            self.responder.on_request = lambda wire, head=head: wire.write(stdout(head) + whole + end())  # type: ignore[misc]
            client = await self.connect()
            client.get()
            await self.whole(client)
            self.assertEqual(client.answers[0].size, len(body))

    async def test_streamed(self) -> None:
        """What a program says is on its way while it is not done."""
        self.responder.on_request = lambda wire: wire.write(stdout(b"A: b\r\n\r\none"))
        client = await self.connect()
        client.get()
        await self.until(lambda: client.answers and client.answers[0].body == b"one")
        self.responder.wires[0].write(stdout(b"two") + end())
        await self.whole(client)
        self.assertEqual(client.answers[0].body, b"onetwo")

    async def test_answers_before_the_body_is_read(self) -> None:
        """An answer that comes before the body has gone up is passed on."""

        def refuse(wire: ResponderWire) -> None:
            wire.transport.pauseProducing()
            wire.write(answered(b"early", b"Status: 413 Too Large\r\nContent-Length: 5\r\n"))
            wire.transport.loseConnection()

        self.responder.on_params = refuse
        client = await self.connect()
        client.upload(8 * MEGABYTE, chunked=False)
        await self.until(lambda: client.answers or client.lost)
        self.assertEqual([answer.status for answer in client.answers], [413])

    async def test_hostile(self) -> None:
        """Whoever answers with anything else costs its own request an error or a cut, and nobody else's anything."""
        begun = stdout(b"Content-Type: a/b\r\n\r\nbegun")
        for octets, status in (
            (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 502),
            (b"\x15\x03\x01\x00\x02\x02\x28", 502),
            (record(6, b"A: b\r\n\r\n", request=7), 502),
            (record(6, b"A: b\r\n\r\n", version=2), 502),
            (record(9, b"x"), 502),
            (stdout(b"A: b\r\n")[:5], 502),
            (stdout(b"A: " + b"x" * 65_000) * 3, 502),
            (stdout(b"A: b\r\n") * 20_000, 502),
            (stderr(b"x" * 60_000) * 20, 502),
            (end(), 502),
            (stdout(b"") * 1000, 502),
            (begun, 200),
            (begun + record(6, b"x", request=2), 502),
            (begun + b"\0" * 100, 502),
        ):

            def play(wire: ResponderWire, octets: bytes = octets) -> None:
                wire.write(octets)
                wire.transport.loseConnection()

            self.responder.on_request = play
            got, _, is_cut = await self.got()
            self.assertEqual((got, is_cut), (status, status == 200), octets[:40])
            self.responder.on_request = lambda wire: wire.write(OK)
            self.assertEqual(await self.got(), (200, b"ok", False))

    async def test_records_behind_the_end(self) -> None:
        """What a kept connection says behind the end of an answer is never the next one's."""
        self.responder.on_request = lambda wire: wire.write(OK + answered(b"evil"))
        for _ in range(5):
            self.assertEqual(await self.got(), (200, b"ok", False))
        await self.until(lambda: not self.responder.open_wires)

    async def test_client_leaves(self) -> None:
        """When a client leaves, the endpoint hears of it, and the connection is gone."""
        self.responder.on_request = lambda wire: None
        client = await self.connect()
        client.get()
        await self.until(lambda: self.responder.wires and self.responder.wires[0].requests)
        client.transport.abortConnection()
        await self.until(lambda: self.responder.wires[0].lost)
        self.assertTrue(self.responder.wires[0].requests[0].is_aborted)


class FastCgiSocketsOnEpollTests(FastCgiSocketsTests):
    """On the epoll set."""

    use_epoll = True
