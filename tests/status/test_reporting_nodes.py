"""Tests of the addresses of Nodes: replicas, election and statuses together, over real HTTP."""

from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent

from ingress.cluster.watching import refusal
from ingress.model.reporting.reporting import Reporting
from ingress.status import node_addresses
from tests.fakes.apiserver.faults import Answer
from tests.fakes.objects import ingress_object
from tests.status.cluster_nodes import node_object, pod_object
from tests.status.gateway_cluster import gateway, gateway_class
from tests.status.test_reporting import ADDRESS, SERVICE, TTL_SECONDS, ReportingCase

NODES = Reporting(publish_node_addresses=True, election_ttl_seconds=TTL_SECONDS)
INTERNAL = evolve(NODES, reports_internal_addresses=True)
RESOURCES = ("nodes", "pods")


class NodesCase(ReportingCase):
    """Two Nodes with a replica on each: pods ``a`` and ``b``."""

    def setUp(self) -> Deferred[None]:  # type: ignore[override]
        """Show each change at once: how long others wait is tested by a clock."""
        self.patch(node_addresses, "BETWEEN_SECONDS", 0.0)
        return super().setUp()

    async def _listen(self) -> None:
        await super()._listen()
        self.server.create(ingress_object("app", "app.test"))
        self.server.create(node_object("n1", ("InternalIP", "10.0.0.1"), ("Hostname", "n1")))
        self.server.create(node_object("n2", ("InternalIP", "10.0.0.2"), ("ExternalIP", "203.0.113.2")))
        self.server.create(pod_object("a", "n1"))
        self.server.create(pod_object("b", "n2"))

    async def until_shown(self, *ips: str) -> None:
        """Wait until the Ingress shows just these."""
        wanted = [{"ip": ip} for ip in ips] or None
        await self.until(lambda: self.addresses("app") == wanted)

    def asked_for(self) -> list[str]:
        return [call.plural for call in self.server.requests if call.plural in RESOURCES]


class NodesTests(NodesCase):
    """What the Ingresses show."""

    async def test_two_replicas(self) -> None:
        """The leader shows the addresses of both Nodes, follows what becomes of them, and the next one goes on with that."""
        first = await self.start("a", NODES)
        await self.until_shown("10.0.0.1", "203.0.113.2")
        self.assertEqual(first.reporting.picture()["addresses"], ["10.0.0.1", "203.0.113.2"])

        second = await self.start("b", NODES)
        asked = len(self.asked_for())
        self.server.delete("Node", "n2")
        await self.until_shown("10.0.0.1")
        self.server.create(node_object("n2", ("InternalIP", "10.0.0.3")))
        await self.until_shown("10.0.0.1", "10.0.0.3")
        self.server.apply(node_object("n1", ("InternalIP", "10.0.0.1"), ("ExternalIP", "203.0.113.1")))
        await self.until_shown("10.0.0.3", "203.0.113.1")
        # Nobody asked again, and who does not lead never did.
        self.assertEqual(len(self.asked_for()), asked)
        self.assertIsNone(second.reporting.picture()["addresses"])

        await first.stop()
        self.server.delete("Pod", "a", "txingress")
        await self.until_shown("10.0.0.3")
        self.assertTrue(second.is_leading)

    async def test_pods(self) -> None:
        """A pod that is not ready, or about to end, is left out, and one that moves is followed."""
        await self.start("a", NODES)
        await self.until_shown("10.0.0.1", "203.0.113.2")
        self.server.apply(pod_object("b", "n2", is_ready=False))
        await self.until_shown("10.0.0.1")
        self.server.apply(pod_object("b", "n2"))
        await self.until_shown("10.0.0.1", "203.0.113.2")
        ending = pod_object("b", "n2")
        ending["metadata"]["deletionTimestamp"] = "2026-11-29T10:00:00Z"
        self.server.apply(ending)
        await self.until_shown("10.0.0.1")
        self.server.delete("Pod", "b", "txingress")
        self.server.create(pod_object("c", "n2"))
        await self.until_shown("10.0.0.1", "203.0.113.2")
        self.server.apply(pod_object("c", "n2", phase="Failed"))
        await self.until_shown("10.0.0.1")

    async def test_internal(self) -> None:
        """Internal ones alone, where these are asked for."""
        await self.start("a", INTERNAL)
        await self.until_shown("10.0.0.1", "10.0.0.2")

    async def test_address_families(self) -> None:
        """A Node with addresses of both families shows the first one, and one with IPv6 alone that; without an IP address, none."""
        self.server.apply(node_object("n1", ("InternalIP", "2001:db8::1"), ("InternalIP", "10.0.0.1")))
        self.server.apply(node_object("n2", ("InternalIP", "10.0.0.2"), ("InternalIP", "2001:db8::2")))
        with capturedLogs() as events:
            await self.start("a", NODES)
            await self.until_shown("10.0.0.2", "2001:db8::1")
            self.server.apply(node_object("n2", ("Hostname", "n2.test"), ("InternalDNS", "n2.test")))
            await self.until_shown("2001:db8::1")
        said = [text for event in events if "Node n2" in (text := str(formatEvent(event)))]
        self.assertEqual(len(said), 1, said)

    async def test_kept(self) -> None:
        """While no replica is ready, as in the seconds after the first one began to lead, what Ingresses show stays."""
        for name in "ab":
            self.server.apply(pod_object(name, "n1", is_ready=False))
        shown = self.server.get("Ingress", "app", "shop")
        shown["status"] = {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}]}}
        self.server.replace(shown)
        replica = await self.start("a", NODES)
        await self.until(lambda: replica.is_leading and len(self.server.watches_of("pods")) == 1)
        self.server.create(ingress_object("last", "last.test"))
        self.server.apply(pod_object("x", "n2", labels={"app.kubernetes.io/name": "other"}))
        await self.until(lambda: len(replica.snapshot.table.routes) == 2)
        self.assertEqual(self.addresses("app"), [{"ip": "203.0.113.9"}])
        self.server.apply(pod_object("a", "n1"))
        await self.until_shown("10.0.0.1")

    async def test_gateway(self) -> None:
        """A Gateway without an address of its own shows the same."""
        self.server.define()
        self.server.create(gateway_class())
        self.server.create(gateway("main"))
        await self.start("a", NODES)
        wanted = [{"type": "IPAddress", "value": ip} for ip in ("10.0.0.1", "203.0.113.2")]

        def shown() -> Any:
            return (self.server.get("Gateway", "main", "infra").get("status") or {}).get("addresses")

        await self.until(lambda: shown() == wanted)
        self.server.delete("Node", "n1")
        await self.until(lambda: shown() == wanted[1:])

    async def test_cleared(self) -> None:
        """The last replica removes them at its end, where that is asked for."""
        replica = await self.start("a", evolve(NODES, clear_status_on_shutdown=True, election_ttl_seconds=3))
        await self.until_shown("10.0.0.1", "203.0.113.2")
        await replica.stop()
        self.assertIsNone(self.addresses("app"))


