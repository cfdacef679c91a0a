"""A session of UDP: what one client, by address and port, sends to one port of ours, and what comes back.

It has one endpoint, and a socket of its own that is connected to it: the kernel drops whatever comes from anybody else, and says
if nobody listens there (ICMP).  What an endpoint refuses before it has ever answered goes to another one, as long as all of it is
kept::

    FINDING ──an address, for an endpoint with a name──▶ OPEN ──answered often enough, idle for too long──▶ over
       ▲                                                  │ └──refused after an answer, or by all endpoints──▶ over
       └───────────────refused: another endpoint──────────┘

As in nginx (``proxy_responses``, ``proxy_timeout``) it is over once it brought as many answers as are due for each datagram, and when
nothing moved for too long.
"""

import errno
import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from twisted.python.failure import Failure

from ingress.model.exchanges.causes import Cause, cause_of_status
from ingress.model.exchanges.records import STREAM_PROTOCOL, AttemptRecord, Record
from ingress.model.network.streams import StreamSort
from ingress.model.upstream.backends import BackendReference
from ingress.proxy.contract.faults import TABLE, Side, State, Step
from ingress.proxy.contract.transport import is_ip_address
from ingress.proxy.exchange.attempts import Attempts
from ingress.proxy.transport.datagrams import MAX_DATAGRAM, Control
from ingress.proxy.transport.epoll.epoll_set import READ
from ingress.proxy.udp.sessions import MAX_KEPT_OF_ONE, UdpSessions
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.streams import StreamRoute

_OF_REPLICA: Final = "the endpoint is a port of another replica of this controller"
MOST_ANSWERS: Final = 8
"""Datagrams that are read of an endpoint in one go; then others have their turn."""
MOST_KEPT: Final = 16
"""Datagrams that a session keeps."""
_UNSENDABLE: Final = frozenset((errno.EMSGSIZE, errno.EPERM, errno.EACCES, errno.ENOBUFS, errno.EINVAL))
"""What the system says of one datagram alone: it is too large, or forbidden here."""

Peer = tuple[str, int] | tuple[str, int, int, int]
"""Address and port of a client, as the socket module has them."""


class Port(Protocol):
    """The port that a session belongs to."""

    number: int

    def answer(self, answer: bytes, peer: Peer, control: Control) -> None:
        """Send *answer* to *peer*, from the address that *control* says."""

    def over(self, peer: Peer, control: Control) -> None:
        """The session of *peer* has ended."""


