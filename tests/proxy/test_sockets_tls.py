"""TLS at the listener with real handshakes: the certificate by name, its change, and what is no TLS."""

from __future__ import annotations

from twisted.internet.endpoints import TCP4ClientEndpoint

from ingress.certificates import Certificate, CertificateTable
from ingress.proxy.limits import HEAD_SECONDS
from tests.fakes.certificates import make_authority
from tests.fakes.downstreams import DownstreamWire
from tests.fakes.upstreams import OK
from tests.proxy.sockets_case import SocketsCase, certificate_of


class CertificateTests(SocketsCase):
    """Which certificate a handshake shows."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Make an authority that the clients trust."""
        await super().setUp()
        self.authority = make_authority()

    def show(self, certificate: Certificate) -> None:
        """Make a certificate the one of ``app.test``."""
        self.contexts.publish(CertificateTable({"app.test": (certificate,)}, {}, None))

    @staticmethod
    def shown(client: DownstreamWire) -> int:
        """Return the serial number of the certificate that a connection showed."""
        return int(client.transport.getPeerCertificate().get_serial_number())

    async def get(self, client: DownstreamWire) -> bytes:
        """Fetch something, which also ends the handshake; return the body."""
        count = len(client.answers)
        client.get()
        await self.whole(client)
        return client.answers[count].body if len(client.answers) > count else b""

    async def test_by_name(self) -> None:
        """Exact names, wildcards and the default each lead to their certificate, and clients accept them."""
        exact, wildcard, default = (
            certificate_of(self.authority, name) for name in ("app.test", "*.wild.test", "other.test")
        )
        table = CertificateTable({"app.test": (exact,)}, {".wild.test": (wildcard,)}, default)
        self.contexts.publish(table)
        for name in ("app.test", "a.wild.test", "other.test"):
            client = await self.connect_tls(name, self.authority)
            self.assertEqual(await self.get(client), b"ok")
        self.assertIn(b"\r\nX-Forwarded-Proto: https\r\n", self.upstream.wires[0].heads[0])

    async def test_untrusted(self) -> None:
        """A name without a certificate gets the generated one, which no client trusts; nothing breaks."""
        client = await self.connect_tls("app.test", self.authority)
        self.assertEqual(await self.get(client), b"")
        await self.until(lambda: client.lost and not self.channels)
        self.assertEqual(self.upstream.requests, 0)

    async def test_change(self) -> None:
        """A new certificate is shown from the next handshake on; an open connection goes on unharmed."""
        self.show(certificate_of(self.authority, "app.test"))
        old = await self.connect_tls("app.test", self.authority)
        self.assertEqual(await self.get(old), b"ok")
        self.show(certificate_of(self.authority, "app.test"))
        self.assertEqual(await self.get(old), b"ok")
        new = await self.connect_tls("app.test", self.authority)
        self.assertEqual(await self.get(new), b"ok")
        self.assertNotEqual(self.shown(old), self.shown(new))
        self.assertEqual(await self.get(old), b"ok")

    async def test_change_in_an_answer(self) -> None:
        """A change in the middle of a download does not touch it."""
        self.show(certificate_of(self.authority, "app.test"))
        self.upstream.on_request = lambda wire: wire.stream(8 << 20, True)
        client = await self.connect_tls("app.test", self.authority)
        client.get()
        await self.until(lambda: client.answers and client.answers[0].size)
        self.show(certificate_of(self.authority, "app.test"))
        await self.whole(client)
        self.assertEqual((client.answers[0].whole, client.answers[0].size), (True, 8 << 20))


class NoHandshakeTests(SocketsCase):
    """Peers that do not finish, or do not begin, a handshake."""

    async def connect_raw(self) -> DownstreamWire:
        """Open a connection to the TLS listener that speaks no TLS by itself."""
        return await self._connect(TCP4ClientEndpoint(self.reactor, "127.0.0.1", self._secure.getHost().port))

    async def test_plain_request(self) -> None:
        """A plain request at the TLS listener ends the connection, and reaches nobody."""
        client = await self.connect_raw()
        client.dataReceived = lambda data: None  # type: ignore[method-assign]
        client.get()
        await self.until(lambda: client.lost and not self.channels)
        self.assertEqual(self.upstream.requests, 0)

    async def test_garbage(self) -> None:
        """Garbage ends the connection; the listener serves the next one."""
        for garbage in (
            bytes(300),
            b"\x16\x03\x01\xff\xff" + b"\xff" * 300,
            b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00",
        ):
            client = await self.connect_raw()
            client.dataReceived = lambda data: None  # type: ignore[method-assign]
            client.send(garbage)
            await self.end_of(client)

    async def test_stalled(self) -> None:
        """A handshake that does not go on is ended by the deadline of the first head."""
        for beginning in (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            client = await self.connect_raw()
            client.send(beginning)
            await self.until(lambda: self.channels)
            (channel,) = self.channels
            left = channel.deadline - self.reactor.seconds()
            self.assertTrue(HEAD_SECONDS - 2 < left <= HEAD_SECONDS, left)
            channel.deadline = 0.0
            self.sweep.tick()
            await self.end_of(client)


class TLSHalfTests(SocketsCase):
    """The end of TLS connections."""

    async def test_keep_alive_and_end(self) -> None:
        """A connection serves several requests, and closes as asked."""
        authority = make_authority()
        self.contexts.publish(CertificateTable({"app.test": (certificate_of(authority, "app.test"),)}, {}, None))
        self.upstream.on_request = lambda wire: wire.write(OK)
        client = await self.connect_tls("app.test", authority)
        for _ in range(3):
            client.get()
            await self.whole(client)
        client.get(fields=b"Connection: close\r\n")
        await self.whole(client)
        self.assertEqual([answer.body for answer in client.answers], [b"ok"] * 4)
        await self.until(lambda: client.lost and not self.channels)
