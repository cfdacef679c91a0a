"""The local copy of the objects: what the sources said last.  Reactor thread only.

The store drops what changes nothing for us: a projection equal to the one it has.  It also
remembers what translation must not: when a Secret whose certificate can be used is replaced
by one whose certificate cannot, the store goes on handing out the good version, together with
a problem on that Secret, until the Secret is deleted or becomes good.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from ingress.certificates import CertificateError, load_certificate
from ingress.model.objects import (
    Batch,
    ClusterObject,
    EndpointSlice,
    Ingress,
    IngressClass,
    Kind,
    ObjectId,
    ObjectKey,
    Projection,
    Secret,
    Service,
)
from ingress.model.problems import Problem, Reason
from ingress.model.state import ClusterState

_K = TypeVar("_K")
_V = TypeVar("_V")
_Slices = dict[ObjectKey, EndpointSlice]


class Store:
    """Keeps objects by kind and key.

    *now* returns the current time with its zone; certificates are judged by it.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._ingresses: dict[ObjectKey, Ingress] = {}
        self._ingress_classes: dict[str, IngressClass] = {}
        self._services: dict[ObjectKey, Service] = {}
        self._slices: _Slices = {}
        self._secrets: dict[ObjectKey, Secret] = {}
        self._problems: dict[ObjectId, tuple[Problem, ...]] = {}
        # By Service: its slices, and the same sorted by name as they are handed out.
        self._slices_by_service: dict[ObjectKey, _Slices] = {}
        self._sorted_slices: dict[ObjectKey, tuple[EndpointSlice, ...]] = {}

    def changed(self, batch: Batch) -> frozenset[ObjectId]:
        """Apply *batch*; return what is different now, in its value or in its problems."""
        return frozenset(
            object_id for object_id, projection in batch.items() if self._apply(object_id, projection)
        )

    def state(self) -> ClusterState:
        """Everything known.  The mappings are the store's own and change with the next batch."""
        return ClusterState(
            ingresses=self._ingresses,
            ingress_classes=self._ingress_classes,
            services=self._services,
            slices=self._sorted_slices,
            secrets=self._secrets,
            problems_of=self._problems,
        )

    def _apply(self, object_id: ObjectId, projection: Projection | None) -> bool:
        kind, key = object_id
        if kind is Kind.SECRET:
            projection = self._last_good(key, projection)
        value = projection.value if projection is not None else None
        problems = projection.problems if projection is not None else ()
        changed = False
        if problems != self._problems.get(object_id, ()):
            changed = True
            if problems:
                self._problems[object_id] = problems
            else:
                del self._problems[object_id]
        return self._put(kind, key, value) or changed

    def _put(self, kind: Kind, key: ObjectKey, value: ClusterObject | None) -> bool:
        """Keep *value*, or forget the object; return whether anything is different."""
        match kind:
            case Kind.INGRESS:
                assert value is None or isinstance(value, Ingress)
                return _replace(self._ingresses, key, value)
            case Kind.INGRESS_CLASS:
                assert value is None or isinstance(value, IngressClass)
                return _replace(self._ingress_classes, key.name, value)
            case Kind.SERVICE:
                assert value is None or isinstance(value, Service)
                return _replace(self._services, key, value)
            case Kind.ENDPOINT_SLICE:
                assert value is None or isinstance(value, EndpointSlice)
                return self._put_slice(key, value)
            case Kind.SECRET:
                assert value is None or isinstance(value, Secret)
                return _replace(self._secrets, key, value)
            case Kind.MANIFEST:
                assert value is None
                return False

    def _put_slice(self, key: ObjectKey, value: EndpointSlice | None) -> bool:
        before = self._slices.get(key)
        if not _replace(self._slices, key, value):
            return False
        if before is not None:
            siblings = self._slices_by_service[before.service]
            del siblings[key]
            self._sort_slices(before.service)
        if value is not None:
            self._slices_by_service.setdefault(value.service, {})[key] = value
            self._sort_slices(value.service)
        return True

    def _sort_slices(self, service: ObjectKey) -> None:
        siblings = self._slices_by_service[service]
        if siblings:
            self._sorted_slices[service] = tuple(siblings[key] for key in sorted(siblings))
        else:
            del self._slices_by_service[service]
            self._sorted_slices.pop(service, None)

    def _last_good(self, key: ObjectKey, projection: Projection | None) -> Projection | None:
        """What to hand on for a Secret: *projection*, or the good version that it would replace.

        Certificates are loaded only when a Secret is replaced, never for the first one that
        comes: whether that can be used is said where it is used.
        """
        kept = self._secrets.get(key)
        if projection is None or kept is None or projection.value == kept:
            return projection
        refusal = self._refusal(key, projection)
        if refusal is None or not _is_good(kept, self._now()):
            return projection
        return Projection(kept, (*projection.problems, refusal))

    def _refusal(self, key: ObjectKey, projection: Projection) -> Problem | None:
        """Why the certificate of a Secret cannot be used, or None when it can."""
        if isinstance(projection.value, Secret):
            try:
                load_certificate(projection.value, self._now())
            except CertificateError as error:
                message = f"{error.message}; the last good version stays in use"
                return Problem(Kind.SECRET, key.namespace, key.name, error.reason, message)
            return None
        return Problem(
            Kind.SECRET,
            key.namespace,
            key.name,
            Reason.MALFORMED_OBJECT,
            "the Secret cannot be read; the last good version stays in use",
        )


def _is_good(secret: Secret, now: datetime) -> bool:
    try:
        load_certificate(secret, now)
    except CertificateError:
        return False
    return True


def _replace(kept: dict[_K, _V], key: _K, value: _V | None) -> bool:
    """Put *value* under *key*, or remove it; return whether that changes anything."""
    if value is None:
        return kept.pop(key, None) is not None
    if kept.get(key) == value:
        return False
    kept[key] = value
    return True