class OthersTests(NodesCase):
    """Where Nodes are not what is shown."""

    async def test_others_come_first(self) -> None:
        """Addresses and a Service that are named come first, and then nobody asks for Nodes; so it is by default."""
        for name, settings in (
            ("a", evolve(ADDRESS, publish_node_addresses=True)),
            ("b", evolve(SERVICE, publish_node_addresses=True)),
            ("c", Reporting(election_ttl_seconds=TTL_SECONDS)),
        ):
            replica = await self.start(name, settings)
            await self.until(lambda replica=replica: replica.is_leading)
            await self.until_shown("192.0.2.1")
            await replica.stop()
        self.assertEqual(self.asked_for(), [])


class RightsTests(NodesCase):
    """The rights that ship with the program, and none."""

    async def test_component(self) -> None:
        """The component has all that is needed beside the base, and nothing is asked for that it has not."""
        self.grant("base/rbac.yaml", "base/gateway-api.yaml", "components/node-addresses/rbac.yaml")
        replica = await self.start("a", NODES)
        await self.until_shown("10.0.0.1", "203.0.113.2")
        await replica.stop()
        self.assertEqual(self.refused(), set())
        verbs = {(call.plural, call.verb) for call in self.server.requests if call.plural in RESOURCES}
        self.assertLessEqual(verbs, {(one, verb) for one in RESOURCES for verb in ("list", "watch")})

    async def test_without(self) -> None:
        """Without a right statuses stay as they are, a problem names what is refused, and all else is served and written."""
        self.patch(refusal, "PROBLEM_SECONDS", 0.0)
        self.grant("base/rbac.yaml", "base/gateway-api.yaml")
        replica = await self.start("a", NODES)

        def refused() -> set[str]:
            return {one.name for one in replica.snapshot.problems if one.kind == "Watch"}

        await self.until(lambda: refused() == {"Node", "Pod"})
        self.assertIsNone(self.addresses("app"))
        await self.until(lambda: bool(self.server.list("Event")))
        self.server.create(ingress_object("more", "more.test"))
        await self.until(lambda: len(replica.snapshot.table.routes) == 2)
        self.assertTrue(replica.is_leading)
        self.grant("base/rbac.yaml", "base/gateway-api.yaml", "components/node-addresses/rbac.yaml")
        await self.until_shown("10.0.0.1", "203.0.113.2")
        await self.until(lambda: refused() == set())

    async def test_taken_away(self) -> None:
        """A right that is taken away later leaves what is known, and the problem goes with the part of the leader."""
        self.patch(refusal, "PROBLEM_SECONDS", 0.0)
        replica = await self.start("a", NODES)
        await self.until_shown("10.0.0.1", "203.0.113.2")
        self.server.faults.add(Answer(403, message="no"), resource="nodes", times=None)
        self.server.close_watches("finish", "nodes")
        await self.until(lambda: any(one.kind == "Watch" for one in replica.snapshot.problems))
        self.assertEqual(replica.reporting.picture()["addresses"], ["10.0.0.1", "203.0.113.2"])
        self.server.delete("Pod", "b", "txingress")
        await self.until_shown("10.0.0.1")
        replica.reporting.leave()
        await self.until(lambda: not any(one.kind == "Watch" for one in replica.snapshot.problems))
