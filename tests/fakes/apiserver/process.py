"""Runs the tests' API server as a process, for tests that have no reactor or need a second process."""

from __future__ import annotations

import atexit
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]

#: Seconds that a process may take until it listens; a busy machine starts Python slowly.
START_SECONDS = 60

#: Seconds that it may take to end.
STOP_SECONDS = 30


class ServerProcess:
    """
    The tests' API server as a process, started when it is first needed.

    It ends with ``stop``, or with this process: trial runs no ``tearDownClass``.
    """

    def __init__(self, *options: str) -> None:
        self._options = options
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def kubeconfig(self) -> str:
        """Return the kubeconfig file of the running process."""
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="txingress-apiserver-")
            self._start(Path(self._directory.name))
        return str(Path(self._directory.name) / "kubeconfig")

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, bytes]:
        """End the process by a signal and return its status and what it wrote to stderr."""
        atexit.unregister(self.stop)
        process, self._process = self._process, None
        directory, self._directory = self._directory, None
        if directory is not None:
            directory.cleanup()
        if process is None:
            return 0, b""
        process.send_signal(number)
        _, errors = process.communicate(timeout=STOP_SECONDS)
        return process.returncode, errors

    def _start(self, directory: Path) -> None:
        command = [sys.executable, "-m", "tests.fakes.apiserver"]
        options = ["--kubeconfig-out", str(directory / "kubeconfig"), *self._options]
        process = subprocess.Popen(
            [*command, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._process = process
        atexit.register(self.stop)
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
        line = process.stdout.readline() if ready else b""
        if not line.startswith(b"http"):
            raise AssertionError(f"the tests' API server did not start: {line!r} {self.stop()}")
