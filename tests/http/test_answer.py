"""Tests for ``ingress.http.answer``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.answer import Framing, downstream_head, frame, framing_of
from ingress.http.response_head import parse_response_head

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
PLAIN = b"HTTP/1.1 200 OK"
DATE = b"Thu, 01 Jan 1970 00:00:00 GMT"


class FramingTests(SynchronousTestCase):
    """The choice of the framing."""

    def test_choice(self) -> None:
        """A length stays one; without it 1.1 gets chunks and 1.0 the end of the connection."""
        for block, method, minor, expected in (
            (LENGTH, b"GET", 1, Framing.LENGTH),
            (LENGTH, b"GET", 0, Framing.LENGTH),
            (CHUNKED, b"GET", 1, Framing.CHUNKED),
            (CHUNKED, b"GET", 0, Framing.UNTIL_CLOSE),
            (PLAIN, b"POST", 1, Framing.CHUNKED),
            (PLAIN, b"POST", 0, Framing.UNTIL_CLOSE),
            (LENGTH, b"HEAD", 1, Framing.NONE),
            (CHUNKED, b"HEAD", 0, Framing.NONE),
            (b"HTTP/1.1 204 X", b"GET", 1, Framing.NONE),
            (b"HTTP/1.1 304 X\r\nContent-Length: 5", b"GET", 0, Framing.NONE),
        ):
            self.assertEqual(framing_of(parse_response_head(block), method, minor), expected, (block, method))

    def test_frame(self) -> None:
        """A piece is framed as chosen, and so is the end."""
        for framing, piece, ended, expected in (
            (Framing.CHUNKED, b"abc", False, b"3\r\nabc\r\n"),
            (Framing.CHUNKED, b"abc", True, b"3\r\nabc\r\n0\r\nA: 1\r\n\r\n"),
            (Framing.CHUNKED, b"", False, b""),
            (Framing.CHUNKED, b"", True, b"0\r\nA: 1\r\n\r\n"),
            (Framing.LENGTH, b"abc", True, b"abc"),
            (Framing.UNTIL_CLOSE, b"abc", True, b"abc"),
            (Framing.NONE, b"abc", True, b""),
        ):
            self.assertEqual(frame(framing, piece, ended, [b"A: 1"]), expected)


class HeadTests(SynchronousTestCase):
    """The head of an answer."""

    def test_connection(self) -> None:
        """Connection says what the peer cannot know from its version."""
        head = parse_response_head(LENGTH + b"\r\nServer: s\r\nDate: d")
        for minor, keep_alive, expected in (
            (1, True, b"\r\n\r\n"),
            (1, False, b"\r\nConnection: close\r\n\r\n"),
            (0, True, b"\r\nConnection: keep-alive\r\n\r\n"),
            (0, False, b"\r\nConnection: close\r\n\r\n"),
        ):
            rendered = downstream_head(head, Framing.LENGTH, minor, keep_alive, DATE)
            self.assertEqual(
                rendered,
                b"HTTP/1.1 200 OK\r\nServer: s\r\nDate: d\r\nContent-Length: 5" + expected,
            )

    def test_added(self) -> None:
        """Server, Date and the coding are added."""
        rendered = downstream_head(parse_response_head(PLAIN), Framing.CHUNKED, 1, True, DATE)
        self.assertEqual(
            rendered,
            b"HTTP/1.1 200 OK\r\nServer: txingress\r\nDate: %b\r\nTransfer-Encoding: chunked\r\n\r\n" % DATE,
        )
