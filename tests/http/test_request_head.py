"""Tests for ``ingress.http.request_head``."""

from types import MappingProxyType

from twisted.trial.unittest import SynchronousTestCase

from ingress.http import request_head
from ingress.http.grammar import (
    MAX_FIELDS,
    MAX_REQUEST_LINE,
    MEMO_BLOCK,
    MEMO_BLOCKS,
    MEMO_ENTRIES,
    MEMO_LINE,
)
from ingress.http.request_head import UNREADABLE, HeadError, RequestHead, parse_request_head
from tests.http.members import members

LINE = b"GET / HTTP/1.1"
HOST = b"Host: a.test"


def head(*lines: bytes, start: bytes = LINE, host: bytes = HOST) -> bytes:
    """A head of *start*, *host* and the field lines *lines*."""
    return b"\r\n".join((start, host, *lines))


def parsed(*lines: bytes, start: bytes = LINE) -> RequestHead:
    """The parsed head of these lines."""
    return parse_request_head(head(*lines, start=start))


class HeadCase(SynchronousTestCase):
    """Tests that refuse heads."""

    def refused(self, block: bytes) -> int:
        """Return the status with which *block* is refused, each time that it is read."""
        first: HeadError = self.assertRaises(HeadError, parse_request_head, block)
        again = self.assertRaises(HeadError, parse_request_head, block)
        self.assertEqual((first.status, str(first)), (again.status, str(again)))
        return first.status


class RequestLineTests(HeadCase):
    """The first line."""

    def test_accepted(self) -> None:
        """Method, target and version are read as they are; the path is the target without its query."""
        for line, method, target, path, minor in (
            (b"GET / HTTP/1.1", b"GET", b"/", b"/", 1),
            (b"GET / HTTP/1.0", b"GET", b"/", b"/", 0),
            (b"M-SEARCH /a?b=c?d HTTP/1.1", b"M-SEARCH", b"/a?b=c?d", b"/a", 1),
            (b"get /%41//../x HTTP/1.1", b"get", b"/%41//../x", b"/%41//../x", 1),
            (b"OPTIONS * HTTP/1.1", b"OPTIONS", b"*", b"*", 1),
            (b"GET /" + b"a" * (MAX_REQUEST_LINE - 14) + b" HTTP/1.1", b"GET", None, None, 1),
            (b"GET //evil.test/ HTTP/1.1", b"GET", b"//evil.test/", b"//evil.test/", 1),
            (b"GET /a:b@c HTTP/1.1", b"GET", b"/a:b@c", b"/a:b@c", 1),
        ):
            found = parsed(start=line)
            self.assertEqual((found.method, found.minor), (method, minor), line)
            if target is not None:
                self.assertEqual((found.target, found.path), (target, path), line)

    def test_refused(self) -> None:
        """Whatever two readers could read differently is refused."""
        for line, status in (
            (b"", 400),
            (b"GET", 400),
            (b"GET /", 400),
            (b"GET / ", 400),
            (b"GET  / HTTP/1.1", 400),
            (b"GET /  HTTP/1.1", 400),
            (b"GET / HTTP/1.1 ", 400),
            (b" GET / HTTP/1.1", 400),
            (b"GET\t/ HTTP/1.1", 400),
            (b"GET /a b HTTP/1.1", 400),
            (b"GET /\x7f HTTP/1.1", 400),
            (b"GET /\xa0 HTTP/1.1", 400),
            (b"GET /\x00 HTTP/1.1", 400),
            (b"GET /\rX: y HTTP/1.1", 400),
            (b"GET /\nX: y HTTP/1.1", 400),
            (b"GET /#top HTTP/1.1", 400),
            (b"GET a.test HTTP/1.1", 400),
            (b"GET a.test:80 HTTP/1.1", 400),
            (b"GET ?x HTTP/1.1", 400),
            (b"GET * HTTP/1.1", 400),
            (b"GET ftp://a.test/ HTTP/1.1", 400),
            (b"GET http:///x HTTP/1.1", 400),
            (b"GET http:/x HTTP/1.1", 400),
            (b"G(T / HTTP/1.1", 400),
            (b"GET / http/1.1", 400),
            (b"GET / HTTP/1.1x", 400),
            (b"GET / HTTP/11", 400),
            (b"GET / HTTP/ 1.1", 400),
            (b"GET / HTTP/1.2", 505),
            (b"GET / HTTP/0.9", 505),
            (b"GET / HTTP/2.0", 505),
            (b"PRI * HTTP/2.0", 505),
            (b"CONNECT a.test:443 HTTP/1.1", 501),
            (b"CONNECT / HTTP/1.1", 501),
            (b"CONNECT http://a.test/ HTTP/1.1", 501),
            (b"TRACE / HTTP/1.1", 405),
            (b"GET /" + b"a" * (MAX_REQUEST_LINE - 13) + b" HTTP/1.1", 414),
        ):
            self.assertEqual(self.refused(head(start=line)), status, line[:60])

    def test_absolute_target(self) -> None:
        """An absolute target is split; its authority wins over Host."""
        for target, authority, origin in (
            (b"http://b.test/x?y", b"b.test", b"/x?y"),
            (b"HTTPS://B.test:8/", b"B.test:8", b"/"),
            (b"http://b.test", b"b.test", b"/"),
            (b"http://b.test?x", b"b.test", b"/?x"),
        ):
            found = parsed(start=b"GET %b HTTP/1.1" % target)
            self.assertEqual((found.authority, found.target), (authority, origin), target)
            self.assertEqual(found.path, origin.partition(b"?")[0])


