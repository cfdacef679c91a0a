"""Tests for which protocol a handshake agrees on (ALPN), by offer, version, suites and host."""

from datetime import UTC, datetime

from OpenSSL import SSL
from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import CertificateTable
from ingress.identity.server_names import HandshakeSettings, HandshakeSettingsTable
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.tls.binding import first_offered
from ingress.tls.context_building import build_context
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from ingress.tls.profile import HTTP_1_1, HTTP_2, TLS_1_2_SUITES, suits_http_2
from tests.tls.test_contexts import AUTHORITY, Client, certificate

NOW = datetime.now(UTC)
OWN = generate_certificate(NOW)
VERSIONS = (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION)
BOTH = (HTTP_2, HTTP_1_1)

# What a client offers, and what is agreed on with HTTP/2 and without it; None is a refusal.
OFFERS: tuple[tuple[list[bytes] | None, bytes | None, bytes | None], ...] = (
    (None, b"", b""),
    ([b"http/1.1"], b"http/1.1", b"http/1.1"),
    ([b"h2"], b"h2", None),
    ([b"h2", b"http/1.1"], b"h2", b"http/1.1"),
    ([b"http/1.1", b"h2"], b"h2", b"http/1.1"),
    ([b"http/1.0", b"http/1.1"], b"http/1.1", b"http/1.1"),
    ([b"h2c", b"h3", b"http/1.1"], b"http/1.1", b"http/1.1"),
    ([b"\x0a\x0a", b"h2-14", b"h2", b"spdy/3"], b"h2", None),
    ([b"x"] * 4000 + [b"http/1.1"] + [b"y"] * 4000 + [b"h2"], b"h2", b"http/1.1"),
    ([b"h2c"], None, None),
    ([b"H2"], None, None),
    ([b"x\x02h2"], None, None),
    ([b"x\x08http/1.1", b"HTTP/1.1", b"http/1.1x"], None, None),
)


