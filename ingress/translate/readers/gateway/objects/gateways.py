"""The values that are kept of GatewayClasses, Gateways and ListenerSets, as they were written.

Source: ``GatewayClass``, ``Gateway`` and ``ListenerSet`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Mapping
from typing import cast

from ingress.model.cluster.label_selectors import ANY_LABELS, LabelSelector
from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.translate.gateway_options import GatewayOptions
from ingress.translate.readers.gateway.objects.names import (
    GATEWAY,
    GATEWAY_CLASS,
    GROUP,
    LISTENER_SET,
    ObjectReference,
)


@frozen(weakref_slot=False)
class GatewayClass:
    """A GatewayClass: which controller it belongs to."""

    key: ObjectKey
    created: str = ""
    controller: str = ""
    parameters: ObjectReference | None = None
    """``spec.parametersRef``."""

    @property
    def owner(self) -> Owner:
        """What stands for it in what it asks for."""
        return Owner(GATEWAY_CLASS, self.key, self.created)


@frozen(weakref_slot=False)
class AllowedNamespaces:
    """``namespaces`` of ``allowedRoutes`` or of ``allowedListeners``."""

    scope: str
    """``from``: ``All``, ``Same``, ``Selector`` or ``None``, or whatever else was written."""
    selector: LabelSelector = ANY_LABELS


@frozen(weakref_slot=False)
class RouteKindName:
    """An entry of ``allowedRoutes.kinds``."""

    group: str
    kind: str


@frozen(weakref_slot=False)
class ListenerTls:
    """``tls`` of a listener."""

    mode: str = "Terminate"
    certificates: tuple[ObjectReference, ...] = ()
    """``certificateRefs``, in order."""
    options: tuple[tuple[str, str], ...] = ()
    """Each controller has its own ones, and this one none."""


@frozen(weakref_slot=False)
class GatewayListener:
    """A listener of a Gateway, or an entry of a ListenerSet."""

    name: str
    port: int
    protocol: str
    hostname: str = ""
    """As written; empty for all hosts."""
    tls: ListenerTls | None = None
    namespaces: AllowedNamespaces = AllowedNamespaces("Same")
    """Whose routes it takes (``allowedRoutes.namespaces``)."""
    kinds: tuple[RouteKindName, ...] = ()
    """``allowedRoutes.kinds``; none means those that its protocol can carry."""
    field: str = ""
    """Where it stands in its object: ``spec.listeners[0]``."""


@frozen(weakref_slot=False)
class FrontendValidation:
    """What is asked of clients: ``validation`` of ``spec.tls.frontend.default`` or of an entry of ``perPort``."""

    authorities: tuple[ObjectReference, ...]
    """``caCertificateRefs``."""
    mode: str
    """``AllowValidOnly`` or ``AllowInsecureFallback``, or whatever else was written."""
    field: str


@frozen(weakref_slot=False)
class GatewayAddress:
    """An entry of ``spec.addresses``; an empty *value* asks for any address of its type."""

    type: str
    value: str


@frozen(weakref_slot=False)
class Gateway:
    """A Gateway: its class, its listeners, and where it is to be reached."""

    key: ObjectKey
    created: str = ""
    class_name: str = ""
    listeners: tuple[GatewayListener, ...] = ()
    addresses: tuple[GatewayAddress, ...] = ()
    given: tuple[str, ...] = ()
    """The values of ``status.addresses``, as far as they are IP addresses: an address that was given once is kept."""
    infrastructure: ObjectReference | None = None
    """``spec.infrastructure.parametersRef``."""
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    """Those of ``spec.infrastructure``, sorted."""
    listener_sets: AllowedNamespaces = AllowedNamespaces("None")
    """Whose ListenerSets may add listeners (``spec.allowedListeners.namespaces``)."""
    backend_certificate: ObjectReference | None = None
    """``spec.tls.backend.clientCertificateRef``."""
    frontend: FrontendValidation | None = None
    """``spec.tls.frontend.default.validation``."""
    frontend_by_port: tuple[tuple[int, FrontendValidation | None], ...] = ()
    """``spec.tls.frontend.perPort``."""

    @property
    def owner(self) -> Owner:
        """What stands for it in what it asks for."""
        return Owner(GATEWAY, self.key, self.created)

    @property
    def class_key(self) -> ObjectKey:
        """The key of its GatewayClass."""
        return ObjectKey("", self.class_name)


@frozen(weakref_slot=False)
class ListenerSet:
    """A ListenerSet: further listeners of a Gateway."""

    key: ObjectKey
    created: str = ""
    parent: ObjectReference | None = None
    """``spec.parentRef``."""
    listeners: tuple[GatewayListener, ...] = ()

    @property
    def owner(self) -> Owner:
        """What stands for it in what it asks for."""
        return Owner(LISTENER_SET, self.key, self.created)

    @property
    def gateway_key(self) -> ObjectKey | None:
        """The key of the Gateway that it names; None where it names something else."""
        parent = self.parent
        if parent is None or parent.group != GROUP or parent.kind != GATEWAY:
            return None
        return parent.key(self.key)


def is_our_gateway(value: Gateway, state: ClusterState, options: GatewayOptions) -> bool:
    """Whether *value* is a Gateway of ours, which its class decides, whatever else there is."""
    found = gateway_classes_of(state).get(value.class_key)
    return options.is_served and found is not None and found.controller == options.controller_name


def gateway_classes_of(state: ClusterState) -> Mapping[ObjectKey, GatewayClass]:
    """Return the GatewayClasses of *state*."""
    return cast("Mapping[ObjectKey, GatewayClass]", state.of(GATEWAY_CLASS))


def gateways_of(state: ClusterState) -> Mapping[ObjectKey, Gateway]:
    """Return the Gateways of *state*."""
    return cast("Mapping[ObjectKey, Gateway]", state.of(GATEWAY))


def listener_sets_of(state: ClusterState) -> Mapping[ObjectKey, ListenerSet]:
    """Return the ListenerSets of *state*."""
    return cast("Mapping[ObjectKey, ListenerSet]", state.of(LISTENER_SET))
