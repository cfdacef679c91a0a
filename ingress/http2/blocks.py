"""Field blocks of what we send: heads and trailers as HPACK has them, from the lines that HTTP/1.1 has.

What depends on a head alone is kept with that head, so a request or an answer that was seen
before costs one look.  Nothing here can hold a field that belongs to one connection
(RFC 9113 section 8.2.2): no head keeps one that was read, in whatever protocol it came.
"""

from functools import lru_cache
from typing import Final

from ingress.http.answer import SERVER_LINE
from ingress.http.grammar import name_of
from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.http2.hpack.field_encoder import encode_field, encode_lines, encode_status, once_encoder

_SCHEMES: Final = {scheme: encode_field(b":scheme", scheme) for scheme in (b"http", b"https")}
_TE_TRAILERS: Final = encode_field(b"te", b"trailers")
_REQUEST_ID: Final = b"X-Request-ID: "
_encode_request_id: Final = once_encoder(b"x-request-id")
_EXPECT_CONTINUE: Final = encode_field(b"expect", b"100-continue")


def response_block(head: ResponseHead, date: bytes) -> bytes:
    """Return the block for *head*, an interim or a final one, for downstream; *date* is for a final one that has none."""
    block = head.block
    if block is None:
        block = head.block = _own_block(head, head.status, head.start)
    if not head.has_date and head.status >= 200:
        block += _date_field(date)
    return block


def tunnel_block(head: ResponseHead, date: bytes) -> bytes:
    """Return the block that opens a tunnel, where upstream's *head* switches protocols; *date* is for one that has none.

    RFC 8441 section 5: 200 takes the place of 101, and no ``Sec-WebSocket-Accept`` is needed.
    """
    first, *lines = head.start.split(b"\r\n")
    kept = [first, *(field for field in lines if name_of(field) != b"sec-websocket-accept")]
    block = _own_block(head, 200, b"\r\n".join(kept))
    return block if head.has_date else block + _date_field(date)


def _own_block(head: ResponseHead, status: int, start: bytes) -> bytes:
    """Return *status* and the lines of *start* behind its status line, and who we are where upstream does not say."""
    if status == 101:
        raise ValueError("HTTP/2 has no 101")
    block = encode_status(status) + encode_lines(start[start.index(b"\r\n") + 2 :])
    return block if head.has_server or status < 200 else block + encode_lines(SERVER_LINE)


@lru_cache(maxsize=2)
def _date_field(date: bytes) -> bytes:
    return encode_field(b"date", date)


def trailers_block(lines: list[bytes]) -> bytes:
    """Return the block for trailers, each a field line without its CRLF."""
    return encode_lines(b"\r\n".join([*lines, b""]))


def request_block(head: RequestHead, scheme: bytes, fields: bytes) -> bytes:
    """Return the block for *head* for upstream.

    *scheme* is that of the connection to the endpoint.  *fields* are the lines of all the fields that go on,
    each with its CRLF: the request's own first, and then what the proxy adds.
    """
    own = head.block
    if own is None:
        own = head.block = _request_block(head)
    added = len(head.forward)
    if fields.startswith(_REQUEST_ID, added):
        # It is another one each time, and all that follows is the same for a client.
        begin = added + len(_REQUEST_ID)
        end = fields.index(b"\r\n", begin)
        request_id = _encode_request_id(fields[begin:end])
        return b"".join((_SCHEMES[scheme], own, request_id, encode_lines(fields[end + 2 :])))
    return b"".join((_SCHEMES[scheme], own, encode_lines(fields[added:])))


def _request_block(head: RequestHead) -> bytes:
    """Return what depends on *head* alone; the scheme comes before it."""
    parts = [
        encode_field(b":method", head.method),
        encode_field(b":path", head.target),
        encode_field(b":authority", head.authority),
        encode_lines(head.forward),
    ]
    if head.accepts_trailers:
        parts.append(_TE_TRAILERS)
    if head.content_length >= 0:
        parts.append(encode_field(b"content-length", b"%d" % head.content_length))
    if head.expect_continue:
        parts.append(_EXPECT_CONTINUE)
    return b"".join(parts)
