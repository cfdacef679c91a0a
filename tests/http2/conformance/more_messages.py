"""Rules about requests that the well-known cases leave out."""

from __future__ import annotations

from attrs import frozen

from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    PROTOCOL_ERROR,
    STREAM_CLOSED,
    Frame,
    block,
    data,
    headers,
)
from tests.http2.conformance.messages import also, malformed
from tests.http2.conformance.rows import (
    Answers,
    Outcome,
    Row,
    Step,
    StreamFails,
    changed,
    get,
    of_method,
    post,
    stream_fails,
    with_block,
)

LENGTH = [(b"content-length", b"4")]


@frozen
class Refuses(Outcome):
    """A stream error, or an answer that says that the request is at fault."""

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        statuses = client.statuses(1)
        return (bool(statuses) and 400 <= statuses[0] < 600 and statuses[0] != 404) or StreamFails(
            (PROTOCOL_ERROR,)
        ).meets(frames, client, strict)


def trailed(*fields: tuple[bytes, bytes]) -> tuple[Step, ...]:
    """An upload with these trailers."""
    return post(), data(1, b"test"), headers(1, block(fields))


NAMES = tuple(
    malformed("8.2.1", what, also((name, b"y")))
    for what, name in (
        ("an empty name", b""),
        ("a name with a space", b"x y"),
        ("a name with a space at its end", b"x "),
        ("a name with a colon inside", b"x:y"),
        ("a name with NUL", b"x\0y"),
        ("a name with CR and LF", b"x\r\ny"),
        ("a name with DEL", b"x\x7f"),
        ("a name beyond ASCII", b"x\xc3\xa4"),
        ("a name with a slash", b"x/y"),
    )
)

VALUES = tuple(
    malformed("8.2.1", what, also((b"x-value", value)))
    for what, value in (
        ("a value with NUL", b"y\0z"),
        ("a value with CR", b"y\rz"),
        ("a value with LF", b"y\nz"),
        ("a value with a request in it", b"y\r\n\r\nGET /admin HTTP/1.1\r\nhost: shop.test\r\n\r\n"),
        ("a value with a space first", b" y"),
        ("a value with a space last", b"y "),
        ("a value with a tab first", b"\ty"),
        ("a value with a tab last", b"y\t"),
    )
)

CONNECTION = tuple(
    malformed("8.2.2", f"the field {name.decode()}", also((name, value)))
    for name, value in (
        (b"connection", b"close"),
        (b"proxy-connection", b"keep-alive"),
        (b"keep-alive", b"timeout=5"),
        (b"transfer-encoding", b"chunked"),
        (b"upgrade", b"h2c"),
        (b"te", b"gzip"),
    )
)

