"""A port of UDP: hands each datagram to the session of its client, and sends answers from where they were asked for."""

import socket
from collections.abc import Callable
from typing import Final, NamedTuple

from twisted.internet.interfaces import IDelayedCall
from twisted.python.failure import Failure

from ingress.model.exchanges.causes import Cause
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.transport.datagrams import (
    CONTROL_BYTES,
    MAX_DATAGRAM,
    Control,
    UnreadDatagrams,
    answer_from,
    is_everywhere,
)
from ingress.proxy.transport.epoll.epoll_set import READ
from ingress.proxy.udp.session import Peer, UdpSession, record_of
from ingress.proxy.udp.sessions import UdpSessions
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.streams import StreamRoute

MOST_DATAGRAMS: Final = 32
"""Datagrams that are read of a port in one go; then others have their turn."""
_MOST_CONTROLS: Final = 256
"""Addresses of this machine for which it is remembered what goes beside answers."""
TELL_SECONDS: Final = 1.0
"""How often there is a line about datagrams that have no endpoint: whoever forges their sources decides how many they are."""
_NO_ENDPOINT: Final = "the backend has no endpoint"


class _Dropped(NamedTuple):
    """Datagrams that had no endpoint, with where the last of them came from, and by which route."""

    route: StreamRoute
    peer: Peer
    rotation: Rotation | None
    datagrams: int
    size: int
    """Bytes of all."""


