"""The last changes and the last failures: numbered, bounded, and told to who follows.

A ring gives each entry a number, one more than that of the entry before, whatever clocks do; so whoever has seen all up
to some number asks for what came ``since``.  When a ring is full, one entry goes for each that comes: the oldest, or where
entries are *alike*, the oldest of that sort of which there are most, so that a flood of one sort does not drive a rare
one out.
"""

from collections import deque
from collections.abc import Callable, Hashable
from itertools import islice
from typing import Final, Generic, Protocol, Self, TypeVar

from ingress.model.observability.changes_and_failures import Change, Failure

MOST_CHANGES: Final = 500
MOST_FAILURES: Final = 500


class Numbered(Protocol):
    """An entry of a ring."""

    @property
    def number(self) -> int:
        """Its place among all entries that there ever were; 0 before it is in a ring."""

    def numbered(self, number: int) -> Self:
        """Return it with *number*."""


Entry = TypeVar("Entry", bound=Numbered)

Stop = Callable[[], None]
"""Ends what it was returned for; once more does nothing."""


class Ring(Generic[Entry]):
    """At most *most* entries; *likeness* says of what sort one is, if not all are of one.  Reactor thread."""

    def __init__(self, most: int, likeness: Callable[[Entry], Hashable] = lambda entry: None) -> None:
        self._most = most
        self._likeness = likeness
        self._entries: dict[int, Entry] = {}
        """By number, in their order."""
        self._sorts: dict[Hashable, deque[int]] = {}
        """The numbers of each sort that there is, in their order."""
        self._followers: dict[object, Callable[[Entry], object]] = {}
        self._last = 0
        self.left_out = 0
        """How many there were besides that nobody kept, since too many came at once."""

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def last(self) -> int:
        """The number of the entry that came last; 0 before there is one."""
        return self._last

    def add(self, entry: Entry) -> Entry:
        """Keep *entry*, tell who follows, and return it with its number."""
        self._last = number = self._last + 1
        numbered = entry.numbered(number)
        if len(self._entries) >= self._most:
            self._make_room()
        self._entries[number] = numbered
        self._sorts.setdefault(self._likeness(numbered), deque()).append(number)
        for tell in tuple(self._followers.values()):
            tell(numbered)
        return numbered

    def _make_room(self) -> None:
        # Of sorts with equally many, that which has the oldest.
        most = max(map(len, self._sorts.values()))
        oldest = min([numbers[0] for numbers in self._sorts.values() if len(numbers) == most])
        sort = self._likeness(self._entries.pop(oldest))
        self._sorts[sort].popleft()
        if most == 1:
            del self._sorts[sort]

    def since(self, number: int = 0, most: int | None = None) -> list[Entry]:
        """Return the entries after *number* that are left, the oldest first; of more than *most* the newest."""
        entries = []
        for one in islice(reversed(self._entries.values()), most):
            if one.number <= number:
                break
            entries.append(one)
        entries.reverse()
        return entries

    def follow(self, tell: Callable[[Entry], object]) -> Stop:
        """Have *tell* called with each entry that comes from now on; return what ends that.

        It must be quick and raise nothing: it is called where the entry was made.
        """
        mark = object()
        self._followers[mark] = tell

        def stop() -> None:
            self._followers.pop(mark, None)

        return stop


class Rings:
    """Both of a process: what its pages show."""

    def __init__(self) -> None:
        self.changes: Ring[Change] = Ring(MOST_CHANGES)
        self.failures: Ring[Failure] = Ring(MOST_FAILURES, lambda failure: failure.likeness)