class HostTests(HeadCase):
    """Which host a request is for."""

    def test_accepted(self) -> None:
        """HTTP/1.1 has one Host, HTTP/1.0 one or none."""
        for block, authority in (
            (b"GET / HTTP/1.1\r\nHost: a", b"a"),
            (b"GET / HTTP/1.1\r\nHOST:a:80 ", b"a:80"),
            (b"GET / HTTP/1.0", b""),
            (b"GET / HTTP/1.0\r\nhost: a", b"a"),
        ):
            self.assertEqual(parse_request_head(block).authority, authority)

    def test_refused(self) -> None:
        """No Host, two, or an empty one is refused."""
        for block in (
            b"GET / HTTP/1.1",
            b"GET / HTTP/1.1\r\nHost:",
            b"GET / HTTP/1.1\r\nHost: ",
            b"GET / HTTP/1.1\r\nHost: a\r\nHost: a",
            b"GET / HTTP/1.1\r\nHost: a\r\nhost: b",
            b"GET / HTTP/1.0\r\nHost: a\r\nHost: a",
            b"GET http://a/ HTTP/1.1",
            b"GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a",
        ):
            self.assertEqual(self.refused(block), 400, block)


class FieldTests(HeadCase):
    """Field lines."""

    def test_forwarded_as_they_are(self) -> None:
        """Other fields go on byte for byte, in their order, also when they repeat."""
        lines = (b"B: 1", b"a:2", b"B:  3\t", b"Empty:", b"X: \xc3\xa9\xff", b"Cookie: a=b; c=d")
        self.assertEqual(parsed(*lines).forward, b"".join(line + b"\r\n" for line in lines))

    def test_refused(self) -> None:
        """A line that RFC 9112 does not allow is refused, not repaired."""
        for line in (
            b"no colon",
            b"Name : value",
            b": value",
            b" folded: value",
            b"\tfolded: value",
            b" folded",
            b"Na me: value",
            b"Name(: value",
            b"N\xe4me: value",
            b"Name: a\x00b",
            b"Name: a\rb",
            b"Name: a\nb",
            b"Name: a\x7fb",
            b"Name: a\x0bb",
            b"Name\x00: a",
            b"",
        ):
            self.assertEqual(self.refused(head(line, b"X: y")), 400, line)
            self.assertEqual(self.refused(head(b"X: y", line, b"X: y")), 400, line)

    def test_count(self) -> None:
        """There are at most so many field lines."""
        lines = [b"X: y"] * (MAX_FIELDS - 1)
        self.assertEqual(len(parsed(*lines).forward), 6 * len(lines))
        self.assertEqual(self.refused(head(*lines, b"X: y")), 431)

    def test_dropped(self) -> None:
        """Hop-by-hop fields and what only a proxy may say stop here, in any case of letters."""
        for name in (
            b"Keep-Alive",
            b"Proxy-Connection",
            b"TE",
            b"Trailer",
            b"Proxy-Authorization",
            b"HTTP2-Settings",
            b"Proxy",
            b"Forwarded",
            b"X-Forwarded",
            b"X-Forwarded-Host",
            b"X-Forwarded-Port",
            b"X-Forwarded-Prefix",
            b"X-Forwarded-Proto",
            b"X-Forwarded-Scheme",
            b"X-Forwarded-Server",
            b"X-Forwarded-Ssl",
            b"X-Forwarded-For",
            b"X-Original-Forwarded-For",
            b"X-Real-IP",
            b"X-Scheme",
            b"SSL-Client-Cert",
            b"SSL-Client-Issuer-DN",
            b"SSL-Client-Subject-DN",
            b"SSL-Client-Verify",
            b"X-Request-ID",
            b"Expect",
            b"Upgrade",
            b"Connection",
        ):
            value = b"100-continue" if name == b"Expect" else b"x"
            for spelling in (name, name.upper(), name.lower()):
                self.assertEqual(parsed(spelling + b": " + value).forward, b"", spelling)

    def test_underscores(self) -> None:
        """A name with an underscore stops here: some programs read it as one with a hyphen."""
        found = parsed(b"X_Real_IP: 1", b"Content_Length: 5", b"Transfer_Encoding: chunked", b"a_b: c")
        self.assertEqual(found.forward, b"")
        self.assertFalse(found.has_body)
        self.assertEqual(found.underscored, b"a_b: c\r\n")
        self.assertEqual(parsed(b"a_b: c", b"c_d: e", b"Connection: a_b").underscored, b"c_d: e\r\n")
        self.assertEqual(found.with_line(found.underscored).forward, b"a_b: c\r\n")

    def test_named_in_connection(self) -> None:
        """What Connection names stops here, over several lines and in any case of letters."""
        found = parsed(
            b"Connection: X-One, close", b"x-one: 1", b"X-Two: 2", b"connection:X-TWO,,", b"X-Three: 3"
        )
        self.assertEqual(found.forward, b"X-Three: 3\r\n")
        self.assertFalse(found.keep_alive)

    def test_named_in_connection_but_kept(self) -> None:
        """Naming what identifies a user, or what frames a body, does not take it away."""
        found = parsed(
            b"Connection: Cookie, Authorization, Host, Content-Length, X-Real-IP, X-Forwarded-For",
            b"Cookie: a",
            b"Authorization: b",
            b"Content-Length: 3",
            b"X-Forwarded-For: 192.0.2.9",
        )
        self.assertEqual(found.forward, b"Cookie: a\r\nAuthorization: b\r\n")
        self.assertEqual(found.authority, b"a.test")
        self.assertEqual(found.content_length, 3)
        self.assertEqual(found.forwarded, {b"x-forwarded-for": b"192.0.2.9"})

    def test_bad_connection(self) -> None:
        """A Connection that is no list of tokens is refused."""
        for value in (b"a b", b'"close"', b"close;x", b"\xff"):
            self.assertEqual(self.refused(head(b"Connection: " + value)), 400, value)

    def test_request_id(self) -> None:
        """A request id is a plain word of at most 128 letters, or it is not one."""
        for value, expected in (
            (b"abc-1", b"abc-1"),
            (b"x" * 128, b"x" * 128),
            (b"x" * 129, b""),
            (b"a b", b""),
            (b"", b""),
            (b"\xff", b""),
        ):
            self.assertEqual(parsed(b"X-Request-ID: " + value).request_id, expected)


