"""``--disable-svc-external-name`` at every place where a Service may be named."""

from collections.abc import Mapping
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.port_services import PortService, PortServices
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen
from ingress.model.upstream.backends import BackendReference
from ingress.translate.options import ANNOTATIONS_PREFIX
from ingress.translate.snapshot import Snapshot
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    INFRA,
    GatewayCluster,
    gateway,
    listener,
    route,
    rule,
    service,
)
from tests.translate.readers.gateway.routes.test_stream_routes import tcp, tls

OUT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "out", "namespace": INFRA},
    "spec": {"type": "ExternalName", "externalName": "a.example.net", "ports": [{"port": 8080}]},
}
GATEWAY = gateway("main", listener("http"), tls("tls"), tcp("tcp"))
AT_A_RULE = "spec.rules[0].http.paths[0].backend.service.name"
AT_A_ROUTE = "spec.rules[0].backendRefs[0].name"


def ingress(name: str, to: str, default: str = "", **annotations: str) -> dict[str, Any]:
    """Return an Ingress with one path that leads *to* a Service, and perhaps a default backend."""

    def backend(service: str) -> dict[str, Any]:
        return {"service": {"name": service, "port": {"number": 8080}}}

    paths = [{"path": "/", "pathType": "Prefix", "backend": backend(to)}]
    spec: dict[str, Any] = {
        "ingressClassName": "nginx",
        "rules": [{"host": "a.test", "http": {"paths": paths}}],
    }
    if default:
        spec["defaultBackend"] = backend(default)
    named = {f"{ANNOTATIONS_PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": INFRA, "annotations": named},
        "spec": spec,
    }


@frozen
class Place:
    """Objects that name the Service ``out``, and where that stands."""

    field: str
    objects: tuple[dict[str, Any], ...] = ()
    kind: str = "Ingress"
    options: Mapping[str, Any] = {}


MIRROR = {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "out", "port": 8080}}}
TCP_SERVICES = PortServices(
    ObjectKey(INFRA, "tcp"), (PortService(9000, ObjectKey(INFRA, "out"), 8080, 'data["9000"]'),)
)
PLACES: Mapping[str, Place] = {
    "path": Place(AT_A_RULE, (ingress("one", "out"),)),
    "path by cluster IP": Place(AT_A_RULE, (ingress("one", "out", service_upstream="true"),)),
    "default backend": Place("spec.defaultBackend.service.name", (ingress("one", "inside", "out"),)),
    "default backend for errors": Place(
        f"metadata.annotations[{ANNOTATIONS_PREFIX}/default-backend]",
        (ingress("one", "inside", custom_http_errors="503", default_backend="out"),),
    ),
    "canary": Place(
        AT_A_RULE, (ingress("one", "inside"), ingress("two", "out", canary="true", canary_weight="50"))
    ),
    "passthrough": Place(
        AT_A_RULE, (ingress("one", "out", ssl_passthrough="true"),), options={"ssl_passthrough": True}
    ),
    "operator's default backend": Place(
        "", kind="Service", options={"default_backend_service": BackendReference(INFRA, "out", 8080)}
    ),
    "TCP service": Place('data["9000"]', kind="ConfigMap", options={"tcp_services": TCP_SERVICES}),
    "HTTPRoute": Place(AT_A_ROUTE, (GATEWAY, route("r", rule("out"))), "HTTPRoute"),
    "mirror": Place(
        "spec.rules[0].filters[0].requestMirror.backendRef.name",
        (GATEWAY, route("r", rule("inside", filters=[MIRROR]))),
        "HTTPRoute",
    ),
    "GRPCRoute": Place(AT_A_ROUTE, (GATEWAY, route("r", rule("out"), kind="GRPCRoute")), "GRPCRoute"),
    "TLSRoute": Place(
        AT_A_ROUTE, (GATEWAY, route("r", rule("out"), hostnames=["a.test"], kind="TLSRoute")), "TLSRoute"
    ),
    "TCPRoute": Place(AT_A_ROUTE, (GATEWAY, route("r", rule("out"), kind="TCPRoute")), "TCPRoute"),
}


class EverywhereTests(SynchronousTestCase):
    """Nothing leads out of the cluster, however it is asked for."""

    def served(self, place: Place, **options: Any) -> Snapshot:
        """Translate *place*, in both ways."""
        cluster = GatewayCluster(allow_external_name=True, **place.options, **options)
        cluster.translation.mark_everything(cluster.store.state())
        return cluster.write("all", GATEWAY_CLASS, service("inside"), OUT, *place.objects)

    def test_places(self) -> None:
        """A Service of this type is connected to where it is allowed, and nowhere with the option, which whoever named it is told."""
        for name, place in PLACES.items():
            allowed = self.served(place)
            self.assertEqual(self.names(allowed), {"a.example.net"}, name)
            self.assertNotIn(Reason.EXTERNAL_NAME_FORBIDDEN, {one.reason for one in allowed.problems}, name)
            forbidden = self.served(place, disable_external_name=True)
            self.assertEqual(self.names(forbidden), set(), name)
            told = [one for one in forbidden.problems if one.reason is Reason.EXTERNAL_NAME_FORBIDDEN]
            self.assertEqual([(one.kind, one.field) for one in told], [(place.kind, place.field)], name)
            self.assertIn("which --disable-svc-external-name forbids", told[0].message, name)

    def names(self, snapshot: Snapshot) -> set[str]:
        """Return what the backends of the Service are connected to."""
        return {
            endpoint.address
            for reference, state in snapshot.backends.items()
            if reference.name == "out"
            for endpoint in state.endpoints
        }

    def test_type_changes(self) -> None:
        """A Service that becomes one of this type has nothing sent any more, and one that ceases to be has again."""
        cluster = GatewayCluster(allow_external_name=True, disable_external_name=True)
        cluster.write("ingress", ingress("one", "out"))
        for objects, expected in (
            ((service("out"),), {"10.1.0.1"}),
            ((OUT,), set()),
            ((service("out"),), {"10.1.0.1"}),
        ):
            self.assertEqual(self.names(cluster.write("service", *objects)), expected)
