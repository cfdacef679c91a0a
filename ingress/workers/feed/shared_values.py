"""Equal values as one object, for whoever reads values that come in parts.

Within a snapshot thousands of routes have the same filters, and a backend is named by its routes and by its endpoints.  Whoever
reads it in parts, and what is different later, would have each of them once more for each part.  So what was read is kept, and the
next value that is equal to it is replaced by it.

What nothing but this keeps is let go in two ways, both in steps; that nothing else refers to a value is seen by the count of its references.

- Soon, what was replaced: whoever knows that says so (``leave``), and what only that referred to is looked at in turn, down to the
  least part.  So a private key is gone when its Secret is, and a change costs what is different by it.  What others still refer to may be a part
  of what goes on being served, or of a request that ends later: it is *doubted*, and looked at again when the owner says so.
- Whatever else came, such as with bytes that nothing came of, whenever twice as much is kept as after the last time.
"""

from collections.abc import Callable
from gc import get_referents, is_tracked
from itertools import islice
from sys import getrefcount
from typing import Any, Final, TypeVar

import attrs

V = TypeVar("V")

AT_ONCE: Final = 250
"""Values that are looked at in one step: two milliseconds, where all of them are routes that nobody has any more."""
FEW: Final = 2000
"""Values that are kept without a look at them."""
LEFT_AT_ONCE: Final = 100
"""Values that were replaced, or parts of some, that are looked at in one step; more where thousands wait, ..."""
MOST_AT_ONCE: Final = 1000
"""... up to so many: more than come with a piece of a snapshot."""
_MORE_OF: Final = 64
MOST_DOUBTED: Final = 2000
"""Values that are looked at again; of more, those that were told first are left to be found by growth."""


