"""The cluster state: a read-only view of the store, as ``translate`` gets it."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar, cast

from attrs import Factory, field

from ingress.model.cluster.object_meta import ObjectMeta
from ingress.model.cluster.objects import (
    ClusterObject,
    EndpointSlice,
    Kind,
    ObjectId,
    ObjectKey,
    Secret,
    Service,
)
from ingress.model.cluster.problems import Problem
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise


class Following(Protocol):
    """What is kept up to date with the objects of one kind."""

    def changed(self, key: ObjectKey | None) -> None:
        """Note that an object is another; None for all of them."""


_F = TypeVar("_F", bound=Following)
_NONE: Mapping[ObjectKey, ClusterObject] = MappingProxyType({})
_T = TypeVar("_T")


class Derived:
    """What was worked out of all objects of some kinds, until one of them changes.

    It is a memo, but for one thing: who works something out may go by what it was before, so that it stays where nothing asks for another.

    What takes long is *prepared* step by step, and then *held*: until it is released it stays what it is, though objects
    may change meanwhile, so that nobody has to wait for all of it at once.

    What is made of each object by itself *follows* instead: it is told which ones change.
    """

    __slots__ = ("_changes", "_following", "_held", "_kinds_followed", "_known")

    def __init__(self) -> None:
        self._changes: Counter[Kind] = Counter()
        self._known: dict[Hashable, tuple[tuple[int, ...], object]] = {}
        self._held: set[Hashable] = set()
        self._following: dict[Hashable, Following] = {}
        self._kinds_followed: dict[Kind, list[Following]] = {}

    def changed(self, kind: Kind, key: ObjectKey | None = None) -> None:
        """Note that an object of *kind* is another, that of *key* where it is known which."""
        self._changes[kind] += 1
        for one in self._kinds_followed.get(kind, ()):
            one.changed(key)

    def following(self, name: Hashable, kind: Kind, make: Callable[[], _F]) -> _F:
        """Return what *name* stands for, which *make* has made once and is told of changes of *kind* since."""
        known = self._following.get(name)
        if known is None:
            known = self._following[name] = make()
            self._kinds_followed.setdefault(kind, []).append(known)
        return cast("_F", known)

    def get(self, name: Hashable, kinds: tuple[Kind, ...], work_out: Callable[[_T | None], _T]) -> _T:
        """Return what *name* stands for, which *work_out* makes of the objects of *kinds*.

        *work_out* gets what it made last, None at first: most of that may be as it was.
        """
        known = self._known.get(name)
        if known is not None and name in self._held:
            return cast("_T", known[1])
        at = tuple(self._changes[kind] for kind in kinds)
        if known is not None and known[0] == at:
            return cast("_T", known[1])
        made = work_out(None if known is None else cast("_T", known[1]))
        self._known[name] = at, made
        return made

    def last(self, name: Hashable) -> object | None:
        """Return what *name* stood for when it was last worked out, though objects may have changed since; None for never."""
        known = self._known.get(name)
        return None if known is None else known[1]

    def prepare(
        self, name: Hashable, kinds: tuple[Kind, ...], work_out: Callable[[_T | None], Stepwise[_T]]
    ) -> Iterator[None]:
        """Work out what *name* stands for step by step, unless it is known, and hold it."""
        at = tuple(self._changes[kind] for kind in kinds)
        known = self._known.get(name)
        if known is None or known[0] != at:
            self._known[name] = at, (yield from work_out(None if known is None else cast("_T", known[1])))
        self._held.add(name)

    def release(self) -> None:
        """Hold nothing any more."""
        self._held.clear()


@frozen
class ClusterState:
    """All objects known, by key.

    *objects* has those of the kinds of route objects, and of the kinds that these are judged by.
    *slices* groups EndpointSlices by the Service they belong to.  *problems_of* has
    what reading an object brought up, where it brought up anything; translation adds
    its own.  *metas* are for those who report back to the cluster; translation does not
    look at them.  The mappings are the store's own: whoever looks at them in a later turn of
    the reactor sees what the store has then.
    """

    objects: Mapping[Kind, Mapping[ObjectKey, ClusterObject]] = Factory(dict)
    services: Mapping[ObjectKey, Service] = Factory(dict)
    slices: Mapping[ObjectKey, tuple[EndpointSlice, ...]] = Factory(dict)
    secrets: Mapping[ObjectKey, Secret] = Factory(dict)
    problems_of: Mapping[ObjectId, tuple[Problem, ...]] = Factory(dict)
    metas: Mapping[ObjectId, ObjectMeta] = Factory(dict)
    derived: Derived = field(factory=Derived, eq=False, repr=False)
    """What was worked out of *objects*; of a state whose mappings never change it lasts as long as that."""

    def of(self, kind: Kind) -> Mapping[ObjectKey, ClusterObject]:
        """Return the objects of *kind*, one of those in *objects*."""
        return self.objects.get(kind, _NONE)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of all objects, sorted."""
        return tuple(sorted(problem for some in self.problems_of.values() for problem in some))
