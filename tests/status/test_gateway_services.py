"""Tests for ``ingress.status.gateway_services``: Services of Gateways, over real HTTP."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import deferLater
from twisted.logger import capturedLogs, formatEvent

from ingress.model.cluster.gateway_services import SERVICES_WRITER
from tests.cluster.api_server_case import reactor
from tests.fakes.apiserver.faults import Answer, Hang
from tests.status.test_reporting import Replica, ReportingCase, refusals_said

GROUP = "gateway.networking.k8s.io"
NAME_LABEL = f"{GROUP}/gateway-name"
GATEWAY_CLASS = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "GatewayClass",
    "metadata": {"name": "ours"},
    "spec": {"controllerName": "txingress.dev/gateway"},
}


def gateway(
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    ports: tuple[int, ...] = (8080,),
    name: str = "edge",
    class_name: str = "ours",
) -> dict[str, Any]:
    """A Gateway with a listener on each of *ports*."""
    infrastructure = {"labels": labels or {}, "annotations": annotations or {}}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Gateway",
        "metadata": {"name": name, "namespace": "infra"},
        "spec": {
            "gatewayClassName": class_name,
            "infrastructure": infrastructure,
            "listeners": [{"name": f"http-{number}", "port": number, "protocol": "HTTP"} for number in ports],
        },
    }


def somebodys() -> dict[str, Any]:
    """A Service of the name that ours would have."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "gateway-edge", "namespace": "infra", "labels": {"app": "theirs"}},
        "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.7", "ports": [{"port": 80}]},
    }


class ServicesCase(ReportingCase):
    """A cluster with a GatewayClass of ours."""

    async def _listen(self) -> None:
        await super()._listen()
        self.server.define()
        self.server.create(GATEWAY_CLASS)

    def service(self, name: str = "gateway-edge") -> Any:
        """The Service, None where there is none."""
        found = [one for one in self.server.list("Service") if one["metadata"]["name"] == name]
        return found[0] if found else None

    def labels(self) -> dict[str, str]:
        found = self.service()
        return {} if found is None else dict(found["metadata"]["labels"])

    def writes(self) -> int:
        return len(self.server.requests_of("patch", "services"))

    async def quiet(self) -> None:
        """Wait until nothing is under way that could still be written."""
        await deferLater(reactor, 0.3)

    async def leading(self) -> Replica:
        replica = await self.start()
        await self.until(lambda: replica.is_leading)
        return replica


class KeepingTests(ServicesCase):
    """What is kept for a Gateway."""

    async def test_made(self) -> None:
        """The Service of a Gateway has its labels and annotations, goes with it, and leads nowhere; it is written once."""
        self.grant("base/rbac.yaml", "base/gateway-api.yaml")
        made = self.server.create(gateway({"team": "web"}, {"cost": "7"}))
        self.server.create(gateway(name="plain"))
        self.server.create(gateway({"a": "b"}, name="theirs", class_name="other"))
        await self.leading()
        await self.until(self.service)
        found = self.service()
        self.assertEqual(found["metadata"]["labels"], {"team": "web", NAME_LABEL: "edge"})
        self.assertEqual(found["metadata"]["annotations"], {"cost": "7"})
        (owner,) = found["metadata"]["ownerReferences"]
        self.assertEqual((owner["kind"], owner["uid"]), ("Gateway", made["metadata"]["uid"]))
        spec = found["spec"]
        self.assertEqual((spec["clusterIP"], [one["port"] for one in spec["ports"]]), ("None", [8080]))
        self.assertNotIn("selector", spec)
        await self.quiet()
        self.assertEqual((self.writes(), len(self.server.list("Service"))), (1, 1))
        self.assertEqual(self.refused(), set())

    async def test_followed(self) -> None:
        """What changes in the Gateway changes in its Service, what was removed goes, and what others wrote stays."""
        self.server.create(gateway({"team": "web", "old": "1"}, {"cost": "7"}))
        await self.leading()
        await self.until(self.service)
        theirs = self.service()
        theirs["metadata"]["labels"]["added"] = "by hand"
        self.server.replace(theirs)
        self.server.apply(gateway({"team": "shop"}, {}, (80, 443)))
        await self.until(lambda: self.labels() == {"team": "shop", NAME_LABEL: "edge", "added": "by hand"})
        found = self.service()
        self.assertEqual(found["metadata"].get("annotations", {}), {})
        self.assertEqual([one["port"] for one in found["spec"]["ports"]], [80, 443])
        self.server.apply(gateway())
        await self.until(lambda: self.labels() == {NAME_LABEL: "edge", "added": "by hand"})
        await self.quiet()
        self.assertEqual(self.writes(), 3)

    async def test_by_hand(self) -> None:
        """What somebody changes or deletes by hand comes again."""
        self.server.create(gateway({"team": "web"}))
        await self.leading()
        await self.until(self.service)
        changed = self.service()
        changed["metadata"]["labels"]["team"] = "other"
        self.server.replace(changed)
        await self.until(lambda: self.labels().get("team") == "web")
        self.server.delete("Service", "gateway-edge", "infra")
        await self.until(self.service)
        self.assertEqual(self.labels(), {"team": "web", NAME_LABEL: "edge"})

    async def test_new_leader(self) -> None:
        """Followers write nothing, nor does a new leader what is as it should be."""
        self.server.create(gateway({"team": "web"}))
        first = await self.leading()
        await self.start("b")
        await self.until(self.service)
        await first.stop()
        again = await self.start("c")
        await self.until(lambda: again.reporting.picture()["leader"] in ("b", "c"))
        await self.quiet()
        self.assertEqual(self.writes(), 1)
        (entry,) = self.service()["metadata"]["managedFields"]
        self.assertEqual((entry["manager"], entry["operation"]), (SERVICES_WRITER, "Apply"))


