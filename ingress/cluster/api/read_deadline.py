"""How long a thread waits for what it reads, however steadily it comes.

The timeout of a socket counts silence alone: a peer that sends a byte now and then keeps it for ever, be it the head of an answer, the size
of a chunk or a body.  So each read is given what is left of the time for all of it.
"""

import io
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic


class ReadDeadline:
    """Of one thread; without bounds until it is given some."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until: float | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Let all that is read here take so many seconds at most; then reading raises ``TimeoutError``."""
        before, self._until = self._until, self._clock() + seconds
        try:
            yield
        finally:
            self._until = before

    def left(self) -> float | None:
        """Return how many seconds are left, None for as many as it takes."""
        return None if self._until is None else self._until - self._clock()


class DeadlineReader(io.RawIOBase):
    """Reads from a socket as *deadline* allows, and never longer at a time than the socket does."""

    def __init__(self, sock: socket.socket, deadline: ReadDeadline) -> None:
        super().__init__()
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        """Say that it is there for reading."""
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        """Read what has come; wait if there is nothing."""
        left = self._deadline.left()
        if left is None:
            return self._raw.readinto(buffer)
        if left <= 0:
            raise TimeoutError("timed out")
        usual = self._sock.gettimeout()
        if usual is not None and usual <= left:
            return self._raw.readinto(buffer)
        self._sock.settimeout(left)
        try:
            return self._raw.readinto(buffer)
        finally:
            self._sock.settimeout(usual)

    def close(self) -> None:
        """Let go of the socket."""
        self._raw.close()
        super().close()
