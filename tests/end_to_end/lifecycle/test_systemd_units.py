"""The units of ``examples/systemd/``, run by a program that plays systemd: their sockets, their command, their signals."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from tests.end_to_end.lifecycle.test_systemd import ActivatedCase
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.fakes.processes import ControllerProcess, free_port
from tests.fakes.units import DIRECTORY, SERVICE, SOCKETS, Unit


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
        await self.said_ready(controller)
        await self.answers()
        await self.until(lambda: self.manager.said("WATCHDOG"))
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

    async def reloaded(self, more: str = "") -> None:
        """What ``systemctl reload`` sends has another process serve on the same sockets, and that is the one to watch then."""
        self.assertEqual(self.service.one("ExecReload"), "/bin/kill -USR2 $MAINPID")
        old = self.start_unit(more)
        await self.said_ready(old)
        await self.answers()
        old.signal(signal.SIGUSR2)
        await self.until(lambda: self.manager.said("MAINPID") or old.status is not None)
        (new,) = map(int, self.manager.said("MAINPID"))
        self.addCleanup(self.end, new, old)
        await self.until(lambda: old.exit_status is not None)
        self.assertEqual(old.exit_status, 0)
        await self.answers()
        self.assertNotIn("1", [fields.get("STOPPING") for _, fields in self.manager.messages])
        # The new one gives its signs of life, and tells of its own end.
        await self.until(lambda: new in self.alive())
        self.assertEqual(self.alive(), {old.pid, new})
        os.kill(new, signal.SIGTERM)
        await self.until(lambda: self.manager.said("STOPPING"))
        self.assertEqual(self.manager.messages[-1][0], new)
        await self.until(lambda: not Path(f"/proc/{new}").exists())

    def alive(self) -> set[int]:
        """Return which processes have given signs of life."""
        self.manager.read()
        return {pid for pid, fields in self.manager.messages if "WATCHDOG" in fields}

    async def end(self, new: int, old: ControllerProcess) -> None:
        """Kill a process, if it still runs, that writes where the one before it wrote."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(new, signal.SIGKILL)
        await old.end()
        await self.until(lambda: all(pipe.fileno() == -1 for pipe in old.pipes))

    async def test_reload(self) -> None:
        """Of one process."""
        await self.reloaded()

    async def test_reload_workers(self) -> None:
        """With workers."""
        await self.reloaded("--workers=2")

    async def test_reload_in_vain(self) -> None:
        """A new process that cannot start costs nothing: the old one serves, and stays the one to watch."""
        page = self.directory / "page.html"
        page.write_text("nothing here")
        old = self.start_unit(f"--404-page={page}")
        await self.said_ready(old)
        page.unlink()
        old.signal(signal.SIGUSR2)
        await self.until(lambda: b"page.html" in old.output)
        await self.answers()
        self.assertEqual((self.manager.said("MAINPID"), self.manager.said("STOPPING")), ([], []))
        old.signal(signal.SIGTERM)
        self.assertEqual(await self.end_of(old), 0)

    async def test_all_are_signalled(self) -> None:
        """A signal to all processes of the unit, workers among them, lets a request that runs end well, too."""
        controller = self.start_unit("--workers=2")
        await self.said_ready(controller)
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
