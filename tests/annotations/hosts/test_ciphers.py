"""Which suites an annotation may name."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.hosts.ciphers import ALLOWED_SUITES, CIPHERS, Suites, parse_suites
from tests.translate.tls.test_client_authentication import PREFIX, ingress


class SuitesTests(SynchronousTestCase):
    """``ssl-ciphers``."""

    def test_suites(self) -> None:
        """A list keeps its order, and each suite counts once."""
        one, two = "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"
        self.assertEqual(parse_suites(one), Suites((one,)))
        self.assertEqual(parse_suites(f" {one}:{two}, {one}"), Suites((one, two)))
        self.assertEqual(parse_suites(":".join(ALLOWED_SUITES)), Suites(ALLOWED_SUITES))

    def test_weak(self) -> None:
        """What has no forward secrecy, no authenticated encryption or no certificate is left out, and told."""
        good = "ECDHE-RSA-AES256-GCM-SHA384"
        for weak in (
            "AES128-SHA",
            "ECDHE-RSA-AES128-SHA256",
            "RC4-MD5",
            "NULL",
            "AECDH-AES128-SHA",
            "DES-CBC3-SHA",
            "DHE-RSA-AES256-GCM-SHA512",
            "TLS_AES_128_GCM_SHA256",
        ):
            self.assertEqual(parse_suites(f"{weak}:{good}"), Suites((good,), (weak,)))
            self.assertRaises(ValueRefused, parse_suites, weak)

    def test_words(self) -> None:
        """OpenSSL's words choose among what is allowed, and never bring back anything else."""
        for text in (
            "HIGH:!aNULL:!MD5",
            "ALL",
            "DEFAULT@SECLEVEL=0:ECDHE",
            "EECDH:!RC4:!3DES",
            "@STRENGTH:HIGH",
        ):
            self.assertEqual(parse_suites(text).kept, ALLOWED_SUITES)
        self.assertEqual(parse_suites("EECDH+CHACHA20").kept, ALLOWED_SUITES[4:])
        self.assertEqual(parse_suites("ECDHE+aECDSA+AES256").kept, ("ECDHE-ECDSA-AES256-GCM-SHA384",))
        self.assertEqual(
            parse_suites("EECDH+CHACHA20:EECDH+AESGCM").kept, (*ALLOWED_SUITES[4:], *ALLOWED_SUITES[:4])
        )

    def test_removed(self) -> None:
        """An exclamation mark removes for good, a minus until it is added again."""
        one = ALLOWED_SUITES[0]
        self.assertNotIn(one, parse_suites(f"HIGH:!{one}:{one}").kept)
        self.assertEqual(parse_suites(f"HIGH:-{one}:{one}").kept[-1], one)
        self.assertRaises(ValueRefused, parse_suites, "HIGH:!ECDHE")

    def test_no_suite(self) -> None:
        """What leaves nothing is refused, and so is everything that only looks like a name."""
        for text in (
            "",
            ":",
            "!ECDHE-RSA-AES256-GCM-SHA384",
            "ecdhe-rsa-aes256-gcm-sha384",
            "ECDHE-RSA-AES256-GCM-SHA384\0",
            "a" * 100_000,
            "+".join(["HIGH", "x"] * 50),
        ):
            self.assertRaises(ValueRefused, parse_suites, text)

    def test_note(self) -> None:
        """What is left out is told in a note, and nothing is told of a list that is taken whole."""
        for text, told in (("AES128-SHA:HIGH", 1), ("HIGH", 0)):
            found, problems = AnnotationReader(PREFIX).read(ingress("a", "/", ssl_ciphers=text))
            self.assertEqual(found.of(CIPHERS).chosen.kept, ALLOWED_SUITES)
            self.assertEqual([problem.is_note for problem in problems], [True] * told)

    def test_order(self) -> None:
        """Who asks for the client's order is told that the host's decides."""
        for text, told in (("false", 1), ("true", 0)):
            _, problems = AnnotationReader(PREFIX).read(ingress("a", "/", ssl_prefer_server_ciphers=text))
            self.assertEqual([problem.is_note for problem in problems], [True] * told)
