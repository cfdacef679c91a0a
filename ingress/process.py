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
            reactor.stop()

    def signalled(number: int, frame: FrameType | None) -> None:
        reactor.callFromThread(stop)

    signal.signal(signal.SIGTERM, signalled)
    signal.signal(signal.SIGINT, signalled)


def end_with(reactor: Any, error: StartError) -> None:
    """Stop *reactor*, tell why, and have the process end with status 1."""
    line = " ".join(str(error).splitlines())
    if os.fstat(2).st_rdev == os.stat(os.devnull).st_rdev:
        # A daemon has nobody to read its standard error; the log file is what is left.
        _log.critical("{line}", line=line)
    else:
        sys.stderr.write(f"ingress: {line}\n")
    atexit.register(_leave_with_failure)
    reactor.stop()


def _leave_with_failure() -> None:
    """Set the status: twistd ends with 0 whatever happened, and leaves no other way to say no."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
