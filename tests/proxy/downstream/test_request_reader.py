"""Tests for ``ingress.proxy.downstream.request_reader``: heads, one after the other."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.grammar import MAX_REQUEST_LINE
from ingress.http.request_head import UNREADABLE
from ingress.proxy.downstream.request_reader import RefusedError, RequestReader


class RequestReaderTests(SynchronousTestCase):
    """What has come, as requests."""

    def setUp(self) -> None:
        self.reader = RequestReader()

    def refused(self, block: bytes) -> RefusedError:
        """Read *block*, which is refused."""
        error: RefusedError = self.assertRaises(RefusedError, self.reader.read, block)
        return error

    def test_normal(self) -> None:
        """Host and path come in their normal forms; the head keeps what was sent."""
        head, destination = self.reader.read(b"GET /%61/./b HTTP/1.1\r\nHost: SHOP.Test.:8080")
        self.assertEqual(destination, (b"shop.test", b"/a/b"))
        self.assertEqual((head.target, head.authority), (b"/%61/./b", b"SHOP.Test.:8080"))
        self.assertEqual(self.reader.count, 1)

    def test_whole_server(self) -> None:
        """OPTIONS for all of a server is for the path of all."""
        _, destination = self.reader.read(b"OPTIONS * HTTP/1.1\r\nHost: shop.test")
        self.assertEqual(destination, (b"shop.test", b"/"))

    def test_refused(self) -> None:
        """What cannot be read in one way has its status, and what is known of it; it counts as begun."""
        error = self.refused(b"nonsense")
        self.assertEqual((error.status, error.head), (400, UNREADABLE))
        for block in (b"GET / HTTP/1.1\r\nHost: a b", b"GET /../x HTTP/1.1\r\nHost: shop.test"):
            error = self.refused(block)
            self.assertEqual(error.status, 400)
            self.assertTrue(str(error))
        self.assertEqual((error.head.method, error.head.target), (b"GET", b"/../x"))
        self.assertEqual(self.reader.count, 3)

    def test_ahead(self) -> None:
        """Heads are taken out of what is ahead one by one, once each is whole."""
        self.reader.ahead += b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3"
        self.assertEqual(self.reader.next_block(), b"GET /1 HTTP/1.1")
        self.assertEqual(self.reader.next_block(), b"GET /2 HTTP/1.1")
        self.assertIsNone(self.reader.next_block())
        self.assertEqual(bytes(self.reader.ahead), b"GET /3")
        self.assertEqual(self.reader.count, 0)

    def test_never_a_head(self) -> None:
        """What can become no head any more is refused before its end."""
        self.reader.ahead += b"GET /" + b"a" * MAX_REQUEST_LINE
        self.assertEqual(self.assertRaises(RefusedError, self.reader.next_block).status, 414)
