"""The upstream pool: connections by endpoint, those that are kept, those that are shared, and the making of new ones.

One of HTTP/1.1 serves one exchange at a time, and is idle in between; one of FastCGI, too, if it is kept.  One of HTTP/2 is shared: the first that has room
for another stream is used, so that those which a busy hour has needed end by themselves after it.  Of either kind
a new one is made, where none will do, for as many exchanges as it is to take at once; they wait for it together.

Deciding is synchronous: an exchange either gets a connection at once or
is told later that a new one was made or could not be made.  Nothing here waits.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import partial
from weakref import WeakValueDictionary

from ingress.http2.client import ASSUMED_STREAMS
from ingress.metrics.metrics import Metrics
from ingress.model.serving.limits import Timeouts
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.faults import ANY, OWN, Reuse
from ingress.proxy.contract.limits import (
    FRESH_SECONDS,
    KEPT_SECONDS,
    MAX_UPSTREAM_IDLE,
    SHOWN_SECONDS,
    UPSTREAM_IDLE_SECONDS,
)
from ingress.proxy.contract.sides import AnswerSink
from ingress.proxy.contract.transport import Receiver, is_ip_address
from ingress.proxy.upstream.connection import UpstreamConnection
from ingress.proxy.upstream.distrust import Distrust
from ingress.proxy.upstream.fastcgi_connection import FastCgiConnection
from ingress.proxy.upstream.h2_session import UpstreamSession
from ingress.proxy.upstream.keepers import Taker
from ingress.proxy.upstream.named_connections import NamedConnections
from ingress.proxy.upstream.program_errors import ProgramErrorLog
from ingress.routing.balancing.health import Liveness

Connect = Callable[[Endpoint, Receiver, Callable[[str], None], float], None]
"""Connects a receiver to an endpoint within so many seconds, or calls back once with the reason why not."""

Connection = UpstreamConnection | UpstreamSession

_Waiting = dict[AnswerSink, Reuse]
"""Exchanges that wait for one connection, and which one would have done for each."""


class _AtEndpoint:
    """The connections to one endpoint, all of one kind."""

    __slots__ = (
        "count",
        "idle",
        "is_shared",
        "joinable",
        "making",
        "most_streams",
        "sessions",
        "shown_until",
    )

    def __init__(self, is_shared: bool) -> None:
        self.is_shared = is_shared
        """Whether they speak HTTP/2."""
        self.count = 0
        """How many there are, with those that are being made, and those that only finish what they have begun."""
        self.idle: list[UpstreamConnection] = []
        """Those of HTTP/1.1 and FastCGI between exchanges, the one used last at the end."""
        self.sessions: list[UpstreamSession] = []
        """Those of HTTP/2 that take streams, the oldest first."""
        self.making: dict[Connection, _Waiting] = {}
        """Those that are not connected yet, and who waits for them."""
        self.joinable: dict[Connection, None] = {}
        """Those of them that may have room for another to wait: few of HTTP/1.1, which only who has left leaves behind."""
        self.most_streams = ASSUMED_STREAMS if is_shared else 1
        """What a new one is taken to allow at once: what the endpoint said last."""
        self.shown_until = 0.0
        """Until when the endpoint counts as one that keeps connections which are idle, as it has shown."""

    def with_room(self, may_be_old: bool, must_be_sure: bool) -> UpstreamSession | None:
        """Return a session with room for a stream.

        One is not old while the endpoint has said nothing about any request, and not sure if it rests and the endpoint has
        said something meanwhile, which may be its goodbye.
        """
        for session in self.sessions:
            if (
                session.free_streams() > 0
                and (may_be_old or not session.was_used)
                and not (must_be_sure and not session.streams and not session.is_quiet)
            ):
                return session
        return None

    def to_join(self) -> Connection | None:
        """Return the latest connection that is being made, and that more may wait for."""
        while self.joinable:
            connection = next(reversed(self.joinable))
            if len(self.making[connection]) < self.most_streams:
                return connection
            del self.joinable[connection]
        return None

    def taken_off(self, connection: Connection) -> _Waiting:
        """Return who waits for *connection*, which is made or will never be."""
        self.joinable.pop(connection, None)
        return self.making.pop(connection)


class UpstreamPool(Taker[UpstreamConnection]):
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
        self.livenesses: WeakValueDictionary[Endpoint, Liveness] = WeakValueDictionary()
        self.connections: set[Connection] = set()
        """Those that are made."""
        self._sessions: set[UpstreamSession] = set()
        """Those of them that are shared, which are few."""
        self._idle = 0
        """How many of the others rest between exchanges."""
        self.sockets = 0
        """How many of HTTP/1.1 and FastCGI there are, with those that are being made."""
        self.shared = 0
        """How many of HTTP/2, which are few."""
        self._connect = connect
        self._metrics = metrics
        self.http2 = metrics.http2.upstream
        self.program_errors = ProgramErrorLog(deadlines)
        self._endpoints: dict[Endpoint, _AtEndpoint] = {}
        """Of those alone to which there is a connection: they come and go with every rollout."""
        self._distrust = Distrust(deadlines)
        self._distrusted = self._distrust.until
        self._named: NamedConnections[Connection] = NamedConnections(deadlines, self._retire)
        self._made_for: dict[AnswerSink, Connection] = {}
        """Which connection each of those who wait waits for."""
        self._closed = False

    def limit(self, timeouts: Timeouts, most: int) -> None:
        """Have these hold for exchanges that begin from now on, and for connections that are made for them."""
        self.timeouts = timeouts
        self.most = most
        for known in self._endpoints.values():
            for connection in (*known.sessions, *known.making):
                if isinstance(connection, UpstreamSession):
                    connection.timeouts = timeouts

    def __repr__(self) -> str:
        busy = len(self.connections) - len(self._sessions) - self._idle
        shared = f", {self.shared} shared" if self.shared else ""
        return f"<UpstreamPool {busy} busy, {self._idle} idle, {len(self._made_for)} connecting{shared}>"

    def idle_and_busy(self) -> tuple[int, int]:
        """Count the connections on which no request is under way, and those on which one is."""
        idle = self._idle + sum(not session.streams for session in self._sessions)
        return idle, len(self.connections) - idle

    @property
    def endpoints(self) -> Collection[Endpoint]:
        """Those to which there are connections, be they being made."""
        return self._endpoints.keys()

    def standing(self) -> Iterator[tuple[str, int, int]]:
        """Yield each endpoint to which there are connections, with how many these are, and the requests under way there."""
        streams: Counter[Endpoint] = Counter()
        if self.shared:
            for each in tuple(self.connections):
                if isinstance(each, UpstreamSession):
                    streams[each.endpoint] += len(each.streams)
        for endpoint, known in tuple(self._endpoints.items()):
            made = known.count - len(known.making)
            waiting = sum(map(len, known.making.values()))
            busy = streams[endpoint] if known.is_shared else made - len(known.idle)
            yield str(endpoint), made, busy + waiting

    def acquire(self, endpoint: Endpoint, exchange: AnswerSink, reuse: Reuse, fresh: bool) -> None:
        """Give *exchange* a connection to *endpoint* that will do as *reuse* says, now or when one is made.

        A shared one counts as new while it has answered nobody yet.  With *fresh*, only a connection that was
        in use a moment ago is reused, and only of an upstream that does not close them soon after answering: one that is
        just being closed would lose a request that cannot be repeated.  Should that happen
        all the same, it is known in most cases that upstream took nothing of it.
        """
        known = self._endpoints.get(endpoint)
        if known is None:
            link_settings = endpoint.link_settings
            known = _AtEndpoint(is_shared=link_settings is not None and link_settings.is_http2)
        idle = known.idle
        if idle and reuse is ANY and not (fresh and self._may_be_closing(known)):
            connection = idle.pop()
            self._idle -= 1
            connection.is_reused = True
            connection.deadline = NEVER
            if fresh:
                connection.watch_delivery()
            exchange.upstream_connected(connection)
        elif known.is_shared:
            self._share(endpoint, known, exchange, reuse, fresh)
        else:
            if idle and reuse is ANY and self.most and known.count >= self.most:
                # None of these will do, and there is no room beside them.
                idle.pop(0).close()
                self._idle -= 1
            self._join_or_make(endpoint, known, exchange, reuse)

    def _share(
        self, endpoint: Endpoint, known: _AtEndpoint, exchange: AnswerSink, reuse: Reuse, fresh: bool
    ) -> None:
        """Give *exchange* a stream; with *fresh*, of no connection at rest that may just be ending, if that can be seen."""
        if exchange.head.connect_protocol:
            exchange.fail(501, "no WebSocket leads to an endpoint that speaks HTTP/2")
            return
        session: UpstreamSession | None = None
        if reuse is not OWN:
            session = known.with_room(may_be_old=reuse is ANY, must_be_sure=fresh)
        if session is None and self.most and known.count >= self.most and known.to_join() is None:
            # There is no room for a better one.
            session = known.with_room(may_be_old=True, must_be_sure=False)
        if session is None:
            self._join_or_make(endpoint, known, exchange, reuse)
            return
        if fresh and session.was_used and not session.streams:
            session.watch_delivery()
        exchange.upstream_connected(session.open(reuse))

    def _join_or_make(
        self, endpoint: Endpoint, known: _AtEndpoint, exchange: AnswerSink, reuse: Reuse
    ) -> None:
        """Have *exchange* wait for a connection that is being made, or for one of its own."""
        may_join = reuse is not OWN or 0 < self.most <= known.count
        joined = known.to_join() if may_join else None
        if joined is not None:
            known.making[joined][exchange] = reuse
            self._made_for[exchange] = joined
            return
        connection: Connection
        if known.is_shared:
            connection = UpstreamSession(endpoint, self, known.most_streams)
            self.shared += 1
        else:
            link_settings = endpoint.link_settings
            if link_settings is not None and link_settings.is_fastcgi:
                connection = FastCgiConnection(endpoint, self)
            else:
                connection = UpstreamConnection(endpoint, self)
            self.sockets += 1
        known.count += 1
        known.making[connection] = {exchange: reuse}
        known.joinable[connection] = None
        self._endpoints[endpoint] = known
        self._made_for[exchange] = connection
        seconds = (exchange.timeouts or self.timeouts).connect_seconds
        self._connect(endpoint, connection, partial(self._unreachable, connection), seconds)

    def forget(self, exchange: AnswerSink, endpoint: Endpoint) -> None:
        """Forget *exchange*, if it waits for a connection to *endpoint*: its place is free for another.

        Else a client that comes and leaves would have any number of connections made to one that does not answer.
        """
        connection = self._made_for.pop(exchange, None)
        if connection is not None:
            known = self._endpoints[endpoint]
            del known.making[connection][exchange]
            known.joinable[connection] = None

    def has_room(self, endpoint: Endpoint) -> bool:
        """Whether another exchange may go to *endpoint*."""
        known = self._endpoints.get(endpoint)
        if (
            known is None
            or known.count < self.most
            or known.idle
            or known.with_room(may_be_old=True, must_be_sure=False) is not None
            or known.to_join() is not None
        ):
            return True
        self._metrics.connections.endpoint_passed_over()
        return False

    def _may_be_closing(self, known: _AtEndpoint) -> bool:
        # The last one was idle for the shortest time; the first shows how long upstream keeps them.
        oldest, latest = known.idle[0], known.idle[-1]
        now = self.deadlines.now
        if self._distrusted and self._distrusted.get(latest.endpoint, now) > now:
            return True
        if (
            now - oldest.idle_since >= KEPT_SECONDS
            and known.shown_until - now < SHOWN_SECONDS / 2
            and oldest.is_quiet
        ):
            # Under load it is taken sooner or later, and no other one is idle for so long then.
            known.shown_until = now + SHOWN_SECONDS
        return now - latest.idle_since >= FRESH_SECONDS or now >= known.shown_until or not latest.is_quiet

    # What connections tell

    def connected(self, connection: Connection) -> None:
        """A new connection is made: let those have it who waited, or keep it for others."""
        self._metrics.upstream_opened()
        self.connections.add(connection)
        if not is_ip_address(connection.endpoint.address):
            self._named.add(connection)
        known = self._endpoints[connection.endpoint]
        waiting = self._taken_off(known, connection)
        if isinstance(connection, UpstreamSession):
            self.http2.open += 1
            self._sessions.add(connection)
            if not self._closed:
                known.sessions.append(connection)
        is_taken = False
        for exchange, reuse in waiting.items():
            upstream = connection.open(reuse)
            try:
                is_taken = exchange.upstream_connected(upstream) or is_taken
            except Exception:
                is_taken = True
                upstream.abandon()
                exchange.crash()
        if isinstance(connection, UpstreamConnection):
            if isinstance(connection, FastCgiConnection) and not is_taken:
                # Until somebody came, a process of the endpoint would wait at it.
                connection.close()
            elif not is_taken:
                self.release(connection)
        elif self._closed:
            connection.close_idle()

    def _unreachable(self, connection: Connection, why: str) -> None:
        known = self._endpoints[connection.endpoint]
        waiting = self._taken_off(known, connection)
        self._count_less(connection, known)
        is_first = True
        for exchange in waiting:
            try:
                if exchange.upstream_unreachable(why, is_first):
                    is_first = False
            except Exception:
                exchange.crash()

    def _taken_off(self, known: _AtEndpoint, connection: Connection) -> _Waiting:
        waiting = known.taken_off(connection)
        for exchange in waiting:
            del self._made_for[exchange]
        return waiting

    def _count_less(self, connection: Connection, known: _AtEndpoint) -> None:
        known.count -= 1
        if not known.count:
            del self._endpoints[connection.endpoint]
        if known.is_shared:
            self.shared -= 1
        else:
            self.sockets -= 1

    def release(self, connection: UpstreamConnection) -> None:
        """Keep a connection that finished its exchange cleanly."""
        if self._closed:
            connection.close()
            return
        idle = self._endpoints[connection.endpoint].idle
        if len(idle) >= MAX_UPSTREAM_IDLE:
            # Not the oldest, which shows how long upstream keeps one, and not the one just used.
            idle.pop(1).close()
            self._idle -= 1
        connection.idle_since = now = self.deadlines.now
        connection.deadline = now + UPSTREAM_IDLE_SECONDS
        idle.append(connection)
        self._idle += 1

    def _retire(self, connection: Connection) -> None:
        """Have *connection* end with what is under way on it."""
        if isinstance(connection, UpstreamSession) or connection in self._endpoints[connection.endpoint].idle:
            connection.close_idle()
        else:
            connection.keep_alive = False

    def was_stale(self, endpoint: Endpoint) -> None:
        """A kept connection to *endpoint* ended under a request: for a while, trust none of them with a POST."""
        self._distrust.tell(endpoint)

    def discard(self, connection: Connection) -> None:
        """Give nobody another exchange on *connection*."""
        known = self._endpoints.get(connection.endpoint)
        if known is None:
            return
        if isinstance(connection, UpstreamSession):
            if connection in known.sessions:
                known.sessions.remove(connection)
        elif connection in known.idle:
            known.idle.remove(connection)
            self._idle -= 1

    def lost(self, connection: Connection) -> None:
        """A connection is gone."""
        if connection not in self.connections:
            self._unreachable(connection, "connection lost")
            return
        self.discard(connection)
        self.connections.remove(connection)
        if self._named:
            self._named.remove(connection)
        self._count_less(connection, self._endpoints[connection.endpoint])
        self._metrics.upstream_closed()
        if isinstance(connection, UpstreamSession):
            self.http2.open -= 1
            self._sessions.discard(connection)

    def failed(self, session: UpstreamSession) -> None:
        """A shared connection ends for what the endpoint did."""
        self.discard(session)
        self.http2.failed += 1

    def learned(self, endpoint: Endpoint, most_streams: int) -> None:
        """An endpoint says how many streams it takes at once, which holds for its next connections until they say so themselves."""
        known = self._endpoints.get(endpoint)
        if known is not None:
            # Of one that takes none for now, a new connection may still be asked.
            known.most_streams = max(1, most_streams)

    def close(self) -> None:
        """Close what is idle now, and everything else as soon as its exchanges are over."""
        self._closed = True
        for known in list(self._endpoints.values()):
            idle, known.idle = known.idle, []
            self._idle -= len(idle)
            for connection in idle:
                connection.close()
            for session in list(known.sessions):
                session.close_idle()
