"""The file with the process id, while one process follows another."""

import os
import subprocess
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import StartError
from ingress.process.pid_file import PidFile


class PidFileTests(SynchronousTestCase):
    """With the options of ``twistd`` in the place of ``twistd``."""

    def setUp(self) -> None:
        self.path = Path(self.mktemp()).resolve()
        self.runner: dict[str, Any] = {"pidfile": str(self.path)}
        self.file = PidFile(self.runner)

    def test_new_process(self) -> None:
        """A new process writes it when it has taken over, and ``twistd`` removes it at its end."""
        self.path.write_text(str(os.getppid()))
        self.file.keep()
        self.assertEqual(self.runner["pidfile"], "")
        self.file.check(os.getppid())
        self.file.write()
        self.assertEqual((self.path.read_text(), self.runner["pidfile"]), (str(os.getpid()), str(self.path)))

    def test_old_process(self) -> None:
        """The one before it leaves the file alone that names another one by now, and only that."""
        self.path.write_text(str(os.getpid()))
        self.file.leave()
        self.assertEqual(self.runner["pidfile"], str(self.path))
        self.path.write_text(str(os.getppid()))
        self.file.leave()
        self.assertEqual(self.runner["pidfile"], "")

    def test_somebody_else(self) -> None:
        """A process that runs, and is not the one to take over from, is not started beside."""
        self.path.write_text(str(os.getppid()))
        self.file.keep()
        with self.assertRaisesRegex(StartError, f"process {os.getppid()} runs, and is not the one"):
            self.file.check(None)

    def test_left_over(self) -> None:
        """A file of a process that is gone, or with anything else in it, is in nobody's way."""
        ended = subprocess.Popen(["true"])
        ended.wait()
        self.file.keep()
        for content in (str(ended.pid), "", "none", "-1", "9" * 40, "\x00"):
            self.path.write_text(content)
            self.file.check(None)

    def test_without(self) -> None:
        """Without such a file, or with another runner, there is nothing to do."""
        for runner in (None, {}, {"pidfile": ""}):
            file = PidFile(runner)
            file.keep()
            file.check(1)
            file.write()
            file.leave()
