"""What a host may have of its own in a handshake: several certificates, suites, client certificates."""

import gc
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import evolve
from cryptography import x509
from OpenSSL import SSL, crypto
from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import CertificateTable
from ingress.identity.key_pairs import load_certificate
from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings, HandshakeSettingsTable
from ingress.model.cluster.objects import ObjectKey, Secret
from ingress.model.requests.client_authentication import (
    MOST_DEPTH,
    NO_EVIDENCE,
    VERIFIED,
    ClientAuthentication,
    VerifyClient,
)
from ingress.model.shared_map import SharedMap
from ingress.tls import contexts as contexts_module
from ingress.tls.bases import TICKET_KEYS_SECONDS, Bases
from ingress.tls.binding import forget_errors, is_resumed, restrict_groups
from ingress.tls.contexts import ServerContexts
from ingress.tls.handshake import Handshake, evidence_of, handshake_of
from ingress.tls.profile import TLS_1_2_SUITES
from tests.fakes.certificates import (
    Authority,
    PrivateKey,
    issue,
    make_authority,
    make_key,
    make_rsa_key,
    revoke,
)
from tests.tls.test_contexts import AUTHORITY, Client, certificate

NOW = datetime.now(UTC)
VISITORS = make_authority("Visitors")
SECRET = ObjectKey("shop", "visitors")
ASKS = ClientAuthentication(f"Secret {SECRET}", VISITORS.pem, depth=1)


def handshake_settings(**by_host: HandshakeSettings) -> HandshakeSettingsTable:
    """A table of settings; ``_`` stands for a dot."""
    return HandshakeSettingsTable({host.replace("_", "."): one for host, one in by_host.items()})


def asking(authentication: ClientAuthentication = ASKS) -> HandshakeSettings:
    """Terms that ask for a client certificate."""
    return HandshakeSettings(client_authentication=authentication)


def client_context(
    version: int | None = None,
    suites: bytes | None = None,
    authority: Authority | None = None,
    sigalgs: bytes | None = None,
    not_after: datetime | None = None,
    key: PrivateKey | None = None,
) -> SSL.Context:
    """A client's context: its latest version, its suites of TLS 1.2, a certificate of its own from *authority*, of *key*."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    if version is not None:
        context.set_max_proto_version(version)
    if suites is not None:
        context.set_cipher_list(suites)
    if authority is not None:
        chain, key_pem = issue(authority, ["visitor"], not_after=not_after, is_client=True, key=key)
        for number, one in enumerate(chain.split(b"-----END CERTIFICATE-----")[:-1]):
            pem = one + b"-----END CERTIFICATE-----\n"
            loaded = crypto.load_certificate(crypto.FILETYPE_PEM, pem)
            if number:
                context.add_extra_chain_cert(loaded)
            else:
                context.use_certificate(loaded)
        context.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, key_pem))
    return context


def handshakes() -> int:
    """Count those that there are: other tests have some, too."""
    return sum(isinstance(each, Handshake) for each in gc.get_objects())


class HandshakeSettingsCase(SynchronousTestCase):
    """Contexts with two hosts: ``open.com`` asks for nothing, ``closed.com`` for client certificates."""

    def setUp(self) -> None:
        self.time = 1000.0
        self.own = certificate("own-default")
        self.contexts = ServerContexts(self.own, bases=Bases(seconds=lambda: self.time))
        self.table = CertificateTable(
            {name: (certificate(name),) for name in ("open.com", "closed.com", "other.com")}
        )
        self.contexts.publish(self.table, handshake_settings(open_com=PLAIN_HANDSHAKE, closed_com=asking()))
        self.kept: list[Client] = []

    def connect(
        self, name: bytes | None, context: SSL.Context | None = None, session: SSL.Session | None = None
    ) -> Client:
        """Complete a handshake, and let the tickets arrive."""
        client = Client(self.contexts, name, context=context, session=session)
        # A client that is freed without a goodbye takes its session with it.
        self.kept.append(client)
        client.handshake()
        client.exchange()
        return client

    def session(self, name: bytes | None, context: SSL.Context) -> SSL.Session:
        """Complete a handshake, and return what can be resumed."""
        found = self.connect(name, context).connection.get_session()
        assert found is not None
        return found


class KeyTypesTests(HandshakeSettingsCase):
    """Several certificates for one host."""

    def test_choice(self) -> None:
        """The client is shown the certificate that it can use: by its suites, or by its signature schemes."""
        rsa, ec = (certificate("both.com", key_type=one) for one in ("rsa", "ec"))
        for both in ((rsa, ec), (ec, rsa)):
            self.contexts.publish(CertificateTable({"both.com": both}))
            for suites, expected in ((b"ECDHE+aECDSA", ec), (b"ECDHE+aRSA", rsa)):
                context = client_context(SSL.TLS1_2_VERSION, suites)
                self.assertEqual(self.connect(b"both.com", context).shown, expected.fingerprint)
            self.assertIn(self.connect(b"both.com").shown, (rsa.fingerprint, ec.fingerprint))

    def test_own_chains(self) -> None:
        """Each certificate is sent with its own issuers, and with no other's."""
        both = []
        for key_type, name in (("rsa", "One"), ("ec", "Two")):
            chain, key = issue(make_authority(name, parent=AUTHORITY), ["both.com"], key_type)  # type: ignore[arg-type]
            content = {"tls.crt": chain, "tls.key": key}
            secret = Secret(ObjectKey("shop", name), "kubernetes.io/tls", content)
            both.append(load_certificate(secret))
        self.contexts.publish(CertificateTable({"both.com": tuple(both)}))
        for suites, name in ((b"ECDHE+aRSA", "One"), (b"ECDHE+aECDSA", "Two")):
            context = client_context(SSL.TLS1_2_VERSION, suites)
            chain_shown = self.connect(b"both.com", context).connection.get_peer_cert_chain(
                as_cryptography=True
            )
            subjects = [one.subject.rfc4514_string() for one in chain_shown or ()]
            self.assertEqual(len(subjects), 2)
            self.assertIn(name, subjects[1])


