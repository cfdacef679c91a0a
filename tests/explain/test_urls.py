"""URLs as people paste them."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.explain.urls import MAX_CHARACTERS, UrlRefused, read_url


class ReadTests(SynchronousTestCase):
    """What a client sends for a text."""

    def test_what_is_sent(self) -> None:
        """Scheme, Host, port and target are those that curl sends."""
        for text, scheme, authority, port, target in (
            ("http://a.com", "http", "a.com", 80, "/"),
            ("HTTPS://a.com/x?y=1", "https", "a.com", 443, "/x?y=1"),
            ("a.com/cart", "http", "a.com", 80, "/cart"),
            ("a.com:8080", "http", "a.com:8080", 8080, "/"),
            ("//a.com/x", "http", "a.com", 80, "/x"),
            ("https://a.com:443/", "https", "a.com", 443, "/"),
            ("http://a.com?q=1", "http", "a.com", 80, "/?q=1"),
            ("http://a.com#there", "http", "a.com", 80, "/"),
            ("http://[::1]:8080/x", "http", "[::1]:8080", 8080, "/x"),
            ("http://a.com//x/../y", "http", "a.com", 80, "//x/../y"),
            ("http://a.com/a b/ü", "http", "a.com", 80, "/a%20b/%C3%BC"),
            ("http://a.com/%41%zz", "http", "a.com", 80, "/%41%zz"),
            ("http://bücher.example/", "http", "xn--bcher-kva.example", 80, "/"),
            ("wss://a.com/socket", "https", "a.com", 443, "/socket"),
            ("  http://a.com/ \n", "http", "a.com", 80, "/"),
        ):
            url = read_url(text)
            self.assertEqual(
                (url.scheme, url.authority.decode(), url.port, url.target.decode()),
                (scheme, authority, port, target),
                text,
            )

    def test_what_was_assumed_is_told(self) -> None:
        """A sentence says what is not in the text, or is not sent."""
        for text, word in (
            ("a.com", "no scheme is named"),
            ("http://a.com/#x", "behind #"),
            ("http://me:pw@a.com/", "Authorization"),
            ("http://a.com/a b", "percent escapes"),
            ("http://a.com/../x", "dot segments"),
            ("http://bücher.example/", "xn--bcher-kva.example"),
            ("http://*.a.com/", "stands for itself"),
        ):
            self.assertIn(word, " ".join(read_url(text).notes), text)
        self.assertEqual(read_url("https://a.com/x").notes, ())

    def test_credentials_go_to_their_field_and_nowhere_else(self) -> None:
        """They are in no text and no repr."""
        url = read_url("http://me:p%40ss@a.com/")
        self.assertEqual(url.credentials, b"Basic bWU6cEBzcw==")
        self.assertNotIn("bWU6", repr(url))
        self.assertEqual(str(url), "http://a.com/")

    def test_what_is_no_url_is_told_why(self) -> None:
        """The message says what is wrong, and mostly what helps."""
        for text, word in (
            ("", "empty"),
            ("/cart", "names no host"),
            ("http:///x", "names no host"),
            ("ftp://a.com", "scheme ftp"),
            ("udp://a.com:53", "has no requests"),
            ("tcp://a.com:5432", "has no requests"),
            ("http://a b.com/", "space"),
            ("http://a.com:99999/", "port"),
            ("http://a.com:x/", "port"),
            ("http://::1/", "brackets"),
            ("http://[::1/x", "IPv6"),
            ("http://[nonsense]/", "IPv6"),
            ("http://[::1]x/", "brackets"),
            ("http://a%2ecom/", "%"),
            ("http://a.com/\nX: y", "control character"),
            ("http://" + "ü" * 70 + ".com/", "xn--"),
            ("http://a.com/" + "x" * MAX_CHARACTERS, str(MAX_CHARACTERS)),
            ("http://a.com/\ud800", "Unicode"),
        ):
            with self.assertRaises(UrlRefused) as caught:
                read_url(text)
            self.assertIn(word, str(caught.exception), text[:40])
