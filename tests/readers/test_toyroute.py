"""A second kind of route objects, from its objects to served requests, by nothing but its folder and its row."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import ObjectKinds
from ingress.cluster.manifests.manifest_files import read_manifest_text
from ingress.cluster.source import Source
from ingress.cluster.store import Store
from ingress.errors import StartError
from ingress.metrics.metrics import Metrics
from ingress.model.objects import ObjectKey, Projection
from ingress.model.problems import Reason
from ingress.service import IngressService, source_of
from ingress.settings import Settings
from ingress.translate.incremental import Translation
from ingress.translate.options import ANNOTATIONS_PREFIX, TranslateOptions
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.cluster.api_server_case import ApiServerTestCase
from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.apiserver.kinds import KINDS, KindTable, ResourceType
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object, slice_object
from tests.fakes.processes import free_port
from tests.readers.toyroute.kind import TOYS
from tests.readers.toyroute.values import TOY_ROUTE

KINDS_SERVED = (*ROUTE_KINDS, TOYS)
NOW = datetime(2026, 7, 1, tzinfo=UTC)


def toy(name: str, host: str, service: str = "web", **spec: Any) -> dict[str, Any]:
    """Return a toy route."""
    metadata = {"name": name, "namespace": NAMESPACE}
    spec = {"host": host, "backend": {"name": service, "port": 80}, **spec}
    return {"apiVersion": "toys.example/v1", "kind": "ToyRoute", "metadata": metadata, "spec": spec}


def door(name: str, port: int = 0) -> dict[str, Any]:
    """Return a door."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "toys.example/v1", "kind": "ToyDoor", "metadata": metadata, "spec": {"port": port}}


class Cluster:
    """A store that is filled by manifests, and a translation that follows it."""

    def __init__(self, **options: Any) -> None:
        self.options = TranslateOptions(from_manifests=True, **options)
        self.store = Store()
        self.translation = Translation(self.options, KINDS_SERVED)
        self._kinds = ObjectKinds(KINDS_SERVED)
        self._files: dict[str, dict[Any, Projection]] = {}

    def write(self, name: str, *objects: dict[str, Any]) -> Snapshot:
        """Write a file, have its changes translated, and check that a full translation comes to the same."""
        content = read_manifest_text(yaml.safe_dump_all(objects), name, ANNOTATIONS_PREFIX, self._kinds)
        assert not content.problems, content.problems
        before, after = self._files.get(name, {}), {one.id: one.projection for one in content.objects}
        self._files[name] = after
        changes = self.store.changed({**dict.fromkeys(before), **after})
        self.translation.mark(changes.objects)
        self.translation.refresh(changes.services, self.store.state())
        for _ in self.translation.round(self.store.state(), NOW):
            pass
        snapshot = self.translation.snapshot
        assert snapshot is not None
        found = differences(snapshot, translate(self.store.state(), self.options, NOW, KINDS_SERVED))
        assert not found, found
        return snapshot


