"""An answer as a client reads it: whole, cut or malformed.  Pure.

It is strict, since it is the judge: what two clients could read in two ways is malformed here.
"""

import re
from enum import Enum

_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: [^\r\n\0]*)?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*")
_LENGTH = re.compile(rb"\d{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[^\r\n\0]*)?")
_MAX_LINE = 65536
_NO_BODY = (204, 304)


class AnswerError(Exception):
    """The bytes are no answer of HTTP/1.1, or could be read as two different ones."""


class _Part(Enum):
    HEAD = "head"
    LENGTH = "body of a known length"
    CHUNK_SIZE = "size of a chunk"
    CHUNK = "chunk"
    CHUNK_END = "end of a chunk"
    TRAILERS = "trailers"
    UNTIL_CLOSE = "body that ends with the connection"
    WHOLE = "whole"


class AnswerReader:
    """Reads one final answer to a request with *method*; interim ones are passed over and counted."""

    def __init__(self, method: bytes = b"GET") -> None:
        self.status = 0
        """Zero until the head is complete."""
        self.fields: list[tuple[bytes, bytes]] = []
        self.body = bytearray()
        self.interim = 0
        self.rest = b""
        """What came after the end of the answer."""
        self._method = method
        self._buffer = bytearray()
        self._part = _Part.HEAD
        self._left = 0

    def __repr__(self) -> str:
        return f"<AnswerReader {self.status} {self._part.value}, {len(self.body)} bytes of body>"

    @property
    def is_whole(self) -> bool:
        """Whether the answer has come to its end."""
        return self._part is _Part.WHOLE

    @property
    def is_begun(self) -> bool:
        """Whether any byte of an answer came."""
        return bool(self.status or self.interim or self._buffer)

    def field(self, name: bytes) -> bytes | None:
        """The first value of the field *name*, given in lower case."""
        return next((value for key, value in self.fields if key == name), None)

    @property
    def says_close(self) -> bool:
        """Whether the connection is over after this answer."""
        tokens = (self.field(b"connection") or b"").lower().split(b",")
        return b"close" in [token.strip() for token in tokens]

    def feed(self, data: bytes) -> None:
        """Read on.  Raises AnswerError."""
        self._buffer += data
        while self._part is not _Part.WHOLE and self._advance():
            pass
        if self._part is _Part.WHOLE:
            self.rest += bytes(self._buffer)
            self._buffer.clear()

    def end(self) -> None:
        """The connection ended: only one kind of body ends so."""
        if self._part is _Part.UNTIL_CLOSE:
            self._part = _Part.WHOLE

    def _advance(self) -> bool:
        """Take one step; return whether there may be another."""
        match self._part:
            case _Part.HEAD:
                return self._read_head()
            case _Part.LENGTH | _Part.CHUNK:
                return self._read_counted()
            case _Part.UNTIL_CLOSE:
                self._take(len(self._buffer))
                return False
            case _Part.CHUNK_SIZE:
                line = self._line()
                if line is None:
                    return False
                size = _CHUNK_SIZE.fullmatch(line)
                if size is None:
                    raise AnswerError(f"chunk size {line[:40]!r}")
                self._left = int(size[1], 16)
                self._part = _Part.CHUNK if self._left else _Part.TRAILERS
            case _Part.CHUNK_END:
                line = self._line()
                if line is None:
                    return False
                if line:
                    raise AnswerError("a chunk is longer than its size")
                self._part = _Part.CHUNK_SIZE
            case _Part.TRAILERS:
                line = self._line()
                if line is None:
                    return False
                if not line:
                    self._part = _Part.WHOLE
        return True

    def _read_counted(self) -> bool:
        taken = min(self._left, len(self._buffer))
        self._take(taken)
        self._left -= taken
        if self._left:
            return False
        self._part = _Part.WHOLE if self._part is _Part.LENGTH else _Part.CHUNK_END
        return True

    def _take(self, count: int) -> None:
        self.body += self._buffer[:count]
        del self._buffer[:count]

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_LINE:
                raise AnswerError("an endless line")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_LINE:
                raise AnswerError("an endless head")
            return False
        first, *lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        status = _STATUS_LINE.fullmatch(first)
        if status is None:
            raise AnswerError(f"status line {first[:40]!r}")
        fields = []
        for line in lines:
            found = _FIELD.fullmatch(line)
            if found is None:
                raise AnswerError(f"field line {line[:40]!r}")
            fields.append((found[1].lower(), found[2]))
        code = int(status[1])
        if code < 200 and code != 101:
            self.interim += 1
            return True
        self.status, self.fields = code, fields
        self._part = self._framing()
        return True

    def _framing(self) -> _Part:
        lengths = {value for name, value in self.fields if name == b"content-length"}
        codings = [value.lower() for name, value in self.fields if name == b"transfer-encoding"]
        if len(lengths) > 1 or (lengths and codings) or len(codings) > 1:
            raise AnswerError("two framings")
        for length in lengths:
            if not _LENGTH.fullmatch(length):
                raise AnswerError(f"length {length[:40]!r}")
        if self._method == b"HEAD" or self.status in _NO_BODY or self.status == 101:
            return _Part.WHOLE
        if codings:
            if codings != [b"chunked"]:
                raise AnswerError(f"transfer coding {codings[0][:40]!r}")
            return _Part.CHUNK_SIZE
        if lengths:
            self._left = int(lengths.pop())
            return _Part.LENGTH if self._left else _Part.WHOLE
        return _Part.UNTIL_CLOSE
