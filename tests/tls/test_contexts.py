"""Tests for ``ingress.tls.contexts``: real handshakes, in memory."""

from datetime import UTC, datetime

from attrs import evolve
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from OpenSSL import SSL, crypto
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ingress.identity.certificates import Certificate, CertificateTable
from ingress.identity.key_pairs import load_certificate
from ingress.model.cluster.objects import ObjectKey, Secret
from ingress.tls import contexts as contexts_module
from ingress.tls.contexts import ServerContexts
from tests.fakes.certificates import KeyType, issue, make_authority

NOW = datetime.now(UTC)
AUTHORITY = make_authority()
KEY_TYPES: tuple[KeyType, ...] = ("rsa", "ec", "ed25519")


def certificate(*names: str, key_type: KeyType = "ec") -> Certificate:
    """A certificate for *names* of the test authority."""
    chain, key = issue(AUTHORITY, names, key_type)
    secret = Secret(ObjectKey("shop", names[0]), "kubernetes.io/tls", {"tls.crt": chain, "tls.key": key})
    return load_certificate(secret)


def broken(good: Certificate) -> Certificate:
    """A certificate that OpenSSL refuses, as no ``load_certificate`` lets through."""
    return evolve(good, key_pem=certificate("other").key_pem, fingerprint="broken")


class Client:
    """The client's side of a TLS connection in memory."""

    def __init__(
        self,
        contexts: ServerContexts,
        server_name: bytes | None,
        protocols: list[bytes] | None = None,
        context: SSL.Context | None = None,
        session: SSL.Session | None = None,
    ) -> None:
        context = SSL.Context(SSL.TLS_CLIENT_METHOD) if context is None else context
        if protocols is not None:
            context.set_alpn_protos(protocols)
        self.connection = SSL.Connection(context, None)
        if server_name is not None:
            self.connection.set_tlsext_host_name(server_name)
        if session is not None:
            self.connection.set_session(session)
        self.connection.set_connect_state()
        self.server = contexts.serverConnectionForTLS(None)
        self.server.set_accept_state()

    def pump(self) -> None:
        """Carry bytes both ways until neither side has any more."""
        for _ in range(20):
            moved = False
            for source, sink in ((self.connection, self.server), (self.server, self.connection)):
                try:
                    octets = source.bio_read(65536)
                except SSL.WantReadError:
                    continue
                sink.bio_write(octets)
                moved = True
            if not moved:
                return

    def handshake(self) -> "Client":
        """Complete the handshake; raise ``SSL.Error`` of the side that refuses."""
        for _ in range(10):
            pending = 0
            for side in (self.connection, self.server):
                try:
                    side.do_handshake()
                except SSL.WantReadError:
                    pending += 1
                self.pump()
            if not pending:
                return self
        raise AssertionError("the handshake does not end")

    def exchange(self) -> bytes:
        """Send bytes both ways, and return those that came back."""
        self.connection.send(b"ping")
        self.pump()
        self.server.send(self.server.recv(100) + b" pong")
        self.pump()
        return self.connection.recv(100)

    @property
    def shown(self) -> str:
        """The fingerprint of the certificate that the server showed."""
        leaf = self.connection.get_peer_certificate(as_cryptography=True)
        assert isinstance(leaf, x509.Certificate)
        return leaf.fingerprint(hashes.SHA256()).hex()


