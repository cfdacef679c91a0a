"""What a client of HTTP/2 could smuggle into HTTP/1.1, and that nothing of it goes on (RFC 9113 section 10.3)."""

from typing import TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.forwarding import origin_of_peer, request_head_bytes, upstream_fields_of
from ingress.http.request_head import HeadError, RequestHead
from ingress.http2.faults import Malformed
from ingress.http2.request_fields import read_request_field, request_head
from tests.http.strict import read_request
from tests.properties import examples

T = TypeVar("T")
Fields = list[tuple[bytes, bytes]]

PEER = origin_of_peer(b"198.51.100.7", b"https", 443)
PSEUDO = ((b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"a.test"), (b":path", b"/"))


def with_pseudo(name: bytes, value: bytes) -> Fields:
    """A request with another value of the pseudo field *name*."""
    return [(known, value if known == name else usual) for known, usual in PSEUDO]


def without_pseudo(name: bytes) -> Fields:
    """A request without the pseudo field *name*."""
    return [field for field in PSEUDO if field[0] != name]


def with_field(*fields: tuple[bytes, bytes]) -> Fields:
    """A request with these fields behind its pseudo fields."""
    return [*PSEUDO, *fields]


ENDED = True
BODY = False

# Name, fields, whether the stream ends with them.
CASES: tuple[tuple[str, Fields, bool], ...] = (
    # Line endings, and what some take for one
    ("a line ending in a value", with_field((b"x", b"y\r\nHost: b.test")), ENDED),
    ("a line feed in a value", with_field((b"x", b"y\nHost: b.test")), ENDED),
    ("a carriage return in a value", with_field((b"x", b"y\rHost: b.test")), ENDED),
    ("NUL in a value", with_field((b"x", b"y\x00z")), ENDED),
    ("a request behind a value", with_field((b"x", b"y\r\n\r\nGET /b HTTP/1.1\r\nHost: b")), ENDED),
    ("a line ending in a cookie", with_field((b"cookie", b"a=b\r\nx: y")), ENDED),
    ("a line ending in a name", with_field((b"x\r\ny", b"z")), ENDED),
    ("a line feed in a name", with_field((b"x\ny", b"z")), ENDED),
    # White space
    ("space before a value", with_field((b"x", b" y")), ENDED),
    ("space behind a value", with_field((b"x", b"y ")), ENDED),
    ("tab before a value", with_field((b"x", b"\ty")), ENDED),
    ("space behind a length", with_field((b"content-length", b"5 ")), BODY),
    # Names
    ("no name", with_field((b"", b"y")), ENDED),
    ("space in a name", with_field((b"x y", b"z")), ENDED),
    ("space behind a name", with_field((b"transfer-encoding ", b"chunked")), BODY),
    ("colon in a name", with_field((b"x:y", b"z")), ENDED),
    ("a field in a name", with_field((b"transfer-encoding: chunked\r\nx", b"y")), BODY),
    ("upper case in a name", with_field((b"X-Upper", b"y")), ENDED),
    ("transfer-encoding in upper case", with_field((b"Transfer-Encoding", b"chunked")), BODY),
    ("a name that is not ASCII", with_field((b"x\xe4", b"y")), ENDED),
    ("DEL in a name", with_field((b"x\x7f", b"y")), ENDED),
    # What belongs to one connection
    ("transfer-encoding", with_field((b"transfer-encoding", b"chunked")), BODY),
    ("transfer-encoding and a length", with_field((b"content-length", b"5"), (b"transfer-encoding", b"chunked")), BODY),
    ("connection", with_field((b"connection", b"close")), ENDED),
    ("connection that names a field", with_field((b"connection", b"x-real-ip")), ENDED),
    ("proxy-connection", with_field((b"proxy-connection", b"keep-alive")), ENDED),
    ("keep-alive", with_field((b"keep-alive", b"timeout=5")), ENDED),
    ("upgrade", with_field((b"upgrade", b"h2c")), ENDED),
    ("te with a coding", with_field((b"te", b"gzip")), ENDED),
    ("te with more than trailers", with_field((b"te", b"trailers, gzip")), ENDED),
    # Lengths
    ("a length and no content", with_field((b"content-length", b"5")), ENDED),
    ("a length that is no number", with_field((b"content-length", b"five")), BODY),
    ("a length with a sign", with_field((b"content-length", b"+5")), BODY),
    ("a negative length", with_field((b"content-length", b"-5")), BODY),
    ("a length in hexadecimal", with_field((b"content-length", b"0x5")), BODY),
    ("a list of lengths", with_field((b"content-length", b"5, 5")), BODY),
    ("an empty length", with_field((b"content-length", b"")), BODY),
    ("a length beyond 63 bits", with_field((b"content-length", b"9" * 19)), BODY),
    ("two lengths", with_field((b"content-length", b"5"), (b"content-length", b"6")), BODY),
    ("the same length twice", with_field((b"content-length", b"5"), (b"content-length", b"5")), BODY),
    # :path
    ("a request in :path", with_pseudo(b":path", b"/ HTTP/1.1\r\nHost: b.test\r\nX: y"), ENDED),
    ("space in :path", with_pseudo(b":path", b"/a b"), ENDED),
    ("tab in :path", with_pseudo(b":path", b"/a\tb"), ENDED),
    ("fragment in :path", with_pseudo(b":path", b"/a#b"), ENDED),
    (":path that is not ASCII", with_pseudo(b":path", b"/\xe4"), ENDED),
    ("DEL in :path", with_pseudo(b":path", b"/\x7f"), ENDED),
    ("empty :path", with_pseudo(b":path", b""), ENDED),
    ("relative :path", with_pseudo(b":path", b"a"), ENDED),
    ("only a query in :path", with_pseudo(b":path", b"?a"), ENDED),
    ("absolute :path", with_pseudo(b":path", b"http://b.test/"), ENDED),
    ("* without OPTIONS", with_pseudo(b":path", b"*"), ENDED),
    ("** with OPTIONS", [(b":method", b"OPTIONS"), *with_pseudo(b":path", b"**")[1:]], ENDED),
    ("no :path", without_pseudo(b":path"), ENDED),
    ("two :path", [*PSEUDO, (b":path", b"/b")], ENDED),
    # :method
    ("a request in :method", with_pseudo(b":method", b"GET / HTTP/1.1\r\nHost: b.test\r\n\r\nGET"), ENDED),
    ("space in :method", with_pseudo(b":method", b"GET /admin HTTP/1.1"), ENDED),
    ("empty :method", with_pseudo(b":method", b""), ENDED),
    (":method that is no token", with_pseudo(b":method", b"G(T"), ENDED),
    ("no :method", without_pseudo(b":method"), ENDED),
    ("two :method", [(b":method", b"POST"), *PSEUDO], ENDED),
    # :scheme
    ("a URI in :scheme", with_pseudo(b":scheme", b"http://b.test/?"), ENDED),
    ("a scheme that is not served", with_pseudo(b":scheme", b"ftp"), ENDED),
    ("line ending in :scheme", with_pseudo(b":scheme", b"https\r\nx: y"), ENDED),
    ("empty :scheme", with_pseudo(b":scheme", b""), ENDED),
    ("no :scheme", without_pseudo(b":scheme"), ENDED),
    ("two :scheme", [(b":scheme", b"http"), *PSEUDO], ENDED),
    # :authority and host
    ("line ending in :authority", with_pseudo(b":authority", b"a.test\r\nx: y"), ENDED),
    ("user information in :authority", with_pseudo(b":authority", b"b.test@a.test"), ENDED),
    ("space in :authority", with_pseudo(b":authority", b"a.test b.test"), ENDED),
    ("path in :authority", with_pseudo(b":authority", b"a.test/b"), ENDED),
    ("query in :authority", with_pseudo(b":authority", b"a.test?b"), ENDED),
    ("fragment in :authority", with_pseudo(b":authority", b"a.test#b"), ENDED),
    ("backslash in :authority", with_pseudo(b":authority", b"a.test\\b"), ENDED),
    ("empty :authority", with_pseudo(b":authority", b""), ENDED),
    ("empty :authority and a host", [*with_pseudo(b":authority", b""), (b"host", b"a.test")], ENDED),
    ("two :authority", [*PSEUDO, (b":authority", b"b.test")], ENDED),
    ("neither :authority nor host", without_pseudo(b":authority"), ENDED),
    ("another host", with_field((b"host", b"b.test")), ENDED),
    ("host with another port", with_field((b"host", b"a.test:443")), ENDED),
    ("empty host", with_field((b"host", b"")), ENDED),
    ("two hosts", with_field((b"host", b"a.test"), (b"host", b"a.test")), ENDED),
    ("two hosts without :authority", [*without_pseudo(b":authority"), (b"host", b"a"), (b"host", b"b")], ENDED),
    ("host with user information", [*without_pseudo(b":authority"), (b"host", b"b@a.test")], ENDED),
    # Pseudo fields
    ("a pseudo field behind the others", [*PSEUDO[:3], (b"x", b"y"), PSEUDO[3]], ENDED),
    ("a pseudo field behind one that is dropped", [*PSEUDO[:3], (b"x_y", b"z"), PSEUDO[3]], ENDED),
    ("an unknown pseudo field", [*PSEUDO, (b":x", b"y")], ENDED),
    (":status in a request", [*PSEUDO, (b":status", b"200")], ENDED),
    (":protocol without CONNECT", [*PSEUDO, (b":protocol", b"websocket")], BODY),
    ("nothing at all", [], ENDED),
)  # fmt: skip


