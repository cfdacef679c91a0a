"""The probe of an epoll set: an event to itself, by which it finds out how late it is."""

import os
from typing import Protocol

from twisted.python.failure import Failure

from ingress.process.lateness import Lateness


class ProbedSet(Protocol):
    """The epoll set that a probe goes through."""

    def seconds(self) -> float:
        """Return the time."""

    def add(self, descriptor: "Probe", fileno: int, events: int) -> None:
        """Tell *descriptor* of *events* on *fileno* from now on."""

    def remove(self, fileno: int) -> None:
        """Tell of nothing any more."""


class Probe:
    """A descriptor in *epoll_set*; what it finds is *lateness*."""

    def __init__(self, epoll_set: ProbedSet, readable: int) -> None:
        """*readable* is the event that says so."""
        self.lateness = Lateness()
        self._epoll_set = epoll_set
        self._readable = readable
        self._fileno: int | None = None
        """Of an eventfd, made when it is first needed: a process with little to do never has one."""

    def __repr__(self) -> str:
        return f"<Probe: {self.lateness!r}>"

    def send(self, now: float) -> None:
        """Send it, unless it is under way, or came back a moment ago."""
        if not self.lateness.wants_probe(now):
            return
        if self._fileno is None:
            try:
                self._fileno = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            except OSError:
                return  # No descriptor is left: connections tell of that, and how late it is stays unknown.
            self._epoll_set.add(self, self._fileno, self._readable)
        os.eventfd_write(self._fileno, 1)
        self.lateness.sent(now)

    def ready(self, events: int) -> None:
        """It came back."""
        if self._fileno is not None:
            os.eventfd_read(self._fileno)
            self.lateness.came_back(self._epoll_set.seconds())

    def failed(self, failure: Failure) -> None:
        """The next one is made anew."""
        self.close()

    def close(self) -> None:
        """Send no more."""
        fileno, self._fileno = self._fileno, None
        if fileno is not None:
            self._epoll_set.remove(fileno)
            os.close(fileno)