class FramingTests(HeadCase):
    """How the body is framed."""

    def test_accepted(self) -> None:
        """One plain Content-Length, or chunked alone, or nothing."""
        for lines, length, chunked in (
            ((), -1, False),
            ((b"Content-Length: 0",), 0, False),
            ((b"Content-Length: 12",), 12, False),
            ((b"content-length:\t0012 ",), 12, False),
            ((b"Content-Length: 999999999999999999",), 10**18 - 1, False),
            ((b"Transfer-Encoding: chunked",), -1, True),
            ((b"transfer-encoding: CHUNKED",), -1, True),
        ):
            found = parsed(*lines)
            self.assertEqual((found.content_length, found.chunked), (length, chunked), lines)
            self.assertEqual(found.has_body, length > 0 or chunked)

    def test_refused(self) -> None:
        """Whatever leaves a doubt about the end of the body is refused."""
        length, chunked = b"Content-Length: 5", b"Transfer-Encoding: chunked"
        for lines, status in (
            ((length, length), 400),
            ((b"Content-Length: 5, 5",), 400),
            ((b"Content-Length: 5", b"content-length: 6"), 400),
            ((b"Content-Length: +5",), 400),
            ((b"Content-Length: -5",), 400),
            ((b"Content-Length: 0x5",), 400),
            ((b"Content-Length: 5 5",), 400),
            ((b"Content-Length: 5_0",), 400),
            ((b"Content-Length: \xb2",), 400),
            ((b"Content-Length:",), 400),
            ((b"Content-Length: 1" + b"0" * 18,), 400),
            ((b"Content-Length: " + b"1" * 5000,), 400),
            ((length, chunked), 400),
            ((chunked, length), 400),
            ((chunked, chunked), 400),
            ((b"Transfer-Encoding: identity",), 400),
            ((b"Transfer-Encoding: gzip",), 400),
            ((b"Transfer-Encoding: chunked, gzip",), 400),
            ((b"Transfer-Encoding: gzip", chunked), 400),
            ((b"Transfer-Encoding: xchunked",), 400),
            ((b"Transfer-Encoding: chunked;q=1",), 400),
            ((b'Transfer-Encoding: "chunked"',), 400),
            ((b"Transfer-Encoding: \x0bchunked",), 400),
            ((b"Transfer-Encoding:",), 400),
            ((b"Transfer-Encoding: gzip, chunked",), 501),
        ):
            self.assertEqual(self.refused(head(*lines)), status, lines)
        self.assertEqual(self.refused(head(chunked, start=b"POST / HTTP/1.0")), 400)


