"""How much a session keeps of answers that its client does not take.

A stream that cannot send stops its endpoint, but only after a first piece was read, and the first
pieces of a hundred answers are megabytes.  So once too much waits on one connection, the session is *above_high_watermark*: all its
streams have their endpoints wait, and what these say stays in the kernel.  They go on when half of what
waited is gone.

    roomy ── ``MAX_WAITING`` bytes wait ──▶ above the high watermark ── half of that waits ──▶ roomy

A page must not stand still for the videos on it that are paused.  So a above the high watermark session ends, after a few seconds,
the streams that the client itself gives no credit for; those that merely share a slow way with others have
all the time that a client may take.
"""

from abc import ABC
from typing import TYPE_CHECKING

from ingress.model.limits import Limits
from ingress.proxy.contract.limits import MAX_WAITING
from ingress.proxy.contract.progress import Progress

if TYPE_CHECKING:
    from ingress.proxy.downstream.h2_stream import DownstreamStream


class HoldingBack(ABC):
    """The part of ``DownstreamSession`` that decides how much is kept; *streams* and *waiting* are its connection's."""

    streams: "dict[int, DownstreamStream]"
    waiting: int
    limits: Limits
    is_above_high_watermark = False
    """Whether so much waits that no answer should bring more."""
    _above_high_watermark: Progress | None = None

    def more_waits(self) -> None:
        """Something of an answer has to wait."""
        if self.waiting >= MAX_WAITING and not self.is_above_high_watermark:
            self.is_above_high_watermark = True
            self._above_high_watermark = Progress()
            for stream in list(self.streams.values()):
                stream.hold_back()

    def less_waits(self) -> None:
        """Something that waited was sent, or is of no use any more."""
        if self.is_above_high_watermark and self.waiting < MAX_WAITING // 2:
            self.is_above_high_watermark = False
            self._above_high_watermark = None
            for stream in list(self.streams.values()):
                stream.go_on()

    def look_at_waiting(self, now: float) -> None:
        """Called by the deadlines while it is above the high watermark: end what nobody takes."""
        assert self._above_high_watermark is not None
        is_stuck = self._above_high_watermark.is_stuck(self.waiting, now, self.limits.send_seconds)
        neglected = [
            stream
            for stream in self.streams.values()
            if (is_stuck and stream.is_held_back) or stream.is_neglected(now)
        ]
        for stream in neglected:
            stream.give_up()
