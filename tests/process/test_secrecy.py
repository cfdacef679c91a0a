"""Memory that others of the same user do not read."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

USER = 65532
PROGRAM = (
    "import os, sys; from ingress.process.secrecy import hide_memory\n"
    "if sys.argv[1] == 'hidden': hide_memory()\n"
    "child = os.fork()\n"
    "print('begun', flush=True) if child else None\n"
    "sys.stdin.read()\n"
)
"""Waits, and so does what it forks."""


class SecrecyTests(SynchronousTestCase):
    def setUp(self) -> None:
        if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("setpriv") is None:
            raise SkipTest("needs Linux, root and setpriv, to be another user")

    def may_read(self, word: str) -> set[bool]:
        """Whether another process of the same user may read the memory of one that was told *word*, and of what it forked."""
        environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
        command = [
            "setpriv",
            f"--reuid={USER}",
            f"--regid={USER}",
            "--clear-groups",
            sys.executable,
            "-c",
            PROGRAM,
            word,
        ]
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise SkipTest(str(error)) from None
        with process:
            try:
                assert process.stdout is not None
                if process.stdout.readline() != b"begun\n":
                    raise SkipTest("that user cannot run this Python")
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                return {Path(f"/proc/{pid}/maps").stat().st_uid == USER for pid in (process.pid, *children)}
            finally:
                os.killpg(process.pid, signal.SIGKILL)

    def test_memory_is_hidden(self) -> None:
        """What is hidden belongs to root for whoever looks, what is forked of it, too; what is not belongs to its user."""
        self.assertEqual(self.may_read("hidden"), {False})
        self.assertEqual(self.may_read("open"), {True})
