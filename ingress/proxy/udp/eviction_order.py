"""In which order sessions of UDP end: by how long they have been idle, and those first of which nobody knows whether their clients exist.

A session is *fresh* until its client says something after it was answered, and *proven* from then on: whoever sends datagrams with
addresses that are not its own sees no answer, and proves nothing.  So a flood of those takes the places of fresh sessions, and
leaves proven ones alone.  Pure.
"""

from collections import OrderedDict
from typing import Final, Generic, Protocol, TypeVar

FRESH_SHARE: Final = 4
"""One place in so many is for fresh sessions, however many are proven: newcomers must not push each other out."""


class Idle(Protocol):
    """A session, as far as its order is concerned."""

    last: float
    """When something last came for it, or from it."""


S = TypeVar("S", bound=Idle)


class EvictionOrder(Generic[S]):
    """Sessions, those first that were idle longest; *most* at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._fresh: OrderedDict[S, None] = OrderedDict()
        self._proven: OrderedDict[S, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._fresh) + len(self._proven)

    def all(self) -> tuple[S, ...]:
        """Return all of them."""
        return (*self._fresh, *self._proven)

    def add(self, session: S) -> None:
        """Have a fresh one among them, as the last."""
        self._fresh[session] = None

    def touch(self, session: S) -> None:
        """Have *session* be the last: something came."""
        (self._fresh if session in self._fresh else self._proven).move_to_end(session)

    def prove(self, session: S) -> None:
        """Have *session* be proven, and the last."""
        if session in self._fresh:
            del self._fresh[session]
        self._proven[session] = None
        self._proven.move_to_end(session)

    def remove(self, session: S) -> None:
        """Have *session* among them no more."""
        self._fresh.pop(session, None)
        self._proven.pop(session, None)

    @property
    def is_full(self) -> bool:
        """Whether another one needs the place of one of them."""
        return len(self) >= self.most

    def next_out(self) -> S | None:
        """Return the one that gives way next; None where there is none."""
        fresh, proven = self._fresh, self._proven
        if fresh and (not proven or len(fresh) * FRESH_SHARE > len(self)):
            return next(iter(fresh))
        return next(iter(proven or fresh), None)

    def idle_since(self, then: float) -> S | None:
        """Return one of which nothing has come since *then*; None where there is none."""
        for each in (self._fresh, self._proven):
            first = next(iter(each), None)
            if first is not None and first.last <= then:
                return first
        return None

    def longest_idle(self) -> float | None:
        """Return since when the one is idle that is so longest; None where there is none."""
        firsts = [next(iter(each)) for each in (self._fresh, self._proven) if each]
        return min((one.last for one in firsts), default=None)
