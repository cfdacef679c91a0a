"""Tests for ``ingress.http.response_head``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http import response_head
from ingress.http.grammar import MAX_FIELDS, MEMO_BLOCK, MEMO_BLOCKS
from ingress.http.response_head import (
    ResponseError,
    ResponseHead,
    is_forwardable_trailer,
    parse_response_head,
)

LINE = b"HTTP/1.1 200 OK"
LENGTH = b"Content-Length: 5"
CHUNKED = b"Transfer-Encoding: chunked"


def parsed(*lines: bytes, start: bytes = LINE) -> ResponseHead:
    """The parsed head of these lines."""
    return parse_response_head(b"\r\n".join((start, *lines)))


class StatusLineTests(SynchronousTestCase):
    """The first line."""

    def test_accepted(self) -> None:
        """Status and reason are kept, and the version is ours."""
        for line, status, start in (
            (b"HTTP/1.1 200 OK", 200, b"HTTP/1.1 200 OK\r\n"),
            (b"HTTP/1.0 200 OK", 200, b"HTTP/1.1 200 OK\r\n"),
            (b"HTTP/1.1 404 ", 404, b"HTTP/1.1 404 \r\n"),
            (b"HTTP/1.1 404", 404, b"HTTP/1.1 404 \r\n"),
            (b"HTTP/1.1 599 Na ja \xe9", 599, b"HTTP/1.1 599 Na ja \xe9\r\n"),
            (b"HTTP/1.1 999 ?", 999, b"HTTP/1.1 999 ?\r\n"),
        ):
            found = parsed(start=line)
            self.assertEqual((found.status, found.start), (status, start), line)

    def test_refused(self) -> None:
        """What is no status line is refused."""
        for line in (
            b"",
            b"HTTP/1.1",
            b"HTTP/1.1 ",
            b"HTTP/1.1 20 OK",
            b"HTTP/1.1 2000 OK",
            b"HTTP/1.1 099 OK",
            b"HTTP/1.1 +20 OK",
            b"HTTP/1.1  200 OK",
            b" HTTP/1.1 200 OK",
            b"HTTP/1.1 200\tOK",
            b"HTTP/1.1 200 O\x00K",
            b"HTTP/1.1 200 O\rK",
            b"HTTP/1.1 200 O\nK",
            b"HTTP/1.1 200OK",
            b"HTTP/2 200 OK",
            b"HTTP/2.0 200 OK",
            b"HTTP/1.2 200 OK",
            b"http/1.1 200 OK",
            b"ICY 200 OK",
            b"\x15\x03\x03\x00\x02\x02\x46",
        ):
            self.assertRaises(ResponseError, parse_response_head, line)
            self.assertRaises(ResponseError, parse_response_head, line + b"\r\nX: y")


class FramingTests(SynchronousTestCase):
    """How the body ends, and whether the connection lives on."""

    def test_accepted(self) -> None:
        """A length, chunked, or the end of the connection."""
        for lines, start, length, chunked, keep_alive in (
            ((LENGTH,), LINE, 5, False, True),
            ((b"content-length: 005",), LINE, 5, False, True),
            ((CHUNKED,), LINE, -1, True, True),
            ((), LINE, -1, False, False),
            ((LENGTH, CHUNKED), LINE, -1, True, False),
            ((), b"HTTP/1.1 204 No Content", -1, False, True),
            ((), b"HTTP/1.1 304 Not Modified", -1, False, True),
            ((), b"HTTP/1.1 103 Early Hints", -1, False, True),
            ((LENGTH, b"Connection: close"), LINE, 5, False, False),
            ((LENGTH, b"Connection: x, Close"), LINE, 5, False, False),
            ((LENGTH,), b"HTTP/1.0 200 OK", 5, False, False),
            ((LENGTH, b"Connection: Keep-Alive"), b"HTTP/1.0 200 OK", 5, False, True),
        ):
            found = parsed(*lines, start=start)
            self.assertEqual(
                (found.content_length, found.chunked, found.keep_alive),
                (length, chunked, keep_alive),
                (start, lines),
            )

    def test_refused(self) -> None:
        """Whatever leaves a doubt about the end of the body is refused."""
        for lines in (
            (LENGTH, LENGTH),
            (b"Content-Length: 5, 5",),
            (b"Content-Length: +5",),
            (b"Content-Length: -1",),
            (b"Content-Length:",),
            (b"Content-Length: " + b"1" * 5000,),
            (b"Transfer-Encoding: gzip",),
            (b"Transfer-Encoding: identity",),
            (b"Transfer-Encoding: gzip, chunked",),
            (CHUNKED, CHUNKED),
            (b"Transfer-Encoding: gzip", CHUNKED),
        ):
            self.assertRaises(ResponseError, parse_response_head, b"\r\n".join((LINE, *lines)))
        self.assertRaises(ResponseError, parse_response_head, b"HTTP/1.0 200 OK\r\n" + CHUNKED)

    def test_has_body(self) -> None:
        """1xx, 204 and 304 never have a body."""
        for status, expected in (
            (100, False),
            (199, False),
            (200, True),
            (204, False),
            (205, True),
            (304, False),
            (500, True),
        ):
            self.assertEqual(parsed(start=b"HTTP/1.1 %d X" % status).has_body, expected)

    def test_length_goes_on_once(self) -> None:
        """The length goes on in plain form, except where it must not be."""
        self.assertIn(b"Content-Length: 5\r\n", parsed(b"content-length: 05").start)
        self.assertIn(b"Content-Length: 5\r\n", parsed(LENGTH, start=b"HTTP/1.1 304 X").start)
        for lines, start in (
            ((LENGTH,), b"HTTP/1.1 204 X"),
            ((LENGTH,), b"HTTP/1.1 103 X"),
            ((LENGTH, CHUNKED), LINE),
        ):
            self.assertNotIn(b"ength", parsed(*lines, start=start).start)


class FieldTests(SynchronousTestCase):
    """Field lines."""

    def test_go_on(self) -> None:
        """Fields go on byte for byte, in their order, also when they repeat."""
        lines = (b"Set-Cookie: a", b"X_y:1", b"set-cookie: b", b"X: \xff")
        self.assertEqual(parsed(*lines).start, b"".join(line + b"\r\n" for line in (LINE, *lines)))

    def test_stop(self) -> None:
        """Hop-by-hop fields stop here, and what Connection names, but for cookies and framing."""
        found = parsed(
            b"Connection: X-Own, Set-Cookie, Content-Length",
            b"X-Own: 1",
            b"Keep-Alive: timeout=5",
            b"Proxy-Connection: close",
            b"TE: x",
            b"Set-Cookie: a",
            LENGTH,
        )
        self.assertEqual(found.start, LINE + b"\r\nSet-Cookie: a\r\nContent-Length: 5\r\n")

    def test_stop_ours(self) -> None:
        """Who has Date and Server stop here has sent none, so that they come from the proxy."""
        found = parsed(b"Connection: date, Server", b"Date: x", b"Server: y", LENGTH)
        self.assertEqual(found.start, LINE + b"\r\nContent-Length: 5\r\n")
        self.assertFalse(found.has_date or found.has_server or found.is_complete)

    def test_noticed(self) -> None:
        """Date, Server and Upgrade are noticed."""
        found = parsed(b"date: x", b"SERVER: y", b"Upgrade: websocket", start=b"HTTP/1.1 101 X")
        self.assertEqual((found.has_date, found.has_server, found.upgrade), (True, True, b"websocket"))
        self.assertNotIn(b"pgrade", found.start)
        self.assertFalse(parsed().has_date or parsed().has_server or parsed().upgrade)

    def test_refused(self) -> None:
        """A line that is no field is refused."""
        for line in (
            b"no colon",
            b"Name : x",
            b" folded",
            b": x",
            b"X: a\rb",
            b"X: a\nb",
            b"X: a\x00b",
            b"",
            b"Connection: a b",
        ):
            self.assertRaises(ResponseError, parse_response_head, b"\r\n".join((LINE, line, b"X: y")))

    def test_count(self) -> None:
        """There are at most so many field lines."""
        lines = [b"X: y"] * (2 * MAX_FIELDS)
        parsed(*lines)
        self.assertRaises(ResponseError, parse_response_head, b"\r\n".join((LINE, *lines, b"X: y")))


FACTS = (
    "chunked",
    "content_length",
    "has_body",
    "has_date",
    "has_server",
    "is_complete",
    "keep_alive",
    "start",
    "status",
    "upgrade",
)


class MemoTests(SynchronousTestCase):
    """The memo is bounded and changes no verdict."""

    def test_same_verdict(self) -> None:
        """A head that is read again, also behind many others, says the same."""
        block = b"\r\n".join((LINE, LENGTH, b"Connection: close"))

        def facts() -> list[object]:
            return [getattr(parse_response_head(block), name) for name in FACTS]

        before = facts()
        self.assertEqual(facts(), before)
        for number in range(MEMO_BLOCKS + 2):
            parsed(b"X: %d" % number)
            self.assertLessEqual(len(response_head.known_heads), MEMO_BLOCKS)
        self.assertEqual(facts(), before)

    def test_not_kept(self) -> None:
        """Long heads and bad ones are not kept."""
        longest = (LINE + b"\r\nX: ").ljust(MEMO_BLOCK, b"y")
        long, bad = longest + b"y", LINE + b"\r\nbad"
        for _ in range(4):
            parse_response_head(longest)
            parse_response_head(long)
            self.assertRaises(ResponseError, parse_response_head, bad)
        self.assertIn(longest, response_head.known_heads)
        self.assertNotIn(long, response_head.known_heads)
        self.assertNotIn(bad, response_head.known_heads)

    def test_repr(self) -> None:
        """A head shows its status."""
        self.assertEqual(repr(parsed()), "<ResponseHead 200>")


class TrailerTests(SynchronousTestCase):
    """Which trailers may go on."""

    def test_trailers(self) -> None:
        """Checksums and the like go on; framing, cookies, credentials and content do not."""
        for line, expected in (
            (b"X-Checksum: 1", True),
            (b"grpc-status: 0", True),
            (b"Content-Length: 5", False),
            (b"TRANSFER-ENCODING: chunked", False),
            (b"Set-Cookie: a", False),
            (b"Host: a", False),
            (b"Authorization: x", False),
            (b"Content-Type: text/html", False),
            (b"Connection: close", False),
        ):
            self.assertEqual(is_forwardable_trailer(line), expected, line)
