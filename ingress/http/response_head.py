"""Response heads from upstream: bytes to one unambiguous ``ResponseHead``.

The same strictness as for requests: an answer whose end is not certain must not
reach downstream, where it would become somebody else's answer.
"""

import re
from functools import lru_cache
from typing import Final

from ingress.http.field_blocks import LAYOUT_KEY, FieldBlocks
from ingress.http.grammar import (
    DROP,
    FORWARD,
    MAX_FIELDS,
    MEMO_BLOCK,
    MEMO_BLOCKS,
    FieldError,
    Sightings,
    connection_options,
    has_bare_line_feed,
    is_length,
    name_of,
    without,
)

_match_beginning: Final = re.compile(rb"HTTP/1\.[01] [1-9][0-9][0-9][ \r]").match
_SHORTEST: Final = b"HTTP/1.1 200 "
MAX_INTERIM_BYTES: Final = 128 * 1024
"""Of all interim heads before one answer, as ``interim_bytes`` counts them; more is a flood."""
_LEAST_INTERIM: Final = 4 * 1024
_SHOWN: Final = 24
"""Bytes of what is no head that the log shows."""
_match_status_line: Final = re.compile(
    rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: ([\t\x20-\x7e\x80-\xff]*))?"
).fullmatch
# What a field line is to us, beside FORWARD and DROP.
CONTENT_LENGTH: Final = 2
TRANSFER_ENCODING: Final = 3
CONNECTION: Final = 4
UPGRADE: Final = 5
DATE: Final = 6
SERVER: Final = 7
_SORTS: Final = {
    b"content-length": CONTENT_LENGTH,
    b"transfer-encoding": TRANSFER_ENCODING,
    b"connection": CONNECTION,
    b"upgrade": UPGRADE,
    b"date": DATE,
    b"server": SERVER,
    b"keep-alive": DROP,
    b"proxy-connection": DROP,
    b"te": DROP,
}

_KEPT: Final = frozenset(
    (b"set-cookie", b"content-length", b"transfer-encoding", b"close", b"keep-alive", b"upgrade")
)


def sort_of(name: bytes) -> int:
    """Return what a field means to us by its lower-case *name*, in whatever protocol it came."""
    return _SORTS.get(name, FORWARD)


known_blocks: Final[FieldBlocks["ResponseHead"]] = FieldBlocks(sort_of, frozenset((DATE, SERVER)))
"""The verdict on a layout is a head of it, where others differ in nothing but their lines that go on, and perhaps their length."""


class ResponseError(ValueError):
    """Upstream sent what cannot be relayed."""


