"""Statuses of the Gateway API from a whole controller, at an API server over real HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred

from ingress.cluster.source import Source
from ingress.cluster_side import source_of
from ingress.errors import StartError
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.object_meta import Address
from ingress.model.reporting.reporting import Reporting
from ingress.service import IngressService
from ingress.settings import Settings
from tests.cluster.api_server_case import ApiServerTestCase
from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.apiserver.kinds import GATEWAY_KINDS, definition_of
from tests.fakes.processes import free_port
from tests.fakes.serving import logged_to
from tests.status.gateway_cluster import Json, gateway, gateway_class, http_route, listener, service


class ServedTests(EndToEndCase, ApiServerTestCase):
    """A controller that leads, and what it says of what it serves."""

    def setUp(self) -> Deferred[None]:  # type: ignore[override]
        EndToEndCase.setUp(self)
        return ApiServerTestCase.setUp(self)

    def serve(self, **reporting: Any) -> IngressService:
        """Start it on ports of its own."""
        http, https, admin = (free_port() for _ in range(3))
        self.admins.add(admin)
        settings = Settings(
            kubeconfig=str(Path(self.kubeconfig)),
            http=(f"tcp:{http}:interface=127.0.0.1",),
            https=(f"tcp:{https}:interface=127.0.0.1",),
            admin=f"tcp:{admin}:interface=127.0.0.1",
            serving=logged_to(str(self.access_log)),
            reporting=evolve(Reporting(publish_addresses=(Address("192.0.2.1"),)), **reporting),
        )
        metrics = Metrics()
        source: Source = source_of(settings, self.reactor, metrics)
        failures: list[StartError] = []
        started = IngressService(settings, self.reactor, source, failures.append, metrics)
        started.startService()
        self.addCleanup(self.end, started)
        return started

    async def end(self, started: IngressService) -> None:
        await self.disconnect()
        stopped = started.stopService()
        started.hurry()
        await stopped

    def status(self, kind: str, name: str) -> Json:
        status: Json = self.server.get(kind, name, "infra").get("status") or {}
        return status

    async def test_written(self) -> None:
        """What is there when it starts is told, and what changes later, each at once."""
        for row in GATEWAY_KINDS:
            self.server.create(definition_of(row))
        port = free_port()
        for one in (gateway_class(), gateway("web", listener(port=port)), http_route("a", "web"), service()):
            self.server.create(one)
        self.serve()
        await self.until(lambda: self.status("HTTPRoute", "a").get("parents"))
        await self.until(lambda: self.status("Gateway", "web").get("listeners"))
        found = self.status("Gateway", "web")
        self.assertEqual(found["addresses"], [{"type": "IPAddress", "value": "192.0.2.1"}])
        self.assertEqual([one["attachedRoutes"] for one in found["listeners"]], [1])
        self.server.create(http_route("b", "web"))
        await self.until(lambda: self.status("HTTPRoute", "b").get("parents"))
        await self.until(lambda: self.status("Gateway", "web")["listeners"][0]["attachedRoutes"] == 2)
        self.server.apply(http_route("b", "web", service="unknown"))

        def resolved() -> tuple[str, int]:
            [entry] = self.status("HTTPRoute", "b")["parents"]
            one = next(one for one in entry["conditions"] if one["type"] == "ResolvedRefs")
            return one["reason"], one["observedGeneration"]

        await self.until(lambda: resolved() == ("BackendNotFound", 2))
        await self.until(
            lambda: any(one["regarding"]["kind"] == "HTTPRoute" for one in self.server.list("Event"))
        )
