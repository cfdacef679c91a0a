"""Upgraded connections through real sockets, plain and over TLS."""

from __future__ import annotations

from ingress.identity.certificates import CertificateTable
from tests.fakes.bodies import MEGABYTE, piece_at
from tests.fakes.certificates import make_authority
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.proxy.sockets.sockets_case import SocketsCase, certificate_of, queued_in

UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"


class TunnelTests(SocketsCase):
    """A tunnel from the 101 to its end."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Let upstream accept every upgrade and echo what comes."""
        await super().setUp()
        self.authority = make_authority()
        table = CertificateTable({"app.test": (certificate_of(self.authority, "app.test"),)}, {}, None)
        self.contexts.publish(table)
        self.upstream.on_request = lambda wire: wire.switch()
        self.upstream.on_tunnel = self.echo

    @staticmethod
    def echo(wire: UpstreamWire) -> None:
        """Send back what came."""
        came, wire.after = wire.after, b""
        wire.write(came)

    async def open(self, secure: bool = False, fields: bytes = UPGRADE) -> DownstreamWire:
        """Ask for an upgrade."""
        client = await (self.connect_tls("app.test", self.authority) if secure else self.connect())
        client.get(fields=fields)
        await self.whole(client)
        return client

    async def received(self, client: DownstreamWire, size: int) -> None:
        """Wait until so many bytes came through the tunnel."""
        await self.until(lambda: len(client.tunnel) >= size)

    async def test_echo(self) -> None:
        """Bytes go both ways unchanged, plain and over TLS."""
        for secure in (False, True):
            client = await self.open(secure)
            self.assertEqual(client.answers[0].status, 101)
            self.assertTrue(client.answers[0].has(b"Upgrade: websocket"))
            self.assertTrue(client.answers[0].has(b"Connection: Upgrade"))
            sent = b"".join(piece_at(at, 1 << 15) for at in range(0, MEGABYTE, 1 << 15))
            client.send(sent[:10])
            await self.received(client, 10)
            client.send(sent[10:])
            await self.received(client, len(sent))
            self.assertEqual(client.tunnel, sent)

    async def test_other_protocol(self) -> None:
        """An upgrade of another name, asked for as old kubectls do, and one behind a body as Docker's clients ask for it."""
        self.upstream.on_request = lambda wire: wire.switch(b"SPDY/3.1")
        for head, body in ((b"Content-Length: 0\r\n", b""), (b"Content-Length: 70000\r\n", b"x" * 70000)):
            for secure in (False, True):
                client = await (self.connect_tls("app.test", self.authority) if secure else self.connect())
                client.send(
                    b"POST /exec HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n%b\r\n%b"
                    % (head, body)
                )
                client.send(b"ahead")
                await self.received(client, 5)
                self.assertEqual(client.tunnel, b"ahead")
                self.assertTrue(client.answers[0].has(b"Upgrade: SPDY/3.1"))

    async def test_sent_ahead(self) -> None:
        """What comes in one piece with the request, or with the 101, is not lost."""

        def greet(wire: UpstreamWire) -> None:
            wire.switch()
            wire.write(b"hello ")

        self.upstream.on_request = greet
        client = await self.connect()
        client.send(b"GET / HTTP/1.1\r\nHost: app.test\r\n%b\r\nahead" % UPGRADE)
        await self.until(lambda: client.tunnel == b"hello ahead")

    async def test_end_by_upstream(self) -> None:
        """Upstream's last bytes arrive before the end."""

        def last(wire: UpstreamWire) -> None:
            wire.write(b"z" * MEGABYTE)
            wire.close()

        self.upstream.on_tunnel = last
        for secure in (False, True):
            client = await self.open(secure)
            client.send(b"?")
            await self.end_of(client)
            self.assertEqual(len(client.tunnel), MEGABYTE)

    async def test_end_by_downstream(self) -> None:
        """Downstream's last bytes arrive before the end, which is regular; one log line tells of it."""
        self.upstream.on_tunnel = lambda wire: None
        for secure in (False, True):
            client = await self.open(secure)
            client.send(b"z" * MEGABYTE)
            client.transport.loseConnection()
            await self.until(lambda: self.upstream.wires[-1].lost)
            self.assertEqual(len(self.upstream.wires[-1].after), MEGABYTE)

        def logged() -> int:
            self.access_log.flush()
            return b"".join(self.lines).count(b' "/" 101 ')

        await self.until(lambda: logged() >= 2)
        await self.until(lambda: not self.channels)
        self.assertEqual(logged(), 2)

    async def test_slow_reader(self) -> None:
        """A side that takes nothing stops the other one; nothing piles up in between."""
        client = await self.open()
        client.transport.pauseProducing()
        (wire,) = self.upstream.wires
        sent = 0
        while sent < 64 * MEGABYTE and queued_in(wire.transport) < MEGABYTE:
            wire.write(bytes(MEGABYTE))
            sent += MEGABYTE
            await self.turns(10)
        self.assertLess(sent, 64 * MEGABYTE)
        self.assertLess(self.queued(), MEGABYTE // 2)
        client.transport.resumeProducing()
        await self.until(lambda: len(client.tunnel) == sent)

    async def test_refused(self) -> None:
        """An upgrade that upstream answers with something else stays a request like any other."""
        self.upstream.on_request = lambda wire: wire.write(OK)
        client = await self.open()
        client.get()
        await self.whole(client)
        self.assertEqual([answer.body for answer in client.answers], [b"ok", b"ok"])
        self.assertEqual(len(self.upstream.wires), 1)

    async def test_switch_that_nobody_asked_for(self) -> None:
        """Upstream cannot make a tunnel of its own accord, nor to another protocol."""
        client = await self.open(fields=b"")
        self.assertEqual(client.answers[0].status, 502)
        self.upstream.on_request = lambda wire: wire.switch(b"h2c")
        other = await self.open()
        self.assertEqual(other.answers[0].status, 502)