class ResponseHead:
    """One response head, read once and never changed.

    *start* is the status line and the field lines that go on, each with its CRLF.
    *is_complete* says that nothing has to be added to it for HTTP/1.1 downstream: it has
    its length, ``Date`` and ``Server``.  *content_length* is -1 when absent.  *has_body* is about the status alone: what
    answers a HEAD request has no body whatever the head says.  *block* is the field block that
    HTTP/2 makes of the head, once it did, and *changed* what was changed of it last, and the head that came of that
    (``edited_heads``).
    """

    __slots__ = (
        "block",
        "changed",
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

    def __init__(self, status: int, start: bytes, content_length: int = -1) -> None:
        self.status = status
        self.start = start
        self.content_length = content_length
        self.has_body = status >= 200 and status not in (204, 304)
        self.chunked = False
        self.has_date = False
        self.has_server = False
        self.is_complete = False
        self.keep_alive = True
        self.upgrade = b""
        self.block: bytes | None = None
        self.changed: tuple[tuple[object, ...], ResponseHead] | None = None

    def __repr__(self) -> str:
        return f"<ResponseHead {self.status}>"


def interim_bytes(head: ResponseHead) -> int:
    """Return what an interim *head* counts as, of ``MAX_INTERIM_BYTES``: so that there are at most 32, however small."""
    return max(_LEAST_INTERIM, len(head.start))


known_heads: Final[dict[bytes, ResponseHead]] = {}
"""Heads that were read before, at most ``MEMO_BLOCKS``."""
_sightings: Final = Sightings(MEMO_BLOCKS)


def parse_response_head(block: bytes) -> ResponseHead:
    """Read a head, given without the empty line that ends it; raises ``ResponseError``."""
    head = known_heads.get(block)
    if head is None:
        try:
            head = _parse(block)
        except FieldError as error:
            raise ResponseError(str(error)) from error
        if len(block) <= MEMO_BLOCK and _sightings.again(block):
            if len(known_heads) >= MEMO_BLOCKS:
                known_heads.clear()
            known_heads[block] = head
    return head


def check_beginning(received: bytes, searched: int = 0) -> None:
    """Check the beginning of a head that is not whole; *searched* bytes of it were checked before.

    Raises ``ResponseError`` as soon as no further byte could make it a head, and says what it is instead.
    """
    if not _match_beginning(received + _SHORTEST[len(received) :]):
        raise ResponseError(f"no status line of HTTP/1.1: {words_of_other(received)}")
    if has_bare_line_feed(received, searched):
        raise ResponseError("a head whose lines end in LF alone")


def words_of_other(received: bytes) -> str:
    """Say what *received* is the beginning of, if not of HTTP/1.1; what is quoted is safe to be logged."""
    if received[:2] == b"\x15\x03":
        number = received[6:7]
        return "a TLS alert" + (f", number {number[0]}" if number else "")
    if received[:2] == b"\x16\x03":
        return "a TLS handshake"
    if received.startswith(b"PRI * HTTP/2") or (
        received[3:4] in (b"\4", b"\7") and received[5:9] == bytes(4)
    ):
        # Its first frame is SETTINGS or GOAWAY, of the connection.
        return "HTTP/2"
    if has_bare_line_feed(received[: received.find(b"\n") + 1]) and _match_beginning(
        received.replace(b"\n", b"\r", 1)
    ):
        return "its line ends in LF alone"
    if not received:
        return "an empty line"
    return "'" + received[:_SHOWN].decode("latin-1").encode("unicode_escape").decode("ascii") + "'"


@lru_cache(maxsize=64)
def _read_status_line(line: bytes) -> tuple[bool, int, bytes]:
    """Return whether it is HTTP/1.1, the status, and the line that goes on."""
    match = _match_status_line(line)
    if match is None:
        raise ResponseError(f"no status line of HTTP/1.1: {words_of_other(line)}")
    minor, status, reason = match.groups()
    return minor == b"1", int(status), b"HTTP/1.1 %b %b" % (status, reason or b"")


def _parse(block: bytes) -> ResponseHead:
    key = block[:LAYOUT_KEY]
    layout = known_blocks.layouts.get(key)
    found = None if layout is None else layout.read(block, 0)
    if layout is not None and found is not None and layout.verdict is not None:
        head = _like(layout.verdict, found[0], found[1])
        if head is not None:
            return head
    end = block.find(b"\r\n")
    line = block if end < 0 else block[:end]
    is_1_1, status, status_line = _read_status_line(line)
    head = ResponseHead(status, b"")
    options: frozenset[bytes] = frozenset()
    lengths: list[bytes] = []
    codings: list[bytes] = []
    if layout is None or found is None:
        most, start = 2 * MAX_FIELDS, status_line + b"\r\n"
        forward, specials = known_blocks.read(block, len(line), most, key, line, start)
        forward = start + forward
    else:
        forward, specials = found[0], layout.specials(found[1])
    for sort, _, value in specials:
        # The most frequent come first.
        if sort == CONTENT_LENGTH:
            lengths.append(value)
        elif sort == DATE:
            head.has_date = True
        elif sort == SERVER:
            head.has_server = True
        elif sort == CONNECTION:
            options = options | connection_options(value) if options else connection_options(value)
        elif sort == TRANSFER_ENCODING:
            codings.append(value)
        elif sort == UPGRADE:
            head.upgrade = head.upgrade + b", " + value if head.upgrade else value
    gone = options and options - _KEPT
    if gone:
        forward = status_line + b"\r\n" + without(forward[len(status_line) + 2 :], gone)
        head.has_date = head.has_date and b"date" not in gone
        head.has_server = head.has_server and b"server" not in gone
    _decide_framing(head, is_1_1, lengths, codings)
    length = b""
    if head.content_length >= 0 and head.status >= 200 and head.status != 204:
        length = b"Content-Length: %d\r\n" % head.content_length
    head.start = forward + length
    head.is_complete = head.has_body and head.content_length >= 0 and head.has_date and head.has_server
    if b"close" in options if is_1_1 else b"keep-alive" not in options:
        head.keep_alive = False
    if layout is not None and found is not None and not layout.is_judged:
        layout.is_judged = True
        if not gone and not head.upgrade:
            if not layout.told:
                layout.decide(head, length)
            elif length and layout.told == [CONTENT_LENGTH]:
                layout.decide(head)
    return head


def _like(other: ResponseHead, forward: bytes, told: list[bytes]) -> ResponseHead | None:
    """Return the head that is laid out as the *other* one; None where it may mean something else."""
    length = other.content_length
    if told:
        value = told[0]
        if not is_length(value):
            return None
        length = int(value)
        forward = b"%bContent-Length: %d\r\n" % (forward, length)
    head = ResponseHead(other.status, forward, length)
    head.has_date = other.has_date
    head.has_server = other.has_server
    head.is_complete = other.is_complete
    head.keep_alive = other.keep_alive
    head.chunked = other.chunked
    return head


def _decide_framing(head: ResponseHead, is_1_1: bool, lengths: list[bytes], codings: list[bytes]) -> None:
    """RFC 9112 section 6.3 for responses."""
    if codings:
        if not is_1_1 or len(codings) > 1 or codings[0].lower() != b"chunked":
            raise ResponseError("transfer coding other than chunked")
        head.chunked = True
        if lengths:
            # The coding wins; a sender of both is not one to talk to again.
            head.keep_alive = False
    elif lengths:
        if len(lengths) > 1 or not is_length(lengths[0]):
            raise ResponseError("bad Content-Length")
        head.content_length = int(lengths[0])
    elif head.has_body:
        # The end of the connection is the end of the body.
        head.keep_alive = False


def is_forwardable_trailer(line: bytes) -> bool:
    """Whether a trailer may go on: nothing about framing, routing, trust or content may.

    RFC 9110 section 6.5.1.  *line* is a field line that ``split_field`` accepts.
    """
    return name_of(line) not in NOT_IN_TRAILERS


NOT_IN_TRAILERS: Final = frozenset(
    b"""age authorization cache-control connection content-encoding content-length content-range
    content-type date expires host keep-alive location max-forwards proxy-authenticate
    proxy-connection retry-after server set-cookie te trailer transfer-encoding upgrade vary
    warning www-authenticate""".split()
)
"""Lower-case names of fields that mean nothing, or harm, once a body has begun."""