class SharedValues:
    """Equal values of one class as one object."""

    def __init__(self) -> None:
        self._kept: dict[type, dict[Any, Any]] = {}
        self._settled = 0
        """How many were in use when that was last found out."""
        self._looked_at: list[Any] = []
        """Those that are to be looked at yet, ..."""
        self._unlisted: list[type] = []
        """... and the classes of others that are."""
        self._replaced: list[Any] = []
        """What was replaced, as it was told, ..."""
        self._left: dict[int, Any] = {}
        """... and what of that, and of its parts, is to be looked at next, by identity: each has one reference by this, and no other."""
        self._doubted: dict[int, Any] = {}
        """What others referred to when it was looked at; in the same way."""

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def __repr__(self) -> str:
        return f"<SharedValues with {len(self)} values>"

    def sharing(self, kind: type[V]) -> Callable[[V, V], V]:
        """Return what, called with a value of *kind* twice, returns the one that is kept in its place.

        It raises ``TypeError`` for what has no hash.
        """
        return self._kept.setdefault(kind, {}).setdefault

    @property
    def is_letting_go(self) -> bool:
        """Whether there is something to do for ``let_go_some``."""
        return bool(self._replaced or self._left or self._is_tidying)

    @property
    def _is_tidying(self) -> bool:
        return bool(self._looked_at or self._unlisted)

    def leave(self, values: list[Any]) -> None:
        """Have *values*, which were replaced, let go by ``let_go_some``, and what is kept and only they refer to."""
        self._replaced += values

    def look_again(self) -> None:
        """Have ``let_go_some`` look at what others referred to so far."""
        self._left.update(self._doubted)
        self._doubted = {}

    def let_go_some(self) -> None:
        """Take a step of letting go what was replaced, or of a look at all that is under way.

        That goes first: what it has listed is seen to be in use by it, be it a private key, and other pieces may not come for days.
        """
        if self._is_tidying:
            self.tidy()
            return
        most = min(LEFT_AT_ONCE + len(self._replaced) // _MORE_OF, MOST_AT_ONCE)
        looked_at = 0
        while looked_at < most and self.is_letting_go:
            if not self._left:
                told = self._replaced[-LEFT_AT_ONCE:]
                del self._replaced[-LEFT_AT_ONCE:]
                looked_at += len(told)
                self._look_at(told)
            if self._left:
                looked_at += self._take_apart()

    def _take_apart(self) -> int:
        """Let go of some that nobody else has, and have their parts looked at next; return how many were looked at."""
        left, doubted = self._left, self._doubted
        if len(left) <= LEFT_AT_ONCE:
            some = list(left.values())
            left.clear()
        else:
            some = [left.popitem()[1] for _ in range(LEFT_AT_ONCE)]
        looked_at = len(some)
        counts = _references(some)
        alone = []
        while some:
            value = some.pop()
            count = counts.pop()
            if count <= _ALONE or (count <= _KEPT_ALONE and self._drop(value)):
                alone.append(value)
            elif type(value) is not str:
                # A text is looked at again with whatever else it is a part of.
                doubted[id(value)] = value
        value = None
        if alone:
            parts = get_referents(*alone)
            alone.clear()
            self._look_at(parts)
        if len(doubted) > MOST_DOUBTED:
            self._doubted = dict(islice(doubted.items(), len(doubted) - MOST_DOUBTED // 2, None))
        return looked_at

    def _look_at(self, values: list[Any]) -> None:
        """Have *values* looked at next, but for those of which nothing can come; no other reference is left to them by this."""
        left, doubted, texts = self._left, self._doubted, self._kept.get(str, {})
        for value in values:
            kind = type(value)
            if kind is str:
                if texts.get(value) is value:
                    left[id(value)] = value
            elif is_tracked(value) and _have_parts(kind):
                identity = id(value)
                left[identity] = value
                if identity in doubted:
                    del doubted[identity]
        values.clear()

    def _drop(self, value: Any) -> bool:
        """Keep *value* no more; return whether it was kept."""
        kept = self._kept.get(type(value))
        try:
            if kept is None or kept.get(value) is not value:
                return False
        except TypeError:
            # Something in it has no hash.
            return False
        del kept[value]
        return True

    def tidy(self) -> None:
        """Take a step of letting go what is not in use any more, if it is time for that."""
        if not self._is_tidying:
            count = len(self)
            if count <= max(2 * self._settled, FEW):
                return
            self._settled = count
            self._unlisted = [*self._kept]
        # Of one class after the other: to list all of them at once takes long.
        while self._unlisted and len(self._looked_at) < AT_ONCE:
            self._looked_at += self._kept[self._unlisted.pop()]
        some = self._looked_at[-AT_ONCE:]
        del self._looked_at[-AT_ONCE:]
        counts = _references(some)
        while some:
            value = some.pop()
            if counts.pop() <= _KEPT_ALONE:
                self._kept.get(type(value), {}).pop(value, None)
        if not self._is_tidying:
            self._settled = len(self)


def _references(values: list[Any]) -> list[int]:
    """Return how many references each of *values* has, while it is looked at."""
    return list(map(getrefcount, values))


_CONTAINERS: Final = (tuple, frozenset, dict, list)
_OF_TABLES: Final = frozenset(
    ("ingress.model.shared_map", "ingress.routing.streams", "ingress.routing.table")
)
_known_kinds: Final[dict[type, bool]] = {}


def _have_parts(kind: type) -> bool:
    """Whether values of *kind* are data that others may be a part of.

    What is put to use for them, such as filters that run, is none: it is not to stay for longer since somebody looks at it again.
    """
    known = _known_kinds.get(kind)
    if known is None:
        known = issubclass(kind, _CONTAINERS) or kind.__module__ in _OF_TABLES
        if not known and attrs.has(kind):
            # Frozen, and no exception.
            known = kind.__setattr__ is not object.__setattr__ and not issubclass(kind, (type, BaseException))
        _known_kinds[kind] = known
    return known


def _alone() -> int:
    """Return that of a value which nobody has but who keeps it: how much of it is the interpreter's own differs by version."""
    kept = {value: value for value in [object()]}
    found = _references(list(kept))[0]
    # Machine code lets go of what is not used any more.
    kept.clear()
    return found


_KEPT_ALONE: Final = _alone()
_ALONE: Final = _references([object()])[0]
"""That of a value which is in a list, and nowhere else."""
