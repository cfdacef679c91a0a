"""Tests for ``ingress.http2.blocks``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.forwarding import origin_of_peer, upstream_fields_of
from ingress.http.request_head import parse_request_head
from ingress.http.response_head import ResponseHead, parse_response_head
from ingress.http2 import blocks
from ingress.http2.blocks import request_block, response_block, trailers_block, tunnel_block
from ingress.http2.hpack.field_decoder import FieldDecoder
from ingress.http2.request_fields import read_request_field, request_head
from ingress.http2.response_fields import read_response_field, response_head
from tests.http.members import members

DATE = b"Thu, 01 Jan 1970 00:00:00 GMT"
PEER = origin_of_peer(b"198.51.100.7", b"https", 443)


def fields_in(block: bytes) -> list[tuple[bytes, bytes]]:
    """The fields in *block*, as a peer reads it that knows nothing."""
    return FieldDecoder(lambda name, value: (name, value)).decode(block)


def answer(*lines: bytes, status: bytes = b"200 OK") -> ResponseHead:
    """An answer of HTTP/1.1 with these field lines, which nobody else has."""
    return parse_response_head(b"\r\n".join((b"HTTP/1.1 " + status, *lines)))


class ResponseBlockTests(SynchronousTestCase):
    """Heads of answers for downstream."""

    def test_whole(self) -> None:
        """The status comes first, then the fields with lower-case names, and what is missing."""
        head = answer(
            b"Content-Type:  text/plain\t", b"Set-Cookie: a=b", b"Content-Length: 5", b"SET-COOKIE:c"
        )
        self.assertEqual(
            fields_in(response_block(head, DATE)),
            [
                (b":status", b"200"),
                (b"content-type", b"text/plain"),
                (b"set-cookie", b"a=b"),
                (b"set-cookie", b"c"),
                (b"content-length", b"5"),
                (b"server", b"txingress"),
                (b"date", DATE),
            ],
        )

    def test_nothing_missing(self) -> None:
        """What upstream says about itself and the time goes on."""
        head = answer(b"Server: x", b"Date: y")
        expected = [(b":status", b"200"), (b"server", b"x"), (b"date", b"y")]
        self.assertEqual(fields_in(response_block(head, DATE)), expected)

    def test_connection_specific(self) -> None:
        """No field that belongs to one connection is in a block (RFC 9113 section 8.2.2)."""
        head = answer(
            b"Connection: x-gone, Upgrade",
            b"X-Gone: y",
            b"Upgrade: h2c",
            b"Keep-Alive: timeout=5",
            b"Proxy-Connection: keep-alive",
            b"Transfer-Encoding: chunked",
            b"TE: trailers",
            b"Server: x",
            b"Date: y",
        )
        expected = [(b":status", b"200"), (b"server", b"x"), (b"date", b"y")]
        self.assertEqual(fields_in(response_block(head, DATE)), expected)

    def test_interim(self) -> None:
        """An interim answer has what upstream gave it, and nothing of ours."""
        head = answer(b"Link: </a>", status=b"103 Early Hints")
        self.assertEqual(fields_in(response_block(head, DATE)), [(b":status", b"103"), (b"link", b"</a>")])
        self.assertEqual(
            fields_in(response_block(answer(status=b"100 Continue"), DATE)), [(b":status", b"100")]
        )

    def test_switching(self) -> None:
        """HTTP/2 has no 101 (RFC 9113 section 8.6)."""
        self.assertRaises(ValueError, response_block, answer(status=b"101 Switching Protocols"), DATE)

    def test_remembered(self) -> None:
        """A head that was encoded once is not encoded again; the date is always that of today."""
        head = answer(b"X-Remembered: yes")
        first = response_block(head, DATE)
        self.assertIsNotNone(head.block)
        self.patch(blocks, "encode_status", None)
        self.assertEqual(response_block(head, DATE), first)
        self.assertEqual(fields_in(response_block(head, b"later"))[-1], (b"date", b"later"))

    def test_read_again(self) -> None:
        """Our own reader of answers takes what we send, and makes the same of it."""
        head = answer(
            b"content-type: text/plain", b"set-cookie: a=b", b"server: x", b"date: y", b"content-length: 5"
        )
        decoder = FieldDecoder(read_response_field)
        again = response_head(decoder.decode(response_block(head, DATE)))
        self.assertEqual(again.start.lower(), head.start.lower())
        self.assertTrue(again.is_complete)

    def test_tunnel(self) -> None:
        """200 opens a tunnel where upstream says 101; what proves a handshake of HTTP/1.1 is left out (RFC 8441)."""
        head = answer(
            b"Upgrade: websocket",
            b"Connection: Upgrade",
            b"Sec-WebSocket-Accept: x",
            b"Sec-WebSocket-Protocol: chat",
            b"Strict-Transport-Security: max-age=1",
            status=b"101 Switching Protocols",
        )
        start = [(b":status", b"200"), (b"sec-websocket-protocol", b"chat")]
        end = [(b"server", b"txingress"), (b"date", DATE)]
        found = fields_in(tunnel_block(head, DATE))
        self.assertEqual(found, [*start, (b"strict-transport-security", b"max-age=1"), *end])


class TrailersBlockTests(SynchronousTestCase):
    """Trailers for downstream."""

    def test_lines(self) -> None:
        """Each line is a field."""
        self.assertEqual(
            fields_in(trailers_block([b"grpc-status: 0", b"X-Sum:abc", b"grpc-message: "])),
            [(b"grpc-status", b"0"), (b"x-sum", b"abc"), (b"grpc-message", b"")],
        )
        self.assertEqual(trailers_block([]), b"")


class RequestBlockTests(SynchronousTestCase):
    """Heads of requests for upstream."""

    def test_from_http_1(self) -> None:
        """A request of HTTP/1.1 has pseudo fields first, then its fields, and none of a connection."""
        head = parse_request_head(
            b"POST /a?b HTTP/1.1\r\nHost: A.test:80\r\nAccept: */*\r\nTE: trailers\r\nConnection: close, x-gone\r\n"
            b"X-Gone: y\r\nKeep-Alive: 5\r\nContent-Length: 05\r\nExpect: 100-continue\r\nCookie: c"
        )
        found = fields_in(request_block(head, b"http", upstream_fields_of(head, b"id1", PEER)))
        self.assertEqual(
            found[:9],
            [
                (b":scheme", b"http"),
                (b":method", b"POST"),
                (b":path", b"/a?b"),
                (b":authority", b"A.test:80"),
                (b"accept", b"*/*"),
                (b"cookie", b"c"),
                (b"content-length", b"5"),
                (b"expect", b"100-continue"),
                (b"x-request-id", b"id1"),
            ],
        )
        self.assertEqual(found[9][0], b"x-forwarded-host")

    def test_again(self) -> None:
        """A head that was sent before is sent with other fields of the proxy's, and over another scheme."""
        head = parse_request_head(b"GET / HTTP/1.1\r\nHost: a\r\nAccept: */*")
        for scheme, added in (
            (b"http", b"X-Request-ID: 1\r\nX: y\r\n"),
            (b"https", b"X: z\r\n"),
            (b"http", b""),
        ):
            found = fields_in(request_block(head, scheme, head.forward + added))
            lines = [tuple(line.lower().split(b": ")) for line in added.splitlines()]
            self.assertEqual((found[0], found[4:]), ((b":scheme", scheme), [(b"accept", b"*/*"), *lines]))

    def test_no_connection_fields(self) -> None:
        """Nothing goes on that belongs to a connection of HTTP/1.1."""
        head = parse_request_head(
            b"POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: close, x-gone\r\n"
            b"X-Gone: y\r\nKeep-Alive: 5\r\nTransfer-Encoding: chunked"
        )
        found = fields_in(request_block(head, b"http", upstream_fields_of(head, b"id1", PEER)))
        names = [name for name, _ in found]
        self.assertEqual(names, [name.lower() for name in names])
        for name in (b"host", b"te", b"connection", b"keep-alive", b"x-gone", b"transfer-encoding"):
            self.assertNotIn(name, names)

    def test_chunked(self) -> None:
        """A body without a length needs no field: the stream says where it ends."""
        head = parse_request_head(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked")
        expected = [(b":scheme", b"https"), (b":method", b"POST"), (b":path", b"/"), (b":authority", b"a")]
        self.assertEqual(fields_in(request_block(head, b"https", head.forward)), expected)

    def test_from_http_2(self) -> None:
        """That trailers are accepted goes on to those who can send some; the head that arrives is the same."""
        fields = (
            (b":method", b"POST"),
            (b":scheme", b"https"),
            (b":path", b"/a.B/C"),
            (b":authority", b"a.test"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
            (b"cookie", b"a=b"),
            (b"cookie", b"c=d"),
            (b"grpc-timeout", b"1S"),
        )
        head = request_head([read_request_field(name, value) for name, value in fields], False)
        block = request_block(head, b"http", head.forward)
        self.assertIn((b"te", b"trailers"), fields_in(block))
        again = request_head(FieldDecoder(read_request_field).decode(block), False)
        head.block = None
        for name in members(head):
            self.assertEqual(getattr(again, name), getattr(head, name), name)
        self.assertTrue(again.accepts_trailers)
