"""What waits to be sent on a connection, and in which order it goes.

Bodies wait for windows and for the transport, each with its stream, and go by turns.  Field blocks wait for
nothing, since they have no window (RFC 9113 section 5.2.1), and neither do answers to PING and SETTINGS.  So it is
counted how much of these a full transport was given on top.
"""

from collections.abc import Callable
from typing import Final

from ingress.http2.frame_reader import FrameReader
from ingress.http2.frames import FRAME_BYTES, USUAL_WINDOW
from ingress.http2.stream import Stream

MAX_SURPLUS: Final = 64 * 1024


class Sending(FrameReader):
    """The sending side of a connection, on top of the reading one."""

    __slots__ = ("blocked", "initial_window", "is_full", "surplus", "table_update", "waiting", "window")

    def __init__(self, seconds: Callable[[], float]) -> None:
        super().__init__(seconds)
        self.blocked: dict[Stream, None] = {}
        """Streams with something that waits to be sent, in turns."""
        self.waiting = 0
        """How many bytes that are."""
        self.window = USUAL_WINDOW
        """Bytes of bodies that may be sent."""
        self.initial_window = USUAL_WINDOW
        """What the peer lets us send on a new stream."""
        self.is_full = False
        """Whether the transport takes no more for now."""
        self.surplus = 0
        """Bytes that were sent since then, for they do not wait."""
        self.table_update = b""
        """What the next field block must begin with, once the peer allows a smaller table: that ours is empty."""

    @property
    def is_overfull(self) -> bool:
        """Whether so much waits in the transport that nothing should be begun that may bring about more."""
        return self.surplus > MAX_SURPLUS

    def with_table_update(self, block: bytes) -> bytes:
        """Return *block*, which is the next to be sent, behind what it must begin with."""
        update, self.table_update = self.table_update, b""
        return update + block

    def send_at_once(self, frames: bytes) -> None:
        """Send what waits for nothing, of which the peer may ask for more and more, and take none."""
        if self.is_full:
            self.surplus += len(frames)
        self.write(frames)

    def send_on(self) -> None:
        """The transport takes more again."""
        self.is_full = False
        self.surplus = 0
        self.pump()

    def pump(self) -> None:
        """Send of what waits as much as windows and transport take, by turns."""
        progress = True
        while progress and self.blocked and not self.is_full:
            progress = False
            for stream in list(self.blocked):
                if self.is_full or self.window <= 0:
                    return
                if stream.window > 0 and stream in self.blocked:
                    del self.blocked[stream]
                    progress |= stream.flow(FRAME_BYTES) > 0
                    if stream.is_blocked:
                        # Behind all others.
                        self.blocked[stream] = None
                    elif not stream.local_ended:
                        stream.drained()
