"""Frames: their numbers, and how they are written (RFC 9113 sections 4.1, 6 and 6.5.2).

Lengths and windows are bytes.  What is read of frames is in ``connection``.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client says first (section 3.4)."""

DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

ACK: Final = 0x1
END_STREAM: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
HAS_PRIORITY: Final = 0x20

HEADER_TABLE_SIZE: Final = 0x1
ENABLE_PUSH: Final = 0x2
MAX_CONCURRENT_STREAMS: Final = 0x3
INITIAL_WINDOW_SIZE: Final = 0x4
MAX_FRAME_SIZE: Final = 0x5
MAX_HEADER_LIST_SIZE: Final = 0x6
ENABLE_CONNECT_PROTOCOL: Final = 0x8
"""RFC 8441 section 3."""

FRAME_HEAD_BYTES: Final = 9
FRAME_BYTES: Final = 16 * 1024
"""The least that ``MAX_FRAME_SIZE`` may be, and all that we ever send or take in one frame."""
USUAL_TABLE_SIZE: Final = 4096
USUAL_WINDOW: Final = 65_535
LARGEST_WINDOW: Final = 2**31 - 1
LAST_STREAM: Final = 2**31 - 1

unpack_head: Final = Struct(">BHBBl").unpack_from
"""Length (its highest byte first), type, flags, stream: less ``RESERVED`` where the reserved bit is set, which says nothing."""
RESERVED: Final = -(2**31)
pack_head: Final = Struct(">xHBBL").pack
"""Length, type, flags, stream: none of ours is as long as 64 KiB, so the highest byte of the length is 0."""
unpack_setting: Final = Struct(">HL").iter_unpack
unpack_number: Final = Struct(">L").unpack_from
_pack_setting: Final = Struct(">HL").pack
_pack_number: Final = Struct(">L").pack
_pack_pair: Final = Struct(">LL").pack


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return one frame; *payload* is at most as long as the peer takes."""
    return pack_head(len(payload), kind, flags, stream) + payload


def settings_frame(settings: Iterable[tuple[int, int]]) -> bytes:
    """Announce *settings*."""
    return frame(SETTINGS, 0, 0, b"".join(_pack_setting(*setting) for setting in settings))


SETTINGS_ACK: Final = frame(SETTINGS, ACK, 0, b"")


def window_update(stream: int, increment: int) -> bytes:
    """Let the peer send *increment* more; stream 0 is the connection."""
    return frame(WINDOW_UPDATE, 0, stream, _pack_number(increment))


def reset_frame(stream: int, code: int) -> bytes:
    """End *stream*."""
    return frame(RST_STREAM, 0, stream, _pack_number(code))


def goaway_frame(last: int, code: int, why: str = "") -> bytes:
    """Say that no stream above *last* is or will be looked at; *why* is for whoever debugs the peer."""
    return frame(GOAWAY, 0, 0, _pack_pair(last, code) + why.encode("ascii", "replace"))


def ping_frame(payload: bytes, is_answer: bool = False) -> bytes:
    """Ask for a sign of life, or give one."""
    return frame(PING, ACK if is_answer else 0, 0, payload)


def field_block_frames(stream: int, block: bytes, ended: bool, frame_bytes: int = FRAME_BYTES) -> bytes:
    """Return the HEADERS frame of *block*, and CONTINUATION frames for what does not fit into it."""
    flags = END_STREAM if ended else 0
    length = len(block)
    if length <= frame_bytes:
        return pack_head(length, HEADERS, flags | END_HEADERS, stream) + block
    parts = [frame(HEADERS, flags, stream, block[:frame_bytes])]
    for at in range(frame_bytes, length, frame_bytes):
        end = END_HEADERS if at + frame_bytes >= length else 0
        parts.append(frame(CONTINUATION, end, stream, block[at : at + frame_bytes]))
    return b"".join(parts)
