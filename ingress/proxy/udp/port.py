"""A port of UDP: hands each datagram to the session of its client, and sends answers from where they were asked for."""

import socket
from collections.abc import Callable
from typing import Final

from twisted.python.failure import Failure

from ingress.model.causes import Cause
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.transport.datagrams import (
    CONTROL_BYTES,
    MAX_DATAGRAM,
    Control,
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
        self._is_everywhere = is_everywhere(sock)
        self._site = site
        self._sessions = sessions
        self._forget = forget
        self._by_client: dict[tuple[Peer, Control], UdpSession] = {}
        self._controls: dict[bytes, Control] = {}
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<UdpPort {self.number}: {len(self._by_client)} sessions>"

    def start(self) -> None:
        """Take datagrams from now on."""
        self._sessions.ports.add(self.number)
        self._sessions.sockets.add(self, self._sock.fileno(), READ)

    def fileno(self) -> int:
        """Return the descriptor of its socket."""
        return self._sock.fileno()

    async def close(self) -> None:
        """Take no more.  Sessions end; but while the process ends they have time for what is still to be answered."""
        if self._is_closed:
            return
        self._is_closed = True
        self._sessions.sockets.remove(self._sock.fileno())
        self._sessions.ports.discard(self.number)
        self._forget()
        if not (self._site.connections.draining and self._by_client):
            self._sessions.sockets.close(self._sock)
            self._sessions.end_all(tuple(self._by_client.values()))

    # What comes

    def ready(self, events: int) -> None:
        """Take what has come, some at a time."""
        resource = self._site.resource
        route = resource.port_stream()
        rotation = None if route is None or route.owner is None else resource.rotation_for(route)
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
            if route is None or rotation is None:
                self._sessions.metrics.drop("unserved")
            elif peer[1] in self._sessions.ports and self._sessions.is_own(peer[0]):
                # What is answered there would be passed on again, for ever.
                self._sessions.metrics.drop("loop")
            elif peer[1] == 0:
                self._sessions.metrics.drop("loop")
            else:
                self._take(datagram, peer, control, route, rotation)

    def _control_of(self, said: list[tuple[int, int, bytes]]) -> Control:
        octets = said[0][2] if said else b""
        control = self._controls.get(octets)
        if control is None:
            if len(self._controls) >= _MOST_CONTROLS:
                self._controls.clear()
            control = self._controls[octets] = answer_from(said)
        return control

    def _take(
        self, datagram: bytes, peer: Peer, control: Control, route: StreamRoute, rotation: Rotation
    ) -> None:
        session = self._by_client.get((peer, control))
        endpoints = rotation.endpoints
        if session is not None:
            if session.seen is not endpoints and not session.stays_at(rotation):
                session.end(200 if session.answers else 503, "the endpoint has left")
            elif session.take(datagram):
                return
        if not endpoints:
            self._sessions.metrics.drop("no-endpoint")
            context = self._sessions.context
            why = "the backend has no endpoint"
            context.upstream_errors.warn(503, b"", b"", route.backend, why)
            record = record_of(
                route,
                peer,
                self.number,
                503,
                why,
                Cause.UNAVAILABLE,
                rotation=rotation,
                received=len(datagram),
            )
            self._sessions.tell(record)
            return
        session = UdpSession(self._sessions, self, peer, control, route, rotation)
        self._by_client[peer, control] = session
        session.begin(datagram)

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
