"""What of other objects a route goes by: where it attaches, and which backends in other namespaces it may refer to.

The topology says both.  A route is read again when they are others, so a grant that is withdrawn counts with that change.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.names import GROUP, ObjectReference
from ingress.translate.readers.gateway.objects.routes import (
    AnyRoute,
    AnyStreamRoute,
    BackendObject,
    FilterEntry,
    GRPCRoute,
    HTTPRoute,
    RequestMirror,
    RouteBackend,
    StreamRule,
    hostnames_of,
)
from ingress.translate.readers.gateway.topology.attachments import Attachment
from ingress.translate.readers.gateway.topology.topology_making import topology_of
from ingress.translate.readers.reader import Verdict

ReadRoute = HTTPRoute | GRPCRoute
MOST_BACKENDS: Final = 1024
"""Backends of one route, those that requests are mirrored to included; of one that has more nothing is served."""
NOTHING_PERMITTED: Final[frozenset[ObjectReference]] = frozenset()


@frozen(weakref_slot=False)
class RouteRelations:
    """What a route of any kind goes by."""

    attachments: tuple[Attachment, ...] = ()
    permitted: frozenset[ObjectReference] = NOTHING_PERMITTED
    """Those of its backends in other namespaces that it may refer to."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables of its listeners, as far as these are served."""
        names = (taken.listener.table for one in self.attachments for taken in one.listeners)
        return _shared(tuple(dict.fromkeys(name for name in names if name)))

    def permits(self, target: ObjectReference, namespace: str) -> bool:
        """Whether a route of *namespace* may refer to *target*."""
        return target.namespace in ("", namespace) or target in self.permitted


@lru_cache(maxsize=1024)
def _shared(tables: tuple[str, ...]) -> tuple[str, ...]:
    """Return equal names that were seen lately: many routes attach to the same listeners."""
    return tables


def judge_route(value: AnyRoute, state: ClusterState, options: TranslateOptions) -> Verdict:
    """Decide whether a route is ours, which it is if any of its parents is, and tell why it does not attach to one."""
    topology = topology_of(state, options)
    owner, namespace = value.owner, value.key.namespace
    attachments = topology.attach(owner.kind, namespace, hostnames_of(value), value.parents)
    if not any(one.gateway is not None for one in attachments):
        return Verdict(False)
    problems = tuple(
        owner.problem(one.reason, one.message, one.field)
        for one in attachments
        if one.reason is not None and one.gateway is not None
    )
    others = _of_other_namespaces(value)
    permitted = tuple(
        one
        for one in others
        if topology.permits(GROUP, owner.kind, namespace, one.group, one.kind, key_of(one))
    )
    return Verdict(
        True, problems, RouteRelations(attachments, frozenset(permitted) if permitted else NOTHING_PERMITTED)
    )


def backends_of(value: AnyRoute) -> Iterator[BackendObject]:
    """Yield all backends that the rules of *value* name, those of filters included; of streams there is one rule."""
    for rule in value.rules[:1] if isinstance(value, AnyStreamRoute) else value.rules:
        yield from _of(rule.backends, () if isinstance(rule, StreamRule) else rule.filters)


def _of_other_namespaces(value: AnyRoute) -> Iterable[ObjectReference]:
    """Return what *value* refers to in other namespaces; nothing where it names more than is served of any route."""
    found: dict[ObjectReference, None] = {}
    for number, backend in enumerate(backends_of(value), 1):
        if number > MOST_BACKENDS:
            return ()
        if backend.target.namespace and backend.target.namespace != value.key.namespace:
            found[backend.target] = None
    return found


def key_of(target: ObjectReference) -> ObjectKey:
    """Return the key of a *target* that names its namespace."""
    return ObjectKey(target.namespace, target.name)


def decides_class(value: AnyRoute) -> tuple[str, object]:
    """Return what of *value* decides whether it is ours."""
    return value.key.namespace, value.parents


def why_no_route(kind: Kind, state: ClusterState) -> str:
    """Say what kept all routes of *kind* from being served, where there are some."""
    if not state.of(kind):
        return ""
    return f"no {kind} attaches to a listener of a Gateway of ours, or their problems say why"


def _of(backends: Iterable[RouteBackend], filters: Iterable[FilterEntry]) -> Iterator[BackendObject]:
    yield from _mirrored(filters)
    for one in backends:
        yield one.backend
        if one.filters:
            yield from _mirrored(one.filters)


def _mirrored(filters: Iterable[FilterEntry]) -> Iterator[BackendObject]:
    for entry in filters:
        if isinstance(entry.filter, RequestMirror):
            yield entry.filter.backend
