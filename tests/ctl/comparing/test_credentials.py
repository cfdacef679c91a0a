"""Tests for ingress.ctl.comparing.credentials."""

import os
from base64 import b64encode

from ingress.ctl.comparing.credentials import NO_CREDENTIALS, Hidden, read_credentials
from ingress.ctl.comparing.samples import Sample
from ingress.ctl.errors import Mistake
from tests.ctl.ctl_case import CtlCase

FILE = """\
["shop.test"]
Authorization = "Bearer token-one-two"
["http://*.internal.test"]
Cookie = "sid=session-three; b=2"
"""


class CredentialsTests(CtlCase):
    """Fields that go with requests."""

    def file(self, text: str, mode: int = 0o600) -> str:
        """Write *text* into a file of *mode*."""
        path = self.manifest(text, "given.toml")
        os.chmod(path, mode)
        return path

    def test_who_gets_them(self) -> None:
        """They go to the hosts that are named, over https unless http is named."""
        found = read_credentials(self.file(FILE))
        for url, count in (
            ("https shop.test", 1),
            ("https SHOP.test:8443", 1),
            ("http shop.test", 0),
            ("https other.shop.test", 0),
            ("http a.internal.test", 1),
            ("https a.internal.test", 0),
            ("http internal.test", 0),
        ):
            scheme, host = url.split()
            self.assertEqual(len(found.given_to(Sample(scheme, "GET", host, "/"))), count, url)

    def test_mode(self) -> None:
        """A file that others may read is refused, and what helps is said."""
        for mode in (0o640, 0o604, 0o620):
            error = self.assertRaises(Mistake, read_credentials, self.file(FILE, mode))
            self.assertIn("chmod 600", error.message)

    def test_mistakes_show_nothing(self) -> None:
        """No mistake repeats what is in the file."""
        for text in (
            '["shop.test"]\nAuthorization = "s3cret',
            "s3cret",
            '["shop.test"]\nAuthorization = 3\n',
            '["shop.test"]\nAuthorization = "s3cret\\u0007"\n',
            '["shop.test"]\n"s3cret s3cret" = "a"\n',
            '["ftp://s3cret"]\nA = "b"\n',
            '["shop.test"]\nHost = "s3cret"\n',
            'Authorization = "s3cret"',
            '["shop.test"]\n',
        ):
            error = self.assertRaises(Mistake, read_credentials, self.file(text))
            self.assertNotIn("s3cret", error.message, text)
            self.assertIsNone(error.__cause__)
        self.assertIn("line 2", self.assertRaises(Mistake, read_credentials, self.file('a="b"\n= 1')).message)

    def test_unreadable(self) -> None:
        """What is not there, no UTF-8, or large is told."""
        self.assertRaises(Mistake, read_credentials, str(self.folder / "none"))
        self.assertRaises(Mistake, read_credentials, str(self.folder))
        path = self.file("")
        with open(path, "wb") as file:
            file.write(b"\xff")
        self.assertRaises(Mistake, read_credentials, path)
        self.assertRaises(Mistake, read_credentials, self.file("#" * (1024 * 1024 + 1)))

    def test_not_in_repr(self) -> None:
        """They do not show where values are printed."""
        self.assertNotIn("token", repr(read_credentials(self.file(FILE))))


class HiddenTests(CtlCase):
    """What is taken out of answers."""

    def test_hidden(self) -> None:
        """A value is hidden wherever it comes back, and so are a token without its scheme, and the value of a cookie."""
        path = self.manifest(FILE, "given.toml")
        os.chmod(path, 0o600)
        sample = Sample("http", "GET", "a", "/", (("X-Api-Key", "four-five-six"), ("Accept", "text/html")))
        hidden = Hidden(read_credentials(path), [sample])
        for text in ("Bearer token-one-two", "x token-one-two y", "?sid=session-three", "four-five-six"):
            shown = hidden(text)
            self.assertIn("(hidden)", shown)
            for secret in ("token-one-two", "session-three", "four-five-six"):
                self.assertNotIn(secret, shown)
        self.assertEqual(hidden("text/html; b=2"), "text/html; b=2")

    def test_other_spellings(self) -> None:
        """It is hidden in the spelling of a URL, too, and so are user and password that Basic has encoded."""
        encoded = b64encode(b"me:pass word").decode()
        fields = (("Authorization", f"Basic {encoded}"), ("X-Token", "a+b/c==d"))
        hidden = Hidden(NO_CREDENTIALS, [Sample("http", "GET", "a", "/", fields)])
        for text in (
            encoded,
            "me:pass word",
            "pass word",
            "pass%20word",
            "pass+word",
            "a%2Bb%2Fc%3D%3Dd",
            "a%2Bb/c%3D%3Dd",
        ):
            self.assertEqual(hidden(f"<{text}>"), "<(hidden)>", text)
        self.assertEqual(
            Hidden(NO_CREDENTIALS, [Sample("http", "GET", "a", "/", (("Authorization", "Basic ?"),))])("x"),
            "x",
        )
