"""Two controllers as processes: one of them reports to the cluster, and the other one takes over."""

from __future__ import annotations

import json
import signal
from typing import Any

from tests.end_to_end.cluster.test_watch_process import HOST, WatchProcessCase
from tests.end_to_end.end_to_end_case import PATIENCE
from tests.fakes.apiserver.access import Grant
from tests.fakes.apiserver.calls import Call
from tests.fakes.apiserver.faults import Delay, Hang
from tests.fakes.objects import ingress_object, service_object, slice_object
from tests.fakes.processes import ControllerProcess

TTL_SECONDS = 12
"""Of these a leader has eight to renew its lease, and a write has two: enough on a busy machine."""
# A turn of a candidate comes after a sixth of that, a little late.
TURN_SECONDS = TTL_SECONDS / 6 * 1.2
# What a busy machine may add; less than what it takes to wait for the end of the lease, or for that a second time.
SLACK_SECONDS = 8.0
ADDRESS = "192.0.2.80"


class ReportingCase(WatchProcessCase):
    """Replicas that agree on a leader."""

    more_options: tuple[str, ...] = (f"--publish-status-address={ADDRESS}",)

    def start_replica(self) -> tuple[ControllerProcess, int]:
        """Start a controller; return it with its admin port."""
        controller = self.start_watching(f"--election-ttl={TTL_SECONDS}", *self.more_options)
        return controller, self.admin

    async def until_replica_ready(self, replica: tuple[ControllerProcess, int]) -> None:
        """Wait until a replica is ready."""
        controller, self.admin = replica
        await self.until_ready(controller)

    def lease(self, namespace: str = "default", name: str = "ingress-leader") -> dict[str, Any]:
        """Return what the Lease says."""
        spec: dict[str, Any] = self.server.get("Lease", name, namespace)["spec"]
        return spec

    def addresses(self, name: str) -> Any:
        """Return the addresses of an Ingress, None for none."""
        status = self.server.get("Ingress", name, "shop").get("status") or {}
        return (status.get("loadBalancer") or {}).get("ingress")

    def has_address(self, name: str) -> bool:
        """Whether an Ingress shows our address."""
        return bool(self.addresses(name) == [{"ip": ADDRESS}])

    def patches(self) -> tuple[Call, ...]:
        """Return the writes of statuses."""
        return self.server.requests_of("patch", "ingresses")

    async def picture(self, admin: int) -> dict[str, Any]:
        """Return what a replica says about the election."""
        found: dict[str, Any] = json.loads((await self.get(admin, "/api/leader"))[1])
        return found

    async def leading(self, *replicas: tuple[ControllerProcess, int]) -> list[bool]:
        """Return which of the replicas say that they lead."""
        return [bool((await self.picture(admin))["leading"]) for _, admin in replicas]


