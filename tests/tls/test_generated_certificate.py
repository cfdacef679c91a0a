"""Tests for ``ingress.tls.generated_certificate``."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from twisted.trial.unittest import SynchronousTestCase

from ingress.tls.generated_certificate import GENERATED_NAME, generate_certificate

NOW = datetime(2030, 6, 1, 12, 30, tzinfo=UTC)


class GenerateCertificateTests(SynchronousTestCase):
    """The default certificate that is made at start."""

    def test_values(self) -> None:
        """It names itself, is valid for a year, and has a P-256 key."""
        certificate = generate_certificate(NOW)
        leaf = x509.load_pem_x509_certificate(certificate.chain_pem)
        self.assertEqual(certificate.names, (GENERATED_NAME,))
        self.assertEqual(certificate.not_after, NOW + timedelta(days=365))
        self.assertLess(certificate.not_before, NOW)
        self.assertEqual(leaf.subject.rfc4514_string(), f"CN={GENERATED_NAME}")
        key = leaf.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)
        self.assertEqual(key.curve.name, "secp256r1")

    def test_each_its_own(self) -> None:
        """Two processes never share key or serial number."""
        first, second = generate_certificate(NOW), generate_certificate(NOW)
        self.assertNotEqual(first.key_pem, second.key_pem)
        serials = {x509.load_pem_x509_certificate(one.chain_pem).serial_number for one in (first, second)}
        self.assertEqual(len(serials), 2)

    def test_key_material_is_hidden(self) -> None:
        """The repr shows no key."""
        self.assertNotIn("PRIVATE", repr(generate_certificate(NOW)))
