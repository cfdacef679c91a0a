"""The local copy of the objects: what the sources said last.  Reactor thread only.

The store drops what changes nothing for us: a projection equal to the one it has.  It also
remembers what translation must not: when a Secret whose certificate can be used is replaced
by one whose certificate cannot, the store goes on handing out the good version, together with
a problem on that Secret, until the Secret is deleted or becomes good.
"""

from typing import TypeVar

from attrs import evolve

from ingress.cluster.object_metas import ObjectMetas
from ingress.cluster.secrets.secret_parts import has_good_part, refusal
from ingress.cluster.slices_by_service import SlicesByService
from ingress.model.cluster.object_meta import NO_META
from ingress.model.cluster.objects import (
    Batch,
    ClusterObject,
    EndpointSlice,
    Kind,
    ObjectId,
    ObjectKey,
    Projection,
    Secret,
    Service,
)
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState, Derived
from ingress.model.frozen import frozen

_K = TypeVar("_K")
_V = TypeVar("_V")


@frozen
class Changes:
    """What a batch changed in the store."""

    objects: tuple[ObjectId, ...] = ()
    """Objects that are different in their value or in their problems, each once.  An
    EndpointSlice is here for its problems alone."""
    services: frozenset[ObjectKey] = frozenset()
    """Services with other endpoints: an EndpointSlice that changed belonged to them, or does now."""
    came: frozenset[ObjectId] = frozenset()
    went: frozenset[ObjectId] = frozenset()
    """Those of *objects* that were not there before, or are not any more."""
    metas: tuple[ObjectId, ...] = ()
    """Objects whose metadata is different, which matters to nobody but who reports back."""


