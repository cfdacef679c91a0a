"""Tests for ``ingress.cluster.api_server``: threads, real connections, and an API server with faults."""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from threading import current_thread
from time import monotonic
from typing import Any

import yaml
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import deferLater

from ingress.annotations import annotations
from ingress.annotations.annotations import FAMILIES
from ingress.cluster.api_server import ApiServerSource
from ingress.cluster.kinds import KINDS
from ingress.cluster.secrets import secret_references
from ingress.cluster.watching import refusal
from ingress.errors import StartError
from ingress.metrics.series.watch import WatchMetrics
from ingress.model.cluster.objects import Batch, Kind, ObjectId, ObjectKey, Service
from tests.cluster.api_server_case import SOON_SECONDS, in_thread, reactor
from tests.cluster.source_case import Content, SourceTestCase, ingress, running_threads, secret, service
from tests.fakes.apiserver.access import Grant
from tests.fakes.apiserver.faults import Answer, Delay, Drop, Fault, Hang, Hold, RawBody
from tests.translate.badges import BADGES

# What a credential plugin prints.
STATUS = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "kind": "ExecCredential",
    "status": {"token": "t"},
}
# One that prints it when it is told to, by a file, and tells by another one that it runs.
PATIENT_PROGRAM = """
import os, sys, time
runs, goes_on, status = sys.argv[1:]
open(runs, "w").close()
end = time.monotonic() + 60
while not os.path.exists(goes_on) and time.monotonic() < end:
    time.sleep(0.01)
print(status)
"""
OTHER_KINDS = ("CustomResourceDefinition", "Ingress", "IngressClass", "EndpointSlice", "Secret")


WATCHED = [read for read in KINDS.values() if "watch" in read.verbs and not read.definition]


