"""Tests for ``ingress.identity.certificates``."""

import base64
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, rsa
from cryptography.x509.oid import NameOID
from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import Certificate, CertificateError, CertificateTable
from ingress.identity.key_pairs import load_certificate
from ingress.model.cluster.objects import ObjectKey, Secret
from ingress.model.cluster.problems import Reason
from tests.fakes.certificates import issue, key_as_pem, make_authority, make_key, make_rsa_key

NOW = datetime(2030, 6, 1, tzinfo=UTC)
BEGIN, END = NOW - timedelta(days=10), NOW + timedelta(days=80)
AUTHORITY = make_authority(not_before=BEGIN, not_after=END)
KEY = ObjectKey("shop", "web-tls")
PEM = serialization.Encoding.PEM
PLAIN = serialization.NoEncryption()
SHA256_WITH_RSA = bytes.fromhex("2a864886f70d01010b")
SHA1_WITH_RSA = bytes.fromhex("2a864886f70d010105")


def issued(*names: str, common_name: str | None = None) -> tuple[bytes, bytes]:
    """Chain and key for *names*, valid at ``NOW``."""
    return issue(AUTHORITY, names, not_before=BEGIN, not_after=END, common_name=common_name)


def secret(chain: bytes | None, key: bytes | None, type_: str = "kubernetes.io/tls") -> Secret:
    """A Secret with the keys that are not None."""
    content = {"tls.crt": chain, "tls.key": key}
    return Secret(KEY, type_, {name: value for name, value in content.items() if value is not None})


def loaded(*names: str) -> Certificate:
    """A certificate for *names*."""
    return load_certificate(secret(*issued(*names)))


def odd_certificate(key: rsa.RSAPrivateKey, *, issuer: str = "self", sha1: bool = False) -> bytes:
    """A certificate that the fakes are too decent to make: a weak key, or a SHA-1 signature."""
    der = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "self")]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(BEGIN)
        .not_valid_after(END)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.DER)
    )
    if sha1:
        # No library signs with SHA-1 any more, so the names of the algorithm are exchanged.
        der = der.replace(SHA256_WITH_RSA, SHA1_WITH_RSA)
    return x509.load_der_x509_certificate(der).public_bytes(PEM)


def patched(chain: bytes, old: bytes, new: bytes) -> bytes:
    """The first certificate of *chain* with *old* exchanged for *new* of the same length."""
    der = x509.load_pem_x509_certificate(chain).public_bytes(serialization.Encoding.DER)
    assert old in der and len(old) == len(new)
    return (
        b"-----BEGIN CERTIFICATE-----\n"
        + base64.encodebytes(der.replace(old, new))
        + b"-----END CERTIFICATE-----\n"
    )