class CipherTests(HandshakeSettingsCase):
    """Suites of a host."""

    def test_narrowed(self) -> None:
        """A host offers the suites that it names and no others; the rest of the hosts offer theirs."""
        strong = "ECDHE-ECDSA-AES256-GCM-SHA384"
        self.contexts.publish(self.table, handshake_settings(open_com=HandshakeSettings(ciphers=(strong,))))
        self.assertEqual(
            self.connect(b"open.com", client_context(SSL.TLS1_2_VERSION)).connection.get_cipher_name(), strong
        )
        weak = client_context(SSL.TLS1_2_VERSION, b"ECDHE-ECDSA-AES128-GCM-SHA256")
        with self.assertRaises(SSL.Error):
            Client(self.contexts, b"open.com", context=weak).handshake()
        self.assertEqual(self.connect(b"other.com", weak).shown, self.table.exact["other.com"][0].fingerprint)

    def test_order(self) -> None:
        """The host's order decides, whatever the client's is."""
        ours = ("ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256")
        for suites in (ours, ours[::-1]):
            self.contexts.publish(self.table, handshake_settings(open_com=HandshakeSettings(suites)))
            for theirs in (ours, ours[::-1]):
                context = client_context(SSL.TLS1_2_VERSION, ":".join(theirs).encode())
                self.assertEqual(self.connect(b"open.com", context).connection.get_cipher_name(), suites[0])


