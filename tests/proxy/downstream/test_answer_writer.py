"""Tests for ``ingress.proxy.downstream.answer_writer``: what an answer looks like on the wire."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.response_head import ResponseHead, parse_response_head
from ingress.proxy.downstream.answer_writer import AnswerWriter

DATE = b"Thu, 01 Jan 1970 00:00:00 GMT"
COMPLETE = b"Server: own\r\nDate: today\r\n"
ADDED = b"Server: txingress\r\nDate: " + DATE + b"\r\n"


def head(fields: bytes, status: bytes = b"200 OK") -> ResponseHead:
    """Return the head of an answer of upstream's with *fields*."""
    return parse_response_head(b"HTTP/1.1 " + status + b"\r\n" + fields.removesuffix(b"\r\n"))


class AnswerWriterTests(SynchronousTestCase):
    """Framing, the fields that are added, and whether another request may follow."""

    def setUp(self) -> None:
        self.writer = AnswerWriter()

    def begin(
        self,
        of: ResponseHead,
        body: bytes = b"ok",
        ended: bool = True,
        method: bytes = b"GET",
    ) -> bytes:
        """Render the beginning of an answer."""
        return self.writer.begin(of, method, body, ended, [], DATE)

    def test_whole(self) -> None:
        """An answer that lacks nothing goes as it came."""
        of = head(COMPLETE + b"Content-Length: 2\r\n")
        self.assertEqual(self.begin(of), of.start + b"\r\nok")
        self.assertTrue(self.writer.keep_alive)

    def test_added(self) -> None:
        """Server and Date are added, and once no other request may follow, that is said."""
        of = head(b"Content-Length: 2\r\n")
        self.assertEqual(self.begin(of), of.start + ADDED + b"\r\nok")
        self.writer.keep_alive = False
        self.assertEqual(self.begin(of), of.start + ADDED + b"Connection: close\r\n\r\nok")

    def test_length(self) -> None:
        """A body of known length goes as it is, piece by piece."""
        of = head(COMPLETE + b"Content-Length: 5\r\n")
        self.assertEqual(self.begin(of, b"he", ended=False), of.start + b"\r\nhe")
        self.assertEqual((self.writer.has_length, self.writer.ends_by_closing), (True, False))
        self.assertEqual(self.writer.more(b"llo", True, []), b"llo")

    def test_chunked(self) -> None:
        """One of unknown length goes in chunks, with its trailers behind it."""
        of = head(COMPLETE)
        begun = self.begin(of, b"he", ended=False)
        self.assertEqual(begun, of.start + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n")
        self.assertEqual(self.writer.more(b"", False, []), b"")
        self.assertEqual(self.writer.more(b"llo", True, [b"A: b"]), b"3\r\nllo\r\n0\r\nA: b\r\n\r\n")
        self.assertFalse(self.writer.has_length)

    def test_until_close(self) -> None:
        """To HTTP/1.0 it goes as it is, and the end of the connection is its end."""
        self.writer.minor = 0
        of = head(COMPLETE)
        self.assertEqual(self.begin(of, b"he", ended=False), of.start + b"Connection: close\r\n\r\nhe")
        self.assertEqual((self.writer.ends_by_closing, self.writer.keep_alive), (True, False))

    def test_kept_http_1_0(self) -> None:
        """A connection of HTTP/1.0 that goes on is told so."""
        self.writer.minor = 0
        of = head(COMPLETE + b"Content-Length: 2\r\n")
        self.assertEqual(self.begin(of), of.start + b"Connection: keep-alive\r\n\r\nok")

    def test_no_body(self) -> None:
        """HEAD and 304 have a length, perhaps, and no body."""
        for of, method in (
            (head(COMPLETE + b"Content-Length: 2\r\n"), b"HEAD"),
            (head(COMPLETE, b"304 Not Modified"), b"GET"),
        ):
            self.assertEqual(self.begin(of, b"", method=method), of.start + b"\r\n")
            self.assertFalse(self.writer.has_length)

    def test_interim(self) -> None:
        """Interim answers are for HTTP/1.1 alone."""
        of = head(b"Link: </a>\r\n", b"103 Early Hints")
        self.assertEqual(self.writer.interim(of), of.start + b"\r\n")
        self.writer.minor = 0
        self.assertEqual(self.writer.interim(of), b"")

    def test_switch(self) -> None:
        """The head of a tunnel says what is spoken from there on."""
        of = head(b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"101 Switching Protocols")
        switched = self.writer.switch(of, b"first")
        self.assertTrue(switched.startswith(b"HTTP/1.1 101 Switching Protocols\r\n"))
        self.assertTrue(switched.endswith(b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst"))
