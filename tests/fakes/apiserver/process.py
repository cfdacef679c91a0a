"""Runs the tests' API server as a process, for tests that have no reactor or need a second process."""

from __future__ import annotations

import atexit
import select
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]

#: Seconds that a process may take until it listens; a busy machine starts Python slowly.
START_SECONDS = 30


class ServerProcess:
    """The tests' API server as a process, started when it is first needed, ended with this one."""

    def __init__(self) -> None:
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def kubeconfig(self) -> str:
        """Return the kubeconfig of the running process."""
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="txingress-contract-")
            self._start(Path(self._directory.name))
        return str(Path(self._directory.name) / "kubeconfig")

    def _start(self, directory: Path) -> None:
        process = subprocess.Popen(
            [
                sys.executable,
                *("-m", "tests.fakes.apiserver", "--tls"),
                *("--kubeconfig-out", str(directory / "kubeconfig")),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        # Trial runs no tearDownClass, so the process lives as long as this one.
        atexit.register(self._stop, process)
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], 30)
        line = process.stdout.readline() if ready else b""
        if not line.startswith(b"https://127.0.0.1:"):
            raise AssertionError(f"the tests' API server did not start: {line!r}")

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        process.communicate()
        assert self._directory is not None
        self._directory.cleanup()
