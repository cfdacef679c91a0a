"""How many downstream connections there are, and what is done when there are many.

Near the limit, connections at rest (silent since they were made, or between two requests)
are closed, first those that never asked for anything, then those that rest longest.  At the limit those make way
of whom not a byte has come, and then those that said something a while ago and never asked for anything: so the silent
cannot keep out those who have something to say, however many wait for a place.  Those who came first make way first,
and nobody who has not had ``PATIENCE_SECONDS`` to say something.
If nobody can make way all listeners pause; who comes then waits in the kernel, and is
accepted when others have left, or have been silent for long enough.  Nobody is refused, and nothing that is going on is cut.

States, by the number of connections::

    ROOMY ── 15/16 of the limit ──▶ NEAR: with each tick, rests are closed down to 14/16
      ▲                               │ the limit: some make way
      └────── below it ──── PAUSED ◀──┘ nothing is accepted until they are gone; it is looked again
                                        for who can, every ``PATIENCE_SECONDS``
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import Final, Protocol

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ingress.metrics.series.connections import ConnectionMetrics
from ingress.model.stepwise import Stepwise, in_order
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.portions import in_portions
from ingress.wording import number_of

DEFAULT_CONNECTIONS: Final = 8000
"""Fewer where the process may have fewer descriptors, or little memory (``ingress.process.caps.caps``)."""
LEAST_REST_SECONDS: Final = 2.0
"""Two ticks: who was accepted or answered a moment ago has not had the time to say something."""
AT_ONCE: Final = 64
"""Connections that make way in one turn at most, ..."""
SEEN_AT_ONCE: Final = 500
"""... and those that are looked at for it: of nearly all it turns out that they said something long ago."""
PATIENCE_SECONDS: Final = 0.1
"""How long a newcomer may be silent where places are short: the first bytes come right behind TCP's handshake."""
_NEARLY: Final = 0.9
"""A timer may come a little early."""
_TELL_SECONDS: Final = 60.0

_log: Final = Logger()


class Connection(Protocol):
    """A downstream connection, whatever it carries."""

    def drain(self) -> None:
        """Begin nothing any more, and close once what runs is over."""

    def abort(self) -> None:
        """Close at once."""

    def make_way(self) -> None:
        """Close now, as one that ``is_mute``; what was begun of a first head is given up."""

    @property
    def is_mute(self) -> bool:
        """Whether nothing has come of it, so that nothing is lost with it."""

    @property
    def is_silent(self) -> bool:
        """Whether not a byte has come."""

    def rests_since(self) -> float:
        """Return the time of the deadlines since when it is at rest; ``NEVER`` if it is not, or must not be closed."""


class Port(Protocol):
    """A listener that can pause."""

    def pause(self) -> None:
        """Accept nothing until ``resume``."""

    def resume(self) -> None:
        """Accept again."""

    def slow_down(self, is_slow: bool) -> None:
        """Accept one by one, with a moment in between, or as they come."""


