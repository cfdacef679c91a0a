"""Tests of the throw-away certificates that other tests rely on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.verification import PolicyBuilder, Store
from twisted.trial.unittest import SynchronousTestCase

from tests.fakes.certificates import issue, make_authority


class IssueTests(SynchronousTestCase):
    """What an authority issues."""

    def test_verifies(self) -> None:
        """A certificate of each key type verifies against its root for its name."""
        authority = make_authority()
        for key_type in ("ec", "rsa"):
            chain, _ = issue(authority, ["example.com"], key_type)
            leaf = x509.load_pem_x509_certificate(chain)
            verifier = (
                PolicyBuilder()
                .store(Store([authority.certificate]))
                .build_server_verifier(x509.DNSName("example.com"))
            )
            self.assertEqual(verifier.verify(leaf, [])[0], leaf)

    def test_chain_through_intermediate(self) -> None:
        """The chain holds the leaf and the intermediates, nearest first, not the root."""
        root = make_authority("root")
        middle = make_authority("middle", parent=root)
        low = make_authority("low", parent=middle)
        chain, _ = issue(low, ["example.com"])
        leaf, *rest = x509.load_pem_x509_certificates(chain)
        self.assertEqual(rest, [low.certificate, middle.certificate])
        leaf.verify_directly_issued_by(low.certificate)

    def test_key_belongs_to_leaf(self) -> None:
        """The key that comes with a chain is the leaf's key."""
        chain, key_pem = issue(make_authority(), ["example.com"], "ed25519")
        key = serialization.load_pem_private_key(key_pem, None)
        self.assertEqual(x509.load_pem_x509_certificate(chain).public_key(), key.public_key())

    def test_expired(self) -> None:
        """An end in the past alone makes an expired certificate."""
        end = datetime(2020, 1, 1, tzinfo=UTC)
        chain, _ = issue(make_authority(), ["example.com"], not_after=end)
        leaf = x509.load_pem_x509_certificate(chain)
        self.assertEqual(leaf.not_valid_after_utc, end)
        self.assertLess(leaf.not_valid_before_utc, end)

    def test_not_yet_valid(self) -> None:
        """A start in the future alone makes a certificate that is not valid yet."""
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(days=100)
        chain, _ = issue(make_authority(), ["example.com"], not_before=start)
        leaf = x509.load_pem_x509_certificate(chain)
        self.assertEqual(leaf.not_valid_before_utc, start)
        self.assertGreater(leaf.not_valid_after_utc, start)

    def test_no_names(self) -> None:
        """Without names there is a common name only, if one is given."""
        chain, _ = issue(make_authority(), [], common_name="old.example.com")
        leaf = x509.load_pem_x509_certificate(chain)
        with self.assertRaises(x509.ExtensionNotFound):
            leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        self.assertIn("old.example.com", leaf.subject.rfc4514_string())

    def test_address(self) -> None:
        """An IP address becomes an IP name, not a DNS name."""
        chain, _ = issue(make_authority(), ["127.0.0.1", "localhost"])
        leaf = x509.load_pem_x509_certificate(chain)
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        self.assertEqual([str(ip) for ip in names.get_values_for_type(x509.IPAddress)], ["127.0.0.1"])
        self.assertEqual(names.get_values_for_type(x509.DNSName), ["localhost"])
