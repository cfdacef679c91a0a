"""How many routes came and went, and which objects have any.  Part of incremental translation."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.stepwise import Stepwise
from ingress.routing.table import AT_ONCE
from ingress.translate.caches.bookkeeping import Members


class Counted(Protocol):
    """A route, of requests or of streams."""

    @property
    def owner(self) -> Owner | None:
        """The object that asked for it."""

    @property
    def key(self) -> Hashable:
        """What no two of a table have the same of."""

    @property
    def backends(self) -> Sequence[object]:
        """Where it leads."""


R = TypeVar("R", bound=Counted)


class RouteCounts:
    """Counts the routes of the next version, and what is different in it.

    *owners* are the objects with a route, as of the last ``finish``: the same as long as they are the same.
    """

    def __init__(self) -> None:
        self._of: Counter[ObjectKey] = Counter()
        self.owners: Members[ObjectKey] = Members(self._of)
        self._news = [0, 0, 0]

    def news(self) -> tuple[int, int, int]:
        """Return how many routes came, went, and changed in place since this was last asked."""
        came, went, changed = self._news
        self._news = [0, 0, 0]
        return came, went, changed

    def finish(self) -> None:
        """Bring *owners* up to date."""
        if self.owners.are_others:
            self.owners = Members(self._of)

    def compare(self, before: Sequence[R], after: Sequence[R]) -> Stepwise[tuple[list[R], list[R]]]:
        """Count, some hundred a step, what is different in the routes of one host; return the routes that went and those that came.

        One that changed in place is among both, unless it leads where it led, for whom it did.
        """
        old: dict[Hashable, R] = {}
        for number, route in enumerate(before, 1):
            old[route.key] = route
            if not number % AT_ONCE:
                yield
        went: list[R] = []
        came: list[R] = []
        for number, route in enumerate(after, 1):
            known = old.pop(route.key, None)
            if known is None:
                came.append(route)
                self._news[0] += 1
            elif known is not route and known != route:
                self._news[2] += 1
                if (known.backends, known.owner) != (route.backends, route.owner):
                    went.append(known)
                    came.append(route)
            if not number % AT_ONCE:
                yield
        self._news[1] += len(old)
        went += old.values()
        return went, came

    def count(self, route: Counted, difference: int) -> None:
        """Note that there is one *route* more, or, by a *difference* of -1, one less."""
        if route.owner is None:
            return
        key = route.owner.key
        count = self._of[key]
        if not count or not count + difference:
            self.owners.note(key)
        if count + difference:
            self._of[key] = count + difference
        else:
            del self._of[key]
