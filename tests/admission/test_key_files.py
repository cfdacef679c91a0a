"""The webhook's certificate: shown as the files are, and never lost by files that cannot be used."""

from pathlib import Path
from typing import Any

from cryptography import x509
from OpenSSL import SSL
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.admission.key_files import LOOK_SECONDS, MOST_BYTES, KeyFiles
from ingress.identity.certificates import Certificate
from tests.admission.secret_folder import SecretFolder
from tests.fakes.certificates import issue, make_authority


class KeyFilesTests(SynchronousTestCase):
    """``KeyFiles``, with files as a Secret has them in a pod."""

    def setUp(self) -> None:
        self.secret = SecretFolder(Path(self.mktemp()))
        self.swap = self.secret.swap
        self.authority = make_authority()
        self.clock: Any = Clock()
        self.files = KeyFiles(self.secret.certificate, self.secret.key, "1.2", self.clock)

    def shown(self) -> str:
        """Return the name in the certificate that a connection shows; empty where a handshake fails."""
        client, server = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD)), self.connection()
        client.set_connect_state()
        server.set_accept_state()
        for _ in range(4):
            for one, other in ((client, server), (server, client)):
                try:
                    one.do_handshake()
                except SSL.WantReadError:
                    pass
                except SSL.Error:
                    return ""
                try:
                    other.bio_write(one.bio_read(65536))
                except SSL.WantReadError:
                    pass
        certificate = client.get_peer_certificate(as_cryptography=True)
        assert certificate is not None
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return ",".join(names.get_values_for_type(x509.DNSName))

    def connection(self) -> SSL.Connection:
        """Begin a connection."""
        protocol: Any = None
        return self.files.serverConnectionForTLS(protocol)

    def looked(self) -> tuple[str, list[str]]:
        """Return what is shown once it is time to look again, and what the log says."""
        self.clock.advance(LOOK_SECONDS)
        with capturedLogs() as events:
            shown = self.shown()
        return shown, [formatEvent(event) for event in events]

    def test_replaced(self) -> None:
        """Another pair is shown as soon as it is looked at; it is looked at once a second."""
        self.swap(*issue(self.authority, ["a.test"]))
        self.files.look()
        self.assertEqual(self.shown(), "a.test")
        self.swap(*issue(self.authority, ["b.test"]))
        self.assertEqual(self.shown(), "a.test")
        shown, (line,) = self.looked()
        self.assertEqual(shown, "b.test")
        self.assertIn("was read again", line)
        self.assertEqual(self.looked(), ("b.test", []))

    def test_broken(self) -> None:
        """A pair that cannot be used leaves the last one in force, and is told once."""
        chain, key = issue(self.authority, ["a.test"])
        self.swap(chain, key)
        self.files.look()
        _, other = issue(self.authority, ["b.test"])
        for wrong, said in (
            ((chain, other), "does not belong"),
            ((b"", key), "empty"),
            ((chain, None), "No such file"),
            ((None, None), "No such file"),
            ((b"nonsense", key), "tls.crt"),
            ((chain + b" " * MOST_BYTES, key), "more than"),
        ):
            self.swap(*wrong)
            shown, (line,) = self.looked()
            self.assertEqual(shown, "a.test", said)
            self.assertIn(said, line)
            self.assertIn("the last good ones stay in use", line)
            self.assertNotIn("PRIVATE", line)
            self.assertEqual(self.looked(), ("a.test", []))
        self.swap(*issue(self.authority, ["c.test"]))
        shown, (line,) = self.looked()
        self.assertEqual(shown, "c.test")
        self.assertIn("was read again", line)

    def test_not_there_yet(self) -> None:
        """Before there is a pair handshakes fail, and nothing else does."""
        with capturedLogs() as events:
            self.files.look()
        (line,) = (formatEvent(event) for event in events)
        self.assertIn("nobody can ask the webhook until they can", line)
        self.assertEqual(self.shown(), "")
        self.swap(*issue(self.authority, ["a.test"]))
        shown, (line,) = self.looked()
        self.assertEqual(shown, "a.test")

    def test_amid_a_change(self) -> None:
        """Files that change while they are read are looked at again, and not told of."""
        chain, key = issue(self.authority, ["a.test"])
        self.swap(chain, key)
        self.files.look()
        self.swap(chain, issue(self.authority, ["b.test"])[1])
        read = self.files._read

        def read_amid() -> tuple[Certificate, SSL.Context]:
            try:
                return read()
            finally:
                self.swap(*issue(self.authority, ["c.test"]))
                self.patch(self.files, "_read", read)

        self.patch(self.files, "_read", read_amid)
        self.assertEqual(self.looked(), ("a.test", []))
        self.assertEqual(self.looked()[0], "c.test")
