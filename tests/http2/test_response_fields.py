"""Tests for ``ingress.http2.response_fields``."""

from http import HTTPStatus

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.answer import downstream_head, framing_of
from ingress.http.grammar import MAX_FIELDS
from ingress.http.response_head import ResponseHead, parse_response_head
from ingress.http2.faults import ErrorCode, Malformed
from ingress.http2.response_fields import ResponseField, read_response_field, response_head, trailer_lines
from tests.http.strict import read_answer
from tests.properties import examples

Fields = tuple[tuple[bytes, bytes], ...]

STATUS: Fields = ((b":status", b"200"),)


def read(fields: Fields) -> list[ResponseField]:
    """Read *fields* as they would come out of a block."""
    return [read_response_field(name, value) for name, value in fields]


def head_of(*fields: tuple[bytes, bytes], status: bytes = b"200") -> ResponseHead:
    """The head of an answer with *status* and these fields."""
    return response_head(read(((b":status", status), *fields)))


class HeadTests(SynchronousTestCase):
    """What becomes of an answer."""

    def test_whole(self) -> None:
        """An answer becomes the head that it would have been in HTTP/1.1."""
        for fields in (
            (),
            (
                (b"content-type", b"text/plain"),
                (b"set-cookie", b"a=b"),
                (b"set-cookie", b"c=d"),
                (b"x_y", b"z"),
            ),
            (
                (b"date", b"now"),
                (b"server", b"x"),
                (b"strict-transport-security", b"max-age=1"),
                (b"te", b"x"),
            ),
            ((b"date", b"now"), (b"server", b"x"), (b"content-length", b"05")),
            ((b"content-length", b"5"), (b"trailer", b"x")),
        ):
            for status, phrase in (
                (b"200", b"OK"),
                (b"204", b"No Content"),
                (b"404", b"Not Found"),
                (b"599", b""),
            ):
                head = head_of(*fields, status=status)
                lines = [b"HTTP/1.1 %b %b" % (status, phrase), *(b"%b: %b" % field for field in fields)]
                same = parse_response_head(b"\r\n".join(lines))
                for name in ("status", "content_length", "has_body", "has_date", "has_server", "is_complete", "chunked", "upgrade"):  # fmt: skip
                    self.assertEqual(getattr(head, name), getattr(same, name), (name, status, fields))
                # Where the length stands, its name is written in our way.
                self.assertEqual(head.start, same.start.replace(b"Content-Length", b"content-length"))
                self.assertTrue(head.keep_alive)

    def test_statuses(self) -> None:
        """A status of three digits goes on, with its usual phrase in HTTP/1.1 if there is one."""
        for status in HTTPStatus:
            if status != HTTPStatus.SWITCHING_PROTOCOLS:
                start = b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode())
                self.assertEqual(head_of(status=b"%d" % status).start, start)
        for number in (199, 299, 600, 999):
            self.assertEqual(head_of(status=b"%d" % number).start, b"HTTP/1.1 %d \r\n" % number)

    def test_interim(self) -> None:
        """An interim answer has its fields, and no body."""
        head = head_of((b"link", b"</a>; rel=preload"), status=b"103")
        self.assertEqual((head.status, head.has_body, head.is_complete), (103, False, False))
        self.assertEqual(head.start, b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n")

    def test_malformed(self) -> None:
        """What two readers could read differently, or belongs to one connection, reaches nobody."""
        many = tuple((b"x-%d" % number, b"v") for number in range(2 * MAX_FIELDS))
        for name, fields in (
            ("nothing", ()),
            ("no :status", ((b"x", b"y"),)),
            (":status behind a field", ((b"x", b"y"), *STATUS)),
            ("two :status", STATUS * 2),
            ("101", ((b":status", b"101"),)),
            *((f":status {value!r}", ((b":status", value),)) for value in (b"", b"20", b"2000", b"099", b"+20", b"2 0", b"20x", b"\xb2\xb3\xb9", b"200 OK")),
            *((f"pseudo field {name!r}", (*STATUS, (name, b"/"))) for name in (b":path", b":method", b":x")),
            *((f"{name!r}", (*STATUS, (name, b"close"))) for name in (b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade")),
            *((f"content-length {value!r}", (*STATUS, (b"content-length", value))) for value in (b"", b"-1", b"+1", b"0x1", b"1,1", b"9" * 19, b"a")),
            ("two lengths", (*STATUS, (b"content-length", b"1"), (b"content-length", b"1"))),
            ("upper case", (*STATUS, (b"Server", b"x"))),
            ("colon in a name", (*STATUS, (b"a:b", b"x"))),
            ("space in a name", (*STATUS, (b"content-length ", b"1"))),
            ("line ending in a value", (*STATUS, (b"x", b"y\r\nset-cookie: a=b"))),
            ("line feed in a value", (*STATUS, (b"location", b"/\nset-cookie: a=b"))),
            ("line ending in a name", (*STATUS, (b"x: y\r\nset-cookie", b"a=b"))),
            ("NUL in a value", (*STATUS, (b"date", b"\x00"))),
            ("space around a value", (*STATUS, (b"server", b" x"))),
            ("many fields", (*STATUS, *many)),
        ):  # fmt: skip
            with self.assertRaises(Malformed, msg=name) as caught:
                response_head(read(fields))
            self.assertIs(caught.exception.code, ErrorCode.PROTOCOL_ERROR, name)
        self.assertEqual(head_of(*many[1:]).status, 200)


class TrailerTests(SynchronousTestCase):
    """Trailers of an answer."""

    def test_go_on(self) -> None:
        """What says something about the content goes on, as lines."""
        fields = ((b"grpc-status", b"0"), (b"grpc-message", b""), (b"x-checksum", b"abc"))
        self.assertEqual(
            trailer_lines(read(fields)), [b"grpc-status: 0", b"grpc-message: ", b"x-checksum: abc"]
        )
        self.assertEqual(trailer_lines([]), [])

    def test_stop_here(self) -> None:
        """Framing, routing, trust and the like mean nothing behind a body (RFC 9110 section 6.5.1)."""
        for name in (
            b"content-length",
            b"set-cookie",
            b"host",
            b"date",
            b"server",
            b"te",
            b"authorization",
            b"location",
        ):
            value = b"1"
            self.assertEqual(trailer_lines(read(((b"x", b"y"), (name, value)))), [b"x: y"], name)

    def test_malformed(self) -> None:
        """Pseudo fields, and what would be malformed in a head, are malformed here too."""
        for field in (
            *STATUS,
            (b":path", b"/"),
            (b"X", b"y"),
            (b"x", b"a\r\nb"),
            (b"connection", b"close"),
            (b"content-length", b"a"),
        ):
            with self.assertRaises(Malformed, msg=str(field)):
                trailer_lines(read(((b"x", b"y"), field)))


OCTETS = st.binary(max_size=8)
TEXT = st.text("abcx019-_:/ \t\r\n\x00\xe4", max_size=8).map(lambda text: text.encode("latin-1"))
KNOWN = st.sampled_from(
    b"content-type content-length date server set-cookie strict-transport-security connection te x".split()
)
PLAIN = st.tuples(
    st.sampled_from(b"content-type set-cookie date server x_y strict-transport-security te x".split()),
    TEXT.map(lambda text: bytes(octet for octet in text if octet > 0x1F).strip()),
)
FIELD = st.integers(0, 7).flatmap(lambda number: PLAIN if number else st.tuples(KNOWN | TEXT, TEXT | OCTETS))
ANSWER = st.sampled_from(
    [b"100", b"103", b"200", b"200", b"204", b"304", b"404", b"500", b"777", b"101", b"20"]
)
LENGTH = st.sampled_from([None, None, b"0", b"5", b"05", b"x"])


class StrictTests(SynchronousTestCase):
    """What is taken is one answer to whoever reads it."""

    accepted = 0

    def test_strict(self) -> None:
        """Whatever is accepted goes on as one message that a strict reader reads as we did; much is accepted."""
        self.check()
        self.assertGreater(self.accepted, examples(800) * 3 / 8)

    @settings(max_examples=examples(800), derandomize=True, deadline=None)
    @given(ANSWER, LENGTH, st.lists(FIELD, max_size=4))
    def check(self, status: bytes, length: bytes | None, fields: list[tuple[bytes, bytes]]) -> None:
        if length is not None:
            fields = [*fields, (b"content-length", length)]
        try:
            head = head_of(*fields, status=status)
        except Malformed:
            return
        self.accepted += 1
        if head.status < 200:
            octets = head.start + b"\r\n"
        else:
            octets = downstream_head(head, framing_of(head, b"GET", 1), 1, True, b"today")
            if head.has_body:
                octets += b"b" * head.content_length if head.content_length >= 0 else b"0\r\n\r\n"
        message, rest = read_answer(octets + b"rest")
        self.assertEqual(rest, b"rest")
        self.assertEqual(message.start[1], status)
        self.assertEqual(message.values(b"connection"), [])
        self.assertEqual(message.values(b"te"), [])
        for name, value in message.fields:
            if name == name.lower() and name != b"content-length":
                self.assertIn((name, value), fields)
