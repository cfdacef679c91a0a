"""What incremental translation keeps caches in: drafts, an index, a timetable, and the index of problems.

Plain containers, which know nothing of Kubernetes.
"""

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Collection, Container, Hashable, Iterator, Mapping
from datetime import datetime
from typing import Final, Generic, Protocol, Self, TypeVar

from ingress.model.cluster.problems import ORDER, Problem, Reason
from ingress.model.shared_map import SharedMap
from ingress.model.stepwise import Stepwise, in_order

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_FLUSH_AT = 256
"""How many changes a draft collects before it applies them: each application costs a little by
itself, and all changes of a large round at once would cost the reactor too much at a time."""


class Patchable(Protocol[K, V]):
    """A mapping that never changes and makes its successor, as ``SharedMap`` does."""

    def get(self, key: K, /) -> V | None:
        """Return the value of *key*, if it has one."""

    def patched(self, changes: Mapping[K, V | None], /) -> Self:
        """Return the successor with *changes*, in which None stands for no entry."""


P = TypeVar("P", bound=Patchable)  # type: ignore[type-arg]


class Draft(Generic[K, V, P]):
    """The next version of an immutable mapping, in the making."""

    def __init__(self, base: P) -> None:
        self._base = base
        self._changes: dict[K, V | None] = {}

    def get(self, key: K) -> V | None:
        """Return what *key* has in the next version as it stands."""
        changes = self._changes
        if changes and key in changes:
            return changes[key]
        found: V | None = self._base.get(key)
        return found

    def put(self, key: K, value: V | None) -> None:
        """Give *key* another value, or none."""
        self._changes[key] = value
        if len(self._changes) >= _FLUSH_AT:
            self.finished()

    def finished(self) -> P:
        """Return the next version.  The draft goes on from there."""
        if self._changes:
            self._base = self._base.patched(self._changes)
            self._changes = {}
        return self._base


PROBLEMS_AT_ONCE: Final = 200
"""Problems of one source that are counted in one step."""

KEYS_AT_ONCE: Final = 500
"""Keys of an index that change in one step."""

_FEW: Final = 8
"""As many are sooner looked through than put in a set."""


class Index(Generic[K, V]):
    """Some values for each key; most keys have one, which is kept alone.  Several are the keys of a dictionary, which takes half of the memory of a set."""

    def __init__(self) -> None:
        self._values: dict[K, V | dict[V, None]] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def get(self, key: K) -> Collection[V]:
        """Return the values of *key*, in no order.  Not to be kept."""
        if key not in self._values:
            return ()
        found = self._values[key]
        return found if isinstance(found, dict) else (found,)

    def add(self, key: K, value: V) -> None:
        """Note that *key* has *value*; saying it again changes nothing."""
        if key not in self._values:
            self._values[key] = value
            return
        found = self._values[key]
        if isinstance(found, dict):
            found[value] = None
        elif found != value:
            self._values[key] = {found: None, value: None}

    def discard(self, key: K, value: V) -> None:
        """Note that *key* does not have *value* any more, if it ever had."""
        if key not in self._values:
            return
        found = self._values[key]
        if isinstance(found, dict):
            found.pop(value, None)
            if len(found) == 1:
                (self._values[key],) = found
        elif found == value:
            del self._values[key]

    def replace(self, value: V, before: Collection[K], after: Collection[K]) -> None:
        """Note that *value* now belongs to the keys *after*, and to those of *before* no more."""
        for _ in self.replacing(value, before, after):
            pass

    def replacing(self, value: V, before: Collection[K], after: Collection[K]) -> Iterator[None]:
        """Do so in steps, where keys may be very many."""
        kept = after if len(after) <= _FEW else frozenset(after)
        for number, key in enumerate(before, 1):
            if key not in kept:
                self.discard(key, value)
            if not number % KEYS_AT_ONCE:
                yield
        for number, key in enumerate(after, 1):
            self.add(key, value)
            if not number % KEYS_AT_ONCE:
                yield


class Members(Generic[K]):
    """Of *held*, which goes on changing, the keys that it had when this was made: without a copy of all of them."""

    __slots__ = ("_held", "_then")

    def __init__(self, held: Container[K]) -> None:
        self._held = held
        self._then: dict[K, bool] = {}

    def note(self, key: K) -> None:
        """Note that *key* is about to come or to go."""
        if key not in self._then:
            self._then[key] = key in self._held

    @property
    def are_others(self) -> bool:
        """Whether *held* may have others by now."""
        return bool(self._then)

    def __contains__(self, key: object) -> bool:
        return self._then.get(key, key in self._held)  # type: ignore[arg-type]


