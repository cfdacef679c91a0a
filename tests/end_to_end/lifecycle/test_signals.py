"""Signals and full disks, seen from outside: files that are moved away, requests that run, lines that are lost."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.fakes.processes import ROOT, TWISTD, ControllerProcess

LINE = re.compile(
    rb'20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 127\.0\.0\.1 GET shop\.test "[^"]*" \d{3} \d+ \d+\.\d{3}'
    rb" 127\.0\.0\.1:\d+ shop/app HTTP/1\.1 [0-9a-f]{32}"
)

STAMP = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
"""The time of a line, in either log."""


class SignalsCase(EndToEndCase):
    """A controller with one upstream, which keeps requests for ``/slow`` waiting."""

    async def serving(self, *options: str) -> ControllerProcess:
        """Start it, and wait until it serves."""
        self.held: list[UpstreamWire] = []
        self.app = self.upstream(b"")
        self.app.on_request = self.answer_or_hold
        self.write("app", ingress_object("app", "shop.test"), service_object("app"))
        endpoint = f"--endpoint={NAMESPACE}/app={self.app.endpoint}"
        controller = self.start_with_manifests(endpoint, *options)
        await self.until_ready(controller)
        return controller

    def answer_or_hold(self, wire: UpstreamWire) -> None:
        """Answer, but what asks for ``/slow``."""
        if wire.heads[-1].startswith(b"GET /slow"):
            self.held.append(wire)
        else:
            wire.write(OK)

    async def dropped(self) -> int:
        """Return how many lines of the access log the metrics say were lost."""
        _, body = await self.get(self.admin, "/metrics")
        found = re.search(rb"^ingress_access_lines_dropped_total (\S+)$", body, re.MULTILINE)
        assert found is not None, body
        return int(float(found[1]))


class ReopenTests(SignalsCase):
    """``SIGHUP`` and ``SIGUSR1``."""

    async def rotated_by(self, number: int) -> None:
        """Move the access log away, as logrotate does; the next line comes into a new one, and none is lost."""
        controller = await self.serving()
        moved = self.directory / "moved.log"
        for path in ("/one", "/two"):
            await self.get(self.http, path)
            wanted = f'"{path}"'.encode()
            while wanted not in self.access_log.read_bytes():
                await self.turn(0.01)
            self.access_log.rename(moved)
            controller.signal(number)
            await self.until(self.access_log.exists)
            self.assertIn(wanted, moved.read_bytes())
        await self.get(self.http, "/three")
        await self.until(lambda: b'"/three"' in self.access_log.read_bytes())
        self.assertEqual(self.access_log.read_bytes().count(b"\n"), 1)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_hangup(self) -> None:
        """``SIGHUP`` has the access log opened anew, and ends nothing."""
        await self.rotated_by(signal.SIGHUP)

    async def test_user_one(self) -> None:
        """So has ``SIGUSR1``, as it has in nginx."""
        await self.rotated_by(signal.SIGUSR1)

    async def test_impossible(self) -> None:
        """Where no new file can be opened, the old one is written on, and the log says so."""
        controller = await self.serving()
        moved = self.directory / "moved.log"
        self.access_log.rename(moved)
        self.access_log.mkdir()
        controller.signal(signal.SIGHUP)
        await self.until(
            lambda: (
                b"access.log cannot be opened anew, and is written where it was: Is a dir"
                in controller.output
            )
        )
        await self.get(self.http, "/one")
        await self.until(lambda: b'"/one"' in moved.read_bytes())
        self.access_log.rmdir()
        controller.signal(signal.SIGUSR1)
        await self.until(self.access_log.exists)
        self.assertEqual(await self.dropped(), 0)

    async def test_log_of_twistd(self) -> None:
        """The file of ``twistd --logfile`` is opened anew, too, wherever the process stands by now, and its lines are of our form."""
        own = self.directory / "own.log"
        self.runner = (f"--logfile={own}",)
        controller = await self.serving("--log-format=json")
        moved = self.directory / "own.log.moved"
        own.rename(moved)
        controller.signal(signal.SIGHUP)
        await self.until(own.exists)
        await self.until(lambda: b"was opened anew" in own.read_bytes())
        self.assertIn(b"Serving HTTP", moved.read_bytes())
        self.assertNotIn(b"was opened anew", moved.read_bytes())
        lines = [json.loads(line) for line in moved.read_bytes().splitlines()]
        self.assertIn("starting up", lines[0]["message"])
        self.assertTrue(all(STAMP.fullmatch(line["time"]) for line in lines))
        own.rename(moved)
        own.mkdir()
        controller.signal(signal.SIGUSR1)
        await self.until(lambda: b"own.log cannot be opened anew" in moved.read_bytes())
        self.assertIsNone(controller.status)


class EndTests(SignalsCase):
    """``SIGQUIT``, and what is cut off."""

    async def test_quit(self) -> None:
        """``SIGQUIT`` drains as ``SIGTERM`` does: running requests end well, and the status is 0."""
        controller = await self.serving()
        running = [await self.connect(self.http) for _ in range(5)]
        for client in running:
            client.get(b"/slow", b"shop.test")
        await self.until(lambda: len(self.held) == 5)
        controller.signal(signal.SIGQUIT)
        await self.until_get((503, b"stopping\n"), self.admin, "/readyz")
        for wire in self.held:
            wire.write(OK)
        for client in running:
            await client.answer(1)
            self.assertEqual([answer.status for answer in client.answers], [200])
        await self.stopped(controller)

    async def test_cut_off(self) -> None:
        """A request that is cut off at the end of the grace is a 503 of ours in the log, not a client that left."""
        controller = await self.serving("--shutdown-grace=0.3")
        left, cut = await self.connect(self.http), await self.connect(self.http)
        left.get(b"/slow?left", b"shop.test")
        cut.get(b"/slow?cut", b"shop.test")
        await self.until(lambda: len(self.held) == 2)
        left.transport.abortConnection()
        await self.until(lambda: b"?left" in self.access_log.read_bytes())
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        lines = self.access_log.read_bytes().splitlines()
        self.assertEqual(
            [(line.split()[4], line.split()[5]) for line in lines],
            [(b'"/slow?left"', b"499"), (b'"/slow?cut"', b"503")],
        )


class FullDiskTests(SignalsCase):
    """Lines that cannot be written."""

    async def test_full(self) -> None:
        """What a full disk does not take is counted, told once, and harms no request."""
        self.access_log = self.access_log.parent / "full"
        self.access_log.symlink_to("/dev/full")
        controller = await self.serving()
        for _ in range(20):
            self.assertEqual((await self.get(self.http))[0], 200)
        await self.until_dropped(20)
        told = b"lines of the access log are lost, as it could not be written: No space"
        await self.until(lambda: told in controller.output)
        self.assertEqual(controller.output.count(told), 1)
        self.assertIsNone(controller.status)

    async def until_dropped(self, wanted: int) -> None:
        """Wait until so many lines are counted as lost."""
        while (dropped := await self.dropped()) < wanted:
            await self.turn(0.05)
        self.assertEqual(dropped, wanted)

    async def test_torn_line(self) -> None:
        """The line in which a disk became full is whole once there is room, and so is each one behind it."""
        controller = await self.serving()
        await self.get(self.http, "/first")
        await self.until(lambda: LINE.search(self.access_log.read_bytes()))
        size = self.access_log.stat().st_size
        room = size + size // 2
        resource.prlimit(controller.pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        for number in range(10):
            await self.get(self.http, f"/{number}")
        # The first of them is torn, and will be whole.
        await self.until_dropped(9)
        self.assertEqual(self.access_log.stat().st_size, room)
        resource.prlimit(
            controller.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        )
        await self.get(self.http, "/last")
        await self.until(lambda: b'"/last"' in self.access_log.read_bytes())
        lines = self.access_log.read_bytes().splitlines()
        self.assertEqual([line for line in lines if not LINE.fullmatch(line)], [])
        self.assertEqual([line.split()[4] for line in lines], [b'"/first"', b'"/0"', b'"/last"'])
        await self.until(lambda: b"File too large" in controller.output)


class StandardOutputTests(SignalsCase):
    """Where there is nobody to write to."""

    def started(self, *runner: str, closed: str = "") -> tuple[int, bytes]:
        """Start a controller by a shell, which closes what it is told; return status and standard error."""
        arguments = [
            *runner,
            "--pidfile=",
            f"--rundir={self.directory}",
            "ingress",
            f"--manifests={self.manifests}",
        ]
        command = [sys.executable, "-c", TWISTD, *arguments, "--http=tcp:0", "--https=tcp:0", "--admin=tcp:0"]
        ended = subprocess.run(
            ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command],
            cwd=self.directory,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
        return ended.returncode, ended.stderr

    def test_daemon(self) -> None:
        """A daemon has no standard output, so it needs a file for the access log, and says so in one line."""
        self.assertEqual(
            self.started(),
            (
                1,
                b"ingress: a daemon has no standard output: name a file by --access-log, or run twistd with -n\n",
            ),
        )
        self.assertFalse((self.directory / "twistd.log").exists())

    def test_closed(self) -> None:
        """With standard output closed its number belongs to something else, which must not get lines."""
        self.assertEqual(
            self.started("-n", closed=">&-"),
            (1, b"ingress: standard output is closed: name a file for the access log by --access-log\n"),
        )