class ServerContextsTests(SynchronousTestCase):
    """Which certificate a handshake shows."""

    def setUp(self) -> None:
        self.own = certificate("own-default")
        self.contexts = ServerContexts(self.own)

    def shown(self, server_name: bytes | None) -> str:
        """What a client that asks for *server_name* is shown."""
        return Client(self.contexts, server_name).handshake().shown

    def test_interface(self) -> None:
        """The contexts are what Twisted asks for connections."""
        verifyObject(IOpenSSLServerConnectionCreator, self.contexts)

    def test_own_default(self) -> None:
        """Before any table, and with an empty one, everybody is shown the default certificate."""
        for name in (None, b"a.com"):
            self.assertEqual(self.shown(name), self.own.fingerprint)
        self.contexts.publish(CertificateTable())
        self.assertEqual(self.shown(b"a.com"), self.own.fingerprint)

    def test_choice(self) -> None:
        """The exact name goes before the wildcard of one label, and that before the default."""
        exact, wildcard, default = certificate("a.b.com"), certificate("*.b.com"), certificate("default")
        self.contexts.publish(CertificateTable({"a.b.com": (exact,)}, {".b.com": (wildcard,)}, default))
        for name, expected in (
            (b"a.b.com", exact),
            (b"A.B.com", exact),
            (b"x.b.com", wildcard),
            (b"b.com", default),
            (b"x.y.b.com", default),
            (b"unknown.org", default),
            (None, default),
            (b"caf\xc3\xa9.b.com.org", default),
            (b"\xff\xfe", default),
        ):
            self.assertEqual(self.shown(name), expected.fingerprint, name)

    def test_not_its_wildcard(self) -> None:
        """A host with no certificate at all is shown the default, and not that of its wildcard."""
        wildcard, default = certificate("*.b.com"), certificate("default")
        table = CertificateTable({"a.b.com": ()}, {".b.com": (wildcard,)}, default)
        self.contexts.publish(table)
        self.assertEqual(self.shown(b"a.b.com"), default.fingerprint)
        self.assertEqual(self.shown(b"b.b.com"), wildcard.fingerprint)
        self.assertEqual(list(table.shown()), [("*.b.com", wildcard), ("", default)])
        self.contexts.publish(evolve(table, default=None))
        self.assertEqual(self.shown(b"a.b.com"), self.own.fingerprint)
        self.assertEqual(evolve(table, default=None).find("a.b.com"), ())

    def test_key_types(self) -> None:
        """Hosts with RSA, ECDSA and Ed25519 keys live beside each other."""
        table = {
            f"{key_type}.com": (certificate(f"{key_type}.com", key_type=key_type),) for key_type in KEY_TYPES
        }
        self.contexts.publish(CertificateTable(table))
        for name, expected in table.items():
            self.assertEqual(self.shown(name.encode()), expected[0].fingerprint)

    def test_rsa_in_tls_1_2(self) -> None:
        """The switch works for TLS 1.2 too, where the suite depends on the kind of key."""
        rsa = certificate("rsa.com", key_type="rsa")
        self.contexts.publish(CertificateTable({"rsa.com": (rsa,)}))
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_max_proto_version(SSL.TLS1_2_VERSION)
        client = Client(self.contexts, b"rsa.com", context=context).handshake()
        self.assertEqual(client.shown, rsa.fingerprint)
        self.assertIn("ECDHE-RSA", client.connection.get_cipher_name() or "")

    def test_chain(self) -> None:
        """The intermediates are sent, so that a client with the root alone can verify."""
        chain, key = issue(make_authority("Between", parent=AUTHORITY), ["a.com"])
        secret = Secret(ObjectKey("shop", "a"), "kubernetes.io/tls", {"tls.crt": chain, "tls.key": key})
        self.contexts.publish(CertificateTable({"a.com": (load_certificate(secret),)}))
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        store = context.get_cert_store()
        assert store is not None
        store.add_cert(crypto.X509.from_cryptography(AUTHORITY.certificate))
        context.set_verify(SSL.VERIFY_PEER)
        client = Client(self.contexts, b"a.com", context=context).handshake()
        self.assertEqual(len(client.connection.get_peer_cert_chain() or ()), 2)

    def test_swap(self) -> None:
        """A new table decides about the next handshake; an open connection goes on as it was."""
        old, new = certificate("a.com"), certificate("a.com")
        self.contexts.publish(CertificateTable({"a.com": (old,)}))
        client = Client(self.contexts, b"a.com").handshake()
        self.contexts.publish(CertificateTable({"a.com": (new,)}))
        self.assertEqual(client.exchange(), b"ping pong")
        self.assertEqual(client.shown, old.fingerprint)
        self.assertEqual(self.shown(b"a.com"), new.fingerprint)
        self.contexts.publish(CertificateTable())
        self.assertEqual(client.exchange(), b"ping pong")
        self.assertEqual(self.shown(b"a.com"), self.own.fingerprint)

    def test_swap_before_hello(self) -> None:
        """A connection that was accepted before the table shows what the table says."""
        new, default = certificate("a.com"), certificate("default")
        for name, expected in ((b"a.com", new), (None, default)):
            contexts = ServerContexts(self.own)
            client = Client(contexts, name)
            contexts.publish(CertificateTable({"a.com": (new,)}, {}, default))
            self.assertEqual(client.handshake().shown, expected.fingerprint)

    def test_default_comes_and_goes(self) -> None:
        """The table's default is shown while there is one, and our own again afterwards."""
        for _ in range(2):
            default = certificate("default")
            self.contexts.publish(CertificateTable({}, {}, default))
            self.assertEqual(self.shown(None), default.fingerprint)
            self.contexts.publish(CertificateTable())
            self.assertEqual(self.shown(None), self.own.fingerprint)

    def test_asked_again(self) -> None:
        """A name that comes again is chosen for without a look at the tables, until they are published anew."""
        one, other = certificate("a.com"), certificate("a.com")
        looked: list[str | None] = []

        class Watched(CertificateTable):
            """Notes for which names it is asked."""

            def named(self, server_name: str | None) -> tuple[Certificate, ...] | None:
                looked.append(server_name)
                return super().named(server_name)

        for shown in (one, other):
            self.contexts.publish(Watched({"a.com": (shown,)}))
            for _ in range(3):
                self.assertEqual(self.shown(b"a.com"), shown.fingerprint)
        self.assertEqual(looked, ["a.com", "a.com"])

    def test_strict_afterwards(self) -> None:
        """A name that nobody serves is refused from the moment when that is asked for, however often it was shown something."""
        self.contexts.publish(CertificateTable({"a.com": (certificate("a.com"),)}))
        for _ in range(2):
            self.assertEqual(self.shown(b"b.com"), self.own.fingerprint)
        self.contexts.strict_sni = True
        self.assertRaises(SSL.Error, self.shown, b"b.com")
        self.contexts.strict_sni = False
        self.assertEqual(self.shown(b"b.com"), self.own.fingerprint)

    def test_invented_names(self) -> None:
        """However many names are invented, no more are remembered than contexts are kept."""
        self.patch(contexts_module, "MAX_CONTEXTS", 3)
        for number in range(10):
            self.shown(b"%d.com" % number)
            self.assertLessEqual(len(self.contexts._chosen), 3)

    def test_contexts_are_kept_and_dropped(self) -> None:
        """A context is built once per certificate when asked for, and dropped with it."""
        kept, gone = certificate("kept.com"), certificate("gone.com")
        self.contexts.publish(CertificateTable({"kept.com": (kept,), "gone.com": (gone,)}))
        self.assertEqual(repr(self.contexts), "<ServerContexts with 0 contexts>")
        first = Client(self.contexts, b"kept.com").handshake().server.get_context()
        Client(self.contexts, b"gone.com").handshake()
        self.assertEqual(repr(self.contexts), "<ServerContexts with 2 contexts>")
        # An equal certificate, read anew, is the same one.
        self.contexts.publish(CertificateTable({"kept.com": (evolve(kept),)}))
        self.assertEqual(repr(self.contexts), "<ServerContexts with 1 contexts>")
        self.assertIs(Client(self.contexts, b"kept.com").handshake().server.get_context(), first)

    def test_refused_by_openssl(self) -> None:
        """A certificate that OpenSSL refuses costs one log line, and its host the default certificate."""
        bad, good = broken(certificate("bad.com")), certificate("good.com")
        self.contexts.publish(CertificateTable({"bad.com": (bad,), "good.com": (good,)}))
        with capturedLogs() as events:
            for _ in range(2):
                self.assertEqual(self.shown(b"bad.com"), self.own.fingerprint)
            self.assertEqual(self.shown(b"good.com"), good.fingerprint)
        self.assertEqual([event["secret"] for event in events], [ObjectKey("shop", "bad.com")])
        self.assertNotIn("BEGIN", str(events))

    def test_default_refused_by_openssl(self) -> None:
        """A default that OpenSSL refuses leaves our own in place."""
        with capturedLogs() as events:
            self.contexts.publish(CertificateTable({}, {}, broken(certificate("default"))))
        self.assertEqual(len(events), 1)
        self.assertEqual(self.shown(None), self.own.fingerprint)

    def test_broken_own_default(self) -> None:
        """Nothing begins with a default certificate that cannot serve."""
        with self.assertRaises(SSL.Error):
            ServerContexts(broken(self.own))

    def test_callback_never_raises(self) -> None:
        """What goes wrong while choosing is logged, and the handshake ends with the default."""

        class Hostile(dict[str, tuple[Certificate, ...]]):
            def get(self, key: object, default: object = None) -> tuple[Certificate, ...]:
                raise RuntimeError("no table")

        self.contexts.publish(CertificateTable(Hostile()))
        self.assertEqual(self.shown(b"a.com"), self.own.fingerprint)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_resumption(self) -> None:
        """A session is resumed as long as the default certificate stays, and not beyond it."""
        one = certificate("a.com")
        self.contexts.publish(CertificateTable({"a.com": (one,)}))
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_max_proto_version(SSL.TLS1_2_VERSION)
        first = Client(self.contexts, b"a.com", context=context).handshake().connection
        session = first.get_session()
        for default, is_resumed in ((None, True), (certificate("default"), False)):
            self.contexts.publish(CertificateTable({"a.com": (one,)}, {}, default))
            client = Client(self.contexts, b"a.com", context=context, session=session).handshake()
            # Before TLS 1.3, a resumed session has the master key of the first.
            self.assertIs(client.connection.master_key() == first.master_key(), is_resumed)
            self.assertEqual(client.exchange(), b"ping pong")

    def test_key_material_is_hidden(self) -> None:
        """No repr shows chain or key."""
        self.contexts.publish(CertificateTable({"a.com": (certificate("a.com"),)}))
        connection = Client(self.contexts, b"a.com").handshake().server
        for thing in (self.contexts, vars(self.contexts), connection, vars(connection.get_context())):
            self.assertNotIn("BEGIN", repr(thing))


