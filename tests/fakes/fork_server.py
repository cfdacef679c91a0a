"""Processes of the controller without waiting for its imports: they are forked from one that has done these.

Half of what a start costs are imports, and the suite starts hundreds of controllers.  The *fork server* is a process that has
imported whatever can be without a reactor, and then forks.  A child goes on as ``python -c`` would have begun: with arguments,
environment, standard input and output of its own, and the interpreter's own end.

    trial ── request: memory file, where to answer, output, errors ──▶ fork server ── fork ──▶ controller
          ◀──────── its process id, later its status ──┘

It is begun when it is first asked, or before by ``begin``: then processes that are forked afterwards ask the same one.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import gc
import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from twisted.application.service import IServiceMaker

import ingress
from bench.setup.importing import import_ours
from twisted import plugin

ROOT = Path(ingress.__file__).parents[1]
TWISTD = "from twisted.scripts.twistd import run; run()"
_PROGRAM = (
    "import sys; from tests.fakes.fork_server import end_after, serve; serve(int(sys.argv[1]));"
    "from twisted.scripts.twistd import run; end_after(run)"
)
_OWN = 3
"""Descriptors of a request that are not for the child: what it says, and where to answer and to tell of the end."""
_MOST_HANDED_OVER = 16
_FREE = 100
"""A number of descriptors that nobody has here."""
_PID = struct.Struct("=q")
_END = struct.Struct("=qq")


_asking: list[socket.socket] = []
"""Where the fork server is asked, by this process or by the one that this one was forked from."""


class ForkServer:
    """The side of the tests: what one process asks the fork server for."""

    def __init__(self) -> None:
        # The far end goes along with each request.
        self.ends, self._telling = _pair()
        """Where ``read_end`` finds what ended; it does not block."""
        self.ends.setblocking(False)

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
        begin()
        request = os.memfd_create("request")
        answer, answering = _pair()
        with answer:
            try:
                os.write(request, json.dumps([list(arguments), dict(environment)]).encode())
                own = (request, answering.fileno(), self._telling.fileno())
                socket.send_fds(_asking[0], [b"1"], [*own, output, errors, *handed_over])
            finally:
                os.close(request)
                answering.close()
            return int(_PID.unpack(answer.recv(_PID.size))[0])

    def read_end(self) -> tuple[int, int] | None:
        """Return the process id and the status (minus the signal) of one that ended, None if there is none."""
        try:
            found = self.ends.recv(_END.size)
        except BlockingIOError:
            return None
        pid, status = _END.unpack(found)
        return pid, status


def begin() -> None:
    """Start the fork server, unless there is one; it ends when no process is left that could ask it."""
    if _asking:
        return
    asking, asked = _pair()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(asked.fileno())], env=environment, pass_fds=(asked.fileno(),)
    )
    asked.close()
    _asking.append(asking)
    atexit.register(_end, process, os.getpid())


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    _asking.pop().close()
    if os.getpid() == owner:
        process.wait()


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def serve(asked_fd: int) -> None:
    """In the fork server: fork for each request, until nobody can ask any more.  Returns in the children alone."""
    import_ours()
    # Each start looks for the command a dozen times, in folders that stay as they are.
    plugin.getCache = functools.cache(plugin.getCache)
    assert "ingress" in [maker.tapname for maker in plugin.getPlugins(IServiceMaker)]
    gc.freeze()
    asked = socket.socket(fileno=asked_fd)
    telling: dict[int, int] = {}
    signal.signal(signal.SIGCHLD, lambda number, frame: _tell_ends(telling))
    while True:
        message, fds, _, _ = socket.recv_fds(asked, 1, _OWN + 2 + _MOST_HANDED_OVER)
        if not message:
            os._exit(0)
        request, answering, told = fds[:_OWN]
        # What ends before its process id is told would be told of first.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            asked.close()
            for fd in (answering, told, *telling.values()):
                os.close(fd)
            _become(request, *fds[_OWN:])
            return
        telling[pid] = told
        os.write(answering, _PID.pack(pid))
        for fd in (request, answering, *fds[_OWN:]):
            os.close(fd)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _tell_ends(telling: dict[int, int]) -> None:
    """In the fork server: tell of each child that has ended whoever asked for it, if that is still there."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        told = telling.pop(pid)
        with suppress(BrokenPipeError):
            os.write(told, _END.pack(pid, os.waitstatus_to_exitcode(status)))
        os.close(told)


def end_after(run: Callable[[], None]) -> None:
    """
    In a child: *run*, and end as the interpreter does, without taking apart what was imported before the fork.

    That would copy all of its memory, 60 megabytes, page by page: most of what a short run costs.
    """
    status = 0
    try:
        run()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
            status = 1
        else:
            status = ended.code or 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    # What failed and was heard by nobody is told of by whoever held it last, which may be a circle.
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


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
