"""Keeps the Secrets that are referred to, and no others; and the same of ConfigMaps.

There is one for each of the two kinds.  It stands between the delta queue and the sink, in the reactor thread: it learns from the Ingresses
that pass which Secrets are needed, has those read that no watch brings, and lets no other pass.
The sink is synced when every Secret that is needed was asked for, so that the first snapshot
has all its certificates, and when no right is missing that these cannot do without
(``ingress.cluster.secrets.secret_rights``).  After that nothing waits for a Secret: one that was not read
yet is not there yet.

Two ways lead here from ``begin``, which is called when all Ingresses and classes are known.
Where Secrets are watched their list follows, and ``synced`` comes after it; what it did not
bring is read by name: a Secret that the watch's selector hides, or all when lists are forbidden.
Otherwise everything needed is read by name, as ConfigMaps always are.
"""

from collections.abc import Callable, Iterable, Set

from twisted.logger import Logger

from ingress.cluster.secrets.secret_reader import ObjectReader
from ingress.cluster.secrets.secret_references import NeedChanges, ObjectReferences
from ingress.cluster.secrets.watched_secrets import WatchedObjects
from ingress.cluster.source import Sink
from ingress.metrics.series.watch import WatchMetrics
from ingress.model.cluster.objects import Batch, Kind, ObjectId, ObjectKey, Projection, Secret
from ingress.translate.options import TranslateOptions

log = Logger()

RightsAwaited = Callable[[Iterable[ObjectKey], Set[ObjectKey]], tuple[str, ...]]
"""Says, of the Secrets that are needed and those of them that are forbidden, which rights the sync waits for."""


