"""The cluster objects as this controller keeps them: small, immutable projections.

A projection holds what routing needs and nothing else (no ``resourceVersion``,
no ``managedFields``, no status), so two projections are equal exactly when a
change of the object cannot matter to what is served.  Values are kept as they were written;
whether they make sense is for ``ingress.translate`` to judge.

Sources: ``networking.k8s.io/v1`` (Ingress, IngressClass), core ``v1`` (Service,
Secret), ``discovery.k8s.io/v1`` (EndpointSlice).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from attrs import Factory, field, frozen

from ingress.model.object_meta import NO_META, ObjectMeta
from ingress.model.problems import Problem, Reason


class Kind(StrEnum):
    """The kinds of objects that are read, by their Kubernetes names.

    They are in the keys of most caches, and the hash that enumerations have is a function in Python.
    """

    __hash__ = str.__hash__

    INGRESS = "Ingress"
    INGRESS_CLASS = "IngressClass"
    SERVICE = "Service"
    ENDPOINT_SLICE = "EndpointSlice"
    SECRET = "Secret"
    MANIFEST = "Manifest"
    """A manifest file on disk; it carries problems only, never a value."""
    WATCH = "Watch"
    """The watch of a kind, named after it; it carries problems only, too."""


class ObjectKey(NamedTuple):
    """Namespace and name of an object; the namespace of cluster-scoped kinds is empty.

    A tuple, because tens of thousands are kept and looked up: it hashes and compares in
    half the time, and takes half the memory.
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Owner(NamedTuple):
    """The route object that asks for something: its kind, its key, and its age.

    It stands for the object wherever only its name and its age matter: who comes first, whose a
    host is, whom a problem is told, whose requests are counted.
    An object that was deleted and made anew is another owner, since its age is another.
    """

    kind: Kind
    key: ObjectKey
    created: str = ""
    """``metadata.creationTimestamp``, RFC 3339 in UTC; empty when absent.  Sorts by age."""

    @property
    def id(self) -> "ObjectId":
        """What the object is kept under."""
        return self.kind, self.key

    def problem(self, reason: Reason, message: str, field: str = "") -> Problem:
        """Return a problem of the object."""
        return Problem(self.kind.value, self.key.namespace, self.key.name, reason, message, field)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


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


@frozen(weakref_slot=False, cache_hash=True)
class ServicePort:
    """One entry of ``spec.ports`` of a Service."""

    name: str
    number: int
    target_port: int | str | None = None
    protocol: str = "TCP"
    app_protocol: str = ""


@frozen(weakref_slot=False)
class Service:
    """A Kubernetes Service: its ports, and the addresses that stand before its pods."""

    key: ObjectKey
    type: str = "ClusterIP"
    cluster_ip: str = ""
    """First of ``spec.clusterIPs``; empty or ``None`` (the word) for a headless Service."""
    external_name: str = ""
    ports: tuple[ServicePort, ...] = ()


@frozen(weakref_slot=False, cache_hash=True)
class SlicePort:
    """One entry of ``ports`` of an EndpointSlice; *number* None means "not stated"."""

    name: str
    number: int | None
    protocol: str = "TCP"


@frozen(weakref_slot=False)
class EndpointSlice:
    """An EndpointSlice of the Service that its ``kubernetes.io/service-name`` label names.

    Each of its endpoints is here as its first address, since all addresses of one are the same pod.
    The API's meaning of unset conditions is applied: ``ready: null`` means ready; ``serving: null``
    follows ready; ``terminating: null`` means not terminating.
    """

    key: ObjectKey
    service: ObjectKey
    address_type: str = "IPv4"
    ports: tuple[SlicePort, ...] = ()
    ready: tuple[str, ...] = ()
    draining: tuple[str, ...] = ()
    """Those which are not ready, but terminate and still serve."""
    unready: tuple[str, ...] = ()
    """All others."""


@frozen(weakref_slot=False)
class Secret:
    """A Secret.  Its content never shows in a repr, and so never in a log."""

    key: ObjectKey
    type: str
    content: Mapping[str, bytes] = field(repr=False)
    """Decoded values of the keys that somebody may need, as far as the Secret has them."""
    asked: frozenset[str] = field(default=frozenset({"tls.crt", "tls.key"}), eq=False, repr=False)
    """The keys that are known to be needed: only their absence means anything."""


ClusterObject = Ingress | IngressClass | Service | EndpointSlice | Secret
ObjectId = tuple[Kind, ObjectKey]


@frozen(weakref_slot=False)
class Projection:
    """What reading one object gave: its value, or None when it cannot be used, and why.

    The *meta* makes no difference between projections: it never matters to routing.
    """

    value: ClusterObject | None
    problems: tuple[Problem, ...] = ()
    meta: ObjectMeta = field(default=NO_META, eq=False)


Batch = Mapping[ObjectId, Projection | None]
"""Changes handed from a source to the store; None means that the object is gone."""