class LoadCertificateTests(SynchronousTestCase):
    """A Secret becomes a certificate."""

    def test_values(self) -> None:
        """The certificate knows its Secret, names, validity and fingerprint."""
        chain, key = issued("Shop.example.com", "*.shop.example.com")
        certificate = load_certificate(secret(chain, key))
        leaf = x509.load_pem_x509_certificate(chain)
        self.assertEqual(certificate.secret, KEY)
        self.assertEqual(certificate.names, ("shop.example.com", "*.shop.example.com"))
        self.assertEqual((certificate.not_before, certificate.not_after), (BEGIN, END))
        self.assertEqual(certificate.not_after.tzinfo, UTC)
        self.assertEqual(certificate.fingerprint, leaf.fingerprint(hashes.SHA256()).hex())

    def test_key_kinds(self) -> None:
        """RSA, ECDSA and Ed25519 keys serve."""
        for key in (make_key("rsa"), make_key("ec"), make_key("ed25519")):
            chain, pem = issue(AUTHORITY, ["a.com"], not_before=BEGIN, not_after=END, key=key)
            self.assertEqual(load_certificate(secret(chain, pem)).names, ("a.com",))

    def test_key_formats(self) -> None:
        """A key may be PKCS #8 or the older form of its kind, and have EC parameters or text before it."""
        for key in (make_key("rsa"), make_key("ec")):
            chain, pkcs8 = issue(AUTHORITY, ["a.com"], not_before=BEGIN, not_after=END, key=key)
            old = key.private_bytes(PEM, serialization.PrivateFormat.TraditionalOpenSSL, PLAIN)
            parameters = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
            for pem in (pkcs8, old, parameters + old, b"some text\r\n" + old.replace(b"\n", b"\r\n")):
                self.assertEqual(load_certificate(secret(chain, pem)).key_pem, pkcs8)

    def test_chain(self) -> None:
        """Intermediates follow the leaf, and text between them is left out."""
        intermediate = make_authority("Between", parent=AUTHORITY, not_before=BEGIN, not_after=END)
        chain, key = issue(intermediate, ["a.com"], not_before=BEGIN, not_after=END)
        commented = chain.replace(b"-----BEGIN", b"subject=whatever\n-----BEGIN")
        self.assertEqual(load_certificate(secret(commented, key)).chain_pem, chain)

    def test_same_content_is_equal(self) -> None:
        """Two readings of one Secret are equal, and so share a context."""
        chain, key = issued("a.com")
        first, second = (load_certificate(secret(chain, key)) for _ in range(2))
        self.assertEqual(first, second)
        self.assertEqual(hash(first), hash(second))

    def test_names(self) -> None:
        """Names are the DNS names, never addresses; the common name counts only without them."""
        for names, common_name, expected in (
            (("a.com", "10.0.0.1"), "b.com", ("a.com",)),
            ((), "B.com", ("b.com",)),
            ((), None, ()),
            (("a.com", "A.COM"), None, ("a.com",)),
        ):
            pair = issued(*names, common_name=common_name)
            self.assertEqual(load_certificate(secret(*pair)).names, expected)

    def test_untyped_secret(self) -> None:
        """A Secret of type Opaque, or of none, serves when it holds both keys."""
        for type_ in ("Opaque", ""):
            self.assertEqual(load_certificate(secret(*issued("a.com"), type_=type_)).names, ("a.com",))

    def test_validity(self) -> None:
        """A certificate is loaded whatever the time, and is valid from the second it begins until the one it ends."""
        certificate = load_certificate(secret(*issued("a.com")))
        second = timedelta(seconds=1)
        for now, expected in ((BEGIN - second, False), (BEGIN, True), (END - second, True), (END, False)):
            self.assertIs(certificate.is_valid_at(now), expected)

    def test_key_material_is_hidden(self) -> None:
        """No repr shows chain or key."""
        certificate = loaded("a.com")
        table = CertificateTable({"a.com": (certificate,)}, {}, certificate)
        for text in (repr(certificate), str(certificate), repr(table)):
            self.assertNotIn("BEGIN", text)
            self.assertNotIn(certificate.key_pem.decode().splitlines()[1], text)


