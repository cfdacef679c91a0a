"""Traffic goes first: threads that decode objects wait while requests do.

Python's threads take turns, and who gives the interpreter up for a system call gets behind
whoever waits for it.  A request is a dozen system calls, so next to a thread that decodes it
would wait a dozen times.  Therefore that thread asks before each object whether the data
path has something to do, and rests until it has not: each time for a bounded while, since
also a proxy that is busy all day must learn of changes.
"""

import select
from collections.abc import Callable
from threading import Event, Lock
from types import TracebackType

REST_SECONDS = 0.0001
MAX_RESTS = 20
"""With a rest, two milliseconds and more for each object: some hundred objects a second beside a busy data path."""


class YieldToTraffic:
    """Held by the one thread that decodes; who enters has let the traffic pass.

    *is_serving* is set by the data path, in the reactor thread, while it works.
    """

    def __init__(self, rest: Callable[[float], object] | None = None) -> None:
        """*rest* waits for so many seconds."""
        self.is_serving = False
        self._rest = rest or Event().wait
        self._lock = Lock()
        self._events: select.poll | None = None

    def follow(self, fileno: int) -> None:
        """Take *fileno*, when it can be read, for requests that wait.  Reactor thread."""
        events = select.poll()
        events.register(fileno, select.POLLIN)
        self._events = events

    def leave(self) -> None:
        """Follow nothing any more.  Reactor thread."""
        self._events = None

    def __enter__(self) -> None:
        self._lock.acquire()
        rests = 0
        while self._is_taken() and rests < MAX_RESTS:
            self._rest(REST_SECONDS)
            rests += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def _is_taken(self) -> bool:
        events = self._events
        return self.is_serving or (events is not None and bool(events.poll(0)))
