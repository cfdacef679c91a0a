"""The values that are kept of Ingresses and IngressClasses, as they were written.

Source: ``networking.k8s.io/v1``.
"""

from collections.abc import Mapping
from typing import cast

from attrs import Factory

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
"""How Ingresses named their class before there was a field for it."""


@frozen(weakref_slot=False, cache_hash=True)
class ServicePortReference:
    """``service.port`` of an Ingress backend: exactly one of *name* and *number* is set.

    Both empty means that the object set neither, which ``translate`` reports.
    """

    name: str = ""
    number: int = 0


@frozen(weakref_slot=False)
class IngressBackend:
    """``backend`` of a path, or ``spec.defaultBackend``: a Service port or a resource."""

    service: str = ""
    port: ServicePortReference = ServicePortReference()
    resource_kind: str = ""
    """``KIND.APIGROUP`` of a resource backend, else empty."""
    resource_name: str = ""


@frozen(weakref_slot=False)
class IngressPath:
    """One entry of ``http.paths``; *path* and *path_type* as written, empty when absent."""

    path: str
    path_type: str
    backend: IngressBackend | None


@frozen(weakref_slot=False)
class IngressRule:
    """One entry of ``spec.rules``; *paths* is None for a rule without ``http``."""

    host: str
    paths: tuple[IngressPath, ...] | None


@frozen(weakref_slot=False)
class IngressTLS:
    """One entry of ``spec.tls``."""

    hosts: tuple[str, ...]
    secret_name: str


@frozen(weakref_slot=False)
class Ingress:
    """An Ingress: rules, certificates by name, default backend, annotations."""

    key: ObjectKey
    created: str = ""
    """``metadata.creationTimestamp``, RFC 3339 in UTC; empty when absent.  Sorts by age."""
    class_name: str | None = None
    """``spec.ingressClassName``; None when absent."""
    annotations: Mapping[str, str] = Factory(dict)
    """Only ``kubernetes.io/ingress.class`` and names below the annotation prefix."""
    default_backend: IngressBackend | None = None
    rules: tuple[IngressRule, ...] = ()
    tls: tuple[IngressTLS, ...] = ()
    issued_by: str = ""
    """The annotation by which cert-manager makes the Secrets of ``spec.tls``; empty where none asks for that."""
    unreadable: tuple[str, ...] = ()
    """The names of those *annotations* that are not kept, since they are too long, or no text."""

    @property
    def owner(self) -> Owner:
        """What stands for it in what it asks for."""
        return Owner(Kind.INGRESS, self.key, self.created)


@frozen(weakref_slot=False)
class IngressClass:
    """An IngressClass: which controller it belongs to, and whether it is the default."""

    key: ObjectKey
    controller: str = ""
    is_default: bool = False


def ingresses_of(state: ClusterState) -> Mapping[ObjectKey, Ingress]:
    """Return the Ingresses of *state*."""
    return cast("Mapping[ObjectKey, Ingress]", state.of(Kind.INGRESS))


def classes_of(state: ClusterState) -> Mapping[ObjectKey, IngressClass]:
    """Return the IngressClasses of *state*."""
    return cast("Mapping[ObjectKey, IngressClass]", state.of(Kind.INGRESS_CLASS))
