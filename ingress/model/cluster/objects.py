"""The cluster objects as this controller keeps them: small, immutable projections.

A projection holds what routing needs and nothing else (no ``resourceVersion``,
no ``managedFields``, no status), so two projections are equal exactly when a
change of the object cannot matter to what is served.  Values are kept as they were written;
whether they make sense is for ``ingress.translate`` to judge.

Those of route objects, and of what these are judged by, are with their readers
(``ingress.translate.readers``).

Sources: core ``v1`` (Service, Secret, ConfigMap, Node, Pod), ``discovery.k8s.io/v1`` (EndpointSlice).
"""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Protocol

from attrs import field

from ingress.model.cluster.locality import Hints
from ingress.model.cluster.many_ports import kept_ports
from ingress.model.cluster.object_meta import NO_META, ObjectMeta
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.text.packed_texts import PackedTexts, packed, unpacked

_HIGHEST_PORT = 65535


class Kind(str):
    """The kind of an object, by its Kubernetes name.  The same name is the same object.

    They are in the keys of most books, and a text hashes without a call.  Kinds of route objects
    are made by their readers (``ingress.translate.readers``); the others are here.
    """

    __slots__ = ()

    INGRESS: ClassVar["Kind"]
    INGRESS_CLASS: ClassVar["Kind"]
    SERVICE: ClassVar["Kind"]
    ENDPOINT_SLICE: ClassVar["Kind"]
    SECRET: ClassVar["Kind"]
    CONFIG_MAP: ClassVar["Kind"]
    NODE: ClassVar["Kind"]
    POD: ClassVar["Kind"]
    MANIFEST: ClassVar["Kind"]
    """A manifest file on disk; it carries problems only, never a value."""
    WATCH: ClassVar["Kind"]
    """The watch of a kind, named after it; it carries problems only, too."""
    PROCESS: ClassVar["Kind"]
    """A part of the controller itself; it carries problems only, too."""

    def __new__(cls, name: str) -> "Kind":
        kind = _KINDS.get(name)
        if kind is None:
            kind = _KINDS[name] = super().__new__(cls, name)
        return kind


_KINDS: dict[str, Kind] = {}

Kind.INGRESS = Kind("Ingress")
Kind.INGRESS_CLASS = Kind("IngressClass")
Kind.SERVICE = Kind("Service")
Kind.ENDPOINT_SLICE = Kind("EndpointSlice")
Kind.SECRET = Kind("Secret")
Kind.CONFIG_MAP = Kind("ConfigMap")
Kind.NODE = Kind("Node")
Kind.POD = Kind("Pod")
Kind.MANIFEST = Kind("Manifest")
Kind.WATCH = Kind("Watch")
Kind.PROCESS = Kind("Process")


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

    def problem(self, reason: Reason, message: str, field: str = "", elsewhere: str = "") -> Problem:
        """Return a problem of the object."""
        return Problem(self.kind, self.key.namespace, self.key.name, reason, message, field, elsewhere)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@frozen(weakref_slot=False, cache_hash=True)
class ServicePort:
    """One entry of ``spec.ports`` of a Service."""

    name: str
    number: int
    target_port: int | str | None = None
    protocol: str = "TCP"
    app_protocol: str = ""

    @property
    def words(self) -> frozenset[int | str | None]:
        """What a reference to it may say: its number, its name, or (to be told) its ``targetPort``."""
        return frozenset((self.number, self.name, self.target_port))

    @property
    def target_number(self) -> int | None:
        """The number that ``targetPort`` says; None where it says a name, or nothing."""
        target = self.target_port
        return target if isinstance(target, int) and 0 < target <= _HIGHEST_PORT else None

    def __str__(self) -> str:
        return f"{self.number} ({self.name})" if self.name else str(self.number)


# The types of converters may have no variables.
def _service_ports(ports: tuple[ServicePort, ...]) -> tuple[ServicePort, ...]:
    return kept_ports(ports)


