"""The outgoing side of a connection: what may be sent, what waits for that, and in which order it goes.

The connection has it, and each of its streams holds it, too: a stream sends by it, and takes its share of the
connection's window.  Bodies wait for windows and for the transport, each with its stream, and go by turns.  Field
blocks wait for nothing, since they have no window (RFC 9113 section 5.2.1), and neither do answers to PING and
SETTINGS.  So it is counted how much of these a full transport was given on top.
"""

from collections.abc import Callable
from typing import Final, Protocol

from ingress.http2.budget import Budget
from ingress.http2.faults import ConnectionFault, ErrorCode
from ingress.http2.frames import FRAME_BYTES, USUAL_WINDOW

MAX_SURPLUS: Final = 64 * 1024
MOST_PUMPED: Final = 512 * 1024
"""Bytes that are sent in one go: after that, what can be sent without waiting here leaves the turns to others, of other connections, too."""


class Sender(Protocol):
    """A stream with something that waits to be sent."""

    window: int
    local_ended: bool

    @property
    def is_blocked(self) -> bool:
        """Whether something waits."""

    def flow(self, most: int) -> int:
        """Send at most *most* bytes of what waits; return how many that were."""

    def drained(self) -> None:
        """All that waited was sent."""

    def leave_turns(self) -> None:
        """Wait no more for what need not: what comes by itself, as it is sent, might come without end."""


class Outgoing:
    """What is sent to one peer, whom *budget* judges.

    With *most_untaken*, a peer that asks for more than so many bytes of acknowledgements, and takes none, is at fault.
    """

    __slots__ = (
        "_most_untaken",
        "blocked",
        "budget",
        "initial_window",
        "is_full",
        "surplus",
        "table_update",
        "waiting",
        "window",
        "write",
    )

    write: Callable[[bytes], object]
    """Gives bytes to the transport; to be set before anything else is done."""

    def __init__(self, budget: Budget, most_untaken: int | None = None) -> None:
        self.budget = budget
        self._most_untaken = most_untaken
        self.blocked: dict[Sender, None] = {}
        """Streams with something that waits to be sent, in turns."""
        self.waiting = 0
        """How many bytes that are, with the trailers behind them."""
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

    def __repr__(self) -> str:
        state = "full" if self.is_full else f"window {self.window}"
        return f"<Outgoing {state}, {self.waiting} bytes wait on {len(self.blocked)} streams>"

    @property
    def is_overfull(self) -> bool:
        """Whether so much waits in the transport that nothing should be begun that may bring about more."""
        return self.surplus > MAX_SURPLUS

    def with_table_update(self, block: bytes) -> bytes:
        """Return *block*, which is the next to be sent, behind what it must begin with."""
        update, self.table_update = self.table_update, b""
        return update + block

    def send_at_once(self, frames: bytes) -> None:
        """Send what waits for nothing."""
        if self.is_full:
            self.surplus += len(frames)
        self.write(frames)

    def acknowledge(self, frames: bytes) -> None:
        """Send at once what the peer has asked for, of which it may ask for more and more, and take none."""
        self.send_at_once(frames)
        if self._most_untaken is not None and self.surplus > self._most_untaken:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "asks on, and takes none of the answers")

    def send_on(self) -> None:
        """The transport takes more again."""
        self.is_full = False
        self.surplus = 0
        self.pump()

    def pump(self) -> None:
        """Send of what waits as much as windows and transport take, by turns."""
        left = MOST_PUMPED
        progress = True
        while progress and self.blocked and not self.is_full:
            progress = False
            for stream in list(self.blocked):
                if self.is_full or self.window <= 0:
                    return
                if stream.window > 0 and stream in self.blocked:
                    del self.blocked[stream]
                    if left <= 0:
                        stream.leave_turns()
                    if left > 0 or stream.is_blocked:
                        sent = stream.flow(FRAME_BYTES)
                        left -= sent
                        progress |= sent > 0
                    if stream.is_blocked:
                        # Behind all others.
                        self.blocked[stream] = None
                    elif not stream.local_ended:
                        stream.drained()

    def forget_all(self) -> None:
        """Nothing of what waits is of use any more."""
        self.blocked.clear()
        self.waiting = 0
