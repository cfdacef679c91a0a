"""What the admin port says where several workers serve."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from click.testing import CliRunner
from twisted.internet.defer import Deferred, gatherResults

from ingress.ctl.main import commands
from ingress.workers.telling.tally_rounds import PATIENCE_SECONDS
from tests.cluster.api_server_case import in_thread
from tests.end_to_end.end_to_end_case import PATIENCE
from tests.end_to_end.workers.workers_case import WorkersCase, children, sockets

REQUESTS = 'ingress_requests_total{ingress="shop",namespace="shop",service="shop",status="2xx"}'
ACCEPTED = 'ingress_downstream_connections_accepted_total{tls="false"}'
OPEN = 'ingress_downstream_connections{tls="false"}'


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


class ToldCase(WorkersCase):
    """Reads the pages of the admin port."""

    was_late = False
    """Whether a worker may not have told what it had counted when it was asked for that: a round waits for so long, and no longer."""

    async def numbers(self) -> dict[str, float]:
        """All series of ``/metrics``, by name and labels."""
        asked = self.reactor.seconds()
        status, body = await self.get(self.admin, "/metrics")
        self.was_late |= self.reactor.seconds() - asked >= PATIENCE_SECONDS
        self.assertEqual(status, 200)
        lines = [line.rsplit(" ", 1) for line in body.decode().splitlines() if line[0] != "#"]
        self.assertEqual(len({line[0] for line in lines}), len(lines))
        return {series: float(number) for series, number in lines}

    async def exact_numbers(self, counted: Mapping[str, float]) -> dict[str, float]:
        """The same, with what is *counted* in it: at once, or where a worker is late on a busy machine, when it has told."""
        deadline = self.reactor.seconds() + PATIENCE
        numbers = await self.numbers()
        while {series: numbers[series] for series in counted} != counted:
            if not self.was_late or self.reactor.seconds() > deadline:
                self.fail(f"not {counted} in {numbers}")
            await self.turn(0.05)
            numbers = await self.numbers()
        return numbers

    async def listed(self) -> list[dict[str, Any]]:
        """The entries of ``/api/workers``."""
        entries: list[dict[str, Any]] = json.loads((await self.get(self.admin, "/api/workers"))[1])["workers"]
        return entries


class SumTests(ToldCase):
    """Numbers of all workers."""

    async def test_sums(self) -> None:
        """What all workers count is one sum, which has all that was answered before it is asked for; memory is told by worker, and endpoints with the connections of all."""
        controller = self.start_workers()
        await self.until_ready(controller)
        clients = await self.connected(30)
        for asked in (30, 60):
            durations = "ingress_request_duration_seconds_count"
            numbers = await self.exact_numbers({REQUESTS: asked, ACCEPTED: 30, OPEN: 30, durations: asked})
            for client in clients:
                client.get(b"/", b"shop.test")
                await client.answer(asked // 30 + 1)
        for slot in "01":
            self.assertEqual(numbers[f'ingress_worker_up{{worker="{slot}"}}'], 1)
            self.assertGreater(numbers[f'process_resident_memory_bytes{{worker="{slot}"}}'], 1 << 20)
            self.assertGreater(numbers[f'process_open_fds{{worker="{slot}"}}'], 3)
        self.assertGreater(numbers["process_resident_memory_bytes"], 1 << 20)
        self.assertGreater(numbers["ingress_fork_server_resident_memory_bytes"], 1 << 20)
        # Who takes longer than a second to answer is left out.
        deadline = self.reactor.seconds() + PATIENCE
        while (seen := json.loads((await self.get(self.admin, "/api/v1/endpoints"))[1]))["leftOut"]:
            self.assertLess(self.reactor.seconds(), deadline, seen)
            await self.turn(0.05)
        self.assertTrue(seen["whole"])
        connections = sum(one["connections"] for one in seen["endpoints"])
        self.assertEqual(connections, (await self.numbers())["ingress_upstream_connections"])
        self.assertGreater(connections, 0)
        labels = set(re.findall(r'worker="([^"]*)"', "\n".join(numbers)))
        self.assertEqual(labels, {"0", "1"})
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_killed(self) -> None:
        """When a worker is killed no counter goes down, then or ever, and what is asked later adds to what it had counted."""
        controller = self.start_workers()
        await self.until_ready(controller)
        seen: dict[str, float] = {}
        kinds = dict(re.findall(r"# TYPE (\S+) (\S+)", (await self.get(self.admin, "/metrics"))[1].decode()))

        async def look(counted: Mapping[str, float] = MappingProxyType({})) -> dict[str, float]:
            found = await self.exact_numbers(counted)
            for series, number in seen.items():
                name = series.partition("{")[0]
                family = re.sub(r"_(bucket|count|sum)$", "", name)
                if kinds.get(name) == "counter" or kinds.get(family) in ("histogram", "summary"):
                    self.assertGreaterEqual(found[series], number, series)
            seen.update(found)
            return found

        total = 0
        for life in range(2):
            await self.connected(20)
            total += 20
            await look({REQUESTS: total})
            # One that has no connections would show nothing.
            killed = max(self.workers, key=sockets)
            os.kill(killed, signal.SIGKILL)
            while (await look())['ingress_worker_ends_total{cause="killed",worker="0"}'] + seen[
                'ingress_worker_ends_total{cause="killed",worker="1"}'
            ] <= life or sum(seen[f'ingress_worker_up{{worker="{slot}"}}'] for slot in "01") < 2:
                await self.turn(0.02)
            self.assertEqual(seen[REQUESTS], total)
            self.assertLess(seen[OPEN], total)
            # One that serves is enough.
            self.assertEqual((await self.get(self.admin, "/readyz"))[0], 200)
        await self.connected(10)
        await look({REQUESTS: total + 10})
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)


class LoadTests(ToldCase):
    """Numbers while requests go on."""

    async def asking(self, answered: list[int]) -> None:
        """Ask on new connections until told to stop; note each that was answered."""
        while not self.is_over:
            if (await self.get(self.http))[0] == 200:
                answered.append(1)

    async def test_killed_under_load(self) -> None:
        """Under load no counter goes down when a worker is killed, and no more is lost than was counted since it was last asked."""
        controller = self.start_workers()
        await self.until_ready(controller)
        self.is_over = False
        answered: list[int] = []
        asking = [Deferred.fromCoroutine(self.asking(answered)) for _ in range(4)]
        shown, may_be_lost = 0.0, 0
        lives = 3
        for life in range(lives):
            wanted = len(answered) + 60
            while len(answered) < wanted:
                await self.turn(0.01)
            before = len(answered)
            # Of one that was late, more is lost than what comes now.
            while (numbers := await self.numbers())[REQUESTS] < before - may_be_lost and self.was_late:
                before = len(answered)
                await self.turn(0.3)
            workers = self.workers
            os.kill(workers[life % len(workers)], signal.SIGKILL)
            may_be_lost += len(answered) - before + len(asking)
            for _ in range(5):
                self.assertGreaterEqual(numbers[REQUESTS], shown)
                shown = numbers[REQUESTS]
                numbers = await self.numbers()
        self.is_over = True
        await gatherResults(asking)
        # What was cut may have been counted, and was not answered.
        deadline = self.reactor.seconds() + PATIENCE
        while (told := (await self.numbers())[REQUESTS]) < len(answered) - may_be_lost:
            self.assertTrue(self.was_late and self.reactor.seconds() < deadline, (told, len(answered)))
            await self.turn(0.05)
        self.assertLessEqual(told, len(answered) + lives * len(asking))
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_many_scrapes(self) -> None:
        """Five who ask for metrics each 100 ms all get whole pages, and a request is answered meanwhile."""
        controller = self.start_workers()
        await self.until_ready(controller)

        async def scraping() -> int:
            whole = 0
            for _ in range(10):
                whole += 'ingress_worker_up{worker="1"}' in await self.numbers()
                await self.turn(0.1)
            return whole

        scrapes = [Deferred.fromCoroutine(scraping()) for _ in range(5)]
        for _ in range(20):
            self.assertEqual(await self.get(self.http), (200, b"shop"))
        self.assertEqual(await gatherResults(scrapes), [10] * 5)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)


class ListTests(ToldCase):
    """``/api/workers`` and ``/readyz``."""

    async def test_listed(self) -> None:
        """Each worker is listed with its process, what it serves and its connections; one that is killed with why it ended."""
        controller = self.start_workers()
        await self.until_ready(controller)
        workers = sorted(self.workers)
        while len({entry["snapshot"] for entry in (await self.listed())}) > 1:
            await self.turn(0.02)
        entries = await self.listed()
        self.assertEqual([entry["slot"] for entry in entries], [0, 1])
        self.assertEqual(sorted(entry["pid"] for entry in entries), workers)
        self.assertEqual({entry["state"] for entry in entries}, {"serving"})
        self.assertEqual({entry["starts"] for entry in entries}, {1})
        self.assertEqual({entry["behindSeconds"] for entry in entries}, {0.0})
        before = entries[0]["snapshot"]
        self.serve("shop", self.upstream(b"other"))
        await self.until_get((200, b"other"), self.http)
        # The process hears of it a moment after the worker has it.
        deadline = self.reactor.seconds() + PATIENCE
        while all(entry["snapshot"] <= before for entry in entries):
            self.assertLess(self.reactor.seconds(), deadline, entries)
            await self.turn(0.02)
            entries = await self.listed()
        os.kill(entries[1]["pid"], signal.SIGKILL)
        while (entry := (await self.listed())[1])["state"] != "serving" or not entry["lastEnd"]:
            await self.turn(0.02)
        self.assertEqual((entry["starts"], entry["ends"]["killed"]), (2, 1))
        self.assertEqual(entry["lastEnd"], "was killed by SIGKILL")
        self.assertNotIn(entry["pid"], workers)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_start(self) -> None:
        """Until all workers serve for the first time ``/readyz`` answers 503, and names those that do not."""
        while True:
            controller = self.start_workers()
            await self.until(lambda: children(controller.pid))  # noqa: B023 - it is awaited here
            fork_server = self.fork_server
            os.kill(fork_server, signal.SIGSTOP)
            self.addCleanup(self.wake, fork_server)
            await self.until(lambda: is_stopped(fork_server))  # noqa: B023
            if not children(fork_server):
                break
            # It was faster than we are: there are workers already.
            await controller.kill()
            os.kill(fork_server, signal.SIGKILL)
        await self.until_get(
            (503, b"listeners not open\nworker 0 is starting\nworker 1 is starting\n"), self.admin, "/readyz"
        )
        self.assertEqual({entry["state"] for entry in await self.listed()}, {"starting"})
        os.kill(fork_server, signal.SIGCONT)
        await self.until_ready(controller)
        self.assertEqual(await self.get(self.admin, "/readyz"), (200, b"ok\n"))
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_explained(self) -> None:
        """``ingressctl explain --admin`` asks a controller with workers as any other."""
        controller = self.start_workers()
        await self.until_ready(controller)
        line = [
            "explain",
            "http://shop.test/",
            "--admin",
            f"http://127.0.0.1:{self.admin}",
            "--output",
            "json",
        ]
        result = await in_thread(lambda: CliRunner().invoke(commands, line, prog_name="ingressctl"))
        self.assertEqual(result.exit_code, 0, result.output)
        explained = json.loads(result.stdout)
        self.assertEqual(explained["outcome"]["end"], "sent")
        self.assertEqual(await self.get(self.http), (200, b"shop"))
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_hung(self) -> None:
        """While a worker hangs the pages answer as ever, with what it told last; it is found, and its end is told as such."""
        controller = self.start_workers()
        await self.until_ready(controller)
        await self.connected(20)
        before = (await self.exact_numbers({REQUESTS: 20}))[REQUESTS]
        hung = (await self.listed())[0]["pid"]
        os.kill(hung, signal.SIGSTOP)
        self.addCleanup(self.wake, hung)
        for _ in range(3):
            self.assertEqual((await self.numbers())[REQUESTS], before)
            self.assertEqual((await self.get(self.admin, "/readyz"))[0], 200)
        while not (entry := (await self.listed())[0])["ends"]["hung"]:
            await self.turn(0.05)
        self.assertIn("no sign of life", entry["lastEnd"])
        self.assertEqual((await self.numbers())[REQUESTS], before)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    def wake(self, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass  # It was killed, as it should be.
