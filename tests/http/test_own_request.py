"""Tests for ``ingress.http.own_request``: which requests of our own may be sent."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.grammar import MAX_HEAD
from ingress.http.own_request import own_request_head, parse_url
from ingress.http.request_head import parse_request_head


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


_PIECES = st.sampled_from(
    (
        "http",
        "https",
        ":",
        "//",
        "/",
        "@",
        "#",
        "?",
        "[",
        "]",
        "::1",
        "a.test",
        "%",
        "\\",
        " ",
        "\r\n",
        "\t",
        ".",
    )
)


class AnyUrlTests(SynchronousTestCase):
    """Whatever a text is."""

    @settings(deadline=None, derandomize=True, max_examples=500)
    @given(st.lists(st.one_of(_PIECES, st.text(max_size=3)), max_size=8).map("".join))
    def test_total(self, text: str) -> None:
        """It is refused as a whole, or what comes of it can stand in a request, and means one thing."""
        for url in (text, f"http://{text}", f"http://a.test/{text}"):
            try:
                read = parse_url(url)
            except ValueError:
                continue
            line = b"GET %b HTTP/1.1\r\nHost: %b" % (read.target, read.authority)
            head = parse_request_head(line)
            self.assertEqual((head.target, head.authority), (read.target, read.authority))
            self.assertTrue(0 < read.port < 65536)
            self.assertNotIn(b"@", read.authority)


class HeadTests(SynchronousTestCase):
    """The head of a request."""

    url = parse_url("http://auth.test/verify?a")

    def test_head(self) -> None:
        """It has the fields as they are, and the length of a body where there is or may be one."""
        head = own_request_head(b"GET", self.url, ((b"X-One", b" 1 "), (b"x-one", b"")), b"")
        self.assertEqual((head.method, head.target, head.path), (b"GET", b"/verify?a", b"/verify"))
        self.assertEqual(head.forward, b"X-One: 1\r\nx-one: \r\n")
        self.assertEqual((head.content_length, head.has_body), (-1, False))
        head = own_request_head(b"POST", self.url, (), b"")
        self.assertEqual((head.content_length, head.has_body), (0, False))
        head = own_request_head(b"GET", self.url, (), b"body")
        self.assertEqual((head.content_length, head.has_body), (4, True))

    def test_refused(self) -> None:
        """A method or field by which a request could be read in two ways, or that is not for who asks, is refused."""
        for method in (b"", b"GET /", b"CONNECT", b"TRACE", b"G\r\n"):
            self.assertRaises(ValueError, own_request_head, method, self.url, (), b"")
        for name, value in (
            (b"Host", b"a"),
            (b"content-Length", b"5"),
            (b"Transfer-Encoding", b"chunked"),
            (b"Connection", b"x-auth"),
            (b"Upgrade", b"websocket"),
            (b"Expect", b"100-continue"),
            (b"", b"a"),
            (b"a b", b"c"),
            (b"a:", b"c"),
            (b"a:b", b"c"),
            (b"a", b"b\nc: d"),
            (b"a", b"b\x00"),
            (b"a\r\nb", b"c"),
        ):
            self.assertRaises(ValueError, own_request_head, b"GET", self.url, ((name, value),), b"")

    def test_large(self) -> None:
        """A head is not larger than that of a client may be."""
        large = ((b"X", bytes(b"a" * MAX_HEAD)),)
        self.assertRaises(ValueError, own_request_head, b"GET", self.url, large, b"")
