"""Tests for ``ingress.tls.upstream``: handshakes in memory, as the client."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from weakref import ref

from attrs import evolve
from cryptography import x509
from OpenSSL import SSL, crypto
from twisted.internet.error import ConnectionLost
from twisted.internet.task import Clock
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import (
    LinkSettings,
    PeerName,
    PeerNameType,
    TlsSettings,
    TlsVersion,
    UpstreamTls,
)
from ingress.process import in_slices
from ingress.tls import upstream
from ingress.tls.binding import is_resumed, restrict_groups
from ingress.tls.held_settings import LOOK_SECONDS
from ingress.tls.profile import GROUPS, known_groups, new_server_context
from ingress.tls.upstream import FORGOTTEN_AT_ONCE, UpstreamContexts, words_of_error
from tests.fakes.certificates import PrivateKey, issue, make_authority, make_rsa_key

AUTHORITY = make_authority()
VERIFIED = TlsSettings(verify=True, name="app.internal")


def over(
    tls_settings: TlsSettings,
    address: str = "10.0.0.1",
    is_external: bool = False,
    ca_pem: bytes = AUTHORITY.pem,
) -> Endpoint:
    """An endpoint with these settings."""
    return Endpoint(address, 443, LinkSettings(UpstreamTls(tls_settings, ca_pem), is_external))


def over_http2(endpoint: Endpoint) -> Endpoint:
    """The same endpoint, where HTTP/2 is spoken."""
    assert endpoint.link_settings is not None
    return endpoint._replace(link_settings=evolve(endpoint.link_settings, is_http2=True))


def server_of(
    *names: str | x509.GeneralName,
    version: int = SSL.TLS1_3_VERSION,
    protocols: tuple[bytes, ...] = (b"http/1.1",),
    not_after: datetime | None = None,
    key: PrivateKey | None = None,
) -> SSL.Context:
    """A server with a certificate for *names*, of *key*, which knows *protocols*, or nothing of ALPN."""
    chain, key_pem = issue(AUTHORITY, names, not_after=not_after, key=key)
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(version)
    context.set_max_proto_version(version)
    context.use_certificate(x509.load_pem_x509_certificate(chain))
    context.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, key_pem))
    if protocols:
        context.set_alpn_select_callback(
            lambda connection, offered: next(
                (one for one in offered if one in protocols), SSL.NO_OVERLAPPING_PROTOCOLS
            )
        )
    return context


class Conversation:
    """Both sides of a connection, in memory."""

    def __init__(self, contexts: UpstreamContexts, endpoint: Endpoint, server: SSL.Context) -> None:
        self.contexts = contexts
        self.endpoint = endpoint
        self.client = contexts.begin(endpoint)
        self.server = SSL.Connection(server, None)
        self.server.set_accept_state()

    def pump(self) -> None:
        """Carry bytes both ways until there are no more."""
        for source, sink in ((self.client, self.server), (self.server, self.client)) * 4:
            try:
                sink.bio_write(source.bio_read(65536))
            except SSL.WantReadError:
                continue

    def shake_hands(self) -> str:
        """Complete the handshake; return why the connection must not be used."""
        for _ in range(6):
            for side in (self.client, self.server):
                try:
                    side.do_handshake()
                except SSL.WantReadError:
                    pass
                except SSL.Error as error:
                    if side is self.client:
                        return self.contexts.why_failed(self.client, error)
                self.pump()
        return self.contexts.judge(self.endpoint, self.client)

    def receive(self) -> None:
        """Have the server say something, and keep the session."""
        self.server.send(b"x")
        self.pump()
        assert self.client.recv(10) == b"x"
        self.contexts.keep_session(self.endpoint, self.client)

    def end(self) -> None:
        """End the connection regularly: OpenSSL resumes no session of one that broke off."""
        self.client.shutdown()
        self.pump()
        self.server.shutdown()


class JudgementTests(SynchronousTestCase):
    """Who may be sent requests."""

    def setUp(self) -> None:
        self.contexts = UpstreamContexts()

    def judge(self, endpoint: Endpoint, server: SSL.Context) -> str:
        return Conversation(self.contexts, endpoint, server).shake_hands()

    def test_names(self) -> None:
        """The name of the settings decides, or else the address, each with the wildcards that RFC 9525 allows."""
        server = server_of("app.internal", "*.apps.internal", "10.0.0.1", "fd00::1")
        for name in ("app.internal", "one.apps.internal", "10.0.0.1", "fd00::1"):
            self.assertEqual(self.judge(over(TlsSettings(verify=True, name=name)), server), "", name)
            self.assertEqual(self.judge(over(TlsSettings(verify=True), name), server), "", name)
        for name in ("apps.internal", "a.b.apps.internal", "internal", "10.0.0.2", "fd00::2"):
            fault = self.judge(over(TlsSettings(verify=True, name=name)), server)
            self.assertIn(f"not for {name}", fault)
            self.assertIn('"app.internal", "*.apps.internal", 10.0.0.1, fd00::1', fault)

    def test_peer_names(self) -> None:
        """Where peer names are asked for the certificate must be for one of these, and its name is none unless it is among them."""
        identity = "spiffe://cluster.local/ns/web/sa/app"
        server = server_of("app.internal", "*.apps.internal", identity, "https://a.test:80/x")
        only_uri = server_of(identity)
        dns, uri = PeerNameType.HOSTNAME, PeerNameType.URI
        for subjects, fits in (
            ([(dns, "app.internal")], True),
            ([(dns, "APP.internal")], True),
            ([(dns, "one.apps.internal")], True),
            ([(dns, "*.apps.internal")], True),
            ([(dns, "*.internal")], False),
            ([(dns, "other.internal")], False),
            ([(uri, identity)], True),
            ([(uri, identity + "/")], False),
            ([(uri, identity.upper())], False),
            ([(uri, "app.internal")], False),
            ([(dns, "other.internal"), (uri, identity)], True),
            ([(dns, "other.internal"), (uri, "spiffe://x/y")], False),
        ):
            named = tuple(PeerName(*one) for one in subjects)
            settings = TlsSettings(verify=True, name="app.internal", send_name=True, peer_names=named)
            fault = self.judge(over(settings), server)
            self.assertEqual(not fault, fits, (subjects, fault))
        settings = evolve(settings, peer_names=(PeerName(dns, "app.internal"), PeerName(uri, identity)))
        self.assertEqual(self.judge(over(settings), only_uri), "")
        self.assertNotEqual(self.judge(over(VERIFIED), only_uri), "")
        self.assertIn("spiffe", self.judge(over(evolve(settings, peer_names=named)), only_uri))

    def test_identity_beside_names(self) -> None:
        """A certificate that has a SPIFFE identity besides is for its names all the same."""
        server = server_of("app.internal", "spiffe://cluster.local/ns/web/sa/app", "urn:a:b/c")
        self.assertEqual(self.judge(over(VERIFIED), server), "")

    def test_names_of_nobody(self) -> None:
        """A name that can be nobody's is left out: it ends neither the others of the certificate, nor is it taken for one."""
        for nobody in ("*.internal", "*", "a.*.example.com", "*.*.internal", "*..internal", "10.0.0.1", ""):
            name = x509.DNSName(nobody)
            identity = "spiffe://cluster.local/ns/web/sa/app"
            for names in (("app.internal", "10.0.0.2", name), (name, "10.0.0.2", "app.internal", identity)):
                server = server_of(*names)
                for wanted, fits in (("app.internal", True), ("10.0.0.2", True), ("one.internal", False)):
                    fault = self.judge(over(TlsSettings(verify=True, name=wanted)), server)
                    self.assertEqual(not fault, fits, (nobody, fault))
                self.assertIn('is for "app.internal", 10.0.0.2', fault)
                self.assertIn("not for one.internal (", fault)
                self.assertIn("not for 10.0.0.1", self.judge(over(TlsSettings(verify=True)), server))
                for peer, fits in (("app.internal", True), ("*.internal", False)):
                    settings = evolve(VERIFIED, peer_names=(PeerName(PeerNameType.HOSTNAME, peer),))
                    self.assertEqual(not self.judge(over(settings), server), fits, (nobody, peer))
            fault = self.judge(over(VERIFIED), server_of(name))
            self.assertIn("names nobody that app.internal could be", fault)
            self.assertIn("DNS", fault)

    def test_hostile_names(self) -> None:
        """What a certificate says of itself cannot write its own lines into the log."""
        fault = self.judge(
            over(VERIFIED), server_of("a\nb\x1b[31m.test", *(f"{one}.test" for one in range(50)))
        )
        self.assertTrue(fault.isprintable(), fault)
        self.assertLess(len(fault), 300)

    def test_no_names(self) -> None:
        """A certificate without subject alternative names is for nobody."""
        self.assertIn("names nobody that app.internal could be", self.judge(over(VERIFIED), server_of()))

    def test_expired(self) -> None:
        """An expired certificate is not trusted, and the reason is told."""
        ended = datetime.now(UTC) - timedelta(days=1)
        fault = self.judge(over(VERIFIED), server_of("app.internal", not_after=ended))
        self.assertEqual(fault, "TLS: the certificate cannot be trusted: certificate has expired")

    def test_groups(self) -> None:
        """X25519MLKEM768 is what we want; a server that has X25519 alone finds a key for it at once, too."""
        if b"MLKEM" not in known_groups(GROUPS):
            raise SkipTest("this OpenSSL has no ML-KEM")
        for groups, expected in ((GROUPS, "X25519MLKEM768"), (b"X25519", "x25519"), (b"P-384", "secp384r1")):
            server = server_of("app.internal")
            restrict_groups(server, groups)
            talk = Conversation(self.contexts, over(VERIFIED), server)
            for side in (talk.client, talk.server):
                self.assertRaises(SSL.WantReadError, side.do_handshake)
                if side is talk.client:
                    talk.server.bio_write(talk.client.bio_read(65536))
            flight = talk.server.bio_read(65536)
            talk.client.bio_write(flight)
            # What asks for another key has no certificate with it.
            self.assertEqual(len(flight) > 500, expected != "secp384r1")
            self.assertEqual(talk.shake_hands(), "")
            self.assertEqual(talk.client.get_group_name(), expected)

    def test_own_groups(self) -> None:
        """The operator's list is what is offered."""
        server = server_of("app.internal")
        restrict_groups(server, b"X25519:P-384")
        talk = Conversation(UpstreamContexts(b"P-384:X448"), over(VERIFIED), server)
        self.assertEqual(talk.shake_hands(), "")
        self.assertEqual(talk.client.get_group_name(), "secp384r1")

    def test_slow_key(self) -> None:
        """A key with which one check takes long is not used, and the reason is told."""
        slow = make_rsa_key(exponent_bits=2000)
        fault = self.judge(over(VERIFIED), server_of("app.internal", key=slow))
        self.assertEqual(fault, "TLS: the certificate has a key that is not taken, or takes too long")

    def test_client_certificate_of_a_server(self) -> None:
        """A certificate that is meant for clients is none for servers."""
        chain, key = issue(AUTHORITY, ["app.internal"], is_client=True)
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.use_certificate(x509.load_pem_x509_certificate(chain))
        context.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, key))
        self.assertIn("purpose", self.judge(over(VERIFIED), context))

    def test_not_verified(self) -> None:
        """Without verification nothing is asked."""
        self.assertEqual(self.judge(over(TlsSettings(), ca_pem=b""), server_of()), "")

    def test_protocol(self) -> None:
        """HTTP/1.1 is what we offer, and nothing else."""
        talk = Conversation(self.contexts, over(VERIFIED), server_of("app.internal"))
        self.assertEqual(talk.shake_hands(), "")
        self.assertEqual(talk.client.get_alpn_proto_negotiated(), b"http/1.1")

    def test_http2(self) -> None:
        """HTTP/2 alone is offered where it is to be spoken, and an endpoint that does not take it is of no use."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            for endpoint in (over(VERIFIED), over(TlsSettings())):
                fine = server_of("app.internal", version=version, protocols=(b"http/1.1", b"h2"))
                talk = Conversation(self.contexts, over_http2(endpoint), fine)
                self.assertEqual(talk.shake_hands(), "")
                self.assertEqual(talk.client.get_alpn_proto_negotiated(), b"h2")
                for protocols in ((), (b"http/1.1",)):
                    old = server_of("app.internal", version=version, protocols=protocols)
                    fault = self.judge(over_http2(endpoint), old)
                    self.assertEqual(fault, "TLS: the endpoint does not speak HTTP/2")
                    self.assertEqual(self.judge(endpoint, old), "")

    def test_http2_refused(self) -> None:
        """A server that says in the handshake that it has no HTTP/2 is quoted."""
        chain, key = issue(AUTHORITY, ["app.internal"])
        server = new_server_context()
        server.use_certificate(x509.load_pem_x509_certificate(chain))
        server.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, key))
        self.assertEqual(self.judge(over(VERIFIED), server), "")
        self.assertIn("no application protocol", self.judge(over_http2(over(VERIFIED)), server))

    def test_http2_by_nobody(self) -> None:
        """That HTTP/2 is spoken makes up for no certificate."""
        server = server_of("other.internal", protocols=(b"h2",))
        self.assertIn("not for app.internal", self.judge(over_http2(over(VERIFIED)), server))

    def test_versions(self) -> None:
        """TLS 1.2 and 1.3 are spoken, and of these only what the settings say."""
        for version, spoken in (
            (TlsVersion.TLS_1_2, SSL.TLS1_2_VERSION),
            (TlsVersion.TLS_1_3, SSL.TLS1_3_VERSION),
        ):
            tls_settings = TlsSettings(versions=(version,))
            for offered in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
                fault = self.judge(over(tls_settings), server_of("a", version=offered))
                self.assertEqual(fault == "", offered == spoken, fault)

    def test_ciphers(self) -> None:
        """The ciphers of the settings are offered for TLS 1.2; without any, those with forward secrecy."""
        server = server_of("app.internal", version=SSL.TLS1_2_VERSION)
        talk = Conversation(self.contexts, over(TlsSettings(ciphers="ECDHE-ECDSA-AES256-GCM-SHA384")), server)
        self.assertEqual(talk.shake_hands(), "")
        self.assertEqual(talk.client.get_cipher_name(), "ECDHE-ECDSA-AES256-GCM-SHA384")
        talk = Conversation(self.contexts, over(TlsSettings()), server)
        offered = talk.client.get_cipher_list()
        self.assertTrue(all(one.startswith(("ECDHE-", "TLS_")) for one in offered), offered)

    def test_words(self) -> None:
        """What ended a connection is told in OpenSSL's words, or in those of who saw it end."""
        error = SSL.Error([("SSL routines", "", "tlsv13 alert certificate required")])
        self.assertEqual(words_of_error(error), "TLS: tlsv13 alert certificate required")
        self.assertEqual(words_of_error(ConnectionLost("reset")), "reset")
        self.assertEqual(words_of_error(None), "closed without a word")


