"""Hosts that demand client certificates, with real handshakes: who reaches a backend, and who does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from attrs import evolve
from OpenSSL import SSL
from twisted.internet.endpoints import TCP4ClientEndpoint, wrapClientTLS

from ingress.annotations.client_certificates.check import ClientCertificateFields, ClientCheck, HostClosed
from ingress.annotations.client_certificates.common_names import parse_common_names
from ingress.identity.certificates import CertificateTable
from ingress.identity.misdirected import ServerNames
from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings, HandshakeSettingsTable
from ingress.model.cluster.objects import ObjectKey
from ingress.model.requests.client_authentication import ClientAuthentication, VerifyClient
from ingress.model.upstream.backends import BackendState
from ingress.routing.route import Route
from ingress.routing.table import RouteTable
from ingress.tls.binding import is_resumed
from tests.fakes.certificates import Authority, issue, make_authority, revoke
from tests.fakes.peers.downstreams import Answer, DownstreamWire
from tests.fakes.peers.tls_clients import TLSClient
from tests.proxy.sockets.sockets_case import ANY_PATH, APP, SocketsCase, certificate_of

TLS_VERSIONS = (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION)
OPEN, CLOSED, OTHER = b"open.test", b"closed.test", b"other.test"


def person(
    authority: Authority,
    name: str = "ann",
    *,
    not_before: datetime | None = None,
    not_after: datetime | None = None,
) -> tuple[bytes, bytes]:
    """Issue a certificate for a client."""
    return issue(authority, [], not_before=not_before, not_after=not_after, common_name=name, is_client=True)


class ClientCertificateCase(SocketsCase):
    """Three hosts with one certificate: one is open, two demand client certificates of different authorities."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Serve the hosts."""
        await super().setUp()
        self.people, self.others = make_authority("People"), make_authority("Others")
        self.own = certificate_of(make_authority(), *(host.decode() for host in (OPEN, CLOSED, OTHER)))
        self.demand()

    def demand(self, check: ClientCheck | None = None, passes_certificate: bool = False) -> None:
        """Have *check* before the routes of the closed host."""
        check = check or self.check()
        other = ClientCheck(ClientAuthentication("Secret demo/others", self.others.pem))
        open_route = evolve(ANY_PATH, host=OPEN.decode())
        routes = [open_route, self.guarded(CLOSED, check, passes_certificate), self.guarded(OTHER, other)]
        handshake_settings = {
            OPEN.decode(): PLAIN_HANDSHAKE,
            CLOSED.decode(): HandshakeSettings(client_authentication=check.authentication),
            OTHER.decode(): HandshakeSettings(client_authentication=other.authentication),
        }
        names = ServerNames(
            CertificateTable(dict.fromkeys((one.host for one in routes), (self.own,))),
            HandshakeSettingsTable(handshake_settings),
        )
        self.contexts.publish(names.certificates, names.handshake_settings)
        self.site.server_names = names
        self.resource.publish(RouteTable(routes), {APP: BackendState((self.upstream.endpoint,))})

    def check(
        self, mode: VerifyClient = VerifyClient.REQUIRED, depth: int = 1, crl_pem: bytes = b""
    ) -> ClientCheck:
        """Return a check of certificates by the authority of the people."""
        secret = ObjectKey("demo", "people")
        return ClientCheck(ClientAuthentication(f"Secret {secret}", self.people.pem, crl_pem, mode, depth))

    @staticmethod
    def guarded(host: bytes, check: ClientCheck, passes_certificate: bool = False) -> Route:
        """Return the route of a host with a check."""
        fields = ClientCertificateFields(passes_certificate)
        return evolve(ANY_PATH, host=host.decode(), filters=(check, fields))

    async def open(self, client: TLSClient) -> DownstreamWire:
        """Open a connection to the TLS listener."""
        endpoint = TCP4ClientEndpoint(self.reactor, "127.0.0.1", self._secure.getHost().port)
        return await self._connect(wrapClientTLS(client, endpoint))

    async def ask(self, wire: DownstreamWire, host: bytes = CLOSED, fields: bytes = b"") -> Answer | None:
        """Return the answer to one request, None if the connection ends instead."""
        count = len(wire.answers)
        wire.get(host=host, fields=fields)
        await self.whole(wire)
        return wire.answers[count] if len(wire.answers) > count else None

    async def status(self, certificate: tuple[bytes, bytes] | None) -> int:
        """Return the status that the closed host answers somebody with this certificate."""
        answer = await self.ask(await self.open(TLSClient(certificate).to(CLOSED)))
        return 0 if answer is None else answer.status

    def heads(self) -> list[bytes]:
        """Return what reached the backend."""
        return [head + b"\r\n" for wire in self.upstream.wires for head in wire.heads]