class UdpPort:
    """Takes the datagrams of *sock*, which is its own from now on, for the table of *site*; *forget* is called at its end."""

    def __init__(
        self,
        sock: socket.socket,
        site: ProxySite,
        sessions: UdpSessions,
        forget: Callable[[], None] = lambda: None,
    ) -> None:
        self.number: int = sock.getsockname()[1]
        self._sock = sock
        self._unread = UnreadDatagrams(sock)
        self._is_everywhere = is_everywhere(sock)
        self._site = site
        self._sessions = sessions
        self._forget = forget
        self._by_client: dict[tuple[Peer, Control], UdpSession] = {}
        self._controls: dict[bytes, Control] = {}
        self._is_closed = False
        self._untold: _Dropped | None = None
        """Those without endpoint that no line was about yet."""
        self._telling: IDelayedCall | None = None

    def __repr__(self) -> str:
        return f"<UdpPort {self.number}: {len(self._by_client)} sessions>"

    def start(self) -> None:
        """Take datagrams from now on."""
        self._sessions.opened(self.number)
        self._sessions.metrics.looks.add(self._count_unread)
        self._sessions.sockets.add(self, self._sock.fileno(), READ)

    def fileno(self) -> int:
        """Return the descriptor of its socket."""
        return self._sock.fileno()

    async def close(self) -> None:
        """Take no more.  Sessions end; but while the process ends they have time for what is still to be answered."""
        if self._is_closed:
            return
        self._is_closed = True
        self._count_unread()
        self._sessions.metrics.looks.remove(self._count_unread)
        self._sessions.sockets.remove(self._sock.fileno())
        self._sessions.closed(self.number)
        self._forget()
        if self._telling is not None:
            self._telling.cancel()
            self._tell_dropped()
        if not (self._site.connections.draining and self._by_client):
            self._sessions.sockets.close(self._sock)
            self._sessions.end_all(tuple(self._by_client.values()))

    # What comes

    def ready(self, events: int) -> None:
        """Take what has come, some at a time."""
        resource = self._site.resource
        route = resource.port_stream()
        # Of several backends each session has its own.
        usual = None if route is None or len(route.weighted) != 1 else resource.rotation_for(route)
        for _ in range(MOST_DATAGRAMS):
            if self._is_closed:
                return
            control: Control = ()
            try:
                if self._is_everywhere:
                    datagram, said, _, peer = self._sock.recvmsg(MAX_DATAGRAM, CONTROL_BYTES)
                    control = self._control_of(said)
                else:
                    datagram, peer = self._sock.recvfrom(MAX_DATAGRAM)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self._sessions.metrics.drop("unreadable")
                return
            if route is None or not route.weighted:
                self._sessions.metrics.drop("unserved")
            elif not peer[1] or (peer[1] in self._sessions.ports and self._sessions.is_ours(peer[0])):
                # What is answered there would be passed on again, for ever.
                self._sessions.metrics.drop("loop")
            else:
                self._take(datagram, peer, control, route, usual)

    def _control_of(self, said: list[tuple[int, int, bytes]]) -> Control:
        octets = said[0][2] if said else b""
        control = self._controls.get(octets)
        if control is None:
            if len(self._controls) >= _MOST_CONTROLS:
                self._controls.clear()
            control = self._controls[octets] = answer_from(said)
        return control

    def _take(
        self, datagram: bytes, peer: Peer, control: Control, route: StreamRoute, usual: Rotation | None
    ) -> None:
        resource = self._site.resource
        session = self._by_client.get((peer, control))
        if session is not None:
            its = usual or resource.rotation_of(session.backend)
            is_as_before = its is not None and session.seen is its.endpoints and session.seen_route is route
            if not is_as_before and not session.stays_at(route, its):
                session.end(200 if session.answers else 503, "the endpoint has left")
            elif session.take(datagram):
                return
        rotation = usual or resource.rotation_for(route)
        if rotation is None or not rotation.endpoints:
            self._drop(datagram, peer, route, rotation)
            return
        session = UdpSession(self._sessions, self, peer, control, route, rotation)
        self._by_client[peer, control] = session
        session.begin(datagram)

    # What goes nowhere

    def _count_unread(self) -> None:
        self._sessions.metrics.drop("unread", self._unread.further())

    def _drop(self, datagram: bytes, peer: Peer, route: StreamRoute, rotation: Rotation | None) -> None:
        """Drop *datagram*, since there is no endpoint: the first is told at once, others in one line a second."""
        sessions = self._sessions
        sessions.metrics.drop("no-endpoint")
        subject = route.backend if rotation is None else rotation.backend
        sessions.context.upstream_errors.warn(503, b"", b"", subject, _NO_ENDPOINT)
        untold = self._untold
        number, size = (0, 0) if untold is None else (untold.datagrams, untold.size)
        self._untold = _Dropped(route, peer, rotation, number + 1, size + len(datagram))
        if self._telling is None:
            self._tell_dropped()

    def _tell_dropped(self) -> None:
        """Tell what was not told yet, and after a second what comes until then."""
        untold, self._untold = self._untold, None
        self._telling = None
        if untold is None:
            return
        why = _NO_ENDPOINT if untold.datagrams == 1 else f"{_NO_ENDPOINT} for {untold.datagrams:,} datagrams"
        self._sessions.tell(
            record_of(
                untold.route,
                untold.peer,
                self.number,
                503,
                why,
                Cause.UNAVAILABLE,
                rotation=untold.rotation,
                received=untold.size,
            )
        )
        if not self._is_closed:
            self._telling = self._sessions.context.deadlines.call_after(TELL_SECONDS, self._tell_dropped)

    # What goes back

    def answer(self, answer: bytes, peer: Peer, control: Control) -> None:
        """Send *answer* to *peer*, from the address that *control* says."""
        try:
            if control:
                self._sock.sendmsg((answer,), control, 0, peer)
            else:
                self._sock.sendto(answer, peer)
        except (BlockingIOError, InterruptedError):
            self._sessions.metrics.drop("full")
        except OSError:
            self._sessions.metrics.drop("unsendable")

    def over(self, peer: Peer, control: Control) -> None:
        """The session of *peer* has ended."""
        self._by_client.pop((peer, control), None)
        if self._is_closed and not self._by_client and self._sock.fileno() != -1:
            self._sessions.sockets.close(self._sock)

    def failed(self, failure: Failure) -> None:
        """A datagram could not be taken, which is a bug; the port goes on."""
