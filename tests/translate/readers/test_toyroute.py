"""A second kind of route objects, from its objects to served requests, by nothing but its folder and its row."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

import ingress
from ingress.cluster.kinds import ObjectKinds
from ingress.cluster.manifests.manifest_files import read_manifest_text
from ingress.cluster.source import Source
from ingress.cluster.store import Store
from ingress.cluster_side import source_of
from ingress.errors import StartError
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.objects import ObjectKey, Projection
from ingress.model.cluster.problems import Reason
from ingress.model.network.listeners import Listener
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.proxy.listening.reach import endpoint_rules
from ingress.service import IngressService
from ingress.settings import Settings
from ingress.translate.incremental import Translation
from ingress.translate.options import ANNOTATIONS_PREFIX, TranslateOptions
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.cluster.api_server_case import ApiServerTestCase
from tests.end_to_end.end_to_end_case import NO_ANSWER, PATIENCE, EndToEndCase
from tests.fakes.apiserver.kinds import KINDS, KindTable, ResourceType
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object, slice_object
from tests.fakes.processes import free_port
from tests.fakes.serving import logged_to
from tests.translate.readers.toyroute.kind import TOYS
from tests.translate.readers.toyroute.values import TOY_ROUTE
from tests.workers.sent import sent

KINDS_SERVED = (*ROUTE_KINDS, TOYS)
NOW = datetime(2026, 7, 1, tzinfo=UTC)
TOY_PAIR = issue(make_authority(), ["toy.test"], not_before=NOW.replace(day=1, month=6))


def toy(name: str, host: str, service: str = "web", **spec: Any) -> dict[str, Any]:
    """Return a toy route."""
    metadata = {"name": name, "namespace": NAMESPACE}
    spec = {"host": host, "backend": {"name": service, "port": 80}, **spec}
    return {"apiVersion": "toys.example/v1", "kind": "ToyRoute", "metadata": metadata, "spec": spec}


def door(name: str, port: int = 0, *, tls: bool = False) -> dict[str, Any]:
    """Return a door; with a port it is a listener of its own."""
    metadata = {"name": name, "namespace": NAMESPACE}
    spec = {"port": port, "tls": tls}
    return {"apiVersion": "toys.example/v1", "kind": "ToyDoor", "metadata": metadata, "spec": spec}


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
        self.translation.endpoints_changed(changes.services)
        while self.translation.awaits_endpoints:
            self.translation.refresh(self.store.state())
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


class DoorTests(SynchronousTestCase):
    """Listeners that objects ask for, and their tables."""

    def setUp(self) -> None:
        self.given = Listener("tcp:80", is_required=True)
        self.cluster = Cluster(listeners=(self.given,))
        self.cluster.write("web", service_object("web"))

    def test_table_of_its_own(self) -> None:
        """What is behind a door is in the table of its listener alone, and the same host may be in several."""
        routes = [toy("in", "toy.test", door="front"), toy("out", "toy.test")]
        snapshot = self.cluster.write("toys", door("front", 8001), *routes)
        self.assertEqual(
            [one.description for one in snapshot.listeners], ["tcp:80", "tcp:8001:interface=127.0.0.1"]
        )
        self.assertEqual(snapshot.listeners[1].table, "door shop/front")
        [other] = snapshot.others.values()
        self.assertEqual([str(one.owner) for one in other.routes.routes], ["ToyRoute shop/in"])
        self.assertEqual([str(one.owner) for one in snapshot.table.routes], ["ToyRoute shop/out"])
        self.assertEqual((snapshot.route_count, snapshot.host_count, snapshot.problems), (2, 2, ()))
        self.assertEqual(len(snapshot.backends), 1)

    def test_gone(self) -> None:
        """With the last object that asks for it a listener goes, and its table with all that was in it."""
        before = self.cluster.write("toys", door("front", 8001), toy("in", "toy.test", door="front"))
        after = self.cluster.write("toys")
        self.assertEqual((after.listeners, after.others, dict(after.backends)), ((self.given,), {}, {}))
        self.assertEqual((len(before.listeners), [*before.others]), (2, ["door shop/front"]))
        again = self.cluster.write("toys", door("front", 8001), toy("in", "toy.test", door="front"))
        self.assertEqual(again.listeners, before.listeners)

    def test_moved(self) -> None:
        """A route that goes through another door leaves the first one's table, and its certificate with it."""
        chain, key = issue(make_authority(), ["toy.test"], not_before=NOW.replace(day=1, month=6))
        self.cluster.write(
            "doors", door("front", 8001, tls=True), door("back", 8002), secret_object("toy", chain, key)
        )
        before = self.cluster.write("toys", toy("one", "toy.test", door="front", secret="toy"))
        self.assertEqual([*before.others["door shop/front"].certificates.exact], ["toy.test"])
        self.assertEqual(before.certificates.exact, {})
        after = self.cluster.write("toys", toy("one", "toy.test", door="back", secret="toy"))
        self.assertEqual([*after.others], ["door shop/back"])
        back = self.cluster.write("toys", toy("one", "toy.test", secret="toy"))
        self.assertEqual(([*back.others], [*back.certificates.exact]), ([], ["toy.test"]))

    def test_shared(self) -> None:
        """A change behind one door makes no other table anew."""
        self.cluster.write("doors", door("front", 8001), door("back", 8002))
        self.cluster.write("one", toy("one", "toy.test", door="front"), toy("main", "toy.test"))
        before = self.cluster.write("two", toy("two", "toy.test", door="back"))
        after = self.cluster.write("two", toy("two", "other.test", door="back"))
        self.assertIs(after.others["door shop/front"], before.others["door shop/front"])
        self.assertIs(after.table, before.table)
        self.assertIsNot(after.others["door shop/back"], before.others["door shop/back"])

    def test_conflict(self) -> None:
        """An address is one listener's: the older object has it, and the other is told."""
        self.cluster.write("doors", door("a", 8001), door("b", 8001))
        one, two = toy("one", "one.test", door="a"), toy("two", "two.test", door="b")
        one["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
        two["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        snapshot = self.cluster.write("toys", one, two)
        self.assertEqual([listener.table for listener in snapshot.listeners], ["", "door shop/b"])
        [problem] = snapshot.problems
        self.assertEqual(
            (problem.name, problem.reason, problem.field), ("one", Reason.LISTENER_CONFLICT, "spec.door")
        )
        self.assertIn("is a listener of ToyRoute shop/two", problem.message)

    def test_no_endpoint(self) -> None:
        """A listener that an object asks for is no endpoint while it is there: requests would come back to us."""
        rules = endpoint_rules(("tcp:80",), (), tuple, allows_local=True)
        cluster = Cluster(listeners=(self.given,), endpoint_rules=rules)
        loop = slice_object("web", Endpoint("127.0.0.1", 8001))
        [found] = cluster.write(
            "all", service_object("web"), loop, toy("main", "shop.test")
        ).backends.values()
        self.assertEqual(len(found.endpoints), 1)
        snapshot = cluster.write("door", door("front", 8001), toy("in", "toy.test", door="front"))
        [found] = snapshot.backends.values()
        self.assertEqual(found.endpoints, ())
        self.assertIn(Reason.ENDPOINT_FORBIDDEN, {problem.reason for problem in snapshot.problems})
        [found] = cluster.write("door").backends.values()
        self.assertEqual(len(found.endpoints), 1)

    def test_certificates_of_all(self) -> None:
        """Certificates of all tables are shown to operators, each host once."""
        chain, key = issue(make_authority(), ["toy.test"], not_before=NOW.replace(day=1, month=6))
        self.cluster.write("doors", door("front", 8001, tls=True), secret_object("toy", chain, key))
        snapshot = self.cluster.write(
            "toys",
            toy("in", "toy.test", door="front", secret="toy"),
            toy("out", "toy.test", secret="toy"),
        )
        self.assertEqual([host for host, _ in snapshot.shown()], ["toy.test"])
        self.assertEqual(self.cluster.translation.certificates, 1)

    def test_bytes(self) -> None:
        """Listeners and all tables travel with a snapshot."""
        snapshot = self.cluster.write("toys", door("front", 8001), toy("in", "toy.test", door="front"))
        read = sent(snapshot)
        self.assertEqual(differences(read, snapshot), ())
        self.assertEqual(read.listeners, snapshot.listeners)


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
            serving=logged_to(str(self.access_log)),
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


contents = st.lists(
    st.builds(
        lambda name, host, at, path, secret: (
            ingress_object(name, host, secret or None)
            if at == "ingress"
            else toy(name, host, path=path, secret=secret, **({"door": at} if at else {}))
        ),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["toy.test", "*.toy.test", "in.toy.test"]),
        st.sampled_from(["", "front", "back", "ingress"]),
        st.sampled_from(["/", "/a"]),
        st.sampled_from(["", "toy"]),
    ),
    max_size=3,
)
doors = st.lists(
    st.builds(door, st.sampled_from(["front", "back"]), st.sampled_from([0, 80, 8001, 8002])), max_size=2
)


class HistoryTests(SynchronousTestCase):
    """Both translations, along random histories of two kinds and several tables."""

    @settings(deadline=None, derandomize=True, max_examples=30, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(st.sampled_from(["x", "y"]), contents, doors), max_size=5), st.booleans())
    def test_both_come_to_the_same(self, history: list[tuple[str, Any, Any]], has_default: bool) -> None:
        """Whatever comes and goes, each step is what a full translation makes of the state, and nothing is left at the end."""
        default = BackendReference(NAMESPACE, "web", 80) if has_default else None
        listeners = (Listener("tcp:80:interface=127.0.0.1", is_required=True),)
        cluster = Cluster(listeners=listeners, default_backend_service=default)
        first = cluster.write("web", service_object("web"), secret_object("toy", *TOY_PAIR))
        for name, some, doors_there in history:
            cluster.write(name, *({(one["kind"], one["metadata"]["name"]): one for one in some}).values())
            cluster.write("doors", *({one["metadata"]["name"]: one for one in doors_there}).values())
        for name in ("x", "y", "doors"):
            last = cluster.write(name)
        self.assertEqual((last.listeners, last.others), (listeners, {}))
        self.assertEqual(differences(last, first), ())
        self.assertEqual(cluster.translation.served, dict.fromkeys(cluster.translation.served, 0))


