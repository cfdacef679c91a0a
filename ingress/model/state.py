"""The cluster state: a read-only view of the store, as ``translate`` gets it."""

from collections.abc import Mapping

from attrs import Factory, frozen

from ingress.model.objects import EndpointSlice, Ingress, IngressClass, ObjectKey, Secret, Service
from ingress.model.problems import Problem


@frozen
class ClusterState:
    """All objects known, by key.

    *slices* groups EndpointSlices by the Service they belong to.  *problems* are
    those that reading the objects brought up; translation adds its own.
    The mappings are the store's own, valid until the reactor's next turn.
    """

    ingresses: Mapping[ObjectKey, Ingress] = Factory(dict)
    ingress_classes: Mapping[str, IngressClass] = Factory(dict)
    services: Mapping[ObjectKey, Service] = Factory(dict)
    slices: Mapping[ObjectKey, tuple[EndpointSlice, ...]] = Factory(dict)
    secrets: Mapping[ObjectKey, Secret] = Factory(dict)
    problems: tuple[Problem, ...] = ()
