"""Tests of kinds that an API server has only while they are defined, by real requests on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import evolve
from twisted.logger import LogLevel, capturedLogs

from ingress.cluster.kinds import ObjectKinds
from ingress.metrics.series.watch import WatchMetrics
from ingress.model.cluster.objects import ObjectKey
from ingress.translate.readers.gateway.objects.definitions import Definition
from ingress.translate.readers.gateway.objects.names import (
    DEFINITION,
    GATEWAY,
    GATEWAY_CLASS,
    GROUP,
    HTTP_ROUTE,
    NAMESPACE,
)
from ingress.translate.readers.route_kinds import kinds_served
from tests.cluster.source_case import SourceTestCase, running_threads, service
from tests.fakes.apiserver.access import Grant
from tests.fakes.apiserver.faults import Answer, Delay, Hang
from tests.fakes.apiserver.kinds import GATEWAY_KINDS, KINDS, Json, KindTable, definition_of

HTTP_ROUTES = next(row for row in GATEWAY_KINDS if row.plural == "httproutes")
DEFINITION_NAME = f"httproutes.{GROUP}"


def route(name: str) -> Json:
    """An HTTPRoute for one host."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"parentRefs": [{"name": "main"}], "hostnames": [f"{name}.example.com"]},
    }


GATEWAY_OBJECT: Json = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Gateway",
    "metadata": {"name": "main", "namespace": "shop"},
    "spec": {"gatewayClassName": "txingress", "listeners": []},
}


def grant(group: str, *resources: str, namespace: str | None = None) -> Grant:
    """The right to list and to watch."""
    rule = {"apiGroups": [group], "resources": list(resources), "verbs": ["list", "watch"]}
    return Grant(rule, namespace)


BESIDES = (
    grant("", "services", "secrets", "namespaces"),
    grant("networking.k8s.io", "ingresses", "ingressclasses"),
    grant("discovery.k8s.io", "endpointslices"),
)
ROUTES = grant(GROUP, *(row.plural for row in GATEWAY_KINDS))
DEFINITIONS = grant("apiextensions.k8s.io", "customresourcedefinitions")


