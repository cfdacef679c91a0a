"""The rows of the kinds of the Gateway API: how each is read, and by whom."""

from typing import Final

from ingress.model.cluster.objects import Kind
from ingress.translate.readers.gateway.gateways.gateway_class_reader import GatewayClassReader
from ingress.translate.readers.gateway.gateways.gateway_reader import GatewayReader
from ingress.translate.readers.gateway.gateways.listener_set_reader import ListenerSetReader
from ingress.translate.readers.gateway.objects.names import (
    BACKEND_TLS_POLICY,
    DEFINITION,
    GATEWAY,
    GATEWAY_CLASS,
    GROUP,
    GRPC_ROUTE,
    HTTP_ROUTE,
    LISTENER_SET,
    NAMESPACE,
    REFERENCE_GRANT,
    TCP_ROUTE,
    TLS_ROUTE,
    UDP_ROUTE,
)
from ingress.translate.readers.gateway.policy_reader import PolicyReader
from ingress.translate.readers.gateway.projection.definitions import project_definition
from ingress.translate.readers.gateway.projection.gateways import (
    project_gateway,
    project_gateway_class,
    project_listener_set,
)
from ingress.translate.readers.gateway.projection.grants import project_namespace, project_reference_grant
from ingress.translate.readers.gateway.projection.policies import project_backend_tls_policy
from ingress.translate.readers.gateway.projection.routes import (
    project_grpc_route,
    project_http_route,
    project_tcp_route,
    project_tls_route,
    project_udp_route,
)
from ingress.translate.readers.gateway.routes.http_route_reader import grpc_route_reader, http_route_reader
from ingress.translate.readers.gateway.routes.stream_route_reader import (
    tcp_route_reader,
    tls_route_reader,
    udp_route_reader,
)
from ingress.translate.readers.gateway.statuses.reported import (
    REPORTED_CLASSES,
    REPORTED_GATEWAYS,
    REPORTED_GRPC_ROUTES,
    REPORTED_HTTP_ROUTES,
    REPORTED_POLICIES,
    REPORTED_SETS,
    REPORTED_TCP_ROUTES,
    REPORTED_TLS_ROUTES,
    REPORTED_UDP_ROUTES,
)
from ingress.translate.readers.gateway.topology.topology_making import prepare_topology
from ingress.translate.readers.reader import KindRead, Projector, RouteKind
from ingress.translate.reports import ReportedKind

VERSION: Final = "v1"


def _read(
    kind: Kind,
    plural: str,
    project: Projector,
    *old_versions: str,
    namespaced: bool = True,
    reported: ReportedKind | None = None,
) -> KindRead:
    return KindRead(
        kind,
        GROUP,
        VERSION,
        plural,
        project,
        namespaced=namespaced,
        optional=True,
        old_versions=tuple(f"{GROUP}/{version}" for version in old_versions),
        definition=f"{plural}.{GROUP}",
        reported=reported,
    )


GATEWAY_CLASSES: Final = _read(
    GATEWAY_CLASS,
    "gatewayclasses",
    project_gateway_class,
    "v1beta1",
    namespaced=False,
    reported=REPORTED_CLASSES,
)
GATEWAYS: Final = _read(GATEWAY, "gateways", project_gateway, "v1beta1", reported=REPORTED_GATEWAYS)
LISTENER_SETS: Final = _read(LISTENER_SET, "listenersets", project_listener_set, reported=REPORTED_SETS)
HTTP_ROUTES: Final = _read(
    HTTP_ROUTE, "httproutes", project_http_route, "v1beta1", reported=REPORTED_HTTP_ROUTES
)
GRPC_ROUTES: Final = _read(
    GRPC_ROUTE, "grpcroutes", project_grpc_route, "v1alpha2", reported=REPORTED_GRPC_ROUTES
)
TLS_ROUTES: Final = _read(
    TLS_ROUTE, "tlsroutes", project_tls_route, "v1alpha3", "v1alpha2", reported=REPORTED_TLS_ROUTES
)
TCP_ROUTES: Final = _read(TCP_ROUTE, "tcproutes", project_tcp_route, "v1alpha2", reported=REPORTED_TCP_ROUTES)
UDP_ROUTES: Final = _read(UDP_ROUTE, "udproutes", project_udp_route, "v1alpha2", reported=REPORTED_UDP_ROUTES)
GRANTS: Final = _read(REFERENCE_GRANT, "referencegrants", project_reference_grant, "v1beta1", "v1alpha2")
POLICIES: Final = _read(
    BACKEND_TLS_POLICY,
    "backendtlspolicies",
    project_backend_tls_policy,
    "v1alpha3",
    reported=REPORTED_POLICIES,
)
NAMESPACES: Final = KindRead(
    NAMESPACE,
    "",
    "v1",
    "namespaces",
    project_namespace,
    namespaced=False,
    optional=True,
    definition=GATEWAYS.definition,
)
"""What their labels say is asked for by Gateways alone."""
DEFINITIONS: Final = KindRead(
    DEFINITION,
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    project_definition,
    namespaced=False,
    optional=True,
    metadata_only=True,
)

_TOPOLOGY: Final = (GATEWAY_CLASSES, GATEWAYS, LISTENER_SETS, GRANTS, NAMESPACES)
"""The kinds that say which listeners there are, and who may use them."""

GATEWAY_API: Final = (
    RouteKind(GATEWAY_CLASSES, GatewayClassReader, (DEFINITIONS,)),
    RouteKind(GATEWAYS, GatewayReader, _TOPOLOGY, prepare_topology),
    RouteKind(LISTENER_SETS, ListenerSetReader, _TOPOLOGY),
    RouteKind(HTTP_ROUTES, http_route_reader, _TOPOLOGY),
    RouteKind(GRPC_ROUTES, grpc_route_reader, _TOPOLOGY),
    RouteKind(TLS_ROUTES, tls_route_reader, _TOPOLOGY),
    RouteKind(TCP_ROUTES, tcp_route_reader, _TOPOLOGY),
    RouteKind(UDP_ROUTES, udp_route_reader, _TOPOLOGY),
    RouteKind(POLICIES, PolicyReader, (GATEWAY_CLASSES,)),
)
