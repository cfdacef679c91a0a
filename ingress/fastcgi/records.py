"""Records of FastCGI: what is sent as such, and what comes as such (FastCGI 1.0 sections 3.3, 5 and 8).

One request at a time is on a connection, by the id 1, in the role of a responder.  So of what comes each record is part of the answer
to it, and whatever says something else is refused: nobody asked for it.
"""

from typing import Final

from ingress.http.work import LATER_TURN_WORK, PIECE_WORK

VERSION: Final = 1
REQUEST_ID: Final = 1
HEADER_BYTES: Final = 8
MOST_CONTENT: Final = 0xFFF8
"""Bytes in a record that we send: what needs no padding, and fits."""
RECORDS_AT_ONCE: Final = LATER_TURN_WORK // PIECE_WORK
"""Records that are read in one go."""
MOST_EMPTY: Final = 64
"""Records without content in one answer, which say nothing: two are all that there is any use for."""

# Types of records
BEGIN_REQUEST: Final = 1
ABORT_REQUEST: Final = 2
END_REQUEST: Final = 3
PARAMS: Final = 4
STDIN: Final = 5
STDOUT: Final = 6
STDERR: Final = 7
_END_BYTES: Final = 8

# Of END_REQUEST
REQUEST_COMPLETE: Final = 0
CANNOT_MULTIPLEX: Final = 1
OVERLOADED: Final = 2
UNKNOWN_ROLE: Final = 3

_REQUEST_ID_BYTES: Final = REQUEST_ID.to_bytes(2, "big")
_PADDING: Final = bytes(7)
_SHOWN: Final = 24


class FastCgiError(ValueError):
    """What came is no FastCGI, or not what was asked for."""


class RequestDeclined(FastCgiError):  # noqa: N818 - it is a verdict of the endpoint
    """The endpoint says that it did nothing with the request."""


def _record(kind: int, content: bytes) -> bytes:
    """Return one record; *content* has at most ``MOST_CONTENT`` bytes."""
    size = len(content)
    padding = -size & 7
    return b"\x01%c%b%c%c%c\0%b%b" % (
        kind,
        _REQUEST_ID_BYTES,
        size >> 8,
        size & 0xFF,
        padding,
        content,
        _PADDING[:padding],
    )


def begin_request(keeps_connection: bool) -> bytes:
    """Begin a request to a responder; with *keeps_connection*, the endpoint is not to close the connection after it."""
    return _record(BEGIN_REQUEST, b"\0\1%c\0\0\0\0\0" % int(keeps_connection))


def abort_request() -> bytes:
    """Tell that nobody waits for the answer any more."""
    return _record(ABORT_REQUEST, b"")


def stream_records(kind: int, content: bytes) -> bytes:
    """Return *content* as records of the stream *kind*: ``PARAMS`` or ``STDIN``; nothing for nothing, which would end it."""
    if len(content) <= MOST_CONTENT:
        return _record(kind, content) if content else b""
    return b"".join(
        [_record(kind, content[at : at + MOST_CONTENT]) for at in range(0, len(content), MOST_CONTENT)]
    )


def end_of_stream(kind: int) -> bytes:
    """End the stream *kind*."""
    return _record(kind, b"")


_SHORT: Final = tuple([bytes((size,)) for size in range(0x80)])
"""Lengths that take one byte."""


def name_values(pairs: dict[bytes, bytes]) -> bytes:
    """Return name-value pairs (FastCGI 1.0 section 3.4)."""
    parts: list[bytes] = []
    for name, value in pairs.items():
        for size in (len(name), len(value)):
            parts.append(_SHORT[size] if size < 0x80 else (size | 0x8000_0000).to_bytes(4, "big"))
        parts.append(name)
        parts.append(value)
    return b"".join(parts)


