"""Which requests do not belong on the connection that they came over."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import CertificateTable
from ingress.identity.misdirected import ServerNames, is_misdirected
from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings, HandshakeSettingsTable
from ingress.model.client_authentication import ClientAuthentication
from ingress.model.objects import ObjectKey
from tests.tls.test_contexts import certificate

SHARED, OWN, WILD, DEFAULT = (certificate(name) for name in ("shared", "own.com", "*.wild.com", "default"))
ASKS, ASKS_MORE = (ClientAuthentication(ObjectKey("shop", name), b"PEM") for name in ("one", "two"))
NAMES = ServerNames(
    CertificateTable(
        {
            "a.com": (SHARED,),
            "b.com": (SHARED,),
            "own.com": (OWN,),
            "closed.com": (SHARED,),
            "closed.org": (SHARED,),
            "other.org": (SHARED,),
        },
        {".wild.com": (WILD,)},
        DEFAULT,
    ),
    HandshakeSettingsTable(
        {
            "a.com": PLAIN_HANDSHAKE,
            "closed.com": HandshakeSettings(client_authentication=ASKS),
            "closed.org": HandshakeSettings(client_authentication=ASKS),
            "other.org": HandshakeSettings(client_authentication=ASKS_MORE),
        }
    ),
)


class MisdirectedTests(SynchronousTestCase):
    """``is_misdirected``."""

    def check(
        self, expected: bool, host: str, server_name: str | None, asked: ClientAuthentication | None = None
    ) -> None:
        """Compare the verdict."""
        verdict = is_misdirected(host, server_name, asked, NAMES)
        self.assertIs(verdict, expected, (host, server_name, asked))

    def test_same_name(self) -> None:
        """A request for the name of the handshake belongs there, however the name was spelled."""
        for server_name in ("own.com", "OWN.com", "own.com."):
            self.check(False, "own.com", server_name)

    def test_same_certificate(self) -> None:
        """So does one for another host with the same certificate, as browsers send it."""
        self.check(False, "b.com", "a.com")
        self.check(False, "x.wild.com", "y.wild.com")
        self.check(False, "unknown.com", "unheard-of.com")

    def test_other_certificate(self) -> None:
        """One for a host with another certificate does not, be either of them the default."""
        self.check(True, "own.com", "a.com")
        self.check(True, "x.wild.com", "own.com")
        self.check(True, "unknown.com", "own.com")
        self.check(True, "own.com", "unknown.com")

    def test_missing_names(self) -> None:
        """Without a server name, or without a host, there is nothing to compare."""
        self.check(False, "own.com", None)
        self.check(False, "", "own.com")

    def test_client_certificates(self) -> None:
        """A host that asks for client certificates is served where just that was asked, and nowhere else."""
        self.check(False, "closed.com", "closed.com", ASKS)
        self.check(False, "closed.org", "closed.com", ASKS)
        for server_name, asked in (
            ("a.com", None),
            (None, None),
            ("other.org", ASKS_MORE),
            ("closed.com", None),
        ):
            self.check(True, "closed.com", server_name, asked)

    def test_hosts_without_client_certificates(self) -> None:
        """Nor does a connection that was asked for one serve other hosts."""
        self.check(True, "a.com", "closed.com", ASKS)
        self.check(True, "", "closed.com", ASKS)

    def test_renewed(self) -> None:
        """A certificate that was renewed after the handshake is no other certificate."""
        renewed = certificate("shared")
        table = CertificateTable({"a.com": (renewed,), "b.com": (renewed,)})
        self.assertFalse(is_misdirected("b.com", "a.com", None, ServerNames(table)))
