"""Processes of their own say nothing besides."""

import os
import runpy
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

PROGRAM = """
from bench.setup.own_process import forked_processes
from tests.bench.setup.test_own_process import run_main_again

with forked_processes() as pool:
    print(pool.submit(run_main_again).result())
"""


def run_main_again() -> str:
    """Import a benchmark as each process does with the one that was started; return its name there."""
    return str(runpy.run_module("bench.requests.calls", run_name="__mp_main__", alter_sys=True)["__name__"])


class ForkedTests(SynchronousTestCase):
    """Those that are forked."""

    def test_quiet(self) -> None:
        """The module that was started may be one of those that are imported already: no warning of that stands in the table."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, env=environment
        )
        self.assertEqual((done.stdout, done.stderr), ("__mp_main__\n", ""))
