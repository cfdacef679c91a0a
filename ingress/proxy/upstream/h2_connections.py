"""The connections to endpoints that speak HTTP/2: which of them an exchange gets a stream of.

The first one that has room is used, so that those which a busy hour has needed end by themselves after it.
Where none has room another one is made, for as many exchanges as it is to have streams; they wait
for it together.  What an endpoint said about the number of streams holds for its next connections,
until they say so themselves.

Deciding is synchronous, as in the pool whose part this is.
"""

from collections.abc import Callable
from functools import partial
from weakref import WeakValueDictionary

from twisted.internet.protocol import Protocol

from ingress.http2.client import ASSUMED_STREAMS
from ingress.metrics.metrics import Metrics
from ingress.model.backends import Endpoint
from ingress.model.limits import Timeouts
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.sides import AnswerSink
from ingress.proxy.upstream.h2_session import UpstreamSession
from ingress.routing.health import Liveness

Connect = Callable[[Endpoint, Protocol, Callable[[str], None], float], None]
"""Connects a protocol to an endpoint within so many seconds, or calls back once with the reason why not."""

_Waiting = list[tuple[AnswerSink, bool]]
"""Exchanges that wait for one connection, and whether each would have taken one that was used before."""


class _AtEndpoint:
    """The connections to one endpoint."""

    __slots__ = ("making", "most_streams", "sessions")

    def __init__(self) -> None:
        self.sessions: list[UpstreamSession] = []
        """Those that take streams, the oldest first."""
        self.making: dict[UpstreamSession, _Waiting] = {}
        """Those that are not connected yet, and who waits for them."""
        self.most_streams = ASSUMED_STREAMS
        """What a new one is taken to allow."""

    def with_room(self, may_be_old: bool, must_be_sure: bool) -> UpstreamSession | None:
        """Return one with room for a stream.

        One is not old while the endpoint has said nothing about any request, and not sure if it rests and the endpoint has
        said something meanwhile, which may be its goodbye.
        """
        for session in self.sessions:
            if (
                session.free_streams > 0
                and (may_be_old or not session.was_used)
                and not (must_be_sure and not session.streams and not session.is_quiet)
            ):
                return session
        return None

    def waited_for(self) -> _Waiting | None:
        """Return those who wait for a connection that more may wait for."""
        for waiting in self.making.values():
            if len(waiting) < self.most_streams:
                return waiting
        return None