class SyncTests(SourceTestCase):
    """The first content, and what follows."""

    async def test_every_kind(self) -> None:
        """Objects of all kinds are handed over, then the sink is synced, and changes follow."""
        for one in (service("web"), ingress("web", "tls"), secret("tls"), secret("other")):
            self.server.create(one)
        source = self.source()
        self.assertEqual(set(source.missing()), {"Service", *OTHER_KINDS})
        content = await self.synced()
        self.assertEqual(self.running.missing(), ())
        assert isinstance(self.running, ApiServerSource)
        self.assertEqual(self.running.addresses(), {"127.0.0.1"})
        self.assertEqual(content.names(), {"web"})
        self.assertEqual(content.names(Kind.INGRESS), {"web"})
        self.assertEqual(content.names(Kind.SECRET), {"tls"})
        self.server.delete("Service", "web", "shop")
        await self.until(lambda: not content.names())
        await self.arrives(content, "new")

    async def test_slices(self) -> None:
        """What the threads have read is taken over in turns of the reactor of which each has one slice, of whatever else there is to do."""
        content = await self.synced()
        assert isinstance(self.running, ApiServerSource)
        asked: list[float] = []
        call_later = self.running.slices.callLater

        def noted(delay: float, call: Callable[[], object]) -> IDelayedCall:
            asked.append(delay)
            return call_later(delay, call)

        self.patch(self.running.slices, "callLater", noted)
        await self.arrives(content, "new")
        self.assertEqual(set(asked), {0})

    async def test_what_is_called(self) -> None:
        """Nothing is called but what the table of kinds says, and all of that is."""
        self.server.streaming_list = False
        self.patch(annotations, "FAMILIES", (*FAMILIES, BADGES))
        naming = ingress("web", "opaque")
        naming["metadata"]["annotations"] = {"nginx.ingress.kubernetes.io/badge-config": "named"}
        self.server.create(naming)
        await self.synced()
        await self.server.when(lambda: len(self.server.watches) == len(WATCHED))
        called = {(call.group, call.plural, call.verb) for call in self.server.requests}
        table = {
            (read.group, read.plural, verb)
            for read in KINDS.values()
            if not read.definition
            for verb in read.verbs
        }
        self.assertEqual(called, table)
        for call in self.server.requests_of("watch"):
            self.assertEqual(call.query["allowWatchBookmarks"], "true")
            self.assertTrue(290 <= int(call.query["timeoutSeconds"]) <= 590)

    async def test_pages(self) -> None:
        """Without streaming lists, all pages arrive, and the watch begins at the list's version."""
        self.server.streaming_list = False
        for number in range(600):
            self.server.create(service(f"s{number}"))
        content = await self.synced()
        self.assertEqual(len(content.names()), 600)
        self.assertEqual(len(self.server.requests_of("list", "services")), 3)
        self.assertEqual(len(content.changes), 600)
        await self.arrives(content, "new")
        self.assertEqual(len(content.changes), 601)

    async def test_no_gap(self) -> None:
        """What changes between the list and the watch arrives, once."""
        self.server.streaming_list = False
        self.server.faults.add(Answer(422), verb="watch", resource="services")
        hold = Hold()
        self.server.faults.add(hold, verb="watch", resource="services")
        self.server.create(service("old"))
        content = await self.synced()
        self.assertEqual(self.server.watches_of("services"), ())
        self.server.delete("Service", "old", "shop")
        self.server.create(service("new"))
        await self.server.when(lambda: bool(hold.waiting))
        hold.release()
        await self.until(lambda: content.names() == {"new"})
        self.assertEqual(len(content.changes), 3)

    async def test_page_expires(self) -> None:
        """A page that expired starts the list again."""
        self.server.streaming_list = False
        for number in range(300):
            self.server.create(service(f"s{number}"))
        # The request for the second page.
        self.server.faults.add(Delay(0), verb="list", resource="services")
        self.server.faults.add(Answer(410, reason="Expired"), verb="list", resource="services")
        content = await self.synced()
        self.assertEqual(len(content.names()), 300)
        self.assertEqual(len(self.server.requests_of("list", "services")), 4)

    async def test_byte_by_byte(self) -> None:
        """Events that come in single bytes are read as any others."""
        self.server.split_bytes = 1
        self.server.create(service("web"))
        content = await self.synced()
        self.assertEqual(content.names(), {"web"})

    async def test_namespaces(self) -> None:
        """With namespaces named, each is read by itself, and nothing else is asked for but classes and definitions."""
        for name, namespace in (("a", "one"), ("b", "two"), ("c", "three")):
            self.server.create(service(name, namespace))
        content = await self.synced(namespaces=("one", "two"))
        self.assertEqual(content.names(), {"a", "b"})
        self.assertEqual((self.running.reads("two"), self.running.reads("three")), (True, False))
        scopes = {(call.plural, call.namespace) for call in self.server.requests}
        names = {read.plural for read in WATCHED if read.namespaced}
        everywhere = {("ingressclasses", ""), ("customresourcedefinitions", "")}
        self.assertEqual(scopes, {(name, space) for name in names for space in ("one", "two")} | everywhere)


class TLSSyncTests(SyncTests):
    """The same over TLS."""

    tls = True


