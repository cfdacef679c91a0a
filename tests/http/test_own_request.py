"""Tests for ``ingress.http.own_request``: which requests of our own may be sent."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.own_request import MAX_OWN_HEAD, own_request_head
from ingress.http.request_head import parse_request_head
from ingress.model.network.http_urls import parse_url
from tests.properties import examples

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

    @settings(deadline=None, derandomize=True, max_examples=examples(500))
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

    def test_authority(self) -> None:
        """``Host`` may say something else than the URL, as long as that is a host."""
        url = parse_url("http://a.test:81/")
        for authority, said in ((b"", b"a.test:81"), (b"b.test:8080", b"b.test:8080")):
            self.assertEqual(own_request_head(b"GET", url, (), b"", authority=authority).authority, said)
        for wrong in (b"a b", b"a\r\nX: y", b"a/b", b"\xff"):
            self.assertRaises(ValueError, own_request_head, b"GET", url, (), b"", authority=wrong)

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
        """A head is not larger than that of a client, with all that is told of it besides, may be."""
        large = ((b"X", bytes(b"a" * MAX_OWN_HEAD)),)
        self.assertRaises(ValueError, own_request_head, b"GET", self.url, large, b"")
