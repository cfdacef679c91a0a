"""Requests of HTTP/2: decoded fields to one unambiguous ``RequestHead`` (RFC 9113 section 8.3.1, RFC 8441).

What a field means, and whether it goes on, is the same as in HTTP/1.1
(``ingress.http.request_head``), and so is the head that comes of it: whoever sends it on
in HTTP/1.1 needs to know nothing of where it came from.  Therefore everything is checked
here that could be read differently there (section 10.3), before any line is made of it.
"""

import re
from typing import Final

from ingress.http.grammar import DROP, FORWARD, MAX_FIELDS, MAX_REQUEST_LINE, TOKEN, is_length
from ingress.http.request_head import (
    CONTENT_LENGTH,
    EXPECT,
    FORWARDED,
    HOST,
    ORIGIN_FORM,
    REQUEST_ID,
    UNDERSCORED,
    UNREADABLE,
    HeadError,
    RequestHead,
    is_request_id,
    sort_of,
)
from ingress.http.upgrades import WEBSOCKET, is_web_socket
from ingress.http2.faults import Malformed
from ingress.http2.fields import (
    CONNECTION_SPECIFIC,
    FIRST_OWN_SORT,
    MALFORMED,
    Field,
    field_reader,
    malformed,
    malformed_by,
)

RequestField = Field
"""Of ``:path`` the last part is the path without its query."""

_METHOD: Final = FIRST_OWN_SORT
_SCHEME: Final = FIRST_OWN_SORT + 1
_PATH: Final = FIRST_OWN_SORT + 2
_AUTHORITY: Final = FIRST_OWN_SORT + 3
_PROTOCOL: Final = FIRST_OWN_SORT + 4
_COOKIE: Final = FIRST_OWN_SORT + 5
_TE: Final = FIRST_OWN_SORT + 6
_HANDSHAKE: Final = FIRST_OWN_SORT + 7

_OWN_SORTS: Final = {
    b":method": _METHOD,
    b":scheme": _SCHEME,
    b":path": _PATH,
    b":authority": _AUTHORITY,
    b":protocol": _PROTOCOL,
    b"cookie": _COOKIE,
    b"te": _TE,
    # An extended CONNECT has no use for them (RFC 8441 section 5); HTTP/1.1 makes its own.
    b"sec-websocket-key": _HANDSHAKE,
    b"sec-websocket-accept": _HANDSHAKE,
    **dict.fromkeys(CONNECTION_SPECIFIC, MALFORMED),
}

_match_target: Final = re.compile(ORIGIN_FORM).fullmatch
# RFC 3986 section 3.2 without user information; whether it is a host is for routing to say.
_AUTHORITY_FORM: Final = rb"[!$%&'()*+,\-.0-9:;=A-Z\[\]_a-z~]+"
_is_authority: Final = re.compile(_AUTHORITY_FORM).fullmatch
_CHECKS: Final = {
    _METHOD: re.compile(TOKEN).fullmatch,
    _SCHEME: re.compile(rb"https?").fullmatch,
    _AUTHORITY: _is_authority,
    _PROTOCOL: re.compile(rb"%b(?:/%b)?" % (TOKEN, TOKEN)).fullmatch,
    HOST: _is_authority,
    CONTENT_LENGTH: is_length,
    _TE: re.compile(rb"trailers", re.IGNORECASE).fullmatch,
}
_REQUEST_LINE_BESIDES: Final = len(b"  HTTP/1.1")
_NEVER_PROXIED: Final = frozenset((b"CONNECT", b"TRACE"))
_EXPECTS_CONTENT: Final = frozenset((b"POST", b"PUT", b"PATCH"))


def _read_special(sort: int, name: bytes, value: bytes) -> RequestField:
    if sort == _PATH:
        match = _match_target(value)
        if match is not None:
            return _PATH, name, value, match[2]
        return (_PATH, name, value, value) if value == b"*" else malformed(name, value, b"bad :path")
    check = _CHECKS.get(sort)
    if check is not None and not check(value):
        return malformed(name, value, b"a field with a value that it cannot have")
    return sort, name, value, name + b": " + value if sort == _HANDSHAKE else b""


read_request_field: Final = field_reader(_OWN_SORTS, sort_of, _read_special)
"""Read a field of a request or of its trailers, by name and value; never raises, whatever it is."""


