"""Secrets that somebody made to do harm: each is refused, with a reason, and in no time."""

import time
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import CertificateError
from ingress.identity.key_pairs import load_certificate
from ingress.model.cluster.objects import ObjectKey, Secret
from ingress.translate.tls.authorities import MOST_AUTHORITIES, MOST_AUTHORITY_BYTES, load_authorities
from ingress.translate.tls.client_authentication import load_revocations
from tests.fakes.certificates import issue, make_authority, revoke

AUTHORITY = make_authority()
CHAIN, KEY = issue(AUTHORITY, ["a.test"])
MEBIBYTE = 1 << 20
AT_ONCE = 2.0
"""Seconds.  What takes time by the square of its length takes minutes."""


def secret(**content: bytes) -> Secret:
    """Return a Secret with these keys, written with an underscore for the dot."""
    named = {name.replace("_", "."): value for name, value in content.items()}
    return Secret(ObjectKey("shop", "cert"), "kubernetes.io/tls", named)


class RefusedTests(SynchronousTestCase):
    """As large as Kubernetes lets them be."""

    def refused(self, chain: bytes, key: bytes) -> str:
        """Return why these are refused, if it is at once."""
        began = time.process_time()
        with self.assertRaises(CertificateError) as caught:
            load_certificate(secret(tls_crt=chain, tls_key=key))
        self.assertLess(time.process_time() - began, AT_ONCE)
        return str(caught.exception.message)

    def test_beginnings_without_end(self) -> None:
        """A mebibyte of lines that begin a key, or a certificate, and do not end it."""
        line = b"-----BEGIN PRIVATE KEY-----\n"
        labels = b"".join(b"-----BEGIN %b PRIVATE KEY-----\n" % (b"A" * (at % 40)) for at in range(20000))
        for key in (line * (MEBIBYTE // len(line)), labels, b"-----BEGIN " + b"A " * (MEBIBYTE // 2)):
            self.assertEqual(self.refused(CHAIN, key), "tls.key: no PEM private key")
        line = b"-----BEGIN CERTIFICATE-----\n"
        message = self.refused(line * (MEBIBYTE // len(line)), KEY)
        self.assertEqual(message, f"tls.crt: {MEBIBYTE // len(line)} certificates, more than 32")

    def test_cut_off(self) -> None:
        """A chain whose last certificate is cut off is not served without it, and authorities are not judged by the rest of them."""
        cut = AUTHORITY.pem[:-30]
        message = "2 certificates begin, and only 1 end"
        self.assertEqual(self.refused(CHAIN + cut, KEY), f"tls.crt: {message}")
        with self.assertRaises(CertificateError) as caught:
            load_authorities(secret(ca_crt=AUTHORITY.pem + cut))
        self.assertEqual(caught.exception.message, f"ca.crt: {message}")

    def test_large_key(self) -> None:
        """A key of a mebibyte is not even parsed; one with other things around it is no worse for them."""
        begin, body, end = KEY.partition(KEY.splitlines()[1])
        message = self.refused(CHAIN, begin + body * (MEBIBYTE // len(body)) + end)
        self.assertEqual(message, "tls.key: the private key is too large")
        surrounded = b"#" * MEBIBYTE + KEY + b"#" * MEBIBYTE
        found = load_certificate(secret(tls_crt=CHAIN, tls_key=surrounded))
        self.assertEqual(found.names, ("a.test",))

    def test_nothing_is_read(self) -> None:
        """Of what has too many certificates, none is even read."""
        self.patch(x509, "load_pem_x509_certificates", lambda pem: self.fail("read"))
        self.refused(CHAIN + AUTHORITY.pem * 1000, KEY)
        with self.assertRaises(CertificateError) as caught:
            load_authorities(secret(ca_crt=AUTHORITY.pem * (MOST_AUTHORITIES + 1)))
        self.assertEqual(caught.exception.message, "ca.crt: 161 certificates, more than 160")

    def test_large_authority(self) -> None:
        """An authority that is larger than any is refused, and told by its number."""
        large = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A" * 64)] * 300)
        good = make_authority()
        bad = (
            x509.CertificateBuilder()
            .subject_name(large)
            .issuer_name(large)
            .public_key(good.key.public_key())
            .serial_number(1)
            .not_valid_before(good.certificate.not_valid_before_utc)
            .not_valid_after(good.certificate.not_valid_after_utc)
            .sign(good.key, hashes.SHA256())
        )
        pem = good.pem + bad.public_bytes(serialization.Encoding.PEM)
        with self.assertRaises(CertificateError) as caught:
            load_authorities(secret(ca_crt=pem))
        self.assertIn("ca.crt: certificate 2 has ", caught.exception.message)
        self.assertIn(f" bytes, more than {MOST_AUTHORITY_BYTES}", caught.exception.message)

    def test_long_chain(self) -> None:
        """A chain that no client would take is refused; a long one that clients take is not."""
        message = self.refused(CHAIN + AUTHORITY.pem * 1000, KEY)
        self.assertEqual(message, "tls.crt: 1001 certificates, more than 32")
        many, _ = issue(AUTHORITY, [f"host-{number}.example.test" for number in range(5000)])
        self.assertIn("tls.crt: the 1 certificate has", self.refused(many, KEY))
        long = secret(tls_crt=CHAIN + AUTHORITY.pem * 31, tls_key=KEY)
        self.assertEqual(load_certificate(long).names, ("a.test",))

    def test_curves(self) -> None:
        """A key with which no handshake could succeed is refused; those that TLS knows are not."""
        unknown: tuple[ec.EllipticCurve, ...] = (ec.SECP224R1(), ec.SECP256K1(), ec.BrainpoolP512R1())
        known: tuple[ec.EllipticCurve, ...] = (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1())
        for curve in unknown:
            key = ec.generate_private_key(curve)
            message = self.refused(*issue(AUTHORITY, ["a.test"], key=key))
            self.assertIn(f"tls.key: a key on the curve {curve.name}", message)
        for curve in known:
            chain, key_pem = issue(AUTHORITY, ["a.test"], key=ec.generate_private_key(curve))
            found = load_certificate(secret(tls_crt=chain, tls_key=key_pem))
            self.assertEqual(found.key_type, "ECDSA")

    def test_year_without_a_calendar(self) -> None:
        """A certificate that begins or ends in the year 0, which can be parsed and not be told, is refused as any that is damaged."""
        begin, end = datetime(2050, 1, 1, tzinfo=UTC), datetime(2051, 1, 1, tzinfo=UTC)
        chain, key = issue(AUTHORITY, ["a.test"], not_before=begin, not_after=end)
        der = x509.load_pem_x509_certificate(chain).public_bytes(serialization.Encoding.DER)
        for written in (b"20500101000000Z", b"20510101000000Z"):
            self.assertEqual(der.count(written), 1)
            damaged = x509.load_der_x509_certificate(der.replace(written, b"0000" + written[4:]))
            message = self.refused(damaged.public_bytes(serialization.Encoding.PEM), key)
            self.assertEqual(message, "tls.crt: the dates of the certificate cannot be read")


class RevocationTests(SynchronousTestCase):
    """Revocation lists."""

    def test_beginnings_without_end(self) -> None:
        """A mebibyte of beginnings, of ends, or of ends and then beginnings is refused at once."""
        begin, end = b"-----BEGIN X509 CRL-----\n", b"-----END X509 CRL-----\n"
        for content in (begin * 40000, end * 40000, end * 20000 + begin * 20000, begin * 20000 + end * 20000):
            began = time.process_time()
            with self.assertRaises(CertificateError) as caught:
                load_revocations(secret(ca_crl=content))
            self.assertIn("ca.crl: ", caught.exception.message)
            self.assertLess(time.process_time() - began, AT_ONCE)

    def test_text_around(self) -> None:
        """Text around lists is dropped."""
        one = revoke(AUTHORITY)
        self.assertEqual(load_revocations(secret(ca_crl=b"text\n" + one + b"more\n" + one)), one + one)
