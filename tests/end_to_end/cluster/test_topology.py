"""The controller as a process on a Node of a zone: endpoints near by get the requests, where hints say so."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import yaml

from tests.end_to_end.cluster.test_rights_process import ACCOUNT, K8S, RightsCase, shipped
from tests.end_to_end.cluster.test_watch_process import HOST
from tests.fakes.apiserver.access import Grant, grants_from_manifests
from tests.fakes.objects import ingress_object, service_object, slice_object
from tests.fakes.processes import ControllerProcess, free_port

NODE = "node-1"
OPTION = "--enable-topology-aware-routing"
ZONE_LABEL = "topology.kubernetes.io/zone"
ENOUGH = 12
"""Requests among which both of two endpoints are, where both are in use."""


def with_the_right_to_nodes() -> tuple[Grant, ...]:
    """The grants of what ships with the program, its component for zones included."""
    component = yaml.safe_load_all((K8S / "components" / "topology" / "rbac.yaml").read_text("utf-8"))
    return (*shipped(secrets=True), *grants_from_manifests(list(component), *ACCOUNT))


class TopologyCase(RightsCase):
    """An API server with Nodes, and an application with an endpoint in each of two zones."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Create everything."""
        await super().setUp()
        self.node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": NODE, "labels": {ZONE_LABEL: "eu-1a"}},
            "spec": {"podCIDR": "10.1.0.0/24"},
        }
        self.server.create({**self.node, "metadata": {"name": "node-2", "labels": {ZONE_LABEL: "eu-1b"}}})
        self.server.create(self.node)
        self.server.create(ingress_object("app", HOST))
        self.server.create(service_object("app"))
        self.slices = {zone: self.slice(zone) for zone in ("eu-1a", "eu-1b")}
        for raw in self.slices.values():
            self.server.create(raw)

    def slice(self, zone: str) -> dict[str, Any]:
        """Return an EndpointSlice with one endpoint, which answers with the zone that it is for."""
        raw = slice_object("app", self.upstream(zone.encode()).endpoint)
        raw["metadata"]["name"] = f"app-{zone}"
        raw["endpoints"][0]["hints"] = {"forZones": [{"name": zone}]}
        return raw

    async def answering(self) -> set[bytes]:
        """Return who answers."""
        answers = [await self.get(self.http) for _ in range(ENOUGH)]
        self.assertEqual({status for status, _ in answers}, {200})
        return {body for _, body in answers}

    async def started(self, *options: str) -> ControllerProcess:
        controller = self.start_watching(OPTION, "--election-namespace=txingress", *options)
        await self.until_ready(controller)
        return controller


class TopologyTests(TopologyCase):
    """Who knows the Node that it runs on."""

    environment = MappingProxyType({"NODE_NAME": NODE})

    async def test_zone_of_the_node(self) -> None:
        """The zone is that of the Node, and another one if that changes; without hints of all, all are used."""
        self.grant(with_the_right_to_nodes())
        controller = await self.started()
        self.assertEqual(await self.answering(), {b"eu-1a"})
        shown = json.loads((await self.get(self.admin, "/api/v1/endpoints?state=elsewhere"))[1])
        self.assertEqual(len(shown["endpoints"]), 1)
        self.assertIn("zone", shown["endpoints"][0]["why"])

        self.node["metadata"] = {"name": NODE, "labels": {ZONE_LABEL: "eu-1b"}}
        self.server.replace(self.node)
        await self.until_get((200, b"eu-1b"), self.http)
        self.assertEqual(await self.answering(), {b"eu-1b"})

        del self.slices["eu-1a"]["endpoints"][0]["hints"]
        self.server.replace(self.slices["eu-1a"])
        await self.until_get((200, b"eu-1a"), self.http)
        self.assertEqual(await self.answering(), {b"eu-1a", b"eu-1b"})
        asked = [call for call in self.server.requests if call.plural == "nodes"]
        self.assertEqual({call.query.get("fieldSelector") for call in asked}, {f"metadata.name={NODE}"})
        await self.end(controller)

    async def test_fails(self) -> None:
        """Where the only endpoint near by refuses connections, the other zone answers, and nobody notices."""
        self.grant(with_the_right_to_nodes())
        self.slices["eu-1a"]["ports"][0]["port"] = free_port()
        self.server.replace(self.slices["eu-1a"])
        controller = await self.started()
        await self.until_shown(b'"elsewhere"', "/api/v1/endpoints")
        self.assertEqual(await self.answering(), {b"eu-1b"})
        shown = json.loads((await self.get(self.admin, "/api/v1/endpoints?state=ejected"))[1])
        self.assertEqual(len(shown["endpoints"]), 1)
        await self.end(controller)

    async def test_without_the_right(self) -> None:
        """Without the right to Nodes everything is served, by all endpoints; granted, it counts."""
        self.grant(shipped(secrets=True))
        controller = await self.started()
        self.assertEqual(await self.answering(), {b"eu-1a", b"eu-1b"})
        await self.until(lambda: b"hints of EndpointSlices for zones do not count" in controller.output)
        self.grant(with_the_right_to_nodes())
        await self.until(lambda: b"This process runs in zone eu-1a and node node-1" in controller.output)
        await self.until_shown(b'"elsewhere"', "/api/v1/endpoints")
        self.assertEqual(await self.answering(), {b"eu-1a"})
        await self.end(controller)

    async def test_zone_of_the_option(self) -> None:
        """With a zone on the command line no Node is read."""
        self.grant(shipped(secrets=True))
        controller = await self.started("--zone=eu-1b")
        self.assertEqual(await self.answering(), {b"eu-1b"})
        self.assertEqual([call for call in self.server.requests if call.plural == "nodes"], [])
        await self.end(controller)


class NowhereTests(TopologyCase):
    """Who does not."""

    async def test_no_node(self) -> None:
        """Without a name of a Node all endpoints are used, which the log says."""
        self.grant(shipped(secrets=True))
        controller = await self.started()
        self.assertEqual(await self.answering(), {b"eu-1a", b"eu-1b"})
        self.assertIn(b"there is no --zone, and no NODE_NAME in the environment", controller.output)
        await self.end(controller)
