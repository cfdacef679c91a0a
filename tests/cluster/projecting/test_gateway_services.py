"""Tests for ``ingress.cluster.projecting.gateway_services``."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.projecting.gateway_services import applied_service, owning_gateway
from ingress.model.cluster.gateway_services import SERVICES_WRITER, GatewayService, GatewayServicePort

OWNER = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "name": "edge", "uid": "u"}
PORTS: dict[str, Any] = {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}}}
FIELDS: dict[str, Any] = {
    "f:metadata": {
        "f:annotations": {"f:cost": {}},
        "f:labels": {"f:team": {}},
        "f:ownerReferences": {'k:{"uid":"u"}': {}},
    },
    "f:spec": {"f:clusterIP": {}, "f:type": {}, **PORTS},
}


def service(fields: object = FIELDS, writer: str = SERVICES_WRITER) -> dict[str, Any]:
    """A Service as an API server shows it."""
    entry = {"manager": writer, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields}
    return {
        "metadata": {
            "labels": {"team": "web", "theirs": "1"},
            "annotations": {"cost": "7"},
            "ownerReferences": [OWNER],
            "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {}}, entry],
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "ports": [{"name": "port-80", "port": 80, "protocol": "TCP"}, {"name": "theirs", "port": 81}],
        },
    }


def applied(one: dict[str, Any]) -> GatewayService | None:
    return applied_service(one, one["metadata"])


class AppliedTests(SynchronousTestCase):
    """What of a Service is as we applied it."""

    def test_ours_alone(self) -> None:
        """What others wrote into it is left out."""
        expected = GatewayService(
            (("team", "web"),), (("cost", "7"),), (GatewayServicePort("port-80", 80),), ("u",)
        )
        self.assertEqual(applied(service()), expected)

    def test_port_of_udp(self) -> None:
        """A port of UDP is ours by its number and protocol, beside that of TCP."""
        key = 'k:{"port":80,"protocol":"UDP"}'
        one = service({"f:spec": {"f:ports": {key: {}}}})
        one["spec"]["ports"].append({"name": "udp-80", "port": 80, "protocol": "UDP"})
        found = applied(one)
        assert found is not None
        self.assertEqual(found.ports, (GatewayServicePort("udp-80", 80, "UDP"),))

    def test_never_applied(self) -> None:
        """Of a Service that we never applied, there is nothing."""
        self.assertIsNone(applied(service(writer="kubectl")))
        self.assertIsNone(applied_service({}, {}))

    def test_taken(self) -> None:
        """What somebody else changed is not ours any more, so that it differs from what it is to be."""
        found = applied(service({"f:metadata": {"f:labels": {}}, "f:spec": {"f:type": {}}}))
        self.assertEqual(found, GatewayService((), (), (), (), is_inert=False))

    def test_other_type(self) -> None:
        """A Service that leads somewhere is not what is to be."""
        one = service()
        one["spec"]["type"] = "LoadBalancer"
        found = applied(one)
        assert found is not None
        self.assertFalse(found.is_inert)

    def test_hostile(self) -> None:
        """What is not of the API's shape counts as absent."""
        shapes: tuple[Any, ...] = (
            None,
            7,
            "x",
            [],
            [None],
            {"k:": 1},
            {"k:{": {}, "k:[]": {}, "k:{}": {}, "k:\ud800": {}},
        )
        for shape in shapes:
            for path in (("f:metadata", "f:ownerReferences"), ("f:spec", "f:ports")):
                found = applied(service({path[0]: {path[1]: shape}}))
                assert found is not None
                self.assertEqual((found.gateway_uids, found.ports), ((), ()))
            for field in ("labels", "annotations", "ownerReferences"):
                one = service()
                one["metadata"][field] = shape
                self.assertIsNotNone(applied(one))
            one = service()
            one["spec"]["ports"] = [{"port": shape, "protocol": shape}, shape]
            found = applied(one)
            assert found is not None
            self.assertEqual(found.ports, ())
            self.assertIsNotNone(applied({**service(), "spec": shape}))
            self.assertIsNone(applied_service({}, {"managedFields": shape}))
            self.assertIsNotNone(applied(service(shape)))


class OwnerTests(SynchronousTestCase):
    """Whom a Service goes with."""

    def test_owner(self) -> None:
        """It is the Gateway among its owners, of whatever version, and of that group alone."""
        old = {**OWNER, "apiVersion": "gateway.networking.k8s.io/v1beta1"}
        other = {**OWNER, "apiVersion": "networking.istio.io/v1"}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d"}
        cases = (
            ([OWNER], "edge"),
            ([deployment, old], "edge"),
            ([other], ""),
            ([deployment], ""),
            (None, ""),
        )
        for owners, expected in cases:
            self.assertEqual(owning_gateway({"ownerReferences": owners}), expected)
