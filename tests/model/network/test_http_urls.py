"""Tests for ``ingress.model.network.http_urls``: what a URL that we are to ask says."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.network.http_urls import parse_url


class UrlTests(SynchronousTestCase):
    """What a URL says."""

    def test_parts(self) -> None:
        """Host, port and target, with the usual port where none is named, and ``Host`` as browsers have it."""
        for text, parts in (
            ("http://auth.test", (False, "auth.test", 80, b"auth.test", b"/")),
            ("https://Auth.Test./a//b?c=d/e", (True, "auth.test", 443, b"auth.test", b"/a//b?c=d/e")),
            ("http://auth.test:8080?x", (False, "auth.test", 8080, b"auth.test:8080", b"/?x")),
            ("https://auth.test:443/", (True, "auth.test", 443, b"auth.test", b"/")),
            ("http://[2001:DB8::1]:81/%2f", (False, "2001:db8::1", 81, b"[2001:db8::1]:81", b"/%2f")),
            ("http://192.0.2.1/", (False, "192.0.2.1", 80, b"192.0.2.1", b"/")),
        ):
            url = parse_url(text)
            self.assertEqual((url.is_secure, url.host, url.port, url.authority, url.target), parts, text)

    def test_refused(self) -> None:
        """What is none, or says what is not ours to send, is refused with the reason."""
        for text, why in (
            ("", "blanks"),
            ("auth.test/verify", "no URL of http"),
            ("file:///etc/passwd", "no URL of http"),
            ("http://", "names no host"),
            ("http://:80/", "names no host"),
            ("http://a..b/", "names no host"),
            ("http://-a.test/", "names no host"),
            ("http://" + "a." * 130 + "test/", "names no host"),
            ("http://user:secret@auth.test/", "must hold no user"),
            ("http://auth.test/#top", "fragment"),
            ("http://auth.test:0/", "port"),
            ("http://auth.test:65536/", "no URL"),
            ("http://auth.test:x/", "no URL"),
            ("http://[::1/", "no URL"),
            ("http://[fe80::1%25eth0]/", "names no host"),
            ("http://auth.test/a b", "blanks"),
            ("http://auth.test/a\r\nX: y", "blanks"),
            ("http://auth.test/\N{LATIN SMALL LETTER E WITH ACUTE}", "blanks"),
        ):
            error = self.assertRaises(ValueError, parse_url, text)
            self.assertIn(why, str(error), text)

    def test_secret(self) -> None:
        """A password in a URL is in no message."""
        error = self.assertRaises(ValueError, parse_url, "http://user:secret@auth.test/")
        self.assertNotIn("secret", str(error))