class Timetable(Generic[K]):
    """Moments at which time alone changes something, each with what it changes."""

    def __init__(self) -> None:
        self._moments: list[datetime] = []
        self._keys: dict[datetime, dict[K, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._moments)

    def add(self, moment: datetime, key: K) -> None:
        """Note that *key* is different from *moment* on; saying it again changes nothing."""
        keys = self._keys.get(moment)
        if keys is None:
            keys = self._keys[moment] = {}
            insort(self._moments, moment)
        keys[key] = None

    def discard(self, moment: datetime, key: K) -> None:
        """Forget that."""
        keys = self._keys.get(moment)
        if keys is None or key not in keys:
            return
        del keys[key]
        if not keys:
            del self._keys[moment]
            del self._moments[bisect_right(self._moments, moment) - 1]

    def between(self, one: datetime, other: datetime) -> Iterator[K]:
        """Yield what is different at *other* from *one*, whichever of them is earlier."""
        first, last = sorted((one, other))
        for moment in self._moments[bisect_right(self._moments, first) : bisect_right(self._moments, last)]:
            yield from self._keys[moment]

    def after(self, moment: datetime) -> datetime | None:
        """Return the next moment after *moment*, None for none."""
        at = bisect_right(self._moments, moment)
        return self._moments[at] if at < len(self._moments) else None


class ProblemIndex:
    """The problems by what brought them up, counted by reason, with those that came and went.

    Two sources may bring up the same problem; it is gone when the last one has dropped it.
    """

    def __init__(self) -> None:
        self._draft: Draft[Hashable, tuple[Problem, ...], SharedMap[Hashable, tuple[Problem, ...]]] = Draft(
            SharedMap()
        )
        # Those which bring up any: nearly all that is asked about brings up none, and never did.
        self._sources: set[Hashable] = set()
        self._counts: Counter[Problem] = Counter()
        self._reasons: Counter[Reason] = Counter()
        self._news: dict[Problem, bool] = {}

    def of(self, source: Hashable) -> tuple[Problem, ...]:
        """Return the problems that *source* has brought up."""
        return self._draft.get(source) or ()

    def put(self, source: Hashable, problems: tuple[Problem, ...]) -> None:
        """Note that *source* brings up *problems*, and none but these."""
        for _ in self.putting(source, problems):
            pass

    def putting(self, source: Hashable, problems: tuple[Problem, ...]) -> Iterator[None]:
        """Do so in steps, where *problems* may be very many."""
        if not problems and source not in self._sources:
            return
        before = self.of(source)
        if problems == before:
            return
        if not problems:
            self._sources.discard(source)
        elif not before:
            self._sources.add(source)
        for number, problem in enumerate(problems, 1):
            self._counts[problem] += 1
            if self._counts[problem] == 1:
                self._tell(problem, is_new=True)
            if not number % PROBLEMS_AT_ONCE:
                yield
        for number, problem in enumerate(before, 1):
            self._counts[problem] -= 1
            if not self._counts[problem]:
                del self._counts[problem]
                self._tell(problem, is_new=False)
            if not number % PROBLEMS_AT_ONCE:
                yield
        self._draft.put(source, problems or None)

    def _tell(self, problem: Problem, *, is_new: bool) -> None:
        self._reasons[problem.reason] += 1 if is_new else -1
        # What came and went between two looks, or the other way around, is no news.
        if self._news.pop(problem, is_new) is is_new:
            self._news[problem] = is_new

    def by_source(self) -> SharedMap[Hashable, tuple[Problem, ...]]:
        """Return the caches as they stand; the same object as long as nothing changes."""
        return self._draft.finished()

    def by_reason(self) -> dict[Reason, int]:
        """Return how many different problems there are, by reason."""
        return {reason: count for reason, count in self._reasons.items() if count}

    def news(self) -> Stepwise[tuple[list[Problem], list[Problem]]]:
        """Return the problems that came and those that went since this was last asked, each sorted."""
        news, self._news = self._news, {}
        came = yield from in_order((problem for problem, is_new in news.items() if is_new), ORDER)
        went = yield from in_order((problem for problem, is_new in news.items() if not is_new), ORDER)
        return came, went