def client_context(version: int, suites: bytes | None = None) -> SSL.Context:
    """A client that speaks one version, and of TLS 1.2 certain suites."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(version)
    context.set_max_proto_version(version)
    if suites is not None:
        context.set_cipher_list(suites)
    return context


def agreed(
    contexts: ServerContexts,
    offer: list[bytes] | None,
    version: int = SSL.TLS1_3_VERSION,
    name: bytes | None = None,
    suites: bytes | None = None,
) -> bytes | None:
    """What both sides have agreed on, empty without ALPN; None if the client was refused for it."""
    client = Client(contexts, name, offer, client_context(version, suites))
    try:
        client.handshake()
    except SSL.Error as error:
        if "no application protocol" in str(error):
            return None
        raise
    found = client.connection.get_alpn_proto_negotiated()
    assert found == client.server.get_alpn_proto_negotiated()
    return found


class AgreementTests(SynchronousTestCase):
    """The table of offers."""

    def test_offers(self) -> None:
        """HTTP/2 goes first by our preference; without it HTTP/1.1 is all there is; others are refused."""
        with_http_2, without = ServerContexts(OWN, http2=True), ServerContexts(OWN)
        for version in VERSIONS:
            for offer, expected, expected_without in OFFERS:
                self.assertEqual(agreed(with_http_2, offer, version), expected, (version, offer))
                self.assertEqual(agreed(without, offer, version), expected_without, (version, offer))

    def test_offers_are_read_from_their_beginning(self) -> None:
        """A name counts where an entry begins, and the first of ours decides, not the first of theirs."""
        for offer, expected in (
            (b"", None),
            (b"\x02h2", b"h2"),
            (b"\x08http/1.1\x02h2", b"h2"),
            (b"\x03\x02h2\x08http/1.1", b"http/1.1"),
            (b"\x01h", None),
        ):
            self.assertEqual(first_offered(BOTH, offer), expected, offer)

    def test_refusal_is_an_alert(self) -> None:
        """Who offers neither is told so by the alert ``no_application_protocol``, and the next one is served."""
        contexts = ServerContexts(OWN, http2=True)
        client = Client(contexts, None, [b"h3"])
        self.assertRaises(SSL.WantReadError, client.connection.do_handshake)
        client.server.bio_write(client.connection.bio_read(65536))
        self.assertRaises(SSL.Error, client.server.do_handshake)
        self.assertEqual(client.server.bio_read(100), bytes((21, 3, 3, 0, 2, 2, 120)))
        self.assertEqual(agreed(contexts, [b"h2"]), b"h2")


class HostsTests(SynchronousTestCase):
    """Hosts whose connections are switched to contexts of their own."""

    def setUp(self) -> None:
        asks = ClientAuthentication("Secret shop/ca", AUTHORITY.pem)
        self.certificates = CertificateTable({"own.test": (certificate("own.test"),)})
        self.handshake_settings = HandshakeSettingsTable(
            {
                "plain.test": HandshakeSettings(),
                "few.test": HandshakeSettings(ciphers=(TLS_1_2_SUITES[4], TLS_1_2_SUITES[5])),
                "asks.test": HandshakeSettings(client_authentication=asks),
            }
        )

    def test_every_host(self) -> None:
        """HTTP/2 is agreed on, or not, on every host alike: with suites, client certificates, strict names."""
        for http2, expected in ((True, b"h2"), (False, b"http/1.1")):
            for strict in (False, True):
                contexts = ServerContexts(OWN, http2=http2, strict_sni=strict)
                contexts.publish(self.certificates, self.handshake_settings)
                for name in ("own.test", "plain.test", "few.test", "asks.test"):
                    for version in VERSIONS:
                        found = agreed(contexts, [b"http/1.1", b"h2"], version, name.encode())
                        self.assertEqual(found, expected, (name, version, strict))

    def test_other_bases(self) -> None:
        """A base that takes the place of another one offers the same."""
        contexts = ServerContexts(OWN, http2=True)
        contexts.publish(CertificateTable({}, {}, certificate("default.test")))
        self.assertEqual(agreed(contexts, [b"h2"]), b"h2")

    def test_resumed(self) -> None:
        """With a session that is resumed, the protocol is agreed on again."""
        contexts = ServerContexts(OWN, http2=True)
        context = client_context(SSL.TLS1_2_VERSION)
        context.set_alpn_protos(list(BOTH))
        first = Client(contexts, b"a.test", context=context).handshake().connection
        again = Client(contexts, b"a.test", context=context, session=first.get_session()).handshake()
        self.assertEqual(again.connection.master_key(), first.master_key())
        self.assertEqual(again.connection.get_alpn_proto_negotiated(), b"h2")


class SuitesTests(SynchronousTestCase):
    """TLS 1.2 with suites that HTTP/2 must not be spoken with (RFC 9113 section 9.2.2)."""

    def with_base(self, *suites: str) -> ServerContexts:
        """Contexts whose base has these suites of TLS 1.2."""
        contexts = ServerContexts(OWN, http2=True)
        contexts._default = OWN, build_context(SSL.TLS1_2_VERSION, (OWN,), suites, protocols=BOTH)
        return contexts

    def test_our_suites(self) -> None:
        """HTTP/2 may be spoken with each of the profile's, and is."""
        contexts = ServerContexts(OWN, http2=True)
        for suite in TLS_1_2_SUITES:
            self.assertTrue(suits_http_2(suite), suite)
            if "ECDSA" in suite:
                found = agreed(contexts, [b"h2"], SSL.TLS1_2_VERSION, suites=suite.encode())
                self.assertEqual(found, b"h2", suite)

    def test_suites_that_do_not_suit(self) -> None:
        """CBC, keys that are not ephemeral, and no encryption at all do not suit."""
        for suite in (
            "ECDHE-ECDSA-AES128-SHA",
            "ECDHE-ECDSA-AES256-SHA384",
            "ECDHE-RSA-AES128-SHA256",
            "AES128-GCM-SHA256",
            "AES256-SHA",
            "ECDH-RSA-AES128-GCM-SHA256",
            "ECDHE-RSA-NULL-SHA",
        ):
            self.assertFalse(suits_http_2(suite), suite)

    def test_http_1_1_instead(self) -> None:
        """Where such a suite could be chosen, TLS 1.2 carries HTTP/1.1, and TLS 1.3 HTTP/2 as everywhere."""
        cbc = "ECDHE-ECDSA-AES128-SHA"
        both = [b"h2", b"http/1.1"]
        for suites in ((cbc,), (TLS_1_2_SUITES[0], cbc)):
            contexts = self.with_base(*suites)
            self.assertEqual(agreed(contexts, both, SSL.TLS1_2_VERSION), b"http/1.1")
            self.assertEqual(agreed(contexts, both, SSL.TLS1_3_VERSION), b"h2")
            self.assertIsNone(agreed(contexts, [b"h2"], SSL.TLS1_2_VERSION))
        self.assertEqual(agreed(self.with_base(*TLS_1_2_SUITES), both, SSL.TLS1_2_VERSION), b"h2")
