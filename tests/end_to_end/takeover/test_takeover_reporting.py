"""Old and new process as one candidate: what a cluster gets to see of a takeover, and what either does when the other is gone."""

from __future__ import annotations

import signal
from collections import Counter
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall

from tests.end_to_end.takeover.takeover_case import TakeoverCase
from tests.fakes.apiserver.faults import Delay, Hold
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.objects import ingress_object, service_object, slice_object
from tests.fakes.processes import ControllerProcess

TTL_SECONDS = 15
"""Of these a write has three until it is given up, and made again: enough on a busy machine."""
ADDRESS = "192.0.2.80"


class ReportingTests(TakeoverCase):
    """Controllers that report to an API server."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start the API server, with one route in it."""
        super().setUp()
        self.server = ApiServer(self.reactor)
        await self.server.listen()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.server.stop()))
        kubeconfig = self.directory / "kubeconfig"
        self.server.write_kubeconfig(kubeconfig)
        app = self.upstream(b"hello")
        for one in (
            ingress_object("app", "shop.test"),
            service_object("app"),
            slice_object("app", app.endpoint),
        ):
            self.server.create(one)
        self.options = (
            f"--kubeconfig={kubeconfig}",
            f"--election-ttl={TTL_SECONDS}",
            f"--publish-status-address={ADDRESS}",
            "--shutdown-delay=0",
        )
        self.leases: list[tuple[str, int]] = []

    async def leading(self) -> ControllerProcess:
        """Start a controller, and wait until it leads; from then on note whose the Lease is."""
        controller = self.start(f"--takeover={self.path}", *self.options)
        self.chain.append(controller)
        await self.until_ready(controller)
        await self.until(lambda: self.has_address("app"))
        noting = LoopingCall(self.note_lease)
        noting.start(0.01)
        self.addCleanup(noting.stop)
        return controller

    def lease(self) -> dict[str, Any]:
        """Return what the Lease says."""
        spec: dict[str, Any] = self.server.get("Lease", "ingress-leader", "default")["spec"]
        return spec

    def note_lease(self) -> None:
        """Note holder and transitions, where they are others."""
        spec = self.lease()
        found = (spec["holderIdentity"], spec["leaseTransitions"])
        if found not in self.leases:
            self.leases.append(found)

    def has_address(self, name: str) -> bool:
        """Whether an Ingress shows our address."""
        status = self.server.get("Ingress", name, "shop").get("status") or {}
        return bool((status.get("loadBalancer") or {}).get("ingress") == [{"ip": ADDRESS}])

    def writes(self) -> Counter[str]:
        """Return how often the status of each Ingress was written."""
        return Counter(call.name or "" for call in self.server.requests_of("patch", "ingresses"))

    def hold_lists(self) -> None:
        """Have lists wait: those of a new process, since others watch."""
        self.lists = Hold()
        for verb in ("list", "watch"):
            self.server.faults.add(self.lists, times=None, verb=verb)

    def release_lists(self) -> None:
        """Have them answered."""
        self.server.faults.clear()
        self.lists.release()

    async def starting(self, old: ControllerProcess) -> ControllerProcess:
        """Start a process that takes over from *old*, and return while it reads the cluster, which lasts until that is released."""
        self.hold_lists()
        new = self.start_next(*self.options)
        await self.until_told(old, b"takes over")
        return new

    async def still_reports(self) -> None:
        """Check that what is new in the cluster is reported, once, by the same candidate as ever."""
        self.server.faults.clear()
        self.server.create(ingress_object("late", "late.test"))
        await self.until(lambda: self.has_address("late"))
        self.assertEqual(len(self.leases), 1, self.leases)
        self.assertEqual(self.leases[0][1], 0)
        self.assertEqual(set(self.writes().values()), {1})

    async def test_one_candidate(self) -> None:
        """The Lease stays whose it is, beside a replica that waits for it, and each status is written once, however often one takes over."""
        old = await self.leading()
        mine = self.http, self.https, self.admin
        self.start(*self.options)
        self.http, self.https, self.admin = mine
        await self.until(lambda: len(self.server.requests_of("get", "leases")) > 2)
        for number in range(3):
            new = self.start_next(*self.options)
            self.server.create(ingress_object(f"amid{number}", f"amid{number}.test"))
            await self.taken_over(old)
            self.assertIn(b"Not leading any more: stopping", old.output)
            self.assertNotIn(b"Released", old.output)
            await self.until_told(new, b"Leading: ")
            await self.until(partial(self.has_address, f"amid{number}"))
            old = new
        await self.still_reports()

    async def test_writes_under_way(self) -> None:
        """Statuses whose writes take long are waited for, and not written again."""
        old = await self.leading()
        self.server.faults.add(Delay(0.15), times=None, verb="patch")
        for number in range(25):
            self.server.create(ingress_object(f"many{number}", f"many{number}.test"))
        await self.until(lambda: len(self.writes()) > 3)
        self.start_next(*self.options)
        await self.taken_over(old)
        await self.until(lambda: all(self.has_address(f"many{number}") for number in range(25)))
        await self.still_reports()

    async def test_new_one_is_killed(self) -> None:
        """A new process that is killed while it reads the cluster leaves nothing behind, and the old one serves and reports on."""
        old = await self.leading()
        new = await self.starting(old)
        self.assertEqual(await self.get(self.admin, "/readyz"), (200, b"ok\n"))
        await new.kill()
        await self.until_told(old, b"this one serves on: it is gone")
        self.assertEqual(await self.get(self.http), (200, b"hello"))
        await self.still_reports()
        self.start_next(*self.options)
        await self.taken_over(old)

    async def test_new_one_is_stopped(self) -> None:
        """A new process that is asked to stop meanwhile says so, and ends."""
        old = await self.leading()
        new = await self.starting(old)
        new.signal(signal.SIGTERM)
        self.assertEqual(await self.end_of(new), 0)
        await self.until_told(old, b"this one serves on: it was asked to stop")
        self.assertEqual(await self.get(self.http), (200, b"hello"))
        await self.still_reports()

    async def test_old_one_is_killed(self) -> None:
        """A new process whose old one is killed answers probes at once, goes on by itself, and leads by the same name."""
        old = await self.leading()
        new = await self.starting(old)
        await old.kill()
        await self.until_told(new, b"is gone: going on without it")
        self.assertEqual(await self.get(self.admin, "/healthz"), (200, b"ok\n"))
        self.assertEqual((await self.get(self.admin, "/readyz"))[0], 503)
        self.release_lists()
        await self.until_ready(new)
        self.assertEqual(await self.get(self.http), (200, b"hello"))
        await self.until_told(new, b"Leading: ")
        await self.still_reports()

    async def test_old_one_is_stopped(self) -> None:
        """So does one whose old one is asked to stop: that releases nothing."""
        old = await self.leading()
        new = await self.starting(old)
        old.signal(signal.SIGTERM)
        self.assertEqual(await self.end_of(old), 0)
        self.assertNotIn(b"Released", old.output)
        await self.until_told(new, b"is gone: going on without it")
        self.release_lists()
        await self.until_ready(new)
        self.assertEqual(await self.get(self.http), (200, b"hello"))
        await self.still_reports()

    async def test_both_are_stopped(self) -> None:
        """A process that is asked to stop while its successor starts takes that with it, and releases the Lease."""
        old = await self.leading()
        self.hold_lists()
        old.signal(signal.SIGUSR2)
        await self.until_told(old, b" takes over")
        old.signal(signal.SIGTERM)
        self.assertEqual(await self.end_of(old), 0)
        await self.until(lambda: not self.lease()["holderIdentity"])
        await self.until(lambda: not self.successors())

    async def test_probes(self) -> None:
        """At no moment does a probe fail."""
        old = await self.leading()
        failed: list[Any] = []
        is_over = False

        async def probe() -> None:
            while not is_over:
                answer = await self.get(self.admin, "/readyz")
                if answer != (200, b"ok\n"):
                    failed.append(answer)

        probing = [Deferred.fromCoroutine(probe()) for _ in range(3)]
        for _ in range(2):
            new = self.start_next(*self.options)
            await self.taken_over(old)
            old = new
        is_over = True
        for one in probing:
            await one
        self.assertEqual(failed, [])