class TakeoverTests(ReportingCase):
    """Who writes, and who takes over."""

    async def start_pair(self) -> tuple[tuple[ControllerProcess, int], tuple[ControllerProcess, int]]:
        """Start two replicas; return the one that leads first."""
        self.server.create(ingress_object("app", HOST))
        first = self.start_replica()
        await self.until(lambda: self.has_address("app"))
        second = self.start_replica()
        for replica in (first, second):
            await self.until_replica_ready(replica)
        await self.until(lambda: len(self.server.requests_of("get", "leases")) >= 2)
        deadline = self.reactor.seconds() + PATIENCE
        # A leader that a busy machine kept from renewing its lease in time leads again soon.
        while not any(leading := await self.leading(first, second)) and self.reactor.seconds() < deadline:
            await self.turn(0.05)
        self.assertEqual(leading, [True, False])
        return first, second

    async def test_one_writes(self) -> None:
        """One of two replicas writes each status once, tells of each problem once, and says that it is the leader."""
        first, second = await self.start_pair()
        for number in range(5):
            self.server.create(ingress_object(f"more{number}", f"more{number}.test"))
        await self.until(lambda: all(self.has_address(f"more{number}") for number in range(5)))
        await self.until(lambda: len(self.server.list("Event")) == 6)
        self.assertEqual(len(self.patches()), 6)
        self.assertEqual(len(self.server.requests_of("create", "events")), 6)
        for (_, admin), expected in ((first, b"1.0"), (second, b"0.0")):
            metrics = (await self.get(admin, "/metrics"))[1]
            self.assertIn(b"\ningress_is_leader " + expected, metrics)
        (event,) = (one for one in self.server.list("Event") if one["regarding"]["name"] == "app")
        self.assertEqual(event["reason"], "ServiceNotFound")
        self.assertEqual(
            event["regarding"]["uid"], self.server.get("Ingress", "app", "shop")["metadata"]["uid"]
        )
        identity = (await self.picture(first[1]))["identity"]
        self.assertEqual((event["reportingInstance"], self.lease()["holderIdentity"]), (identity, identity))
        for controller, _ in (first, second):
            await self.end(controller)

    async def test_killed(self) -> None:
        """After a kill the other one leads within the duration of the lease and a turn, and writes what is new."""
        first, second = await self.start_pair()
        killed_at = self.reactor.seconds()
        first[0].signal(signal.SIGKILL)
        self.server.create(ingress_object("late", "late.test"))
        await self.until(lambda: self.has_address("late"))
        took = self.reactor.seconds() - killed_at
        self.assertLess(took, TTL_SECONDS + TURN_SECONDS + SLACK_SECONDS)
        self.assertEqual(self.lease()["leaseTransitions"], 1)
        self.assertEqual(await self.leading(second), [True])
        await self.end(second[0])

    async def test_stopped(self) -> None:
        """After SIGTERM the other one leads after a turn: the lease is released while requests are still served."""
        self.more_options += ("--shutdown-delay=60",)
        first, _ = await self.start_pair()
        asked_at = self.reactor.seconds()
        first[0].signal(signal.SIGTERM)
        await self.until(lambda: self.lease()["holderIdentity"] == "")
        self.server.create(ingress_object("late", "late.test"))
        await self.until(lambda: self.has_address("late"))
        self.assertLess(self.reactor.seconds() - asked_at, TURN_SECONDS + SLACK_SECONDS)
        self.assertEqual((await self.get(first[1], "/healthz"))[0], 200)
        # One signal asks to stop, the next one not to wait.
        first[0].signal(signal.SIGTERM)
        self.assertEqual(await self.end_at_once(first[0]), 0)

    async def test_stalled(self) -> None:
        """A leader that stood still for longer than its lease writes nothing when it goes on."""
        first, second = await self.start_pair()
        first[0].signal(signal.SIGSTOP)
        await self.until(lambda: self.lease()["leaseTransitions"] == 1)
        self.server.create(ingress_object("late", "late.test"))
        await self.until(lambda: self.has_address("late"))
        # Whoever wrote it anew now would be the one that stood still.
        fresh = self.server.get("Ingress", "late", "shop")
        first[0].signal(signal.SIGCONT)
        await self.until(lambda: b"Not leading any more" in first[0].output)
        self.assertEqual(await self.leading(first, second), [False, True])
        self.assertEqual(self.server.get("Ingress", "late", "shop"), fresh)
        for controller, _ in (first, second):
            await self.end(controller)


