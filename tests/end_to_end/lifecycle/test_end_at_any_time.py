"""SIGTERM at any moment of a start: the process ends at once, in good order, and nothing of it is left."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.processes import ControllerProcess

MOMENTS = 6
"""How many moments of a start are tried."""
TOLD = -signal.SIGTERM
"""The status of a process that did not yet know what to do at the signal."""


class AnyTimeTests(EndToEndCase):
    """Starts that are broken off."""

    async def broken_off(self, *options: str) -> None:
        """Start again and again, and end each start a little later than the one before, up to one that is ready."""
        app = self.upstream(b"app")
        self.write("app", ingress_object("app", "shop.test"), service_object("app"))
        whole = await self.lasts(f"--endpoint={NAMESPACE}/app={app.endpoint}", *options)
        for moment in range(MOMENTS):
            controller = self.begin(f"--endpoint={NAMESPACE}/app={app.endpoint}", *options)
            await self.turn(whole * moment / MOMENTS)
            await self.ended(controller)

    def begin(self, *options: str) -> ControllerProcess:
        """Start a controller that would not wait for anybody at its end."""
        return self.start_with_manifests("--shutdown-grace=0", *options)

    async def lasts(self, *options: str) -> float:
        """Return how many seconds a start takes."""
        began = self.reactor.seconds()
        controller = self.begin(*options)
        await self.until_ready(controller)
        seconds: float = self.reactor.seconds() - began
        await self.ended(controller)
        return seconds

    async def ended(self, controller: ControllerProcess) -> None:
        """Have a controller end; nothing that it has started is left behind."""
        family = [controller.pid, *self.below(controller.pid)]
        controller.signal(signal.SIGTERM)
        status = await controller.end().addTimeout(PATIENCE, self.reactor)
        self.assertIn(status, (0, TOLD), controller.errors)
        self.assertEqual(controller.faults(), [])
        await self.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))

    def below(self, pid: int) -> list[int]:
        """Return the processes that this one has started, and theirs."""
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except FileNotFoundError:
            return []
        return [one for child in children for one in (int(child), *self.below(int(child)))]

    async def test_alone(self) -> None:
        """Of one process."""
        await self.broken_off()

    async def test_workers(self) -> None:
        """With workers, of which none is left either."""
        await self.broken_off("--workers=2")
