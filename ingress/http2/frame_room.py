"""Memory that bodies are read into with room before each piece for the head of its frame.

So what came from a socket is a row of DATA frames once their heads are written, without being moved.  The memory is
one for all streams: whoever asks for ``spaces`` has it until its ``frames`` are sent, and nobody asks meanwhile.
"""

from collections.abc import Sequence
from typing import Final

from ingress.http2.frames import DATA, FRAME_BYTES, FRAME_HEAD_BYTES, pack_head

COPIED_FRAMES: Final = 16
"""What is read at once, at most: more costs less processor time, but all of it may come to wait for a slow client."""
_FRAMES_OF_ALL: Final = 96
"""What all streams read at once together, for others have to wait until all of it is sent; ..."""
_LEAST_FRAMES: Final = 6
"""... but each of them may read so much."""
PIECE_BYTES: Final = FRAME_BYTES - FRAME_HEAD_BYTES
"""Of a body, in one frame: with its head that is a whole record of TLS."""


class FrameRoom:
    """Room for *frames* whole frames, which is taken when it is first asked for."""

    __slots__ = ("_frames", "_is_one", "_memory", "_spaces", "_view", "users")

    def __init__(self, frames: int = COPIED_FRAMES) -> None:
        self._frames = frames
        self._memory = bytearray()
        self._view = memoryview(self._memory)
        self._spaces: list[memoryview] = []
        self._is_one = False
        """Whether what comes next is one frame, a little larger than a piece."""
        self.users = 0
        """How many streams read into it at present; each counts itself."""

    @property
    def share(self) -> int:
        """Bytes that each of the users may read at once."""
        return max(_FRAMES_OF_ALL // max(self.users, 1), _LEAST_FRAMES) * PIECE_BYTES

    def spaces(self, most: int) -> Sequence[memoryview]:
        """Return where the next bytes go, at most *most*: at least one byte's room, for a *most* of one or more."""
        if not self._spaces:
            self._memory = bytearray(self._frames * FRAME_BYTES + FRAME_HEAD_BYTES)
            self._view = memoryview(self._memory)
            self._spaces = [
                self._view[at + FRAME_HEAD_BYTES : at + FRAME_BYTES]
                for at in range(0, self._frames * FRAME_BYTES, FRAME_BYTES)
            ]
        # A turn of a body is a frame's worth: as a piece and a few bytes behind it that would be two.
        self._is_one = PIECE_BYTES < most <= FRAME_BYTES
        if self._is_one:
            return [self._view[FRAME_HEAD_BYTES : FRAME_HEAD_BYTES + most]]
        whole, rest = divmod(most, PIECE_BYTES)
        if whole >= self._frames:
            return self._spaces
        spaces = self._spaces[:whole]
        if rest:
            spaces.append(self._spaces[whole][:rest])
        return spaces

    def frames(self, stream_id: int, count: int) -> memoryview:
        """Return what came, *count* bytes in the order of the spaces, as frames of a stream; none is its last."""
        whole, rest = (0, count) if self._is_one else divmod(count, PIECE_BYTES)
        memory = self._memory
        head = pack_head(PIECE_BYTES, DATA, 0, stream_id)
        end = whole * FRAME_BYTES
        for at in range(0, end, FRAME_BYTES):
            memory[at : at + FRAME_HEAD_BYTES] = head
        if rest:
            memory[end : end + FRAME_HEAD_BYTES] = pack_head(rest, DATA, 0, stream_id)
            end += FRAME_HEAD_BYTES + rest
        return self._view[:end]
