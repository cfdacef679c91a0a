"""A mapping that never changes, and whose successor costs what is different in it.

What is published holds tens of thousands of entries, and a change of the cluster
concerns a few.  So the entries are spread over a fixed number of small dictionaries,
and a successor shares all of them but those with a change.  Who has followed the
predecessor finds what is different by comparing the dictionaries by identity, or at
once if nothing came between.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Self, TypeVar, overload
from weakref import ref

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

SHARDS: Final = 512
"""A successor copies this many pointers, and the entries of each shard with a change: with
20,000 entries, about as many of one as of the other."""

MASK: Final = SHARDS - 1

_EMPTY: Final = {}  # type: ignore[var-annotated]


def _nothing() -> None:
    """Stand for a reference to nothing."""


class SharedMap(Mapping[K, V]):
    """An immutable mapping; ``patched`` makes the next one.

    *shards* is for hot paths: the entry of *key* is in ``shards[hash(key) & MASK]``.
    The order of the entries means nothing.
    """

    __slots__ = ("__weakref__", "_length", "_patched", "_predecessor", "shards")

    def __init__(self, content: Mapping[K, V] | None = None) -> None:
        self.shards: tuple[dict[K, V], ...] = (_EMPTY,) * SHARDS
        self._length = 0
        self._predecessor: Callable[[], SharedMap[K, V] | None] = _nothing
        """Refers, without keeping it, to the mapping that this was made of."""
        self._patched: tuple[K, ...] = ()
        """The keys that may be different there."""
        if content:
            patched = self.patched(content)
            self.shards, self._length = patched.shards, patched._length

    def __getitem__(self, key: K) -> V:
        return self.shards[hash(key) & MASK][key]

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, /, default: V | D) -> V | D: ...
    def get(self, key: K, /, default: V | D | None = None) -> V | D | None:
        """Return the value of *key*, else *default*; the inherited one raises on the way."""
        return self.shards[hash(key) & MASK].get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self.shards[hash(key) & MASK]

    def __iter__(self) -> Iterator[K]:
        for shard in self.shards:
            yield from shard

    def values_alone(self) -> Iterator[V]:
        """Yield the values, without as much as a reference to their keys."""
        for shard in self.shards:
            yield from shard.values()

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<SharedMap of {self._length} entries>"

    def patched(self, changes: Mapping[K, V | None]) -> Self:
        """Return this mapping with *changes* applied, in which None stands for "no entry".

        Entries that are the same object as before cost nothing and change nothing.
        """
        copies: dict[int, dict[K, V]] = {}
        length = self._length
        for key, value in changes.items():
            place = hash(key) & MASK
            shard = copies.get(place, self.shards[place])
            before = shard.get(key)
            if before is value:
                continue
            if place not in copies:
                shard = copies[place] = dict(shard)
            if value is None:
                del shard[key]
                length -= 1
            else:
                shard[key] = value
                length += before is None
        if not copies:
            return self
        shards = list(self.shards)
        for place, shard in copies.items():
            shards[place] = shard or _EMPTY
        successor = type(self)()
        successor.shards = tuple(shards)
        successor._length = length
        if len(changes) <= SHARDS:
            successor._predecessor = ref(self)
            successor._patched = tuple(changes)
        return successor

    def changes_since(self, before: "SharedMap[K, V]") -> Iterator[tuple[K, V | None]]:
        """Yield the entries that *before* did not have in this form, and None for those it had alone."""
        for portion in self.portions_since(before):
            yield from portion

    def portions_since(
        self, before: "SharedMap[K, V]", at_once: int = 1
    ) -> Iterator[list[tuple[K, V | None]]]:
        """Yield the same in portions, some of them empty: for each, those of a shard or about *at_once* entries are looked at."""
        if self._predecessor() is before:
            changes = ((key, self.get(key)) for key in self._patched)
            yield [(key, value) for key, value in changes if value is not before.get(key)]
            return
        portion: list[tuple[K, V | None]] = []
        seen = 0
        for shard, old in zip(self.shards, before.shards, strict=True):
            if shard is old:
                continue
            portion += [(key, value) for key, value in shard.items() if old.get(key) is not value]
            portion += [(key, None) for key in old if key not in shard]
            seen += len(shard) + len(old)
            if seen >= at_once:
                yield portion
                portion, seen = [], 0
        if seen:
            yield portion
