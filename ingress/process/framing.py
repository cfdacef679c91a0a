"""Frames: what goes over a control channel, as bytes of a stream.  Pure.

A frame is a header and a payload.  Descriptors that belong to it travel beside the bytes (SCM_RIGHTS), in the order of
the frames, and never later than their frame; the header says how many they are.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from ingress.model.frozen import frozen

_HEADER: Final = Struct("<IBHI")
_LONGEST: Final = (1 << 32) - 1


class NonsenseError(ValueError):
    """What the other end says cannot be; the message says why, without a word of it."""


@frozen
class Frame:
    """One message: its *kind*, the *number* that it goes by, and how many *descriptors* come with it."""

    kind: int
    number: int = 0
    payload: bytes = b""
    descriptors: int = 0


def frame_to_bytes(frame: Frame, further: int = 0) -> bytes:
    """Return *frame* as it travels; *further* bytes of its payload are written behind it."""
    header = _HEADER.pack(len(frame.payload) + further, frame.kind, frame.descriptors, frame.number)
    return header + frame.payload


class FrameReader:
    """Makes frames of bytes that come in any parts.  A payload of more than *most* bytes is nonsense."""

    def __init__(self, most: int = _LONGEST) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._held = 0
        self._wanted = _HEADER.size

    def take(self, octets: bytes) -> Iterator[Frame]:
        """Take what came; yield each frame that is whole with it.  Raises ``NonsenseError``, and is of no use from then on."""
        self._parts.append(octets)
        self._held += len(octets)
        if self._held < self._wanted:
            return
        whole, start = b"".join(self._parts), 0
        self._wanted = _HEADER.size
        while len(whole) - start >= _HEADER.size:
            length, kind, descriptors, number = _HEADER.unpack_from(whole, start)
            if length > self._most:
                raise NonsenseError(f"a frame of {length} bytes")
            end = start + _HEADER.size + length
            if end > len(whole):
                self._wanted = _HEADER.size + length
                break
            yield Frame(kind, number, whole[start + _HEADER.size : end], descriptors)
            start = end
        rest = whole[start:]
        self._parts, self._held = [rest], len(rest)
