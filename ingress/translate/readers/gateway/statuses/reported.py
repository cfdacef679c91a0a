"""The rows of the kinds of the Gateway API whose statuses we write."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.reporting.reports import StatusDocument
from ingress.model.reporting.writes import KindWrite, StatusField, StatusShape
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.gateways import gateway_classes_of, listener_sets_of
from ingress.translate.readers.gateway.objects.names import (
    BACKEND_TLS_POLICY,
    GATEWAY,
    GATEWAY_CLASS,
    GROUP,
    GRPC_ROUTE,
    HTTP_ROUTE,
    LISTENER_SET,
    TCP_ROUTE,
    TLS_ROUTE,
    UDP_ROUTE,
)
from ingress.translate.readers.gateway.statuses.gateway_classes import (
    GATEWAY_CLASS_SHAPE,
    gateway_class_document,
)
from ingress.translate.readers.gateway.statuses.gateways import GATEWAY_SHAPE, gateway_document
from ingress.translate.readers.gateway.statuses.listener_sets import LISTENER_SET_SHAPE, listener_set_document
from ingress.translate.readers.gateway.statuses.policies import POLICY_SHAPE, policy_document, targeting
from ingress.translate.readers.gateway.statuses.routes import ROUTE_SHAPE, route_document
from ingress.translate.readers.gateway.topology.topology_making import last_topology
from ingress.translate.reports import ReportedKind, ReportFacts

_IsOurs = Callable[[ObjectKey, ClusterState, TranslateOptions], bool | None]


def _reported(
    kind: Kind,
    plural: str,
    resource: str,
    shape: StatusShape,
    is_ours: _IsOurs,
    document: Callable[[ReportFacts], StatusDocument],
    looks_with: Mapping[Kind, Callable[[ObjectKey, ClusterState], Iterable[ObjectKey]]] = MappingProxyType(
        {}
    ),
) -> ReportedKind:
    return ReportedKind(
        kind,
        plural,
        "nobody sees what became of them",
        KindWrite(GROUP, "v1", resource, ("patch",), "status"),
        StatusField.DOCUMENT,
        keys=lambda state: state.of(kind),
        is_ours=is_ours,
        shape=shape,
        document=document,
        looks_with=looks_with,
    )


def _is_our_class(key: ObjectKey, state: ClusterState, options: TranslateOptions) -> bool | None:
    found = gateway_classes_of(state).get(key)
    if found is None:
        return None
    return options.gateway.is_served and found.controller == options.gateway.controller_name


def _is_our_gateway(key: ObjectKey, state: ClusterState, options: TranslateOptions) -> bool | None:
    return key in last_topology(state, options).gateways if key in state.of(GATEWAY) else None


def _is_our_set(key: ObjectKey, state: ClusterState, options: TranslateOptions) -> bool | None:
    return key in last_topology(state, options).listener_sets if key in state.of(LISTENER_SET) else None


def _gateway_of(key: ObjectKey, state: ClusterState) -> tuple[ObjectKey, ...]:
    """Return the Gateway that counts a ListenerSet."""
    found = listener_sets_of(state).get(key)
    return () if found is None or found.parent is None else (found.parent.key(key),)


def _is_there(
    key: ObjectKey, state: ClusterState, options: TranslateOptions, kind: Kind = BACKEND_TLS_POLICY
) -> bool | None:
    """Whether statuses of *kind* may have entries of ours: all may, and most have none of others."""
    return options.gateway.is_served if key in state.of(kind) else None


def _of_routes(kind: Kind, plural: str, resource: str) -> ReportedKind:
    """Return the row of a kind of routes."""
    return _reported(
        kind, plural, resource, ROUTE_SHAPE, partial(_is_there, kind=kind), partial(route_document, kind)
    )


REPORTED_CLASSES: Final = _reported(
    GATEWAY_CLASS,
    "GatewayClasses",
    "gatewayclasses",
    GATEWAY_CLASS_SHAPE,
    _is_our_class,
    gateway_class_document,
)
REPORTED_GATEWAYS: Final = _reported(
    GATEWAY,
    "Gateways",
    "gateways",
    GATEWAY_SHAPE,
    _is_our_gateway,
    gateway_document,
    {LISTENER_SET: _gateway_of},
)
REPORTED_SETS: Final = _reported(
    LISTENER_SET,
    "ListenerSets",
    "listenersets",
    LISTENER_SET_SHAPE,
    _is_our_set,
    listener_set_document,
)
REPORTED_POLICIES: Final = _reported(
    BACKEND_TLS_POLICY,
    "BackendTLSPolicies",
    "backendtlspolicies",
    POLICY_SHAPE,
    _is_there,
    policy_document,
    {Kind.SERVICE: targeting},
)
REPORTED_HTTP_ROUTES: Final = _of_routes(HTTP_ROUTE, "HTTPRoutes", "httproutes")
REPORTED_GRPC_ROUTES: Final = _of_routes(GRPC_ROUTE, "GRPCRoutes", "grpcroutes")
REPORTED_TLS_ROUTES: Final = _of_routes(TLS_ROUTE, "TLSRoutes", "tlsroutes")
REPORTED_TCP_ROUTES: Final = _of_routes(TCP_ROUTE, "TCPRoutes", "tcproutes")
REPORTED_UDP_ROUTES: Final = _of_routes(UDP_ROUTE, "UDPRoutes", "udproutes")
