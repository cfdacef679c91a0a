"""TLS to endpoints on real sockets: who is spoken to, who is not, and what is reused."""

from __future__ import annotations

import hashlib
import select
import socket
from typing import Any

from OpenSSL import SSL
from twisted.internet.protocol import Factory, Protocol
from twisted.logger import capturedLogs

from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings, TlsSettings, TlsVersion, UpstreamTls
from ingress.proxy.contract.transport import NOBODY
from ingress.proxy.exchange.upstream_errors import UpstreamErrorLog
from ingress.proxy.transport.resolving import AddressRules
from tests.fakes.certificates import Authority, issue, make_authority
from tests.fakes.peers.judging_upstreams import JudgingUpstream
from tests.fakes.peers.tls_upstreams import TlsUpstream
from tests.fakes.peers.upstreams import OK, Upstream, UpstreamWire
from tests.proxy.sockets.sockets_case import PATIENCE, SocketsCase, socket_of

MEBIBYTE = 1024 * 1024


def answer_last(wire: UpstreamWire) -> None:
    """Answer and let that be the last answer of the connection."""
    wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    wire.close()


class UpstreamTlsCase(SocketsCase):
    """An upstream with a certificate for ``app.internal`` and ``127.0.0.1``."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Listen with TLS."""
        await super().setUp()
        self.authority = make_authority()
        self.secured = self.listening("app.internal", "127.0.0.1")

    def listening(self, *names: str, authority: Authority | None = None, **options: Any) -> TlsUpstream:
        """Return an upstream with a certificate for *names* that listens already."""
        upstream = TlsUpstream(self.reactor, issue(authority or self.authority, names), **options)
        upstream.listen()
        self.addCleanup(upstream.stop)
        return upstream

    def over(
        self,
        upstream: Upstream,
        tls_settings: TlsSettings,
        is_external: bool = False,
        is_http2: bool = False,
        **identity: bytes,
    ) -> Endpoint:
        """Return the endpoint of *upstream* with these settings; our authority is trusted unless said."""
        identity.setdefault("ca_pem", self.authority.pem)
        tls = UpstreamTls(tls_settings, **identity)
        return upstream.endpoint._replace(link_settings=LinkSettings(tls, is_external, is_http2))

    async def get(self, *endpoints: Endpoint) -> tuple[int, str]:
        """Return the status of an answer of one of *endpoints*, and what was logged meanwhile."""
        self.publish(*endpoints)
        client = await self.connect()
        with capturedLogs() as events:
            client.get()
            await self.whole(client)
        answer = client.answers[0]
        logged = " ".join(str(event.get("why", "")) for event in events)
        for told in ("TLS", "certificate", "internal"):
            self.assertNotIn(told.encode(), answer.body)
        return answer.status, logged


