"""From the events of one kind to changes worth handing over.

The index tells what is news, a selection what somebody needs, and projection what to keep of
it.  What a large object has as before is the same object as before, for others to compare.  Belongs to the thread of one reflector.
"""

from typing import Protocol

from attrs import evolve
from twisted.logger import Logger

from ingress.cluster.projecting.project import project, projecting
from ingress.cluster.watching.known_versions import KnownVersions
from ingress.cluster.watching.large_objects import LARGE_BYTES
from ingress.cluster.watching.sharing import sharing
from ingress.cluster.watching.watch_events import ObjectEvent
from ingress.model.cluster.objects import ClusterObject, ObjectId, ObjectKey, Projection
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.secrets import TLS_KEYS
from ingress.model.stepwise import Stepwise, finished
from ingress.translate.readers.reader import KindRead

log = Logger()

Changes = dict[ObjectId, Projection | None]


class Selection(Protocol):
    """Chooses which objects are handed over: ``ingress.cluster.secrets.watched_secrets.WatchedObjects``."""

    def present(self, key: ObjectKey) -> frozenset[str] | None:
        """Note that the object exists; return what to keep of it, None when nobody needs it."""

    def gone(self, key: ObjectKey) -> bool:
        """Note that the object exists no more; return whether anybody needs to know."""


class ObjectChanges:
    """Turns events into changes.  Without *selection*, all objects are handed over."""

    def __init__(
        self, name: str, read: KindRead, annotations_prefix: str, selection: Selection | None
    ) -> None:
        self._name = name
        self._read = read
        self._kind = read.kind
        self._annotations_prefix = annotations_prefix
        self._selection = selection
        self._known_versions = KnownVersions()
        # What was handed over last of large objects, which whoever gets it keeps as well.
        self._large: dict[ObjectKey, ClusterObject] = {}

    def __len__(self) -> int:
        """How many objects are known to exist."""
        return len(self._known_versions)

    def begin_list(self) -> None:
        """Begin a list from nothing."""
        self._known_versions.begin_list()

    def distrust(self) -> None:
        """Hand over each object that is named next, whatever its version."""
        self._known_versions.distrust()

    def note(self, event: ObjectEvent, changes: Changes) -> None:
        """Add to *changes* what *event* changes, if it is news that somebody needs."""
        finished(self.noting(event, changes))

    def noting(self, event: ObjectEvent, changes: Changes) -> Stepwise[None]:
        """Do the same in steps, where the object is large."""
        if event.key is None:
            log.warn("{name}: an object without a name is ignored", name=self._name)
        elif event.deleted:
            if self._known_versions.gone(event.key):
                self._gone(event.key, changes)
        elif self._known_versions.present(event.key, event.resource_version):
            keys = TLS_KEYS if self._selection is None else self._selection.present(event.key)
            if keys is not None:
                changes[self._kind, event.key] = yield from self._projection(event.key, event, keys)

    def end_list(self, changes: Changes) -> None:
        """End a complete list, which is the deletion of all that it did not name."""
        for key in self._known_versions.end_list():
            self._gone(key, changes)

    def _gone(self, key: ObjectKey, changes: Changes) -> None:
        self._large.pop(key, None)
        if self._selection is None or self._selection.gone(key):
            changes[self._kind, key] = None

    def _projection(
        self, key: ObjectKey, event: ObjectEvent, secret_keys: frozenset[str]
    ) -> Stepwise[Projection]:
        known = self._large.pop(key, None)
        try:
            # Of what is selected, such as Secrets, nothing is kept here.
            if event.size < LARGE_BYTES or self._selection is not None:
                return project(self._read, event.raw, self._annotations_prefix, secret_keys, key)[1]
            projection = yield from projecting(self._read, event.raw, self._annotations_prefix, key)
            if projection.value is None:
                return projection
            # Here that may take milliseconds; the reactor compares in microseconds then.
            value = yield from sharing(known, projection.value)
            self._large[key] = value
            return projection if value is projection.value else evolve(projection, value=value)
        except Exception as error:
            # A bug, which must not end the watch.  Its message might quote the object, even a Secret.
            log.critical(
                "{name}: {key} cannot be projected: {error}",
                name=self._name,
                key=str(key),
                error=type(error).__name__,
            )
            message = "the object cannot be read"
            problem = Problem(self._kind, key.namespace, key.name, Reason.MALFORMED_OBJECT, message)
            return Projection(None, (problem,))
