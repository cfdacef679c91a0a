"""What the threads that watch Secrets and the reactor thread have to know of each other.

The reactor thread says which Secrets are needed; the reflector threads keep those, and of all
others only know that they exist.  So a Secret that nobody refers to leaves no key material in
this process beyond the moment in which its event is read.

Each needed Secret has a stamp, which moves with every event about it.  Who reads a Secret by
its name compares stamps before and after: when an event came in between, it is the event that
counts, since the watch goes on from there and the answer does not.
"""

from threading import Lock

from ingress.model.cluster.objects import ObjectKey


class _Need:
    """What is needed of one Secret, and how many events there were about it since."""

    __slots__ = ("keys", "stamp")

    def __init__(self, keys: frozenset[str]) -> None:
        self.keys = keys
        self.stamp = 0


class WatchedObjects:
    """Chooses, for reflectors, what is kept of a Secret.  Every method may be called in any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._needs: dict[ObjectKey, _Need] = {}
        self._present: set[ObjectKey] = set()

    def need(self, key: ObjectKey, keys: frozenset[str]) -> None:
        """From now on, keep *keys* of this Secret."""
        with self._lock:
            need = self._needs.get(key)
            if need is None:
                self._needs[key] = _Need(keys)
            else:
                need.keys = keys

    def drop(self, key: ObjectKey) -> None:
        """From now on, keep nothing of this Secret."""
        with self._lock:
            self._needs.pop(key, None)

    def is_present(self, key: ObjectKey) -> bool:
        """Whether a watch sees this Secret, and so will tell of its changes."""
        with self._lock:
            return key in self._present

    def stamp(self, key: ObjectKey) -> int:
        """A number that is another one after each event about a needed Secret."""
        with self._lock:
            need = self._needs.get(key)
            return -1 if need is None else need.stamp

    def present(self, key: ObjectKey) -> frozenset[str] | None:
        """Note that a watch showed this Secret; return the keys to keep, None when nobody needs it."""
        with self._lock:
            self._present.add(key)
            need = self._needs.get(key)
            if need is None:
                return None
            need.stamp += 1
            return need.keys

    def gone(self, key: ObjectKey) -> bool:
        """Note that a watch sees this Secret no more; return whether anybody needs it."""
        with self._lock:
            self._present.discard(key)
            need = self._needs.get(key)
            if need is None:
                return False
            need.stamp += 1
            return True