class DefinedKindsTests(SourceTestCase):
    """The kinds of the Gateway API."""

    @contextmanager
    def nothing_wrong(self) -> Iterator[None]:
        """Fail where anything is said that is worse than news."""
        with capturedLogs() as events:
            yield
        said = [event for event in events if event["log_level"] > LogLevel.info]
        self.assertEqual([event.get("log_format") for event in said], [])

    def gateway_calls(self) -> set[str]:
        """What was asked of the group."""
        return {call.plural for call in self.server.requests if call.group == GROUP}

    def permit(self, *grants: Grant) -> None:
        """Leave the program these rights alone."""
        self.server.access.tokens = {self.server.token or "": grants}

    def forms_of_lists(self) -> set[str]:
        """How definitions were asked for."""
        calls = [call for call in self.server.requests if call.plural == "customresourcedefinitions"]
        return {call.headers["accept"].partition(",")[0] for call in calls}

    async def test_nowhere(self) -> None:
        """Where nobody defined them, one thread watches for that, nothing is asked of the group, and nothing is wrong."""
        with self.nothing_wrong():
            content = await self.synced()
            await self.arrives(content, "web")
        self.assertEqual(self.gateway_calls(), set())
        reflectors = sorted(name for name in running_threads() if name.startswith("reflector"))
        self.assertEqual(
            reflectors,
            [
                f"reflector {kind}"
                for kind in (
                    "CustomResourceDefinition",
                    "EndpointSlice",
                    "Ingress",
                    "IngressClass",
                    "Secret",
                    "Service",
                )
            ],
        )

    async def test_there_before_us(self) -> None:
        """The first sync has the objects of all kinds that are defined."""
        self.server.define()
        self.server.create(route("web"))
        self.server.faults.add(Delay(0.1), resource="httproutes")
        content = await self.synced()
        self.assertEqual(content.names(HTTP_ROUTE), {"web"})
        self.assertEqual(content.names(DEFINITION), {row.qualified for row in GATEWAY_KINDS})

    async def test_only_metadata(self) -> None:
        """Of definitions nothing but metadata is asked for, and those of other groups are not kept."""
        for streams in (True, False):
            self.server.streaming_list = streams
            other = definition_of(evolve(HTTP_ROUTES, group="example.com", plural=f"others{streams}".lower()))
            self.server.create(other)
            content = await self.synced()
            self.assertEqual([one for one in content.objects.values() if one.value is not None], [])
            await self.running.stop()
        self.assertEqual(
            self.forms_of_lists(),
            {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            },
        )

    async def test_come(self) -> None:
        """They are watched from the moment when their definitions come."""
        with self.nothing_wrong():
            content = await self.synced()
            self.server.define()
            self.server.create(route("web"))
            await self.until(lambda: content.names(HTTP_ROUTE) == {"web"})
            self.server.create(route("other"))
            await self.until(lambda: content.names(HTTP_ROUTE) == {"web", "other"})
        self.assertEqual(content.synced_times, 1)
        self.assertEqual(self.running.missing(), ())

    async def test_no_storage_yet(self) -> None:
        """What was defined a moment ago is waited for, also by the first sync, and that is nothing to worry about."""
        self.server.define()
        self.server.create(route("web"))
        message = "storage is (re)initializing"
        self.server.faults.add(
            Answer(429, message=message, reason="TooManyRequests"), resource="httproutes", times=2
        )
        with self.nothing_wrong():
            content = await self.synced()
        self.assertEqual(content.names(HTTP_ROUTE), {"web"})

    async def test_go_and_come_again(self) -> None:
        """When a definition goes, its objects are gone, and so is the thread; when it comes, they are there again."""
        self.server.define()
        self.server.create(route("web"))
        self.server.create(service("web"))
        content = await self.synced()
        for _ in range(3):
            self.server.delete("CustomResourceDefinition", DEFINITION_NAME)
            await self.until(lambda: content.names(HTTP_ROUTE) == set())
            await self.until(lambda: "reflector HTTPRoute" not in running_threads())
            self.assertIn("reflector Gateway", running_threads())
            self.server.create(definition_of(HTTP_ROUTES))
            await self.until(lambda: content.names(HTTP_ROUTE) == {"web"})
        self.assertEqual(content.names(), {"web"})

    async def test_counts_go_with_them(self) -> None:
        """Of a kind that is gone no series grows older, and one that came again has one series of each."""
        self.server.define()
        metrics = WatchMetrics()
        content = await self.synced(metrics=metrics)

        def shown() -> list[str]:
            return [one.kind for one in metrics.reflectors if one.kind == HTTP_ROUTE]

        self.assertEqual(shown(), [HTTP_ROUTE])
        self.server.delete("CustomResourceDefinition", DEFINITION_NAME)
        await self.until(lambda: shown() == [])
        self.server.create(definition_of(HTTP_ROUTES))
        self.server.create(route("web"))
        await self.until(lambda: content.names(HTTP_ROUTE) == {"web"})
        self.assertEqual(shown(), [HTTP_ROUTE])

    async def test_goes_before_it_was_read(self) -> None:
        """A definition that goes while its objects are asked for holds nobody back."""
        self.server.create(definition_of(HTTP_ROUTES))
        self.server.faults.add(Hang(), resource="httproutes", times=None)
        content = await self.start()
        await self.until(lambda: "httproutes" in self.gateway_calls())
        self.assertIn("HTTPRoute", self.running.missing())
        self.server.delete("CustomResourceDefinition", DEFINITION_NAME)
        await self.until(lambda: content.synced_times == 1)

    async def test_namespaces_are_asked_for_with_gateways(self) -> None:
        """What the labels of Namespaces say matters where there are Gateways, and nowhere else."""
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "b"}}}
        self.server.create(space)
        self.server.create(definition_of(HTTP_ROUTES))
        content = await self.synced()
        self.assertEqual(content.names(NAMESPACE), set())
        self.server.define()
        await self.until(lambda: content.names(NAMESPACE) == {"shop"})

    async def test_new_version(self) -> None:
        """The versions of definitions are handed over, also when they change."""
        self.server.create(definition_of(HTTP_ROUTES, "v1.6.0"))
        content = await self.synced()
        key = ObjectKey("", DEFINITION_NAME)
        self.assertEqual(content.objects[DEFINITION, key].value, Definition(key, "v1.6.0", "standard"))
        self.server.apply(definition_of(HTTP_ROUTES, "v1.7.0", "experimental"))
        new = Definition(key, "v1.7.0", "experimental")
        await self.until(lambda: content.objects[DEFINITION, key].value == new)

    async def test_definitions_forbidden(self) -> None:
        """Whoever may not read definitions discovers what is served, at the start and later; that is said once."""
        self.permit(*BESIDES, ROUTES)
        self.server.create(definition_of(HTTP_ROUTES))
        self.server.create(route("web"))
        with capturedLogs() as events:
            content = await self.synced()
            self.assertEqual(content.names(HTTP_ROUTE), {"web"})
            key = ObjectKey("", DEFINITION_NAME)
            self.assertEqual(content.objects[DEFINITION, key].value, Definition(key, None))
            self.server.define()
            await self.until(lambda: GATEWAY_CLASS in self.kinds_watched())
            self.server.delete("CustomResourceDefinition", DEFINITION_NAME)
            await self.until(lambda: content.names(HTTP_ROUTE) == set())
        said = [event for event in events if event["log_level"] > LogLevel.info]
        self.assertEqual([event["name"] for event in said], ["CustomResourceDefinition"])

    def kinds_watched(self) -> set[str]:
        """The kinds that have a thread."""
        return {name.removeprefix("reflector ") for name in running_threads()}

    async def test_routes_forbidden(self) -> None:
        """A right that is missing is said once, and holds back neither the first sync nor others."""
        self.permit(*BESIDES, DEFINITIONS, grant(GROUP, "gateways"))
        self.server.define()
        self.server.create(service("web"))
        with capturedLogs() as events:
            content = await self.synced()
        self.assertEqual(content.names(), {"web"})
        said = [event["name"] for event in events if event["log_level"] > LogLevel.info]
        self.assertEqual(len(said), len(set(said)))
        self.assertEqual(
            set(said), {row.kind for row in GATEWAY_KINDS if row.plural != "gateways"}, "each is named"
        )
        self.permit(*BESIDES, DEFINITIONS, ROUTES)
        self.server.create(route("web"))
        await self.until(lambda: content.names(HTTP_ROUTE) == {"web"})

    async def test_some_namespaces(self) -> None:
        """With Roles alone, kinds are asked for in their namespaces, and what belongs to none is refused and not waited for."""
        self.permit(
            *(
                grant(one.rule["apiGroups"][0], *one.rule["resources"], namespace="shop")
                for one in (*BESIDES, ROUTES)
            )
        )
        self.server.define()
        self.server.create(route("web"))
        content = await self.synced(namespaces=("shop",))
        self.assertEqual(content.names(HTTP_ROUTE), {"web"})
        refused = {call.plural for call in self.server.requests if call.status == 403}
        self.assertEqual(
            refused, {"ingressclasses", "customresourcedefinitions", "gatewayclasses", "namespaces"}
        )
        self.assertIn("reflector Gateway in shop", running_threads())

    async def test_left_alone(self) -> None:
        """Without the Gateway API nothing of it is asked for, not even whether it is there."""
        self.server.define()
        await self.synced(kinds=ObjectKinds(kinds_served(gateway_api=False)))
        groups = {call.group for call in self.server.requests}
        self.assertEqual(groups, {"", "networking.k8s.io", "discovery.k8s.io"})


class OtherVersionTests(SourceTestCase):
    """An API server that has a kind in another version alone."""

    kinds = KindTable(
        tuple(evolve(row, version="v1beta1") if row.plural == "httproutes" else row for row in KINDS)
    )

    async def test_not_served(self) -> None:
        """That is said once, holds back nobody, and the other kinds are served."""
        self.server.define()
        self.server.create(service("web"))
        with capturedLogs() as events:
            content = await self.synced()
            await self.until(lambda: bool(said_of(events)))
        self.assertEqual(content.names(), {"web"})
        (told,) = said_of(events)
        self.assertEqual((told["name"], told["log_level"]), ("HTTPRoute", LogLevel.warn))
        self.assertIn(f"{GROUP}/v1 has no httproutes", told["cause"])
        self.server.create(GATEWAY_OBJECT)
        await self.until(lambda: content.names(GATEWAY) == {"main"})


def said_of(events: Any) -> list[Any]:
    """What was worse than news."""
    return [event for event in events if event["log_level"] > LogLevel.info]