class FaultTests(SourceTestCase):
    """An API server that has troubles."""

    async def test_closed_streams(self) -> None:
        """Whichever way a watch ends, the changes that follow arrive, and nothing is listed again."""
        content = await self.synced()
        lists = len([call for call in self.server.requests if "sendInitialEvents" in call.query])
        endings: tuple[Any, ...] = ("finish", "cut", "reset")
        for how in endings:
            self.server.close_watches(how)
            await self.arrives(content, f"after-{how}")
        again = [call for call in self.server.requests if "sendInitialEvents" in call.query]
        self.assertEqual(len(again), lists)

    async def test_expired(self) -> None:
        """What was deleted while we were away is deleted here too, and the rest is not handed over again."""
        for as_status in (False, True):
            self.server.gone_as_status = as_status
            for name in ("stays", "goes"):
                self.server.apply(service(f"{name}-{as_status}"))
            content = await self.synced()
            port = self.server.port
            await self.server.stop_listening()
            self.server.reset_connections()
            self.server.delete("Service", f"goes-{as_status}", "shop")
            self.server.compact()
            content.changes.clear()
            await self.server.listen(port)
            await self.until(lambda c=content, s=as_status: f"goes-{s}" not in c.names())  # type: ignore[misc]
            self.assertEqual(
                content.changes, [(Kind.SERVICE, ObjectKey("shop", f"goes-{as_status}"))], as_status
            )
            await self.running.stop()

    async def test_away(self) -> None:
        """While the API server is away, the last state is kept; when it is back, changes arrive."""
        self.server.create(service("web"))
        content = await self.synced()
        port = self.server.port
        await self.server.stop_listening()
        self.server.reset_connections()
        await deferLater(reactor, 0.1, lambda: None)
        self.assertEqual(content.names(), {"web"})
        self.assertEqual(self.running.missing(), ())
        await self.server.listen(port)
        await self.arrives(content, "new")

    async def test_half_open(self) -> None:
        """A connection that is open and dead is noticed, and what was missed is made up for."""
        self.server.bookmark_seconds = 0.05
        metrics = WatchMetrics()
        content = await self.synced(read_seconds=0.5, metrics=metrics)
        (counts,) = (one for one in metrics.reflectors if one.kind == "Service")
        self.server.freeze()
        self.server.create(service("missed"))
        requests, reconnects = len(self.server.requests), counts.reconnects
        await self.until(lambda: counts.reconnects > reconnects)
        self.assertEqual(content.names(), set())
        self.server.thaw()
        await self.until(lambda: "missed" in content.names())
        self.assertGreater(len(self.server.requests), requests)

    async def test_bad_answers(self) -> None:
        """Refusals, dropped connections and garbage delay the first sync and do not spoil it."""
        self.server.create(service("web"))
        faults: tuple[Fault, ...] = (
            Answer(500),
            Answer(429, {"Retry-After": "0"}),
            Drop(),
            RawBody(b"{}\n"),
            RawBody(b'{"type": "ADDED", "obj', "cut"),
            RawBody(b"<html>", "finish"),
        )
        for fault in faults:
            self.server.faults.add(fault, resource="services")
        content = await self.synced()
        self.assertEqual(content.names(), {"web"})
        self.assertEqual(len(self.server.faults), 0)

    async def test_answers_that_come_to_nothing(self) -> None:
        """An API server whose answers begin well and break off is asked ever more rarely, though each of these is news at first."""
        content = await self.synced(backoff_seconds=0.2)
        self.server.faults.add(RawBody(b"", "cut"), times=None)
        self.server.close_watches("cut")
        await deferLater(reactor, 0.5, lambda: None)
        before = len(self.server.requests)
        await deferLater(reactor, 2.0, lambda: None)
        self.assertLess(len(self.server.requests) - before, 200)
        self.server.faults.clear()
        await self.arrives(content, "web")

    async def test_new_token(self) -> None:
        """After 401 the credentials are loaded anew."""
        # A hundred times as fast, so that the pause between two loads passes.
        content = await self.synced(clock=lambda: monotonic() * 100)
        await deferLater(reactor, 0.15, lambda: None)
        self.server.access.tokens = {"new": None}
        self.server.write_kubeconfig(self.kubeconfig, token="new")
        self.server.close_watches()
        await self.arrives(content, "web")

    async def test_random_history(self) -> None:
        """After a history of changes and faults, the content is that of the API server."""
        chance = random.Random(4)
        self.server.streaming_list = chance.random() < 0.5
        content = await self.start()
        endings: tuple[Any, ...] = ("finish", "cut", "reset")
        for _ in range(150):
            name = f"s{chance.randrange(12)}"
            step = chance.random()
            if step < 0.5:
                self.server.apply(service(name, service_type=chance.choice(("ClusterIP", "NodePort"))))
            elif step < 0.75:
                if any(one["metadata"]["name"] == name for one in self.server.list("Service")):
                    self.server.delete("Service", name, "shop")
            elif step < 0.83:
                self.server.close_watches(chance.choice(endings), "services")
            elif step < 0.87:
                self.server.compact()
            elif step < 0.9:
                self.server.streaming_list = not self.server.streaming_list
            else:
                faults: tuple[Fault, ...] = (
                    Answer(410, reason="Expired"),
                    Answer(503),
                    Drop(),
                    RawBody(b"x\n"),
                )
                self.server.faults.add(chance.choice(faults), resource="services")
            await deferLater(reactor, chance.choice((0, 0.002, 0.01)), lambda: None)
        self.server.faults.clear()
        self.server.create(service("last"))
        expected = {
            (Kind.SERVICE, ObjectKey("shop", one["metadata"]["name"])): one["spec"]["type"]
            for one in self.server.list("Service")
        }

        def types() -> dict[ObjectId, str]:
            values = {key: projection.value for key, projection in content.objects.items()}
            return {key: value.type for key, value in values.items() if isinstance(value, Service)}

        await self.until(lambda: types() == expected)

    async def test_lists_that_fail(self) -> None:
        """Where a kind is quiet, and lists of it fail, it is watched all the same."""
        self.server.bookmark_seconds = 1e9
        content = await self.synced(read_seconds=0.5)
        self.server.faults.add(Answer(500), verb="list", resource="services", times=None)
        await self.until(lambda: 500 in {call.status for call in self.server.requests_of("list", "services")})
        self.server.create(service("new"))
        await self.until(lambda: content.names() == {"new"})

    async def test_restored_from_a_backup(self) -> None:
        """Where etcd was restored, and the API server takes a watch from a version of the future and is silent, as it does, all is listed anew."""
        self.server.create(service("stays"))
        backup = self.server.history.version
        self.server.create(service("lost"))
        self.server.history.advance()
        content = await self.synced(read_seconds=0.5)
        self.assertEqual(content.names(), {"stays", "lost"})
        self.server.faults.add(RawBody(b"", "stay"), verb="watch", resource="services", times=None)
        self.server.reset_connections()
        self.server.history.restore(backup)
        self.server.create(service("new"))
        await self.until(
            lambda: any(
                call.query.get("limit") == "1" for call in self.server.requests_of("list", "services")
            )
        )
        self.server.faults.clear()
        await self.until(lambda: content.names() == {"stays", "new"})
        # No watch from there was refused, which would lead to a list, too.
        self.assertNotIn(504, {call.status for call in self.server.requests_of("watch", "services")})