class RecordReader:
    """Takes apart what an endpoint sends for one request, however the bytes are split.

    States: header -> content -> padding -> header ..., until END_REQUEST is whole (``finished``), after which ``rest`` holds what came
    behind it.  Nothing is kept but an unfinished header, and what is more than one turn's work (``has_more``).
    """

    __slots__ = (
        "_content",
        "_empty",
        "_end",
        "_kind",
        "_padding",
        "_unread",
        "errors",
        "finished",
        "has_more",
        "is_stdout_over",
        "is_untouched",
        "rest",
    )

    def __init__(self) -> None:
        self._kind = 0
        self._content = 0
        """Bytes of content that are still to come, ..."""
        self._padding = 0
        """... and of padding."""
        self._empty = 0
        self._end = b""
        self._unread = b""
        self.errors: list[bytes] = []
        """What came as STDERR since the last call of ``feed``."""
        self.finished = False
        self.has_more = False
        """Whether more has come than is read in one go: ``feed`` is to be called again, be it with nothing."""
        self.is_untouched = True
        """Whether the program has said nothing at all."""
        self.is_stdout_over = False
        """Whether the end of STDOUT came, behind which END_REQUEST is still to come."""
        self.rest = b""

    def keep(self, received: bytes) -> None:
        """Keep the next bytes for the next call of ``feed``."""
        self._unread += received
        self.has_more = True

    def feed(self, received: bytes) -> list[bytes]:
        """Read the next bytes; return the pieces of STDOUT in them.

        Raises ``FastCgiError``, and ``RequestDeclined`` where the endpoint says that it did nothing.
        """
        pieces: list[bytes] = []
        self.errors = []
        self.has_more = False
        if self._unread:
            received = self._unread + received
            self._unread = b""
        records = RECORDS_AT_ONCE
        at, size = 0, len(received)
        while at < size:
            if self._content:
                piece = received[at : at + self._content]
                at += len(piece)
                self._content -= len(piece)
                if self._kind == STDOUT:
                    pieces.append(piece)
                elif self._kind == STDERR:
                    self.errors.append(piece)
                else:
                    self._end += piece
            elif self._padding:
                skipped = min(self._padding, size - at)
                at += skipped
                self._padding -= skipped
            elif size - at < HEADER_BYTES:
                check_header(received[at:])
                self._unread = received[at:]
                return pieces
            elif not records:
                self._unread = received[at:]
                self.has_more = True
                return pieces
            else:
                records -= 1
                self._begin(received[at : at + _SHOWN])
                at += HEADER_BYTES
            if self._kind == END_REQUEST and not self._content and not self._padding:
                self._finish()
                self.rest = received[at:]
                return pieces
        return pieces

    def _begin(self, header: bytes) -> None:
        check_header(header)
        kind = self._kind = header[1]
        content = self._content = header[4] << 8 | header[5]
        self._padding = header[6]
        if kind == END_REQUEST:
            if content != _END_BYTES:
                raise FastCgiError(f"an END_REQUEST of {content} bytes")
        elif content:
            self.is_untouched = False
            if kind == STDOUT and self.is_stdout_over:
                raise FastCgiError("STDOUT goes on behind its end")
        else:
            self._empty += 1
            if self._empty > MOST_EMPTY:
                raise FastCgiError("too many records without content")
            self.is_stdout_over = self.is_stdout_over or kind == STDOUT

    def _finish(self) -> None:
        status = self._end[4]
        if status == OVERLOADED:
            raise RequestDeclined("the endpoint is overloaded (FCGI_OVERLOADED)")
        if status == CANNOT_MULTIPLEX:
            raise RequestDeclined("the endpoint takes no request beside another one (FCGI_CANT_MPX_CONN)")
        if status != REQUEST_COMPLETE:
            what = (
                "knows no responders (FCGI_UNKNOWN_ROLE)" if status == UNKNOWN_ROLE else f"ends with {status}"
            )
            raise FastCgiError(f"the endpoint {what}")
        self.finished = True


def check_header(begun: bytes) -> None:
    """Check what there is of a header; raises ``FastCgiError`` as soon as no further byte could make it one of an answer of ours."""
    if begun[0] != VERSION:
        raise FastCgiError(f"no record of FastCGI: '{_shown(begun)}'")
    if len(begun) > 1 and begun[1] not in (END_REQUEST, STDOUT, STDERR):
        raise FastCgiError(f"a record of type {begun[1]}, which belongs in no answer")
    if len(begun) > 3 and begun[2:4] != _REQUEST_ID_BYTES:
        raise FastCgiError(f"a record of request {begun[2] << 8 | begun[3]}, which was not sent")


def _shown(octets: bytes) -> str:
    return octets[:_SHOWN].decode("latin-1").encode("unicode_escape").decode("ascii")
