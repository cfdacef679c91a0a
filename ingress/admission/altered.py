"""A mapping that differs from another one in some entries."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Altered(Mapping[K, V]):
    """*below*, which may go on changing, with other values for the keys of *changes*; None stands for no entry."""

    def __init__(self, below: Mapping[K, V], changes: Mapping[K, V | None]) -> None:
        self._below = below
        self._changes = changes

    def __getitem__(self, key: K) -> V:
        if key not in self._changes:
            return self._below[key]
        value = self._changes[key]
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[K]:
        yield from (key for key in self._below if key not in self._changes)
        yield from (key for key, value in self._changes.items() if value is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)
