"""HTTP/2 by hand for tests: frames and field blocks, the worst ones too, by nothing of the proxy's.

Blocks are plain literals unless a test builds something else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
WITH_PRIORITY = 0x20

(
    NO_ERROR,
    PROTOCOL_ERROR,
    INTERNAL_ERROR,
    FLOW_CONTROL_ERROR,
    SETTINGS_TIMEOUT,
    STREAM_CLOSED,
    FRAME_SIZE_ERROR,
    REFUSED_STREAM,
    CANCEL,
    COMPRESSION_ERROR,
    CONNECT_ERROR,
    ENHANCE_YOUR_CALM,
) = range(12)

(
    HEADER_TABLE_SIZE,
    ENABLE_PUSH,
    MAX_CONCURRENT_STREAMS,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    MAX_HEADER_LIST_SIZE,
) = range(1, 7)
ENABLE_CONNECT_PROTOCOL = 8
LARGEST_WINDOW = 2**31 - 1

Fields = Iterable[tuple[bytes, bytes]]


class Frame(NamedTuple):
    """One frame as it was received."""

    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def ends_stream(self) -> bool:
        """Whether its sender says no more on its stream."""
        return self.kind in (DATA, HEADERS) and bool(self.flags & END_STREAM)

    @property
    def code(self) -> int:
        """The error code of a RST_STREAM or GOAWAY frame."""
        at = 4 if self.kind == GOAWAY else 0
        return int.from_bytes(self.payload[at : at + 4], "big")

    @property
    def last_stream(self) -> int:
        """The last stream that a GOAWAY frame names."""
        return int.from_bytes(self.payload[:4], "big") & LARGEST_WINDOW

    @property
    def increment(self) -> int:
        """What a WINDOW_UPDATE frame gives."""
        return int.from_bytes(self.payload, "big")


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    """Return a frame with these parts, whether they make sense or not."""
    return struct.pack(">HBBBI", len(payload) >> 8, len(payload) & 0xFF, kind, flags, stream) + payload


def data(stream: int, octets: bytes = b"", ended: bool = False, padding: int | None = None) -> bytes:
    """Return a DATA frame, padded with so many zeros."""
    flags = END_STREAM if ended else 0
    if padding is not None:
        return frame(DATA, bytes([padding]) + octets + bytes(padding), flags | PADDED, stream)
    return frame(DATA, octets, flags, stream)


def headers(
    stream: int,
    block: bytes,
    ended: bool = True,
    whole: bool = True,
    padding: int | None = None,
    depends_on: int | None = None,
) -> bytes:
    """Return a HEADERS frame; not *whole* means that CONTINUATION frames follow."""
    flags = (END_STREAM if ended else 0) | (END_HEADERS if whole else 0)
    if depends_on is not None:
        flags |= WITH_PRIORITY
        block = struct.pack(">IB", depends_on, 255) + block
    if padding is not None:
        flags |= PADDED
        block = bytes([padding]) + block + bytes(padding)
    return frame(HEADERS, block, flags, stream)


def continuation(stream: int, block: bytes, whole: bool = True) -> bytes:
    """Return a CONTINUATION frame."""
    return frame(CONTINUATION, block, END_HEADERS if whole else 0, stream)


def priority(stream: int, depends_on: int = 0, weight: int = 255, exclusive: bool = False) -> bytes:
    """Return a PRIORITY frame."""
    return frame(PRIORITY, struct.pack(">IB", depends_on | exclusive << 31, weight), 0, stream)


def reset(stream: int, code: int = CANCEL) -> bytes:
    """Return a RST_STREAM frame."""
    return frame(RST_STREAM, struct.pack(">I", code), 0, stream)


def settings(*values: tuple[int, int]) -> bytes:
    """Return a SETTINGS frame with these identifiers and values."""
    return frame(SETTINGS, b"".join(struct.pack(">HI", *value) for value in values))


def ping(payload: bytes = bytes(8), ack: bool = False) -> bytes:
    """Return a PING frame."""
    return frame(PING, payload, ACK if ack else 0)


def goaway(last: int = 0, code: int = NO_ERROR, why: bytes = b"") -> bytes:
    """Return a GOAWAY frame."""
    return frame(GOAWAY, struct.pack(">II", last, code) + why)


def window_update(stream: int, increment: int) -> bytes:
    """Return a WINDOW_UPDATE frame."""
    return frame(WINDOW_UPDATE, struct.pack(">I", increment), 0, stream)


def integer(value: int, bits: int, first: int = 0) -> bytes:
    """Return *value* with a prefix of so many bits, the others of the first octet as in *first* (RFC 7541 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    octets = bytearray([first | most])
    value -= most
    while value >= 128:
        octets.append(value & 127 | 128)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def string(octets: bytes) -> bytes:
    """Return a string literal without Huffman code."""
    return integer(len(octets), 7) + octets


def literal(name: bytes, value: bytes, indexing: int = 0) -> bytes:
    """Return a literal with a new name; *indexing* is 0x40 to have it put into the table, 0x10 for never."""
    return bytes([indexing]) + string(name) + string(value)


def block(fields: Fields, indexing: int = 0) -> bytes:
    """Return a field block of literals."""
    return b"".join(literal(name, value, indexing) for name, value in fields)


def table_size(size: int) -> bytes:
    """Return an update of the dynamic table's size."""
    return integer(size, 5, 0x20)


def request_fields(
    method: bytes = b"GET",
    path: bytes = b"/",
    authority: bytes = b"shop.test",
    scheme: bytes = b"http",
    more: Fields = (),
) -> list[tuple[bytes, bytes]]:
    """Return the fields of a plain request, and *more*."""
    pseudo = [(b":method", method), (b":scheme", scheme), (b":path", path), (b":authority", authority)]
    return [*pseudo, *more]
