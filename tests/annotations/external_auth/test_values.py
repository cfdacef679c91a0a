"""What is read of values of external authentication, and refused."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.external_auth.family import EXTERNAL_AUTH
from ingress.annotations.external_auth.values import (
    AuthSnippet,
    parse_auth_url,
    parse_names,
    parse_seconds,
    parse_signin,
    parse_snippet,
)


class ValueTests(SynchronousTestCase):
    """What values mean."""

    def test_seconds(self) -> None:
        """A service may take from a millisecond to less than what the proxy waits for any decision."""
        self.assertEqual((parse_seconds("0.5"), parse_seconds("50")), (0.5, 50.0))
        for text in ("0", "50.1", "-1", "1e3", "nan", "inf", "", "5s", "٣"):
            self.assertRaises(ValueRefused, parse_seconds, text)

    def test_names(self) -> None:
        """Names stand between commas; the same name in another spelling is the same."""
        self.assertEqual(parse_names(" X-User ,, x-USER, Set-Cookie"), ("x-USER", "Set-Cookie"))
        self.assertRaises(ValueRefused, parse_names, ",".join(f"x{number}" for number in range(65)))

    def test_hostile(self) -> None:
        """Whatever is written, it is read, or refused with a reason."""
        hostile = (
            "\r\n" * 100_000,
            "$" * 200_000,
            "${" * 100_000,
            "{{" * 100_000,
            "a," * 120_000,
            "http://" + "a." * 100_000,
            "http://" + "[" * 100_000,
            "https://a/?" + "a=b&" * 60_000,
            "1h" * 100_000,
            "\ud800",
            "https://[",
            "https://[::1/",
            "https://]/",
            "https://a:b:c/",
            "\0",
            "# \n" * 80_000,
            "é" * 200_000,
        )
        for annotation in EXTERNAL_AUTH.annotations.values():
            for text in hostile:
                try:
                    annotation.parse(text)
                except ValueRefused as refusal:
                    self.assertTrue(str(refusal))

    def test_blank(self) -> None:
        """Blank values ask for nothing."""
        self.assertEqual(
            (parse_auth_url(" "), parse_signin(""), parse_snippet(" \n# x\n")), (None, "", AuthSnippet())
        )
