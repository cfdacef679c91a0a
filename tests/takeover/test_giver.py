"""The side that serves, with real sockets and a real new process, and a clock that the test moves."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock, deferLater
from twisted.trial.unittest import TestCase

from ingress.takeover.giver import Giver
from ingress.takeover.giving import TAKE_SECONDS
from ingress.takeover.socket_file import SocketFile
from tests.fakes.processes import ROOT

HANGING = """
import os, signal, socket, sys
from ingress.takeover.messages import Message, Word, decoded, encoded
sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
sock.connect(sys.argv[1])
sock.send(encoded(Message(Word.HELLO, number=os.getpid())))
sock.send(encoded(Message(Word.SERVING)))
while decoded(sock.recv(65536)).word is not Word.YOURS:
    pass
print("mine", flush=True)
signal.pause()
"""


class ClockedReactor:
    """The reactor, but its time is that of *clock*."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(real_reactor, name)

    def callLater(self, seconds: float, call: Any, *arguments: Any) -> Any:
        return self._clock.callLater(seconds, call, *arguments)


class FakeProcess:
    """What serves, and notes what is asked of it."""

    identity = "host_0123"

    def __init__(self) -> None:
        self.did: list[str] = []

    def why_not(self) -> str:
        return ""

    def sockets(self) -> Mapping[str, int]:
        return {}

    async def hold(self) -> None:
        self.did.append("hold")

    def go_on(self) -> None:
        self.did.append("go on")

    def leave(self, process: int) -> None:
        self.did.append("leave")


class GiverTests(TestCase):
    """A new process that says it serves, gets all, and does nothing more."""

    timeout = 60

    async def until(self, condition: Any) -> None:
        while not condition():
            await deferLater(real_reactor, 0.01)

    async def test_hangs(self) -> None:
        """It is killed when its time is up, and only then the reporting goes on here."""
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = SocketFile(str(Path(folder.name, "sock")))
        clock, process = Clock(), FakeProcess()
        giver = Giver(ClockedReactor(clock), process)
        giver.open(file.prepare())
        self.addCleanup(giver.stop)
        file.publish()
        new = subprocess.Popen(
            [sys.executable, "-c", HANGING, str(Path(folder.name, "sock"))],
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": str(ROOT)},
        )
        self.addCleanup(new.kill)
        assert new.stdout is not None
        self.addCleanup(new.stdout.close)
        await self.until(lambda: process.did)
        said: Deferred[bytes] = deferLater(real_reactor, 0, new.stdout.readline)
        self.assertEqual(await said, b"mine\n")
        clock.advance(TAKE_SECONDS - 1)
        self.assertIsNone(new.poll())
        clock.advance(1)
        self.assertEqual(process.did, ["hold"])
        await self.until(lambda: len(process.did) > 1)
        self.assertEqual(process.did, ["hold", "go on"])
        self.assertEqual(new.wait(), -signal.SIGKILL)
        self.assertEqual(clock.getDelayedCalls(), [])