@frozen(weakref_slot=False)
class Service:
    """A Kubernetes Service: its ports, and the addresses that stand before its pods."""

    key: ObjectKey
    type: str = "ClusterIP"
    cluster_ip: str = ""
    """First of ``spec.clusterIPs``; empty or ``None`` (the word) for a headless Service."""
    external_name: str = ""
    ports: tuple[ServicePort, ...] = field(default=(), converter=_service_ports)
    gateway: str = ""
    """The Gateway of its namespace that it goes with (``metadata.ownerReferences``); empty for none."""


@frozen(weakref_slot=False, cache_hash=True)
class SlicePort:
    """One entry of ``ports`` of an EndpointSlice; *number* None means "not stated"."""

    name: str
    number: int | None
    protocol: str = "TCP"

    @property
    def words(self) -> frozenset[int | str | None]:
        """What it is found by: its name."""
        return frozenset((self.name,))


def _slice_ports(ports: tuple[SlicePort, ...]) -> tuple[SlicePort, ...]:
    return kept_ports(ports)


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
    ports: tuple[SlicePort, ...] = field(default=(), converter=_slice_ports)
    _ready: PackedTexts = field(default=(), converter=packed)
    _draining: PackedTexts = field(default=(), converter=packed)
    _unready: PackedTexts = field(default=(), converter=packed)
    hints: tuple[Hints, ...] = ()
    """Those of each that is ready, in their order; nothing where none has any."""

    @property
    def ready(self) -> tuple[str, ...]:
        """Those which get requests."""
        return unpacked(self._ready)

    @property
    def draining(self) -> tuple[str, ...]:
        """Those which are not ready, but terminate and still serve."""
        return unpacked(self._draining)

    @property
    def unready(self) -> tuple[str, ...]:
        """Those that are neither ready nor draining."""
        return unpacked(self._unready)

    @property
    def are_all_ready(self) -> bool:
        """Whether there is no endpoint but those which are ready."""
        return not self._draining and not self._unready

    def named(self, service: ObjectKey) -> "EndpointSlice":
        """Return this one, whose Service has the key *service*; ``evolve`` takes a multiple of the time."""
        return EndpointSlice(
            self.key,
            service,
            self.address_type,
            self.ports,
            self._ready,
            self._draining,
            self._unready,
            self.hints,
        )


@frozen(weakref_slot=False)
class Node:
    """A Node: where it is, and its addresses."""

    key: ObjectKey
    zone: str = ""
    """Its label ``topology.kubernetes.io/zone``; empty for none."""
    external_ip: str = ""
    internal_ip: str = ""
    """The first of ``status.addresses`` of the types ExternalIP and InternalIP; empty for none, and where nothing but metadata is read."""


@frozen(weakref_slot=False)
class Pod:
    """A Pod, as far as it says where a controller runs."""

    key: ObjectKey
    node: str = ""
    """The Node that it is on; empty before it is on any."""
    labels: frozenset[tuple[str, str]] = frozenset()
    is_ready: bool = False
    """Whether it runs, its condition ``Ready`` holds, and it is not about to end."""


@frozen(weakref_slot=False)
class Secret:
    """A Secret.  Its content never shows in a repr, and so never in a log."""

    key: ObjectKey
    type: str
    content: Mapping[str, bytes] = field(repr=False)
    """Decoded values of the keys that somebody may need, as far as the Secret has them."""
    asked: frozenset[str] = field(default=frozenset({"tls.crt", "tls.key"}), eq=False, repr=False)
    """The keys that are known to be needed: only their absence means anything."""


@frozen(weakref_slot=False)
class ConfigMap:
    """A ConfigMap that somebody refers to."""

    key: ObjectKey
    content: Mapping[str, str] = field(repr=False)
    """Its ``data``, all of it, in the order of the names."""


class ClusterObject(Protocol):
    """The value of an object of any kind."""

    @property
    def key(self) -> ObjectKey:
        """Its namespace and name."""


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