PACKAGE = Path(ingress.__file__).parent
TELLING = (PACKAGE / "admission", PACKAGE / "ctl", PACKAGE / "explain")
"""Rooms that judge and explain Ingresses for people: nothing is served by them."""


class FolderTests(SynchronousTestCase):
    """What serves toy routes, and what knows of them."""

    def test_nothing_else_knows(self) -> None:
        """No module of the controller names the kind, or a thing of its folder."""
        for path in PACKAGE.rglob("*.py"):
            self.assertNotIn("toy", path.read_text("utf-8").lower(), path)

    def test_few_know_ingresses(self) -> None:
        """Nor does any that serves, but the folder of Ingress, name that kind by its type; those that tell people of it do."""
        folder = PACKAGE / "translate" / "readers"
        knowing = [
            path.relative_to(PACKAGE).as_posix()
            for path in PACKAGE.rglob("*.py")
            if "readers.ingress" in path.read_text("utf-8")
            and not any(map(path.is_relative_to, (folder / "ingress", *TELLING)))
        ]
        self.assertEqual(knowing, ["translate/readers/route_kinds.py"])


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

    async def test_door(self) -> None:
        """A door is opened when a route asks for it, serves its own table alone, and drains when it goes."""
        upstream, other = self.upstream(b"toys"), self.upstream(b"main")
        port = free_port()
        self.write(
            "all",
            service_object("web"),
            slice_object("web", upstream.endpoint),
            service_object("main"),
            slice_object("main", other.endpoint),
            toy("main", "shop.test", "main"),
        )
        self.write("door", door("front", port), toy("one", "shop.test", door="front"))
        self.serve(Settings(manifests=(str(self.manifests),)))
        await self.until_get((200, b"toys"), port)
        self.assertEqual(await self.get(self.http), (200, b"main"))
        client = await self.connect(port)
        client.get(b"/", b"shop.test")
        await client.answer().addTimeout(PATIENCE, self.reactor)
        staying = await self.connect(self.http)
        staying.get(b"/", b"shop.test")
        await staying.answer().addTimeout(PATIENCE, self.reactor)
        self.write("door", door("front", port))
        await self.until(lambda: client.lost is not None)
        self.assertEqual(await self.get(port), (NO_ANSWER, b""))
        self.assertIsNone(staying.lost)
        self.write("door", door("front", port), toy("one", "shop.test", door="front"))
        await self.until_get((200, b"toys"), port)

    async def test_door_over_tls(self) -> None:
        """A door may speak TLS, by the certificates of its own table."""
        upstream = self.upstream(b"toys")
        authority = make_authority()
        chain, key = issue(authority, ["shop.test"])
        port = free_port()
        self.write(
            "all",
            service_object("web"),
            slice_object("web", upstream.endpoint),
            secret_object("toy", chain, key),
            door("front", port, tls=True),
            toy("one", "shop.test", door="front", secret="toy"),
        )
        self.serve(Settings(manifests=(str(self.manifests),)))
        await self.until_get((200, b"toys"), port, trust=authority)

    async def test_door_that_is_taken(self) -> None:
        """A door that cannot be opened is told, and harms nothing else."""
        upstream = self.upstream(b"main")
        taken = upstream.endpoint.port
        self.write(
            "all", service_object("web"), slice_object("web", upstream.endpoint), toy("main", "shop.test")
        )
        self.write("door", door("front", taken), toy("one", "shop.test", door="front"))
        with capturedLogs() as events:
            service = self.serve(Settings(manifests=(str(self.manifests),)))
            await self.until(lambda: "listeners not open" not in service.missing())
        self.assertEqual(await self.get(self.http), (200, b"main"))
        told = [str(formatEvent(event)) for event in events]
        self.assertEqual(len([line for line in told if f"cannot listen on tcp:{taken}" in line]), 1)


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