class IdentityTests(UpstreamTlsCase):
    """Who may be sent requests."""

    async def test_address(self) -> None:
        """Without a name, the certificate must be for the address of the endpoint."""
        self.assertEqual(await self.get(self.over(self.secured, TlsSettings(verify=True))), (200, ""))

    async def test_name(self) -> None:
        """With a name, the certificate must be for that."""
        tls_settings = TlsSettings(verify=True, name="app.internal")
        self.assertEqual(await self.get(self.over(self.secured, tls_settings)), (200, ""))

    async def test_other_name(self) -> None:
        """A certificate for others gets no request; the log says for whom it is and for whom it should be."""
        status, logged = await self.get(
            self.over(self.secured, TlsSettings(verify=True, name="shop.internal"))
        )
        self.assertEqual(status, 502)
        self.assertIn('the certificate is for "app.internal", 127.0.0.1, not for shop.internal', logged)
        self.assertEqual(self.secured.requests, 0)

    async def test_other_address(self) -> None:
        """A certificate for names alone is not for an address."""
        upstream = self.listening("app.internal")
        status, logged = await self.get(self.over(upstream, TlsSettings(verify=True)))
        self.assertEqual(status, 502)
        self.assertIn('the certificate is for "app.internal", not for 127.0.0.1', logged)
        self.assertEqual(upstream.requests, 0)

    async def test_unknown_authority(self) -> None:
        """A certificate of somebody else's authority gets no request, whatever its names."""
        upstream = self.listening("127.0.0.1", authority=make_authority("Somebody"))
        status, logged = await self.get(self.over(upstream, TlsSettings(verify=True)))
        self.assertEqual(status, 502)
        self.assertIn("the certificate cannot be trusted: unable to get local issuer certificate", logged)
        self.assertEqual(upstream.requests, 0)

    async def test_system_authorities(self) -> None:
        """Where verification is on and no authority is named, those of the system decide, not nobody."""
        status, logged = await self.get(self.over(self.secured, TlsSettings(verify=True), ca_pem=b""))
        self.assertEqual(status, 502)
        self.assertIn("cannot be trusted", logged)
        self.assertEqual(self.secured.requests, 0)

    async def test_depth(self) -> None:
        """There may be as many intermediate authorities as is said, and no more."""
        intermediate = make_authority("Between", parent=self.authority)
        upstream = self.listening("127.0.0.1", authority=make_authority("Below", parent=intermediate))
        self.assertEqual((await self.get(self.over(upstream, TlsSettings(verify=True, depth=1))))[0], 502)
        self.assertEqual(upstream.requests, 0)
        self.assertEqual((await self.get(self.over(upstream, TlsSettings(verify=True, depth=2))))[0], 200)

    async def test_not_verified(self) -> None:
        """Where verification is off, as by default, whoever answers gets the request."""
        upstream = self.listening("elsewhere.test", authority=make_authority("Somebody"))
        self.assertEqual(await self.get(self.over(upstream, TlsSettings(), ca_pem=b"")), (200, ""))

    async def test_another_endpoint(self) -> None:
        """An endpoint with the wrong certificate is one that cannot be connected to: another one is tried."""
        upstream = self.listening("elsewhere.test")
        tls_settings = TlsSettings(verify=True)
        for _ in range(2):
            status, _ = await self.get(
                self.over(upstream, tls_settings), self.over(self.secured, tls_settings)
            )
            self.assertEqual(status, 200)
        self.assertEqual(upstream.requests, 0)

    async def test_not_tls(self) -> None:
        """An upstream that does not speak TLS gets nothing in the clear."""
        received: list[bytes] = []

        class Plain(Protocol):
            transport: Any

            def dataReceived(self, octets: bytes) -> None:
                received.append(octets)
                self.transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        port = self.reactor.listenTCP(0, Factory.forProtocol(Plain), interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        tls = LinkSettings(UpstreamTls(TlsSettings()))
        status, logged = await self.get(Endpoint("127.0.0.1", port.getHost().port, tls))
        self.assertEqual((status, logged), (502, "TLS: wrong version number"))
        self.assertNotIn(b"HTTP", b"".join(received))

    async def test_no_http2(self) -> None:
        """Where HTTP/2 is to be spoken, an upstream that does not take it up gets no HTTP/1.1 instead."""
        endpoint = self.over(self.secured, TlsSettings(verify=True), is_http2=True)
        failures: list[str] = []
        self.network.dial(endpoint, endpoint.address, NOBODY, failures.append, 5)
        await self.until(lambda: failures)
        self.assertEqual(failures, ["TLS: the endpoint does not speak HTTP/2"])
        status, _ = await self.get(endpoint)
        self.assertEqual((status, self.secured.requests), (502, 0))

    async def test_silence(self) -> None:
        """An upstream that accepts and never shakes hands is given up at the deadline of connecting."""
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        endpoint = Endpoint("127.0.0.1", silent.getsockname()[1], LinkSettings(UpstreamTls(TlsSettings())))
        failures: list[str] = []
        self.network.dial(endpoint, endpoint.address, NOBODY, failures.append, 0.2)
        await self.until(lambda: failures)
        await self.turns(5)
        self.assertEqual(failures, ["connect timed out"])

    async def test_refused_terms(self) -> None:
        """Terms that OpenSSL refuses make an endpoint that cannot be connected to, and no traceback."""
        status, logged = await self.get(self.over(self.secured, TlsSettings(ciphers="NOSUCH")))
        self.assertEqual((status, logged), (502, "TLS: no cipher match"))

    async def test_gone(self) -> None:
        """An upstream that closes in the middle of the handshake could not be connected to."""
        plain = Upstream(self.reactor)
        plain.listen()
        self.addCleanup(plain.stop)
        plain.buildProtocol = lambda addr: None  # type: ignore[assignment, return-value]
        status, logged = await self.get(self.over(plain, TlsSettings()))
        self.assertEqual(status, 502)
        self.assertIn("closed during the handshake", logged)


class ClientCertificateTests(UpstreamTlsCase):
    """What we show when we are asked who we are."""

    async def test_shown(self) -> None:
        """The certificate of the settings is shown to an upstream that asks for one."""
        upstream = self.listening("127.0.0.1", clients=self.authority)
        chain, key = issue(self.authority, [], common_name="the proxy", is_client=True)
        status, _ = await self.get(self.over(upstream, TlsSettings(), chain_pem=chain, key_pem=key))
        self.assertEqual((status, upstream.certificates), (200, ["the proxy"]))

    async def test_missing(self) -> None:
        """An upstream that demands one and gets none is answered for with 502, and its alert is in the log."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            upstream = self.listening("127.0.0.1", clients=self.authority, versions=(version, version))
            status, logged = await self.get(self.over(upstream, TlsSettings()))
            self.assertEqual((status, upstream.requests), (502, 0))
            self.assertIn("alert", logged)

    async def test_refused_late(self) -> None:
        """An alert that comes after the handshake, with a reset on its heels, is in the log, however much was sent by then."""
        for gap, late in ((0.0, 0.05), (0.02, 0.0)):
            upstream = JudgingUpstream(self.authority, gap, late)
            upstream.start()
            self.addCleanup(upstream.stop)
            for is_http2 in (False, True):
                tls = UpstreamTls(TlsSettings(), ca_pem=self.authority.pem)
                self.publish(Endpoint("127.0.0.1", upstream.port, LinkSettings(tls, False, is_http2)))
                for size in (0, 3000, 2 * MEBIBYTE):
                    told: list[str] = []
                    # Where the reset comes just while something is written, as where this process had to wait for the
                    # processor there, OpenSSL reads no more: that is told by the reset, several times in a row on a busy machine.
                    while len(told) < 100 and not any("alert certificate required" in why for why in told):
                        told.append(await self.why_refused(size))
                    self.assertIn("alert certificate required", told[-1], (gap, late, is_http2, size, told))

    async def test_refused_before_more_is_written(self) -> None:
        """What has come with a reset is heard before more is written, whoever is the first to have something to do."""
        upstream = JudgingUpstream(self.authority, 0.0, 0.0)
        upstream.may_refuse.clear()
        upstream.start()
        self.addCleanup(upstream.stop)
        tls = UpstreamTls(TlsSettings(), ca_pem=self.authority.pem)
        self.publish(Endpoint("127.0.0.1", upstream.port, LinkSettings(tls, False)))
        client = await self.connect()
        with capturedLogs() as events:
            client.send(b"POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 9\r\n\r\nsome")
            await self.until(upstream.has_heard.is_set)
            (connection,) = self.pool.connections
            with socket_of(connection.transport) as same:
                end = select.poll()
                end.register(same, 0)
                upstream.may_refuse.set()
                # The reactor waits for it, and so nothing is read meanwhile.
                self.assertNotEqual(end.poll(1000 * PATIENCE), [])
            connection.transport.write(b"more")
            await self.whole(client)
        self.assertEqual(client.answers[0].status, 502)
        told = " ".join(str(event.get("why", "")) for event in events)
        self.assertIn("alert certificate required", told)

    async def why_refused(self, size: int) -> str:
        """Send so much to an endpoint that refuses it; return what the log says of that."""
        client = await self.connect()
        self.site.context.upstream_errors = UpstreamErrorLog(self.reactor)
        with capturedLogs() as events:
            client.post(bytes(size))
            await self.whole(client)
        self.assertEqual(client.answers[0].status, 502)
        return " ".join(str(event.get("why", "")) for event in events)


class HandshakeTests(UpstreamTlsCase):
    """What handshakes say, and what is kept of them."""

    async def test_server_name(self) -> None:
        """The name is sent where that is asked for, or where it is an external name; an address never is."""
        cases: tuple[tuple[TlsSettings, bool, bytes | None], ...] = (
            (TlsSettings(name="app.internal"), False, None),
            (TlsSettings(name="app.internal", send_name=True), False, b"app.internal"),
            (TlsSettings(send_name=True), False, None),
            (TlsSettings(name="10.0.0.1", send_name=True), False, None),
        )
        for tls_settings, is_external, _ in cases:
            self.assertEqual((await self.get(self.over(self.secured, tls_settings, is_external)))[0], 200)
        self.assertEqual(self.secured.names, [name for _, _, name in cases])

    async def test_versions(self) -> None:
        """Only the versions of the settings are spoken."""
        old, new = SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION
        for version, spoken in ((TlsVersion.TLS_1_2, old), (TlsVersion.TLS_1_3, new)):
            for offered in (old, new):
                upstream = self.listening("127.0.0.1", versions=(offered, offered))
                status, _ = await self.get(self.over(upstream, TlsSettings(versions=(version,))))
                self.assertEqual(status, 200 if offered == spoken else 502)

    async def test_sessions(self) -> None:
        """A further connection to an endpoint resumes the session of the one before."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            upstream = self.listening("127.0.0.1", versions=(version, version), on_request=answer_last)
            endpoint = self.over(upstream, TlsSettings(verify=True))
            for _ in range(3):
                self.assertEqual((await self.get(endpoint))[0], 200)
                await self.until(lambda: not upstream.open_wires)  # noqa: B023 - called at once
            self.assertEqual(upstream.resumed, [False, True, True], version)

    async def test_sessions_of_others(self) -> None:
        """A session is never resumed on other settings: who was not verified is, by them."""
        self.secured.answer = answer_last
        lax, strict = TlsSettings(), TlsSettings(verify=True, name="shop.internal")
        self.assertEqual((await self.get(self.over(self.secured, lax)))[0], 200)
        self.assertEqual((await self.get(self.over(self.secured, strict)))[0], 502)
        self.assertEqual((await self.get(self.over(self.secured, lax)))[0], 200)
        self.assertEqual(self.secured.resumed, [False, True])

    async def test_connections_of_others(self) -> None:
        """An idle connection that was made on some settings serves no others at the same address."""
        for name in ("app.internal", "127.0.0.1", "app.internal"):
            endpoint = self.over(self.secured, TlsSettings(verify=True, name=name))
            self.assertEqual((await self.get(endpoint))[0], 200)
        self.assertEqual(len(self.secured.wires), 2)
        status, _ = await self.get(self.over(self.secured, TlsSettings(verify=True, name="shop.internal")))
        self.assertEqual((status, self.secured.requests), (502, 3))

    async def test_plain_connections(self) -> None:
        """A connection in the clear and one over TLS to the same address are two."""
        self.assertEqual((await self.get(self.over(self.secured, TlsSettings())))[0], 200)
        self.assertEqual((await self.get(self.secured.endpoint))[0], 502)
        self.assertEqual((await self.get(self.over(self.secured, TlsSettings())))[0], 200)
        self.assertEqual(self.secured.requests, 2)


class BodyTests(UpstreamTlsCase):
    """Bodies over TLS, in both directions."""

    async def test_upload(self) -> None:
        """A large request body arrives whole."""
        self.publish(self.over(self.secured, TlsSettings(verify=True)))
        client = await self.connect()
        body = bytes(range(256)) * (MEBIBYTE // 256)
        client.post(body)
        await self.whole(client)
        self.assertEqual((client.answers[0].status, self.secured.wires[0].body_size), (200, MEBIBYTE))

    async def test_download(self) -> None:
        """A large answer arrives whole."""
        body = bytes(range(256)) * (MEBIBYTE // 256)
        self.secured.answer = lambda wire: wire.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        self.publish(self.over(self.secured, TlsSettings(verify=True)))
        client = await self.connect()
        client.get()
        await self.whole(client)
        self.assertEqual(client.answers[0].digest, hashlib.sha256(body).hexdigest())

    async def test_many(self) -> None:
        """Requests one after the other take the same connection."""
        self.publish(self.over(self.secured, TlsSettings(verify=True)))
        client = await self.connect()
        for _ in range(20):
            client.get()
            await self.whole(client)
        self.assertEqual((self.secured.requests, len(self.secured.wires)), (20, 1))

    async def test_surplus(self) -> None:
        """What an endpoint says in a record behind its answer is nobody's, also where its answers used to be one record each."""
        self.publish(self.over(self.secured, TlsSettings(verify=True)))
        client = await self.connect()
        for _ in range(20):
            client.get()
            await self.whole(client)
        usual = self.secured.answer

        def too_much(wire: UpstreamWire) -> None:
            self.secured.answer = usual
            # Each is a record of its own: usually Twisted makes one of both.
            wire.transport._write(OK)
            wire.transport._write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil!")

        self.secured.answer = too_much
        client.get()
        client.get()
        await self.until(lambda: len(client.answers) == 22 and client.answers[-1].whole)
        self.assertNotIn(b"evil", client.answers[-1].body)
        self.assertEqual(len(self.secured.wires), 2)

    async def test_tunnel(self) -> None:
        """An upgrade is tunneled over TLS, both ways."""

        def echo(wire: UpstreamWire) -> None:
            wire.write(wire.after)
            wire.after = b""

        self.secured.answer = lambda wire: wire.switch()
        self.secured.on_tunnel = echo
        self.publish(self.over(self.secured, TlsSettings(verify=True)))
        client = await self.connect()
        client.transport.write(
            b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        )
        received: list[bytes] = []
        self.patch(client, "dataReceived", received.append)
        await self.until(lambda: b"101" in b"".join(received))
        client.transport.write(b"ping")
        await self.until(lambda: b"".join(received).endswith(b"ping"))

    async def test_cut(self) -> None:
        """An answer that ends with the connection, without TLS ending first, counts as cut."""

        def cut(wire: UpstreamWire) -> None:
            wire.write(b"HTTP/1.1 200 OK\r\n\r\nhalf of")
            self.reactor.callLater(0.01, wire.transport.transport.loseConnection)

        self.secured.answer = cut
        self.publish(self.over(self.secured, TlsSettings()))
        client = await self.connect()
        client.get()
        await self.until(lambda: client.lost)
        self.assertFalse(client.answers and client.answers[0].whole)


class ExternalNameTests(UpstreamTlsCase):
    """Names that tenants chose."""

    def external(self, name: str, tls: UpstreamTls | None = None) -> Endpoint:
        """Return the endpoint of an ExternalName Service that leads to our upstream."""
        upstream = self.upstream if tls is None else self.secured
        return Endpoint(name, upstream.endpoint.port, LinkSettings(tls, is_external=True))

    def allow_this_host(self) -> None:
        """Have the rules take this host for another one."""
        self.network.rules = AddressRules(is_own=lambda address: False, is_forbidden=lambda address: None)

    async def test_this_host(self) -> None:
        """A name or address that leads to this host is refused behind its resolution, and nothing is connected to."""
        for name in ("localhost", "127.0.0.1"):
            status, logged = await self.get(self.external(name))
            self.assertEqual(status, 502)
            self.assertIn("which is an address of this host", logged)
        self.assertEqual((self.upstream.wires, self.secured.wires), ([], []))

    async def test_another_host(self) -> None:
        """A name that leads elsewhere is connected to."""
        self.allow_this_host()
        self.assertEqual(await self.get(self.external("localhost")), (200, ""))

    async def test_over_tls(self) -> None:
        """The name that is told and that the certificate must be for is the external name."""
        self.allow_this_host()
        self.secured = self.listening("localhost")
        tls = UpstreamTls(TlsSettings(verify=True), self.authority.pem)
        self.assertEqual(await self.get(self.external("localhost", tls)), (200, ""))
        self.assertEqual(self.secured.names, [b"localhost"])
        self.secured = self.listening("elsewhere.test")
        self.assertEqual((await self.get(self.external("localhost", tls)))[0], 502)
        self.assertEqual(self.secured.requests, 0)

    async def test_operators_name(self) -> None:
        """What the operator named may be this host."""
        self.assertEqual(await self.get(self.upstream.endpoint._replace(address="localhost")), (200, ""))