class ClientCertificateTests(HandshakeSettingsCase):
    """Hosts that ask for client certificates."""

    def test_evidence(self) -> None:
        """What the client shows is there afterwards, with the settings it was judged by."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            client = self.connect(b"closed.com", client_context(version, authority=VISITORS))
            found = evidence_of(client.server)
            self.assertEqual((found.authentication, found.error, found.reason), (ASKS, VERIFIED, ""))
            shown = client.server.get_peer_certificate()
            assert shown is not None
            self.assertEqual(found.certificate, crypto.dump_certificate(crypto.FILETYPE_ASN1, shown))
            self.assertIs(evidence_of(client.server), found)

    def test_no_cycle(self) -> None:
        """Who was asked leaves nothing behind that only a collector would find: it leaves alone what was there for long."""
        self.connect(b"closed.com", client_context(authority=VISITORS))
        self.kept.clear()
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        before = handshakes()
        client = self.connect(b"closed.com", client_context(authority=VISITORS))
        self.assertTrue(evidence_of(client.server).certificate)
        self.kept.clear()
        del client
        self.assertEqual(handshakes(), before)

    def judge_all(self) -> list[Exception]:
        """Return what pyOpenSSL keeps with the callback that judges for all connections: nothing must ever be there."""
        self.connect(b"closed.com", client_context(authority=VISITORS))
        helper: Any = self.kept[-1].server._verify_helper
        problems: list[Exception] = helper._problems
        self.addCleanup(problems.clear)
        return problems

    def test_second_hello(self) -> None:
        """A second hello that names another host than the first ends the handshake if a certificate is shown, and leaves nothing behind."""
        problems = self.judge_all()
        for authority in (VISITORS, None):
            context = client_context(authority=authority)
            # The key that it sends is of a group that is not ours, so it is asked to say hello again.
            restrict_groups(context, b"P-521:P-256")
            client = Client(self.contexts, b"closed.com", context=context)
            self.kept.append(client)
            for side in (client.connection, client.server):
                self.assertRaises(SSL.WantReadError, side.do_handshake)
                client.pump()
            first = handshake_of(client.server)
            assert first is not None
            self.assertEqual(first.server_name, b"closed.com")
            client.connection.set_tlsext_host_name(b"open.com")
            if authority is None:
                client.handshake()
                self.assertEqual(evidence_of(client.server), NO_EVIDENCE)
            else:
                self.assertRaises(SSL.Error, client.handshake)
                forget_errors()
            self.assertEqual(problems, [])

    def test_fault(self) -> None:
        """A bug while a certificate is judged is logged, ends the handshake, and leaves nothing behind in what judges for all."""
        problems = self.judge_all()

        def fail(*_: Any) -> bool:
            raise RuntimeError("a bug")

        with self.patch(Handshake, "_judge", fail):
            self.assertRaises(SSL.Error, self.connect, b"closed.com", client_context(authority=VISITORS))
        forget_errors()
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.assertEqual(problems, [])
        self.assertEqual(
            evidence_of(self.connect(b"closed.com", client_context(authority=VISITORS)).server).error,
            VERIFIED,
        )

    def test_side_by_side(self) -> None:
        """Of handshakes that go on at the same time each is judged by what its own host asks for, and by its own certificates."""
        strangers = make_authority("Strangers")
        theirs = evolve(ASKS, source="theirs", ca_pem=strangers.pem)
        self.contexts.publish(self.table, handshake_settings(closed_com=asking(), other_com=asking(theirs)))
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            clients = [
                Client(self.contexts, name, context=client_context(version, authority=authority))
                for name in (b"closed.com", b"other.com")
                for authority in (VISITORS, strangers)
            ]
            self.kept += clients
            for _ in range(4):
                # A step of each in turn.
                for client in clients:
                    for side in (client.connection, client.server):
                        try:
                            side.do_handshake()
                        except SSL.WantReadError:
                            pass
                        client.pump()
            found = [evidence_of(client.server) for client in clients]
            self.assertEqual([one.authentication for one in found], [ASKS, ASKS, theirs, theirs])
            self.assertEqual([one.error == VERIFIED for one in found], [True, False, False, True])
            self.assertEqual(len({one.certificate for one in found}), 4)

    def test_asked_for(self) -> None:
        """The client learns which authorities are trusted, and is asked by that host alone."""
        names = [str(name) for name in self.connect(b"closed.com").connection.get_client_ca_list()]
        self.assertEqual(len(names), 1)
        self.assertIn("Visitors", names[0])
        for name in (b"open.com", b"other.com", None):
            client = self.connect(name, client_context(authority=VISITORS))
            self.assertEqual(evidence_of(client.server), NO_EVIDENCE)
            self.assertIsNone(client.server.get_peer_certificate())

    def test_none(self) -> None:
        """A client without certificate is told so later: the handshake ends well, without evidence."""
        found = evidence_of(self.connect(b"closed.com").server)
        self.assertEqual((found.authentication, found.certificate), (ASKS, b""))

    def test_bad(self) -> None:
        """A certificate of another authority, or an expired one, ends no handshake, and is told apart."""
        old = datetime.now(UTC) - timedelta(days=1)
        for authority, not_after, reason in (
            (make_authority("Strangers"), None, "unable to"),
            (VISITORS, old, "expired"),
        ):
            context = client_context(authority=authority, not_after=not_after)
            found = evidence_of(self.connect(b"closed.com", context).server)
            self.assertNotEqual(found.error, VERIFIED)
            self.assertIn(reason, found.reason)
            self.assertNotEqual(found.certificate, b"")

    def test_depth(self) -> None:
        """So many certificates may stand between the client's and the trusted one, and no more."""
        between = make_authority("Between", parent=VISITORS)
        for depth, is_good in ((0, False), (1, True), (2, True)):
            self.contexts.publish(
                self.table, handshake_settings(closed_com=asking(evolve(ASKS, depth=depth)))
            )
            found = evidence_of(self.connect(b"closed.com", client_context(authority=between)).server)
            self.assertEqual(found.error == VERIFIED, is_good, depth)
            direct = evidence_of(self.connect(b"closed.com", client_context(authority=VISITORS)).server)
            self.assertEqual(direct.error, VERIFIED)

    def test_endless_chain(self) -> None:
        """Of a long chain no more is checked than any host may ask for, though nobody vouches for it."""
        authority = make_authority("0")
        for number in range(1, MOST_DEPTH + 10):
            authority = make_authority(str(number), parent=authority)
        depths: list[int] = []
        judge = Handshake._judge

        def count(*said: Any) -> bool:
            depths.append(said[4])
            return judge(*said)

        self.patch(Handshake, "_judge", count)
        found = evidence_of(self.connect(b"closed.com", client_context(authority=authority)).server)
        self.assertNotEqual(found.error, VERIFIED)
        self.assertLessEqual(max(depths), MOST_DEPTH + 1)

    def test_slow_key(self) -> None:
        """A key with which one check takes long ends the handshake before it is used, wherever in the chain it is."""
        slow = make_rsa_key(exponent_bits=2000)
        between = make_authority("Between", parent=make_authority("Strangers"), key=slow)
        for context in (
            client_context(authority=VISITORS, key=slow),
            client_context(authority=make_authority("Strangers"), key=slow),
            client_context(authority=make_authority("Below", parent=between)),
        ):
            with self.assertRaises(SSL.Error):
                self.connect(b"closed.com", context)
        usual = client_context(authority=VISITORS, key=make_key("rsa"))
        self.assertEqual(evidence_of(self.connect(b"closed.com", usual).server).error, VERIFIED)

    def test_many_authorities(self) -> None:
        """Each authority is made a value of OpenSSL's once, however it is used then."""
        many = b"".join(make_authority(str(number)).pem for number in range(20)) + VISITORS.pem
        converted: list[object] = []
        convert = crypto.X509.from_cryptography

        def count(one: x509.Certificate) -> crypto.X509:
            converted.append(one)
            return convert(one)

        self.contexts.publish(self.table, handshake_settings(closed_com=asking(evolve(ASKS, ca_pem=many))))
        context = client_context(authority=VISITORS)
        self.patch(crypto.X509, "from_cryptography", staticmethod(count))
        client = self.connect(b"closed.com", context)
        self.assertEqual(evidence_of(client.server).error, VERIFIED)
        self.assertEqual(len(client.connection.get_client_ca_list()), 21)
        # One more is the certificate that is shown.
        self.assertEqual(len(converted), 22)

    def test_revoked(self) -> None:
        """With revocation lists, a certificate that stands in one is bad, and so is one that no list is about."""
        chain, _ = issue(VISITORS, ["somebody"], is_client=True)
        strangers = make_authority("Strangers")
        for crl, is_good in (
            (revoke(VISITORS, chain), True),
            (revoke(strangers, chain) + revoke(VISITORS, chain), True),
            (revoke(strangers, chain), False),
        ):
            self.contexts.publish(
                self.table, handshake_settings(closed_com=asking(evolve(ASKS, crl_pem=crl)))
            )
            found = evidence_of(self.connect(b"closed.com", client_context(authority=VISITORS)).server)
            self.assertEqual(found.error == VERIFIED, is_good, found.reason)
        context = client_context(authority=VISITORS)
        own = self.connect(b"closed.com", context).server.get_peer_certificate()
        assert own is not None
        crl = revoke(VISITORS, crypto.dump_certificate(crypto.FILETYPE_PEM, own))
        self.contexts.publish(self.table, handshake_settings(closed_com=asking(evolve(ASKS, crl_pem=crl))))
        found = evidence_of(self.connect(b"closed.com", context).server)
        self.assertIn("revoked", found.reason)

    def test_modes(self) -> None:
        """Every mode but one asks the same of the handshake; what to make of the answer is a matter of requests."""
        for mode in VerifyClient:
            if mode.ends_handshakes:
                continue
            self.contexts.publish(self.table, handshake_settings(closed_com=asking(evolve(ASKS, mode=mode))))
            self.assertEqual(evidence_of(self.connect(b"closed.com").server).certificate, b"")

    def test_default_certificate(self) -> None:
        """A host without certificate, and a name that falls to all hosts, ask as well."""
        self.contexts.publish(self.table, handshake_settings(plain_com=asking(), **{"": asking()}))
        for name in (b"plain.com", b"unknown.com", None):
            client = self.connect(name, client_context(authority=VISITORS))
            self.assertEqual(client.shown, self.own.fingerprint)
            self.assertEqual(evidence_of(client.server).error, VERIFIED)
            self.assertNotEqual(evidence_of(client.server).certificate, b"")

    def test_before_hello(self) -> None:
        """A connection that has said nothing proves nothing."""
        connection = self.contexts.serverConnectionForTLS(None)
        self.assertIsNone(handshake_of(connection))
        self.assertEqual(evidence_of(connection), NO_EVIDENCE)


