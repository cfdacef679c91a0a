"""Processes of the controller that are forked: they are what ``twistd`` would have made of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from select import select

from twisted.internet import reactor  # noqa: TID251 - a real process needs the real reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from tests.fakes.fork_server import ROOT, ForkServer
from tests.fakes.processes import ControllerProcess

PATIENCE = 60.0


class ForkedTests(TestCase):
    """One process each."""

    def setUp(self) -> None:
        self.directory = Path(self.mktemp()).resolve()
        self.directory.mkdir(parents=True)

    def start(self, *options: str, **environment: str) -> ControllerProcess:
        """Start a controller."""
        process = ControllerProcess(reactor, str(self.directory), *options, environment=environment)
        self.addCleanup(process.kill)
        return process

    async def test_end_of_itself(self) -> None:
        """What it writes, and where to, and its status, are those of a process that was begun anew."""
        forked, begun = self.start("--version"), self.start("--version", PYTHONDONTWRITEBYTECODE="1")
        for one in (forked, begun):
            self.assertEqual(await one.end().addTimeout(PATIENCE, reactor), 0)
        self.assertEqual((forked.output, forked.errors), (begun.output, begun.errors))
        self.assertIn(b"txingress", forked.output)
        forked, begun = self.start("--no-such"), self.start("--no-such", PYTHONDONTWRITEBYTECODE="1")
        for one in (forked, begun):
            self.assertEqual(await one.end().addTimeout(PATIENCE, reactor), 1)
        self.assertEqual((forked.output, forked.errors), (begun.output, begun.errors))
        self.assertIn(b"--no-such", forked.errors)

    async def test_signal(self) -> None:
        """One that is killed says so, and no other is meant."""
        first, second = (self.start("--manifests=.", "--admin=tcp:0:interface=127.0.0.1") for _ in range(2))
        first.signal(signal.SIGKILL)
        self.assertEqual(await first.end().addTimeout(PATIENCE, reactor), -signal.SIGKILL)
        self.assertIsNone(second.status)
        self.assertEqual(os.getpgid(second.pid), os.getpgid(0))


LAST_WORDS = """
import atexit, os, sys
from twisted.internet.defer import fail
from twisted.python.log import startLogging
from tests.fakes.fork_server import end_after

class Kept:
    def __del__(self):
        os.write(1, b"taken apart")

kept = Kept()

def run():
    startLogging(sys.stdout, setStdout=False)
    circle = [fail(ValueError("heard by nobody"))]
    circle.append(circle)
    atexit.register(os.write, 1, b"at exit\\n")
    sys.exit(3)

end_after(run)
"""


class EndTests(SynchronousTestCase):
    """``end_after``."""

    def test_last_words(self) -> None:
        """What is to be done and told at an end is, and what was imported is not taken apart."""
        ended = subprocess.run(
            [sys.executable, "-c", LAST_WORDS], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
        )
        self.assertEqual((ended.returncode, ended.stderr), (3, ""))
        self.assertIn("at exit\n", ended.stdout)
        self.assertIn("ValueError: heard by nobody", ended.stdout)
        self.assertNotIn("taken apart", ended.stdout)


class FaultsTests(TestCase):
    """What tells of a fault in the output, and what only looks so."""

    async def test_faults(self) -> None:
        """A fault is told with its line; the name of a directory, which may be any, is none."""
        process = ControllerProcess(reactor, str(Path(self.mktemp()).parent), "--version")
        self.addCleanup(process.kill)
        await process.end().addTimeout(PATIENCE, reactor)
        process.output += b"Manifest /temp/buglkyj7/_critical came\n"
        self.assertEqual(process.faults(), [])
        failed = (
            b"[Controller#critical] Translation failed",
            b"Traceback (most recent call last):",
            b"by a bug",
        )
        process.output += b"%b\nends\n" % failed[0]
        process.errors += b"%b\n%b\n" % failed[1:]
        self.assertEqual(process.faults(), list(failed))


class SharedTests(SynchronousTestCase):
    """Several processes that ask one fork server."""

    def test_each_hears_of_its_own(self) -> None:
        """Whoever asked for a process learns how it ended, and nobody else."""
        asking = [ForkServer(), ForkServer()]
        ended: list[list[tuple[int, int]]] = [[], []]
        nothing = os.open(os.devnull, os.O_WRONLY)
        self.addCleanup(os.close, nothing)
        started = [
            [one.start(["--version"], dict(os.environ), nothing, nothing) for _ in range(2)] for one in asking
        ]
        for one, found in zip(asking, ended, strict=True):
            while len(found) < 2:
                select([one.ends], [], [], PATIENCE)
                end = one.read_end()
                assert end is not None
                found.append(end)
            self.assertIsNone(one.read_end())
        self.assertEqual(
            [sorted(found) for found in ended], [sorted((pid, 0) for pid in pids) for pids in started]
        )
