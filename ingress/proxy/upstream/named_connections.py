"""Connections to endpoints that have a name: each takes exchanges for a while, and then another one is made.

A name may lead elsewhere the next time that it is looked up, which is whenever a connection is made to it.  One that is never idle would
be kept for ever, and what the name says now would be for nobody.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.limits import NAMED_SECONDS

C = TypeVar("C")


class NamedConnections(Generic[C]):
    """Those of a pool, each a *C*; *retire* is told of each whose time is over, again and again until it is gone."""

    __slots__ = ("_deadlines", "_retire", "_until", "deadline")

    def __init__(self, deadlines: Deadlines, retire: Callable[[C], None]) -> None:
        self._deadlines = deadlines
        self._retire = retire
        self._until: dict[C, float] = {}
        """Until when each takes exchanges, the first to be looked at before all others."""
        self.deadline = NEVER

    def __len__(self) -> int:
        return len(self._until)

    def add(self, connection: C) -> None:
        """Look after *connection*, which was made just now."""
        if not self._until:
            self._deadlines.watch(self)
        self._look_later(connection)

    def remove(self, connection: C) -> None:
        """Take note that *connection* is gone, be it one of these or not."""
        if self._until.pop(connection, None) is not None:
            self._await_next()

    def expire(self) -> None:
        """Called by the deadlines: the time of the first is over, and perhaps that of others."""
        due = self._due
        self._deadlines.in_portions([each for each, until in self._until.items() if until <= due], self._end)

    @property
    def _due(self) -> float:
        return self._deadlines.now + self._deadlines.interval_seconds / 2

    def _end(self, connection: C) -> None:
        # It may have ended while others did, or have had its turn with the tick before.
        if self._until.get(connection, NEVER) <= self._due:
            # What keeps it busy may take long.
            del self._until[connection]
            self._look_later(connection)
            self._retire(connection)

    def abort(self) -> None:
        """Look after none of them any more."""
        self._until.clear()
        self._await_next()

    def _look_later(self, connection: C) -> None:
        self._until[connection] = self._deadlines.now + NAMED_SECONDS
        self._await_next()

    def _await_next(self) -> None:
        if self._until:
            self.deadline = next(iter(self._until.values()))
        else:
            self.deadline = NEVER
            self._deadlines.forget(self)
