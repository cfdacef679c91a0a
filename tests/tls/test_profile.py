"""Tests for ``ingress.tls.profile``: what a handshake with our contexts can agree on."""

from datetime import UTC, datetime

from OpenSSL import SSL
from OpenSSL._util import lib
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ingress.annotations.hosts.ciphers import ALLOWED_SUITES
from ingress.options.values import read_tls_groups
from ingress.tls.binding import suit_socket
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from ingress.tls.profile import (
    GROUPS,
    TLS_1_2_SUITES,
    TLS_1_3_SUITES,
    known_groups,
    new_server_context,
)
from tests.tls.test_contexts import Client

CONTEXTS = ServerContexts(generate_certificate(datetime.now(UTC)))


def client_context(
    version: int | None = None, suites: bytes | None = None, groups: bytes | None = None
) -> SSL.Context:
    """A client that offers one version, certain suites, certain groups."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    if version is not None:
        context.set_min_proto_version(version)
        context.set_max_proto_version(version)
    if suites is not None:
        context.set_cipher_list(suites)
    if groups is not None:
        assert lib.SSL_CTX_set1_curves_list(context._context, groups) == 1
    return context


def connected(context: SSL.Context) -> SSL.Connection:
    """The client's connection after a handshake with our contexts."""
    return Client(CONTEXTS, None, context=context).handshake().connection