class Store:
    """Keeps objects by kind and key."""

    def __init__(self) -> None:
        # The route objects and what they are judged by, each kind from its first object on.
        self._objects: dict[Kind, dict[ObjectKey, ClusterObject]] = {}
        self._services: dict[ObjectKey, Service] = {}
        self._slices: dict[ObjectKey, EndpointSlice] = {}
        self._secrets: dict[ObjectKey, Secret] = {}
        self._problems: dict[ObjectId, tuple[Problem, ...]] = {}
        self._slices_of = SlicesByService()
        self._changed_services: set[ObjectKey] = set()
        self._came: set[ObjectId] = set()
        self._went: set[ObjectId] = set()
        self._metas = ObjectMetas()
        self._derived = Derived()

    def changed(self, batch: Batch) -> Changes:
        """Apply *batch*; return what is different now."""
        objects = tuple(
            object_id for object_id, projection in batch.items() if self._apply(object_id, projection)
        )
        services, self._changed_services = frozenset(self._changed_services), set()
        metas = tuple(
            object_id for object_id, projection in batch.items() if self._put_meta(object_id, projection)
        )
        came, self._came = frozenset(self._came), set()
        went, self._went = frozenset(self._went), set()
        return Changes(objects, services, came, went, metas)

    def state(self) -> ClusterState:
        """Everything known.  The mappings are the store's own and change with the next batch."""
        return ClusterState(
            objects=self._objects,
            services=self._services,
            slices=self._slices_of,
            secrets=self._secrets,
            problems_of=self._problems,
            metas=self._metas,
            derived=self._derived,
        )

    def _apply(self, object_id: ObjectId, projection: Projection | None) -> bool:
        kind, key = object_id
        if kind is Kind.SECRET:
            projection = self._last_good(key, projection)
        value = projection.value if projection is not None else None
        problems = projection.problems if projection is not None else ()
        known = self._knows(kind, key)
        changed = False
        if (problems or self._problems) and problems != self._problems.get(object_id, ()):
            changed = True
            if problems:
                self._problems[object_id] = problems
            else:
                del self._problems[object_id]
        if not self._put(kind, key, value) and not changed:
            return False
        knows = self._knows(kind, key)
        if knows is not known:
            (self._came if knows else self._went).add(object_id)
        return True

    def _knows(self, kind: Kind, key: ObjectKey) -> bool:
        """Whether there is a value of an object, or at least a problem."""
        match kind:
            case Kind.SERVICE:
                there = key in self._services
            case Kind.ENDPOINT_SLICE:
                there = key in self._slices
            case Kind.SECRET:
                there = key in self._secrets
            case _:
                there = key in self._objects.get(kind, ())
        return there or (bool(self._problems) and (kind, key) in self._problems)

    def _put(self, kind: Kind, key: ObjectKey, value: ClusterObject | None) -> bool:
        """Keep *value*, or forget the object; return whether ``Changes.objects`` has it for that."""
        match kind:
            case Kind.SERVICE:
                assert value is None or isinstance(value, Service)
                return _replace(self._services, key, value)
            case Kind.ENDPOINT_SLICE:
                assert value is None or isinstance(value, EndpointSlice)
                self._put_slice(key, value)
                return False
            case Kind.SECRET:
                assert value is None or isinstance(value, Secret)
                return _replace(self._secrets, key, value)
            case _:
                some = self._objects.get(kind)
                if some is None:
                    if value is None:
                        # Manifest files and watches have problems alone.
                        return False
                    some = self._objects[kind] = {}
                if not _replace(some, key, value):
                    return False
                self._derived.changed(kind, key)
                return True

    def _put_meta(self, object_id: ObjectId, projection: Projection | None) -> bool:
        """Keep the metadata of an object that anybody may want to report about; return whether it changed."""
        meta = None if projection is None else projection.meta
        if meta == NO_META or (object_id[0] is Kind.ENDPOINT_SLICE and object_id not in self._problems):
            # There are many slices, each with a uid, and a problem of one is rare.
            meta = None
        return self._metas.put(object_id, meta)

    def _put_slice(self, key: ObjectKey, value: EndpointSlice | None) -> None:
        if value is not None and (service := self._services.get(value.service)) is not None:
            # For memory's sake: each key is one object.
            value = value.named(service.key)
        before = self._slices.get(key)
        if not _replace(self._slices, key, value):
            return
        if before is not None and (value is None or value.service != before.service):
            self._changed_services.add(before.service)
            self._slices_of.put(before.service, key, None)
        if value is not None:
            self._changed_services.add(value.service)
            self._slices_of.put(value.service, key, value)

    def _last_good(self, key: ObjectKey, projection: Projection | None) -> Projection | None:
        """What to hand on for a Secret: *projection*, or the good version that it would replace.

        Certificates are loaded only when a Secret is replaced, never for the first one that
        comes: whether that can be used is said where it is used.
        """
        kept = self._secrets.get(key)
        if projection is None or kept is None or projection.value == kept:
            return projection
        if any(problem.reason is Reason.SECRET_FORBIDDEN for problem in projection.problems):
            # A right that was taken away says nothing about the Secret.
            return evolve(projection, value=kept)
        problem = self._refusal(key, kept, projection)
        return (
            projection
            if problem is None
            else evolve(projection, value=kept, problems=(*projection.problems, problem))
        )

    def _refusal(self, key: ObjectKey, kept: Secret, projection: Projection) -> Problem | None:
        """Why a Secret must not take the place of *kept*, or None when it may."""
        if isinstance(projection.value, Secret):
            error = refusal(kept, projection.value)
            if error is None:
                return None
            message = f"{error.message}; the last good version stays in use"
            return Problem(Kind.SECRET, key.namespace, key.name, error.reason, message)
        if not has_good_part(kept):
            return None
        return Problem(
            Kind.SECRET,
            key.namespace,
            key.name,
            Reason.MALFORMED_OBJECT,
            "the Secret cannot be read; the last good version stays in use",
        )


def _replace(kept: dict[_K, _V], key: _K, value: _V | None) -> bool:
    """Put *value* under *key*, or remove it; return whether that changes anything."""
    if value is None:
        return kept.pop(key, None) is not None
    if kept.get(key) == value:
        return False
    kept[key] = value
    return True
