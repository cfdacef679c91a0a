"""Whoever ends a program of the benchmark, it leaves its blocks, and says why in one line."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event
from time import monotonic

from twisted.trial.unittest import SynchronousTestCase

PATIENCE = 60.0
_pause = Event().wait
MISSING = (
    "features.auth",
    "beforehand",
    "features.fastcgi",
    "features.tracing",
    "requests.workers",
    "peers.install chromium wrk",
)
"""What asks for programs that are no daemons, or is asked for some: daemons are looked for in folders of the system, too."""

# Does what the first word says once its block is entered.
PROGRAM = """
import os, signal, sys
from contextlib import ExitStack
from bench.setup.ending import status_of
from bench.setup.errors import BenchError

def run():
    with ExitStack() as stack:
        stack.callback(print, "left")
        if sys.argv[1] == "error":
            raise BenchError("nothing to measure")
        os.kill(os.getpid(), int(sys.argv[1]))
    return 0

sys.exit(status_of("bench", run))
"""


def environment(**more: str) -> dict[str, str]:
    """The environment of this process, with *more*, for one of Python that finds what this one does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more}


def ended(word: str) -> tuple[int, str, str]:
    """The status of the program, and what it printed and said."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, word], capture_output=True, text=True, timeout=60, env=environment()
    )
    return done.returncode, done.stdout, done.stderr


class StatusTests(SynchronousTestCase):
    """Real processes, since signals are meant for them."""

    def test_error(self) -> None:
        """What makes it impossible is one line, and status 1."""
        self.assertEqual(ended("error"), (1, "left\n", "bench: nothing to measure\n"))

    def test_interrupted(self) -> None:
        """Ctrl-C has the status that shells give it, and no traceback."""
        self.assertEqual(ended(str(int(signal.SIGINT))), (130, "left\n", "bench: interrupted\n"))

    def test_ended(self) -> None:
        """SIGTERM and SIGHUP end it as an exception does."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            self.assertEqual(ended(str(int(number))), (128 + number, "left\n", ""))


class CommandTests(SynchronousTestCase):
    """Commands of the Makefile, as processes."""

    def test_missing(self) -> None:
        """Where programs are missing that cannot be installed, each says which packages have them, in one line."""
        empty = Path(self.mktemp()).absolute()
        empty.mkdir()
        for command in MISSING:
            name, *arguments = command.split()
            done = subprocess.run(
                [sys.executable, "-m", f"bench.{name}", *arguments],
                capture_output=True,
                text=True,
                timeout=60,
                env=environment(PATH=str(empty)),
            )
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertRegex(
                done.stderr, r"\A(bench|make): not installed: [a-z2 -]+; there is no apt-get here, .*\n\Z"
            )

    def test_terminated(self) -> None:
        """A command that is terminated leaves no process behind."""
        with subprocess.Popen(
            [sys.executable, "-m", "bench.cluster.watch", "--count=100", "--runs=1"],
            stdout=subprocess.DEVNULL,
            env=environment(),
        ) as process:
            self.addCleanup(process.kill)
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            started: list[str] = []
            deadline = monotonic() + PATIENCE
            while not started and monotonic() < deadline:
                _pause(0.05)
                started = children.read_text().split()
            process.terminate()
            self.assertEqual(process.wait(PATIENCE), 128 + signal.SIGTERM)
        self.assertNotEqual(started, [])
        # Such as the one that multiprocessing tracks its resources with ends once it finds that its parent has.
        deadline = monotonic() + PATIENCE
        while (left := [pid for pid in started if Path(f"/proc/{pid}").exists()]) and monotonic() < deadline:
            _pause(0.05)
        self.assertEqual(left, [])