def rendered(fields: Fields, ended: bool) -> tuple[RequestHead, bytes]:
    """The head that *fields* make, and as it goes upstream in HTTP/1.1."""
    head = request_head([read_request_field(name, value) for name, value in fields], ended)
    return head, request_head_bytes(head, upstream_fields_of(head, b"id1", PEER))


class DowngradeTests(SynchronousTestCase):
    """Nothing that is malformed goes on."""

    def test_nothing_goes_on(self) -> None:
        """Each of these requests is malformed, though it differs little from one that is fine."""
        for name, fields, ended in CASES:
            with self.assertRaises(Malformed, msg=name):
                rendered(fields, ended)

    def test_named_once(self) -> None:
        """Each case has a name of its own, and is not the same as another."""
        self.assertEqual(len({name for name, _, _ in CASES}), len(CASES))
        self.assertEqual(len({tuple(fields) for _, fields, _ in CASES}), len(CASES))

    def test_malformed_without_what_is_wrong(self) -> None:
        """What the cases are made of is fine by itself, so that each shows what it says."""
        for ended in (ENDED, BODY):
            head, octets = rendered(with_field((b"x", b"y"), (b"host", b"a.test")), ended)
            self.assertEqual(head.authority, b"a.test")
            self.assertTrue(octets.startswith(b"GET / HTTP/1.1\r\nHost: a.test\r\nx: y\r\n"))