class RefusedTests(ServicesCase):
    """What stands in the way."""

    async def test_somebody_elses(self) -> None:
        """A Service that does not go with the Gateway is never touched, which the Gateway is told, until it is gone."""
        before = self.server.create(somebodys())
        self.server.create(gateway({"team": "web"}))
        replica = await self.leading()
        told = [(one.kind, one.name, one.field) for one in replica.snapshot.problems]
        self.assertEqual(told, [("Gateway", "edge", "spec.infrastructure")])
        await self.quiet()
        self.assertEqual((self.service(), self.writes()), (before, 0))
        self.assertEqual(replica.controller.verify(), ())
        self.server.delete("Service", "gateway-edge", "infra")
        await self.until(lambda: self.labels().get("team") == "web")
        await self.until(lambda: not replica.snapshot.problems)

    async def test_not_seen_yet(self) -> None:
        """One that came a moment ago, so that nobody has seen it, is not touched either."""
        await self.leading()
        for verb in ("list", "watch"):
            self.server.faults.add(Hang(), times=None, resource="services", verb=verb)
        self.server.close_watches(resource="services")
        before = self.server.create(somebodys())
        self.server.create(gateway({"team": "web"}))
        await self.until(
            lambda: [one.status for one in self.server.requests_of("patch", "services")] == [409]
        )
        self.assertEqual(self.service(), before)

    async def test_replaced_unseen(self) -> None:
        """One that took the place of ours a moment ago is not touched; once it is gone, ours comes again."""
        self.server.create(gateway({"team": "web"}))
        replica = await self.leading()
        await self.until(self.service)
        await self.until(lambda: replica.store.state().services)
        for verb in ("list", "watch"):
            self.server.faults.add(Hang(), times=None, resource="services", verb=verb)
        self.server.close_watches(resource="services")
        self.server.delete("Service", "gateway-edge", "infra")
        before = self.server.create(somebodys())
        self.server.apply(gateway({"team": "shop"}))
        await self.until(lambda: self.server.requests_of("patch", "services")[-1].status == 422)
        self.assertEqual(self.service(), before)
        self.server.faults.clear()
        self.server.reset_connections()
        await self.until(lambda: replica.snapshot.problems)
        self.server.delete("Service", "gateway-edge", "infra")
        await self.until(lambda: self.labels() == {"team": "shop", NAME_LABEL: "edge"})

    async def test_not_permitted(self) -> None:
        """Without the right, the log says so once, and all else is written."""
        self.server.faults.add(Answer(403), times=None, resource="services", verb="patch")
        for name in ("edge", "other"):
            self.server.create(gateway({"team": "web"}, name=name))
        with capturedLogs() as events:
            await self.leading()
            await self.until(self.writes)
            await self.until(lambda: self.server.get("Gateway", "edge", "infra").get("status"))
            await self.until(lambda: refusals_said(events))
            await self.quiet()
        said = refusals_said(events)
        self.assertEqual(len(said), 1, said)
        self.assertIn("keep Services for Gateways", said[0])

    async def test_not_taken(self) -> None:
        """What the API server refuses is one line in the log and one request, until the Gateway asks for something else."""
        message = "metadata.annotations: Too long: must have at most 262144 bytes"
        self.server.faults.add(Answer(422, message=message), times=1, resource="services", verb="patch")
        self.server.create(gateway({"team": "web"}))
        with capturedLogs() as events:

            def said() -> list[str]:
                return [text for text in map(formatEvent, events) if "Too long" in text]

            await self.leading()
            await self.until(said)
            await deferLater(reactor, 1.3)
        self.assertEqual((self.writes(), len(said())), (1, 1), said())
        self.server.apply(gateway({"team": "shop"}))
        await self.until(lambda: self.labels().get("team") == "shop")