class ServerNameTests(SynchronousTestCase):
    """What name the handshake tells."""

    def test_sent(self) -> None:
        """A name is told where that is asked for, and where it is a tenant's; an address never is."""
        cases: tuple[tuple[Endpoint, bytes | None], ...] = (
            (over(TlsSettings(name="a.test")), None),
            (over(TlsSettings(name="a.test", send_name=True)), b"a.test"),
            (over(TlsSettings(send_name=True)), None),
            (over(TlsSettings(name="10.0.0.9", send_name=True)), None),
            (over(TlsSettings(), "db.example.org", is_external=True), b"db.example.org"),
            (over(TlsSettings(name="a.test"), "db.example.org", is_external=True), b"a.test"),
            (over(TlsSettings(send_name=False), "db.example.org", is_external=True), None),
        )
        for endpoint, name in cases:
            talk = Conversation(UpstreamContexts(), endpoint, server_of("a.test"))
            talk.shake_hands()
            self.assertEqual(talk.server.get_servername(), name)


class KeepingTests(SynchronousTestCase):
    """What is kept between connections, and for whom."""

    def setUp(self) -> None:
        self.contexts = UpstreamContexts()
        self.server = server_of("app.internal")

    def resumes(self, endpoint: Endpoint) -> bool:
        """Connect once more, and say whether that went on with an earlier session."""
        talk = Conversation(self.contexts, endpoint, self.server)
        self.assertEqual(talk.shake_hands(), "")
        talk.receive()
        talk.end()
        return is_resumed(talk.client)

    def test_sessions(self) -> None:
        """The next connection to an endpoint goes on with its last session, again and again."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            self.server = server_of("app.internal", version=version)
            endpoint = over(TlsSettings(verify=True, name="app.internal"), f"10.0.0.{version % 256}")
            self.assertEqual([self.resumes(endpoint) for _ in range(3)], [False, True, True])

    def test_sessions_of_others(self) -> None:
        """Another address, port, name, authority or whether to verify at all: another session."""
        self.assertFalse(self.resumes(over(VERIFIED)))
        again = make_authority().pem + AUTHORITY.pem
        for endpoint in (
            over(VERIFIED, "10.0.0.2"),
            over(VERIFIED)._replace(port=444),
            over(TlsSettings()),
            over(TlsSettings(verify=True, name="app.internal", send_name=True)),
            over(VERIFIED, ca_pem=again),
        ):
            self.assertFalse(self.resumes(endpoint), endpoint)
        self.assertTrue(self.resumes(over(VERIFIED)))

    def test_sessions_of_another_protocol(self) -> None:
        """What was made for HTTP/1.1 serves no HTTP/2, nor the other way around."""
        self.server = server_of("app.internal", protocols=(b"h2", b"http/1.1"))
        endpoints = over(VERIFIED), over_http2(over(VERIFIED))
        self.assertEqual([self.resumes(each) for each in endpoints], [False, False])
        self.assertEqual([self.resumes(each) for each in endpoints], [True, True])
        self.assertEqual(repr(self.contexts), "<UpstreamContexts of 2 identities>")

    def test_bounds(self) -> None:
        """Of very many identities and endpoints only the latest are kept, and dropping one harms nothing."""
        self.patch(upstream, "MAX_SESSIONS", 2)
        self.contexts = UpstreamContexts()
        for number in range(4):
            self.assertFalse(self.resumes(over(VERIFIED, f"10.0.0.{number}")))
        self.assertFalse(self.resumes(over(VERIFIED, "10.0.0.0")))
        self.assertTrue(self.resumes(over(VERIFIED, "10.0.0.3")))
        # However many settings they have: endpoints of each come and go.
        self.assertFalse(self.resumes(over(TlsSettings(), "10.0.0.4")))
        self.assertFalse(self.resumes(over(TlsSettings(depth=5), "10.0.0.5")))
        self.assertFalse(self.resumes(over(VERIFIED, "10.0.0.3")))
        self.patch(upstream, "MAX_IDENTITIES", 1)
        self.contexts = UpstreamContexts()
        talk = Conversation(self.contexts, over(VERIFIED), self.server)
        talk.shake_hands()
        self.assertFalse(self.resumes(over(TlsSettings())))
        talk.receive()
        self.assertEqual(repr(self.contexts), "<UpstreamContexts of 1 identities>")
        self.assertFalse(self.resumes(over(VERIFIED)))

    def test_gone_settings(self) -> None:
        """Nothing is kept of settings that nobody has any more, and a connection that was made on them goes on."""
        clock = Clock()
        self.contexts = UpstreamContexts(clock=clock)
        chain, key = issue(AUTHORITY, ["x"], is_client=True)
        endpoint = Endpoint("10.0.0.1", 443, LinkSettings(UpstreamTls(VERIFIED, AUTHORITY.pem, chain, key)))
        others = over(VERIFIED)
        for each in (endpoint, others):
            self.assertEqual([self.resumes(each) for _ in range(2)], [False, True])
        talk = Conversation(self.contexts, endpoint, self.server)
        self.assertEqual(talk.shake_hands(), "")
        settings = endpoint.link_settings
        assert settings is not None
        gone, client, server = ref(settings.tls), talk.client, talk.server
        del talk, each, settings
        clock.pump([LOOK_SECONDS, 0.0] * 3)
        self.assertTrue(self.resumes(endpoint))
        del endpoint
        self.assertIsNone(gone())
        clock.pump([LOOK_SECONDS, 0.0] * 2)
        self.assertEqual(repr(self.contexts), "<UpstreamContexts of 1 identities>")
        self.assertEqual(len(self.contexts._sessions), 1)
        server.send(b"x")
        client.bio_write(server.bio_read(65536))
        self.assertEqual(client.recv(10), b"x")
        self.assertTrue(self.resumes(others))
        self.contexts.stop()
        self.assertEqual(clock.getDelayedCalls(), [])

    def test_sessions_of_gone_contexts(self) -> None:
        """Sessions of a context that others have pushed out are gone with the next look, few of them in one turn."""
        clock = Clock()
        self.patch(upstream, "MAX_IDENTITIES", 1)
        self.contexts = UpstreamContexts(clock=clock)
        self.addCleanup(self.contexts.stop)
        self.assertFalse(self.resumes(over(VERIFIED)))
        sessions = self.contexts._sessions
        [whose] = sessions
        sessions.update((whose._replace(port=port), SSL.Session()) for port in range(5 * FORGOTTEN_AT_ONCE))
        served = over(TlsSettings(name="app.internal"))
        self.assertFalse(self.resumes(served))
        sizes: list[int] = []
        later = clock.callLater

        def call_later(*arguments: Any) -> Any:
            sizes.append(len(sessions))
            return later(*arguments)

        self.patch(clock, "callLater", call_later)
        self.patch(in_slices, "SLICE_SECONDS", 0.0)
        clock.pump([LOOK_SECONDS, 0.0])
        self.assertEqual(len(sessions), 1)
        self.assertTrue(all(a - b <= FORGOTTEN_AT_ONCE for a, b in pairwise(sizes)), sizes)
        self.assertTrue(self.resumes(served))

    def test_terms_that_openssl_refuses(self) -> None:
        """Terms that no context can be made of are told by an error of a known kind."""
        error = self.assertRaises(ValueError, self.contexts.begin, over(TlsSettings(ciphers="NOSUCH")))
        self.assertEqual(str(error), "TLS: no cipher match")
        _, key = issue(AUTHORITY, ["x"])
        chain, _ = issue(AUTHORITY, ["x"])
        mixed = Endpoint("10.0.0.1", 443, LinkSettings(UpstreamTls(TlsSettings(), b"", chain, key)))
        self.assertRaises(ValueError, self.contexts.begin, mixed)
        self.assertRaises(ValueError, self.contexts.begin, Endpoint("10.0.0.1", 80))

    def test_no_key_shows(self) -> None:
        """No representation of what is kept shows a key or a certificate."""
        chain, key = issue(AUTHORITY, ["x"], is_client=True)
        tls = UpstreamTls(VERIFIED, AUTHORITY.pem, chain, key)
        endpoint = Endpoint("10.0.0.1", 443, LinkSettings(tls))
        self.contexts.begin(endpoint)
        for shown in (repr(endpoint), str(endpoint), repr(tls), repr(self.contexts)):
            self.assertNotIn("BEGIN", shown)
