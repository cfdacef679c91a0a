"""Answers of HTTP/2: decoded fields to one unambiguous ``ResponseHead`` (RFC 9113 section 8.3.2).

What comes of them is a head as HTTP/1.1 has it (``ingress.http.response_head``), and the
same fields go on.  An answer that is malformed reaches nobody.
"""

import re
from http import HTTPStatus
from typing import Final

from ingress.http.grammar import DROP, MAX_FIELDS, is_length
from ingress.http.response_head import (
    CONTENT_LENGTH,
    DATE,
    NOT_IN_TRAILERS,
    SERVER,
    ResponseHead,
    sort_of,
)
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

ResponseField = Field
"""Of ``:status`` the last part is the status line of HTTP/1.1."""

_STATUS: Final = FIRST_OWN_SORT
_OWN_SORTS: Final = {b":status": _STATUS, **dict.fromkeys(CONNECTION_SPECIFIC, MALFORMED)}
_is_status: Final = re.compile(rb"[1-9][0-9][0-9]").fullmatch
# HTTP/2 has no phrase; people who read HTTP/1.1 like to see one.
_STATUS_LINES: Final = {b"%d" % s: b"HTTP/1.1 %d %b" % (s, s.phrase.encode()) for s in HTTPStatus}


def _read_special(sort: int, name: bytes, value: bytes) -> ResponseField:
    if sort == _STATUS:
        if not _is_status(value):
            return malformed(name, value, b"bad :status")
        return sort, name, value, _STATUS_LINES.get(value) or b"HTTP/1.1 %b " % value
    if sort == CONTENT_LENGTH and not is_length(value):
        return malformed(name, value, b"bad content-length")
    return sort, name, value, name + b": " + value


read_response_field: Final = field_reader(_OWN_SORTS, sort_of, _read_special)
"""Read a field of an answer or of its trailers, by name and value; never raises, whatever it is."""


def response_head(fields: list[ResponseField]) -> ResponseHead:
    """Make the head of an answer, interim or final, from its fields; raises ``Malformed``."""
    if not fields or fields[0][0] != _STATUS:
        raise Malformed("no :status, or not at the beginning")
    if len(fields) > 2 * MAX_FIELDS:
        raise Malformed("too many fields")
    _, _, value, status_line = fields[0]
    status = int(value)
    if status == HTTPStatus.SWITCHING_PROTOCOLS:
        # Section 8.6: there is nothing to switch to.
        raise Malformed("101 in HTTP/2")
    head = ResponseHead(status, b"")
    forward = [status_line]
    length = b""
    for sort, _, value, line in fields[1:]:
        if not sort:
            forward.append(line)
        elif sort == CONTENT_LENGTH and not length:
            length = value
        elif sort == DATE:
            head.has_date = True
            forward.append(line)
        elif sort == SERVER:
            head.has_server = True
            forward.append(line)
        elif sort != DROP:
            raise malformed_by(sort, line)
    if length:
        head.content_length = int(length)
        if status >= 200 and status != 204:
            forward.append(b"content-length: %d" % head.content_length)
            head.is_complete = head.has_body and head.has_date and head.has_server
    forward.append(b"")
    head.start = b"\r\n".join(forward)
    return head


def trailer_lines(fields: list[ResponseField]) -> list[bytes]:
    """Return those trailers of an answer that may go on, as lines without CRLF; raises ``Malformed``."""
    lines = []
    for sort, name, _, line in fields:
        if sort in (MALFORMED, _STATUS):
            raise malformed_by(sort, line)
        if name not in NOT_IN_TRAILERS:
            lines.append(line)
    return lines