class UdpSession:
    """The datagrams of *peer* at *port*, to which answers go back with *control*; of *route*, at the endpoints of *rotation*."""

    __slots__ = (
        "_attempts",
        "_control",
        "_has_all",
        "_is_proven",
        "_kept",
        "_kept_size",
        "_peer",
        "_port",
        "_received",
        "_route",
        "_sent",
        "_sessions",
        "_sock",
        "_started",
        "answers",
        "datagrams",
        "is_over",
        "last",
        "seen",
        "seen_route",
    )

    def __init__(
        self,
        sessions: UdpSessions,
        port: Port,
        peer: Peer,
        control: Control,
        route: StreamRoute,
        rotation: Rotation,
    ) -> None:
        self._sessions = sessions
        self._port = port
        self._peer = peer
        self._control = control
        self._route = route
        self._attempts = Attempts(rotation, sessions.context.limits.stream_tries.rule, b"")
        self._sock: socket.socket | None = None
        self._kept: list[bytes] = []
        self._kept_size = 0
        self._has_all = True
        """Whether all that came is kept."""
        self._is_proven = False
        self._received = self._sent = 0
        self._started = sessions.context.seconds()
        self.datagrams = self.answers = 0
        """How many came of the client, and how many for it."""
        self.last = sessions.context.deadlines.now
        """When something last came."""
        self.seen = rotation.endpoints
        """The endpoints among which its own was when that was looked at last ..."""
        self.seen_route = route
        """... and the route that led to its backend by then."""
        self.is_over = False

    def __repr__(self) -> str:
        return f"<UdpSession of {self._peer[0]}:{self._peer[1]} at {self._attempts.endpoint}>"

    def _seconds(self) -> float:
        return self._sessions.context.clock.seconds() - self._started

    # Of the client

    @property
    def backend(self) -> BackendReference:
        """The one that was drawn for it."""
        return self._attempts.rotation.backend

    def stays_at(self, route: StreamRoute, rotation: Rotation | None) -> bool:
        """Whether *route* still leads to its backend, and *rotation*, that of the backend, has its endpoint, perhaps elsewhere, and not ejected."""
        if rotation is None:
            return False
        if route is not self.seen_route:
            if self.backend not in route.backends:
                return False
            self.seen_route = route
        if self.seen is rotation.endpoints:
            return True
        endpoint = self._attempts.endpoint
        if endpoint is not None and rotation.may_renew(endpoint):
            self.seen = rotation.endpoints
            return True
        return False

    def begin(self, datagram: bytes) -> None:
        """Send the first *datagram*."""
        self._sessions.begin(self)
        self._sessions.context.metrics.connections.stream_opened(StreamSort.UDP)
        self.datagrams = 1
        self._received = len(datagram)
        self._keep(datagram)
        self._attempt()

    def take(self, datagram: bytes) -> bool:
        """Send a further *datagram*; return False if that is for another session, since the endpoint turned out to have left before."""
        sessions = self._sessions
        self.last = sessions.context.deadlines.now
        is_kept = False
        if not self.answers:
            sessions.touch(self)
            is_kept = self._keep(datagram)
        elif self._is_proven:
            sessions.touch(self)
        else:
            self._is_proven = True
            sessions.prove(self)
        self.datagrams += 1
        self._received += len(datagram)
        if self._sock is None:
            if not is_kept:
                sessions.metrics.drop("waiting")
            return True
        is_answered = bool(self.answers)
        was_there = self._send(self._sock, datagram)
        self._end_if_none_is_due()
        return was_there or not is_answered

    def _keep(self, datagram: bytes) -> bool:
        """Keep *datagram* in case that the endpoint refuses it, or is not known yet; return whether there was room for that."""
        size = self._kept_size + len(datagram)
        if not self._has_all or size > MAX_KEPT_OF_ONE or len(self._kept) >= MOST_KEPT:
            self._has_all = False
            return False
        self._kept.append(datagram)
        self._kept_size = size
        self._sessions.keep(self, len(datagram))
        return True

    def let_go(self) -> None:
        """Keep no datagram any more."""
        self._kept = []
        self._kept_size = 0
        self._has_all = False

    def _send(self, sock: socket.socket, datagram: bytes) -> bool:
        """Send *datagram*; return whether its endpoint was there, as far as is known."""
        try:
            sock.send(datagram)
        except (BlockingIOError, InterruptedError):
            self._sessions.metrics.drop("full")
        except OSError as error:
            if error.errno not in _UNSENDABLE:
                self._refused(error)
                return False
            self._sessions.metrics.drop("unsendable")
        return True

    def _end_if_none_is_due(self) -> None:
        """End it where no answer is awaited, as nginx does, once all that there is was sent."""
        if not self._sessions.answers_due and self._sock is not None:
            self.end(200, "")

    # Endpoints

    def _attempt(self) -> None:
        attempts = self._attempts
        endpoint = attempts.endpoint
        if endpoint is None:
            self.end(503, "no endpoint")
            return
        if attempts.rotation.counts:
            attempts.tell_began(self._seconds())
        settings = endpoint.link_settings
        if is_ip_address(endpoint.address) and (settings is None or not settings.is_external):
            why = self._open(endpoint.address, endpoint.port)
            if why:
                self._failed(why)
            return
        number = attempts.tries

        def dial(address: str, seconds: float, failed: Callable[[str], None]) -> None:
            if not self.is_over and attempts.tries == number:
                why = self._open(address, endpoint.port)
                if why:
                    failed(why)

        seconds = self._sessions.context.limits.upstream.connect_seconds
        if not self._sessions.find(endpoint, dial, partial(self._unfound, number), seconds):
            self._sessions.metrics.drop("waiting")
            self.end(503, "too many wait for the address of their endpoint")

    def _unfound(self, number: int, why: str) -> None:
        if not self.is_over and self._attempts.tries == number:
            self._failed(why)

    def _open(self, address: str, port: int) -> str:
        """Send what is kept to *port* of *address*; return why that is not possible, or else nothing."""
        if self._sessions.is_of_replica(address, port):
            return _OF_REPLICA
        try:
            sock = self._sessions.socket_to(address, port, self)
        except OSError as error:
            return _words_of(error)
        self._sock = sock
        self._sessions.sockets.add(self, sock.fileno(), READ)
        for datagram in self._kept:
            if self._sock is not sock:
                break
            self._send(sock, datagram)
        self._end_if_none_is_due()
        return ""

    def _refused(self, error: OSError) -> None:
        self._failed(_words_of(error))

    def _failed(self, why: str) -> None:
        """The endpoint is not there: try another one, if nothing is lost by that."""
        self._close()
        attempts, context = self._attempts, self._sessions.context
        fault = attempts.unreachable(why, is_first=True)
        row = TABLE[State.CONNECTING, fault]
        if row.blames is Side.UPSTREAM:
            context.metrics.upstream_failed()
        is_held = self._has_all and not self.answers
        if attempts.go_on(row, fault.value, b"UDP", is_held=is_held, now=self._seconds()) is Step.FAIL:
            attempts.conclude(fault.value, self._seconds())
            context.upstream_errors.warn(row.status, b"", b"", self._subject, why)
            self.end(row.status, why)
            return
        context.metrics.attempt_repeated(fault.word)
        self._attempt()

    @property
    def _subject(self) -> object:
        return self._attempts.endpoint or self._route.backend

    def ready(self, events: int) -> None:
        """Bring what the endpoint has said."""
        sock = self._sock
        for _ in range(MOST_ANSWERS):
            if sock is None or self._sock is not sock:
                return
            try:
                answer = sock.recv(MAX_DATAGRAM)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno == errno.EMSGSIZE:
                    # A router had no room for what was sent; the kernel cuts what follows.
                    self._sessions.metrics.drop("unsendable")
                    continue
                self._refused(error)
                return
            self._answered(answer)

    def _answered(self, answer: bytes) -> None:
        sessions = self._sessions
        self.last = sessions.context.deadlines.now
        sessions.touch(self)
        if not self.answers:
            self._attempts.conclude("200", self._seconds())
            self._attempts.reached()
            self.let_go()
            sessions.forget_kept(self)
        self.answers += 1
        self._sent += len(answer)
        self._port.answer(answer, self._peer, self._control)
        if self.answers >= sessions.answers_due * self.datagrams:
            self.end(200, "")

    # The end

    def failed(self, failure: Failure) -> None:
        """A bug, which the log has."""
        self.end(502, "a bug of the proxy")

    def _close(self) -> None:
        sock, self._sock = self._sock, None
        if sock is not None:
            self._sessions.close(sock)

    def end(self, status: int, why: str) -> None:
        """End it; it is over once, however often that is said."""
        if self.is_over:
            return
        self.is_over = True
        self._close()
        self.let_go()
        attempts, seconds = self._attempts, self._seconds()
        answered = seconds if attempts.answered is None else attempts.answered
        attempts.tell_ended(answered, failed=status >= 499)
        made = attempts.finished(status, seconds)
        sessions = self._sessions
        metrics = sessions.context.metrics
        metrics.connections.stream_ended(StreamSort.UDP, status, self._received, self._sent)
        sessions.metrics.ended(self.datagrams, self.answers)
        self._port.over(self._peer, self._control)
        cause = None if status < 400 else cause_of_status(status)
        backend = attempts.rotation
        sessions.over(
            self,
            record_of(
                self._route,
                self._peer,
                self._port.number,
                status,
                why,
                cause,
                made,
                backend,
                seconds,
                self._received,
                self._sent,
            ),
        )


def _words_of(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def record_of(
    route: StreamRoute,
    peer: Peer,
    port: int,
    status: int,
    why: str,
    cause: Cause | None,
    made: tuple[AttemptRecord, ...] = (),
    rotation: Rotation | None = None,
    seconds: float = 0.0,
    received: int = 0,
    sent: int = 0,
) -> Record:
    """Return the record of a session, or of a datagram that came to none, at *port* of ours."""
    return Record(
        id=b"",
        route=route,
        owner=None if route.owner is None else route.owner.key,
        filter="",
        attempts=made,
        status=status,
        bytes_sent=sent,
        seconds=seconds,
        reason=why,
        client=peer[0].encode(),
        method=b"UDP",
        host=b"",
        target=b":%d" % port,
        protocol=STREAM_PROTOCOL,
        cause=cause,
        backend=None if rotation is None else rotation.backend,
        bytes_received=received,
    )
