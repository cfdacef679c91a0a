"""WebSocket on the server's side, as bytes: the opening handshake and the frames of RFC 6455.

Pure: no sockets, no Twisted.  ``examples.whoami.websocket_echo`` puts it on a
connection.  The proxy has no use for this, since a tunnel does not look inside.
"""

import base64
import binascii
import codecs
import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from hashlib import sha1

from attrs import define, field, frozen

MAX_FRAME_BYTES = 1024 * 1024
"""Longest frame accepted.  Longer ones end the connection with close code 1009."""

# RFC 6455 section 1.3: the value that a server appends to the key it was sent.
_ACCEPT_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

Fields = Sequence[tuple[bytes, bytes]]


class Opcode(IntEnum):
    """What a frame carries (RFC 6455 section 5.2)."""

    CONTINUATION = 0x0
    TEXT = 0x1
    BINARY = 0x2
    CLOSE = 0x8
    PING = 0x9
    PONG = 0xA


class WebSocketError(Exception):
    """The peer broke the protocol; *code* is the close code to send (section 7.4.1)."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@frozen
class Frame:
    """One frame, unmasked."""

    opcode: Opcode
    payload: bytes
    is_final: bool = True

    def as_bytes(self) -> bytes:
        """The frame as a server sends it: never masked (section 5.1)."""
        first = (0x80 if self.is_final else 0) | self.opcode
        length = len(self.payload)
        if length < 126:
            head = struct.pack("!BB", first, length)
        elif length < 65536:
            head = struct.pack("!BBH", first, 126, length)
        else:
            head = struct.pack("!BBQ", first, 127, length)
        return head + self.payload


def wants_websocket(fields: Fields) -> bool:
    """Whether a request asks for an upgrade to WebSocket at all."""
    return "websocket" in _tokens(fields, b"upgrade") and "upgrade" in _tokens(fields, b"connection")


def handshake(method: bytes, fields: Fields) -> tuple[int, tuple[tuple[bytes, bytes], ...]]:
    """Status and header fields that answer an upgrade request (section 4.2).

    The status is 101, or 426 with the version spoken here, or 400.
    """
    if b"13" not in _values(fields, b"sec-websocket-version"):
        return 426, ((b"Sec-WebSocket-Version", b"13"),)
    keys = _values(fields, b"sec-websocket-key")
    if method != b"GET" or len(keys) != 1 or not _is_key(keys[0]):
        return 400, ()
    accept = base64.b64encode(sha1(keys[0] + _ACCEPT_SUFFIX, usedforsecurity=False).digest())
    return 101, (
        (b"Upgrade", b"websocket"),
        (b"Connection", b"Upgrade"),
        (b"Sec-WebSocket-Accept", accept),
    )


def close_frame(code: int, message: str = "") -> Frame:
    """A close frame; the text is cut to what a control frame may hold."""
    return Frame(Opcode.CLOSE, struct.pack("!H", code) + message.encode()[:123])


@define
class FrameReader:
    """Cuts what a downstream sends into frames, and refuses what section 5 forbids."""

    max_frame_bytes: int = MAX_FRAME_BYTES
    _pending: bytearray = field(factory=bytearray, init=False)
    _message: Opcode | None = field(default=None, init=False)
    """Kind of the fragmented message that is under way."""
    _text: codecs.IncrementalDecoder = field(factory=codecs.getincrementaldecoder("utf-8"), init=False)

    def feed(self, received: bytes) -> Iterator[Frame]:
        """Take bytes in; yield every frame that is complete.  Raises WebSocketError."""
        self._pending += received
        while (frame := self._next()) is not None:
            yield frame

    def _next(self) -> Frame | None:
        pending = self._pending
        if len(pending) < 2:
            return None
        first, second = pending[0], pending[1]
        is_final, length = bool(first & 0x80), second & 0x7F
        try:
            opcode = Opcode(first & 0x0F)
        except ValueError:
            raise WebSocketError(1002, "unknown opcode") from None
        if first & 0x70:
            raise WebSocketError(1002, "reserved bits are set and no extension was agreed on")
        if not second & 0x80:
            raise WebSocketError(1002, "frames sent to a server must be masked")
        if opcode >= Opcode.CLOSE and (length > 125 or not is_final):
            raise WebSocketError(1002, "control frames are short and never fragmented")
        start = 2
        if length >= 126:
            size, layout = (2, "!H") if length == 126 else (8, "!Q")
            start += size
            if len(pending) < start:
                return None
            (length,) = struct.unpack(layout, pending[2:start])
        if length > self.max_frame_bytes:
            raise WebSocketError(1009, f"frames may hold {self.max_frame_bytes} bytes")
        if len(pending) < start + 4 + length:
            return None
        payload = _unmasked(pending[start : start + 4], pending[start + 4 : start + 4 + length])
        del pending[: start + 4 + length]
        frame = Frame(opcode, payload, is_final)
        self._check(frame)
        return frame

    def _check(self, frame: Frame) -> None:
        """Hold the order of fragments (section 5.4) and the content (sections 5.5.1 and 5.6)."""
        if frame.opcode is Opcode.CLOSE:
            if len(frame.payload) == 1:
                raise WebSocketError(1002, "a close frame holds a code of two bytes or nothing")
            return
        if frame.opcode > Opcode.CLOSE:
            return
        if (frame.opcode is Opcode.CONTINUATION) is (self._message is None):
            raise WebSocketError(1002, "fragments of messages are out of order")
        kind = self._message or frame.opcode
        if kind is Opcode.TEXT:
            try:
                self._text.decode(frame.payload, frame.is_final)
            except UnicodeDecodeError:
                raise WebSocketError(1007, "text is not UTF-8") from None
        self._message = None if frame.is_final else kind


def _unmasked(mask: bytearray, payload: bytearray) -> bytes:
    """Undo the mask of section 5.3: all bytes at once, as two long integers."""
    length = len(payload)
    key = (mask * (length // 4 + 1))[:length]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(length, "big")


def _values(fields: Fields, name: bytes) -> list[bytes]:
    return [value.strip() for found, value in fields if found.lower() == name]


def _tokens(fields: Fields, name: bytes) -> set[str]:
    joined = b",".join(_values(fields, name)).decode("latin-1")
    return {token.strip().lower() for token in joined.split(",")}


def _is_key(key: bytes) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == 16
    except binascii.Error:
        return False
