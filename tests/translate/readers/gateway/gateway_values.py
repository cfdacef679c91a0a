"""Gateways, their listeners and what decides about them, in a few words."""

from collections.abc import Iterable

from attrs import evolve

from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.network.listeners import Listener
from ingress.translate.gateway_options import CONTROLLER_NAME, GatewayOptions
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.gateways import (
    AllowedNamespaces,
    Gateway,
    GatewayAddress,
    GatewayClass,
    GatewayListener,
    ListenerSet,
    ListenerTls,
    RouteKindName,
)
from ingress.translate.readers.gateway.objects.grants import Namespace, ReferenceGrant
from ingress.translate.readers.gateway.objects.names import (
    GATEWAY,
    GATEWAY_CLASS,
    GROUP,
    LISTENER_SET,
    NAMESPACE,
    REFERENCE_GRANT,
    ObjectReference,
)
from ingress.translate.readers.gateway.objects.routes import ParentReference
from ingress.translate.readers.gateway.topology.topology import Topology
from ingress.translate.readers.gateway.topology.topology_making import topology_of

ANY = AllowedNamespaces("All")
CLASS = GatewayClass(ObjectKey("", "ours"), controller=CONTROLLER_NAME)
CERTIFICATE = ListenerTls(certificates=(ObjectReference("", "Secret", "", "certificate"),))
_KINDS: dict[type, Kind] = {
    GatewayClass: GATEWAY_CLASS,
    Gateway: GATEWAY,
    ListenerSet: LISTENER_SET,
    Namespace: NAMESPACE,
    ReferenceGrant: REFERENCE_GRANT,
}


def listener(
    name: str = "http",
    port: int = 80,
    protocol: str = "HTTP",
    hostname: str = "",
    *,
    tls: ListenerTls | None = None,
    namespaces: AllowedNamespaces = ANY,
    kinds: Iterable[str] = (),
) -> GatewayListener:
    """A listener that takes routes of all namespaces."""
    if tls is None and protocol == "HTTPS":
        tls = CERTIFICATE
    names = tuple(RouteKindName(GROUP, one) for one in kinds)
    return GatewayListener(name, port, protocol, hostname, tls, namespaces, names)


def _placed(listeners: Iterable[GatewayListener]) -> tuple[GatewayListener, ...]:
    return tuple(evolve(one, field=f"spec.listeners[{at}]") for at, one in enumerate(listeners))


def gateway(
    name: str,
    *listeners: GatewayListener,
    namespace: str = "infra",
    created: str = "",
    class_name: str = "ours",
    addresses: Iterable[GatewayAddress] = (),
    given: Iterable[str] = (),
    infrastructure: ObjectReference | None = None,
    listener_sets: AllowedNamespaces | None = None,
) -> Gateway:
    """A Gateway; without *listeners* it has one for HTTP on port 80."""
    return Gateway(
        ObjectKey(namespace, name),
        created,
        class_name,
        _placed(listeners or (listener(),)),
        tuple(addresses),
        tuple(given),
        infrastructure,
        listener_sets=listener_sets or AllowedNamespaces("None"),
    )


def listener_set(
    name: str, parent: str, *listeners: GatewayListener, namespace: str = "infra", created: str = ""
) -> ListenerSet:
    """A ListenerSet of the Gateway *parent* in ``infra``."""
    reference = ObjectReference(GROUP, GATEWAY, "infra", parent)
    return ListenerSet(ObjectKey(namespace, name), created, reference, _placed(listeners))


def parent(name: str, section: str = "", port: int = 0, kind: str = GATEWAY) -> ParentReference:
    """A reference of a route to an object in ``infra``."""
    return ParentReference(ObjectReference(GROUP, kind, "infra", name), section, port)


def selecting(*requirements: LabelRequirement) -> AllowedNamespaces:
    """Namespaces by their labels."""
    return AllowedNamespaces("Selector", LabelSelector(requirements))


def state_of(*values: ClusterObject) -> ClusterState:
    """A state of *values*, and of the GatewayClass ``ours``."""
    objects: dict[Kind, dict[ObjectKey, ClusterObject]] = {kind: {} for kind in _KINDS.values()}
    for value in (CLASS, *values):
        objects[_KINDS[type(value)]][value.key] = value
    return ClusterState(objects)


def options_of(
    pool: Iterable[str] = (),
    ports: Iterable[int] = (),
    listeners: Iterable[Listener] = (),
    published: Iterable[str] = (),
) -> TranslateOptions:
    """Options with the addresses of *pool* for Gateways, and with *listeners* of the command line."""
    gateway_options = GatewayOptions(
        addresses=tuple(pool), ports=tuple(ports), own_ports=(10254,), published=tuple(published)
    )
    return TranslateOptions(gateway=gateway_options, listeners=tuple(listeners))


def topology(*values: ClusterObject, options: TranslateOptions | None = None) -> Topology:
    """The topology of *values* and of the GatewayClass ``ours``."""
    return topology_of(state_of(*values), options or options_of())
