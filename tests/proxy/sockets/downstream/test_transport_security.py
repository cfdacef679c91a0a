"""Strict-Transport-Security on the wire: on every answer over TLS, once, and never in the clear."""

from __future__ import annotations

from attrs import evolve

from ingress.annotations.hosts.transport_security import TransportSecurity
from ingress.identity.certificates import CertificateTable
from ingress.identity.misdirected import ServerNames
from ingress.model.upstream.backends import BackendState
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from tests.fakes.certificates import make_authority
from tests.fakes.peers.downstreams import Answer, DownstreamWire
from tests.fakes.peers.upstreams import UpstreamWire
from tests.proxy.sockets.sockets_case import ANY_PATH, APP, SocketsCase, certificate_of

LINE = b"Strict-Transport-Security: max-age=300"
DATED = b"Date: Fri, 20 Nov 2026 14:00:00 GMT\r\nServer: app\r\n"


class TransportSecurityTests(SocketsCase):
    """What is said on which answers."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Serve a host that insists on HTTPS."""
        await super().setUp()
        self.authority = make_authority()
        names = ServerNames(CertificateTable({"app.test": (certificate_of(self.authority, "app.test"),)}))
        self.contexts.publish(names.certificates, names.handshake_settings)
        self.site.server_names = names
        self.route = evolve(
            ANY_PATH, host="app.test", path="/in", filters=(TransportSecurity(b"max-age=300"),)
        )
        self.serve(self.route)

    def serve(self, *routes: Route) -> None:
        """Make these the routes."""
        table = RouteTable().patched({"app.test": HostRoutes(routes, routes[0].filters)})
        self.resource.publish(table, {APP: BackendState((self.upstream.endpoint,))})

    async def get(self, client: DownstreamWire, path: bytes = b"/in") -> Answer:
        """Fetch something."""
        client.get(path)
        await self.whole(client)
        return client.answers[-1]

    def answer(self, fields: bytes, body: bytes = b"Content-Length: 2\r\n\r\nok") -> None:
        """Have upstream answer with these field lines."""

        def script(wire: UpstreamWire) -> None:
            wire.write(b"HTTP/1.1 200 OK\r\n%b%b" % (fields, body))

        self.upstream.on_request = script

    async def test_over_tls(self) -> None:
        """Every shape of answer has the field once: complete, to be completed, and without length."""
        client = await self.connect_tls("app.test", self.authority)
        for fields, body in (
            (DATED, b"Content-Length: 2\r\n\r\nok"),
            (b"", b"Content-Length: 2\r\n\r\nok"),
            (DATED, b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
        ):
            self.answer(fields, body)
            answer = await self.get(client)
            self.assertEqual((answer.status, answer.body), (200, b"ok"))
            self.assertEqual(answer.head.count(LINE), 1)

    async def test_in_the_clear(self) -> None:
        """Over plain HTTP nothing is said, and what upstream says goes on as it is."""
        client = await self.connect()
        self.answer(DATED)
        self.assertNotIn(b"Strict-Transport-Security", (await self.get(client)).head)

    async def test_ours_replaces_that_of_upstream(self) -> None:
        """What upstream says in its place is dropped, however it is spelled and however often; the rest stays."""
        client = await self.connect_tls("app.test", self.authority)
        theirs = (
            b"strict-transport-security: max-age=0\r\nX-A: 1\r\nStrict-Transport-Security: none\r\nX-B: 2\r\n"
        )
        for fields in (DATED + theirs, theirs):
            self.answer(fields)
            answer = await self.get(client)
            self.assertEqual(answer.head.lower().count(b"strict-transport-security"), 1)
            self.assertTrue(answer.has(LINE) and answer.has(b"X-A: 1") and answer.has(b"X-B: 2"))
            self.assertEqual(answer.body, b"ok")

    async def test_theirs_stays_where_we_say_nothing(self) -> None:
        """Where we have nothing to say upstream may."""
        self.serve(evolve(self.route, filters=()))
        client = await self.connect_tls("app.test", self.authority)
        self.answer(b"Strict-Transport-Security: max-age=1\r\n")
        self.assertTrue((await self.get(client)).has(b"Strict-Transport-Security: max-age=1"))

    async def test_replies_of_our_own(self) -> None:
        """Errors have the field, too: no route, and no endpoint."""
        client = await self.connect_tls("app.test", self.authority)
        for path, status in ((b"/out", 404), (b"/gone", 503)):
            gone = evolve(self.route, path="/gone", match=Match.EXACT, backend=APP._replace(name="gone"))
            self.serve(self.route, gone)
            answer = await self.get(client, path)
            self.assertEqual((answer.status, answer.head.count(LINE)), (status, 1))
        plain = await self.connect()
        self.assertNotIn(LINE, (await self.get(plain, b"/out")).head)

    async def test_head(self) -> None:
        """An answer to HEAD has it as that to GET would."""
        client = await self.connect_tls("app.test", self.authority)
        self.answer(DATED, b"Content-Length: 0\r\n\r\n")
        client.send(b"HEAD /in HTTP/1.1\r\nHost: app.test\r\n\r\n")
        await self.whole(client)
        self.assertTrue(client.answers[0].has(LINE))