class CertificateErrorTests(SynchronousTestCase):
    """A Secret that cannot serve says why."""

    def reason_of(self, bad: Secret) -> str:
        """The message for *bad*, which must not hold any line of its content."""
        with self.assertRaises(CertificateError) as caught:
            load_certificate(bad)
        error: CertificateError = caught.exception
        self.assertEqual(error.reason, Reason.INVALID_CERTIFICATE)
        self.assertEqual(str(error), error.message)
        for value in bad.content.values():
            for line in value.split():
                if len(line) > 8:
                    self.assertNotIn(line.decode("latin-1"), error.message)
        self.assertIsNone(error.__cause__)
        return error.message

    def test_type(self) -> None:
        """A Secret of another type is refused, whatever it holds."""
        message = self.reason_of(secret(*issued("a.com"), type_="kubernetes.io/dockercfg"))
        self.assertIn("kubernetes.io/dockercfg", message)

    def test_missing(self) -> None:
        """A missing or empty key is named."""
        chain, key = issued("a.com")
        for (chain_found, key_found), expected in (
            ((None, key), "tls.crt: missing from the Secret"),
            ((chain, None), "tls.key: missing from the Secret"),
            ((b"", key), "tls.crt: empty"),
            ((chain, b""), "tls.key: empty"),
        ):
            for type_ in ("kubernetes.io/tls", "Opaque"):
                self.assertEqual(self.reason_of(secret(chain_found, key_found, type_)), expected)

    def test_bad_pem(self) -> None:
        """What is not PEM, not a certificate or not a key is named by the key of the Secret."""
        chain, key = issued("a.com")
        body = b"-----BEGIN %b-----\nbm90IGFzbjE=\n-----END %b-----\n"
        for bad, expected in (
            (secret(b"hello", key), "tls.crt: no PEM"),
            (secret(key, key), "tls.crt: no PEM"),
            (secret(chain[:200], key), "tls.crt: no PEM"),
            (secret(body % (b"CERTIFICATE", b"CERTIFICATE"), key), "tls.crt: no PEM"),
            (secret(chain + body % (b"CERTIFICATE", b"CERTIFICATE"), key), "tls.crt: no PEM"),
            (secret(chain, b"hello"), "tls.key: no PEM"),
            (secret(chain, chain), "tls.key: no PEM"),
            (secret(chain, key[:100]), "tls.key: no PEM"),
            (secret(chain, body % (b"PRIVATE KEY", b"PRIVATE KEY")), "tls.key: the private key cannot"),
            (
                secret(chain, body % (b"RSA PRIVATE KEY", b"RSA PRIVATE KEY")),
                "tls.key: the private key cannot",
            ),
            (secret(chain, b"\xff\x00" * 50), "tls.key: no PEM"),
        ):
            self.assertIn(expected, self.reason_of(bad))

    def test_encrypted(self) -> None:
        """An encrypted key is called so, in either format."""
        chain, _ = issued("a.com")
        lock = serialization.BestAvailableEncryption(b"secret")
        formats = (serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL)
        for form in formats:
            key = make_key("rsa").private_bytes(PEM, form, lock)
            self.assertEqual(self.reason_of(secret(chain, key)), "tls.key: the private key is encrypted")

    def test_mismatch(self) -> None:
        """A key of another certificate is refused, of the same kind or not."""
        chain, _ = issued("a.com")
        for key in (make_key("ec"), make_key("rsa"), make_key("ed25519")):
            self.assertIn(
                "tls.key: the private key does not belong", self.reason_of(secret(chain, key_as_pem(key)))
            )

    def test_order(self) -> None:
        """A chain with the leaf last is refused with that reason."""
        chain, key = issued("a.com")
        message = self.reason_of(secret(AUTHORITY.pem + chain, key))
        self.assertEqual(message, "tls.crt: tls.key belongs to certificate 2; the leaf must come first")

    def test_kind_of_key(self) -> None:
        """A key that no TLS server can use is refused."""
        chain, _ = issued("a.com")
        key = dsa.generate_private_key(1024).private_bytes(PEM, serialization.PrivateFormat.PKCS8, PLAIN)
        self.assertIn("tls.key: a key of this kind", self.reason_of(secret(chain, key)))

    def test_weak_key(self) -> None:
        """A certificate that OpenSSL would refuse for its short key is refused here."""
        key = rsa.generate_private_key(65537, 1024)
        message = self.reason_of(secret(odd_certificate(key), key_as_pem(key)))
        self.assertEqual(message, "tls.crt: certificate 1 has a key of 1024 bits, fewer than 2048")

    def test_weak_signature(self) -> None:
        """A SHA-1 signature is refused, except a root's signature of itself."""
        key = rsa.generate_private_key(65537, 2048)
        chain, leaf_key = issued("a.com")
        root = odd_certificate(key, sha1=True)
        self.assertEqual(load_certificate(secret(chain + root, leaf_key)).names, ("a.com",))
        signed = odd_certificate(key, issuer="other", sha1=True)
        for bad, number in (
            (secret(signed, key_as_pem(key)), 1),
            (secret(chain + signed, leaf_key), 2),
        ):
            self.assertEqual(
                self.reason_of(bad), f"tls.crt: certificate {number} is signed with a broken hash"
            )

    def test_inconsistent_rsa_key(self) -> None:
        """An RSA key whose parts do not belong together never gets to sign."""
        key = rsa.generate_private_key(65537, 2048)
        other = rsa.generate_private_key(65537, 2048).private_numbers()
        chain, _ = issue(AUTHORITY, ["a.com"], not_before=BEGIN, not_after=END, key=key)
        good = key.private_numbers()
        changes: tuple[dict[str, int], ...] = (
            {"d": other.d},
            {"dmp1": good.dmq1},
            {"dmq1": good.dmp1},
            {"iqmp": good.iqmp + 2},
        )
        for change in changes:
            parts = {name: getattr(good, name) for name in ("p", "q", "d", "dmp1", "dmq1", "iqmp")}
            numbers = rsa.RSAPrivateNumbers(**(parts | change), public_numbers=good.public_numbers)
            pem = key_as_pem(numbers.private_key(unsafe_skip_rsa_key_validation=True))
            self.assertEqual(
                self.reason_of(secret(chain, pem)), "tls.key: the parts of the RSA key do not belong together"
            )

    def test_huge_key(self) -> None:
        """A key that would take the reactor's time for each handshake is refused."""
        # Primes of this size take long to find, and that they are primes is not looked at.
        e, p, q = 65537, (1 << 2500) + 7, (1 << 2501) + 7
        d = pow(e, -1, (p - 1) * (q - 1))
        public = rsa.RSAPublicNumbers(e, p * q)
        numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public)
        chain, _ = issued("a.com")
        pem = key_as_pem(numbers.private_key(unsafe_skip_rsa_key_validation=True))
        self.assertEqual(
            self.reason_of(secret(chain, pem)), "tls.key: an RSA key of 5002 bits, more than 4096"
        )

    def test_huge_exponent(self) -> None:
        """So is one with a public exponent that makes each signature slow."""
        key = make_rsa_key(exponent_bits=300)
        chain, _ = issued("a.com")
        self.assertEqual(
            self.reason_of(secret(chain, key_as_pem(key))),
            "tls.key: a public exponent of 300 bits, more than 256",
        )

    def test_unreadable_parts(self) -> None:
        """What only shows when a part of the certificate is looked at is told all the same."""
        chain, key = issued("a.com")
        p256 = bytes.fromhex("2a8648ce3d030107")
        ecdsa_with_sha256 = bytes.fromhex("2a8648ce3d040302")
        for old, new, expected in (
            (p256, p256[:-1] + b"\x7f", "tls.crt: the public key of certificate 1 cannot be read"),
            (
                ecdsa_with_sha256,
                ecdsa_with_sha256[:-1] + b"\x7f",
                "tls.crt: issuer, subject or signature of certificate 1 cannot be read",
            ),
            (b"a.com", b"\xff.com", "tls.crt: the names of the certificate cannot be read"),
        ):
            self.assertEqual(self.reason_of(secret(patched(chain, old, new), key)), expected)

    def test_damage(self) -> None:
        """A damaged byte anywhere in a certificate gives a reason, and never another exception."""
        chain, key = issued("a.com")
        der = x509.load_pem_x509_certificate(chain).public_bytes(serialization.Encoding.DER)
        refused = 0
        for place in range(len(der)):
            damaged = der[:place] + bytes([der[place] ^ 0x50]) + der[place + 1 :]
            bad = patched(chain, der, damaged)
            try:
                load_certificate(secret(bad, key))
            except CertificateError:
                refused += 1
        self.assertGreater(refused, len(der) // 4)


class CoversTests(SynchronousTestCase):
    """Which hosts the names of a certificate cover."""

    def test_covers(self) -> None:
        """A name covers its host, a wildcard one label in its place, and nothing else."""
        certificate = loaded("a.com", "*.b.com", "c.b.org")
        for host, expected in (
            ("a.com", True),
            ("A.com.", True),
            ("x.a.com", False),
            ("x.b.com", True),
            ("b.com", False),
            ("x.y.b.com", False),
            (".b.com", False),
            ("*.b.com", True),
            ("*.x.b.com", False),
            ("*.b.org", False),
            ("c.b.org", True),
            ("", False),
            ("com", False),
        ):
            self.assertIs(certificate.covers(host), expected, host)

    def test_partial_wildcard(self) -> None:
        """A wildcard that is only part of a label covers nothing."""
        certificate = loaded("f*.b.com", "*m")
        for host in ("foo.b.com", "com", "m"):
            self.assertFalse(certificate.covers(host), host)


class CertificateTableTests(SynchronousTestCase):
    """Which certificate a server name gets."""

    def test_find(self) -> None:
        """The exact name goes before the wildcard of one label, and that before the default."""
        exact, wildcard, default = loaded("a.b.com"), loaded("*.b.com"), loaded("default")
        table = CertificateTable({"a.b.com": (exact,)}, {".b.com": (wildcard,)}, default)
        for name, expected in (
            ("a.b.com", exact),
            ("A.B.com.", exact),
            ("x.b.com", wildcard),
            ("X.B.COM.", wildcard),
            ("b.com", default),
            ("x.y.b.com", default),
            (".b.com", default),
            ("unknown", default),
            ("", default),
            (None, default),
        ):
            self.assertEqual(table.find(name), (expected,), name)
            self.assertEqual(table.named(name), None if expected is default else (expected,), name)

    def test_empty(self) -> None:
        """An empty table has no certificate for anybody."""
        for name in ("a.com", None):
            self.assertEqual(CertificateTable().find(name), ())
            self.assertIsNone(CertificateTable().named(name))
