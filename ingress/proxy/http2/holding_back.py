"""How much a session keeps of answers that its client does not take.

A stream that cannot send stops its endpoint, but only after a first piece was read, and the first
pieces of a hundred answers are megabytes.  So once too much waits on one connection, the session is *crammed*: all its
streams have their endpoints wait, and what these say stays in the kernel.  They go on when half of what
waited is gone.

    roomy ── ``MAX_WAITING`` bytes wait ──▶ crammed ── half of that waits ──▶ roomy

A page must not stand still for the videos on it that are paused.  So a crammed session ends, after a few seconds,
the streams that the client itself gives no credit for; those that merely share a slow way with others have
all the time that a client may take.
"""

from abc import ABC
from typing import TYPE_CHECKING

from ingress.model.limits import Limits
from ingress.proxy.limits import MAX_WAITING
from ingress.proxy.progress import Progress

if TYPE_CHECKING:
    from ingress.proxy.http2.downstream_stream import DownstreamStream


class HoldingBack(ABC):
    """The part of ``DownstreamSession`` that decides how much is kept; *streams* and *waiting* are its connection's."""

    streams: "dict[int, DownstreamStream]"
    waiting: int
    limits: Limits
    is_crammed = False
    """Whether so much waits that no answer should bring more."""
    _crammed: Progress | None = None

    def more_waits(self) -> None:
        """Something of an answer has to wait."""
        if self.waiting >= MAX_WAITING and not self.is_crammed:
            self.is_crammed = True
            self._crammed = Progress()
            for stream in list(self.streams.values()):
                stream.hold_back()

    def less_waits(self) -> None:
        """Something that waited was sent, or is of no use any more."""
        if self.is_crammed and self.waiting < MAX_WAITING // 2:
            self.is_crammed = False
            self._crammed = None
            for stream in list(self.streams.values()):
                stream.go_on()

    def look_at_waiting(self, now: float) -> None:
        """Called by the sweep while it is crammed: end what nobody takes."""
        assert self._crammed is not None
        is_stuck = self._crammed.is_stuck(self.waiting, now, self.limits.send_seconds)
        neglected = [
            stream
            for stream in self.streams.values()
            if (is_stuck and stream.is_held_back) or stream.is_neglected(now)
        ]
        for stream in neglected:
            stream.give_up()
