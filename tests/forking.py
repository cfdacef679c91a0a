"""trial's processes (``--jobs``), forked from the one that has found the tests, and has imported all of their modules with that.

trial would start each of them anew: all import what it has imported, and the more of them there are, the more often.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TextIO

from twisted.internet import process
from twisted.python.log import textFromEventDict
from twisted.trial._dist import _WORKER_AMP_STDIN, _WORKER_AMP_STDOUT
from twisted.trial.runner import TestLoader

_CHUNK = 1 << 16
_IGNORED = {signal.SIGPIPE, signal.SIGXFSZ}
"""Signals that the interpreter itself ignores."""
_DESCRIPTORS: dict[int, Any] = {0: "w", 1: "r", 2: "r", _WORKER_AMP_STDIN: "w", _WORKER_AMP_STDOUT: "r"}


class _Chunks:
    """What trial reads commands from: it asks for a byte at a time, and takes what there is."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def read(self, size: int) -> bytes:
        """Return whatever has come, empty at the end."""
        return os.read(self._fd, _CHUNK)


class Refreezing:
    """
    Freezes what is there once somebody has thawed it, which some tests do at their end, before the tests of another module.

    Each walk for garbage after that would be one through all that was imported, and in a fork it would copy that.
    """

    def __init__(self) -> None:
        self._unfreeze = gc.unfreeze
        self._is_due = False
        self._module = ""

    def unfreeze(self) -> None:
        """Thaw everything; stands where ``gc.unfreeze`` stood."""
        self._unfreeze()
        self._is_due = True

    def comes(self, test: str) -> None:
        """Told before each *test*, by its name: module, class and method."""
        module = test.rpartition(".")[0].rpartition(".")[0]
        if self._is_due and module != self._module:
            self._is_due = False
            gc.freeze()
        self._module = module


class _Loader(TestLoader):
    """Finds tests for trial, and tells *refreezing* of each."""

    def __init__(self, refreezing: Refreezing) -> None:
        super().__init__()
        self._refreezing = refreezing

    def loadByName(self, name: str, recurse: bool = False) -> Any:
        self._refreezing.comes(name)
        return super().loadByName(name, recurse)


class FileObserver:
    """Writes what is logged to a *file*: by trial's own observer each line is a command with an answer, and there are 40,000."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def emit(self, event: dict[str, Any]) -> None:
        """Write one event, if it is one with a text."""
        text = textFromEventDict(event)
        if text is not None:
            self._file.write(text + "\n")


class Fork(process.Process):
    """A process that runs *run* with the descriptors of commands and answers, where any other one executes a program.

    *own* are the descriptors of the process that is forked: what has these is inherited, too, and would close others in their place.
    """

    def __init__(
        self, reactor: Any, protocol: Any, own: Collection[int], run: Callable[[int, int], None]
    ) -> None:
        self._own = own
        self._run = run
        super().__init__(reactor, "", [], None, None, protocol, childFDs=_DESCRIPTORS)

    def _trySpawnInsteadOfFork(self, *arguments: object) -> bool:
        return False

    def _setupChild(self, fdmap: Mapping[int, int]) -> None:
        """In the child: leave the other ends of all pipes to the other process."""
        for fd in process._listOpenFDs():
            if fd not in self._own and fd not in fdmap.values():
                with suppress(OSError):  # It was open to list them.
                    os.close(fd)
        for place in (0, 1, 2):
            os.dup2(fdmap[place], place)
            os.close(fdmap[place])
        self._commands, self._answers = fdmap[_WORKER_AMP_STDIN], fdmap[_WORKER_AMP_STDOUT]

    def _execChild(self, *arguments: object) -> None:
        begin_anew(self._reactor)
        heed_signals()
        self._run(self._commands, self._answers)
        # As at the end of an interpreter, which is that of the other process here.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def begin_anew(reactor: Any) -> None:
    """Make *reactor*, which has never run, one that has nothing in common with the process that it was forked from."""
    process.reapProcessHandlers.clear()
    type(reactor).__init__(reactor)


def heed_signals() -> None:
    """Have signals do what they do in a process that is started: who runs tests in the background may ignore some."""
    for number in signal.valid_signals() - _IGNORED:
        if signal.getsignal(number) is signal.SIG_IGN:
            is_interrupt = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)


def fork_processes(disttrial: Any) -> None:
    """
    Have trial do so from now on, unless it is told what a process has to be told before it imports anything.

    *disttrial* is its module; its reactor does not run yet when it starts them.
    """
    start_anew: Callable[..., None] = disttrial.WorkerPool._launchWorkerProcesses

    def launch(pool: Any, spawner: object, protocols: Iterable[Any], arguments: Sequence[str]) -> None:
        if arguments or threading.active_count() > 1:
            start_anew(pool, spawner, protocols, arguments)
            return
        from twisted.internet import reactor  # noqa: TID251 - it is trial's
        from twisted.trial._dist import workertrial

        if "tests.fakes.fork_server" in sys.modules:
            # Some test may start controllers: one process for all to fork these from.
            sys.modules["tests.fakes.fork_server"].begin()
        # Walks for garbage would be walks through all that was imported.
        gc.collect()
        gc.freeze()
        sys.stdout.flush()
        sys.stderr.flush()
        own = frozenset(process._listOpenFDs())
        for protocol in protocols:
            Fork(reactor, protocol, own, partial(_work, workertrial, protocol._logDirectory.path))

    disttrial.WorkerPool._launchWorkerProcesses = launch


def _work(workertrial: Any, folder: str, commands: int, answers: int) -> None:
    """Run tests as long as *commands* say so; what is logged goes to ``test.log`` in *folder*."""
    # As it would be in a process that was started.
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    sys.argv = [workertrial.__file__]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "test.log"), "w", encoding="utf-8", buffering=1) as log:
        workertrial.WorkerLogObserver = lambda protocol: FileObserver(log)
        refreezing = Refreezing()
        gc.unfreeze = refreezing.unfreeze
        sys.modules["twisted.trial._dist.worker"].TestLoader = partial(_Loader, refreezing)  # type: ignore[attr-defined]
        workertrial.main(
            _fdopen=lambda fd, mode: _Chunks(commands) if mode == "rb" else os.fdopen(answers, mode)
        )