class ProfileTests(SynchronousTestCase):
    """Versions, suites and groups."""

    def test_versions(self) -> None:
        """TLS 1.2 and 1.3 are spoken."""
        for version, name in ((SSL.TLS1_2_VERSION, "TLSv1.2"), (SSL.TLS1_3_VERSION, "TLSv1.3")):
            self.assertEqual(connected(client_context(version)).get_protocol_version_name(), name)

    def test_old_versions(self) -> None:
        """TLS 1.1 and 1.0 are refused with the alert ``protocol_version``."""
        for minor in (1, 2):
            # Written by hand, since OpenSSL need not speak these versions any more:
            # version, random, no session, one suite, no compression.
            body = bytes((3, minor)) + bytes(32) + b"\0" + b"\0\2\xc0\x09" + b"\1\0"
            message = b"\1" + len(body).to_bytes(3) + body
            server = CONTEXTS.serverConnectionForTLS(None)
            server.set_accept_state()
            server.bio_write(b"\x16\x03\x01" + len(message).to_bytes(2) + message)
            with self.assertRaises(SSL.Error):
                server.do_handshake()
            record = server.bio_read(100)
            self.assertEqual((record[0], record[-2:]), (21, bytes((2, 70))))

    def test_suites(self) -> None:
        """Each TLS 1.2 suite for our kind of key is agreed on; others are not."""
        for suite in TLS_1_2_SUITES:
            if "ECDSA" in suite:
                context = client_context(SSL.TLS1_2_VERSION, suite.encode())
                self.assertEqual(connected(context).get_cipher_name(), suite)
        for other in (b"ECDHE-ECDSA-AES128-SHA", b"ECDHE-ECDSA-AES256-SHA384", b"ECDHE-ECDSA-AES128-CCM"):
            with self.assertRaises(SSL.Error):
                connected(client_context(SSL.TLS1_2_VERSION, other))

    def test_order_of_suites(self) -> None:
        """Our order decides, so that AES-128 is spoken with whoever knows it; but who prefers ChaCha20 gets it."""
        aes_128, aes_256, chacha20 = TLS_1_2_SUITES[0], TLS_1_2_SUITES[2], TLS_1_2_SUITES[4]
        for offered, expected in (
            ((aes_256, chacha20, aes_128), aes_128),
            ((aes_256, chacha20), aes_256),
            ((chacha20, aes_256, aes_128), chacha20),
        ):
            context = client_context(SSL.TLS1_2_VERSION, ":".join(offered).encode())
            self.assertEqual(connected(context).get_cipher_name(), expected)
        aes_128, aes_256, chacha20 = TLS_1_3_SUITES.decode().split(":")
        for offered, expected in (
            ((aes_256, chacha20, aes_128), aes_128),
            ((aes_256, chacha20), aes_256),
            ((chacha20, aes_256, aes_128), chacha20),
        ):
            context = client_context(SSL.TLS1_3_VERSION)
            context.set_tls13_ciphersuites(":".join(offered).encode())
            self.assertEqual(connected(context).get_cipher_name(), expected)

    def test_suites_of_annotations(self) -> None:
        """What ``ssl-ciphers`` may name is what the profile has, and OpenSSL knows all of it."""
        self.assertEqual(ALLOWED_SUITES, TLS_1_2_SUITES)
        for suite in ALLOWED_SUITES:
            new_server_context(suites=(suite,))

    def test_groups(self) -> None:
        """X25519, P-256 and P-384 are agreed on, P-521 and X448 are not."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            for group in (b"X25519", b"P-256", b"P-384"):
                # In TLS 1.2 the list must also hold the curve of the certificate's key.
                connected(client_context(version, groups=group + (b"" if group == b"P-256" else b":P-256")))
            for group in (b"P-521", b"X448"):
                with self.assertRaises(SSL.Error):
                    connected(client_context(version, groups=group))

    def test_post_quantum(self) -> None:
        """X25519MLKEM768 is agreed on with every client that brings a key for it, and X25519 with any other."""
        if b"MLKEM" not in known_groups(GROUPS):
            raise SkipTest("this OpenSSL has no ML-KEM")
        for groups, expected in (
            (None, "X25519MLKEM768"),
            (b"X25519MLKEM768:X25519", "X25519MLKEM768"),
            (b"*X25519MLKEM768:*X25519:P-256", "X25519MLKEM768"),
            (b"X25519:P-256", "x25519"),
            (b"P-384", "secp384r1"),
        ):
            found = connected(client_context(SSL.TLS1_3_VERSION, groups=groups)).get_group_name()
            self.assertEqual(found, expected)

    def test_own_groups(self) -> None:
        """A list of the operator's is all that there is to agree on."""
        contexts = ServerContexts(generate_certificate(datetime.now(UTC)), groups=b"P-384")
        client = Client(contexts, None, context=client_context()).handshake()
        self.assertEqual(client.connection.get_group_name(), "secp384r1")
        with self.assertRaises(SSL.Error):
            Client(contexts, None, context=client_context(groups=b"X25519")).handshake()

    def test_unknown_groups(self) -> None:
        """What OpenSSL lacks is left out, wherever it stands; a list of nothing else is refused, and nothing is left behind."""
        self.assertEqual(known_groups(b"Later:X25519:Never:P-256"), b"X25519:P-256")
        with self.assertRaisesRegex(ValueError, "none of the groups Later:Never"):
            known_groups(b"Later:Never")
        contexts = ServerContexts(generate_certificate(datetime.now(UTC)), groups=b"Later:X25519")
        self.assertEqual(Client(contexts, None).handshake().exchange(), b"ping pong")

    def test_known_names(self) -> None:
        """OpenSSL knows each group that ``--tls-groups`` may name, or else it is older than ML-KEM."""
        for spelling in ("x25519", "X448", "P-256", "prime256v1", "secp384r1", "P-521"):
            group = read_tls_groups(spelling).encode()
            self.assertEqual(known_groups(group), group)

    def test_record_by_record(self) -> None:
        """A read that takes a record without content returns, so that a flood of them gets one turn for each."""
        for is_asked, turns in ((False, 0), (True, 2)):
            client = Client(CONTEXTS, None, context=client_context(SSL.TLS1_3_VERSION))
            if is_asked:
                suit_socket(client.connection)
            client.handshake()
            client.server.send(b"after two tickets")
            client.pump()
            for _ in range(turns):
                self.assertRaises(SSL.WantReadError, client.connection.recv, 100)
            self.assertEqual(client.connection.recv(100), b"after two tickets")

    def test_renegotiation(self) -> None:
        """A client cannot make the server negotiate a second time."""
        client = Client(CONTEXTS, None, context=client_context(SSL.TLS1_2_VERSION)).handshake()
        client.connection.renegotiate()
        try:
            client.connection.do_handshake()
        except SSL.WantReadError:
            pass
        client.pump()
        with self.assertRaises(SSL.WantReadError):
            client.server.recv(100)
        # The server answers with a warning and no handshake, which ends the client's try.
        client.pump()
        with self.assertRaisesRegex(SSL.Error, "no renegotiation"):
            client.connection.do_handshake()

    def test_options(self) -> None:
        """Compression is off, and no session is kept in memory."""
        context = new_server_context()
        self.assertTrue(context.set_options(0) & SSL.OP_NO_COMPRESSION)
        self.assertTrue(context.set_options(0) & SSL.OP_NO_RENEGOTIATION)
        self.assertEqual(context.get_session_cache_mode(), SSL.SESS_CACHE_OFF)
