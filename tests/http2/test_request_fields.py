"""Tests for ``ingress.http2.request_fields``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.grammar import MAX_FIELDS, MAX_REQUEST_LINE
from ingress.http.request_head import HeadError, RequestHead, parse_request_head
from ingress.http2.faults import ErrorCode, Malformed
from ingress.http2.request_fields import (
    RequestField,
    check_request_trailers,
    read_request_field,
    request_head,
)
from tests.http.members import members

Fields = tuple[tuple[bytes, bytes], ...]

USUAL: Fields = ((b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"a.test"), (b":path", b"/"))
WEBSOCKET: Fields = (
    (b":method", b"CONNECT"),
    (b":protocol", b"websocket"),
    (b":scheme", b"https"),
    (b":path", b"/chat?a=b"),
    (b":authority", b"a.test"),
)


def read(fields: Fields) -> list[RequestField]:
    """Read *fields* as they would come out of a block."""
    return [read_request_field(name, value) for name, value in fields]


def head_of(*fields: tuple[bytes, bytes], ended: bool = True, pseudo: Fields = USUAL) -> RequestHead:
    """The head of a request with these fields."""
    return request_head(read(pseudo + fields), ended)


def having(**changes: bytes) -> Fields:
    """The usual pseudo fields with other values, by their names without the colon."""
    return tuple((name, changes.get(name[1:].decode(), value)) for name, value in USUAL)


class HeadTests(SynchronousTestCase):
    """What becomes of a request."""

    def test_whole(self) -> None:
        """A request of a browser becomes the head that it would have been in HTTP/1.1."""
        fields: Fields = (
            (b"user-agent", b"Mozilla/5.0"),
            (b"accept", b"*/*"),
            (b"priority", b"u=0, i"),
            (b"x-request-id", b"id-1"),
            (b"x-forwarded-for", b"192.0.2.1"),
            (b"x-forwarded-for", b"192.0.2.2"),
            (b"x-real-ip", b"192.0.2.3"),
            (b"x_real_ip", b"192.0.2.4"),
            (b"ssl-client-verify", b"SUCCESS"),
            (b"proxy", b"evil.test"),
            (b"proxy-authorization", b"Basic x"),
            (b"http2-settings", b"AAMAAABk"),
            (b"trailer", b"x"),
            (b"authorization", b"Bearer x"),
        )
        head = head_of(*fields, pseudo=having(path=b"/a/b?c=d", authority=b"A.test:8443"))
        lines = [b"GET /a/b?c=d HTTP/1.1", b"Host: A.test:8443", *(b"%b: %b" % field for field in fields)]
        same = parse_request_head(b"\r\n".join(lines))
        names = members(same)
        self.assertGreater(len(names), 15)
        for name in names:
            self.assertEqual(getattr(head, name), getattr(same, name), name)
        self.assertEqual(
            head.forward,
            b"user-agent: Mozilla/5.0\r\naccept: */*\r\npriority: u=0, i\r\nauthorization: Bearer x\r\n",
        )
        said = {b"x-forwarded-for": b"192.0.2.1, 192.0.2.2", b"x-real-ip": b"192.0.2.3"}
        self.assertEqual(head.forwarded, said)

    def test_pseudo_fields(self) -> None:
        """Their order does not matter; method, target and authority are taken as they are."""
        for pseudo, method, target, path, authority in (
            (USUAL, b"GET", b"/", b"/", b"a.test"),
            (USUAL[::-1], b"GET", b"/", b"/", b"a.test"),
            (having(method=b"m-search", path=b"//%41?x?y"), b"m-search", b"//%41?x?y", b"//%41", b"a.test"),
            (having(method=b"OPTIONS", path=b"*"), b"OPTIONS", b"*", b"*", b"a.test"),
            (having(scheme=b"http", authority=b"[::1]:80"), b"GET", b"/", b"/", b"[::1]:80"),
            (having(path=b'/:x@y\\|^"<>`{}'), b"GET", b'/:x@y\\|^"<>`{}', b'/:x@y\\|^"<>`{}', b"a.test"),
        ):
            head = head_of(pseudo=pseudo)
            self.assertEqual(
                (head.method, head.target, head.path, head.authority), (method, target, path, authority)
            )

    def test_host(self) -> None:
        """Host stands in for a missing :authority, and may repeat it; it does not go on by itself."""
        without = tuple(field for field in USUAL if field[0] != b":authority")
        for pseudo, host, authority in (
            (without, b"b.test", b"b.test"),
            (USUAL, b"a.test", b"a.test"),
            (USUAL, b"A.Test", b"a.test"),
        ):
            head = head_of((b"host", host), pseudo=pseudo)
            self.assertEqual((head.authority, head.forward), (authority, b""))

    def test_cookies(self) -> None:
        """Several cookie fields become one line (RFC 9113 section 8.2.3)."""
        head = head_of(
            (b"cookie", b"a=b"), (b"accept", b"*/*"), (b"cookie", b"c=d"), (b"cookie", b"e=f; g=h")
        )
        self.assertEqual(head.forward, b"accept: */*\r\ncookie: a=b; c=d; e=f; g=h\r\n")

    def test_te(self) -> None:
        """That a client takes trailers is noted, and does not go on as a line of HTTP/1.1."""
        for value in (b"trailers", b"Trailers"):
            head = head_of((b"te", value))
            self.assertEqual((head.accepts_trailers, head.forward), (True, b""))
        self.assertFalse(head_of().accepts_trailers)

    def test_request_id(self) -> None:
        """A request id that makes sense is kept, any other is forgotten."""
        self.assertEqual(head_of((b"x-request-id", b"abc")).request_id, b"abc")
        for value in (b"a b", b"", b"\xe4", b"x" * 129):
            self.assertEqual(head_of((b"x-request-id", value)).request_id, b"")

    def test_websocket_fields_of_others(self) -> None:
        """What belongs to the handshake of HTTP/1.1 means nothing without one, and goes on as there."""
        self.assertEqual(head_of((b"sec-websocket-key", b"x")).forward, b"sec-websocket-key: x\r\n")


class BodyTests(SynchronousTestCase):
    """What is known of the content."""

    def test_framing(self) -> None:
        """A body that follows has the length that is given, or is chunked; the end of the stream says that none does."""
        length = (b"content-length", b"5")
        for method, fields, ended, has_body, content_length, chunked in (
            (b"GET", (), True, False, -1, False),
            (b"DELETE", (), True, False, -1, False),
            (b"POST", (), True, False, 0, False),
            (b"PUT", (), True, False, 0, False),
            (b"PATCH", (), True, False, 0, False),
            (b"POST", ((b"content-length", b"0"),), True, False, 0, False),
            (b"POST", ((b"content-length", b"0"),), False, True, 0, False),
            (b"POST", (), False, True, -1, True),
            (b"GET", (), False, True, -1, True),
            (b"POST", (length,), False, True, 5, False),
            (b"POST", ((b"content-length", b"9" * 18),), False, True, 10**18 - 1, False),
        ):
            head = head_of(*fields, ended=ended, pseudo=having(method=method))
            found = (head.has_body, head.content_length, head.chunked)
            self.assertEqual(found, (has_body, content_length, chunked), (method, fields, ended))

    def test_expectation(self) -> None:
        """100-continue is expected only with a body; whatever else is expected is refused."""
        expect = (b"expect", b"100-Continue")
        self.assertTrue(head_of(expect, ended=False).expect_continue)
        self.assertFalse(head_of(expect).expect_continue)
        self.assertEqual(head_of(expect, ended=False).forward, b"")


class TunnelTests(SynchronousTestCase):
    """Extended CONNECT (RFC 8441)."""

    def test_websocket(self) -> None:
        """A WebSocket becomes the GET with an upgrade that it is in HTTP/1.1."""
        head = head_of(
            (b"sec-websocket-version", b"13"),
            (b"sec-websocket-key", b"x"),
            (b"sec-websocket-accept", b"y"),
            (b"origin", b"https://a.test"),
            ended=False,
            pseudo=WEBSOCKET,
        )
        self.assertEqual((head.method, head.target, head.path), (b"GET", b"/chat?a=b", b"/chat"))
        self.assertEqual((head.upgrade, head.connect_protocol), (b"websocket", b"websocket"))
        self.assertEqual((head.has_body, head.chunked, head.content_length), (False, False, -1))
        self.assertEqual(head.forward, b"sec-websocket-version: 13\r\norigin: https://a.test\r\n")

    def test_malformed(self) -> None:
        """A tunnel that ended, has a length, or lacks a part of its target is malformed."""
        for fields, ended, pseudo in (
            ((), True, WEBSOCKET),
            (((b"content-length", b"0"),), False, WEBSOCKET),
            (((b"content-length", b"5"),), False, WEBSOCKET),
            *(((), False, tuple(field for field in WEBSOCKET if field[0] != name)) for name in (b":scheme", b":path", b":authority")),
            ((), False, (*WEBSOCKET, (b":protocol", b"websocket"))),
            ((), False, ((b":method", b"GET"), *WEBSOCKET[1:])),
            ((), False, ((b":method", b"TRACE"), *WEBSOCKET[1:])),
            ((), False, tuple((name, b"a b" if name == b":protocol" else value) for name, value in WEBSOCKET)),
        ):  # fmt: skip
            with self.assertRaises(Malformed):
                head_of(*fields, ended=ended, pseudo=pseudo)


class RefusalTests(SynchronousTestCase):
    """What is answered, and does not go on."""

    def test_statuses(self) -> None:
        """The status says what is wrong, as in HTTP/1.1."""
        protocol = tuple(
            (name, b"connect-udp" if name == b":protocol" else value) for name, value in WEBSOCKET
        )
        many = tuple((b"x-%d" % number, b"v") for number in range(MAX_FIELDS + 1))
        for name, fields, ended, pseudo, status in (
            ("CONNECT", (), False, ((b":method", b"CONNECT"), (b":authority", b"a.test:443")), 501),
            ("CONNECT with a target", (), False, having(method=b"CONNECT"), 501),
            ("extended CONNECT for what we do not know", (), False, protocol, 501),
            ("TRACE", (), True, having(method=b"TRACE"), 405),
            ("an expectation", ((b"expect", b"tea"),), False, USUAL, 417),
            ("two expectations", ((b"expect", b"100-continue"),) * 2, False, USUAL, 417),
            ("many fields", many, True, USUAL, 431),
            (
                "many fields of one name",
                ((b"x-forwarded-for", b"192.0.2.1"),) * (MAX_FIELDS + 1),
                True,
                USUAL,
                431,
            ),
            ("a long target", (), True, having(path=b"/" + b"a" * (MAX_REQUEST_LINE - 13)), 414),
        ):
            with self.assertRaises(HeadError, msg=name) as caught:
                head_of(*fields, ended=ended, pseudo=pseudo)
            self.assertEqual(caught.exception.status, status, name)

    def test_limits(self) -> None:
        """What is just within the limits goes on; cookies that became one line count as one."""
        many = tuple((b"x-%d" % number, b"v") for number in range(MAX_FIELDS))
        self.assertEqual(head_of(*many).forward.count(b"\r\n"), MAX_FIELDS)
        crumbs = ((b"cookie", b"a=b"),) * MAX_FIELDS
        self.assertEqual(head_of(*many[1:], *crumbs).forward.count(b"\r\n"), MAX_FIELDS)
        target = b"/" + b"a" * (MAX_REQUEST_LINE - 14)
        self.assertEqual(head_of(pseudo=having(path=target)).target, target)


class TrailerTests(SynchronousTestCase):
    """Trailers of a request end here."""

    def test_fine(self) -> None:
        """Fields that could stand in a head may come."""
        check_request_trailers(read(((b"x-checksum", b"abc"), (b"grpc-status", b"0"))))
        check_request_trailers([])

    def test_malformed(self) -> None:
        """Pseudo fields, and what would be malformed in a head, are malformed here too."""
        for field in (
            *USUAL,
            (b":x", b"y"),
            (b"X", b"y"),
            (b"x", b"a\nb"),
            (b"connection", b"close"),
            (b"te", b"gzip"),
        ):
            with self.assertRaises(Malformed, msg=str(field)) as caught:
                check_request_trailers(read(((b"x", b"y"), field)))
            self.assertIs(caught.exception.code, ErrorCode.PROTOCOL_ERROR)
