"""SIGUSR2 at process 1 of a container: workers are replaced below it.  It has a process namespace of its own, as there."""

from __future__ import annotations

import json
import signal

from tests.end_to_end.takeover.takeover_case import FirstProcessCase
from tests.fakes.peers.upstreams import OK


class FirstProcessTests(FirstProcessCase):
    """A container's controller."""

    async def workers(self) -> list[int]:
        """Return the process ids of the workers, as they are within."""
        _, body = await self.get(self.admin, "/api/workers")
        return [one["pid"] for one in json.loads(body)["workers"]]

    async def test_alone(self) -> None:
        """Without workers a line says that nothing can be replaced, and all is served as before."""
        controller = await self.first()
        self.signal_first(controller, signal.SIGUSR2)
        await self.until_told(
            controller,
            b"Process 1 cannot be replaced, since all others end with it, nor what is below it: it serves by itself, without --workers",
        )
        self.assertEqual(await self.get(self.http), (200, b"ok"))

    async def test_workers(self) -> None:
        """Each worker is followed by a new one, and a request that runs ends well, though no new one goes to its process."""
        controller = await self.first("--workers=2", "--shutdown-delay=60")
        before = await self.workers()
        running = [await self.connect(self.http) for _ in range(4)]
        for client in running:
            client.get(b"/slow", b"shop.test")
        await self.until(lambda: len(self.held) == 4)
        self.signal_first(controller, signal.SIGUSR2)
        await self.until_told(controller, b"worker 0 makes way for a new one")
        self.assertEqual(await self.get(self.http), (200, b"ok"))
        self.signal_first(controller, signal.SIGUSR2)
        await self.until_told(controller, b"workers are being replaced already")
        for wire in self.held:
            wire.write(OK)
        for client in running:
            await client.answer(1)
            self.assertEqual([answer.status for answer in client.answers], [200])
        await self.until_told(controller, b"All workers were replaced")
        self.assertEqual(set(before) & set(await self.workers()), set())
        self.assertEqual(await self.get(self.http), (200, b"ok"))
        self.assertEqual(await self.get(self.admin, "/readyz"), (200, b"ok\n"))
        # At their end workers tell all that they have counted; of the others a busy one may be late.
        metrics = await self.until_shown(b"\ningress_request_duration_seconds_count 6.0\n")
        for slot in (b"0", b"1"):
            self.assertIn(b'\ningress_worker_ends_total{cause="stopped",worker="%b"} 1.0\n' % slot, metrics)
        self.assertEqual(controller.faults(), [])
        self.assertNotIn(b"ended with status", controller.output)

    async def test_one_worker(self) -> None:
        """A single worker has nobody who would serve meanwhile."""
        controller = await self.first("--workers=1")
        self.signal_first(controller, signal.SIGUSR2)
        await self.until_told(controller, b"there is no other worker that would serve meanwhile")
        self.assertEqual(await self.get(self.http), (200, b"ok"))
