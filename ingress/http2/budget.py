"""What a peer may cost us: streams that come to nothing, and frames that carry nothing.

Each of these is cheap and legal, and a flood of them is an attack: streams that are begun and
reset (by either side), PING, SETTINGS, empty or unknown frames.  They are paid for with two
purses.  Both fill with time, and with streams that end well.  Payload fills the one for
frames, too, but not that for resets: else a stream with one byte would pay for its own
reset.  One rule more is about size: most of what comes must be of use, as in nginx.
"""

from collections.abc import Callable
from typing import Final

from ingress.http2.faults import ConnectionFault, ErrorCode

PURSE: Final = 400.0
"""What there is at first, and at most: a browser that closes a tab resets a hundred streams at once."""
PER_SECOND: Final = 20.0
PRIORITY_COST: Final = 0.1
"""Browsers send some of these for every page."""
WINDOW_COST: Final = 0.2
"""Those who take much send many, and those who take it byte by byte far too many."""
FAULT_COST: Final = 10.0
"""A stream that we must reset for what its peer did: no client in order does that, and one in disorder does it once."""
_PAYING_BYTES: Final = 256
"""What must be sent to earn what a frame costs, where the peer's windows decide how much a frame has."""
_EARNED_BY_PIECE: Final = 1 + 2 * WINDOW_COST
"""A PING, and an update of both windows."""
_FREE_BYTES: Final = 1024 * 1024
_OVERHEAD: Final = 8


class Budget:
    """Counts what one peer did; what is too much raises a ``ConnectionFault`` with ENHANCE_YOUR_CALM.

    *seconds* is a clock.  Of what its frames cost the peer pays *frame_share*, and of its resets *reset_share*: who only
    answers is less of a threat than who asks.  What nearly each frame does to it is done where that is read or made, by
    *useful* and *frames*, and no call for each; and for none of the streams that end while both purses are full.
    """

    __slots__ = (
        "_at",
        "_reset_share",
        "_seconds",
        "frame_share",
        "frames",
        "received",
        "resets",
        "useful",
    )

    def __init__(
        self, seconds: Callable[[], float], frame_share: float = 1.0, reset_share: float = 1.0
    ) -> None:
        self._seconds = seconds
        self.frame_share = frame_share
        self._reset_share = reset_share
        self._at = seconds()
        self.resets = PURSE
        """What is left of the purse for resets."""
        self.frames = PURSE
        """What is left of the purse for frames."""
        self.received = 0
        """Bytes that came."""
        self.useful = 0
        """Bytes of fields and bodies, both ways."""

    def _fill(self) -> None:
        now = self._seconds()
        earned = (now - self._at) * PER_SECOND
        self._at = now
        self.resets = min(PURSE, self.resets + earned)
        self.frames = min(PURSE, self.frames + earned)

    def came_to_nothing(self, cost: float = 1.0) -> None:
        """A stream was reset, by either side."""
        self.resets -= cost * self._reset_share
        if self.resets < 0:
            self._fill()
            if self.resets < 0:
                raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too many streams that come to nothing")

    def ended_well(self) -> None:
        """A stream ended well, and a purse may not be full."""
        if self.resets < PURSE:
            self.resets += 1
        if self.frames < PURSE:
            self.frames += 1

    def spend(self, cost: float = 1.0) -> None:
        """A frame came that carries nothing of anybody's."""
        self.frames -= cost * self.frame_share
        if self.frames < 0:
            self.check_frames()

    def check_frames(self) -> None:
        """Judge what frames have cost: the purse is empty, unless time has filled it."""
        if self.frames < 0:
            self._fill()
            if self.frames < 0:
                raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too many frames that carry nothing")

    def payload(self, count: int, frames: int = 1) -> None:
        """*count* bytes of bodies came in so many *frames*."""
        self.useful += count
        if self.frames < PURSE:
            self.frames += frames

    def sent(self, count: int, whole: int = 0) -> None:
        """*count* bytes of a body were sent: a peer that takes what it asked for is no attacker.

        *whole* is how many pieces were sent as they came, each with a frame of its own, however small.  It was not the peer
        who made these small, and it may answer each: gRPC for Go measures the way by a PING and a WINDOW_UPDATE for
        nearly every DATA frame.
        """
        self.useful += count
        if self.frames < PURSE:
            if whole:
                self.frames += whole * _EARNED_BY_PIECE
            else:
                self.frames += count / _PAYING_BYTES if count < _PAYING_BYTES else 1

    def check_use(self) -> None:
        """Judge what came so far: hardly ever may it be no payload."""
        if self.received > _OVERHEAD * self.useful + _FREE_BYTES:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "hardly any payload")
