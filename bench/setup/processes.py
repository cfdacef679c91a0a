"""Child processes, each in a session of its own, pinned to a CPU, and ended by its own process group.

Whatever happens to the benchmark, leaving the ``with`` block of ``Processes`` ends all
of them, and its death does.  Ctrl-C in the terminal does not reach them directly.
"""

import os
import random
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from attrs import define, frozen

from bench.setup.errors import BenchError

HOST = "127.0.0.1"
READY_SECONDS = 60.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.05
# Also where this process ends without a word, so that leaving ``with`` blocks is not to be counted on.
_TIED = ("setpriv", "--pdeathsig", "TERM", "--")
LOG_TAIL_LINES = 3

pause = threading.Event().wait
"""Wait for so many seconds."""


# Below the ports that systems give to outgoing connections: none of those takes one before the process does, or while it
# is away.
_PORTS = range(15000, 30000)
_random = random.SystemRandom()
_held: list[socket.socket] = []
"""Keep each port that was given out from whoever looks for a free one, in this process or another, but from nobody that listens on it."""


def free_ports(count: int) -> list[int]:
    """Return *count* TCP ports of 127.0.0.1 that nobody listens on, each only once among all processes that ask here."""
    found: list[int] = []
    while len(found) < count:
        port = _random.choice(_PORTS)
        holder = socket.socket()
        try:
            holder.bind((HOST, port))
        except OSError:
            holder.close()
            continue
        # From now on, and not before: servers set this, too, and may bind what nobody listens on; a search does not.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _held.append(holder)
        found.append(port)
    return found


@frozen
class Running:
    """A started process."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        """The process at the root of its tree."""
        return self.popen.pid

    def check(self) -> None:
        """Raise BenchError if it has ended by itself."""
        if self.popen.poll() is not None:
            lines = self.log.read_text(errors="replace").strip().splitlines()[-LOG_TAIL_LINES:]
            raise BenchError(f"{self.name} ended with status {self.popen.returncode}: {' | '.join(lines)}")


@define
class Processes:
    """The processes of one benchmark; a context manager that ends them."""

    folder: Path
    _running: list[Running]

    @classmethod
    def logging_to(cls, folder: Path) -> "Processes":
        """Make one whose processes write what they say into *folder*."""
        return cls(folder, [])

    @property
    def pids(self) -> list[int]:
        """The roots of the trees that were started."""
        return [one.pid for one in self._running]

    def start(
        self,
        name: str,
        command: Sequence[str],
        cpu: int | str,
        environment: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
    ) -> Running:
        """Start *command* on CPU number *cpu*, or on a list of them such as ``0,1``, with these open *descriptors*."""
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            popen = subprocess.Popen(
                [*_TIED, "taskset", "--cpu-list", str(cpu), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
                pass_fds=descriptors,
            )
        running = Running(name, popen, log)
        self._running.append(running)
        return running

    def __enter__(self) -> "Processes":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A second Ctrl-C would leave processes behind.
        before = {number: signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS}
        try:
            for one in self._running:
                _signal_group(one, signal.SIGTERM)
            for one in self._running:
                try:
                    one.popen.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    pass
                # Of a tree whose root has ended there may be rests.
                _signal_group(one, signal.SIGKILL)
                one.popen.wait()
        finally:
            for number, disposition in before.items():
                signal.signal(number, disposition)


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _signal_group(running: Running, number: signal.Signals) -> None:
    try:
        os.killpg(running.pid, number)  # the leader of a session leads its group, too
    except ProcessLookupError:
        pass


def answers(port: int, host: str, path: str = "/") -> bool:
    """Whether a GET of *path* at *port* is answered with 200."""
    try:
        with socket.create_connection((HOST, port), timeout=2) as connection:
            connection.sendall(
                f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("ascii")
            )
            return connection.recv(65536).split(b" ")[1:2] == [b"200"]
    except OSError:
        return False


def listens(port: int) -> bool:
    """Whether a connection to *port* can be made."""
    try:
        socket.create_connection((HOST, port), timeout=2).close()
    except OSError:
        return False
    return True


def wait_until_it_answers(running: Running, port: int, host: str, seconds: float = READY_SECONDS) -> None:
    """Wait for the first 200.  Raises BenchError when *running* ends, or takes longer than *seconds*."""
    _wait(running, lambda: answers(port, host), seconds)


def wait_until_it_listens(running: Running, port: int) -> None:
    """Wait for the first connection.  Raises BenchError when *running* ends, or takes too long."""
    _wait(running, lambda: listens(port), READY_SECONDS)


def _wait(running: Running, is_up: Callable[[], bool], seconds: float) -> None:
    for _ in range(int(seconds / POLL_SECONDS)):
        if is_up():
            return
        running.check()
        pause(POLL_SECONDS)
    raise BenchError(f"{running.name} did not answer within {seconds:g} s; see {running.log}")
