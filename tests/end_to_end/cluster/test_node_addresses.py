"""The controller as processes on two Nodes: Ingresses show the addresses of both, and of one when the other is gone."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import yaml

from tests.end_to_end.cluster.test_rights_process import ACCOUNT, K8S, RightsCase, shipped
from tests.end_to_end.cluster.test_watch_process import HOST
from tests.fakes.apiserver.access import Grant, grants_from_manifests
from tests.fakes.objects import ingress_object
from tests.status.cluster_nodes import node_object, pod_object

OPTIONS = ("--publish-node-addresses", "--election-namespace=txingress")


def with_the_component() -> tuple[Grant, ...]:
    """The grants of what ships with the program, its component for addresses of nodes included."""
    component = yaml.safe_load_all((K8S / "components" / "node-addresses" / "rbac.yaml").read_text("utf-8"))
    return (*shipped(secrets=True), *grants_from_manifests(list(component), *ACCOUNT))


class NodesCase(RightsCase):
    """An API server with two Nodes, a pod on each, and an Ingress."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Create everything."""
        await super().setUp()
        self.grant(with_the_component())
        self.server.create(ingress_object("app", HOST))
        for number, name in enumerate("ab", 1):
            self.server.create(node_object(f"n{number}", ("InternalIP", f"10.0.0.{number}")))
            self.server.create(pod_object(name, f"n{number}"))

    def shown(self) -> list[str]:
        """The addresses that the Ingress shows."""
        status: dict[str, Any] = self.server.get("Ingress", "app", "shop").get("status") or {}
        return [one["ip"] for one in (status.get("loadBalancer") or {}).get("ingress") or []]


class PodTests(NodesCase):
    """A process that knows which pod it is."""

    environment = MappingProxyType({"POD_NAME": "a", "POD_NAMESPACE": "txingress"})

    async def test_addresses(self) -> None:
        """With the rights of the component nothing is refused, and what a Node had goes with it."""
        controller = self.start_watching(*OPTIONS)
        await self.until_ready(controller)
        await self.until(lambda: self.shown() == ["10.0.0.1", "10.0.0.2"])
        self.server.delete("Node", "n2")
        await self.until(lambda: self.shown() == ["10.0.0.1"])
        refused = {call.plural for call in self.server.requests if call.status == 403}
        self.assertEqual(refused & {"nodes", "pods"}, set())
        await self.end(controller)


class NobodyTests(NodesCase):
    """A process that does not."""

    async def test_no_pod(self) -> None:
        """Without the variables the log says so, and statuses stay as they are."""
        controller = self.start_watching(*OPTIONS)
        await self.until_ready(controller)
        self.assertIn(b"there is no POD_NAME, or no POD_NAMESPACE, in the environment", controller.output)
        await self.until(lambda: b"Leading: " in controller.output)
        self.assertEqual(self.shown(), [])
        await self.end(controller)