class ConnectionTests(HeadCase):
    """What a request says about its connection."""

    def test_keep_alive(self) -> None:
        """HTTP/1.1 goes on unless told to close, HTTP/1.0 ends unless told to go on."""
        for line, connection, expected in (
            (b"GET / HTTP/1.1", b"", True),
            (b"GET / HTTP/1.1", b"keep-alive", True),
            (b"GET / HTTP/1.1", b"Close", False),
            (b"GET / HTTP/1.1", b"foo , close", False),
            (b"GET / HTTP/1.1", b"keep-alive, close", False),
            (b"GET / HTTP/1.0", b"", False),
            (b"GET / HTTP/1.0", b"Keep-Alive", True),
            (b"GET / HTTP/1.0", b"keep-alive, close", False),
        ):
            lines = (b"Connection: " + connection,) if connection else ()
            self.assertEqual(parsed(*lines, start=line).keep_alive, expected, (line, connection))

    def test_expectation(self) -> None:
        """100-continue is the only expectation, and one only where a body follows in HTTP/1.1."""
        body = b"Content-Length: 5"
        self.assertTrue(parsed(body, b"Expect: 100-continue").expect_continue)
        self.assertTrue(parsed(body, b"expect: 100-CONTINUE").expect_continue)
        self.assertTrue(parsed(b"Transfer-Encoding: chunked", b"Expect: 100-continue").expect_continue)
        self.assertFalse(parsed(b"Expect: 100-continue").expect_continue)
        self.assertFalse(parsed(b"Content-Length: 0", b"Expect: 100-continue").expect_continue)
        self.assertFalse(parsed(body, b"Expect: 100-continue", start=b"POST / HTTP/1.0").expect_continue)
        for value in (b"100-continue, x", b"102-processing", b"x"):
            self.assertEqual(self.refused(head(body, b"Expect: " + value)), 417)
        self.assertEqual(self.refused(head(body, b"Expect: 100-continue", b"Expect: x")), 417)

    def test_upgrade(self) -> None:
        """An upgrade is asked for only in HTTP/1.1, only when Connection says so, and never one to HTTP or TLS."""
        ask = b"Connection: Upgrade"
        for lines, start, expected in (
            ((ask, b"Upgrade: websocket"), LINE, b"websocket"),
            ((ask, b"Upgrade: WebSocket"), LINE, b"WebSocket"),
            ((ask, b"Upgrade: SPDY/3.1"), LINE, b"SPDY/3.1"),
            ((ask, b"Upgrade: SPDY/3.1", b"upgrade: tcp"), LINE, b"SPDY/3.1, tcp"),
            ((b"Connection: keep-alive, upgrade", b"Upgrade: websocket"), LINE, b"websocket"),
            ((b"Upgrade: websocket",), LINE, b""),
            ((ask,), LINE, b""),
            ((ask, b"Upgrade: h2c"), LINE, b""),
            ((ask, b"Upgrade: websocket, h2c"), LINE, b""),
            ((ask, b"Upgrade: h2c", b"Upgrade: TLS/1.0"), LINE, b""),
            ((ask, b"Upgrade: websocket"), b"GET / HTTP/1.0", b""),
            ((b"Connection: close", b"Upgrade: websocket"), LINE, b""),
            ((ask, b"Upgrade:"), LINE, b""),
            ((ask, b"Upgrade: SPDY/3.1", b"Upgrade: h2c"), LINE, b""),
            ((ask, b"Upgrade: tcp", b"Content-Length: 0"), b"POST / HTTP/1.1", b"tcp"),
            ((ask, b"Upgrade: tcp", b"Content-Length: 3"), b"POST / HTTP/1.1", b"tcp"),
            ((ask, b"Upgrade: tcp", b"Transfer-Encoding: chunked"), b"POST / HTTP/1.1", b"tcp"),
        ):
            found = parsed(*lines, start=start)
            self.assertEqual(found.upgrade, expected, lines)
            self.assertEqual(found.forward, b"")


