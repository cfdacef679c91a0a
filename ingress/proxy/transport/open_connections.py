"""The downstream connections that are open: how many there may be, and how they end with the process."""

from twisted.internet.defer import Deferred

from ingress.metrics.metrics import Metrics
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.transport.connection_limit import DEFAULT_CONNECTIONS, Connection, ConnectionLimit


class OpenConnections:
    """The live connections, so that a shutdown can finish what runs and close what rests (drain)."""

    def __init__(
        self, deadlines: Deadlines, metrics: Metrics, most_connections: int = DEFAULT_CONNECTIONS
    ) -> None:
        self._metrics = metrics
        self.all: set[Connection] = set()
        self.limit = ConnectionLimit(self.all, most_connections, deadlines, metrics.connections)
        """How many connections there may be, and who listens for more."""
        self.draining = False
        self._drained: Deferred[None] | None = None

    def hold(self, connection: Connection) -> None:
        """A connection is there that nobody knows the protocol of."""
        self.all.add(connection)
        self.limit.grown(connection)

    def release(self, connection: Connection) -> None:
        """It has a protocol now, which ``opened`` tells of, or it is gone."""
        self.all.discard(connection)
        self.limit.shrunk(connection)
        self._note_drained()

    def opened(self, connection: Connection, secure: bool) -> None:
        """A downstream connection is there."""
        self.all.add(connection)
        self._metrics.downstream_opened(secure)
        self.limit.grown(connection)

    def replaced(self, connection: Connection, by: Connection) -> None:
        """A downstream connection is carried on *by* another object; it stays the same one."""
        self.all.discard(connection)
        self.all.add(by)
        self.limit.replaced(connection, by)

    def closed(self, connection: Connection, secure: bool) -> None:
        """A downstream connection is gone."""
        self.all.discard(connection)
        self._metrics.downstream_closed(secure)
        self.limit.shrunk(connection)
        self._note_drained()

    def drain(self) -> Deferred[None]:
        """Finish what runs, begin nothing new; fires when no connection is left.

        Open answers say ``Connection: close``; connections at rest are closed now.
        """
        self.draining = True
        self._drained = Deferred()
        for connection in list(self.all):
            connection.drain()
        drained = self._drained
        self._note_drained()
        return drained

    @property
    def is_ending(self) -> bool:
        """Whether all connections were told to end."""
        return self._drained is not None

    def abort(self) -> None:
        """End every connection at once."""
        for connection in list(self.all):
            connection.abort()

    def _note_drained(self) -> None:
        if self._drained is not None and not self.all:
            drained, self._drained = self._drained, None
            drained.callback(None)
