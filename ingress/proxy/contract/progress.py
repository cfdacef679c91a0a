"""Whether a peer takes what waits for it.

While something waits, the deadlines has it looked at with every tick, which is seldom enough to
cost nothing and needs nothing of the way that bytes take.  A peer that takes little is slow; one
that takes nothing for as long as it may is stuck.
"""

from typing import Final

from ingress.proxy.contract.deadlines import Deadlines

_EARLY_SECONDS: Final = Deadlines.interval_seconds / 2
"""A tick comes some milliseconds early or late."""


class Progress:
    """What was unsent at the last look, and since when nothing of it went."""

    __slots__ = ("since", "unsent")

    def __init__(self) -> None:
        self.unsent = 0
        self.since = 0.0

    def is_stuck(self, unsent: int, now: float, seconds: float) -> bool:
        """Whether nothing has been taken for *seconds*; *unsent* is what ``transports.unsent`` says.

        That more waits than before says nothing of the peer: it may make us answer, and never read.
        """
        before, self.unsent = self.unsent, unsent
        if unsent < before or not before:
            self.since = now
            return False
        return unsent > 0 and now - self.since >= seconds - _EARLY_SECONDS
