"""The settings of a host, out of what several Ingresses ask for."""

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings
from ingress.model.cluster.objects import ObjectKey
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.stepwise import finished
from ingress.translate.claims import ParsedObject
from ingress.translate.hosts.handshake_settings import host_handshake_settings
from ingress.translate.readers.ingress.objects import Ingress
from ingress.translate.readers.ingress.rules import read_ingress

PREFIX = "nginx.ingress.kubernetes.io"
ONE, TWO = "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256"


def parsed(annotations: Mapping[str, str]) -> ParsedObject:
    """What an Ingress with these annotations asks for."""
    full = {f"{PREFIX}/{name}": value for name, value in annotations.items()}
    return finished(
        read_ingress(Ingress(ObjectKey("demo", "app"), annotations=full), AnnotationReader(PREFIX))
    )


class HostHandshakeSettingsTests(SynchronousTestCase):
    """``host_handshake_settings``."""

    def test_nothing_asked(self) -> None:
        """Hosts for which nothing is asked share one value."""
        self.assertIs(host_handshake_settings([parsed({})]), PLAIN_HANDSHAKE)
        for either in ("false", "true"):
            settings = host_handshake_settings([parsed({"ssl-prefer-server-ciphers": either})])
            self.assertIs(settings, PLAIN_HANDSHAKE)

    def test_oldest_decides(self) -> None:
        """Suites are those of the first Ingress that says anything about them."""
        silent, one, two = parsed({}), parsed({"ssl-ciphers": ONE}), parsed({"ssl-ciphers": TWO})
        self.assertEqual(host_handshake_settings([silent, one, two]), HandshakeSettings((ONE,)))
        self.assertEqual(host_handshake_settings([two, one]), HandshakeSettings((TWO,)))

    def test_client_certificates(self) -> None:
        """What is asked of clients belongs to the settings."""
        asks = ClientAuthentication("Secret demo/ca", b"PEM")
        self.assertEqual(
            host_handshake_settings([parsed({})], asks), HandshakeSettings(client_authentication=asks)
        )

    def test_operators_suites(self) -> None:
        """The operator's suites are those of hosts that no Ingress says any for, whoever came first."""
        silent, says = parsed({}), parsed({"ssl-ciphers": TWO})
        usual = (ONE,)
        self.assertEqual(host_handshake_settings([silent], usual=usual), HandshakeSettings((ONE,)))
        self.assertEqual(host_handshake_settings([silent, says], usual=usual), HandshakeSettings((TWO,)))
