"""The cluster state: a read-only view of the store, as ``translate`` gets it."""

from collections.abc import Mapping
from types import MappingProxyType

from attrs import Factory

from ingress.model.frozen import frozen
from ingress.model.object_meta import ObjectMeta
from ingress.model.objects import (
    ClusterObject,
    EndpointSlice,
    Kind,
    ObjectId,
    ObjectKey,
    Secret,
    Service,
)
from ingress.model.problems import Problem

_NONE: Mapping[ObjectKey, ClusterObject] = MappingProxyType({})


@frozen
class ClusterState:
    """All objects known, by key.

    *objects* has those of the kinds of route objects, and of the kinds that these are judged by.
    *slices* groups EndpointSlices by the Service they belong to.  *problems_of* has
    what reading an object brought up, where it brought up anything; translation adds
    its own.  *metas* are for those who report back to the cluster; translation does not
    look at them.  The mappings are the store's own: whoever looks at them in a later turn of
    the reactor sees what the store has then.
    """

    objects: Mapping[Kind, Mapping[ObjectKey, ClusterObject]] = Factory(dict)
    services: Mapping[ObjectKey, Service] = Factory(dict)
    slices: Mapping[ObjectKey, tuple[EndpointSlice, ...]] = Factory(dict)
    secrets: Mapping[ObjectKey, Secret] = Factory(dict)
    problems_of: Mapping[ObjectId, tuple[Problem, ...]] = Factory(dict)
    metas: Mapping[ObjectId, ObjectMeta] = Factory(dict)

    def of(self, kind: Kind) -> Mapping[ObjectKey, ClusterObject]:
        """Return the objects of *kind*, one of those in *objects*."""
        return self.objects.get(kind, _NONE)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of all objects, sorted."""
        return tuple(sorted(problem for some in self.problems_of.values() for problem in some))
