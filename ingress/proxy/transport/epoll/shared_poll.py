"""One wait for the epoll set and for all else of Twisted's epoll reactor.

As a reader like any other, an epoll set is waited for twice: the reactor finds that it has events, and then it is asked
which.  On the way from one to the other Twisted looks for the descriptor, says in its log whose turn it is, and makes sure
that nothing raises.  All of that is paid for each time that the process wakes up, and with few connections that is for
each request.

Twisted's epoll reactor asks for events at one place, its *poller*.  Here something else stands there, which turns it
round: what is waited on is the epoll set, and the reactor's own poller is one of the descriptors in it.  What the
reactor has to do besides, timers and calls of threads, it does between two waits, as ever; where it has nothing to do, the
next wait begins without it, for a turn of its main loop costs as much as a third of what the epoll set does for an event.

This is the one module that knows the attributes in which that reactor keeps its poller, and that it was told to stop.
"""

import select
from collections.abc import Callable
from typing import Any, Final

from twisted.python.failure import Failure

_EPOLL_REACTOR: Final = ("twisted.internet.epollreactor", "EPollReactor")

MOST_WAITS: Final = 16
"""How often in one turn of the reactor: whatever it does in each of its turns, it does soon."""

Events = list[tuple[int, int]]
"""File descriptors, with what epoll says of them."""


def poller_of(reactor: object) -> select.epoll | None:
    """Return what *reactor* waits on, if that is known of its kind, and nothing stands there already."""
    kind = type(reactor)
    poller: object = getattr(reactor, "_poller", None)
    if (kind.__module__, kind.__qualname__) != _EPOLL_REACTOR or type(poller) is not select.epoll:
        return None
    return poller


class SharedPoll:
    """Stands in *reactor* in the place of its *poller*, from ``join`` to ``leave``."""

    __slots__ = (
        "_epoll",
        "_found_nothing",
        "_is_asked_for",
        "_is_joined",
        "_most",
        "_poller",
        "_reactor",
        "_work_off",
        "modify",
        "register",
        "unregister",
    )

    def __init__(
        self,
        reactor: Any,
        poller: select.epoll,
        epoll: select.epoll,
        most: int,
        work_off: Callable[[Events], bool],
        found_nothing: Callable[[float], bool],
    ) -> None:
        """Wait on *epoll* for at most so many events; *work_off* takes them, and returns whether there may be more.

        *found_nothing* is called where there were none, with how long was waited at most, and returns whether to look again.
        """
        self._reactor = reactor
        self._poller = poller
        self._epoll = epoll
        self._most = most
        self._work_off = work_off
        self._found_nothing = found_nothing
        self._is_asked_for = False
        """Whether the reactor has events of its own."""
        self._is_joined = False
        # What the reactor watches is its own affair.
        self.register = poller.register
        self.modify = poller.modify
        self.unregister = poller.unregister

    def __repr__(self) -> str:
        return f"<SharedPoll of {self._poller!r} and {self._epoll!r}>"

    def join(self) -> None:
        """Have the reactor wait here from its next turn on."""
        self._reactor._poller = self
        self._is_joined = True

    def leave(self) -> None:
        """Let the reactor wait by itself again."""
        self._reactor._poller = self._poller
        self._is_joined = False

    def fileno(self) -> int:
        """Return the descriptor that is readable when the reactor has events of its own."""
        return self._poller.fileno()

    def poll(self, seconds: float, most: int) -> Events:
        """Wait for events of either for so long, -1 for ever; work off those of the epoll set and return at most *most* of the reactor's.

        The reactor gets what it has in any turn in which the epoll set might go on.  While it runs, was not told to stop, and has neither
        events nor a timer that is due, what comes next is waited for at once.
        """
        reactor = self._reactor
        for _ in range(MOST_WAITS):
            events = self._epoll.poll(seconds, self._most)
            if not events and self._found_nothing(seconds):
                # A process that was stopped amid the wait comes back with nothing (epoll_wait(2), EINTR), whatever has come since:
                # that goes before timers that are over now.
                events = self._epoll.poll(0, self._most)
            if not events:
                return []
            is_full = self._work_off(events)
            if is_full or self._is_asked_for:
                self._is_asked_for = False
                return self._poller.poll(0, most)
            if not reactor.running or reactor._justStopped or not self._is_joined:
                return []
            left = reactor.timeout()
            if left is not None and left <= 0:
                return []
            seconds = -1.0 if left is None else left
        return []

    # Descriptor of the epoll set

    def ready(self, events: int) -> None:
        """The reactor has events, which it gets when the epoll set's turn is over."""
        self._is_asked_for = True

    def failed(self, failure: Failure) -> None:
        """Never: nothing in ``ready`` can raise."""