OCTETS = st.binary(max_size=12)
TEXT = st.text("abcxyz019-_.~:/?#[]@!$&'()*+,;=%\"\\^ \t\r\n\x00", max_size=12).map(str.encode)
VALUES = TEXT | OCTETS
KNOWN = st.sampled_from(
    b"""host content-length transfer-encoding connection keep-alive te upgrade expect cookie x-request-id
    x-forwarded-for x-real-ip forwarded trailer accept sec-websocket-key x_y :path :method :authority""".split()
)
USUAL_VALUES = st.sampled_from(
    [b"a.test", b"5", b"0", b"chunked", b"trailers", b"100-continue", b"close", b"x", b"", b"websocket"]
)


def mostly(usual: st.SearchStrategy[T], rare: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """What is *usual*, and one time in eight what is *rare*: else hardly any request would be accepted."""
    return st.integers(0, 7).flatmap(lambda number: usual if number else rare)


PLAIN_FIELD = st.tuples(
    st.sampled_from(
        [b"x", b"accept", b"cookie", b"x-forwarded-for", b"x-request-id", b"x_y", b"content-type"]
    ),
    st.text("abc ;,=\xe4\t", max_size=8).map(lambda text: text.encode("latin-1").strip()),
)
FIELD = mostly(PLAIN_FIELD, st.tuples(KNOWN | VALUES, USUAL_VALUES | VALUES))
METHODS = mostly(st.sampled_from([b"GET", b"POST", b"OPTIONS", b"HEAD", b"m"]), st.just(b"TRACE") | VALUES)
PATHS = mostly(
    st.sampled_from([b"/", b"/a?b", b"//", b"/%00"]), st.just(b"*") | VALUES.map(lambda rest: b"/" + rest)
)
AUTHORITIES = mostly(st.sampled_from([b"a.test", b"A.test", b"[::1]:8", b"a:"]), VALUES)
FRAMING = st.sampled_from([None, None, b"0", b"5"])
TUNNEL = st.integers(0, 7).map(lambda number: number == 0)


class StrictTests(SynchronousTestCase):
    """What is taken is one request to whoever reads it."""

    accepted = tunnels = 0

    def test_strict(self) -> None:
        """Whatever is accepted goes on as one message that a strict reader reads as we did; much is accepted."""
        self.check()
        self.assertGreater(self.accepted, examples(900) / 3)
        self.assertGreater(self.tunnels, examples(900) / 90)

    @settings(
        max_examples=examples(900),
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.filter_too_much],
    )
    @given(METHODS, PATHS, AUTHORITIES, FRAMING, TUNNEL, st.lists(FIELD, max_size=4), st.booleans())
    def check(
        self,
        method: bytes,
        path: bytes,
        authority: bytes,
        length: bytes | None,
        is_tunnel: bool,
        fields: Fields,
        ended: bool,
    ) -> None:
        pseudo = [(b":method", method), (b":scheme", b"https"), (b":path", path), (b":authority", authority)]
        if is_tunnel:
            method = b"GET"
            pseudo[0] = (b":method", b"CONNECT")
            pseudo.append((b":protocol", b"websocket"))
        if length is not None:
            fields = [*fields, (b"content-length", length)]
        try:
            head, octets = rendered([*pseudo, *fields], ended)
        except Malformed:
            return
        except HeadError as error:
            self.assertIn(error.status, (405, 417, 501))
            return
        self.accepted += 1
        self.tunnels += is_tunnel
        body = b"0\r\n\r\n" if head.chunked else b"b" * max(0, min(head.content_length, 10**6))
        message, rest = read_request(octets + body + b"rest")
        self.assertEqual(rest, b"rest")
        self.assertEqual(message.start[:2], (method, path))
        self.assertEqual(message.values(b"host"), [authority])
        self.assertEqual(message.values(b"x-real-ip"), [b"198.51.100.7"])
        self.assertEqual(message.values(b"x-request-id"), [b"id1"])
        self.assertLessEqual(len(message.values(b"cookie")), 1)
        self.assertEqual(message.values(b"upgrade"), [b"websocket"] if is_tunnel else [])
        self.assertEqual(message.values(b"connection"), [b"Upgrade"] if is_tunnel else [])
        self.assertEqual(bool(message.values(b"transfer-encoding")), head.chunked)
        self.assertEqual(message.values(b"te"), [])
        ours = [name for name, _ in message.fields if name != name.lower()]
        self.assertLessEqual(len(message.fields), len(fields) + len(ours))
        for name, value in message.fields:
            self.assertNotIn(b"_", name)
            if name == name.lower() and name != b"cookie":
                self.assertIn((name, value), fields)
