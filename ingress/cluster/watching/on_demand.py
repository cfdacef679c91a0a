"""Kinds that are watched apart from all others, for one who needs them for a while and hands nothing on.

Nothing waits for them: neither the first complete content, nor whoever serves.  That the API server refuses them is told
among the problems of the other watches, as long as they are watched.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from ingress.cluster.delta_queue import DeltaQueue
from ingress.cluster.watching.reflector import Receiver, Reflector, reflector_name
from ingress.model.cluster.objects import Batch, Kind
from ingress.translate.readers.reader import KindRead

Scope = tuple[KindRead, str]
"""A kind, and the namespace in which it is watched; the empty one means the whole cluster."""


class OnDemandSink(Protocol):
    """Takes what is watched.  Both methods are called in the reactor thread only."""

    def changed(self, batch: Batch) -> None:
        """Take changes: the newest projection of each object, or None for one that is gone."""

    def complete(self) -> None:
        """Learn, once, that all there was has been handed to ``changed``.  Where a right is missing, that is when it was granted."""


class OnDemandWatch:
    """A watch of *scopes* for *sink*, from now until ``stop``.

    *make* makes the reflector of a scope for a receiver; *tell* takes changes of problems, in any thread.
    """

    def __init__(
        self,
        call_from_thread: Callable[[Callable[[], None]], object],
        scopes: Sequence[Scope],
        sink: OnDemandSink,
        make: Callable[[KindRead, str, Receiver], Reflector],
        tell: Callable[[Batch], None],
    ) -> None:
        self._sink = sink
        self._names = [reflector_name(*scope) for scope in scopes]
        self._is_complete = False
        self._queue = DeltaQueue(call_from_thread, _Changes(sink.changed), self._names, self._progressed)
        receiver = _Parting(self._queue, tell)
        self.reflectors = tuple(make(read, namespace, receiver) for read, namespace in scopes)
        """One for each scope."""
        for reflector in self.reflectors:
            reflector.start()

    def __repr__(self) -> str:
        return f"<OnDemandWatch {', '.join(self._names)}>"

    def stop(self) -> None:
        """Hand over nothing from now on, and have the threads end, and problems of the watch with them."""
        self._queue.stop()
        for reflector in self.reflectors:
            reflector.withdraw()

    def _progressed(self) -> None:
        if self._is_complete or self._queue.missing() or any(map(self._queue.is_refused, self._names)):
            return
        self._is_complete = True
        self._sink.complete()


class _Changes:
    """The sink of the queue: whether a list was refused is asked there, and so ``synced`` says too little."""

    def __init__(self, changed: Callable[[Batch], None]) -> None:
        self.changed = changed

    def synced(self) -> None:
        """Learn that each list came or was refused."""


class _Parting:
    """The receiver of the reflectors: objects go to *queue*, problems of the watch to *tell*."""

    def __init__(self, queue: DeltaQueue, tell: Callable[[Batch], None]) -> None:
        self._queue = queue
        self._tell = tell
        self.synced = queue.synced

    def put(self, changes: Batch) -> None:
        """Take changes."""
        problems = {one: change for one, change in changes.items() if one[0] is Kind.WATCH}
        if problems:
            self._tell(problems)
        self._queue.put({one: change for one, change in changes.items() if one not in problems})

    @property
    def is_behind(self) -> bool:
        """Whether the queue takes less than it is given."""
        return self._queue.is_behind
