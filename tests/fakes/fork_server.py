"""Processes of the controller without waiting for its imports: they are forked from one that has done these.

Half of what a start costs are imports, and the suite starts hundreds of controllers.  A ``ForkServer`` is a process that has
imported whatever can be without a reactor, and then forks.  A child goes on as ``python -c`` would have begun: with arguments,
environment, standard input and output of its own, and the interpreter's own end.

    trial ── request: memory file, output, errors ──▶ fork server ── fork ──▶ controller
          ◀──────── its process id, later its status ──┘
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import ingress
from bench.importing import import_ours

ROOT = Path(ingress.__file__).parents[1]
TWISTD = "from twisted.scripts.twistd import run; run()"
_PROGRAM = (
    "import sys; from tests.fakes.fork_server import serve; serve(int(sys.argv[1]), int(sys.argv[2]));"
    "from twisted.scripts.twistd import run; run()"
)
_MOST_HANDED_OVER = 16
_FREE = 100
"""A number of descriptors that nobody has here."""
_PID = struct.Struct("=q")
_END = struct.Struct("=qq")


class ForkServer:
    """The side of the tests: starts the process with the first request, and ends it with this one."""

    def __init__(self) -> None:
        self._asking: socket.socket | None = None
        self.ends: socket.socket | None = None
        """Where ``read_end`` finds what ended; it does not block."""

    def start(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        output: int,
        errors: int,
        handed_over: Sequence[int] = (),
    ) -> int:
        """
        Start ``twistd`` with these *arguments*, which writes to the files *output* and *errors*; return its process id.

        *handed_over* are the descriptors that it has from 3 on.
        """
        asking = self._asking or self._begin()
        request = os.memfd_create("request")
        try:
            os.write(request, json.dumps([list(arguments), dict(environment)]).encode())
            socket.send_fds(asking, [b"1"], [request, output, errors, *handed_over])
        finally:
            os.close(request)
        return int(_PID.unpack(asking.recv(_PID.size))[0])

    def read_end(self) -> tuple[int, int] | None:
        """Return the process id and the status (minus the signal) of one that ended, None if there is none."""
        assert self.ends is not None
        try:
            found = self.ends.recv(_END.size)
        except BlockingIOError:
            return None
        pid, status = _END.unpack(found)
        return pid, status

    def _begin(self) -> socket.socket:
        asking, asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ends, telling = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        fds = (asked.fileno(), telling.fileno())
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *map(str, fds)], env=environment, pass_fds=fds
        )
        asked.close()
        telling.close()
        ends.setblocking(False)
        self._asking, self.ends = asking, ends
        atexit.register(self._end, process)
        return asking

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        for one in (self._asking, self.ends):
            if one is not None:
                one.close()
        process.wait()


def serve(asked_fd: int, telling_fd: int) -> None:
    """In the fork server: fork for each request, until nobody can ask any more.  Returns in the children alone."""
    import_ours()
    gc.freeze()
    asked, telling = socket.socket(fileno=asked_fd), socket.socket(fileno=telling_fd)
    signal.signal(signal.SIGCHLD, lambda number, frame: _tell_ends(telling))
    while True:
        message, fds, _, _ = socket.recv_fds(asked, 1, 3 + _MOST_HANDED_OVER)
        if not message:
            os._exit(0)
        # What ends before its process id is told would be told of first.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            asked.close()
            telling.close()
            _become(*fds)
            return
        for fd in fds:
            os.close(fd)
        asked.send(_PID.pack(pid))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _tell_ends(telling: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        telling.send(_END.pack(pid, os.waitstatus_to_exitcode(status)))


def _become(request: int, output: int, errors: int, *handed_over: int) -> None:
    """In a child: become what the request asks for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    with open(request, "rb") as file:
        file.seek(0)
        arguments, environment = json.load(file)
    os.environ.clear()
    os.environ.update(environment)
    if handed_over:
        os.environ.setdefault("LISTEN_PID", str(os.getpid()))
    # What is installed elsewhere is found as if it had been named at the start.
    sys.path += [
        place for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place not in sys.path
    ]
    sys.argv = ["-c", *arguments]
    # What starts the same program anew.
    sys.orig_argv = [sys.executable, "-c", TWISTD, *arguments]
    nothing = os.open(os.devnull, os.O_RDONLY)
    kept = [_moved(fd) for fd in handed_over]
    for fd, place in ((nothing, 0), (output, 1), (errors, 2)):
        os.dup2(fd, place)
        os.close(fd)
    for place, fd in enumerate(kept, 3):
        os.dup2(fd, place)
        os.close(fd)
    sys.stdout = sys.__stdout__ = _text(1, line_buffering=False)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _text(2, line_buffering=True)  # type: ignore[misc]


def _moved(fd: int) -> int:
    """Have *fd* under a number that nobody is to be moved to."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD, _FREE)
    os.close(fd)
    return moved


def _text(fd: int, *, line_buffering: bool) -> io.TextIOWrapper:
    return io.TextIOWrapper(open(fd, "wb", closefd=False), encoding="utf-8", line_buffering=line_buffering)