class TLSFaultTests(FaultTests):
    """The same over TLS."""

    tls = True


class RightsTests(SourceTestCase):
    """Service accounts that may not do everything."""

    def grant(self, *plurals: str) -> None:
        rule = {"apiGroups": ["*"], "resources": list(plurals), "verbs": ["list", "watch"]}
        self.server.access.tokens = {str(self.server.token): (Grant(rule),)}

    async def test_optional_kinds(self) -> None:
        """Without the right to Secrets and classes, the rest is served."""
        self.grant("ingresses", "services", "endpointslices")
        self.server.create(secret("tls"))
        self.server.create(service("web"))
        content = await self.synced()
        self.assertEqual(content.names(), {"web"})
        self.assertEqual(content.names(Kind.SECRET), set())

    async def test_needed_kinds(self) -> None:
        """Without the right to Services there is no sync, and it is said what is missing."""
        self.grant("ingresses", "endpointslices", "secrets", "ingressclasses")
        content = await self.start()
        await self.until(lambda: len(self.running.missing()) == 1)
        (missing,) = self.running.missing()
        self.assertRegex(missing, "^Service: 403 Forbidden: services is forbidden")
        await self.until(lambda: len(self.server.requests_of("watch", "services")) > 1)
        self.assertEqual(content.synced_times, 0)
        self.grant("*")
        await self.until(lambda: content.synced_times == 1)


