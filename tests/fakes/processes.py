"""The controller as a process: ``twistd ingress`` with an environment of its own, seen from a test's reactor."""

from __future__ import annotations

import os
import random
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

import ingress

ROOT = Path(ingress.__file__).parents[1]
TWISTD = "from twisted.scripts.twistd import run; run()"


# Not the generator that other tests seed, and never the same port twice.
_random = random.SystemRandom()
_given: set[int] = set()


def free_port() -> int:
    """
    Return a TCP port of 127.0.0.1 that nobody listens on, each only once.

    It lies below the ports that systems give to outgoing connections, so that none of
    those takes it before the process does.
    """
    while True:
        port = _random.randrange(15000, 30000)
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port


class ControllerProcess(ProcessProtocol):
    """
    One run of ``twistd -n --pidfile= ingress`` in *directory* with these options.

    *environment* is what it has besides our own, *runner* more options of ``twistd``.
    *status* is the exit status, or minus the signal, once it ended; *output* and
    *errors* what it wrote so far.
    """

    transport: Any

    def __init__(
        self,
        reactor: Any,
        directory: str,
        *options: str,
        environment: Mapping[str, str] | None = None,
        runner: tuple[str, ...] = (),
    ) -> None:
        self.output = b""
        self.errors = b""
        self.status: int | None = None
        self._waiting: list[Deferred[int]] = []
        variables = {
            # No kubeconfig and no service account of the machine may get into a test.
            **{name: value for name, value in os.environ.items() if not name.startswith("KUBE")},
            "PYTHONPATH": str(ROOT),
            "HOME": directory,
            **(environment or {}),
        }
        # The process goes to its directory itself: then none of the threads here, such as those
        # of grpcio, are forked with it.
        arguments = ["--nodaemon", "--pidfile=", f"--rundir={directory}", *runner, "ingress", *options]
        command = [sys.executable, "-c", TWISTD, *arguments]
        reactor.spawnProcess(self, sys.executable, command, env=variables)

    @property
    def pid(self) -> int:
        """The process id."""
        return int(self.transport.pid)

    def outReceived(self, data: bytes) -> None:
        self.output += data

    def errReceived(self, data: bytes) -> None:
        self.errors += data

    def processEnded(self, reason: Failure) -> None:
        value: Any = reason.value
        self.status = -value.signal if value.signal else (value.exitCode or 0)
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.callback(self.status)

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