class TwistedTests(SynchronousTestCase):
    """The contexts under Twisted's own TLS protocol."""

    def serve(self, client: Client, contexts: ServerContexts) -> tuple[StringTransport, Protocol]:
        """Hand the first flight of *client* to a server protocol."""
        protocol = Protocol()
        factory = TLSMemoryBIOFactory(contexts, False, Factory.forProtocol(lambda: protocol), Clock())
        transport = StringTransport()
        wrapped = factory.buildProtocol(transport.getPeer())
        assert wrapped is not None
        wrapped.makeConnection(transport)
        with self.assertRaises(SSL.WantReadError):
            client.connection.do_handshake()
        wrapped.dataReceived(client.connection.bio_read(65536))
        return transport, protocol

    def test_handshake(self) -> None:
        """A listener shows the certificate that was asked for."""
        contexts, wanted = ServerContexts(certificate("default")), certificate("a.com")
        contexts.publish(CertificateTable({"a.com": (wanted,)}))
        client = Client(contexts, b"a.com")
        transport, _ = self.serve(client, contexts)
        client.connection.bio_write(transport.value())
        client.connection.do_handshake()
        self.assertEqual(client.shown, wanted.fingerprint)

    def test_no_overlap_leaves_no_traceback(self) -> None:
        """A client that speaks HTTP/2 alone gets its alert, and nothing is logged."""
        contexts = ServerContexts(certificate("default"))
        client = Client(contexts, None, [b"h2"])
        with capturedLogs() as events:
            transport, _ = self.serve(client, contexts)
        self.assertEqual(events, [])
        # Record of an alert, TLS 1.2 on the wire, two bytes: fatal, no_application_protocol.
        self.assertEqual(transport.value(), bytes((21, 3, 3, 0, 2, 2, 120)))
        self.assertTrue(transport.disconnecting)
