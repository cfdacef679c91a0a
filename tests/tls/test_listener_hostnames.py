"""The handshakes of Gateways' listeners: which hostname decides, who is refused, and what is asked of clients."""

from attrs import evolve
from OpenSSL import SSL
from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import CertificateTable
from ingress.identity.misdirected import ServerNames
from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings, HandshakeSettingsTable
from ingress.model.requests.client_authentication import ClientAuthentication, VerifyClient
from ingress.tls.contexts import ServerContexts
from tests.fakes.certificates import make_authority
from tests.tls.test_contexts import Client, certificate
from tests.tls.test_handshake_settings import client_context

EXACT, WIDE, REST, INGRESS, DEFAULT = (
    certificate(name) for name in ("a.b.com", "*.b.com", "rest", "ingress", "default")
)
VISITORS = make_authority("Visitors")
ASKS = ClientAuthentication("ConfigMap infra/people", VISITORS.pem, mode=VerifyClient.VALID_ONLY)


def listeners(*hostnames: str, **settings: HandshakeSettings) -> HandshakeSettingsTable:
    """The settings of listeners of these hostnames; ``_`` stands for a dot."""
    plain = dict.fromkeys(hostnames, PLAIN_HANDSHAKE)
    return HandshakeSettingsTable(
        {**plain, **{host.replace("_", "."): one for host, one in settings.items()}}, covers_labels=True
    )


class ListenerHostnamesTests(SynchronousTestCase):
    """``ServerContexts`` with tables of Gateways."""

    def setUp(self) -> None:
        self.contexts = ServerContexts(DEFAULT)

    def shown(self, server_name: bytes | None, context: SSL.Context | None = None) -> str:
        """Return the fingerprint that a client is shown; empty where it is refused."""
        try:
            client = Client(self.contexts, server_name, context=context).handshake()
            client.exchange()
        except SSL.Error:
            return ""
        return client.shown

    def check(self, server_name: bytes | None, expected: str) -> None:
        """Compare what is shown."""
        self.assertEqual(self.shown(server_name), expected, server_name)

    def test_most_specific(self) -> None:
        """The exact hostname goes before the longest wildcard, of any number of labels, and that before all hosts."""
        self.contexts.publish(
            CertificateTable({"a.b.com": (EXACT,)}, {".b.com": (WIDE,), "": (REST,)}, covers_labels=True),
            listeners("a.b.com", "*.b.com", ""),
        )
        for name in (b"a.b.com", b"A.B.com"):
            self.check(name, EXACT.fingerprint)
        for name in (b"x.b.com", b"x.y.b.com", b"x.a.b.com"):
            self.check(name, WIDE.fingerprint)
        for other in (b"b.com", b"c.org", None):
            self.check(other, REST.fingerprint)

    def test_nobodys_name(self) -> None:
        """A name that no listener has is refused, as is a client that names none."""
        self.contexts.publish(
            CertificateTable({"a.b.com": (EXACT,)}, covers_labels=True), listeners("a.b.com")
        )
        self.check(b"a.b.com", EXACT.fingerprint)
        for name in (b"b.com", b"x.a.b.com", None):
            self.check(name, "")

    def test_without_certificate(self) -> None:
        """A listener without usable certificate shows none, and nobody else's either."""
        self.contexts.publish(
            CertificateTable({"a.b.com": ()}, {".b.com": (WIDE,), "": ()}, covers_labels=True),
            listeners("a.b.com", "*.b.com", ""),
        )
        self.check(b"a.b.com", "")
        self.check(b"x.b.com", WIDE.fingerprint)
        self.check(b"c.org", "")

    def test_certificate_taken_away(self) -> None:
        """What a listener has no more is shown to nobody from the next handshake on."""
        settings = listeners("a.b.com")
        self.contexts.publish(CertificateTable({"a.b.com": (EXACT,)}, covers_labels=True), settings)
        self.check(b"a.b.com", EXACT.fingerprint)
        self.contexts.publish(CertificateTable({"a.b.com": ()}, covers_labels=True), settings)
        self.check(b"a.b.com", "")

    def test_beside(self) -> None:
        """Beside hosts of Ingresses the one that says more of a name has it, and at a tie the Ingress."""
        self.contexts.publish(
            CertificateTable({"a.b.com": (INGRESS,)}, {".c.com": (INGRESS,)}, DEFAULT),
            HandshakeSettingsTable({"a.b.com": PLAIN_HANDSHAKE, "*.c.com": PLAIN_HANDSHAKE}),
            ServerNames(
                CertificateTable(
                    {"a.b.com": (EXACT,), "x.c.com": (EXACT,)}, {".b.com": (WIDE,)}, covers_labels=True
                ),
                listeners("a.b.com", "x.c.com", "*.b.com"),
            ),
        )
        for name, expected in (
            (b"a.b.com", INGRESS),
            (b"y.c.com", INGRESS),
            (b"x.c.com", EXACT),
            (b"x.b.com", WIDE),
            (b"x.y.b.com", WIDE),
            (b"unknown.org", DEFAULT),
            (None, DEFAULT),
        ):
            self.check(name, expected.fingerprint)

    def test_valid_client_only(self) -> None:
        """Who has to show a certificate of some authority does not get through the handshake without."""
        self.contexts.publish(
            CertificateTable({"a.b.com": (EXACT,)}, covers_labels=True),
            listeners(a_b_com=HandshakeSettings(client_authentication=ASKS)),
        )
        strangers = make_authority("Strangers")
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            good = client_context(version, authority=VISITORS)
            self.assertEqual(self.shown(b"a.b.com", good), EXACT.fingerprint)
            self.assertEqual(self.shown(b"a.b.com", client_context(version, authority=strangers)), "")
            self.assertEqual(self.shown(b"a.b.com", client_context(version)), "")

    def test_insecure_fallback(self) -> None:
        """Where any certificate will do, and none, all get through, and each is asked."""
        fallback = evolve(ASKS, mode=VerifyClient.ANY)
        self.contexts.publish(
            CertificateTable({"a.b.com": (EXACT,)}, covers_labels=True),
            listeners(a_b_com=HandshakeSettings(client_authentication=fallback)),
        )
        for authority in (VISITORS, make_authority("Strangers"), None):
            client = Client(self.contexts, b"a.b.com", context=client_context(authority=authority))
            client.handshake().exchange()
            self.assertEqual(client.server.get_peer_certificate() is not None, authority is not None)
