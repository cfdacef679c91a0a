"""Which requests do not belong on the connection that they came over."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import CertificateTable
from ingress.identity.misdirected import ServerNames, is_misdirected
from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings, HandshakeSettingsTable
from ingress.model.requests.client_authentication import ClientAuthentication
from tests.tls.test_contexts import certificate

SHARED, OWN, WILD, DEFAULT = (certificate(name) for name in ("shared", "own.com", "*.wild.com", "default"))
ASKS, ASKS_MORE = (ClientAuthentication(f"Secret shop/{name}", b"PEM") for name in ("one", "two"))
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


LISTENERS = ServerNames(
    CertificateTable(
        {"second.org": (SHARED,), "fourth.wild.org": (SHARED,), "asks.org": (SHARED,)},
        {".wild.org": (SHARED,), "": (SHARED,)},
        covers_labels=True,
    ),
    HandshakeSettingsTable(
        {
            "": PLAIN_HANDSHAKE,
            "second.org": PLAIN_HANDSHAKE,
            "*.wild.org": PLAIN_HANDSHAKE,
            "fourth.wild.org": PLAIN_HANDSHAKE,
            "asks.org": HandshakeSettings(client_authentication=ASKS),
        },
        covers_labels=True,
    ),
)


class MisdirectedAtListenersTests(SynchronousTestCase):
    """``is_misdirected`` of Gateways' listeners, all of which show the same certificate."""

    def check(
        self, expected: bool, server_name: str | None, host: str, names: ServerNames = LISTENERS
    ) -> None:
        """Compare the verdict."""
        asked = ASKS if server_name == "asks.org" else None
        verdict = is_misdirected(host, server_name, asked, names)
        self.assertIs(verdict, expected, (server_name, host))

    def test_hostnames(self) -> None:
        """Requests belong where the same hostname has the name of the handshake and the host, whatever was shown."""
        for server_name, host, expected in (
            ("example.org", "example.org", False),
            ("example.org", "second.org", True),
            ("example.org", "unknown.org", False),
            ("second.org", "second.org", False),
            ("second.org", "example.org", True),
            ("third.wild.org", "third.wild.org", False),
            ("third.wild.org", "fifth.wild.org", False),
            ("third.wild.org", "a.b.wild.org", False),
            ("third.wild.org", "fourth.wild.org", True),
            ("third.wild.org", "second.org", True),
            ("fourth.wild.org", "fifth.wild.org", True),
            ("unknown.org", "example.org", False),
            ("asks.org", "asks.org", False),
            ("asks.org", "second.org", True),
            (None, "second.org", True),
            (None, "example.org", False),
        ):
            self.check(expected, server_name, host)

    def test_hosts_of_nobody(self) -> None:
        """A host that no listener has is not found, however the connection was begun."""
        names = ServerNames(
            CertificateTable({"a.org": (SHARED,), "asks.org": (SHARED,)}, covers_labels=True),
            HandshakeSettingsTable(
                {"a.org": PLAIN_HANDSHAKE, "asks.org": HandshakeSettings(client_authentication=ASKS)},
                covers_labels=True,
            ),
        )
        self.check(False, "a.org", "unknown.org", names)
        self.check(False, "asks.org", "unknown.org", names)
        self.check(True, "a.org", "asks.org", names)

    def test_beside_ingresses(self) -> None:
        """Beside hosts of Ingresses no request for one of these belongs on a connection of a listener, nor the other way."""
        names = ServerNames(NAMES.certificates, NAMES.handshake_settings, LISTENERS)
        for server_name, host, expected in (
            ("own.com", "own.com", False),
            ("a.com", "b.com", False),
            ("second.org", "second.org", False),
            ("second.org", "own.com", True),
            ("own.com", "second.org", True),
            ("third.wild.org", "a.b.wild.org", False),
            ("own.com", "third.wild.org", True),
        ):
            self.check(expected, server_name, host, names)
