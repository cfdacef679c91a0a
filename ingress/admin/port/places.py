"""How many connections there may be at one port with pages, and which one makes way for a newcomer.

Whoever may connect could otherwise take every descriptor of the process, by connections that say nothing.  A newcomer is never
refused for that, as it may be a probe: it has the place of whoever has kept us waiting for longest.
"""

from typing import Final, Protocol

MOST_CONNECTIONS: Final = 256


class Placed(Protocol):
    """A connection that has a place."""

    @property
    def is_stalled(self) -> bool:
        """Whether its client does not take what was sent."""

    @property
    def is_stream(self) -> bool:
        """Whether it shows what happens, for as long as somebody looks."""

    def make_way(self) -> None:
        """End, now or in a moment."""


class Places:
    """The connections of one port: those that owe us a whole request, and those that we owe an answer, each by how long they do."""

    def __init__(self, most: int = MOST_CONNECTIONS) -> None:
        self._most = most
        self._owing: dict[Placed, None] = {}
        self._owed: dict[Placed, None] = {}

    def __len__(self) -> int:
        return len(self._owing) + len(self._owed)

    def add(self, one: Placed) -> None:
        """Have a place for *one*, who has connected, and another one end if there is none left."""
        if len(self) >= self._most:
            leaving = self._next_to_leave()
            self.remove(leaving)
            leaving.make_way()
        self._owing[one] = None

    def asked(self, one: Placed) -> None:
        """A whole request of *one* is here."""
        if one in self._owing:
            del self._owing[one]
            self._owed[one] = None

    def answered(self, one: Placed) -> None:
        """It has its answer, or that is on its way."""
        if one in self._owed:
            del self._owed[one]
            self._owing[one] = None

    def remove(self, one: Placed) -> None:
        """It is over, or will be."""
        self._owing.pop(one, None)
        self._owed.pop(one, None)

    def _next_to_leave(self) -> Placed:
        """Return who is silent, or not at the end of a request, for longest; else whom we wait for, and streams last."""
        for one in self._owing:
            return one
        stalled = (one for one in self._owed if one.is_stalled)
        brief = (one for one in self._owed if not one.is_stream)
        return next(stalled, None) or next(brief, None) or next(iter(self._owed))
