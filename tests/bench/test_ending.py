"""Whoever ends a program of the benchmark, it leaves its blocks, and says why in one line."""

import os
import signal
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

# Does what the first word says once its block is entered.
PROGRAM = """
import os, signal, sys
from contextlib import ExitStack
from bench.ending import status_of
from bench.errors import BenchError

def run():
    with ExitStack() as stack:
        stack.callback(print, "left")
        if sys.argv[1] == "error":
            raise BenchError("nothing to measure")
        os.kill(os.getpid(), int(sys.argv[1]))
    return 0

sys.exit(status_of("bench", run))
"""


def ended(word: str) -> tuple[int, str, str]:
    """The status of the program, and what it printed and said."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, word], capture_output=True, text=True, timeout=60, env=environment
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