FACTS = (
    "authority",
    "chunked",
    "content_length",
    "expect_continue",
    "forward",
    "forwarded",
    "has_body",
    "keep_alive",
    "method",
    "minor",
    "path",
    "request_id",
    "target",
    "upgrade",
)


class MemoTests(HeadCase):
    """The memos are quick, bounded, and change no verdict."""

    def facts(self, found: RequestHead) -> list[object]:
        """Everything that a head says."""
        return [getattr(found, name) for name in FACTS]

    def test_same_verdict(self) -> None:
        """A head that is read again, also behind thousands of others, says the same."""
        block = head(b"X-Long: " + b"y" * 100, b"Connection: close", b"Content-Length: 3", b"Accept: */*")
        before = self.facts(parse_request_head(block))
        self.assertEqual(self.facts(parse_request_head(block)), before)
        for number in range(MEMO_ENTRIES + 2):
            parsed(b"X-Number: %d" % number)
            if number % 1000 == 0:
                self.refused(head(b"X Number: %d" % number))
        self.assertEqual(self.facts(parse_request_head(block)), before)
        self.assertEqual(self.refused(head(b"X Number: 0")), 400)

    def test_bounds(self) -> None:
        """However many different heads come, the memos hold so many and no more."""
        for number in range(MEMO_ENTRIES + 10):
            parsed(b"X-Other: %d" % number)
            self.assertLessEqual(len(request_head.known_heads), MEMO_BLOCKS)
            self.assertLessEqual(len(request_head.known_blocks.lines), MEMO_ENTRIES)

    def test_long_ones_are_not_kept(self) -> None:
        """Long lines and heads are read anew each time."""
        line = b"X-Too-Long: ".ljust(MEMO_LINE + 1, b"y")
        block = head(*(b"Z-%d: ".ljust(400, b"z") % number for number in range(MEMO_BLOCK // 400)), line)
        short = head(b"Z: " + b"z" * (MEMO_BLOCK - len(head(b"Z: "))))
        self.assertEqual(len(short), MEMO_BLOCK)
        for _ in range(4):
            parse_request_head(block)
            parse_request_head(short)
        self.assertNotIn(line, request_head.known_blocks.lines)
        self.assertNotIn(block, request_head.known_heads)
        self.assertIn(short, request_head.known_heads)

    def test_refused_ones_are_not_kept(self) -> None:
        """What is refused is not remembered."""
        block = head(b"bad line")
        self.refused(block)
        self.assertNotIn(block, request_head.known_heads)
        self.assertNotIn(b"bad line", request_head.known_blocks.lines)

    def test_lines_mean_the_same_everywhere(self) -> None:
        """A line known from one head is judged anew by the head that it is in."""
        line = b"X-Own: 1"
        self.assertIn(line, parsed(line).forward)
        self.assertEqual(parsed(line, b"Connection: X-Own").forward, b"")
        self.assertIn(line, parsed(line, b"Y: 1").forward)


class ReprTests(SynchronousTestCase):
    """What a log shows of a head."""

    def test_repr(self) -> None:
        """A head shows its request line and host; the unreadable one shows nothing."""
        self.assertEqual(repr(parsed()), "<RequestHead b'GET' b'a.test' b'/'>")
        self.assertEqual(repr(UNREADABLE), "<RequestHead b'' b'' b''>")
        self.assertFalse(UNREADABLE.has_body)


OTHERS = {
    bytes: b"another",
    bool: True,
    int: 7,
    type(None): (b"another", b"one"),
    MappingProxyType: {b"another": b"one"},
}
"""By its type, something else than an attribute of a head begins with."""


class WithLineTests(SynchronousTestCase):
    """A head with one more field."""

    def test_all_else(self) -> None:
        """All else stays as it was, whatever may be noted of a head."""
        given = parse_request_head(b"GET /a HTTP/1.1\r\nHost: a.test")
        names = members(given) - {"forward", "block"}
        self.assertGreater(len(names), 15)
        for name in names:
            setattr(given, name, OTHERS[type(getattr(given, name))])
        given.forward = b"accept: */*\r\n"
        given.block = b"block"
        made = given.with_line(b"x: y\r\n")
        for name in names:
            self.assertIs(getattr(made, name), getattr(given, name), name)
        self.assertEqual((made.forward, made.block), (b"accept: */*\r\nx: y\r\n", None))
        self.assertEqual(given.forward, b"accept: */*\r\n")
