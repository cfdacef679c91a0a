"""The rest of an answer's body on its way from upstream's socket into the frames of one stream.

It goes through memory that all streams share (``FrameRoom``), in pieces as large as a read may be, without becoming an object in
between.  It takes its turns among the streams of its connection like any other body: while window and transport have
room each read goes out at once; when they have none, it waits with the others, upstream is not read, and each turn moves as much as
a turn of theirs.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

from ingress.http2.frame_room import COPIED_FRAMES, PIECE_BYTES, FrameRoom
from ingress.http2.outgoing import Outgoing
from ingress.proxy.contract.transport import KernelCopy, MemoryCopy, Transport

_FIRST_BYTES: Final = 4 * PIECE_BYTES
"""What is read at once of a client that was slow, or is not known yet."""
_MORE_BYTES: Final = 2 * PIECE_BYTES
"""So much more is read each time that the client took all at once, up to its share (``FrameRoom.share``), and at most ..."""
_MOST_BYTES: Final = COPIED_FRAMES * PIECE_BYTES
"""... this, which but for a last piece is the most that waits in the transport with it."""


class CopiedStream(Protocol):
    """A stream, as the copy of its answer sees it."""

    id: int
    outgoing: Outgoing
    window: int
    waiting: deque[memoryview]

    def account(self, count: int) -> None:
        """So much of the body is sent."""

    def stalled(self) -> None:
        """The copy waits for its turn."""


class FramedCopy:
    """Takes what comes for *stream*, and writes it to *transport* through *room*."""

    __slots__ = ("_copying", "_most", "_room", "_stream", "_transport", "is_stalled")

    def __init__(self, stream: CopiedStream, transport: Transport, room: FrameRoom) -> None:
        self._stream = stream
        self._transport = transport
        self._room = room
        self._most = _FIRST_BYTES
        self._copying: MemoryCopy | None = None
        self.is_stalled = False
        """Whether it waits for its turn."""

    def __repr__(self) -> str:
        return f"<FramedCopy {self.left} bytes to come{', stalled' if self.is_stalled else ''}>"

    def begin(self, copy: KernelCopy) -> bool:
        """Begin; False where that is impossible."""
        self._copying = copy.source.copy_into(copy, self)
        if self._copying is None:
            return False
        self._room.users += 1
        return True

    @property
    def left(self) -> int:
        """Bytes that are still to come."""
        return 0 if self._copying is None else self._copying.left

    def flow(self, most: int) -> int:
        """Move at most *most* bytes, in its turn; return how many that were."""
        self.is_stalled = False
        if self._copying is None:
            return 0
        moved = self._copying.move(most)
        if moved and self._copying is not None and (moved == most or self._takes() <= 0):
            # There may be more, for its next turn.
            self.is_stalled = True
        return moved

    def close(self) -> None:
        """Let go of upstream, be it that all has come or that nobody wants the rest."""
        copying, self._copying = self._copying, None
        self.is_stalled = False
        if copying is not None:
            self._room.users -= 1
            copying.close()

    # CopyTaker

    def spaces(self, most: int) -> Sequence[memoryview]:
        """Return where the next bytes go: as many as transport and windows take now."""
        takes = self._takes()
        if takes > 0:
            return self._room.spaces(min(most, takes))
        self._most = _FIRST_BYTES
        if not self.is_stalled:
            self.is_stalled = True
            self._stream.stalled()
        return ()

    def _takes(self) -> int:
        """Return how much can be sent now; not above 0 for nothing."""
        stream = self._stream
        outgoing = stream.outgoing
        if outgoing.is_full or stream.waiting:
            return 0
        # A transport that is not full never says that it has room: however much others wrote in this turn, a piece may follow.
        room = max(_MOST_BYTES - self._transport.queued, PIECE_BYTES)
        return min(self._most, self._room.share, stream.window, outgoing.window, room)

    def came(self, count: int) -> None:
        """Send what came."""
        stream = self._stream
        stream.account(count)
        self._transport.write_at_once(self._room.frames(stream.id, count))
        if stream.outgoing.is_full:
            self._most = _FIRST_BYTES
        elif count == self._most < _MOST_BYTES:
            self._most += _MORE_BYTES
