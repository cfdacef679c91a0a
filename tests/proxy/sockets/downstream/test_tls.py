"""TLS at the listener with real handshakes: the certificate by name, its change, and what is no TLS."""

from __future__ import annotations

from OpenSSL import SSL
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.logger import LogLevel, capturedLogs

from ingress.identity.certificates import Certificate, CertificateTable
from ingress.identity.misdirected import ServerNames
from ingress.identity.server_names import HandshakeSettings, HandshakeSettingsTable
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.serving.limits import Limits
from ingress.proxy.transport import handshake_queue as handshakes
from ingress.proxy.transport.handshake_queue import STEPS
from tests.fakes.certificates import make_authority
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.upstreams import OK
from tests.proxy.sockets.sockets_case import SocketsCase, certificate_of


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


class RawCase(SocketsCase):
    """Connects without TLS to the TLS listener."""

    async def connect_raw(self) -> DownstreamWire:
        """Open a connection to the TLS listener that speaks no TLS by itself."""
        return await self._connect(TCP4ClientEndpoint(self.reactor, "127.0.0.1", self._secure.getHost().port))


class NoHandshakeTests(RawCase):
    """Peers that do not finish, or do not begin, a handshake."""

    async def test_plain_request(self) -> None:
        """A plain request at the TLS listener is told so with a 400 and ends, and it reaches nobody."""
        for line in (b"GET / HTTP/1.1", b"POST / HTTP/1.1", b"OPTIONS * HTTP/1.0", b"CONNECT a:443 HTTP/1.1"):
            client = await self.connect_raw()
            client.send(line + b"\r\nHost: app.test\r\n\r\n" + b"x" * 1000)
            await self.end_of(client)
            (answer,) = client.answers
            self.assertEqual((answer.status, answer.whole), (400, True))
            self.assertIn(b"plain HTTP request was sent to HTTPS port", answer.body)
        await self.until(lambda: not self.channels)
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

    async def test_another_protocol(self) -> None:
        """What is neither TLS nor a request gets no answer."""
        for line in (b"SSH-2.0-OpenSSH_9.9\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"USER me\r\n"):
            client = await self.connect_raw()
            client.send(line)
            await self.end_of(client)
            self.assertEqual(client.answers, [])

    async def test_stalled(self) -> None:
        """A handshake that does not go on is ended by the deadline of the first head."""
        for beginning in (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            began = self.deadlines.now
            client = await self.connect_raw()
            client.send(beginning)
            await self.until(lambda: self.channels)
            (channel,) = self.channels
            self.assertGreaterEqual(channel.deadline, began + Limits().head_seconds)
            self.assertLessEqual(channel.deadline, self.deadlines.now + Limits().head_seconds)
            channel.deadline = 0.0
            self.deadlines.tick()
            await self.end_of(client)


class TLSHalfTests(SocketsCase):
    """The end of TLS connections."""

    async def test_keep_alive_and_end(self) -> None:
        """A connection serves several requests, and closes as asked."""
        authority = make_authority()
        self.contexts.publish(
            CertificateTable({"app.test": (certificate_of(authority, "app.test"),)}, {}, None)
        )
        self.upstream.on_request = lambda wire: wire.write(OK)
        client = await self.connect_tls("app.test", authority)
        for _ in range(3):
            client.get()
            await self.whole(client)
        client.get(fields=b"Connection: close\r\n")
        await self.whole(client)
        self.assertEqual([answer.body for answer in client.answers], [b"ok"] * 4)
        await self.until(lambda: client.lost and not self.channels)


class MisdirectedTests(SocketsCase):
    """Requests for another host than the one that the handshake was for."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Serve two hosts with one certificate, one with another, and one that asks for client certificates."""
        await super().setUp()
        self.authority = make_authority()
        both = (certificate_of(self.authority, "a.test", "b.test", "closed.test"),)
        own = (certificate_of(self.authority, "own.test"),)
        asks = ClientAuthentication("Secret demo/ca", self.authority.pem)
        names = ServerNames(
            CertificateTable({"a.test": both, "b.test": both, "closed.test": both, "own.test": own}),
            HandshakeSettingsTable({"closed.test": HandshakeSettings(client_authentication=asks)}),
        )
        self.contexts.publish(names.certificates, names.handshake_settings)
        self.site.server_names = names

    async def statuses(self, server_name: str, *hosts: bytes) -> list[int]:
        """Ask for *hosts*, one after the other, over one connection."""
        client = await self.connect_tls(server_name, self.authority)
        for host in hosts:
            client.get(host=host)
            await self.whole(client)
        return [answer.status for answer in client.answers]

    async def test_hosts(self) -> None:
        """The same certificate serves, another one is 421, and the connection goes on after that."""
        statuses = await self.statuses("a.test", b"a.test", b"b.test", b"own.test", b"a.test", b"own.test")
        self.assertEqual(statuses, [200, 200, 421, 200, 421])
        self.assertEqual(self.upstream.requests, 3)

    async def test_client_certificates(self) -> None:
        """Neither way does a request cross the border of a host that asks for client certificates."""
        self.assertEqual(await self.statuses("a.test", b"closed.test"), [421])
        self.assertEqual(await self.statuses("closed.test", b"a.test"), [421])
        self.assertEqual(self.upstream.requests, 0)

    async def test_terms_that_come_later(self) -> None:
        """A connection from before a host asked for client certificates serves it no more."""
        client = await self.connect_tls("a.test", self.authority)
        client.get(host=b"a.test")
        await self.whole(client)
        asks = ClientAuthentication("Secret demo/ca", self.authority.pem)
        handshake_settings = HandshakeSettingsTable({"a.test": HandshakeSettings(client_authentication=asks)})
        self.site.server_names = ServerNames(self.site.server_names.certificates, handshake_settings)
        client.get(host=b"a.test")
        await self.whole(client)
        self.assertEqual([answer.status for answer in client.answers], [200, 421])


class ManyHandshakesTests(RawCase):
    """More handshakes than there are turns, or than are kept."""

    # The first of many is to wait for the last, however long that takes on a busy machine.
    limits = Limits(head_seconds=SocketsCase.timeout)

    async def setUp(self) -> None:  # type: ignore[override]
        """Make a certificate that the clients trust."""
        await super().setUp()
        self.authority = make_authority()
        own = (certificate_of(self.authority, "app.test"),)
        self.contexts.publish(CertificateTable({"app.test": own}))

    async def test_at_once(self) -> None:
        """Handshakes that come together all come to their end, some turns later."""
        clients = [await self.connect_tls("app.test", self.authority) for _ in range(4 * STEPS)]
        for client in clients:
            client.get()
        for client in clients:
            await self.whole(client, 1)
        self.assertEqual(
            [[answer.status for answer in client.answers] for client in clients], [[200]] * len(clients)
        )

    async def test_newcomers_wait(self) -> None:
        """While many wait for their turn newcomers are not accepted; all of them are served in the end."""
        self.patch(handshakes, "MAX_PARKED", 2)
        self.patch(handshakes, "STEPS", 1)
        await self.test_at_once()
        self.assertEqual(self.upstream.requests, 4 * STEPS)

    async def test_silent_ones_are_cut(self) -> None:
        """Connections that begin no handshake keep nobody out: the oldest of them make room."""
        self.patch(handshakes, "MAX_HANDSHAKES", 3)
        silent = [await self.connect_raw() for _ in range(3)]
        await self.until(lambda: len(self.channels) == 3)
        client = await self.connect_tls("app.test", self.authority)
        client.get()
        await self.whole(client)
        self.assertEqual(client.answers[0].status, 200)
        await self.until(lambda: silent[0].lost)
        self.assertFalse(silent[1].lost or silent[2].lost)


class RefusedTests(SocketsCase):
    """What is on the wire when a handshake is refused."""

    async def test_unknown_name(self) -> None:
        """A name that nobody serves is refused with ``unrecognized_name``, and nothing is logged."""
        self.contexts.strict_sni = True
        client = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), None)
        client.set_tlsext_host_name(b"unknown.test")
        client.set_connect_state()
        with self.assertRaises(SSL.WantReadError):
            client.do_handshake()
        with capturedLogs() as events:
            raw = await self._connect(
                TCP4ClientEndpoint(self.reactor, "127.0.0.1", self._secure.getHost().port)
            )
            received: list[bytes] = []
            raw.dataReceived = lambda data: received.append(data)  # type: ignore[method-assign]
            raw.send(client.bio_read(65536))
            await self.end_of(raw)
            await self.until(lambda: not self.channels)
        self.assertEqual(b"".join(received)[-2:], bytes((2, 112)))
        self.assertEqual([event for event in events if event["log_level"] > LogLevel.info], [])
