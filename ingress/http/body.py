"""Bodies: the chunked coding, both ways.

Inside the proxy a body is always a sequence of plain pieces; the coding is
taken off at the edge where it comes in and put on where it goes out, so what
leaves is always in its one canonical form (RFC 9112 section 7.1).
"""

import re
from typing import Final

from ingress.http.grammar import FieldError, split_field
from ingress.http.work import LATER_TURN_WORK, PIECE_WORK

MAX_CHUNK_LINE: Final = 1024
MAX_EXTENSIONS: Final = 16 * 1024
"""Bytes of chunk extensions in one body; they carry nothing, so they are bounded tightly."""
MAX_TRAILERS: Final = 8 * 1024
LINES_AT_ONCE: Final = LATER_TURN_WORK // PIECE_WORK
"""Lines of the framing that are read in one go."""

_match_size: Final = re.compile(rb"([0-9A-Fa-f]{1,15})((?:;[\t\x20-\x7e\x80-\xff]*)?)").fullmatch
_match_bare_size: Final = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n").match

_SIZE: Final = 0
_PAYLOAD: Final = 1
_PAYLOAD_END: Final = 2
_TRAILERS: Final = 3

LAST_CHUNK: Final = b"0\r\n\r\n"


class BodyError(ValueError):
    """A body whose end cannot be known for sure."""


def chunk(piece: bytes) -> bytes:
    """Wrap a non-empty piece into one chunk."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def last_chunk(trailers: list[bytes]) -> bytes:
    """End a chunked body with *trailers*, each a field line without its CRLF."""
    if not trailers:
        return LAST_CHUNK
    return b"0\r\n%b\r\n\r\n" % b"\r\n".join(trailers)


class ChunkedDecoder:
    """Takes the chunked coding off, however the bytes are split.

    States: size line -> payload -> its CRLF -> size line ... -> trailers ->
    finished.  Nothing is kept but an unfinished line, and what is more than one turn's
    work (``has_more``).  After ``finished``,
    ``rest`` holds the bytes behind the body, which belong to the next message.
    """

    __slots__ = (
        "_extensions",
        "_left",
        "_line",
        "_state",
        "_trailer_size",
        "finished",
        "has_more",
        "rest",
        "trailers",
    )

    def __init__(self) -> None:
        self._state = _SIZE
        self._left = 0
        self._line = b""
        self._extensions = 0
        self._trailer_size = 0
        self.finished = False
        self.has_more = False
        """Whether more has come than is read in one go: ``feed`` is to be called again, be it with nothing."""
        self.trailers: list[bytes] = []
        self.rest = b""

    def keep(self, received: bytes) -> None:
        """Keep the next bytes for the next call of ``feed``."""
        self._line += received
        self.has_more = True

    def feed(self, received: bytes) -> list[bytes]:
        """Decode the next bytes, if these are very much framing the first of them; return the pieces of payload."""
        pieces: list[bytes] = []
        lines = LINES_AT_ONCE
        self.has_more = False
        if self._line:
            received = self._line + received
            self._line = b""
        at = 0
        size = len(received)
        while at < size and not self.finished:
            if self._state == _SIZE and lines:
                # Nearly all chunks say their size alone, and come whole; all others are taken step by step.
                bare = _match_bare_size(received, at)
                if bare is not None:
                    begin = bare.end()
                    end = begin + int(bare[1], 16)
                    if received[end : end + 2] == b"\r\n":
                        lines -= 1
                        at = end + 2
                        if end > begin:
                            pieces.append(received[begin:end])
                        else:
                            self.finished = True
                        continue
            if self._state == _PAYLOAD:
                piece = received[at : at + self._left]
                at += len(piece)
                self._left -= len(piece)
                pieces.append(piece)
                if not self._left:
                    self._state = _PAYLOAD_END
                continue
            if self._state == _PAYLOAD_END:
                ending = received[at : at + 2]
                if ending == b"\r\n":
                    at += 2
                    self._state = _SIZE
                    continue
                if ending != b"\r":
                    raise BodyError("chunk longer than its size")
                self._line = ending
                return pieces
            end = received.find(b"\r\n", at)
            if end < 0:
                self._line = self._unfinished(received[at:])
                return pieces
            if not lines:
                self._line = received[at:]
                self.has_more = True
                return pieces
            lines -= 1
            self._end_line(received[at:end])
            at = end + 2
        self.rest = received[at:]
        return pieces

    def _unfinished(self, line: bytes) -> bytes:
        """Refuse the beginning of a line at once when no ending could make it right."""
        size = len(line) - line.endswith(b"\r")
        if size > MAX_CHUNK_LINE and (self._state == _SIZE or size > MAX_TRAILERS):
            raise BodyError("chunk line too long")
        if b"\n" in line or b"\r" in line[:-1]:
            raise BodyError("bare CR or LF in the framing of a chunk")
        return line

    def _end_line(self, line: bytes) -> None:
        if self._state == _TRAILERS:
            if not line:
                self.finished = True
                return
            self._trailer_size += len(line)
            if self._trailer_size > MAX_TRAILERS:
                raise BodyError("too many trailers")
            try:
                split_field(line)
            except FieldError as error:
                raise BodyError("bad trailer line") from error
            self.trailers.append(line)
            return
        match = _match_size(line) if len(line) <= MAX_CHUNK_LINE else None
        if match is None:
            raise BodyError("bad chunk size")
        self._extensions += len(match[2])
        if self._extensions > MAX_EXTENSIONS:
            raise BodyError("too many chunk extensions")
        self._left = int(match[1], 16)
        self._state = _PAYLOAD if self._left else _TRAILERS


class LengthDecoder:
    """Takes a body of known length off the bytes; the counterpart of ``ChunkedDecoder``."""

    __slots__ = ("finished", "left", "rest", "trailers")
    has_more: Final = False

    def __init__(self, length: int) -> None:
        self.left = length
        self.finished = not length
        self.rest = b""
        self.trailers: list[bytes] = []

    def feed(self, received: bytes) -> list[bytes]:
        """Return the payload in *received*."""
        left = self.left
        if len(received) < left:
            self.left = left - len(received)
            return [received]
        self.left = 0
        self.finished = True
        self.rest = received[left:]
        return [received[:left]] if left else []


class CloseDecoder:
    """A body that ends with its connection: everything is payload, and it never finishes here."""

    __slots__ = ("finished", "rest", "trailers")
    has_more: Final = False

    def __init__(self) -> None:
        self.finished = False
        self.rest = b""
        self.trailers: list[bytes] = []

    def feed(self, received: bytes) -> list[bytes]:
        """Return *received*, all of which is payload."""
        return [received] if received else []


Decoder = ChunkedDecoder | LengthDecoder | CloseDecoder


def decoder_of(is_chunked: bool, content_length: int, is_empty: bool) -> Decoder:
    """Return what takes off a body that is framed so: *content_length* is negative where there is none."""
    if is_empty:
        return LengthDecoder(0)
    if is_chunked:
        return ChunkedDecoder()
    return LengthDecoder(content_length) if content_length >= 0 else CloseDecoder()
