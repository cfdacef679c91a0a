"""What tests of takeovers share: the next process on the same ports, and a new process that says whatever its test likes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from twisted.trial.unittest import SkipTest

from ingress.takeover.messages import Message, Word, decoded, encoded
from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.fakes.processes import ControllerProcess


class TakeoverCase(EndToEndCase):
    """Controllers that follow each other on the same ports, in front of an upstream that keeps ``/slow`` waiting."""

    def setUp(self) -> None:
        super().setUp()
        # The name of a socket is short, and that of a test's directory is not.
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "takeover.sock"
        self.chain: list[ControllerProcess] = []
        self.addCleanup(self.end_successors)

    def successors(self) -> list[int]:
        """Return the processes that controllers of this test have started, and that run."""
        mark = f"--rundir={self.directory}".encode()
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if mark in _arguments(pid)]

    async def end_successors(self) -> None:
        """Kill what controllers have started, as far as it still runs."""
        for controller in self.chain:
            await controller.kill()
        for pid in self.successors():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await self.until(lambda: not self.successors())

    def route(self) -> str:
        """Have a route to an upstream; return the option that names it."""
        self.held: list[UpstreamWire] = []
        self.app = self.upstream(b"")
        self.app.on_request = self.answer_or_hold
        self.write("app", ingress_object("app", "shop.test"), service_object("app"))
        return f"--endpoint={NAMESPACE}/app={self.app.endpoint}"

    def answer_or_hold(self, wire: UpstreamWire) -> None:
        """Answer, but what asks for ``/slow``."""
        if wire.heads[-1].startswith(b"GET /slow"):
            self.held.append(wire)
        else:
            wire.write(OK)

    async def serving(self, *options: str) -> ControllerProcess:
        """Start the first one of manifests, and wait until it can be taken over."""
        self.options = (f"--manifests={self.manifests}", self.route(), "--shutdown-delay=60", *options)
        controller = self.start(f"--takeover={self.path}", *self.options)
        self.chain.append(controller)
        await self.until_ready(controller)
        await self.until(self.path.exists)
        return controller

    def start_next(self, *options: str, http: int | None = None) -> ControllerProcess:
        """Start another one on the same ports, or on another one of HTTP."""
        listeners = (("http", http or self.http), ("https", self.https), ("admin", self.admin))
        controller = ControllerProcess(
            self.reactor,
            str(self.directory),
            *(f"--{name}=tcp:{port}:interface=127.0.0.1" for name, port in listeners),
            f"--access-log={self.access_log}",
            f"--takeover={self.path}",
            "--overload-after=0",
            *(f"--allow-endpoint-networks={network}" for network in self.endpoint_networks),
            *options,
            environment=self.environment,
            runner=self.runner,
        )
        self.chain.append(controller)
        self.addCleanup(controller.kill)
        return controller

    async def taken_over(self, old: ControllerProcess) -> None:
        """Check that a controller ends in good order since another one has taken over."""
        self.assertEqual(await self.end_of(old), 0)
        self.assertIn(b"has taken over", old.output)
        self.assertEqual(old.errors, b"")
        self.assertEqual(old.faults(), [])

    async def until_told(self, controller: ControllerProcess, line: bytes, times: int = 1) -> None:
        """Wait until a controller has logged something so many times."""
        await self.until(lambda: controller.output.count(line) >= times)

    def can_be_taken_over(self) -> bool:
        """Whether there is a socket for that, which nobody else may open."""
        found = os.stat(self.path)
        return stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600

    def new_process(self) -> NewProcess:
        """Return a new process, which is this one."""
        made = NewProcess(str(self.path))
        self.addCleanup(made.leave)
        return made

    async def said(self, new: NewProcess) -> Message:
        """Return the next thing that the controller says to *new*."""
        found: list[Message] = []

        def hear() -> bool:
            message = new.hear()
            if message is not None:
                found.append(message)
            return bool(found)

        await self.until(hear)
        return found[0]


class FirstProcessCase(TakeoverCase):
    """A controller that is process 1 of a namespace, as in a container."""

    async def first(self, *options: str) -> ControllerProcess:
        """Start it, and wait until it serves."""
        program = shutil.which("unshare")
        through = (program or "unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
        # Root of a container may not make one, as a rule.
        if program is None or subprocess.run([*through, "true"], stderr=subprocess.DEVNULL).returncode:
            raise SkipTest("a process namespace takes unshare, and the right to make one")
        self.through = through
        controller = self.start(f"--manifests={self.manifests}", self.route(), *options)
        await self.until_ready(controller)
        return controller

    def signal_first(self, controller: ControllerProcess, number: int) -> None:
        """Send a signal to process 1, by the number that it has outside."""
        children = Path(f"/proc/{controller.pid}/task/{controller.pid}/children").read_text(encoding="ascii")
        os.kill(int(children.split()[0]), number)


def _arguments(pid: int) -> list[bytes]:
    """Return the command line of a process; empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


class NewProcess:
    """One side of a takeover, spoken by hand."""

    def __init__(self, path: str) -> None:
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._sock.connect(path)
        self._sock.setblocking(False)
        self.names: list[str] = []

    def say(self, word: Word, text: str = "") -> None:
        """Say a word."""
        self.say_octets(encoded(Message(word, text, number=os.getpid())))

    def say_octets(self, octets: bytes) -> None:
        """Say anything."""
        self._sock.send(octets)

    def hear(self) -> Message | None:
        """Return what came, None while there is nothing; sockets are noted by name, and closed."""
        while True:
            try:
                octets, descriptors, _, _ = socket.recv_fds(self._sock, 1 << 17, 64)
            except BlockingIOError:
                return None
            for one in descriptors:
                os.close(one)
            message = decoded(octets)
            if message.word is not Word.SOCKETS:
                return message
            self.names += message.names

    def leave(self) -> None:
        """Be gone."""
        self._sock.close()