class RequestTests(ClientCertificateCase):
    """What a certificate must be."""

    async def test_good(self) -> None:
        """A certificate of the authority gets in, and upstream is told whose it is."""
        self.assertEqual(await self.status(person(self.people)), 200)
        (head,) = self.heads()
        self.assertIn(b"\r\nssl-client-verify: SUCCESS\r\n", head)
        self.assertIn(b"\r\nssl-client-subject-dn: CN=ann\r\n", head)
        self.assertIn(b"\r\nssl-client-issuer-dn: CN=People\r\n", head)
        self.assertNotIn(b"ssl-client-cert", head)

    async def test_none(self) -> None:
        """Without a certificate the answer is 400, in both versions of TLS, and nothing reaches the backend."""
        for version in TLS_VERSIONS:
            answer = await self.ask(await self.open(TLSClient(version=version).to(CLOSED)))
            assert answer is not None
            self.assertEqual((answer.status, self.upstream.requests), (400, 0))
            self.assertIn(b"No required SSL certificate was sent", answer.body)

    async def test_bad(self) -> None:
        """Certificates of others, of the past, of the future and of servers are 400, and get nowhere."""
        now = datetime.now(UTC)
        for bad in (
            person(self.others),
            person(self.people, not_after=now - timedelta(days=1)),
            person(self.people, not_before=now + timedelta(days=1)),
            issue(self.people, ["ann.test"]),
            # Who calls himself like the authority is not the authority.
            person(make_authority("People")),
        ):
            self.assertEqual(await self.status(bad), 400)
        self.assertEqual(self.upstream.requests, 0)

    async def test_depth(self) -> None:
        """So many certificates may stand between, and no more."""
        first = make_authority("First", parent=self.people)
        second = make_authority("Second", parent=first)
        self.assertEqual([await self.status(person(one)) for one in (first, second)], [200, 400])
        self.demand(self.check(depth=2))
        self.assertEqual(await self.status(person(second)), 200)

    async def test_revoked(self) -> None:
        """A certificate on the revocation list is 400, another one of the authority is not."""
        ann, bob = person(self.people), person(self.people, "bob")
        self.demand(self.check(crl_pem=revoke(self.people, ann[0])))
        self.assertEqual([await self.status(one) for one in (ann, bob)], [400, 200])

    async def test_revocation_list_out_of_force(self) -> None:
        """With a list that has expired, or of another authority, nobody gets in."""
        for crl in (
            revoke(self.people, until=datetime.now(UTC) - timedelta(minutes=1)),
            revoke(self.others),
        ):
            self.demand(self.check(crl_pem=crl))
            self.assertEqual(await self.status(person(self.people)), 400)

    async def test_optional(self) -> None:
        """Where it is optional none is fine, a bad one is not."""
        self.demand(self.check(VerifyClient.OPTIONAL))
        found = [await self.status(one) for one in (None, person(self.others), person(self.people))]
        self.assertEqual(found, [200, 400, 200])
        self.assertIn(b"\r\nssl-client-verify: NONE\r\n", self.heads()[0])

    async def test_optional_without_authority(self) -> None:
        """With optional_no_ca an unknown issuer is fine and told; the past is not."""
        self.demand(self.check(VerifyClient.OPTIONAL_NO_CA))
        self.assertEqual(await self.status(person(self.others)), 200)
        self.assertRegex(self.heads()[0], rb"\r\nssl-client-verify: FAILED:[ -~]+\r\n")
        past = person(self.others, not_after=datetime.now(UTC) - timedelta(days=1))
        self.assertEqual(await self.status(past), 400)

    async def test_names(self) -> None:
        """A good certificate of another name is 403."""
        self.demand(evolve(self.check(), names=parse_common_names("CN=(ann|eve)")))
        found = [await self.status(person(self.people, name)) for name in ("ann", "bob", "annabel")]
        self.assertEqual(found, [200, 403, 403])

    async def test_error_page(self) -> None:
        """Who has no good certificate is sent to the error page, if there is one."""
        self.demand(evolve(self.check(), error_page=b"https://www.test/help"))
        for certificate in (None, person(self.others)):
            answer = await self.ask(await self.open(TLSClient(certificate).to(CLOSED)))
            assert answer is not None
            self.assertEqual(answer.status, 302)
            self.assertTrue(answer.has(b"Location: https://www.test/help"))

    async def test_passed_on(self) -> None:
        """The certificate is passed on in PEM, percent-encoded, if that is asked for."""
        self.demand(passes_certificate=True)
        ann = person(self.people)
        self.assertEqual(await self.status(ann), 200)
        line = b"\r\nssl-client-cert: %b\r\n" % quote(ann[0], safe="").encode()
        self.assertIn(line, self.heads()[0])

    async def test_twins(self) -> None:
        """What a client itself says under the names of our fields reaches nobody, on no host."""
        twins = b"SSL-Client-Verify: SUCCESS\r\nssl_client_subject_dn: CN=root\r\nSsl-Client-Cert: x\r\nssl-client-issuer-dn: x\r\n"
        self.demand(self.check(VerifyClient.OPTIONAL))
        for host in (CLOSED, OPEN):
            answer = await self.ask(await self.open(TLSClient().to(host)), host, twins)
            assert answer is not None
            self.assertEqual(answer.status, 200)
        first, second = (head.lower() for head in self.heads())
        self.assertEqual(first.count(b"ssl-client"), 1)
        self.assertIn(b"\r\nssl-client-verify: none\r\n", first)
        self.assertNotIn(b"ssl", second.replace(b"ssl-client-verify: none", b""))
        self.assertNotIn(b"cn=root", first + second)


