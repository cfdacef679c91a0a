"""An answer over FastCGI: from records to one head, and the pieces of a body.

What comes as STDOUT is what a CGI program writes: field lines, an empty line, and the body (RFC 3875 section 6).  ``Status``
says the status, and is 200 where it is missing, or 302 where there is a ``Location``, as in nginx.  Everything else is read as the fields
of any answer are, so what belongs to a connection stops here, and what cannot be relayed is refused.  ``Transfer-Encoding`` says
nothing here: records frame the body.
"""

import re
from typing import Final

from ingress.fastcgi.records import FastCgiError, RecordReader
from ingress.http.grammar import MAX_FIELDS
from ingress.http.response_head import ResponseError, ResponseHead, parse_response_head

MOST_ERROR_BYTES: Final = 1024 * 1024
"""Of STDERR in one answer: an endpoint that says more is of no use, and would go on for ever."""
KEPT_ERROR_BYTES: Final = 2048
"""Of it, so much is for the log."""

MOST_LINES: Final = 2 * MAX_FIELDS
"""Of a head; as of any answer's."""

_find_end: Final = re.compile(rb"\r?\n\r?\n").search
_lines_of: Final = re.compile(rb"\r?\n").split
_match_status: Final = re.compile(rb"[ \t]*([1-9][0-9]{2})(?:[ \t]+([\t\x20-\x7e\x80-\xff]*))?").fullmatch
_FOUND: Final = b"302 Found"
_OK: Final = b"200 OK"


class Answer:
    """The answer to one request.

    *most_head* is how many bytes its head may have; *is_bare* says that it has no body, as that to a HEAD has none.
    """

    __slots__ = (
        "_begun",
        "_error_bytes",
        "_is_bare",
        "_left",
        "_most_head",
        "_records",
        "_searched",
        "errors",
        "has_excess",
        "head",
        "is_whole",
    )

    def __init__(self, most_head: int, is_bare: bool) -> None:
        self._records = RecordReader()
        self._begun = b""
        """What there is of a head that is not whole, ..."""
        self._searched = 0
        """... and how far its end was looked for."""
        self._most_head = most_head
        self._is_bare = is_bare
        self._left = -1
        """Bytes of the body that are still to come; negative where that is not known."""
        self._error_bytes = 0
        self.head: ResponseHead | None = None
        """Once it is whole."""
        self.errors = b""
        """What came as STDERR since it was taken from here, as far as it is among the first of it."""
        self.is_whole = False
        """Whether all of the body came, be it that there is none."""
        self.has_excess = False
        """Whether there was more of a body than there may be, which was dropped."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more is awaited: the endpoint is done with the request, or what follows is no part of the answer.

        Of a body whose length is known the end is awaited, too, since it leaves the connection for another request.
        """
        return self._records.finished or (self.is_whole and self._is_bare)

    @property
    def is_untouched(self) -> bool:
        """Whether the program has said nothing at all."""
        return self._records.is_untouched

    @property
    def is_clean(self) -> bool:
        """Whether it has, and nothing came that does not belong to the answer."""
        return self._records.finished and not self._records.rest and not self.has_excess

    @property
    def has_more(self) -> bool:
        """Whether more has come than is read in one go: ``feed`` is to be called again, be it with nothing."""
        return self._records.has_more

    def keep(self, received: bytes) -> None:
        """Keep the next bytes for the next call of ``feed``."""
        self._records.keep(received)

    def feed(self, received: bytes) -> bytes:
        """Read the next bytes; return what of the body is in them.

        Raises ``FastCgiError`` or ``ResponseError`` for what cannot be relayed.
        """
        records = self._records
        try:
            pieces = records.feed(received)
        finally:
            if records.errors:
                self._note_errors(records.errors)
        piece = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self.head is None and piece:
            piece = self._read_head(piece)
        if self.head is not None and piece:
            piece = self._bounded(piece)
        if records.finished and self.head is None:
            raise FastCgiError("the endpoint ended the request without a head")
        if self.head is not None and (records.finished or records.is_stdout_over):
            if self._left > 0:
                raise FastCgiError(f"the body lacks {self._left} bytes of its Content-Length")
            self.is_whole = True
        return piece

    def _note_errors(self, errors: list[bytes]) -> None:
        said = b"".join(errors)
        room = KEPT_ERROR_BYTES - self._error_bytes
        self._error_bytes += len(said)
        if room > 0:
            self.errors += said if len(said) <= room else said[:room] + b"..."
        if self._error_bytes > MOST_ERROR_BYTES:
            raise FastCgiError(f"more than {MOST_ERROR_BYTES} bytes of STDERR")

    def _read_head(self, piece: bytes) -> bytes:
        """Read on in the head; return what is behind it."""
        begun = self._begun + piece
        # The last bytes may be part of its end.
        end = _find_end(begun, max(0, self._searched - 3))
        if begun[:1] == b"\n" or begun[:2] == b"\r\n":
            raise ResponseError("a head without fields")
        if end is None or end.end() > self._most_head:
            if len(begun) > self._most_head:
                raise ResponseError("response head too large")
            self._begun, self._searched = begun, len(begun)
            return b""
        self._begun = b""
        head = self.head = read_head(begun[: end.start()])
        self._is_bare = self._is_bare or not head.has_body
        if self._is_bare:
            self.is_whole = True
            self._left = 0
        else:
            self._left = head.content_length
            self.is_whole = not self._left
        return begun[end.end() :]

    def _bounded(self, piece: bytes) -> bytes:
        if self._left < 0:
            return piece
        # What is more is not passed on, as in nginx.
        self.has_excess = self.has_excess or len(piece) > self._left
        piece = piece[: self._left]
        self._left -= len(piece)
        self.is_whole = not self._left
        return piece


def read_head(block: bytes) -> ResponseHead:
    """Read the head of a CGI answer, given without the empty line that ends it; raises ``ResponseError``."""
    if block.count(b"\n") > MOST_LINES:
        raise ResponseError("too many field lines")
    status, has_location = b"", False
    lines: list[bytes] = []
    for number, line in enumerate(_lines_of(block)):
        name, colon, value = line.partition(b":")
        lowered = name.lower()
        if lowered == b"status":
            if status:
                raise ResponseError("more than one Status")
            status = _status_of(value)
        elif not colon and not number and line.startswith(b"HTTP/"):
            # Some programs begin with a status line, as if they were no parsed header output; nginx ignores it.
            continue
        elif lowered != b"transfer-encoding":
            has_location = has_location or lowered == b"location"
            lines.append(line)
    status = status or (_FOUND if has_location else _OK)
    return parse_response_head(b"\r\n".join([b"HTTP/1.1 " + status, *lines]))


def _status_of(value: bytes) -> bytes:
    match = _match_status(value)
    if match is None or match[1] < b"200":
        shown = value[:24].decode("latin-1").encode("unicode_escape").decode("ascii")
        raise ResponseError(f"no Status of a final answer: '{shown}'")
    return match[1] + b" " + (match[2] or b"")
