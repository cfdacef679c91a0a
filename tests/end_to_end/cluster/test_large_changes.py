"""Hundreds of hosts that change at once, which is published in steps, while processes die, stand still and are followed by others."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from itertools import zip_longest

from twisted.internet.defer import Deferred

from tests.end_to_end.end_to_end_case import PATIENCE
from tests.end_to_end.workers.workers_case import WorkersCase
from tests.fakes.objects import ingress_object, service_object, slice_object
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.upstreams import Upstream

HOSTS = 300
IN_A_ROW = 30
"""Requests that are sent one behind the other, without waiting for their answers."""
CLIENTS = 6


class LargeChangesTests(WorkersCase):
    """All hosts lead to one upstream, and then all to another, again and again, under requests that go on."""

    def setUp(self) -> None:
        super().setUp()
        self.names = (b"one", b"other")
        self.upstreams = [self.upstream(name) for name in self.names]
        self.answers: list[tuple[float, int, bytes]] = []
        """When it was asked, and what was answered."""
        self.cut = 0
        self.is_asking = True

    def lead(self, upstream: Upstream, path: str) -> None:
        """Have all hosts lead to *upstream*, and each have another second path, and filters of its own."""
        objects = []
        for number in range(HOSTS):
            name = f"h{number}"
            ingress = ingress_object(name, f"{name}.test")
            paths = ingress["spec"]["rules"][0]["http"]["paths"]
            paths.append({**paths[0], "path": path})
            ingress["metadata"]["annotations"] = {
                "nginx.ingress.kubernetes.io/x-forwarded-prefix": f"{path}/{number % 7}"
            }
            objects += [service_object(name), slice_object(name, upstream.endpoint), ingress]
        draft = self.directory / "draft-of-many"
        # JSON is YAML, and quicker.
        draft.write_text("\n---\n".join(map(json.dumps, objects)))
        draft.rename(self.manifests / "many.yaml")

    async def ask_on(self, first: int) -> None:
        """Ask host after host on a connection that is kept, and on another one once it is cut."""
        wire, count, host = DownstreamWire(), 0, first
        is_open = False
        while self.is_asking:
            if not is_open:
                wire, count, is_open = await self.connect(self.http), 0, True
            host = (host + 7) % HOSTS
            asked = self.reactor.seconds()
            wire.get(b"/", b"h%d.test" % host)
            count += 1
            await wire.answer(count)
            if len(wire.answers) == count and wire.answers[-1].whole:
                self.answers.append((asked, wire.answers[-1].status, wire.answers[-1].body))
                is_open = not wire.answers[-1].has(b"Connection: close")
            else:
                self.cut += 1
                is_open = False
            await self.turn(0.003)

    async def ask_no_more(self, asking: list[Deferred[None]]) -> None:
        """End those who ask, with their last answers."""
        self.is_asking = False
        while asking:
            await asking.pop()

    async def all_lead_to(self, name: bytes) -> None:
        """Wait until each host is answered by this upstream, on connections of all workers."""
        await self.until(lambda: len(self.workers) == 2)
        deadline = self.reactor.seconds() + PATIENCE
        for _ in range(4):
            client = await self.connect(self.http)
            left: Sequence[int] = range(HOSTS)
            while left:
                asked, before = left[:IN_A_ROW], len(client.answers)
                for host in asked:
                    client.get(b"/", b"h%d.test" % host)
                await client.answer(before + len(asked))
                answers = client.answers[before:]
                self.assertEqual({(one.status, one.whole) for one in answers}, {(200, True)})
                if answers[-1].has(b"Connection: close"):
                    client = await self.connect(self.http)
                else:
                    self.assertEqual(len(answers), len(asked))
                # What was asked behind a last answer is asked once more, too.
                others = [
                    host for host, one in zip_longest(asked, answers) if one is None or one.body != name
                ]
                if others:
                    self.assertLess(self.reactor.seconds(), deadline, f"h{others[0]} still leads elsewhere")
                    await self.turn(0.02)
                left = [*others, *left[IN_A_ROW:]]
            client.transport.abortConnection()

    async def under(self, harm: Callable[[int], Awaitable[None]]) -> None:
        """Have all hosts changed four times, with some *harm* amid each change."""
        self.lead(self.upstreams[0], "/0")
        controller = self.start_workers()
        await self.until_ready(controller)
        await self.all_lead_to(self.names[0])
        asking = [Deferred.fromCoroutine(self.ask_on(number)) for number in range(CLIENTS)]
        self.addCleanup(self.ask_no_more, asking)
        for change in range(1, 5):
            name = self.names[change % 2]
            self.lead(self.upstreams[change % 2], f"/{change}")
            await self.turn(0.15 * change)
            await harm(change)
            await self.all_lead_to(name)
            since = self.reactor.seconds()
            await self.turn(0.3)
            later = {answer for asked, _, answer in self.answers if asked >= since}
            self.assertEqual(later, {name}, f"after change {change}")
        await self.ask_no_more(asking)
        self.assertEqual({status for _, status, _ in self.answers}, {200})
        self.assertEqual({answer for _, _, answer in self.answers}, {*self.names})
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_worker_is_killed(self) -> None:
        """Whoever follows a worker that was killed serves what is new, and no host is without endpoint in between."""

        async def kill(change: int) -> None:
            os.kill(self.workers[change % 2], signal.SIGKILL)

        await self.under(kill)
        self.assertLessEqual(self.cut, 4 * CLIENTS)

    async def test_processes_stand_still(self) -> None:
        """Nor is one where a worker, the fork server or the parent stands still for a while, and nothing is cut."""

        async def stop(change: int) -> None:
            pid = (self.workers[0], self.fork_server, self.controller.pid, self.workers[1])[change - 1]
            os.kill(pid, signal.SIGSTOP)
            try:
                await self.turn(0.7)
            finally:
                os.kill(pid, signal.SIGCONT)

        await self.under(stop)
        self.assertEqual(self.cut, 0)