class SingleConfigMapTests(SourceTestCase):
    """ConfigMaps that are followed, each by a watch of its own."""

    async def test_forbidden(self) -> None:
        """Each that may not be read is a problem of its own, and stays one when another may be read."""
        # It is one once it has lasted a minute.
        self.patch(refusal, "PROBLEM_SECONDS", 0.0)
        keys = tuple(ObjectKey("ours", name) for name in ("options", "ports"))

        def grant(*names: str) -> None:
            rules: list[dict[str, Any]] = [
                {"apiGroups": ["*"], "resources": [plural], "verbs": ["list", "watch"]}
                for plural in ("ingresses", "services", "endpointslices", "secrets", "ingressclasses")
            ]
            verbs = ["get", "list", "watch"]
            rules += [
                {"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs, "resourceNames": [name]}
                for name in names
            ]
            self.server.access.tokens = {str(self.server.token): tuple(map(Grant, rules))}

        grant()
        content = await self.start(single_config_maps=keys)
        both = {"ConfigMap/options", "ConfigMap/ports"}
        await self.until(lambda: both <= content.names(Kind.WATCH))
        grant("options")
        await self.until(lambda: "ConfigMap/options" not in content.names(Kind.WATCH))
        self.assertIn("ConfigMap/ports", content.names(Kind.WATCH))


class SingleServiceTests(SourceTestCase):
    """A Service that is read wherever it is."""

    KEY = ObjectKey("ours", "txingress")

    async def test_in_another_namespace(self) -> None:
        """Where namespaces are named, this one Service is read besides them, by its name, and followed."""
        for name in ("txingress", "another"):
            self.server.create(service(name, "ours"))
        self.server.create(service("web"))
        content = await self.synced(namespaces=("shop",), single_service=self.KEY)
        self.assertEqual(content.names(), {"web", "txingress"})
        (call,) = (call for call in self.server.requests if call.namespace == "ours")
        self.assertEqual(call.query["fieldSelector"], "metadata.name=txingress")
        self.server.delete("Service", "txingress", "ours")
        await self.until(lambda: content.names() == {"web"})

    async def test_where_it_is_read_anyway(self) -> None:
        """Where its namespace is read, or all of them are, nothing more is asked."""
        for namespaces in ((), ("ours", "shop")):
            self.server.requests.clear()
            await self.synced(namespaces=namespaces, single_service=self.KEY)
            self.assertFalse([call for call in self.server.requests if "metadata.name" in str(call.query)])
            await self.running.stop()

    async def test_forbidden(self) -> None:
        """Without the right to it the rest is served."""
        rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch"]}
        self.server.access.tokens = {str(self.server.token): (Grant(rule, "shop"),)}
        self.server.create(service("web"))
        content = await self.synced(namespaces=("shop",), single_service=self.KEY)
        self.assertEqual(content.names(), {"web"})

    async def test_news_goes_round(self) -> None:
        """When one kind gets an answer again, those that wait for one ask at once."""
        for resource in ("services", "endpointslices"):
            self.server.faults.add(Answer(503), resource=resource)

        def random() -> float:
            return -0.999 if current_thread().name == "reflector EndpointSlice" else 0.0

        content = await self.start(backoff_seconds=60.0, random=random)
        await self.until(lambda: content.synced_times > 0)

    async def test_others_may_ask(self) -> None:
        """Connections to the same API server, and the namespace that we are in, are there once it is started."""
        await self.synced()
        source = self.running
        assert isinstance(source, ApiServerSource)
        self.assertEqual(source.namespace, "default")
        connection = source.connection()
        self.addCleanup(connection.close)
        body = await in_thread(lambda: connection.get("/api/v1/services", []).read_all())
        self.assertIn(b"ServiceList", body)


class StartTests(SourceTestCase):
    """The beginning."""

    async def test_no_kubeconfig(self) -> None:
        """A kubeconfig that does not exist fails the start, in one line."""
        source = self.source(kubeconfig="/no/such/config")
        with self.assertRaises(StartError) as caught:
            await source.start(Content())
        self.assertEqual(str(caught.exception), "kubeconfig /no/such/config: no such file")
        await source.stop()

    async def test_api_server_away(self) -> None:
        """An API server that is not there yet is no reason to fail."""
        port = self.server.port
        await self.server.stop_listening()
        content = await self.start()
        await deferLater(reactor, 0.05, lambda: None)
        await self.server.listen(port)
        await self.until(lambda: content.synced_times == 1)

    async def test_stop_while_loading(self) -> None:
        """A plugin that takes its time delays neither the reactor nor the end."""
        runs, goes_on = (Path(self.mktemp()).resolve() for _ in range(2))
        config = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        config["users"][0]["user"] = {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": sys.executable,
                "args": ["-S", "-c", PATIENT_PROGRAM, str(runs), str(goes_on), json.dumps(STATUS)],
                "interactiveMode": "Never",
            }
        }
        self.kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
        source = self.source()
        started = source.start(Content())
        await self.until(runs.exists)
        await source.stop()
        self.assertNoResult(started)
        goes_on.touch()
        await started
        self.assertEqual(self.server.requests, [])