class ReferencedObjects:
    """A sink in front of *sink*; ``attach`` comes before everything else.

    *soon* calls in a turn of its own; *counts* is told how many changes come in each batch.
    """

    def __init__(
        self,
        sink: Sink,
        references: ObjectReferences,
        watched: WatchedObjects,
        metrics: WatchMetrics,
        soon: Callable[[Callable[[], None]], object],
        counts: Callable[[int], None] | None = None,
    ) -> None:
        self._soon = soon
        self._is_judged_soon = False
        self._is_stopped = False
        self._sink = sink
        self._references = references
        self._kind = references.kind
        self._watched = watched
        self._metrics = metrics
        self._counts = counts
        self._reader: ObjectReader | None = None
        self._rights_awaited: RightsAwaited = lambda needed, forbidden: ()
        self._rights_told: tuple[str, ...] = ()
        self._has_begun = False
        self._judged: Callable[[], None] | None = None
        # Whether what is needed is read by name, and not left to a list that comes.
        self._is_reading = False
        self._lists_are_complete = False
        self._is_synced = False
        # The Secrets that the sink has, and which of their keys were asked for.
        self._given: dict[ObjectKey, frozenset[str]] = {}

    def attach(self, reader: ObjectReader, rights_awaited: RightsAwaited | None) -> None:
        """Have them read by *reader*, which delivers here; without *rights_awaited* no right is waited for."""
        self._reader = reader
        if rights_awaited is not None:
            self._rights_awaited = rights_awaited

    def begin(self, *, list_follows: bool, judged: Callable[[], None] = lambda: None) -> None:
        """Find out what is needed; *list_follows* says that a list of Secrets will come.

        *judged* is called when all objects that are there were judged, which takes some turns where there are very many:
        what a list brings before that would have to be read once more.
        """
        self._has_begun = True
        self._is_reading = not list_follows
        self._judged = judged
        self._need(self._references.begin())
        self._judge_soon()

    def stop(self) -> None:
        """Judge nothing more, and hand nothing over because of that."""
        self._is_stopped = True

    def refer(self, options: TranslateOptions) -> None:
        """Learn that the operator refers to other objects now."""
        changes = self._references.refer(options)
        gone = self._dropped(changes)
        if gone:
            self._sink.changed(gone)
        self._need(changes)
        self._judge_soon()

    def changed(self, batch: Batch) -> None:
        """Take a batch of the delta queue."""
        if self._counts is not None:
            self._counts(len(batch))
        changes = self._references.changed(batch)
        secrets = self._dropped(changes)
        if secrets or any(kind is self._kind for kind, _ in batch):
            batch = {**self._needed_part(batch, changes), **secrets}
        self._sink.changed(batch)
        if self._reader is not None:
            # Only now, for it may be what the first sync waits for.
            for (kind, key), projection in batch.items():
                if kind is self._kind and projection is not None:
                    self._reader.seen(key)
        self._need(changes)
        self._judge_soon()

    def _judge_soon(self) -> None:
        """See to it that objects are judged some at a time, where very much waits for that."""
        if self._is_stopped:
            return
        if self._references.is_judging:
            if not self._is_judged_soon:
                self._is_judged_soon = True
                self._soon(self._judge_some)
        elif self._judged is not None:
            judged, self._judged = self._judged, None
            judged()

    def _judge_some(self) -> None:
        self._is_judged_soon = False
        if self._is_stopped:
            return
        changes = self._references.judge_some()
        gone = self._dropped(changes)
        if gone:
            self._sink.changed(gone)
        self._need(changes)
        self._judge_soon()
        self.read_changed()

    def synced(self) -> None:
        """Learn that all lists are complete."""
        self._lists_are_complete = True
        if not self._is_reading:
            self._is_reading = True
            for key in self._references.needed():
                if not self._has_given(key):
                    self._read(key)
        self.read_changed()

    def deliver(self, key: ObjectKey, projection: Projection | None) -> None:
        """Take a Secret that was read by name."""
        self._note(key, projection)
        self._sink.changed({(self._kind, key): projection})

    @property
    def kind(self) -> Kind:
        """The kind of what is kept."""
        return self._kind

    def knows(self, key: ObjectKey, keys: frozenset[str]) -> bool:
        """Whether the sink has what there is under *keys* of an object, be it nothing; of one that nobody refers to that is not known."""
        if not keys <= self._references.keys_of(key):
            return False
        given = self._given.get(key)
        if given is not None:
            return keys <= given
        return self._reader is not None and not self._reader.is_unread(key)

    def read_changed(self) -> None:
        """Tell the sink that it is synced, when it is."""
        if not self._lists_are_complete or self._is_synced or self._unread or self._references.is_judging:
            return
        awaited = self._rights()
        if awaited:
            if awaited != self._rights_told:
                for right in awaited:
                    log.warn("Not ready. {right}. It is tried again every half minute", right=right)
            self._rights_told = awaited
            return
        self._is_synced = True
        self._sink.synced()

    def missing(self) -> tuple[str, ...]:
        """What the first sync waits for apart from lists: Secrets to be read, and rights to do so."""
        if self._is_synced:
            return ()
        return (*self._reads_awaited(), *self._rights())

    def _rights(self) -> tuple[str, ...]:
        assert self._reader is not None, "attach() comes first"
        return self._rights_awaited(self._references.needed(), self._reader.forbidden)

    def _reads_awaited(self) -> tuple[str, ...]:
        if not self._unread:
            return ()
        what = f"{self._unread} referenced {self._kind}{'' if self._unread == 1 else 's'}"
        trouble = self._reader.trouble if self._reader is not None else ""
        return (f"{what}: {trouble}" if trouble else what,)

    @property
    def _unread(self) -> int:
        return 0 if self._reader is None else self._reader.unread

    def _needed_part(self, batch: Batch, changes: NeedChanges) -> dict[ObjectId, Projection | None]:
        """Leave out the Secrets of *batch* that nobody needs any more; note what becomes of the others."""
        part: dict[ObjectId, Projection | None] = {}
        for (kind, key), projection in batch.items():
            if kind is self._kind:
                if not self._references.keys_of(key):
                    continue
                if self._is_overtaken(key, projection):
                    continue
                self._note(key, projection)
                # There may be another of that name which the watch does not show.
                if projection is None and self._is_reading and key not in changes.needed:
                    self._read(key)
            part[kind, key] = projection
        return part

    def _is_overtaken(self, key: ObjectKey, projection: Projection | None) -> bool:
        """Whether this is an event from before more of the Secret was needed, and the answer that brought more came first."""
        needed = self._references.keys_of(key)
        return projection is not None and not needed <= self._asked(key, projection) and self._has_given(key)

    def _has_given(self, key: ObjectKey) -> bool:
        """Whether the sink has all that is needed of a Secret, as far as the Secret has it."""
        given = self._given.get(key)
        return given is not None and self._references.keys_of(key) <= given

    def _note(self, key: ObjectKey, projection: Projection | None) -> None:
        """Note what the sink gets."""
        if projection is None:
            self._given.pop(key, None)
        else:
            self._given[key] = self._asked(key, projection)

    def _asked(self, key: ObjectKey, projection: Projection) -> frozenset[str]:
        """Which keys were asked for; of what cannot be read, and of a ConfigMap, there is no more to have than this."""
        value = projection.value
        return value.asked if isinstance(value, Secret) else self._references.keys_of(key)

    def _dropped(self, changes: NeedChanges) -> dict[ObjectId, Projection | None]:
        """Forget what nobody needs any more; return how the sink is told."""
        return {(self._kind, key): None for key in changes.dropped if self._given.pop(key, None) is not None}

    def _need(self, changes: NeedChanges) -> None:
        if not self._has_begun:
            return
        assert self._reader is not None
        for key in changes.dropped:
            self._watched.drop(key)
            self._reader.forget(key)
        for key, keys in changes.needed.items():
            self._watched.need(key, keys)
            if self._is_reading:
                self._read(key)
        for key in changes.touched:
            self._reader.touch(key)
        if changes.needed or changes.dropped:
            self._metrics.needed(self._kind, len(self._references))
            self.read_changed()

    def _read(self, key: ObjectKey) -> None:
        assert self._reader is not None
        self._reader.read(key, self._references.keys_of(key))
