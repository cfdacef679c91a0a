"""Where the lines of the access log go: a file that can be opened anew, or standard output.

All of it is for the one thread that writes.  Whole lines are handed over; when a disk is full in the midst of one, the
rest of that line comes first as soon as there is room, so that each line that is there is whole.
What does not fit is lost, and told of by ``LinesLostError``, which counts it.
"""

import os
import select
import stat
import sys

from twisted.logger import Logger

from ingress.errors import StartError

log = Logger()

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
# A pipe without a reader is refused, not waited for; ordinary files do not care about the last flag.
_WAIT_MILLISECONDS = 1000


class LinesLostError(OSError):
    """So many *lines* could not be written, because of *why*."""

    def __init__(self, lines: int, why: OSError) -> None:
        super().__init__(why.errno, why.strerror)
        self.lines = lines


class PartlyWrittenError(OSError):
    """Only so many bytes were *written*, because of *why*."""

    def __init__(self, written: int, why: OSError) -> None:
        super().__init__(why.errno, why.strerror)
        self.written = written


def write_all(descriptor: int, octets: bytes, most: int | None = None) -> None:
    """Write *octets*, and wait while a pipe is full, also where it is set not to wait; or raise ``PartlyWrittenError``.

    With *most*, whole lines of at most so many bytes are written at once, and a longer one by itself.
    """
    view = memoryview(octets)
    while view:
        end = len(view)
        if most is not None and end > most:
            start = len(octets) - end
            end = (octets.rfind(b"\n", start, start + most) + 1 or octets.find(b"\n", start) + 1) - start
        try:
            view = view[os.write(descriptor, view[:end]) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            poll.poll(_WAIT_MILLISECONDS)
        except OSError as error:
            raise PartlyWrittenError(len(octets) - len(view), error) from error


class AccessOutput:
    """The file *path*, or standard output if it is None; raises ``StartError`` where that cannot be opened.

    Where it *is_shared*, other processes write there, too: into a pipe no more goes at once than what nobody else's bytes
    get into.
    """

    def __init__(self, path: str | None, *, is_shared: bool = False) -> None:
        self._is_shared = is_shared
        # The process may change its directory before the file is opened anew.
        self._path = None if path is None else os.path.abspath(path)
        self._rest = b""
        """Of a line that is written in part."""
        if self._path is None:
            if sys.__stdout__ is None:
                # Its number may be that of a socket by now.
                raise StartError("standard output is closed: name a file for the access log by --access-log")
            self.descriptor = 1
            return
        try:
            self.descriptor = os.open(self._path, _FLAGS, 0o640)
        except OSError as error:
            raise StartError(f"--access-log {path}: {error.strerror}") from error

    @property
    def _most(self) -> int | None:
        is_pipe = self._is_shared and stat.S_ISFIFO(os.fstat(self.descriptor).st_mode)
        return select.PIPE_BUF if is_pipe else None

    def close(self) -> None:
        """Write no more."""
        if self._path is not None:
            os.close(self.descriptor)

    def write(self, batch: bytes) -> None:
        """Write whole lines; raises ``LinesLostError`` when some of them, or all, are lost."""
        octets, was_torn = self._rest + batch, bool(self._rest)
        self._rest = b""
        try:
            write_all(self.descriptor, octets, self._most)
        except PartlyWrittenError as error:
            end = written = error.written
            if octets[written - 1 : written] != b"\n" if written else was_torn:
                end = octets.index(b"\n", written) + 1
                self._rest = octets[written:end]
            raise LinesLostError(octets.count(b"\n", end), error) from error

    def reopen(self) -> None:
        """Open the file of that name anew, which somebody moved away; the old one stays if that is impossible.

        Raises ``LinesLostError`` when the old file ends in a part of a line.
        """
        if self._path is None:
            return
        try:
            descriptor = os.open(self._path, _FLAGS, 0o640)
        except OSError as error:
            log.error(
                "The access log {path} cannot be opened anew, and is written where it was: {why}",
                path=self._path,
                why=error.strerror,
            )
            return
        old, self.descriptor = self.descriptor, descriptor
        rest, self._rest = self._rest, b""
        log.info("The access log {path} was opened anew", path=self._path)
        try:
            try:
                write_all(old, rest)
            finally:
                os.close(old)
        except OSError as error:
            raise LinesLostError(rest.count(b"\n"), error) from error
