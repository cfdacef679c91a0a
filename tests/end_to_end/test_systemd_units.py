"""The units of ``examples/systemd/``, run by a program that plays systemd: their sockets, their command, their signals."""

from __future__ import annotations

import os
import signal

from tests.end_to_end.test_systemd import ActivatedCase
from tests.fakes.processes import ControllerProcess, free_port
from tests.fakes.units import DIRECTORY, SERVICE, SOCKETS, Unit
from tests.fakes.upstreams import OK, UpstreamWire


class UnitsCase(ActivatedCase):
    """A service that is started as its unit says, on other ports and directories."""

    def setUp(self) -> None:
        super().setUp()
        self.service = Unit(DIRECTORY / SERVICE)
        self.environment = {
            **self.environment,
            "WATCHDOG_USEC": str(round(self.service.seconds("WatchdogSec") * 1e6)),
        }

    def start_unit(self, more: str = "") -> ControllerProcess:
        """Open the sockets of the units, and run what the service says, with *more* options in its environment file."""
        if not self.sockets:
            for name in SOCKETS:
                self.listening(Unit(DIRECTORY / name).one("FileDescriptorName"))
            self.http, self.https = (sock.getsockname()[1] for _, sock in self.sockets)
            self.admin = free_port()
            self.admins.add(self.admin)
        places = {
            "/etc/txingress/manifests": str(self.manifests),
            "/var/log/txingress": str(self.directory),
            "tcp:10254": f"tcp:{self.admin}",
        }
        command = self.service.command("ExecStart", {"TXINGRESS_OPTIONS": more})
        options = command[command.index("ingress") + 1 :]
        for written, here in places.items():
            options = [option.replace(written, here) for option in options]
        return self.run_with_route(*options)


class UnitTests(UnitsCase):
    """The life of the service."""

    async def lived(self, more: str = "") -> None:
        """It is started, ready, alive, and stops within its time at the signal that systemd sends to it alone."""
        controller = self.start_unit(more)
        await self.until(lambda: self.manager.said("READY"))
        await self.answers()
        self.assertEqual(self.manager.said("WATCHDOG")[0], "1")
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        self.assertEqual(self.manager.said("STOPPING"), ["1"])

    async def test_life(self) -> None:
        """As one process."""
        await self.lived()

    async def test_workers(self) -> None:
        """With workers."""
        await self.lived("--workers=2")

    async def test_all_are_signalled(self) -> None:
        """A signal to all processes of the unit, workers among them, lets a request that runs end well, too."""
        controller = self.start_unit("--workers=2")
        await self.until(lambda: self.manager.said("READY"))
        held: list[UpstreamWire] = []
        self.app.on_request = held.append
        client = await self.connect(self.http)
        client.get(b"/", b"shop.test")
        await self.until(lambda: held)
        for pid in self.family_of(controller.pid):
            os.kill(pid, signal.SIGTERM)
        await self.until(lambda: self.manager.said("STOPPING"))
        held[0].write(OK)
        await client.answer(1)
        self.assertEqual([answer.status for answer in client.answers], [200])
        await self.stopped(controller)