def request_head(fields: list[RequestField], ended: bool) -> RequestHead:
    """Make the head of a request from its fields; *ended* says that nothing follows them.

    Raises ``Malformed`` for what must neither go on nor be answered (section 8.1.1), and
    ``HeadError`` with 405, 414, 417, 431 or 501 for what is answered and does not go on.
    """
    if len(fields) > MAX_FIELDS and _count_lines(fields) > MAX_FIELDS:
        raise HeadError(431, "too many fields")
    head = RequestHead()
    method = scheme = target = path = authority = protocol = b""
    count = 0
    for sort, _, value, rest in fields:
        if sort == _METHOD and not method:
            method = value
        elif sort == _PATH and not target:
            target = value
            path = rest
        elif sort == _AUTHORITY and not authority:
            authority = value
        elif sort == _SCHEME and not scheme:
            scheme = value
        elif sort == _PROTOCOL and not protocol:
            protocol = value
        else:
            break
        count += 1
    forward: list[bytes] = []
    cookies: list[bytes] = []
    host = length = expect = b""
    forwarded: dict[bytes, bytes] = {}
    for sort, name, value, line in fields[count:] if count else fields:
        if not sort:
            forward.append(line)
        elif sort == _COOKIE:
            cookies.append(value)
        elif sort == REQUEST_ID:
            if is_request_id(value):
                head.request_id = value
        elif sort == CONTENT_LENGTH and not length:
            length = value
        elif sort == _TE:
            head.accepts_trailers = True
        elif sort == HOST and not host:
            host = value
        elif sort == FORWARDED:
            forwarded[name] = forwarded[name] + b", " + value if name in forwarded else value
        elif sort == EXPECT:
            expect = expect + b"," + value if expect else value
        elif sort == _HANDSHAKE:
            if not protocol:
                forward.append(line)
        elif sort == UNDERSCORED:
            head.underscored += b"%b: %b\r\n" % (name, value)
        elif sort != DROP:
            raise malformed_by(sort, line)
    if not authority:
        authority = host
    elif host and host.lower() != authority.lower():
        raise Malformed("host is not what :authority is")
    if not authority or not method:
        raise Malformed("no authority, or no method")
    if length:
        head.content_length = int(length)
        if ended and head.content_length:
            raise Malformed("a length, and no content")
    if method in _NEVER_PROXIED or protocol:
        method = _decide_tunnel(head, method, protocol, bool(scheme and target), ended or bool(length))
    elif not ended:
        head.has_body = True
        head.chunked = not length
    elif not length and method in _EXPECTS_CONTENT:
        # Known by the end of the stream, which HTTP/1.1 does not have (RFC 9110 section 8.6).
        head.content_length = 0
    if not scheme or not target or (target == b"*" and method != b"OPTIONS"):
        raise Malformed("no :scheme, or no :path")
    if len(method) + len(target) + _REQUEST_LINE_BESIDES > MAX_REQUEST_LINE:
        raise HeadError(414, "request line too long")
    if expect:
        if expect.lower() != b"100-continue":
            raise HeadError(417, "unknown expectation")
        head.expect_continue = head.has_body
    if cookies:
        # Section 8.2.3: one line for all of them.
        forward.append(b"cookie: " + b"; ".join(cookies))
    if forwarded:
        head.forwarded = forwarded
    head.method = method
    head.target = target
    head.path = path
    head.authority = authority
    forward.append(b"")
    head.forward = b"\r\n".join(forward)
    return head


def stand_in_for(fields: list[RequestField]) -> RequestHead:
    """Return a head in place of one that is refused: it has what its answer depends on, the content type."""
    for sort, name, _, line in fields:
        if name == b"content-type" and sort == FORWARD:
            return UNREADABLE.with_line(line + b"\r\n")
    return UNREADABLE


def _count_lines(fields: list[RequestField]) -> int:
    """Return how many lines *fields* are in HTTP/1.1: browsers send each pair of a cookie by itself."""
    cookies = sum(sort == _COOKIE for sort, _, _, _ in fields)
    pseudo = sum(name[:1] == b":" for _, name, _, _ in fields)
    return len(fields) - pseudo - max(cookies - 1, 0)


def _decide_tunnel(
    head: RequestHead, method: bytes, protocol: bytes, is_whole: bool, is_bounded: bool
) -> bytes:
    """Return the method of what asks for a tunnel or for its own echo, as far as that is served.

    RFC 9113 section 8.5, RFC 8441 sections 4 and 5.  A WebSocket becomes what it is in
    HTTP/1.1, a GET with an upgrade; everything that follows its head is the tunnel's.
    """
    if method == b"CONNECT" and not protocol:
        raise HeadError(501, "a gateway opens no tunnels")
    if not is_whole:
        raise Malformed("no :scheme, or no :path")
    if method != b"CONNECT":
        if protocol:
            raise Malformed(":protocol without CONNECT")
        raise HeadError(405, "TRACE is not served")
    if is_bounded:
        raise Malformed("a tunnel that ended, or has a length")
    if not is_web_socket(protocol):
        raise HeadError(501, "no tunnel but for WebSocket")
    head.upgrade = head.connect_protocol = WEBSOCKET
    return b"GET"


def check_request_trailers(fields: list[RequestField]) -> None:
    """Check the trailers of a request, which end here; raises ``Malformed`` (section 8.1)."""
    for sort, name, _, line in fields:
        if sort == MALFORMED or name[:1] == b":":
            raise malformed_by(sort, line)