class ToyRouteTests(SynchronousTestCase):
    """What translation makes of toy routes beside Ingresses."""

    def setUp(self) -> None:
        self.cluster = Cluster()
        self.cluster.write("web", service_object("web"))

    def owners(self, snapshot: Snapshot, host: str, path: str = "/") -> str:
        """Say whose the route of a host and path is."""
        route = snapshot.table.find(host.encode(), path.encode())
        return "" if route is None else str(route.owner)

    def test_route(self) -> None:
        """A toy route has a route, and belongs to its object, whose kind its problems name."""
        snapshot = self.cluster.write("toys", toy("one", "toy.test"), toy("two", "other.test", "missing"))
        self.assertEqual(self.owners(snapshot, "toy.test"), "ToyRoute shop/one")
        [problem] = snapshot.problems
        self.assertEqual(
            (problem.kind, problem.name, problem.reason, problem.field),
            ("ToyRoute", "two", Reason.SERVICE_NOT_FOUND, "spec.backend.name"),
        )
        self.assertEqual(self.cluster.translation.served[TOY_ROUTE], 2)

    def test_oldest_first(self) -> None:
        """Objects of all kinds contend for a path alike: the older wins, and the other is told by whom."""
        young = ingress_object("young", "toy.test")
        young["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
        old = toy("old", "toy.test")
        old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        self.cluster.write("young", young)
        snapshot = self.cluster.write("old", old)
        self.assertEqual(self.owners(snapshot, "toy.test"), "ToyRoute shop/old")
        told = {problem.reason: problem for problem in snapshot.problems}
        self.assertEqual(told[Reason.PATH_CONFLICT].kind, "Ingress")
        self.assertIn("belongs to ToyRoute shop/old, which is older", told[Reason.PATH_CONFLICT].message)

    def test_same_name(self) -> None:
        """Objects of two kinds with one name are two owners; one that goes leaves the other."""
        both = (toy("web", "toy.test"), ingress_object("web", "web.test"))
        self.cluster.write("both", *both)
        snapshot = self.cluster.write("both", both[1])
        self.assertEqual(self.owners(snapshot, "toy.test"), "")
        self.assertEqual(self.owners(snapshot, "web.test"), "Ingress shop/web")

    def test_judged_by_others(self) -> None:
        """Which objects are ours may depend on other objects, and changes with these."""
        snapshot = self.cluster.write("toys", toy("one", "toy.test", door="front"))
        self.assertEqual(self.owners(snapshot, "toy.test"), "")
        self.assertEqual([problem.field for problem in snapshot.problems], ["spec.door"])
        snapshot = self.cluster.write("doors", door("front"))
        self.assertEqual(snapshot.problems, ())
        snapshot = self.cluster.write("doors")
        self.assertEqual([problem.field for problem in snapshot.problems], ["spec.door"])

    def test_certificate(self) -> None:
        """The certificate that a toy route asks for is shown for its host."""
        chain, key = issue(make_authority(), ["toy.test"], not_before=NOW.replace(day=1, month=6))
        secret = secret_object("toy", chain, key)
        snapshot = self.cluster.write("toys", toy("one", "toy.test", secret="toy"), secret)
        [shown] = snapshot.certificates.exact["toy.test"]
        self.assertEqual(shown.secret, ObjectKey(NAMESPACE, "toy"))

    def test_malformed(self) -> None:
        """What is wrong with an object is told with its kind and field."""
        content = read_manifest_text(
            yaml.safe_dump(toy("one", "")), "a.yaml", ANNOTATIONS_PREFIX, ObjectKinds(KINDS_SERVED)
        )
        [found] = content.objects
        self.assertEqual(
            [str(one) for one in found.projection.problems],
            ["ToyRoute shop/one: spec.host: is missing (MalformedObject)"],
        )

    def test_unknown_without_its_row(self) -> None:
        """Without its row nobody reads the kind."""
        text = yaml.safe_dump(toy("one", "toy.test"))
        self.assertEqual(read_manifest_text(text, "a.yaml", ANNOTATIONS_PREFIX).objects, ())


class ServedCase(EndToEndCase):
    """A whole controller inside the test, which serves toy routes, too."""

    def serve(self, settings: Settings) -> IngressService:
        """Start it on ports of its own."""
        self.http, self.https, self.admin = (free_port() for _ in range(3))
        self.admins.add(self.admin)
        settings = evolve(
            settings,
            http=(f"tcp:{self.http}:interface=127.0.0.1",),
            https=(f"tcp:{self.https}:interface=127.0.0.1",),
            admin=f"tcp:{self.admin}:interface=127.0.0.1",
            access_log=str(self.access_log),
            translate=evolve(settings.translate, endpoint_networks=("127.0.0.0/8",)),
        )
        metrics = Metrics()
        source: Source = source_of(settings, self.reactor, metrics, KINDS_SERVED)
        failures: list[StartError] = []
        service = IngressService(settings, self.reactor, source, failures.append, metrics, kinds=KINDS_SERVED)
        service.startService()
        self.addCleanup(self.end, service)
        return service

    async def end(self, service: IngressService) -> None:
        await self.disconnect()
        stopped = service.stopService()
        service.hurry()
        await stopped


class FromManifestTests(ServedCase):
    """From a file to an answer."""

    async def test_served(self) -> None:
        """A toy route in a manifest is served, over TLS by its certificate, and followed when it changes."""
        upstream = self.upstream(b"toys")
        authority = make_authority()
        chain, key = issue(authority, ["shop.test"])
        self.write(
            "all",
            service_object("web"),
            slice_object("web", upstream.endpoint),
            secret_object("toy", chain, key),
            toy("one", "shop.test", path="/toys", secret="toy"),
        )
        self.serve(Settings(manifests=(str(self.manifests),)))
        await self.until_get((200, b"toys"), self.https, "/toys/1", authority)
        self.assertEqual((await self.get(self.https, "/", trust=authority))[0], 404)
        status, _ = await self.get(self.http, "/toys/1")
        self.assertEqual(status, 308)
        await self.until(lambda: " shop/one " in self.access_log.read_text())


class FromApiServerTests(ServedCase, ApiServerTestCase):
    """From an API server to an answer."""

    kinds = KindTable(
        (
            *KINDS,
            ResourceType("toys.example", "v1", "toyroutes", "ToyRoute", has_status=True, has_generation=True),
            ResourceType("toys.example", "v1", "toydoors", "ToyDoor", has_generation=True),
        )
    )

    def setUp(self) -> Deferred[None]:  # type: ignore[override]
        ServedCase.setUp(self)
        return ApiServerTestCase.setUp(self)

    async def test_served(self) -> None:
        """A toy route is watched and served; what it says later is, too, and then what is gone is gone."""
        upstream = self.upstream(b"toys")
        for one in (
            service_object("web"),
            slice_object("web", upstream.endpoint),
            toy("one", "shop.test", path="/first"),
        ):
            self.server.create(one)
        self.serve(Settings(kubeconfig=str(Path(self.kubeconfig))))
        await self.until_get((200, b"toys"), self.http, "/first")
        self.server.apply(toy("one", "shop.test", path="/moved"))
        await self.until_get((200, b"toys"), self.http, "/moved")
        self.assertEqual((await self.get(self.http, "/first"))[0], 404)

    def condition(self, of_type: str) -> tuple[str, str, int]:
        """Return status, reason and generation of a condition of the toy route; empty for none."""
        status = self.server.get("ToyRoute", "one", NAMESPACE).get("status") or {}
        for one in status.get("conditions") or ():
            if one["type"] == of_type:
                return one["status"], one["reason"], one["observedGeneration"]
        return "", "", 0

    async def test_conditions(self) -> None:
        """A problem of a toy route becomes a condition of its status, beside an Event, and goes when it is solved."""
        self.server.create(toy("one", "shop.test"))
        self.serve(Settings(kubeconfig=str(Path(self.kubeconfig))))
        await self.until(lambda: self.condition("ResolvedRefs") == ("False", "BackendNotFound", 1))
        self.assertEqual(self.condition("Accepted"), ("True", "Accepted", 1))
        await self.until(lambda: self.server.list("Event"))
        [event] = self.server.list("Event")
        self.assertEqual((event["reason"], event["regarding"]["kind"]), ("ServiceNotFound", "ToyRoute"))
        self.server.create(service_object("web"))
        await self.until(lambda: self.condition("ResolvedRefs") == ("True", "ResolvedRefs", 1))
        self.server.apply(toy("one", "-", "web"))
        await self.until(lambda: self.condition("Accepted") == ("False", "UnsupportedValue", 2))
        self.server.apply(toy("one", "other.test", "web"))
        await self.until(lambda: self.condition("Accepted") == ("True", "Accepted", 3))
        self.assertEqual(self.condition("ResolvedRefs"), ("True", "ResolvedRefs", 3))
