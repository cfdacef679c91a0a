"""Entries of a snapshot in order, kept for a while: whoever reads page after page has them sorted once.

They go with the snapshot, and when nobody has looked for ``KEPT_SECONDS``: of 10,000 backends they take some megabytes.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ingress.plain_data.steps import AT_ONCE, NOT_YET, NotYet, in_order
from ingress.translate.snapshot import Snapshot
from ingress.wording import number_of

E = TypeVar("E")


def put_in_order(entries: Iterable[E | NotYet], key: Callable[[E], Any]) -> Iterator[NotYet | list[E]]:
    """Yield ``NOT_YET`` while there is something to do, and at last *entries*, sorted by *key*.

    Each key there is counts once: the first of its entries.
    """
    found: list[E] = []
    waiting: list[E] = []
    for entry in entries:
        if isinstance(entry, NotYet):
            yield NOT_YET
        else:
            waiting.append(entry)
            if not len(waiting) % AT_ONCE:
                yield NOT_YET
    last: object = None
    steps: Iterator[Any] = in_order(waiting, key)
    for number, entry in enumerate(steps):
        if isinstance(entry, NotYet):
            yield NOT_YET
            continue
        if (place := key(entry)) != last:
            found.append(entry)
            last = place
        if not number % AT_ONCE:
            yield NOT_YET
    yield found


KEPT_SECONDS: Final = 30.0


class SortedEntries:
    """What is kept of them, by snapshot."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._kept: WeakKeyDictionary[Snapshot, dict[Hashable, list[Any]]] = WeakKeyDictionary()
        self._forgets: IDelayedCall | None = None

    def __repr__(self) -> str:
        return f"<SortedEntries of {number_of(len(self._kept), 'snapshot')}>"

    def of(
        self,
        snapshot: Snapshot,
        name: Hashable,
        entries: Callable[[], Iterable[E | NotYet]],
        key: Callable[[E], Any],
    ) -> Iterator[NotYet | list[E]]:
        """Yield as ``put_in_order``, by *name*: at once where *entries* of *snapshot* were put in order before."""
        self._keep()
        kept = self._kept.setdefault(snapshot, {})
        known = kept.get(name)
        if known is not None:
            yield known
            return
        for step in put_in_order(entries(), key):
            if isinstance(step, list):
                kept[name] = step
            yield step

    def _keep(self) -> None:
        if self._forgets is None:
            self._forgets = self._clock.callLater(KEPT_SECONDS, self._forget)
        else:
            self._forgets.reset(KEPT_SECONDS)

    def _forget(self) -> None:
        self._forgets = None
        self._kept.clear()