class StopTests(SourceTestCase):
    """The end, in every phase."""

    async def assert_stops(self, content: Content) -> None:
        """Stopping waits for no time limit, and nothing is handed over from then on."""
        before = monotonic()
        stopped = self.running.stop()
        content.changes.clear()
        await stopped
        self.assertLess(monotonic() - before, SOON_SECONDS)
        self.assertEqual(running_threads(), [])
        self.assertEqual(content.changes, [])

    async def test_while_watching(self) -> None:
        """Quiet and busy watches end at once."""
        content = await self.synced()
        await self.server.when(lambda: len(self.server.watches) == len(WATCHED))
        for number in range(200):
            self.server.create(service(f"s{number}"))
        await self.assert_stops(content)

    async def test_while_waiting_for_an_answer(self) -> None:
        """A request that nobody answers does not hold the thread."""
        self.server.faults.add(Hang(), times=None)
        content = await self.start()
        # Secrets come last.
        await self.server.when(lambda: len(self.server.requests) == len(WATCHED) - 1)
        await self.assert_stops(content)

    async def test_amid_secrets(self) -> None:
        """The Secrets of an Ingress that is gone are forgotten some a turn, which ends at once."""
        self.patch(secret_references, "JUDGED_AT_ONCE", 2)
        names = {f"t{number}" for number in range(20)}
        for name in names:
            self.server.create(secret(name))
        self.server.create(ingress("web", *names))
        content = await self.synced()
        self.assertEqual(content.names(Kind.SECRET), names)
        changed = Content.changed
        stopped: list[Deferred[None]] = []

        def stopping(content: Content, batch: Batch) -> None:
            changed(content, batch)
            if (Kind.INGRESS, ObjectKey("shop", "web")) in batch and not stopped:
                content.changes.clear()
                stopped.append(self.running.stop())

        self.patch(Content, "changed", stopping)
        self.server.delete("Ingress", "web", "shop")
        await self.until(lambda: bool(stopped))
        await stopped[0]
        await deferLater(reactor, 0.02, lambda: None)
        self.assertEqual(content.changes, [])

    async def test_frozen(self) -> None:
        """A server that accepts connections and says nothing does not hold the threads."""
        self.server.freeze()
        content = await self.start()
        await self.until(lambda: self.server.connection_count == len(WATCHED) - 1)
        await self.assert_stops(content)

    async def test_while_waiting_after_an_error(self) -> None:
        """A back-off ends at once."""
        await self.server.stop_listening()
        content = await self.start(backoff_seconds=60.0)
        await deferLater(reactor, 0.1, lambda: None)
        await self.assert_stops(content)

    async def test_while_listing(self) -> None:
        """A list in pages ends between two of them or within one."""
        self.server.streaming_list = False
        for number in range(2000):
            self.server.create(service(f"s{number}"))
        content = await self.start()
        await self.server.when(lambda: len(self.server.requests_of("list", "services")) == 2)
        await self.assert_stops(content)


class TLSStopTests(StopTests):
    """The same over TLS."""

    tls = True
