"""The terms of a host, out of what several Ingresses ask for."""

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.client_authentication import ClientAuthentication
from ingress.model.objects import Ingress, ObjectKey
from ingress.policy.annotations import AnnotationReader
from ingress.server_names import PLAIN_TERMS, HandshakeTerms
from ingress.translate.rules import IngressReading, read_ingress
from ingress.translate.terms import host_terms

PREFIX = "nginx.ingress.kubernetes.io"
ONE, TWO = "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256"


def reading(annotations: Mapping[str, str]) -> IngressReading:
    """What an Ingress with these annotations asks for."""
    full = {f"{PREFIX}/{name}": value for name, value in annotations.items()}
    return read_ingress(Ingress(ObjectKey("demo", "app"), annotations=full), AnnotationReader(PREFIX))


class HostTermsTests(SynchronousTestCase):
    """``host_terms``."""

    def test_nothing_asked(self) -> None:
        """Hosts for which nothing is asked share one value."""
        self.assertIs(host_terms([reading({})]), PLAIN_TERMS)
        self.assertIs(host_terms([reading({"ssl-prefer-server-ciphers": "false"})]), PLAIN_TERMS)

    def test_oldest_decides(self) -> None:
        """Each setting is that of the first Ingress that says anything about it."""
        silent, suites = reading({}), reading({"ssl-ciphers": ONE})
        both = reading({"ssl-ciphers": TWO, "ssl-prefer-server-ciphers": "true"})
        no = reading({"ssl-prefer-server-ciphers": "false"})
        self.assertEqual(host_terms([silent, suites, both]), HandshakeTerms((ONE,), True))
        self.assertEqual(host_terms([both, suites]), HandshakeTerms((TWO,), True))
        self.assertEqual(host_terms([no, both]), HandshakeTerms((TWO,)))

    def test_client_certificates(self) -> None:
        """What is asked of clients belongs to the terms."""
        asks = ClientAuthentication(ObjectKey("demo", "ca"), b"PEM")
        self.assertEqual(host_terms([reading({})], asks), HandshakeTerms(client_authentication=asks))
