"""
The versioned content of the tests' API server: what is, and what changed.

Every change gets the next resource version. A bounded window of changes is
kept; from it a watch is replayed, and the content at an earlier version is
found again. Versions before the window are expired.

Versions are integers in here and opaque strings outside. Objects are shared,
never copied: nobody may change one in place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from attrs import frozen

from tests.fakes.apiserver.kinds import Json, ResourceType
from tests.fakes.apiserver.statuses import expired

Key: TypeAlias = tuple[str, str]
ChangeType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]

#: Where versions start. Not at one, so that version "1" is expired from the beginning.
FIRST_VERSION = 1000

#: How many changes the window holds unless told otherwise.
DEFAULT_WINDOW = 10_000


@frozen
class Change:
    """One change; a deleted object carries the version of its deletion in *current*."""

    version: int
    type: ChangeType
    kind: ResourceType
    key: Key
    previous: Json | None
    current: Json


class History:
    """The objects of all kinds, with a window of changes behind them."""

    def __init__(self, window: int = DEFAULT_WINDOW) -> None:
        self.version = FIRST_VERSION
        self.oldest = FIRST_VERSION
        self._window = window
        self._changes: deque[Change] = deque()
        self._objects: dict[ResourceType, dict[Key, Json]] = {}
        self.listeners: list[Callable[[Change], None]] = []

    def get(self, kind: ResourceType, key: Key) -> Json | None:
        """Return an object, or None."""
        return self._objects.get(kind, {}).get(key)

    def put(self, kind: ResourceType, key: Key, obj: Json) -> Json:
        """Store *obj* under the next version, and return it as stored."""
        previous = self.get(kind, key)
        self.version += 1
        current = _with_version(obj, self.version)
        self._objects.setdefault(kind, {})[key] = current
        self._record(
            Change(self.version, "ADDED" if previous is None else "MODIFIED", kind, key, previous, current)
        )
        return current

    def remove(self, kind: ResourceType, key: Key) -> Json:
        """Remove an object that exists, and return it as its DELETED event shows it."""
        previous = self._objects[kind].pop(key)
        self.version += 1
        current = _with_version(previous, self.version)
        self._record(Change(self.version, "DELETED", kind, key, previous, current))
        return current

    def content(self, kind: ResourceType, at: int | None = None) -> list[tuple[Key, Json]]:
        """Return the objects of a kind in the order of their keys, now or at a version; raise 410."""
        objects = dict(self._objects.get(kind, {}))
        if at is not None:
            self._check(at)
            for change in reversed(self._changes):
                if change.version <= at:
                    break
                if change.kind == kind:
                    if change.previous is None:
                        del objects[change.key]
                    else:
                        objects[change.key] = change.previous
        return sorted(objects.items(), key=lambda entry: entry[0])

    def since(self, version: int, kind: ResourceType) -> Iterator[Change]:
        """Return the changes of a kind after *version*, oldest first; raise 410."""
        self._check(version)
        return iter([change for change in self._changes if change.version > version and change.kind == kind])

    def compact(self, version: int | None = None) -> None:
        """Forget the changes up to *version*, by default all: older versions are expired."""
        self.oldest = self.version if version is None else max(self.oldest, min(version, self.version))
        while self._changes and self._changes[0].version <= self.oldest:
            self._changes.popleft()

    def restore(self, version: int) -> None:
        """Go back to the content at *version*, as etcd does from a backup: later versions are given to other changes."""
        kinds = tuple(self._objects)
        self._objects = {kind: dict(self.content(kind, version)) for kind in kinds}
        while self._changes and self._changes[-1].version > version:
            self._changes.pop()
        self.version = version

    def advance(self) -> None:
        """Let the version grow as if an object of a kind that is not served had changed."""
        self.version += 1

    def subscribe(self, listener: Callable[[Change], None]) -> None:
        """Call *listener* with every change from now on."""
        self.listeners.append(listener)

    def unsubscribe(self, listener: Callable[[Change], None]) -> None:
        """Stop calling *listener*."""
        self.listeners.remove(listener)

    def _record(self, change: Change) -> None:
        self._changes.append(change)
        while len(self._changes) > self._window:
            self.oldest = self._changes.popleft().version
        for listener in tuple(self.listeners):
            listener(change)

    def _check(self, version: int) -> None:
        if version < self.oldest:
            raise expired(version, self.oldest)


def _with_version(obj: Json, version: int) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
