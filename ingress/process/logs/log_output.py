"""Where the log goes when it goes to standard output: a thread of its own writes it.

``twistd`` writes each line of its log where the line is made.  When standard output is a pipe that
nobody empties, or a disk that hangs, that would stop the reactor, and with it all requests.  Here a line
is handed over and forgotten; what does not fit into the bound is dropped, and counted, and the
first line that fits again says how many are missing.  (The access log has the same in ``ingress.proxy.exchange.access_log.access_log``.)

What is written there, and which file else, is for ``ingress.process.logs.program_log`` to say.
"""

import atexit
import os
import sys
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Final

from ingress.process.logs.file_output import PartlyWrittenError, write_all
from ingress.wording import number_of

MAX_WAITING_BYTES: Final = 1024 * 1024
"""What may wait to be written."""
DRAIN_SECONDS: Final = 0.5
"""How long the end of the process waits for the last lines."""


class LogOutput:
    """Stands for ``sys.stdout`` before the log begins; writes to *descriptor*.  Any thread may use it."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(
        self, descriptor: int, most_bytes: int = MAX_WAITING_BYTES, *, is_held: bool = False
    ) -> None:
        """Where it *is_held*, nothing is written, and there is no thread, before ``begin``."""
        self._is_held = is_held
        self._descriptor = descriptor
        self._most_bytes = most_bytes
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._changed = Condition()
        self._thread: Thread | None = None
        self._dropped = 0
        self._untold = 0
        self._is_torn = False
        self.missing: Callable[[int], str] = lambda count: (
            f"{number_of(count, 'line of the log is missing here: it', 'lines of the log are missing here: they')} could not be written\n"
        )
        """Returns the line that stands where so many could not be written."""

    def __repr__(self) -> str:
        return f"<LogOutput: {self._waiting_bytes} bytes wait, {self._dropped} lines dropped>"

    def dropped(self) -> int:
        """Return how many lines could not be written so far."""
        return self._dropped

    def write(self, text: str) -> int:
        """Have *text*, a line of the log, written; never waits."""
        line = text.encode(self.encoding, self.errors)
        with self._changed:
            if self._waiting_bytes + len(line) > self._most_bytes:
                self._dropped += 1
                self._untold += 1
                return len(text)
            if self._untold:
                self._wait(self.missing(self._untold).encode())
                self._untold = 0
            self._wait(line)
            if not self._is_held:
                self._start()
            self._changed.notify_all()
        return len(text)

    def begin(self) -> None:
        """Write what was held so far, and all that follows."""
        with self._changed:
            self._is_held = False
            if self._waiting:
                self._start()

    def _start(self) -> None:
        if self._thread is None:
            # Not before: a process that becomes a daemon has no threads afterwards.
            self._thread = Thread(target=self._write_all, name="log", daemon=True)
            self._thread.start()

    def _wait(self, line: bytes) -> None:
        self._waiting.append(line)
        self._waiting_bytes += len(line)

    def flush(self) -> None:
        """Nothing: the thread writes as soon as it can."""

    def fileno(self) -> int:
        """The descriptor that is written to."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether that is a terminal."""
        return os.isatty(self._descriptor)

    def drain(self) -> None:
        """Wait until everything is written, for a moment at most."""
        if self._thread is None:
            # At the end of the process, threads can be started no more.
            batch = b"".join(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
            self.write_batch(batch)
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting_bytes, DRAIN_SECONDS)

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                batch = b"".join(self._waiting)
                lines = len(self._waiting)
                self._waiting.clear()
            is_written = self.write_batch(batch)
            with self._changed:
                if not is_written:
                    self._dropped += lines
                self._waiting_bytes -= len(batch)
                self._changed.notify_all()

    def write_batch(self, batch: bytes) -> bool:
        """Write whole lines at once, which may take a while; return whether all of them went.  Its own thread."""
        # What was torn ends as a line of its own: others write here, too, and may have done so since.
        octets = b"\n" + batch if self._is_torn else batch
        try:
            write_all(self._descriptor, octets)
        except PartlyWrittenError as error:
            # There is nobody left to tell; the counter does.
            if error.written:
                self._is_torn = octets[error.written - 1 : error.written] != b"\n"
            return False
        self._is_torn = False
        return True


def spare_the_reactor(*, is_held: bool) -> LogOutput:
    """Let the log that is about to begin not wait for standard output; where it *is_held*, it begins with ``begin``."""
    # Where standard output was closed from the start, its number may be that of a socket by now.
    descriptor = 1 if sys.__stdout__ is not None else os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    output = LogOutput(descriptor, is_held=is_held)
    sys.stdout = output
    atexit.register(output.drain)
    return output
