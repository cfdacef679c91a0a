"""The only way from the reflector threads to the reactor thread.

Threads put changes into one map, where the newest state of an object replaces what waited
there before; so memory is bounded by the number of objects, however long the reactor is busy.
The first put of a batch wakes the reactor, once.  The reactor takes the whole map and gives
it to the sink in portions, other work coming in between.

Invariants: changes of one object keep their order; a marker of a complete first list reaches
the sink after everything that was put before it; after ``stop`` nothing reaches the sink.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Lock

from ingress.cluster.source import Sink
from ingress.model.cluster.objects import Batch, Kind, ObjectId, Projection, Secret
from ingress.process.garbage_collection import CollectorTurns

# A portion keeps the reactor busy for a tenth of a millisecond, and so does each collection.
_PORTION = 10
_COLLECTED = 40
_BEHIND = 100
# Of Secrets one: the key pairs of those that are needed are loaded where they are taken, which takes as long as ten other objects.
_LIKE_A_SECRET = 10
# A revocation list of a megabyte takes as long as 64 of them.
_BYTES_LIKE_AN_OBJECT = 16 * 1024
# Before the first sync nobody is served yet, and each turn costs something.
_FIRST_PORTION = 200


class DeltaQueue:
    """Takes changes in any thread, and gives them to *sink* in the reactor thread.

    *call_from_thread* is the reactor's.  *expected* names the lists that make up the first
    complete content; *progressed* is called when a list is complete.  *soon* has something
    called in the next turn, from the reactor thread: waking the reactor, as *call_from_thread* does, is
    some system calls for each portion, and each of them gives the interpreter away.
    """

    def __init__(
        self,
        call_from_thread: Callable[[Callable[[], None]], object],
        sink: Sink,
        expected: Iterable[str],
        progressed: Callable[[], None] = lambda: None,
        soon: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        self._call_from_thread = call_from_thread
        self._soon = soon
        self._sink = sink
        self._progressed = progressed
        # Guarded by the lock:
        self._lock = Lock()
        self._waiting: dict[ObjectId, Projection | None] = {}
        self._markers: dict[str, bool] = {}
        self._awake = False
        self._stopped = False
        # The reactor thread's own:
        self._missing = dict.fromkeys(expected)
        self._delivering: Iterator[tuple[ObjectId, Projection | None]] | None = None
        self._delivering_markers: dict[str, bool] = {}
        self._refused: set[str] = set()
        self._collector = CollectorTurns(_COLLECTED)

    def put(self, changes: Batch) -> None:
        """Hand *changes* over.  Any thread."""
        if changes:
            self._add(changes, {})

    def synced(self, name: str, *, refused: bool = False) -> None:
        """Say that the first list *name* was put completely, or is *refused* and not waited for.  Any thread; saying it again is harmless."""
        self._add({}, {name: refused})

    @property
    def is_behind(self) -> bool:
        """Whether more waits than the reactor takes in a few turns.  Any thread."""
        return len(self._waiting) > _BEHIND

    def stop(self) -> None:
        """Hand over nothing from now on, and forget what waits.  Reactor thread."""
        with self._lock:
            self._stopped = True
            self._waiting = {}
            self._markers = {}
        self._delivering = None

    def missing(self) -> tuple[str, ...]:
        """The lists that the sink has not got yet, in the order given.  Reactor thread."""
        return tuple(self._missing)

    def is_refused(self, name: str) -> bool:
        """Whether the list *name* was refused when this was last said of it, as far as the sink got what was put before.  Reactor thread."""
        return name in self._refused

    def expect(self, names: Iterable[str]) -> None:
        """Have the first sync wait for further lists, unless it is over.  Reactor thread."""
        if self._missing:
            self._missing.update(dict.fromkeys(names))

    def _add(self, changes: Mapping[ObjectId, Projection | None], markers: Mapping[str, bool]) -> None:
        with self._lock:
            if self._stopped:
                return
            self._waiting.update(changes)
            self._markers.update(markers)
            wake = not self._awake
            self._awake = True
        if wake:
            self._call_from_thread(self._deliver if self._soon is None else self._awoken)

    def _awoken(self) -> None:
        # What is asked for in a thread's call comes in the same turn, so this is not yet a portion.
        assert self._soon is not None
        self._soon(self._deliver)

    def _deliver(self) -> None:
        """Give the sink one portion.  Reactor thread."""
        with self._lock:
            if self._stopped:
                return
            if self._delivering is None:
                self._delivering = iter(self._waiting.items())
                self._delivering_markers = self._markers
                self._waiting = {}
                self._markers = {}
        if self._collector.take():
            self._go_on()
            return
        is_first = bool(self._missing)
        portion: dict[ObjectId, Projection | None] = {}
        left = _FIRST_PORTION if is_first else _PORTION
        for object_id, projection in self._delivering:
            portion[object_id] = projection
            left -= 1 if is_first or object_id[0] is not Kind.SECRET else _weight(projection)
            if left <= 0:
                break
        self._collector.made += len(portion)
        try:
            if portion:
                self._sink.changed(portion)
            if left > 0:
                self._delivering = None
                self._mark()
        finally:
            self._go_on()

    def _mark(self) -> None:
        """Tell the sink when the last list has arrived."""
        if self._stopped or not self._delivering_markers:
            return
        for name, refused in self._delivering_markers.items():
            (self._refused.add if refused else self._refused.discard)(name)
        arrived = [name for name in self._delivering_markers if name in self._missing]
        for name in arrived:
            del self._missing[name]
        self._progressed()
        if arrived and not self._missing:
            self._sink.synced()

    def _go_on(self) -> None:
        """Come again if anything is left; else let the next put wake the reactor."""
        with self._lock:
            if self._stopped:
                return
            self._awake = self._delivering is not None or bool(self._waiting) or bool(self._markers)
            again = self._awake
        if again:
            (self._soon or self._call_from_thread)(self._deliver)


def _weight(secret: Projection | None) -> int:
    """Return as how many other objects *secret* counts."""
    value = secret.value if secret is not None else None
    size = sum(map(len, value.content.values())) if isinstance(value, Secret) else 0
    return _LIKE_A_SECRET + size // _BYTES_LIKE_AN_OBJECT
