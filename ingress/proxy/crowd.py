"""How many downstream connections there are, and what is done when there are many.

Near the limit, connections at rest (silent since they were made, or between two requests)
are closed, first those that never said a word, then those that rest longest: so the silent cannot keep out those who have
something to say.  At the limit all listeners pause; who comes then waits in the kernel, and is
accepted when others have left.  Nobody is refused, and nothing that is going on is cut.

States, by the number of connections::

    ROOMY ── 15/16 of the limit ──▶ NEAR: with each tick, rests are closed down to 14/16
      ▲                               │ the limit
      └────── below it ──── PAUSED ◀──┘ nothing is accepted
"""

from typing import Final, Protocol

from twisted.logger import Logger

from ingress.metrics.connections import ConnectionMetrics
from ingress.proxy.sweep import NEVER, Sweep

DEFAULT_CONNECTIONS: Final = 8000
"""Fewer where the process may have fewer descriptors (``ingress.descriptors``)."""
LEAST_REST_SECONDS: Final = 2.0
"""Two ticks: who was accepted or answered a moment ago has not had the time to say something."""
_TELL_SECONDS: Final = 60.0


class Connection(Protocol):
    """A downstream connection, whatever it carries."""

    def drain(self) -> None:
        """Begin nothing any more, and close once what runs is over."""

    def abort(self) -> None:
        """Close at once."""

    @property
    def is_mute(self) -> bool:
        """Whether nothing has come of it, so that nothing is lost with it."""

    def rests_since(self) -> float:
        """Return the time of the sweep since when it is at rest; ``NEVER`` if it is not, or must not be closed."""


class Port(Protocol):
    """A listener that can pause."""

    def pause(self) -> None:
        """Accept nothing until ``resume``."""

    def resume(self) -> None:
        """Accept again."""


class Crowd:
    """Watches the number of *connections*."""

    log = Logger()

    def __init__(
        self, connections: "set[Connection]", most: int, sweep: Sweep, metrics: ConnectionMetrics
    ) -> None:
        self.deadline = NEVER
        self.is_paused = False
        self.most = most
        self._connections = connections
        self._near = most - most // 16
        self._roomy = most - most // 8
        self._scarce = 2 * most - most // 4
        """So many sockets, of both sides, leave little for those who have none."""
        self._sweep = sweep
        self._metrics = metrics
        self._ports: list[Port] = []
        self._told_at = -NEVER
        self._is_near = False

    def __repr__(self) -> str:
        state = "paused" if self.is_paused else "near the limit" if self._is_near else "roomy"
        return f"<Crowd of {len(self._connections)}, at most {self.most}: {state}>"

    def add_port(self, port: Port) -> None:
        """Have *port* pause with all others."""
        self._ports.append(port)
        if self.is_paused:
            port.pause()

    def grown(self) -> None:
        """There is another connection."""
        count = len(self._connections)
        if count >= self._near:
            if not self._is_near:
                self._is_near = True
                self._sweep.watch(self)
                self.deadline = self._sweep.now
            if count >= self.most and not self.is_paused:
                self._pause()

    def shrunk(self) -> None:
        """There is one connection less."""
        if self.is_paused and len(self._connections) < self.most:
            self.is_paused = False
            for port in self._ports:
                port.resume()

    def has_room_beside(self, upstreams: int) -> bool:
        """Whether a client that has requests under way may begin another; *upstreams* is how many sockets these take.

        A request over HTTP/2 costs no connection of a client, but most need one to an endpoint: what is left
        when few are is for clients that have nothing yet.
        """
        if len(self._connections) + upstreams < self._scarce:
            return True
        self._metrics.stream_refused()
        if self._may_tell():
            self.log.warn(
                "{count} connections of clients and {upstreams} to endpoints leave few for others (--max-connections); "
                "clients of HTTP/2 get one request at a time",
                count=len(self._connections),
                upstreams=upstreams,
            )
        return False

    def _may_tell(self) -> bool:
        now = self._sweep.now
        if now - self._told_at < _TELL_SECONDS:
            return False
        self._told_at = now
        return True

    def _pause(self) -> None:
        self.is_paused = True
        self._metrics.limit_reached()
        for port in self._ports:
            port.pause()
        if self._may_tell():
            self.log.warn(
                "{count} connections are as many as there may be (--max-connections); "
                "others wait until some have ended",
                count=len(self._connections),
            )

    def expire(self) -> None:
        """Called by the sweep near the limit: make room."""
        count = len(self._connections)
        if count < self._near:
            self._is_near = False
            self.deadline = NEVER
            self._sweep.forget(self)
            return
        self.deadline = self._sweep.now
        latest = self._sweep.now - LEAST_REST_SECONDS
        resting = [(since, each) for each in self._connections if (since := each.rests_since()) <= latest]
        resting.sort(key=_reluctance)
        surplus = resting[: count - self._roomy]
        for _, connection in surplus:
            connection.drain()
        if surplus:
            self._metrics.closed_early(len(surplus))

    def abort(self) -> None:
        """Called by the sweep when ``expire`` failed, which is a bug: go on."""
        self.deadline = self._sweep.now


def _reluctance(resting: tuple[float, Connection]) -> tuple[bool, float]:
    since, connection = resting
    return (not connection.is_mute, since)
