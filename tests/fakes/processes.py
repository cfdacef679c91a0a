"""The controller as a process: ``twistd ingress`` with an environment of its own, seen from a test's reactor."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.internet.abstract import FileDescriptor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from bench.setup.processes import free_ports
from tests.fakes import fork_server
from tests.fakes.fork_server import ForkServer

ROOT = fork_server.ROOT
TWISTD = fork_server.TWISTD
# Names of temporary directories, which the output shows, are small letters, digits and underscores: none is found in them.
_FAULT = re.compile(rb"^.*(?:Traceback|Unhandled|a bug|#critical\]|CRITICAL).*$", re.MULTILINE)
_MEANT_FOR_ITSELF = "import os; os.environ.setdefault('LISTEN_PID', str(os.getpid())); "


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that nobody listens on, and that no other test gets."""
    return free_ports(1)[0]


class _Output(FileDescriptor):
    """Reads what a process writes to a pipe."""

    def __init__(self, reactor: Any, fd: int, received: Callable[[bytes], None]) -> None:
        super().__init__(reactor)
        self._fd = fd
        self._received = received
        self._is_over = False
        os.set_blocking(fd, False)
        self.startReading()

    def fileno(self) -> int:
        return -1 if self._is_over else self._fd

    def doRead(self) -> None:
        """Read all that there is."""
        while not self._is_over:
            try:
                data = os.read(self._fd, 1 << 16)
            except BlockingIOError:
                return
            if data:
                self._received(data)
            else:
                self.close()

    def close(self) -> None:
        """Read no more."""
        if not self._is_over:
            self.stopReading()
            self._is_over = True
            os.close(self._fd)


class _Forks(FileDescriptor):
    """All processes that were forked, until they ended."""

    def __init__(self, reactor: Any) -> None:
        super().__init__(reactor)
        self._server = ForkServer()
        self._running: dict[int, ControllerProcess] = {}

    def fileno(self) -> int:
        return self._server.ends.fileno()

    def start(
        self,
        process: ControllerProcess,
        arguments: list[str],
        environment: Mapping[str, str],
        handed_over: Sequence[int],
    ) -> int:
        """Have *process* forked; return its process id."""
        output, errors = os.pipe(), os.pipe()
        pid = self._server.start(arguments, environment, output[1], errors[1], handed_over)
        os.close(output[1])
        os.close(errors[1])
        process.pipes = (
            _Output(self.reactor, output[0], process.outReceived),
            _Output(self.reactor, errors[0], process.errReceived),
        )
        self._running[pid] = process
        self.startReading()
        return pid

    def doRead(self) -> None:
        while (end := self._server.read_end()) is not None:
            pid, status = end
            process = self._running.pop(pid)
            process.ended(status)
        if not self._running:
            self.stopReading()


_forks: dict[int, _Forks] = {}


class ControllerProcess(ProcessProtocol):
    """
    One run of ``twistd -n --pidfile= ingress`` in *directory* with these options.

    *environment* is what it has besides our own, *runner* more options of ``twistd``, *handed_over* are sockets that it has from
    the start, as from systemd, by their names; they stay open here.  *through* is a command, by its path, that runs it.
    *status* is the exit status, or minus the signal, once it ended; *output* and
    *errors* what it wrote so far.
    """

    def __init__(
        self,
        reactor: Any,
        directory: str,
        *options: str,
        environment: Mapping[str, str] | None = None,
        runner: tuple[str, ...] = (),
        handed_over: Sequence[tuple[str, socket.socket]] = (),
        through: Sequence[str] = (),
    ) -> None:
        self.output = b""
        self.errors = b""
        self.status: int | None = None
        self.exit_status: int | None = None
        """The same, also while others that it has started still write to its output."""
        self._waiting: list[Deferred[int]] = []
        variables = {
            # No kubeconfig and no service account of the machine may get into a test.
            **{name: value for name, value in os.environ.items() if not name.startswith("KUBE")},
            "PYTHONPATH": str(ROOT),
            "HOME": directory,
            **(environment or {}),
        }
        self._reactor = reactor
        self.pipes: tuple[_Output, ...] = ()
        # The process goes to its directory itself: then none of the threads here, such as those
        # of grpcio, are forked with it.
        arguments = ["--nodaemon", "--pidfile=", f"--rundir={directory}", *runner, "ingress", *options]
        if handed_over:
            variables["LISTEN_FDS"] = str(len(handed_over))
            variables["LISTEN_FDNAMES"] = ":".join(name for name, _ in handed_over)
            variables = {**variables, **(environment or {})}
        sockets = [sock.fileno() for _, sock in handed_over]
        if not through and not any(
            name.startswith(("PYTHON", "LD_")) for name in {*(environment or ())} - {"PYTHONPATH"}
        ):
            forks = _forks.get(id(reactor)) or _forks.setdefault(id(reactor), _Forks(reactor))
            self.pid = forks.start(self, arguments, variables, sockets)
            return
        # What concerns the interpreter is decided before anything is imported.
        command = [*through, sys.executable, "-c", f"{_MEANT_FOR_ITSELF}{TWISTD}", *arguments]
        descriptors: dict[int, Any] = {0: "w", 1: "r", 2: "r"}
        descriptors.update(enumerate(sockets, 3))
        self.pid = reactor.spawnProcess(self, command[0], command, env=variables, childFDs=descriptors).pid

    def outReceived(self, data: bytes) -> None:
        self.output += data

    def errReceived(self, data: bytes) -> None:
        self.errors += data

    def processExited(self, reason: Failure) -> None:
        self.exit_status = self._status(reason)

    def processEnded(self, reason: Failure) -> None:
        self.ended(self._status(reason))

    def _status(self, reason: Failure) -> int:
        value: Any = reason.value
        return -value.signal if value.signal else (value.exitCode or 0)

    def ended(self, status: int) -> None:
        """Learn how it ended; nobody hears of that before all was read that it wrote."""
        for pipe in self.pipes:
            pipe.doRead()
            # Children that outlive it may hold the other end.
            pipe.close()
        self.status = self.exit_status = status
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.callback(self.status)

    def faults(self) -> list[bytes]:
        """Return the lines that tell of a fault of its own."""
        return _FAULT.findall(self.output + self.errors)

    def signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def end(self) -> Deferred[int]:
        """Fire with the status when the process has ended."""
        waiter: Deferred[int] = Deferred()
        if self.status is None:
            self._waiting.append(waiter)
        else:
            waiter.callback(self.status)
        return waiter

    def kill(self) -> Deferred[int]:
        """End the process at once, if it still runs."""
        if self.status is None:
            self.signal(signal.SIGKILL)
        return self.end()