class ResumptionTests(HandshakeSettingsCase):
    """Sessions never carry a client past a check."""

    def is_resumed(self, client: Client) -> bool:
        return is_resumed(client.connection)

    def test_same_host(self) -> None:
        """A host that asks for nothing resumes its sessions."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            context = client_context(version)
            session = self.session(b"open.com", context)
            self.assertTrue(self.is_resumed(self.connect(b"open.com", context, session)))

    def test_nothing_to_resume(self) -> None:
        """A host that asks for client certificates gives out nothing that could be resumed anywhere."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            context = client_context(version, authority=VISITORS)
            session = self.session(b"closed.com", context)
            for name in (b"closed.com", b"open.com"):
                client = self.connect(name, context, session)
                self.assertFalse(self.is_resumed(client))
            self.assertEqual(
                evidence_of(self.connect(b"closed.com", context, session).server).error, VERIFIED
            )

    def test_session_of_another_host_1_3(self) -> None:
        """Under TLS 1.3, such a host refuses a session of another with the alert ``access_denied``."""
        context = client_context(SSL.TLS1_3_VERSION, authority=VISITORS)
        session = self.session(b"open.com", context)
        with self.assertRaisesRegex(SSL.Error, "access denied"):
            client = Client(self.contexts, b"closed.com", context=context, session=session)
            for side in (client.connection, client.server, client.connection):
                try:
                    side.do_handshake()
                except SSL.WantReadError:
                    pass
                except SSL.Error:
                    if side is client.connection:
                        raise
                client.pump()

    def test_session_of_another_host_1_2(self) -> None:
        """Under TLS 1.2, the connection is one for the host of the session, which proves nothing to any other."""
        context = client_context(SSL.TLS1_2_VERSION, authority=VISITORS)
        client = self.connect(b"closed.com", context, self.session(b"open.com", context))
        handshake = handshake_of(client.server)
        assert handshake is not None
        self.assertEqual(handshake.server_name, b"open.com")
        self.assertEqual(evidence_of(client.server), NO_EVIDENCE)

    def test_session_from_before_the_terms(self) -> None:
        """A host that begins to ask, or asks for something else, resumes nothing of before."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            context = client_context(version, authority=VISITORS)
            self.contexts.publish(
                self.table, HandshakeSettingsTable(SharedMap({"open.com": PLAIN_HANDSHAKE}))
            )
            session = self.session(b"open.com", context)
            self.contexts.publish(self.table, HandshakeSettingsTable(SharedMap({"open.com": asking()})))
            client = self.connect(b"open.com", context, session)
            self.assertFalse(self.is_resumed(client))
            self.assertNotEqual(evidence_of(client.server).certificate, b"")

    def test_other_changes_keep_sessions(self) -> None:
        """Other certificates and other suites change no ticket keys."""
        context = client_context(SSL.TLS1_3_VERSION)
        session = self.session(b"open.com", context)
        more = CertificateTable({**self.table.exact, "new.com": (certificate("new.com"),)})
        changed = HandshakeSettings(ciphers=TLS_1_2_SUITES[:2])
        self.contexts.publish(
            more, handshake_settings(open_com=PLAIN_HANDSHAKE, closed_com=asking(), other_com=changed)
        )
        self.assertTrue(self.is_resumed(self.connect(b"open.com", context, session)))

    def test_asked_for_another_key(self) -> None:
        """A client that has to send another key is resumed as any other, or refused: its hello comes twice."""
        context = client_context(SSL.TLS1_3_VERSION, authority=VISITORS)
        restrict_groups(context, b"X448:P-256")
        session = self.session(b"open.com", context)
        for _ in range(2):
            client = self.connect(b"open.com", context, session)
            self.assertTrue(self.is_resumed(client))
            found = client.connection.get_session()
            assert found is not None
            session = found
        self.assertFalse(self.is_resumed(self.connect(b"closed.com", context)))
        with self.assertRaises(SSL.Error):
            self.connect(b"closed.com", context, session)

    def test_rotation(self) -> None:
        """Ticket keys are used for half a day; connections that are open live on."""
        context = client_context(SSL.TLS1_3_VERSION)
        client = self.connect(b"open.com", context)
        session = client.connection.get_session()
        assert session is not None
        self.time += TICKET_KEYS_SECONDS - 1
        self.assertTrue(self.is_resumed(self.connect(b"open.com", context, session)))
        self.time += 1
        self.assertFalse(self.is_resumed(self.connect(b"open.com", context, session)))
        self.assertEqual(client.exchange(), b"ping pong")


class StrictTests(HandshakeSettingsCase):
    """``--strict-sni``."""

    def alert(self, contexts: ServerContexts, name: bytes | None) -> tuple[int, ...]:
        """The bytes of the record that the server answers a hello with."""
        client = Client(contexts, name)
        with self.assertRaises(SSL.WantReadError):
            client.connection.do_handshake()
        client.server.bio_write(client.connection.bio_read(65536))
        with self.assertRaises(SSL.Error):
            client.server.do_handshake()
        return tuple(client.server.bio_read(100))

    def test_refused(self) -> None:
        """Unknown names, and none, are refused with the alert ``unrecognized_name``, and nothing else."""
        contexts = ServerContexts(self.own, strict_sni=True)
        contexts.publish(
            self.table,
            handshake_settings(
                named_com=PLAIN_HANDSHAKE, **{"*.wild_com": PLAIN_HANDSHAKE, "": PLAIN_HANDSHAKE}
            ),
        )
        for name in (b"unknown.com", b"a.b.wild.com", b"\xff", None):
            record = self.alert(contexts, name)
            self.assertEqual((record[0], record[3:]), (21, (0, 2, 2, 112)), name)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_known(self) -> None:
        """A name with a certificate, or of an Ingress, is served."""
        contexts = ServerContexts(self.own, strict_sni=True)
        contexts.publish(
            self.table, handshake_settings(named_com=PLAIN_HANDSHAKE, **{"*.wild_com": PLAIN_HANDSHAKE})
        )
        for name in (b"open.com", b"named.com", b"a.wild.com", b"OPEN.com"):
            Client(contexts, name).handshake()


class KeptContextsTests(HandshakeSettingsCase):
    """How many contexts are kept."""

    def test_bounded(self) -> None:
        """Those used last are kept; one that was dropped is built again when it is asked for."""
        self.patch(contexts_module, "MAX_CONTEXTS", 2)
        first = self.connect(b"open.com").server.get_context()
        self.connect(b"other.com")
        self.assertIs(self.connect(b"open.com").server.get_context(), first)
        self.connect(b"closed.com")
        self.assertEqual(repr(self.contexts), "<ServerContexts with 2 contexts>")
        self.assertIs(self.connect(b"open.com").server.get_context(), first)
        self.connect(b"other.com")
        self.connect(b"closed.com")
        again = self.connect(b"open.com")
        self.assertIsNot(again.server.get_context(), first)
        self.assertEqual(again.shown, self.table.exact["open.com"][0].fingerprint)

    def test_least_version(self) -> None:
        """The oldest version is one for all hosts."""
        self.contexts = ServerContexts(self.own, least_version=SSL.TLS1_3_VERSION)
        self.contexts.publish(self.table)
        for name in (b"open.com", None):
            self.connect(name)
            with self.assertRaises(SSL.Error):
                self.connect(name, client_context(SSL.TLS1_2_VERSION))
