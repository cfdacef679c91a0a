"""The processes of a run: each with a log of its own, and all ended with the run, the youngest first."""

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Self

TERM_SECONDS = 15.0
# Nothing outlives a run, however that ends.
WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")


class EndedError(Exception):
    """A process that should be there is not, or something did not come about in time."""


class Processes:
    """A context: whatever was started in it is ended after it."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self._running: list[tuple[str, subprocess.Popen[bytes]]] = []
        self._ends: dict[int, signal.Signals] = {}

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        end: signal.Signals = signal.SIGTERM,
    ) -> subprocess.Popen[bytes]:
        """Start a program whose output goes to ``NAME.log``; *end* is the signal that ends it."""
        with (self.logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [*WITH_US, *(str(word) for word in command)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=folder,
                # Ctrl-C is for the run, which ends the others in order.
                start_new_session=True,
            )
        self._running.append((name, process))
        self._ends[process.pid] = end
        return process

    def end(self, ended: subprocess.Popen[bytes]) -> None:
        self._running = [(name, process) for name, process in self._running if process is not ended]
        ended.send_signal(self._ends.pop(ended.pid))
        try:
            ended.wait(TERM_SECONDS)
        except subprocess.TimeoutExpired:
            ended.kill()
            ended.wait()

    def check(self) -> None:
        """Raise EndedError if one of them is gone."""
        for name, process in self._running:
            if process.poll() is not None:
                lines = (self.logs / f"{name}.log").read_text(errors="replace").splitlines()[-15:]
                text = "\n".join(["", *lines])
                raise EndedError(
                    f"{name} ended with status {process.returncode}; {self.logs / name}.log ends so:{text}"
                )

    def wait_until(self, what: str, true: Callable[[], bool], seconds: float) -> None:
        """Ask again and again; raises EndedError when the time is over or a process is gone."""
        end = time.monotonic() + seconds
        while not true():
            self.check()
            if time.monotonic() > end:
                raise EndedError(f"{what} took more than {seconds:.0f} s; the logs are in {self.logs}")
            Event().wait(0.1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._running:
            self.end(self._running[-1][1])