PSEUDO = (
    malformed("8.3", "two paths", also((b":path", b"/"))),
    malformed("8.3", "two authorities", also((b":authority", b"shop.test"))),
    malformed("8.3", "a pseudo-header field in whole trailers", *trailed((b":path", b"/"))),
    malformed(
        "8.5",
        "a protocol without CONNECT",
        with_block(lambda fields: headers(1, fields + block([(b":protocol", b"websocket")]))),
    ),
    *(
        Row("8.3.1", what, (changed({name: (value,)}),), Refuses())
        for what, name, value in (
            ("a path without a slash", b":path", b"index"),
            ("a path that is a whole URI", b":path", b"http://other.test/"),
            ("a path with a space", b":path", b"/a b"),
            ("a path that ends a request line", b":path", b"/ HTTP/1.1\r\nhost: other.test\r\n\r\n"),
            ("a path with NUL", b":path", b"/\0"),
            ("a path with a fragment", b":path", b"/a#b"),
            ("an asterisk without OPTIONS", b":path", b"*"),
            ("a method with a space", b":method", b"GET /admin"),
            ("an empty method", b":method", b""),
            ("a method with CR and LF", b":method", b"GET\r\n"),
            ("a scheme of something else", b":scheme", b"ftp"),
            ("an empty scheme", b":scheme", b""),
            ("a scheme with a space", b":scheme", b"http /"),
            ("an authority with a user", b":authority", b"me@shop.test"),
            ("an authority with a space", b":authority", b"shop.test other.test"),
            ("an authority with CR and LF", b":authority", b"shop.test\r\nx: y"),
            ("an authority with a path", b":authority", b"shop.test/admin"),
        )
    ),
    Row("8.3.1", "neither authority nor host", (changed({b":authority": ()}),), Refuses()),
    Row(
        "8.3.1", "host alone is enough", (changed({b":authority": ()}, [(b"host", b"shop.test")]),), Answers()
    ),
    Row("8.3.1", "host that agrees with the authority", (also((b"host", b"shop.test")),), Answers()),
    Row("8.3.1", "host that differs from the authority", (also((b"host", b"other.test")),), Refuses()),
    Row(
        "8.3.1",
        "two hosts without an authority",
        (changed({b":authority": ()}, [(b"host", b"shop.test"), (b"host", b"other.test")]),),
        Refuses(),
    ),
    Row(
        "8.3.1",
        "OPTIONS of an asterisk",
        (changed({b":method": (b"OPTIONS",), b":path": (b"*",)}),),
        Answers(),
    ),
    Row(
        "8.5",
        "CONNECT without a protocol",
        (changed({b":method": (b"CONNECT",), b":scheme": (), b":path": ()}),),
        Refuses(),
    ),
    Row("8.5", "CONNECT with a path", (of_method(b"CONNECT"),), Refuses()),
    Row(
        "8.5",
        "a protocol that nobody knows",
        (
            with_block(
                lambda fields: headers(1, block([(b":protocol", b"carrier-pigeon")]) + fields, ended=False),
                b"CONNECT",
            ),
        ),
        Refuses(),
    ),
)

BODIES = (
    malformed("8.1.1", "a content-length and no body", get(more=LENGTH)),
    malformed("8.1.1", "less than the content-length", post(more=LENGTH), data(1, b"abc", ended=True)),
    malformed(
        "8.1.1",
        "less than the content-length before trailers",
        post(more=LENGTH),
        data(1, b"abc"),
        headers(1, block([(b"x", b"y")])),
    ),
    malformed("8.1.1", "an empty body and a content-length", post(more=LENGTH), data(1, b"", ended=True)),
    Row(
        "8.1.1",
        "exactly the content-length",
        (post(more=LENGTH), data(1, b"ab"), data(1, b"cd", ended=True)),
        Answers(),
    ),
    Row("8.1.1", "a content-length of nothing", (get(more=[(b"content-length", b"0")]),), Answers()),
    Row(
        "8.1.1",
        "a content-length that is no number",
        (post(more=[(b"content-length", b"4x")]), data(1, b"test", ended=True)),
        Refuses(),
    ),
    Row(
        "8.1.1",
        "two content-lengths that differ",
        (post(more=[*LENGTH, (b"content-length", b"5")]), data(1, b"test", ended=True)),
        Refuses(),
    ),
    Row("8.1", "DATA behind trailers", (*trailed((b"x", b"y")), data(1, b"x")), stream_fails(STREAM_CLOSED)),
    Row("8.1", "trailers without a body", (post(), headers(1, block([(b"x", b"y")]))), Answers()),
    malformed("8.2.2", "a field of the connection in trailers", *trailed((b"transfer-encoding", b"chunked"))),
    malformed("8.2", "a name in upper case in trailers", *trailed((b"X", b"y"))),
    malformed("8.2.1", "a value with LF in trailers", *trailed((b"x", b"y\nz"))),
    Row("8.2.2", "TE that wants trailers", (get(more=[(b"te", b"trailers")]),), Answers()),
    Row(
        "8.2.3",
        "a cookie in several fields",
        (get(more=[(b"cookie", b"a=b"), (b"cookie", b"c=d")]),),
        Answers(),
    ),
    Row("8.4", "a malformed request harms no other", (also((b"X", b"y")), get(3)), Answers(3)),
)

ROWS = NAMES + VALUES + CONNECTION + PSEUDO + BODIES
