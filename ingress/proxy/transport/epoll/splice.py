"""Bodies that go from socket to socket inside the kernel (splice(2)).

A large body of known length between two plain connections need not come into this
process: a pipe takes it from one socket and gives it to the other.  While that
lasts, the read side of the source and the write side of the target belong to the
splice.  It moves exactly the bytes it was made for, so what follows the body is
still in the source's socket when it is over; or all that comes, where TLS passes through.

The two sides wait for each other: the source is read when the pipe is empty, the
target written when it is not, so a slow target stops the source.  Where both are fast, a turn ends with the pipe's share of it.
"""

import errno
import os
import socket
from typing import Final, Protocol

from ingress.proxy.contract.limits import PIPE_BYTES
from ingress.proxy.contract.transport import KernelCopy
from ingress.proxy.transport.epoll.pipes import Pipe

_FLAGS: Final = getattr(os, "SPLICE_F_MOVE", 0) | getattr(os, "SPLICE_F_NONBLOCK", 0)


def why_no_splice() -> str:
    """Return why this system moves no bytes inside the kernel; empty where it does.

    The call may be there and be refused all the same, by a filter of system calls or a kernel that is none of Linux's own; each large
    body would break off then.  So two bytes go the way that bodies go.  Where that cannot be tried, nothing speaks against it.
    """
    if not hasattr(os, "splice"):
        return os.strerror(errno.ENOSYS)
    try:
        source, other = socket.socketpair()
    except OSError:
        return ""
    with source, other:
        try:
            exit_, entry = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return ""
        try:
            other.send(b"ab")
            os.splice(source.fileno(), entry, 2, flags=_FLAGS)
            os.splice(exit_, source.fileno(), 2, flags=_FLAGS)
        except OSError as error:
            return error.strerror or str(error)
        finally:
            os.close(exit_)
            os.close(entry)
    return ""


class End(Protocol):
    """A transport, as a splice sees it."""

    @property
    def is_sending(self) -> bool:
        """Whether bytes of the process's own still wait to be sent."""

    def fileno(self) -> int:
        """The file descriptor of the socket."""

    def update(self) -> None:
        """Ask the epoll set for the events that the splice needs now."""

    def splice_over(self, splice: "Splice") -> None:
        """Let go of *splice*."""

    def splice_failed(self, problem: OSError | None) -> None:
        """The socket failed, or (None) it ended before all bytes had come."""

    def splice_ended(self) -> None:
        """The socket ended, as it may, and all that came before has been moved."""

    def send_failed(self, problem: OSError) -> None:
        """The socket takes nothing more; what its peer said before may still be read."""


class Splice:
    """Moves the bytes of *copy* from *source* to *target*, through *pipe*."""

    __slots__ = ("_copy", "_in_pipe", "_is_at_end", "_left", "_pipe", "_source", "_target", "is_over")

    def __init__(self, source: End, target: End, copy: KernelCopy, pipe: Pipe) -> None:
        self._source = source
        self._target = target
        self._copy = copy
        self._left = copy.count
        self._in_pipe = 0
        self._pipe = pipe
        self._is_at_end = False
        self.is_over = False

    def __repr__(self) -> str:
        return f"<Splice {self._left} bytes to come, {self._in_pipe} in the pipe>"

    @property
    def wants_read(self) -> bool:
        """Whether it waits for the source; not while the target has bytes of its own to send."""
        return not self._in_pipe and not self._target.is_sending

    @property
    def wants_write(self) -> bool:
        """Whether it waits for the target."""
        return self._in_pipe > 0

    @property
    def unsent(self) -> int:
        """What is still to go, if some of it waits for the target; else 0."""
        return self._left + self._in_pipe if self._in_pipe else 0

    def pump(self) -> None:
        """Move what can be moved now."""
        if self.is_over:
            return
        if self._target.is_sending:
            # Asked for nothing, epoll does not tell again and again that the source has something.
            self._source.update()
            return
        before = self._left + self._in_pipe
        budget = self._pipe.share
        splice, pipe = os.splice, self._pipe
        source, target, entry, exit_ = self._source.fileno(), self._target.fileno(), pipe.entry, pipe.exit
        # All in one place: of a large body there are hundreds of pieces.
        while budget > 0:
            if not self._in_pipe:
                try:
                    taken = splice(source, entry, min(self._left, PIPE_BYTES), flags=_FLAGS)
                except (BlockingIOError, InterruptedError):
                    break
                except OSError as problem:
                    self._source.splice_failed(problem)
                    break
                if not taken:
                    if self._copy.to_end:
                        self._is_at_end = True
                    else:
                        self._source.splice_failed(None)
                    break
                self._left -= taken
                self._in_pipe = taken
            try:
                given = splice(exit_, target, self._in_pipe, flags=_FLAGS)
            except (BlockingIOError, InterruptedError):
                break
            except OSError as lost:
                self.close()
                self._target.send_failed(lost)
                break
            self._in_pipe -= given
            budget -= given
            if not given:
                break
            if not self._left and not self._in_pipe:
                self.close()
                self._tell(before)
                self._copy.ended()
                return
        if self._is_at_end:
            self.close()
            self._tell(before)
            self._source.splice_ended()
        elif not self.is_over:
            self._tell(before)
            self._source.update()
            self._target.update()

    def _tell(self, before: int) -> None:
        moved = before - self._left - self._in_pipe
        if moved:
            self._copy.moved(moved)

    def close(self) -> None:
        """Leave both ends to themselves; what a broken-off splice still had in its pipe is lost."""
        if not self.is_over:
            self.is_over = True
            self._pipe.give_back(is_empty=not self._in_pipe)
            self._source.splice_over(self)
            self._target.splice_over(self)
