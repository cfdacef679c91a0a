"""Which suites an annotation may name."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.ciphers import ALLOWED_SUITES, parse_suites
from ingress.annotations.values import ValueRefused


class SuitesTests(SynchronousTestCase):
    """``ssl-ciphers``."""

    def test_suites(self) -> None:
        """A list keeps its order, and each suite counts once."""
        one, two = "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"
        self.assertEqual(parse_suites(one), (one,))
        self.assertEqual(parse_suites(f" {one}:{two}: {one}"), (one, two))
        self.assertEqual(parse_suites(":".join(ALLOWED_SUITES)), ALLOWED_SUITES)

    def test_weak(self) -> None:
        """What has no forward secrecy, no authenticated encryption or no certificate is refused by name."""
        for weak in (
            "AES128-SHA",
            "ECDHE-RSA-AES128-SHA256",
            "RC4-MD5",
            "NULL",
            "AECDH-AES128-SHA",
            "DES-CBC3-SHA",
        ):
            with self.assertRaisesRegex(ValueRefused, f'names "{weak}"'):
                parse_suites(f"ECDHE-RSA-AES256-GCM-SHA384:{weak}")

    def test_language(self) -> None:
        """OpenSSL's keywords and operators are refused, and so is everything that only looks like a name."""
        for text in (
            "",
            ":",
            "HIGH:!aNULL",
            "ALL",
            "DEFAULT@SECLEVEL=0",
            "!ECDHE-RSA-AES256-GCM-SHA384",
            "ECDHE-RSA-AES256-GCM-SHA384,ECDHE-RSA-AES128-GCM-SHA256",
            "ecdhe-rsa-aes256-gcm-sha384",
            "ECDHE-RSA-AES256-GCM-SHA384\r\nX: y",
            "ECDHE-RSA-AES256-GCM-SHA384\0",
            "a" * 100_000,
        ):
            self.assertRaises(ValueRefused, parse_suites, text)

    def test_tls_1_3(self) -> None:
        """Suites of TLS 1.3 are not a matter of choice, and whoever names them is told."""
        with self.assertRaisesRegex(ValueRefused, "TLS 1.3"):
            parse_suites("TLS_AES_128_GCM_SHA256")
