"""How the process ends: its signals and its exit status.

SIGTERM and SIGINT stop the reactor, a second one cuts what still runs; either
way a stop that was asked for ends with status 0.  (twistd would raise the signal
again at its end, which reads as a failure.)  A start that cannot succeed ends in
one line on standard error and status 1.
"""

import atexit
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from twisted.internet.error import ReactorNotRunning
from twisted.logger import Logger

from ingress.errors import StartError

_log = Logger()


def stop_on_signals(reactor: Any, hurry: Callable[[], None]) -> None:
    """Stop *reactor* at the first SIGTERM or SIGINT, and call *hurry* at each further one.

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
            _stop(reactor)

    def signalled(number: int, frame: FrameType | None) -> None:
        reactor.callFromThread(stop)

    signal.signal(signal.SIGTERM, signalled)
    signal.signal(signal.SIGINT, signalled)


def end_with(reactor: Any, error: StartError, at_last: Callable[[], None]) -> None:
    """Stop *reactor*, tell why, and have the process end with status 1, after a call of *at_last*."""
    line = " ".join(str(error).splitlines())
    if not _told_on_standard_error(f"ingress: {line}\n"):
        _log.critical("{line}", line=line)
    atexit.register(_leave_with_failure, at_last)
    _stop(reactor)


def _told_on_standard_error(line: str) -> bool:
    """Write to the real standard error: ``sys.stderr`` leads into Twisted's log by now."""
    try:
        # A daemon has nobody to read it; the log file is what is left.
        if os.fstat(2).st_rdev == os.stat(os.devnull).st_rdev:
            return False
        os.write(2, line.encode())
    except OSError:
        return False
    return True


def _stop(reactor: Any) -> None:
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
