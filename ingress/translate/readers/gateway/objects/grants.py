"""The values that are kept of what decides who may refer to whom: Namespaces with their labels, and ReferenceGrants.

Source: core ``v1`` (Namespace), ``ReferenceGrant`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Mapping
from typing import cast

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.translate.readers.gateway.objects.names import NAMESPACE, REFERENCE_GRANT


@frozen(weakref_slot=False)
class Namespace:
    """A Namespace: its labels, which always have ``kubernetes.io/metadata.name``."""

    key: ObjectKey
    labels: tuple[tuple[str, str], ...] = ()
    """Sorted."""


@frozen(weakref_slot=False)
class GrantedFrom:
    """An entry of ``spec.from``: who may refer."""

    group: str
    kind: str
    namespace: str


@frozen(weakref_slot=False)
class GrantedTo:
    """An entry of ``spec.to``: to what; an empty *name* means all of the kind in the grant's namespace."""

    group: str
    kind: str
    name: str = ""


@frozen(weakref_slot=False)
class ReferenceGrant:
    """A ReferenceGrant: each of *sources* may refer to each of *targets* in its namespace."""

    key: ObjectKey
    sources: tuple[GrantedFrom, ...] = ()
    targets: tuple[GrantedTo, ...] = ()


def grants_of(state: ClusterState) -> Mapping[ObjectKey, ReferenceGrant]:
    """Return the ReferenceGrants of *state*."""
    return cast("Mapping[ObjectKey, ReferenceGrant]", state.of(REFERENCE_GRANT))


def namespaces_of(state: ClusterState) -> Mapping[ObjectKey, Namespace]:
    """Return the Namespaces of *state*."""
    return cast("Mapping[ObjectKey, Namespace]", state.of(NAMESPACE))