class ConnectionLimit:
    """Watches the number of *connections*."""

    def __init__(
        self,
        connections: "Collection[Connection]",
        most: int,
        deadlines: Deadlines,
        metrics: ConnectionMetrics,
    ) -> None:
        self.deadline = NEVER
        self.is_paused = False
        self._connections = connections
        self._at_most = 0
        """How many there may be by now: they grow one by one, but who looks for how many there are counts the parts of several listeners."""
        self._bound(most)
        self._deadlines = deadlines
        self._metrics = metrics
        self._ports: list[Port] = []
        self._told_at = -NEVER
        self._is_near = False
        # A plain dictionary would be walked from its beginning each time, past all who are gone.
        self._unheard: OrderedDict[Connection, float] = OrderedDict()
        """Those that may be silent, in the order in which they came, and when that was ..."""
        self._mute: OrderedDict[Connection, float] = OrderedDict()
        """... and those that said something, but perhaps never asked for anything."""
        self._looking: IDelayedCall | None = None
        self._is_closing = False
        """Whether rests are being looked for, and closed."""
        self._has_tried_all = True
        """Whether, at the limit, all were looked at who might make way."""
        self._is_judged = False
        """Whether it is known if this pause is to be told of."""
        self._is_slow = self._is_held = False

    def __repr__(self) -> str:
        state = "paused" if self.is_paused else "near the limit" if self._is_near else "roomy"
        return f"<ConnectionLimit of {len(self._connections)}, at most {self.most}: {state}>"

    def _bound(self, most: int) -> None:
        self.most = most
        self._near = most - most // 16
        self._roomy = most - most // 8
        self._scarce = 2 * most - most // 4
        """So many sockets, of both sides, leave little for those who have none."""
        self._place = min(AT_ONCE, max(1, most // 16))
        """How many make way at once."""

    def allow(self, most: int) -> None:
        """Have another limit hold from now on.

        Where there are more connections already, they are carried on, and those at rest end by and by.
        """
        self._bound(most)
        if len(self._connections) >= self._near:
            self._come_near()
        if len(self._connections) < most:
            self._resume()

    def add_port(self, port: Port) -> None:
        """Have *port* pause with all others."""
        self._ports.append(port)
        port.slow_down(self._is_slow)
        if self.is_paused or self._is_held:
            port.pause()

    def remove_port(self, is_gone: Callable[[Port], bool]) -> None:
        """Have the port that *is_gone* pause and resume no more."""
        self._ports = [port for port in self._ports if not is_gone(port)]

    def grown(self, newcomer: Connection) -> None:
        """There is another connection."""
        self._unheard[newcomer] = self._deadlines.exact_seconds()
        self._at_most = len(self._connections)
        if self._at_most >= self._near:
            self._come_near()

    def _come_near(self) -> None:
        if not self._is_near:
            self._is_near = True
            self._deadlines.watch(self)
            self.deadline = self._deadlines.now
        if len(self._connections) >= self.most and not self.is_paused:
            self._reach_limit()

    def shrunk(self, gone: Connection) -> None:
        """There is one connection less."""
        self._unheard.pop(gone, None)
        self._mute.pop(gone, None)
        if self.is_paused and len(self._connections) < self.most:
            self._resume()

    def _resume(self) -> None:
        """Accept again, if that is paused."""
        if not self.is_paused:
            return
        self.is_paused = False
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        if not self._is_held:
            self._resume_ports()

    def _resume_ports(self) -> None:
        # The first to resume is told first of who waits, and may take all places that are free: another one each time.
        self._ports = self._ports[1:] + self._ports[:1]
        for port in self._ports:
            port.resume()

    def slow_down(self, is_slow: bool) -> None:
        """Have newcomers wait while there is too much to do: one after the other is accepted, by each listener."""
        self._is_slow = is_slow
        for port in self._ports:
            port.slow_down(is_slow)

    def hold(self, is_held: bool) -> None:
        """Have newcomers wait, however few connections there are, while there is no memory for them."""
        if is_held is self._is_held:
            return
        self._is_held = is_held
        if is_held:
            for port in self._ports:
                port.pause()
        elif not self.is_paused:
            self._resume_ports()

    def end_resting(self) -> None:
        """End all connections at rest, but for those that were accepted or answered a moment ago."""
        self._deadlines.take(self._end_all_resting())

    def _end_all_resting(self) -> Stepwise[None]:
        resting = yield from self._find_resting()
        yield from self._end(each for _, each in resting)

    def _find_resting(self) -> Stepwise[list[tuple[float, Connection]]]:
        """Return those at rest, with since when they are."""
        found: list[tuple[float, Connection]] = []
        latest = self._deadlines.now - LEAST_REST_SECONDS

        def look(connection: Connection) -> None:
            since = connection.rests_since()
            if since <= latest:
                found.append((since, connection))

        yield from in_portions(list(self._connections), look, self._deadlines.exact_seconds)
        return found

    def _end(self, resting: Iterable[Connection]) -> Stepwise[None]:
        """End those of *resting* that still are."""
        latest = self._deadlines.now - LEAST_REST_SECONDS

        def end(connection: Connection) -> None:
            if connection in self._connections and connection.rests_since() <= latest:
                connection.drain()
                self._metrics.closed_early(1)

        yield from in_portions(resting, end, self._deadlines.exact_seconds)

    def replaced(self, gone: Connection, following: Connection) -> None:
        """A connection is carried on by another one."""
        since = self._unheard.pop(gone, None)
        since = self._mute.pop(gone, since)
        if since is not None:
            self._mute[following] = since

    def _reach_limit(self) -> None:
        """Have some make way, and accept nothing until somebody is gone."""
        made = self._make_room()
        if len(self._connections) < self.most:
            return
        self.is_paused = True
        self._is_judged = False
        for port in self._ports:
            port.pause()
        self._look_later(made)

    def _look_later(self, made: int) -> None:
        """Look again soon, since *made* have made way and that is not enough."""
        if (made or self._has_tried_all) and not self._is_judged:
            self._is_judged = True
            if not made:
                self._tell_limit()
        seconds = PATIENCE_SECONDS if self._has_tried_all else 0.0
        self._looking = self._deadlines.call_after(seconds, self._look)

    def _look(self) -> None:
        """Some more may have had their time."""
        self._looking = None
        made = self._make_room()
        if self.is_paused:
            self._look_later(made)

    def _make_room(self) -> int:
        """Have some make way, first of the silent, then of the mute; return how many."""
        now = self._deadlines.exact_seconds()
        making: list[Connection] = []
        heard: list[Connection] = []
        self._has_tried_all = True
        for connection, since in self._unheard.items():
            if now - since < PATIENCE_SECONDS * _NEARLY or len(making) == self._place:
                break
            if len(heard) == SEEN_AT_ONCE:
                self._has_tried_all = False
                break
            (making if connection.is_silent else heard).append(connection)
        for connection in making:
            del self._unheard[connection]
        for connection in heard:
            since = self._unheard.pop(connection)
            if connection.is_mute:
                self._mute[connection] = since
        # Who may be silent goes before those that are mute.
        seen = len(heard)
        while self._mute and len(making) < self._place and self._has_tried_all:
            if seen == SEEN_AT_ONCE:
                self._has_tried_all = False
                break
            seen += 1
            connection, since = next(iter(self._mute.items()))
            if connection.is_mute:
                if now - since < LEAST_REST_SECONDS:
                    break
                making.append(connection)
            del self._mute[connection]
        for connection in making:
            connection.make_way()
        if making:
            self._metrics.closed_early(len(making))
        return len(making)

    def has_room_beside(self, upstreams: int) -> bool:
        """Whether a client that has requests under way may begin another; *upstreams* is how many sockets these take.

        A request over HTTP/2 costs no connection of a client, but most need one to an endpoint: what is left
        when few are is for clients that have nothing yet.
        """
        if self._at_most + upstreams < self._scarce:
            return True
        self._at_most = len(self._connections)
        if self._at_most + upstreams < self._scarce:
            return True
        self._metrics.stream_refused()
        if self._may_tell():
            _log.warn(
                "{clients} of clients and {upstreams} to endpoints leave few for others (--max-connections); "
                "clients of HTTP/2 get one request at a time",
                clients=number_of(len(self._connections), "connection"),
                upstreams=upstreams,
            )
        return False

    def _may_tell(self) -> bool:
        now = self._deadlines.now
        if now - self._told_at < _TELL_SECONDS:
            return False
        self._told_at = now
        return True

    def _tell_limit(self) -> None:
        self._metrics.limit_reached()
        if self._may_tell():
            _log.warn(
                "{count} as many as there may be (--max-connections); others wait until some have ended",
                count=number_of(len(self._connections), "connection is", "connections are"),
            )

    def expire(self) -> None:
        """Called by the deadlines near the limit: make room."""
        count = len(self._connections)
        if count < self._near:
            self._is_near = False
            self.deadline = NEVER
            self._deadlines.forget(self)
            return
        self.deadline = self._deadlines.now
        if not self._is_closing:
            self._is_closing = True
            self._deadlines.take(self._end_surplus())

    def _end_surplus(self) -> Stepwise[None]:
        try:
            resting = yield from self._find_resting()
            ordered = yield from in_order(resting, key=_reluctance)
            surplus = max(0, len(self._connections) - self._roomy)
            yield from self._end(each for _, each in ordered[:surplus])
        finally:
            self._is_closing = False

    def abort(self) -> None:
        """Called by the deadlines when ``expire`` failed, which is a bug: go on."""
        self.deadline = self._deadlines.now


def _reluctance(resting: tuple[float, Connection]) -> tuple[bool, float]:
    since, connection = resting
    return (not connection.is_mute, since)
