"""Tests for ``ingress.status.reporting``: source, store, election and writers together, over real HTTP."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import LogEvent, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api_server import ApiServerSource
from ingress.cluster.kinds import EVENTS, LEASES, STATUSES
from ingress.cluster.store import Store
from ingress.controller import Controller
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.reporting.reporting import Reporting
from ingress.status.reporting import ClusterReporting, steady_seconds, writer_name
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.names import GROUP
from ingress.translate.snapshot import Snapshot
from tests.cluster.api_server_case import PATIENCE_SECONDS, SOON_SECONDS, ApiServerTestCase, reactor
from tests.fakes.apiserver.access import grants_from_manifests
from tests.fakes.apiserver.faults import Answer, Hang
from tests.fakes.objects import ingress_object, service_object

K8S = Path(__file__).resolve().parents[2] / "k8s"
OPTIONS = TranslateOptions()
TTL_SECONDS = 18
"""So long that a busy machine costs no lease, and no write its time limit."""
ADDRESS = Reporting(publish_addresses=(Address("192.0.2.1"),), election_ttl_seconds=TTL_SECONDS)
SERVICE = Reporting(publish_service=ObjectKey("txingress", "txingress"), election_ttl_seconds=TTL_SECONDS)


def now() -> datetime:
    return datetime.now(UTC)


def refusals_said(events: Sequence[LogEvent]) -> list[str]:
    """What the log says of rights that are missing."""
    return [text for text in map(formatEvent, events) if "Not permitted" in text]


class Replica:
    """What a process has of all this, without its proxy."""

    def __init__(
        self,
        kubeconfig: Path,
        name: str,
        settings: Reporting,
        namespaces: tuple[str, ...] = (),
    ) -> None:
        self.metrics = Metrics()
        self.source = ApiServerSource(
            reactor,
            kubeconfig=str(kubeconfig),
            context=None,
            server=None,
            namespaces=namespaces,
            options=OPTIONS,
            single_service=settings.publish_service,
            environ={"POD_NAMESPACE": "txingress"},
            metrics=self.metrics.watch,
        )
        store = self.store = Store()
        self.snapshot = Snapshot()
        self.reporting = ClusterReporting(
            reactor,
            self.source.connection,
            settings,
            OPTIONS,
            store.state,
            lambda: self.source.namespace,
            name,
            self.metrics.status,
            now=now,
            random=random.random,
            watch=self.source.watch_on_demand,
            own_pod=ObjectKey("txingress", name),
        )
        self.controller = Controller(
            store, OPTIONS, self._publish, reactor, self.metrics, now, self.reporting
        )
        self.is_serving = False
        self.is_stopped = False

    def _publish(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.is_serving = True

    async def stop(self) -> None:
        """End all of it."""
        if not self.is_stopped:
            self.is_stopped = True
            self.controller.stop()
            await self.reporting.stop()
            await self.source.stop()

    @property
    def is_leading(self) -> bool:
        return self.reporting.picture()["leading"] is True


class ReportingCase(ApiServerTestCase):
    """Replicas beside a running API server."""

    async def start(
        self, name: str = "a", settings: Reporting = ADDRESS, namespaces: tuple[str, ...] = ()
    ) -> Replica:
        """Start a replica, which ends with the test."""
        replica = Replica(self.kubeconfig, name, settings, namespaces)
        self.addCleanup(lambda: Deferred.fromCoroutine(replica.stop()))
        await replica.source.start(replica.controller)
        await self.until(lambda: replica.is_serving)
        replica.reporting.start()
        return replica

    async def until(self, condition: Any) -> None:
        """Wait until something holds, with a bound."""
        deadline = reactor.seconds() + PATIENCE_SECONDS
        while not condition():
            if reactor.seconds() > deadline:
                self.fail("waited in vain")
            await deferLater(reactor, 0.01)

    def addresses(self, name: str, namespace: str = "shop") -> Any:
        status = self.server.get("Ingress", name, namespace).get("status") or {}
        return (status.get("loadBalancer") or {}).get("ingress")

    def asked(self) -> set[tuple[str, str]]:
        """Resource and verb of every write, and of every request for the Lease."""
        return {
            (f"{call.plural}/{call.subresource}" if call.subresource else call.plural, call.verb)
            for call in self.server.requests
            if call.verb not in ("list", "watch")
        }

    def refused(self) -> set[str]:
        return {call.plural for call in self.server.requests if call.status == 403}

    def grant(self, *files: str) -> None:
        """Grant the rights that ship with the program."""
        objects = [one for name in files for one in yaml.safe_load_all((K8S / name).read_text("utf-8"))]
        grants = grants_from_manifests(objects, "txingress", "txingress")
        self.server.access.tokens = {str(self.server.token): grants}


class LeaderTests(ReportingCase):
    """What one leader does."""

    async def test_everything(self) -> None:
        """A leader writes addresses and Events, follows a change of the class, and releases its lease at the end."""
        self.server.create(ingress_object("app", "app.test"))
        replica = await self.start()
        await self.until(lambda: self.addresses("app") == [{"ip": "192.0.2.1"}] and self.server.list("Event"))
        (event,) = self.server.list("Event")
        self.assertEqual((event["reason"], event["reportingInstance"]), ("ServiceNotFound", "a"))
        picture = replica.reporting.picture()
        self.assertEqual(
            {key: picture[key] for key in ("leading", "leader", "lease", "addresses", "transitions")},
            {
                "leading": True,
                "leader": "a",
                "lease": "txingress/ingress-leader",
                "addresses": ["192.0.2.1"],
                "transitions": 0,
            },
        )
        left = self.server.get("Ingress", "app", "shop")
        left["spec"]["ingressClassName"] = "other"
        self.server.apply({key: value for key, value in left.items() if key != "status"})
        await self.until(lambda: self.addresses("app") is None)
        await replica.stop()
        self.assertEqual(
            self.server.get("Lease", "ingress-leader", "txingress")["spec"]["holderIdentity"], ""
        )

    async def test_taken_over_by_another_controller(self) -> None:
        """What another controller has written into an Ingress that left our class stays."""
        self.server.create(ingress_object("app", "app.test"))
        await self.start()
        await self.until(lambda: self.addresses("app"))
        taken = self.server.get("Ingress", "app", "shop")
        taken["spec"]["ingressClassName"] = "other"
        taken["metadata"]["managedFields"][0]["manager"] = "other"
        self.server.replace(taken)
        self.server.create(ingress_object("later", "later.test"))
        await self.until(lambda: self.addresses("later"))
        self.assertEqual(self.addresses("app"), [{"ip": "192.0.2.1"}])

    async def test_no_round_for_a_status(self) -> None:
        """What was written comes back by the watch, and causes no translation."""
        self.server.create(ingress_object("app", "app.test"))
        replica = await self.start()
        before = replica.snapshot
        object_id = (Kind.INGRESS, ObjectKey("shop", "app"))
        await self.until(lambda: replica.store.state().metas[object_id].addresses)
        await deferLater(reactor, 0.05)
        self.assertIs(replica.snapshot, before)

    async def test_service(self) -> None:
        """The addresses of the Service are shown as soon as it has them."""
        self.server.create(ingress_object("app", "app.test"))
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "txingress", "namespace": "txingress"},
            "spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1", "ports": [{"port": 80}]},
        }
        stored = self.server.create(service)
        replica = await self.start(settings=SERVICE)
        await self.until(lambda: replica.is_leading)
        stored["status"] = {"loadBalancer": {"ingress": [{"hostname": "lb.test"}]}}
        self.server.replace(stored)
        await self.until(lambda: self.addresses("app") == [{"hostname": "lb.test"}])

    async def test_slow_writes(self) -> None:
        """Writes that are not answered do not cost the lease."""
        self.server.faults.add(Hang(), times=None, verb="patch")
        self.server.create(ingress_object("app", "app.test"))
        replica = await self.start(settings=evolve(ADDRESS, election_ttl_seconds=9))
        await self.until(lambda: self.server.requests_of("patch"))
        await self.until(lambda: len(self.server.requests_of("update", "leases")) >= 3)
        self.assertTrue(replica.is_leading)

    async def test_lost(self) -> None:
        """Who could not renew the lease does not say that it leads, in either of the two places."""
        replica = await self.start(settings=evolve(ADDRESS, election_ttl_seconds=3))
        await self.until(lambda: replica.is_leading)
        self.server.freeze()
        await self.until(lambda: not replica.is_leading)
        self.assertEqual(replica.reporting.picture()["leader"], "")

    async def test_stop_before_start(self) -> None:
        """What never began ends at once."""
        replica = Replica(self.kubeconfig, "a", ADDRESS)
        await replica.reporting.stop()
        self.assertEqual(replica.reporting.picture()["leading"], False)
        self.assertEqual(self.server.requests, [])

    async def test_stop_while_nothing_is_answered(self) -> None:
        """An API server that does not answer does not hold up the end."""
        replica = await self.start()
        await self.until(lambda: replica.is_leading)
        self.server.freeze()
        began = reactor.seconds()
        await replica.stop()
        self.assertLess(reactor.seconds() - began, SOON_SECONDS)


class PairTests(ReportingCase):
    """Two replicas."""

    async def test_handing_over(self) -> None:
        """The second replica takes over when the first one ends, tells nothing twice, and clears what the first wrote."""
        self.server.create(ingress_object("app", "app.test"))
        first = await self.start("a")
        await self.until(lambda: self.addresses("app") and self.server.list("Event"))
        second = await self.start("b")
        await self.until(lambda: len(self.server.requests_of("get", "leases")) >= 2)
        self.assertEqual((first.is_leading, second.is_leading), (True, False))
        await first.stop()
        left = self.server.get("Ingress", "app", "shop")
        left["spec"]["ingressClassName"] = "other"
        self.server.apply({key: value for key, value in left.items() if key != "status"})
        self.server.create(ingress_object("late", "late.test"))
        await self.until(lambda: second.is_leading)
        await self.until(lambda: self.addresses("app") is None and self.addresses("late"))
        await self.until(lambda: len(self.server.list("Event")) == 2)
        self.assertEqual(
            self.server.get("Lease", "ingress-leader", "txingress")["spec"]["leaseTransitions"], 1
        )


class ClearingTests(ReportingCase):
    """``--clear-status-on-shutdown``."""

    SETTINGS = evolve(ADDRESS, clear_status_on_shutdown=True)

    async def test_last_replica(self) -> None:
        """The last replica removes its addresses, and no others, and releases the lease."""
        self.server.create(ingress_object("app", "app.test"))
        theirs = ingress_object("theirs", "theirs.test")
        theirs["spec"]["ingressClassName"] = "other"
        theirs["status"] = {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}]}}
        self.server.create(theirs)
        replica = await self.start("a", self.SETTINGS)
        await self.until(lambda: self.addresses("app"))
        await replica.stop()
        self.assertIsNone(self.addresses("app"))
        self.assertEqual(self.addresses("theirs"), [{"ip": "203.0.113.9"}])
        lease = self.server.get("Lease", "ingress-leader", "txingress")["spec"]
        self.assertEqual(lease["holderIdentity"], "")

    async def test_rolling_update(self) -> None:
        """While another replica is there, no address is ever missing."""
        self.server.create(ingress_object("app", "app.test"))
        first = await self.start("a", self.SETTINGS)
        await self.until(lambda: self.addresses("app"))
        second = await self.start("b")
        await self.until(lambda: len(self.server.requests_of("get", "leases")) >= 2)
        before = len(self.server.requests_of("patch", "ingresses"))
        await first.stop()
        self.assertTrue(second.is_leading)
        self.assertEqual(len(self.server.requests_of("patch", "ingresses")), before)
        self.assertTrue(self.addresses("app"))

    async def test_follower(self) -> None:
        """A replica that does not lead removes nothing, and does not wait."""
        self.server.create(ingress_object("app", "app.test"))
        first = await self.start("a")
        await self.until(lambda: self.addresses("app"))
        second = await self.start("b", self.SETTINGS)
        await self.until(lambda: len(self.server.requests_of("get", "leases")) >= 2)
        began = reactor.seconds()
        await second.stop()
        # Whoever waits for another replica waits for three turns.
        self.assertLess(reactor.seconds() - began, 2 * TTL_SECONDS / 6)
        self.assertTrue(first.is_leading and self.addresses("app"))

    async def test_no_answer(self) -> None:
        """An API server that does not answer holds up the end for a bounded time."""
        self.server.create(ingress_object("app", "app.test"))
        replica = await self.start("a", evolve(self.SETTINGS, election_ttl_seconds=3))
        await self.until(lambda: self.addresses("app"))
        self.server.freeze()
        began = reactor.seconds()
        await replica.stop()
        self.assertLess(reactor.seconds() - began, 15)


class RightsTests(ReportingCase):
    """The rights that ship with the program, and none at all."""

    async def test_cluster_role(self) -> None:
        """With the rights of the manifests everything is written, nothing is refused, and no right is left over."""
        self.grant("base/rbac.yaml", "base/gateway-api.yaml")
        self.server.create(ingress_object("app", "app.test"))
        replica = await self.start()
        await self.until(lambda: self.addresses("app") and self.server.list("Event"))
        await replica.stop()
        # What comes again is counted, also by another leader.
        self.server.create(service_object("app"))
        replica = await self.start("b")
        await self.until(lambda: replica.is_leading)
        self.server.delete("Service", "app", "shop")
        await self.until(lambda: "series" in self.server.list("Event")[0])
        self.assertEqual(self.server.list("Event")[0]["series"]["count"], 2)
        await replica.stop()
        self.assertEqual(self.refused(), set())
        of_ingresses = (one for one in STATUSES if one.group != GROUP)
        granted = {(one.resource, verb) for one in (LEASES, *of_ingresses, EVENTS) for verb in one.verbs}
        self.assertEqual(self.asked(), granted)

    async def test_roles(self) -> None:
        """With the Roles of two namespaces the Service of the controller's own one is read, too, and all is written."""
        self.grant("base/rbac.yaml", "overlays/namespaced/roles.yaml")
        # The overlay deletes the ClusterRole of the base.
        tokens = self.server.access.tokens
        self.server.access.tokens = {
            token: tuple(grant for grant in grants or () if grant.namespace is not None)
            for token, grants in tokens.items()
        }
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "txingress", "namespace": "txingress"},
            "spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1", "ports": [{"port": 80}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}},
        }
        self.server.create(service)
        self.server.create(ingress_object("app", "app.test"))
        await self.start(settings=SERVICE, namespaces=("shop", "blog"))
        await self.until(lambda: self.addresses("app") == [{"ip": "192.0.2.7"}])
        await self.until(lambda: self.server.list("Event"))
        self.assertEqual(self.refused(), {"ingressclasses", "customresourcedefinitions"})

    async def test_none(self) -> None:
        """Without these rights everything is read and served, and each missing right is said once."""
        self.server.create(ingress_object("app", "app.test"))
        refusal = Answer(403, message="it is forbidden")
        self.server.faults.add(refusal, times=None, resource="leases")
        with capturedLogs() as events:
            replica = await self.start()
            await self.until(lambda: refusals_said(events))
            await deferLater(reactor, 0.1)
        self.assertEqual(len(refusals_said(events)), 1)
        self.assertEqual([route.host for route in replica.snapshot.table.routes], ["app.test"])
        self.assertFalse(replica.is_leading)

    async def test_lease_alone(self) -> None:
        """A leader that may write neither statuses nor Events says so once for each, and goes on leading."""
        for name in ("app", "more"):
            self.server.create(ingress_object(name, f"{name}.test"))
        for resource, verb in (("ingresses", "patch"), ("events", "create")):
            self.server.faults.add(Answer(403), times=None, resource=resource, verb=verb)
        with capturedLogs() as events:
            replica = await self.start()
            await self.until(lambda: self.server.requests_of("create", "events"))
            await self.until(lambda: self.server.requests_of("patch", "ingresses"))
            await self.until(lambda: len(refusals_said(events)) >= 2)
            await deferLater(reactor, 0.2)
        said = refusals_said(events)
        self.assertEqual(len(said), 2, said)
        self.assertTrue(replica.is_leading)


class NameTests(SynchronousTestCase):
    """What the API server is told about us."""

    def test_writer(self) -> None:
        """All candidates for one Lease write under one name, which the API takes, and others under another one."""
        self.assertEqual(writer_name(ObjectKey("ours", "ingress-leader")), "txingress/ours/ingress-leader")
        self.assertEqual(len(writer_name(ObjectKey("ours", "x" * 253))), 128)

    def test_clock(self) -> None:
        """The steady clock goes forward."""
        first = steady_seconds()
        self.assertGreaterEqual(steady_seconds(), first)
