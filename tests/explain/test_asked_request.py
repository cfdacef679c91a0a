"""Requests as people write them, and what the proxy reads in them."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.explain.asked_request import MAX_FIELDS, ReadRequest, Refused, read_as_proxy, read_asked
from ingress.explain.urls import UrlRefused


class AskedTests(SynchronousTestCase):
    def test_the_head_is_what_a_client_sends(self) -> None:
        """Host is that of the URL unless a header says another; a user in the URL is Authorization, unless one is given."""
        asked = read_asked("http://me:pw@a.com/x", "PUT", ("X-A:1", "X-B:  two "), "10.0.0.1")
        self.assertEqual(
            asked.head,
            b"PUT /x HTTP/1.1\r\nHost: a.com\r\nX-A: 1\r\nX-B: two\r\nAuthorization: Basic bWU6cHc=\r\n\r\n",
        )
        other = read_asked("http://me:pw@a.com/", "GET", ("host: b.com", "authorization: own"), "::1")
        self.assertEqual(other.head, b"GET / HTTP/1.1\r\nhost: b.com\r\nauthorization: own\r\n\r\n")

    def test_mistakes_are_told(self) -> None:
        """Of method, header and client."""
        for method, header, client, word in (
            ("GE T", (), "10.0.0.1", "method"),
            ("GÉT", (), "10.0.0.1", "method"),
            ("GET", ("nonsense",), "10.0.0.1", "header"),
            ("GET", ("X Y: 1",), "10.0.0.1", "header"),
            ("GET", ("X: a\r\nY: b",), "10.0.0.1", "control character"),
            ("GET", ("X: \ud800",), "10.0.0.1", "Unicode"),
            ("GET", ("X: 1",) * (MAX_FIELDS + 1), "10.0.0.1", str(MAX_FIELDS)),
            ("GET", (), "shop.example.com", "no IP address"),
            ("GET", (), "fe80::1%eth0", "zone"),
        ):
            with self.assertRaises(UrlRefused) as caught:
                read_asked("http://a.com/", method, header, client)
            self.assertIn(word, str(caught.exception))

    def test_the_proxys_own_reader_reads(self) -> None:
        """Host and path are in normal form; what can be read in two ways is refused with its status."""
        read = read_as_proxy(read_asked("http://A.com./a/../%62", "GET", (), "::1"), takes_underscores=False)
        assert isinstance(read, ReadRequest)
        self.assertEqual((read.host, read.path), (b"a.com", b"/b"))
        for url, method, headers, status in (
            ("http://a.com/%5c", "GET", (), 400),
            ("http://a.com/", "TRACE", (), 405),
            ("http://a.com/", "CONNECT", (), 501),
            ("http://a.com/", "GET", ("Host: b c",), 400),
            ("http://a.com/", "GET", ("Expect: wonders",), 417),
            ("http://a.com/" + "x" * 9000, "GET", (), 414),
            ("http://a.com/", "GET", ("X: " + "y" * 70_000,), 431),
        ):
            refused = read_as_proxy(read_asked(url, method, headers, "::1"), takes_underscores=False)
            assert isinstance(refused, Refused), url[:40]
            self.assertEqual(refused.status, status, refused.why)

    def test_underscores_go_on_where_the_operator_wants_them(self) -> None:
        """Else they stop."""
        asked = read_asked("http://a.com/", "GET", ("a_b: 1",), "::1")
        for takes in (True, False):
            read = read_as_proxy(asked, takes_underscores=takes)
            assert isinstance(read, ReadRequest)
            self.assertEqual(b"a_b: 1" in read.head.forward, takes)
