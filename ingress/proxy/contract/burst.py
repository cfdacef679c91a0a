"""A burst: much is told in one turn, and what nobody waits for comes behind the answers of all.

Whoever tells of events has a ``Burst`` and says when one is on; others have calls follow it.  Where events come alone there is none, and
nothing is put off: that would only cost a call more.
"""

from collections.abc import Callable


class Burst:
    """Whether there is one, and the calls that follow it: they must neither raise nor write."""

    __slots__ = ("calls", "is_on")

    def __init__(self) -> None:
        self.is_on = False
        self.calls: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"<Burst{', on' if self.is_on else ''}, {len(self.calls)} calls follow>"

    def end(self) -> None:
        """Make the calls: all that was written is sent."""
        self.is_on = False
        calls, self.calls = self.calls, []
        for call in calls:
            call()