class EndTests(ReportingCase):
    """SIGTERM, whatever the API server does with what is reported."""

    async def test_while_the_lease_is_not_answered(self) -> None:
        """A candidate whose request for the lease is not answered ends at once."""
        self.server.faults.add(Hang(), times=None, resource="leases")
        controller, _ = self.start_replica()
        await self.until(lambda: self.server.requests_of("get", "leases"))
        await self.end(controller)

    async def test_while_a_leader_is_not_answered(self) -> None:
        """A leader whose renewal and whose writes are not answered ends at once, and its lease runs out."""
        self.server.faults.add(Hang(), times=None, verb="patch")
        self.server.faults.add(Hang(), times=None, verb="create", resource="events")
        self.server.create(ingress_object("app", HOST))
        controller, _ = self.start_replica()
        await self.until(lambda: self.patches())
        # Not before: whoever cannot renew its lease soon writes nothing any more.
        renewals = len(self.server.requests_of("update", "leases"))
        self.server.faults.add(Hang(), times=None, verb="update")
        await self.until(lambda: len(self.server.requests_of("update", "leases")) > renewals)
        await self.end(controller)
        self.assertNotEqual(self.lease()["holderIdentity"], "")

    async def test_while_a_leader_is_slow(self) -> None:
        """A leader in a slow cluster ends at once and releases its lease."""
        self.server.create(ingress_object("app", HOST))
        controller, _ = self.start_replica()
        await self.until(lambda: self.has_address("app"))
        self.server.faults.add(Delay(0.3), times=None, resource="leases")
        await self.until(lambda: self.server.requests[-1].verb == "update")
        await self.end(controller)
        # The API server may not yet have come to do what it was asked for.
        await self.until(lambda: self.lease()["holderIdentity"] == "")


class ServingTests(ReportingCase):
    """What reporting must not touch."""

    async def test_without_rights(self) -> None:
        """A controller that may only read serves, is ready, and says once what it may not do."""
        rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch"]}
        self.server.access.tokens = {str(self.server.token): (Grant(rule),)}
        app = self.upstream(b"hello")
        for one in (ingress_object("app", HOST), service_object("app"), slice_object("app", app.endpoint)):
            self.server.create(one)
        replica = self.start_replica()
        await self.until_replica_ready(replica)
        self.assertEqual(await self.get(self.http), (200, b"hello"))
        await self.until(lambda: b"Not permitted to take part in the election" in replica[0].output)
        self.assertEqual(await self.leading(replica), [False])
        await self.end(replica[0])
        self.assertEqual(replica[0].output.count(b"Not permitted"), 1)

    async def test_manifests(self) -> None:
        """With manifests nobody is elected and nothing is shown about it."""
        controller = self.start_with_manifests(*self.more_options, "--publish-service=a/b")
        await self.until_ready(controller)
        self.assertEqual((await self.get(self.admin, "/api/leader"))[0], 404)
        self.assertNotIn(b"ingress_is_leader", (await self.get(self.admin, "/metrics"))[1])
        await self.end(controller)


class ClearingTests(ReportingCase):
    """``--clear-status-on-shutdown``."""

    more_options = (f"--publish-status-address={ADDRESS}", "--clear-status-on-shutdown")

    async def test_rolling_update_and_end(self) -> None:
        """Addresses outlast a rolling update, and are gone when the last replica has ended."""
        self.server.create(ingress_object("app", HOST))
        first = self.start_replica()
        await self.until(lambda: self.has_address("app"))
        second = self.start_replica()
        await self.until_replica_ready(second)
        await self.until(lambda: len(self.server.requests_of("get", "leases")) >= 2)
        first[0].signal(signal.SIGTERM)
        self.assertEqual(await self.end_of(first[0]), 0)
        self.assertTrue(self.has_address("app"))
        self.assertEqual(len(self.patches()), 1)
        second[0].signal(signal.SIGTERM)
        self.assertEqual(await self.end_of(second[0]), 0)
        self.assertIsNone(self.addresses("app"))
        for controller, _ in (first, second):
            self.assertNotIn(b"Traceback", controller.output)

    async def test_hurry(self) -> None:
        """A second SIGTERM ends it at once."""
        self.server.create(ingress_object("app", HOST))
        replica = self.start_replica()
        await self.until(lambda: self.has_address("app"))
        self.server.faults.add(Hang(), times=None)
        replica[0].signal(signal.SIGTERM)
        # Two signals that come at once may be one.
        await self.until_get((503, b"stopping\n"), self.admin, "/readyz")
        await self.end(replica[0])
