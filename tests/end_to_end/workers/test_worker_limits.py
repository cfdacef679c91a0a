"""Limits with two real worker processes: what holds for both together, and what is divided between them."""

from __future__ import annotations

import os
import signal
from collections import Counter

from tests.end_to_end.end_to_end_case import PATIENCE
from tests.end_to_end.workers.workers_case import WorkersCase, sockets
from tests.fakes.objects import ingress_object, service_object, slice_object
from tests.fakes.peers.downstreams import DownstreamWire

PREFIX = "nginx.ingress.kubernetes.io"


class LimitTests(WorkersCase):
    """Limits, with ``--workers=2``."""

    def limit(self, name: str, value: str) -> None:
        """Have the Ingress of the shop ask for a limit."""
        ingress = ingress_object("shop", "shop.test")
        ingress["metadata"]["annotations"] = {f"{PREFIX}/{name}": value}
        self.write("shop", service_object("shop"), slice_object("shop", self.shop.endpoint), ingress)

    async def statuses(self, count: int) -> Counter[int]:
        """Return the statuses of so many requests, each on a connection of its own."""
        return Counter([(await self.get(self.http))[0] for _ in range(count)])

    async def held(self, count: int) -> list[DownstreamWire]:
        """Return so many connections, each with a request that is under way, if it may be: one after the other."""
        self.shop.on_request = lambda wire: None
        return [await self._held() for _ in range(count)]

    async def _held(self) -> DownstreamWire:
        before = self.shop.requests
        client = await self.connect(self.http)
        client.get(b"/", b"shop.test")
        await self.until(lambda: client.answers or self.shop.requests > before)
        return client

    async def end(self) -> None:
        """Have the controller end, and what it was asked for."""
        self.shop.stop()
        self.controller.signal(signal.SIGTERM)
        await self.stopped(self.controller)

    async def test_rate(self) -> None:
        """A client has one burst at both workers together, whichever of them its connections come to."""
        self.limit("limit-rpm", "6")
        controller = self.start_workers()
        await self.until_ready(controller)
        began = self.reactor.seconds()
        found = await self.statuses(80)
        drained = int(self.reactor.seconds() - began) // 10 + 1
        self.assertIn(found[200], range(31, 31 + drained + 1))
        self.assertEqual(found[503], 80 - found[200])
        await self.end()

    async def test_connections(self) -> None:
        """A client has so many requests under way at both together; those of a worker that is killed count no more."""
        self.limit("limit-connections", "6")
        controller = self.start_workers()
        await self.until_ready(controller)
        at_rest = {pid: sockets(pid) for pid in self.workers}
        clients = await self.held(20)
        self.assertEqual([one.answers[0].status for one in clients if one.answers], [503] * 14)
        self.assertEqual(self.shop.requests, 6)

        def ended() -> int:
            return sum(one.lost is not None for one in clients) - len(self.shop.open_wires)

        # One that has no connections would show nothing.
        killed = max(at_rest, key=lambda pid: sockets(pid) - at_rest[pid])
        before, had = ended(), sockets(killed) - at_rest[killed]
        os.kill(killed, signal.SIGKILL)
        await self.until(lambda: len(self.workers) == 2 and killed not in self.workers)
        # All connections of a process end in one moment, and it takes us another one to see that of each.
        await self.until(lambda: ended() == before + had)
        left = sum(one.lost is None and not one.answers for one in clients)
        self.assertEqual(len(self.shop.open_wires), left)
        clients = await self.held(20)
        self.assertEqual(sum(bool(one.answers) for one in clients), 14 + left)
        self.assertEqual(self.shop.requests, 12 - left)
        await self.end()

    async def test_divided(self) -> None:
        """Each worker has its part of the connections to one endpoint, and answers others that it is full."""
        controller = self.start_workers("--max-endpoint-connections=4")
        await self.until_ready(controller)
        deadline = self.reactor.seconds() + PATIENCE
        # A worker that a busy machine gives no processor leaves all connections to the other one.
        while self.shop.requests < 4:
            self.assertLess(self.reactor.seconds(), deadline)
            refused = [one.answers[0].status for one in await self.held(2) if one.answers]
            self.assertEqual(refused, [503] * len(refused))
        clients = await self.held(20)
        self.assertEqual(self.shop.requests, 4)
        self.assertEqual([one.answers[0].status for one in clients], [503] * 20)
        await self.end()
