"""The upstream pool: idle connections by endpoint, and the making of new ones.

Those that speak HTTP/2 are never idle in this sense, but shared (``http2.shared_connections``).

Deciding is synchronous: an exchange either gets an idle connection at once or
is told later that a new one was made or could not be made.  Nothing here waits.
"""

from functools import partial
from weakref import WeakValueDictionary

from ingress.metrics.metrics import Metrics
from ingress.model.backends import Endpoint
from ingress.model.limits import Timeouts
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.limits import (
    DISTRUST_SECONDS,
    FRESH_SECONDS,
    KEPT_SECONDS,
    MAX_UPSTREAM_IDLE,
    UPSTREAM_IDLE_SECONDS,
)
from ingress.proxy.contract.sides import AnswerSink
from ingress.proxy.upstream.connection import UpstreamConnection
from ingress.proxy.upstream.h2_connections import Connect, SharedConnections
from ingress.routing.health import Liveness

MAX_DISTRUSTED = 1024
"""Endpoints of which that is known before those are forgotten whose time is over."""


class UpstreamPool:
    """Keeps upstream connections alive between exchanges.

    *most* is how many connections there may be to one endpoint, idle ones included; 0 is no limit.
    Like nginx' ``max_conns`` it makes nobody wait: a full endpoint is passed over.
    """

    def __init__(
        self,
        connect: Connect,
        deadlines: Deadlines,
        metrics: Metrics,
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - it is frozen
        most: int = 0,
    ) -> None:
        """*timeouts* hold where a route asks for nothing else."""
        self.deadlines = deadlines
        self.timeouts = timeouts
        self.most = most
        self.shared = SharedConnections(connect, deadlines, metrics, timeouts, most)
        """Those of endpoints that speak HTTP/2."""
        self.livenesses: WeakValueDictionary[Endpoint, Liveness] = WeakValueDictionary()
        self._counts: dict[Endpoint, int] = {}
        self._connect = connect
        self._metrics = metrics
        self._idle: dict[Endpoint, list[UpstreamConnection]] = {}
        self._distrusted: dict[Endpoint, float] = {}
        """Endpoints that ended a kept connection under a request, and until when that is held against them."""
        self._waiting: dict[UpstreamConnection, AnswerSink] = {}
        self._made_for: dict[AnswerSink, UpstreamConnection] = {}
        """The same the other way round."""
        self._unclaimed: dict[Endpoint, dict[UpstreamConnection, None]] = {}
        """Connections that are being made for who has left; the next who asks waits for the latest of them."""
        self._connections: set[UpstreamConnection] = set()
        self._closed = False

    def __repr__(self) -> str:
        idle = sum(map(len, self._idle.values()))
        busy = len(self._connections) - idle
        shared = f", {self.shared.count} shared" if self.shared.count else ""
        return f"<UpstreamPool {busy} busy, {idle} idle, {len(self._waiting)} connecting{shared}>"

    def acquire(self, endpoint: Endpoint, exchange: AnswerSink, reuse: bool, fresh: bool) -> None:
        """Give *exchange* a connection to *endpoint*: an idle one if it may *reuse*, else a new one.

        With *fresh*, only a connection that was in use a moment ago is reused, and
        only of an upstream that does not close them soon after answering: one that is
        just being closed would lose a request that cannot be repeated.  Should that happen
        all the same, it is known in most cases that upstream took nothing of it.
        """
        idle = self._idle.get(endpoint) if reuse else None
        if idle and not (fresh and self._may_be_closing(idle)):
            connection = idle.pop()
            connection.is_reused = True
            connection.deadline = NEVER
            if fresh:
                connection.watch_delivery()
            exchange.upstream_connected(connection)
            return
        if self.most and idle and self._counts.get(endpoint, 0) >= self.most:
            # None of these will do, and there is no room beside them.
            idle.pop(0).close()
        if endpoint.link_settings is not None and endpoint.link_settings.is_http2:
            self.shared.acquire(endpoint, exchange, reuse, fresh)
            return
        unclaimed = self._unclaimed.get(endpoint)
        if unclaimed:
            connection, _ = unclaimed.popitem()
            if not unclaimed:
                del self._unclaimed[endpoint]
            self._await(connection, exchange)
            return
        connection = UpstreamConnection(endpoint, self)
        self._await(connection, exchange)
        self._counts[endpoint] = self._counts.get(endpoint, 0) + 1
        seconds = (exchange.timeouts or self.timeouts).connect_seconds
        self._connect(endpoint, connection, partial(self._unreachable, connection), seconds)

    def _await(self, connection: UpstreamConnection, exchange: AnswerSink) -> None:
        self._waiting[connection] = exchange
        self._made_for[exchange] = connection

    def _claim(self, connection: UpstreamConnection) -> AnswerSink | None:
        """Return who waits for *connection*, which is made or will never be."""
        exchange = self._waiting.pop(connection, None)
        if exchange is not None:
            del self._made_for[exchange]
            return exchange
        unclaimed = self._unclaimed[connection.endpoint]
        del unclaimed[connection]
        if not unclaimed:
            del self._unclaimed[connection.endpoint]
        return None

    def forget(self, exchange: AnswerSink, endpoint: Endpoint) -> None:
        """Forget *exchange*, which waits for a connection to *endpoint*.

        Else a client that comes and leaves would have any number of connections made to one that does not answer.
        """
        connection = self._made_for.pop(exchange, None)
        if connection is None:
            self.shared.forget(exchange, endpoint)
        else:
            del self._waiting[connection]
            self._unclaimed.setdefault(endpoint, {})[connection] = None

    @property
    def sockets(self) -> int:
        """How many connections there are, with those that are being made; not those that are shared, which are few."""
        return len(self._connections) + len(self._waiting)

    def has_room(self, endpoint: Endpoint) -> bool:
        """Whether another exchange may go to *endpoint*."""
        if endpoint.link_settings is not None and endpoint.link_settings.is_http2:
            has_room = self.shared.has_room(endpoint)
        else:
            has_room = (
                self._counts.get(endpoint, 0) < self.most
                or bool(self._idle.get(endpoint))
                or bool(self._unclaimed.get(endpoint))
            )
        if has_room:
            return True
        self._metrics.connections.endpoint_passed_over()
        return False

    def _may_be_closing(self, idle: list[UpstreamConnection]) -> bool:
        # The last one was idle for the shortest time; the first shows how long upstream keeps them.
        now = self.deadlines.now
        if self._distrusted and self._distrusted.get(idle[-1].endpoint, now) > now:
            return True
        return (
            now - idle[-1].idle_since >= FRESH_SECONDS
            or now - idle[0].idle_since < KEPT_SECONDS
            or not idle[-1].is_quiet
        )

    def connected(self, connection: UpstreamConnection) -> None:
        """A new connection is made: hand it to the exchange that waits, or keep it for another."""
        self._connections.add(connection)
        self._metrics.upstream_opened()
        exchange = self._claim(connection)
        try:
            is_taken = exchange is not None and exchange.upstream_connected(connection)
        except Exception:
            assert exchange is not None
            connection.abandon()
            exchange.crash()
            return
        if not is_taken:
            self.release(connection)

    def _unreachable(self, connection: UpstreamConnection, why: str) -> None:
        exchange = self._claim(connection)
        self._count_less(connection.endpoint)
        if exchange is not None:
            try:
                exchange.upstream_unreachable(why)
            except Exception:
                exchange.crash()

    def _count_less(self, endpoint: Endpoint) -> None:
        count = self._counts.get(endpoint, 0) - 1
        if count > 0:
            self._counts[endpoint] = count
        else:
            # Endpoints come and go with every rollout; what is kept of them must go too.
            self._counts.pop(endpoint, None)

    def release(self, connection: UpstreamConnection) -> None:
        """Keep a connection that finished its exchange cleanly."""
        if self._closed:
            connection.close()
            return
        idle = self._idle.setdefault(connection.endpoint, [])
        if len(idle) >= MAX_UPSTREAM_IDLE:
            # Not the oldest, which shows how long upstream keeps one, and not the one just used.
            idle.pop(1).close()
        connection.idle_since = self.deadlines.now
        connection.deadline = self.deadlines.now + UPSTREAM_IDLE_SECONDS
        idle.append(connection)

    def was_stale(self, endpoint: Endpoint) -> None:
        """A kept connection to *endpoint* ended under a request: for a while, trust none of them with a POST."""
        now = self.deadlines.now
        if len(self._distrusted) >= MAX_DISTRUSTED:
            self._distrusted = {each: until for each, until in self._distrusted.items() if until > now}
        self._distrusted[endpoint] = now + DISTRUST_SECONDS

    def discard(self, connection: UpstreamConnection) -> None:
        """Offer an idle connection no more."""
        idle = self._idle.get(connection.endpoint)
        if idle is not None and connection in idle:
            idle.remove(connection)
            if not idle:
                del self._idle[connection.endpoint]

    def lost(self, connection: UpstreamConnection) -> None:
        """A connection is gone."""
        self.discard(connection)
        if not self._idle.get(connection.endpoint):
            # It may be empty for long: ``acquire`` takes the last one out and leaves the list for the next.
            self._idle.pop(connection.endpoint, None)
        self._connections.discard(connection)
        self._count_less(connection.endpoint)
        self._metrics.upstream_closed()

    def close(self) -> None:
        """Close what is idle now, and everything else as soon as its exchange is over."""
        self._closed = True
        self.shared.close()
        idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()