class WayAroundTests(ClientCertificateCase):
    """Connections that were not made for the host reach none of its backends."""

    async def test_other_server_name(self) -> None:
        """A connection for an open host, for another demanding host, or without any name is 421."""
        ann, other = person(self.people), person(self.others)
        for name, certificate in ((OPEN, ann), (OTHER, other), (OTHER, ann), (None, ann), (b"no.test", ann)):
            answer = await self.ask(await self.open(TLSClient(certificate).to(name)))
            assert answer is not None
            self.assertEqual(answer.status, 421, name)
        self.assertEqual(self.upstream.requests, 0)

    async def test_host_changes_on_a_connection(self) -> None:
        """What one host was shown is nothing to another one, on the same connection."""
        wire = await self.open(TLSClient(person(self.others)).to(OTHER))
        statuses = [
            answer and answer.status for answer in [await self.ask(wire, OTHER), await self.ask(wire)]
        ]
        self.assertEqual((statuses, self.upstream.requests), ([200, 421], 1))

    async def test_session_of_another_host(self) -> None:
        """A session of an open host, resumed, reaches nothing of a demanding one, whatever name is sent."""
        for version in TLS_VERSIONS:
            for name in (CLOSED, OPEN, None):
                client = TLSClient(version=version)
                wire = await self.open(client.to(OPEN))
                self.assertEqual((await self.ask(wire, OPEN) or Answer(b"", 0, b"")).status, 200)
                assert client.connection is not None
                session = client.connection.get_session()
                before = self.upstream.requests
                resumed = await self.open(client.to(name, session))
                answer = await self.ask(resumed)
                self.assertIn(None if answer is None else answer.status, (None, 400, 421), (version, name))
                self.assertEqual(self.upstream.requests, before)

    async def test_session_of_the_host(self) -> None:
        """Who showed a certificate once has to show it again: a session of the host itself is not resumed."""
        for version in TLS_VERSIONS:
            client = TLSClient(person(self.people), version)
            wire = await self.open(client.to(CLOSED))
            self.assertEqual((await self.ask(wire) or Answer(b"", 0, b"")).status, 200)
            assert client.connection is not None
            session = client.connection.get_session()
            answer = await self.ask(await self.open(client.to(CLOSED, session)))
            assert answer is not None
            self.assertEqual((answer.status, is_resumed(client.connection)), (200, False))

    async def test_plain_http(self) -> None:
        """Plain HTTP is 403, but for the route of an ACME challenge."""
        client = await self.connect()
        client.get(host=CLOSED)
        await self.whole(client)
        self.demand(evolve(self.check(), serves_challenges=True))
        client.get(host=CLOSED)
        await self.whole(client)
        self.assertEqual([answer.status for answer in client.answers], [403, 200])
        without = await self.ask(await self.open(TLSClient().to(CLOSED)))
        assert without is not None
        self.assertEqual(without.status, 400)

    async def test_demand_that_comes_later(self) -> None:
        """A connection from before the demand is of no use after it."""
        self.contexts.publish(
            CertificateTable(dict.fromkeys(("closed.test",), (self.own,))), HandshakeSettingsTable()
        )
        self.site.server_names = ServerNames()
        wire = await self.open(TLSClient().to(CLOSED))
        before = await self.ask(wire, OPEN)
        self.demand()
        after = await self.ask(wire)
        self.assertEqual([answer and answer.status for answer in (before, after)], [200, 421])
        self.assertEqual(self.upstream.requests, 1)

    async def test_check_stands_alone(self) -> None:
        """Were the proxy to forget about connections and hosts, the check of the route would not."""
        self.site.server_names = ServerNames()
        for name in (OPEN, OTHER, None):
            answer = await self.ask(await self.open(TLSClient(person(self.people)).to(name)))
            assert answer is not None
            self.assertEqual((answer.status, self.upstream.requests), (421, 0))

    async def test_closed(self) -> None:
        """A host whose check cannot be made answers 403, to whomever."""
        route = evolve(ANY_PATH, host=CLOSED.decode(), filters=(HostClosed(),))
        names = ServerNames(CertificateTable({"closed.test": (self.own,)}), HandshakeSettingsTable())
        self.contexts.publish(names.certificates, names.handshake_settings)
        self.site.server_names = names
        self.resource.publish(RouteTable([route]), {APP: BackendState((self.upstream.endpoint,))})
        self.assertEqual(await self.status(person(self.people)), 403)
        self.assertEqual(await self.status(None), 403)
        self.assertEqual(self.upstream.requests, 0)
