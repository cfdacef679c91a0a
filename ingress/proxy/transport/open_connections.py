"""The downstream connections that are open: how many there may be, and how they end with the process."""

from collections.abc import Callable, Iterable, Iterator, Set
from itertools import chain
from typing import TypeVar

from twisted.internet.defer import Deferred

from ingress.metrics.metrics import Metrics
from ingress.model.stepwise import finished
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.portions import in_portions
from ingress.proxy.transport.connection_limit import DEFAULT_CONNECTIONS, Connection, ConnectionLimit

_T = TypeVar("_T")


class AllConnections(Set[Connection]):
    """Those of several parts, which have none in common: to have them in one place more would take a hundred bytes for each."""

    __slots__ = ("_parts",)

    def __init__(self, part: dict[Connection, None]) -> None:
        """*part* stays with whoever adds to it."""
        self._parts = [part]

    @classmethod
    def _from_iterable(cls, it: Iterable[_T]) -> Set[_T]:
        return set(it)

    def include(self, part: dict[Connection, None]) -> None:
        """Have those of *part* among them, whatever becomes of it."""
        self._parts.append(part)

    def leave_out(self, part: dict[Connection, None]) -> None:
        """Have those of *part* among them no more."""
        self._parts = [each for each in self._parts if each is not part]

    def __contains__(self, connection: object) -> bool:
        return any(connection in each for each in self._parts)

    def __iter__(self) -> Iterator[Connection]:
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        # Asked for each request over HTTP/2, of a part for each listener.
        count = 0
        for part in self._parts:
            count += len(part)
        return count


class OpenConnections:
    """The live connections, so that a shutdown can finish what runs and close what rests (drain).

    A listener that may close by itself has a ``part`` of them, which ends with the whole or before it.
    """

    def __init__(
        self,
        deadlines: Deadlines,
        metrics: Metrics,
        most_connections: int = DEFAULT_CONNECTIONS,
        whole: "OpenConnections | None" = None,
    ) -> None:
        self._deadlines = deadlines
        self._metrics = metrics
        self._whole = whole
        self._parts: list[OpenConnections] = []
        # A set of as many takes twice as much.
        self._own: dict[Connection, None] = {}
        self.all = AllConnections(self._own)
        """Those of this part and of its parts."""
        self.limit: ConnectionLimit = (
            ConnectionLimit(self.all, most_connections, deadlines, metrics.connections)
            if whole is None
            else whole.limit
        )
        """How many connections there may be, and who listens for more."""
        self.draining = False
        self._drained: list[Deferred[None]] | None = None

    def part(self) -> "OpenConnections":
        """Return the connections of another listener, which count here, too."""
        part = OpenConnections(self._deadlines, self._metrics, whole=self)
        part.draining = self.draining
        self._parts.append(part)
        self.all.include(part._own)
        return part

    def leave(self) -> None:
        """Count among the whole no more, if nothing is left here: no connection will come any more."""
        whole = self._whole
        if whole is not None and not self.all and self in whole._parts:
            whole._parts.remove(self)
            whole.all.leave_out(self._own)

    def hold(self, connection: Connection) -> None:
        """A connection is there that nobody knows the protocol of."""
        self._own[connection] = None
        self.limit.grown(connection)

    def release(self, connection: Connection, then: Callable[[], None] | None = None) -> None:
        """It is gone, or *then* gives it to a protocol, which ``opened`` tells of: in between nobody has left."""
        self._own.pop(connection, None)
        self.limit.shrunk(connection)
        try:
            if then is not None:
                then()
        finally:
            self._note_drained()

    def opened(self, connection: Connection, secure: bool) -> None:
        """A downstream connection is there."""
        self._own[connection] = None
        self._metrics.downstream_opened(secure)
        self.limit.grown(connection)

    def replaced(self, connection: Connection, by: Connection) -> None:
        """A downstream connection is carried on *by* another object; it stays the same one."""
        self._own.pop(connection, None)
        self._own[by] = None
        self.limit.replaced(connection, by)

    def closed(self, connection: Connection, secure: bool) -> None:
        """A downstream connection is gone."""
        self._own.pop(connection, None)
        self._metrics.downstream_closed(secure)
        self.limit.shrunk(connection)
        if self._drained is not None or (self._whole is not None and self._whole._drained is not None):
            self._note_drained()

    def begin_draining(self) -> None:
        """Have answers say ``Connection: close`` from now on."""
        self.draining = True
        for part in self._parts:
            part.begin_draining()

    def drain(self, *, closes_resting: bool = True) -> Deferred[None]:
        """Finish what runs, begin nothing new; fires when no connection is left.

        Open answers say ``Connection: close``; connections at rest are closed now, or by ``close_resting``.
        """
        self.begin_draining()
        drained: Deferred[None] = Deferred()
        # Others may wait for the same.
        self._drained = [drained, *(self._drained or ())]
        if closes_resting:
            self.close_resting()
        self._note_drained()
        return drained

    def close_resting(self) -> None:
        """Have all connections take no further request: who is at rest is closed, of very many in as many turns as that takes."""
        self._deadlines.in_portions(self._each(), self._drain)

    def _each(self) -> Iterator[Connection]:
        """Yield every connection once, those that begin meanwhile, or carry on others, among them."""
        told: dict[Connection, None] = {}
        while left := [each for each in self.all if each not in told]:
            told.update(dict.fromkeys(left))
            yield from left

    def _drain(self, connection: Connection) -> None:
        # It may have ended while others were told.
        if connection in self.all:
            connection.drain()

    @property
    def is_ending(self) -> bool:
        """Whether all connections were told to end."""
        return self._drained is not None or (self._whole is not None and self._whole.is_ending)

    def cut(self) -> None:
        """End every connection, of very many in as many turns as that takes: others go on."""
        self._deadlines.in_portions(self._each(), self._abort)

    def _abort(self, connection: Connection) -> None:
        if connection in self.all:
            connection.abort()

    def abort(self) -> None:
        """End every connection at once: the process ends."""
        finished(in_portions(self._each(), self._abort, self._deadlines.exact_seconds))

    def _note_drained(self) -> None:
        if self._drained is not None and not self.all:
            drained, self._drained = self._drained, None
            self.leave()
            for each in drained:
                each.callback(None)
        if self._whole is not None:
            self._whole._note_drained()
