"""How much a session keeps of answers that its client does not take.

A stream that cannot send stops its endpoint, but only after a first piece was read, and the first
pieces of a hundred answers are megabytes.  So are their heads, which wait for nothing: a full transport has them on top
(``Outgoing.surplus``).  So there is a high watermark for all that waits on one connection, and one for that surplus: above either all
its streams have their endpoints wait, and what these say stays in the kernel.  They go on below the low ones, when half
of what waited is gone, and the transport has sent what it was given.

    below ── ``MAX_WAITING`` bytes wait, or the surplus is too large ──▶ above the high watermark
      ▲                                                                         │
      └────────────────── half of that waits, and no such surplus ──────────────┘

A page must not stand still for the videos on it that are paused.  So above the mark a session ends, after a few seconds,
the streams that the client itself gives no credit for; those that merely share a slow way with others have
all the time that a client may take.
"""

from collections.abc import Iterable
from typing import Protocol

from ingress.http2.outgoing import Outgoing
from ingress.proxy.contract.limits import MAX_WAITING
from ingress.proxy.contract.progress import Progress


class BacklogStream(Protocol):
    """What the backlog asks of a stream."""

    is_held_back: bool

    def hold_back(self) -> None:
        """Have the endpoint say no more for now."""

    def go_on(self) -> None:
        """Have the endpoint go on that was held back."""

    def is_neglected(self, now: float) -> bool:
        """Whether the client has given this stream no credit for a while, and something waits for that alone."""

    def give_up(self) -> None:
        """End the stream of a client that takes nothing."""


class SendBacklog:
    """What waits to be sent on one connection, *outgoing*, and on all of *streams*, as its session says each time."""

    __slots__ = ("_progress", "is_above_high_watermark")

    def __init__(self) -> None:
        self.is_above_high_watermark = False
        """Whether it is above the high watermark, and no answer should bring more."""
        self._progress: Progress | None = None
        """How what waits is taken since that is too much; None while only the surplus is, which is a matter of the whole connection."""

    def __repr__(self) -> str:
        return f"<SendBacklog {'above' if self.is_above_high_watermark else 'below'} the high watermark>"

    def grew(self, outgoing: Outgoing, streams: Iterable[BacklogStream]) -> None:
        """Something of an answer has to wait."""
        if outgoing.waiting >= MAX_WAITING and self._progress is None:
            self._progress = Progress()
        if (self._progress is not None or outgoing.is_overfull) and not self.is_above_high_watermark:
            self.is_above_high_watermark = True
            for stream in list(streams):
                stream.hold_back()

    def shrank(self, outgoing: Outgoing, streams: Iterable[BacklogStream]) -> None:
        """Something that waited was sent, or is of no use any more."""
        if outgoing.waiting < MAX_WAITING // 2:
            self._progress = None
        if self.is_above_high_watermark and self._progress is None and not outgoing.is_overfull:
            self.is_above_high_watermark = False
            for stream in list(streams):
                if self.is_above_high_watermark:
                    # One that went on has said that much; the others are held back still.
                    break
                stream.go_on()

    def look(self, waiting: int, streams: Iterable[BacklogStream], now: float, seconds: float) -> None:
        """Called with each tick: above the mark, end what nobody takes; *seconds* is how long all of it may stand still."""
        progress = self._progress
        if progress is None:
            return
        is_stuck = progress.is_stuck(waiting, now, seconds)
        neglected = [
            stream for stream in streams if (is_stuck and stream.is_held_back) or stream.is_neglected(now)
        ]
        for stream in neglected:
            stream.give_up()
