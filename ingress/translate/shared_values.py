"""Equal values as one object, for whoever reads values that come in parts.

Within a snapshot thousands of routes have the same filters, and a backend is named by its routes and by its endpoints.  Whoever
reads it in parts, and what is different later, would have each of them once more for each part.  So what was read is kept, and the
next value that is equal to it is replaced by it.

What nothing but this keeps is let go, in steps, whenever twice as much is kept as after the last time: that nothing else
refers to a value is seen by the count of its references.
"""

from collections.abc import Callable
from sys import getrefcount
from typing import Any, Final, TypeVar

V = TypeVar("V")

AT_ONCE: Final = 1000
"""Values that are looked at in one step."""
FEW: Final = 2000
"""Values that are kept without a look at them."""


class SharedValues:
    """Equal values of one class as one object."""

    def __init__(self) -> None:
        self._kept: dict[type, dict[Any, Any]] = {}
        self._settled = 0
        """How many were in use when that was last found out."""
        self._looked_at: list[Any] = []
        """Those that are to be looked at yet."""

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def __repr__(self) -> str:
        return f"<SharedValues with {len(self)} values>"

    def sharing(self, kind: type[V]) -> Callable[[V, V], V]:
        """Return what, called with a value of *kind* twice, returns the one that is kept in its place.

        It raises ``TypeError`` for what has no hash.
        """
        return self._kept.setdefault(kind, {}).setdefault

    def tidy(self) -> None:
        """Take a step of letting go what is not in use any more, if it is time for that."""
        if not self._looked_at:
            count = len(self)
            if count <= max(2 * self._settled, FEW):
                return
            self._settled = count
            self._looked_at = [value for kept in self._kept.values() for value in kept]
        some = self._looked_at[-AT_ONCE:]
        del self._looked_at[-AT_ONCE:]
        counts = _references(some)
        while some:
            value = some.pop()
            if counts.pop() <= _KEPT_ALONE:
                self._kept.get(type(value), {}).pop(value, None)
        if not self._looked_at:
            self._settled = len(self)


def _references(values: list[Any]) -> list[int]:
    """Return how many references each of *values* has, while it is looked at."""
    return [getrefcount(value) for value in values]


def _alone() -> int:
    """Return that of a value which nobody has but who keeps it: how much of it is the interpreter's own differs by version."""
    kept = {value: value for value in [object()]}
    return _references(list(kept))[0]


_KEPT_ALONE: Final = _alone()
