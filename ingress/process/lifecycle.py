"""What the process does at signals, and its exit status.

SIGTERM, SIGINT and SIGQUIT stop the reactor, a second one cuts what still runs; SIGHUP and SIGUSR1 have files opened anew that
were moved away; SIGUSR2 has the program started anew in place of this process.  Either
way a stop that was asked for ends with status 0.  (twistd would raise the signal
again at its end, which reads as a failure.)  A start that cannot succeed ends in
one line on standard error and status 1.
"""

import atexit
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from twisted.internet.error import ReactorNotRunning
from twisted.logger import Logger

from ingress.errors import StartError

_log = Logger()

_failures: list[Callable[[], None]] = []
"""What is to be called at last where the process ends because its start failed; nothing otherwise."""


def stop_on_signals(reactor: Any, hurry: Callable[[], None]) -> None:
    """Stop *reactor* at the first SIGTERM, SIGINT or SIGQUIT, and call *hurry* at each further one.

    To be called once the reactor runs, in the main thread: it replaces the
    handlers that the reactor brought.
    """
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if stopping:
            hurry()
        else:
            stopping = True
            stop_reactor(reactor)

    def signalled(number: int, frame: FrameType | None) -> None:
        reactor.callFromThread(stop)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signalled)


def is_to_be_a_daemon(runner: Mapping[str, object] | None) -> bool:
    """Whether *runner*, the options of ``twistd``, make it leave the terminal; other runners have no such option."""
    return runner is not None and "nodaemon" in runner and not runner["nodaemon"]


def act_on_signals(
    reactor: Any, reopen: Sequence[Callable[[], None]], start_anew: Callable[[], None]
) -> None:
    """Call, in the thread of *reactor*, each of *reopen* at each SIGHUP and SIGUSR1, and *start_anew* at each SIGUSR2.

    To be called before ``twistd`` begins its log: it leaves SIGUSR1 alone then.
    """

    def signalled(number: int, frame: FrameType | None) -> None:
        for call in reopen:
            reactor.callFromThread(call)

    signal.signal(signal.SIGHUP, signalled)
    signal.signal(signal.SIGUSR1, signalled)
    signal.signal(signal.SIGUSR2, lambda number, frame: reactor.callFromThread(start_anew))
    # Whatever is registered later is called before, such as what ends the programs that run for us, or removes the keys in our files.
    atexit.register(_end)


def _end() -> None:
    """Let the process end with its own status: Python gives up its handlers before the end, and the signal would end it then."""
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    for at_last in _failures:
        _leave_with_failure(at_last)


def end_with(reactor: Any, error: StartError, at_last: Callable[[], None]) -> None:
    """Stop *reactor*, tell why, and have the process end with status 1, after a call of *at_last*.

    To be called after ``act_on_signals``.
    """
    line = " ".join(str(error).splitlines())
    if not _told_on_standard_error(f"ingress: {line}\n"):
        _log.critical("{line}", line=line)
    _failures.append(at_last)
    stop_reactor(reactor)


def _told_on_standard_error(line: str) -> bool:
    """Write to the real standard error: ``sys.stderr`` leads into Twisted's log by now."""
    if sys.__stderr__ is None:
        # It was closed from the start, and its number may be that of a socket by now.
        return False
    try:
        # A daemon has nobody to read it; the log file is what is left.
        if os.fstat(2).st_rdev == os.stat(os.devnull).st_rdev:
            return False
        os.write(2, line.encode())
    except OSError:
        return False
    return True


def stop_reactor(reactor: Any) -> None:
    """Stop *reactor*, unless it is stopping already."""
    try:
        reactor.stop()
    except ReactorNotRunning:
        pass  # It is stopping already, and a second time makes no difference.


def _leave_with_failure(at_last: Callable[[], None]) -> None:
    """Set the status: twistd ends with 0 whatever happened, and leaves no other way to say no."""
    at_last()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
