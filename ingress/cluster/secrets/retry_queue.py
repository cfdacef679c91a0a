"""A queue in which retries wait for their turn, so that many together ask no more often than few.

Groups take turns, so that nobody can keep another group waiting.  Within one, whoever has tried
least often goes first: what may have come a moment ago is found soon, however many others have been
looked for in vain for long.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from heapq import heappop, heappush
from itertools import count
from typing import Any, Generic, TypeVar

from twisted.internet.interfaces import IDelayedCall

_K = TypeVar("_K", bound=Hashable)


class RetryQueue(Generic[_K]):
    """Calls *go* with one key after the other, at most *per_second* of them; *reactor* has ``callLater``."""

    def __init__(self, reactor: Any, per_second: float, go: Callable[[_K], None]) -> None:
        self._reactor = reactor
        self._gap_seconds = 1.0 / per_second
        self._go = go
        # By group, in the order of their turns.
        self._heaps: OrderedDict[str, list[tuple[int, int, _K]]] = OrderedDict()
        # The entry of a heap that counts for each key that waits; all others were dropped.
        self._numbers: dict[_K, int] = {}
        self._count = count()
        self._call: IDelayedCall | None = None

    def __len__(self) -> int:
        """How many wait."""
        return len(self._numbers)

    def put(self, group: str, key: _K, tries: int) -> None:
        """Let *key* wait, in its *group* behind those of fewer *tries* and those of as many that came before."""
        self._numbers[key] = number = next(self._count)
        heappush(self._heaps.setdefault(group, []), (tries, number, key))
        if self._call is None:
            self._call = self._reactor.callLater(0, self._next)

    def drop(self, key: _K) -> None:
        """Let *key* wait no more."""
        self._numbers.pop(key, None)

    def stop(self) -> None:
        """Let nobody wait any more."""
        self._numbers.clear()
        self._heaps.clear()
        if self._call is not None and self._call.active():
            self._call.cancel()
        self._call = None

    def _next(self) -> None:
        self._call = None
        while self._heaps:
            group, heap = self._heaps.popitem(last=False)
            key = self._first(heap)
            if heap:
                self._heaps[group] = heap
            if key is not None:
                # Before anything else, so that a put from within waits its turn.
                self._call = self._reactor.callLater(self._gap_seconds, self._next)
                self._go(key)
                return

    def _first(self, heap: list[tuple[int, int, _K]]) -> _K | None:
        """Take the first of *heap* that was not dropped."""
        while heap:
            _, number, key = heappop(heap)
            if self._numbers.get(key) == number:
                del self._numbers[key]
                return key
        return None
