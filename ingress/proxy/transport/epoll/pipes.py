"""The pipes that splices move bytes through: how many there are, and what each may hold.

What is in a pipe is memory of the kernel, which no view of this process shows.  So both are
bounded: beyond ``MAX_PIPES`` there is none, and bytes are copied as usual.  Pipes are kept for the next splice, since
making one and giving it its size costs as much as moving some hundred kilobytes.

What goes through them in one turn of the reactor is bounded, too, for meanwhile nobody else is served: all who move bytes share it.
"""

import fcntl
import os
from typing import Final

from ingress.proxy.contract.limits import MAX_PIPES, PIPE_BYTES

_MAX_SPARE: Final = 32
MOST_MOVED: Final = 2 * 1024 * 1024
"""Bytes of one turn, through all pipes: after that, others have theirs."""
LEAST_SHARE: Final = 256 * 1024
"""Of any pipe, however many there are: with less, the turns would cost more than the bytes."""


class Pipe:
    """One pipe, taken by one splice."""

    __slots__ = ("_pipes", "entry", "exit")

    def __init__(self, pipes: "Pipes") -> None:
        """Raises OSError where there is no descriptor for it."""
        self._pipes = pipes
        self.exit, self.entry = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.fcntl(self.entry, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            pass  # The user's share of pipe memory is used up; a small pipe moves the same bytes.

    @property
    def share(self) -> int:
        """How many bytes go through it in one turn."""
        return self._pipes.share

    def give_back(self, *, is_empty: bool) -> None:
        """Be of use to another splice, or be closed if some bytes are left."""
        self._pipes.give_back(self, is_empty)

    def close(self) -> None:
        """Close both ends."""
        os.close(self.exit)
        os.close(self.entry)


class Pipes:
    """All pipes of an epoll set."""

    def __init__(self, most: int = MAX_PIPES) -> None:
        self._most = most
        self._taken = 0
        self._spare: list[Pipe] = []

    def __repr__(self) -> str:
        return f"<Pipes: {self._taken} of {self._most} taken, {len(self._spare)} spare>"

    def take(self, *, for_long: bool = False) -> Pipe | None:
        """Return a pipe; None when all that may be are taken, or the system has none.

        Who wants it *for_long*, full or not, leaves half of them to others.
        """
        if self._taken >= (self._most // 2 if for_long else self._most):
            return None
        try:
            pipe = self._spare.pop() if self._spare else Pipe(self)
        except OSError:
            return None
        self._taken += 1
        return pipe

    @property
    def share(self) -> int:
        """How many bytes of one turn each of them has."""
        return max(MOST_MOVED // max(self._taken, 1), LEAST_SHARE)

    def give_back(self, pipe: Pipe, is_empty: bool) -> None:
        """Keep *pipe* for the next splice, or close it."""
        self._taken -= 1
        if is_empty and len(self._spare) < _MAX_SPARE:
            self._spare.append(pipe)
        else:
            pipe.close()

    def close(self) -> None:
        """Close the spare ones."""
        spare, self._spare = self._spare, []
        for pipe in spare:
            pipe.close()