class SharedConnections:
    """All connections that speak HTTP/2, by endpoint.

    *most* is how many there may be to one endpoint; 0 is no limit.
    """

    def __init__(
        self, connect: Connect, deadlines: Deadlines, metrics: Metrics, timeouts: Timeouts, most: int = 0
    ) -> None:
        self.deadlines = deadlines
        self.timeouts = timeouts
        self._connect = connect
        self._metrics = metrics
        self._most = most
        self._endpoints: dict[Endpoint, _AtEndpoint] = {}
        self.livenesses: WeakValueDictionary[Endpoint, Liveness] = WeakValueDictionary()
        self._counts: dict[Endpoint, int] = {}
        """How many there are, with those that only finish what they have begun."""
        self._closed = False

    def __repr__(self) -> str:
        return f"<SharedConnections: {self.count} to {len(self._counts)} endpoints>"

    @property
    def count(self) -> int:
        """How many there are, with those that are being made."""
        return sum(self._counts.values())

    def acquire(self, endpoint: Endpoint, exchange: AnswerSink, reuse: bool, fresh: bool) -> None:
        """Give *exchange* a stream to *endpoint*, now or when a connection is made for it.

        Without *reuse* its connection is one that has answered nobody yet.  With *fresh* nothing is sent on one
        at rest that may just be ending, if that can be seen.
        """
        if exchange.head.connect_protocol:
            exchange.fail(501, "no WebSocket leads to an endpoint that speaks HTTP/2")
            return
        known = self._endpoints.get(endpoint)
        if known is None:
            known = self._endpoints[endpoint] = _AtEndpoint()
        session = known.with_room(may_be_old=reuse, must_be_sure=fresh)
        if session is None:
            waiting = known.waited_for()
            if waiting is not None:
                waiting.append((exchange, reuse))
                return
            if self._most and self._counts.get(endpoint, 0) >= self._most:
                # There is no room for a better one.
                session = known.with_room(may_be_old=True, must_be_sure=False)
        if session is None:
            self._make(endpoint, known, exchange, reuse)
        else:
            if fresh and session.was_used and not session.streams:
                session.watch_delivery()
            exchange.upstream_connected(session.open(reuse))

    def forget(self, exchange: AnswerSink, endpoint: Endpoint) -> None:
        """Forget *exchange*, if it waits for a connection to *endpoint*: its place is free for another."""
        known = self._endpoints.get(endpoint)
        for waiting in known.making.values() if known is not None else ():
            waiting[:] = [each for each in waiting if each[0] is not exchange]

    def has_room(self, endpoint: Endpoint) -> bool:
        """Whether another exchange may go to *endpoint*."""
        if self._counts.get(endpoint, 0) < self._most:
            return True
        known = self._endpoints.get(endpoint)
        return known is not None and (
            known.with_room(may_be_old=True, must_be_sure=False) is not None or known.waited_for() is not None
        )

    def _make(self, endpoint: Endpoint, known: _AtEndpoint, exchange: AnswerSink, reuse: bool) -> None:
        session = UpstreamSession(endpoint, self, known.most_streams)
        known.making[session] = [(exchange, reuse)]
        self._counts[endpoint] = self._counts.get(endpoint, 0) + 1
        seconds = (exchange.timeouts or self.timeouts).connect_seconds
        self._connect(endpoint, session, partial(self._unreachable, session), seconds)

    def _unreachable(self, session: UpstreamSession, why: str) -> None:
        waiting = self._take_waiting(session)
        self._count_less(session.endpoint)
        is_first = True
        for exchange, _ in waiting:
            try:
                if exchange.upstream_unreachable(why, is_first):
                    is_first = False
            except Exception:
                exchange.crash()

    def _take_waiting(self, session: UpstreamSession) -> _Waiting:
        known = self._endpoints.get(session.endpoint)
        return known.making.pop(session, []) if known is not None else []

    def _count_less(self, endpoint: Endpoint) -> None:
        count = self._counts.get(endpoint, 0) - 1
        if count > 0:
            self._counts[endpoint] = count
        else:
            # Endpoints come and go with every rollout; what is kept of them must go too.
            self._counts.pop(endpoint, None)
            self._endpoints.pop(endpoint, None)

    # What sessions tell

    def connected(self, session: UpstreamSession) -> None:
        """A new connection is made: let those have streams of it who waited."""
        self._metrics.upstream_opened()
        self._metrics.http2.upstream.open += 1
        waiting = self._take_waiting(session)
        if not self._closed:
            self._endpoints[session.endpoint].sessions.append(session)
        for exchange, reuse in waiting:
            stream = session.open(reuse)
            try:
                exchange.upstream_connected(stream)
            except Exception:
                stream.abandon()
                exchange.crash()
        if self._closed:
            session.close_idle()

    def discard(self, session: UpstreamSession) -> None:
        """Give nobody another stream of *session*."""
        known = self._endpoints.get(session.endpoint)
        if known is not None and session in known.sessions:
            known.sessions.remove(session)

    def lost(self, session: UpstreamSession) -> None:
        """A connection is gone."""
        self.discard(session)
        self._count_less(session.endpoint)
        self._metrics.upstream_closed()
        self._metrics.http2.upstream.open -= 1

    def failed(self, session: UpstreamSession) -> None:
        """A connection ends for what the endpoint did."""
        self.discard(session)
        self._metrics.http2.upstream.failed += 1

    def learned(self, endpoint: Endpoint, most_streams: int) -> None:
        """An endpoint says how many streams it takes at once."""
        known = self._endpoints.get(endpoint)
        if known is not None:
            # Of one that takes none for now, a new connection may still be asked.
            known.most_streams = max(1, most_streams)

    def count_stream(self) -> None:
        """A request is sent."""
        self._metrics.http2.upstream.streams += 1

    def close(self) -> None:
        """Close what rests now, and everything else as soon as its exchanges are over."""
        self._closed = True
        for known in list(self._endpoints.values()):
            for session in list(known.sessions):
                session.close_idle()
