"""Streams: the bytes of one connection, both ways between a client and an endpoint, and no request is read of them.

TCP, TLS that passes through, and what TLS carried that is terminated here (``ingress.routing.streams``).  A tunnel picks an
endpoint as an exchange does, and tries others when no connection can be made: nothing was sent then.  After that it
is a pair of ends that write what the other one reads::

    SHAKING ──TLS is terminated here: handshake──▶ CONNECTING        all others begin there
    CONNECTING ──connected──▶ OPEN ──one side ended──▶ OPEN, one way ──other side ended──▶ CLOSING ──▶ done
        │                      └──────────────either side lost, or at rest for too long─────▲
        └──no endpoint, or downstream left─────────────────────────────────────────────────-┘

Invariants: the slower side sets the pace of the faster one; the end of one side is passed on
(half-close), a reset as a reset.  Where no endpoint can be had downstream gets a reset, so that nobody takes it for an answer
of none.  An open one must move bytes from time to time (``Limits.stream_rest_seconds``), except
that TLS which passes through for an Ingress may rest for ever, as in ingress-nginx; one that is open one way only must move them
soon.  What a peer takes out of the kernel's buffer moves, too: a reset would throw away what is still there, which may be
megabytes for a slow client of an endpoint that has said all and left.  When both ends are gone there is one line in the access
log, with ``TLS`` or ``TCP`` for the method.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from ingress.http.proxy_header import Address, write_proxy_header
from ingress.model.exchanges.causes import Cause, cause_of_status
from ingress.model.exchanges.records import STREAM_PROTOCOL, AttemptRecord, Record
from ingress.model.network.streams import StreamSort
from ingress.model.requests.client_authentication import lets_in
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.addresses import peer_address, port_of
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.faults import LEFT, TABLE, Side, Step
from ingress.proxy.contract.faults import State as ExchangeState
from ingress.proxy.contract.limits import (
    CONNECTION_START_SECONDS,
    HALF_CLOSED_SECONDS,
    LINGER_SECONDS,
    TUNNEL_SPLICE_BYTES,
)
from ingress.proxy.contract.transport import KernelCopy, Receiver, Transport, is_ip_address
from ingress.proxy.exchange.attempts import Attempts
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.streams import StreamRoute
from ingress.tls.handshake import evidence_of

if TYPE_CHECKING:
    from ingress.proxy.dispatch.site import ProxySite


_ENDLESS = 1 << 62
"""Bytes, more than ever come."""

Connect = Callable[[Endpoint, Receiver, Callable[[str], None], float], None]
"""Connects a receiver to an endpoint within so many seconds, or calls back once with the reason why not."""


def _never() -> None:
    """What an endless copy does once all of it was moved."""


class State(Enum):
    """Where a tunnel is; see the picture above."""

    SHAKING = "shaking hands"
    CONNECTING = "connecting"
    OPEN = "open"
    CLOSING = "closing"
    DONE = "done"


class StreamTunnel:
    """One connection of a client, and the one to an endpoint that was made for it.

    *downstream* is the receiver to give to the client's connection; *first* is what was read
    of that already.  Without *rotation* it leads nowhere.
    """

    def __init__(
        self,
        site: "ProxySite",
        connect: Connect,
        route: StreamRoute,
        rotation: Rotation | None,
        server_name: bytes = b"",
    ) -> None:
        self.deadline = NEVER
        self.state = State.SHAKING if route.sort is StreamSort.TERMINATED else State.CONNECTING
        self.first = b""
        self.downstream = TunnelEnd(self)
        self.upstream = TunnelEnd(self)
        self._site = site
        self._connect = connect
        self._route = route
        self._server_name = server_name
        self._peer = b""
        self._port = 0
        self._rotation = rotation
        self._attempts: Attempts | None = None
        self._status, self._reason = 200, ""
        self._cause: Cause | None = None
        self._started = site.context.clock.seconds()
        self._rest_seconds = NEVER if route.may_rest else site.context.limits.stream_rest_seconds
        self._untaken = 0
        """Bytes that both peers had still to take when it was looked at last."""

    def __repr__(self) -> str:
        return f"<StreamTunnel {self._server_name!r} to {self._endpoint} {self.state.value}>"

    @property
    def _endpoint(self) -> Endpoint | None:
        return None if self._attempts is None else self._attempts.endpoint

    @property
    def _is_secure(self) -> bool:
        return self._route.sort is not StreamSort.TCP

    def _seconds(self) -> float:
        return self._site.context.clock.seconds() - self._started

    # Attempts

    def connected(self, end: "TunnelEnd") -> None:
        """One end has its connection."""
        context = self._site.context
        if end is self.downstream:
            self._peer = peer_address(end.transport.getPeer())
            self._port = port_of(end.transport.getHost())
            self._site.connections.opened(self, self._is_secure)
            context.deadlines.watch(self)
            context.metrics.connections.stream_opened(self._route.sort)
            if self.state is State.SHAKING:
                self.deadline = context.deadlines.now + CONNECTION_START_SECONDS
            else:
                self._begin()
            return
        context.metrics.upstream_opened()
        attempts = self._attempts
        if self.state is not State.CONNECTING or end is not self.upstream or attempts is None:
            end.transport.abortConnection()
            return
        self.state = State.OPEN
        # How long the connection took to be made is the endpoint's affair, how long the tunnel lasts up to its peers.
        attempts.conclude(str(self._status), self._seconds())
        attempts.reached()
        self.moved()
        if self._route.sends_header:
            end.transport.write(self._header())
        if self.first:
            end.transport.write(self.first)
            self.downstream.received = len(self.first)
            self.first = b""
        self.downstream.transport.resumeProducing()

    def shaken(self) -> None:
        """The handshake with the client is over."""
        if self.state is not State.SHAKING:
            return
        tls = self.downstream.transport.tls
        if tls is None or not lets_in(evidence_of(tls)):
            self._fail(400, "client certificate missing or not accepted")
            return
        self.deadline = NEVER
        self.state = State.CONNECTING
        self._begin()

    def _begin(self) -> None:
        """Look for an endpoint; nothing is read meanwhile."""
        self.downstream.transport.pauseProducing()
        if self._rotation is None:
            self._fail(503, "the route leads nowhere")
            return
        self._attempts = Attempts(self._rotation, self._site.context.limits.stream_tries.rule, b"")
        self._attempt(self._attempts)

    def _header(self) -> bytes:
        """Return what a PROXY header says of downstream: who it is, and where it connected to."""
        transport = self.downstream.transport
        peer, local = transport.getPeer(), transport.getHost()
        source, destination = peer_address(peer).decode(), peer_address(local).decode()
        if not (is_ip_address(source) and is_ip_address(destination)):
            return write_proxy_header(None, None)
        return write_proxy_header(Address(source, port_of(peer)), Address(destination, port_of(local)))

    def _attempt(self, attempts: Attempts) -> None:
        endpoint = attempts.endpoint
        if endpoint is None:
            self._fail(503, "no endpoint")
            return
        if attempts.rotation.counts:
            attempts.tell_began(self._seconds())
        self.upstream = TunnelEnd(self)
        usual = self._site.context.limits.upstream
        asked = self._route.timeouts
        seconds = (usual if asked is None else asked.completed_by(usual)).connect_seconds
        self._connect(endpoint, self.upstream, partial(self._unreachable, self.upstream, attempts), seconds)

    def _unreachable(self, end: "TunnelEnd", attempts: Attempts, why: str) -> None:
        if self.state is not State.CONNECTING or end is not self.upstream:
            return
        metrics = self._site.context.metrics
        fault = attempts.unreachable(why, is_first=True)
        row = TABLE[ExchangeState.CONNECTING, fault]
        if row.blames is Side.UPSTREAM:
            metrics.upstream_failed()
        # Nothing was sent.
        if attempts.go_on(row, fault.value, b"TLS", is_held=True, now=self._seconds()) is Step.FAIL:
            attempts.conclude(fault.value, self._seconds())
            self._fail(row.status, why)
        else:
            metrics.attempt_repeated(fault.word)
            self._attempt(attempts)

    def _fail(self, status: int, why: str) -> None:
        self._status, self._reason, self._cause = status, why, cause_of_status(status)
        route = self._route
        subject = self._endpoint or (route.backend if route.weighted else None)
        self._site.context.upstream_errors.warn(status, self._server_name, b"", subject, why)
        self.state = State.CLOSING
        self.downstream.transport.abortConnection()

    # The bytes, and their ends

    def moved(self) -> None:
        """Bytes went through."""
        if self.state is State.OPEN:
            self.deadline = self._site.context.deadlines.now + self._rest_seconds

    def other(self, end: "TunnelEnd") -> "TunnelEnd":
        """Return the other end."""
        return self.upstream if end is self.downstream else self.downstream

    def read_ended(self, end: "TunnelEnd") -> None:
        """The peer of *end* sends no more: tell the other one, and close when neither does."""
        if self.state is not State.OPEN:
            self._close(end)
            return
        other = self.other(end)
        end.has_ended = True
        if other.has_ended or other.transport.tls is not None:
            # TLS has no half-close that peers could rely on.
            self._close(other)
            self._close(end)
        else:
            self._rest_seconds = HALF_CLOSED_SECONDS
            self.moved()
            other.end()

    def lost(self, end: "TunnelEnd", is_clean: bool) -> None:
        """The connection of *end* is gone."""
        if end is not self.downstream:
            self._site.context.metrics.upstream_closed()
            if end is not self.upstream:
                return
        if self.state in _BEFORE:
            self._status, self._reason, self._cause = LEFT[self._site.context.is_cutting_off]
            self.state = State.CLOSING
        elif self.state is State.OPEN and not is_clean:
            side = "client" if end is self.downstream else "endpoint"
            self._reason = self._reason or f"reset by the {side}"
        other = self.other(end)
        if other.is_open:
            if is_clean or self.state is State.CLOSING:
                self._close(other)
            else:
                self.state = State.CLOSING
                other.transport.abortConnection()
        elif not self.downstream.is_open:
            self._done()

    def _close(self, end: "TunnelEnd", lingers: bool = True) -> None:
        """Close *end* once everything is sent; a peer that takes nothing of it has a while to do so.

        Closed while its peer speaks, it would be reset, and what is still on the way to that lost: it *lingers* until the peer ends
        its side, too.
        """
        self.state = State.CLOSING
        self.deadline = self._site.context.deadlines.now + LINGER_SECONDS
        if lingers and not end.has_ended and (end is self.downstream or end.transport.untaken):
            end.end()
            end.transport.resumeProducing()
        else:
            end.transport.loseConnection()

    def drain(self) -> None:
        """Go on: a tunnel ends when its peers say so, or when the time to drain is over."""

    @property
    def is_mute(self) -> bool:
        """Whether nothing has come of it."""
        return self.state is State.SHAKING or self.is_silent

    @property
    def is_silent(self) -> bool:
        """Whether not a byte has come, of either side: an endpoint may be the first to say something."""
        if self._server_name or self.first or self.downstream.received or self.upstream.received:
            return False
        return self.downstream.is_open and self.downstream.transport.has_said_nothing

    def make_way(self) -> None:
        """Close, since others have more to say; what goes on is not ended for them."""
        if self.is_mute:
            self.abort()

    def rests_since(self) -> float:
        """Return ``NEVER``: nobody here knows what its peers are about."""
        return NEVER

    def abort(self) -> None:
        """End both connections at once."""
        self._cut(LEFT[True][1] if self._site.context.is_cutting_off else "ended by the proxy")

    def _cut(self, why: str) -> None:
        if self.state not in _BEFORE:
            self._reason = self._reason or why
        for end in (self.downstream, self.upstream):
            if end.is_open:
                end.transport.abortConnection()

    def expire(self) -> None:
        """Called by the deadlines: it should have ended, and did not; unless a peer still takes what was passed on, end it."""
        is_closing = self.state is State.CLOSING
        if self._is_taken():
            seconds = LINGER_SECONDS if is_closing else min(self._rest_seconds, HALF_CLOSED_SECONDS)
            self.deadline = self._site.context.deadlines.now + seconds
            return
        self.deadline = NEVER
        if (
            self.state is State.OPEN
            and not self._untaken
            and (self.downstream.has_ended or self.upstream.has_ended)
        ):
            # In order, for all that was said was taken.
            for end in (self.downstream, self.upstream):
                if end.is_open:
                    self._close(end, lingers=False)
        else:
            self._cut("" if is_closing and not self._untaken else "nothing moved for too long")

    def _is_taken(self) -> bool:
        """Whether the peers took something since the last look, in the end be it the last; at first that is not known."""
        if self.state in _BEFORE:
            return False
        before = self._untaken
        self._untaken = sum(end.transport.untaken for end in (self.downstream, self.upstream) if end.is_open)
        return self._untaken != before and (self._untaken > 0 or self.state is State.CLOSING)

    def _done(self) -> None:
        if self.state is State.DONE:
            return
        self.state = State.DONE
        site = self._site
        site.context.deadlines.forget(self)
        attempts, seconds = self._attempts, self._seconds()
        made: tuple[AttemptRecord, ...] = ()
        if attempts is not None:
            answered = seconds if attempts.answered is None else attempts.answered
            attempts.tell_ended(answered, failed=self._status >= 499)
            made = attempts.finished(self._status, seconds)
        sent = self.upstream.received
        site.context.metrics.connections.stream_ended(
            self._route.sort, self._status, self.downstream.received, sent
        )
        record = Record(
            id=b"",
            route=self._route,
            owner=None if self._route.owner is None else self._route.owner.key,
            filter="",
            attempts=made,
            status=self._status,
            bytes_sent=sent,
            seconds=seconds,
            reason=self._reason,
            client=self._peer,
            method=b"TLS" if self._is_secure else b"TCP",
            host=self._server_name,
            target=b"-" if self._is_secure else b":%d" % self._port,
            protocol=STREAM_PROTOCOL,
            cause=self._cause,
            backend=None if attempts is None else attempts.rotation.backend,
            bytes_received=self.downstream.received,
        )
        site.access_log.exchange_ended(record)
        if record.cause is not None:
            site.context.failed(record)
        # The ends know the tunnel, too; one that is still being connected finds out here that nobody waits for it.
        self.downstream = self.upstream = _NO_END
        site.connections.closed(self, self._is_secure)


_BEFORE = (State.SHAKING, State.CONNECTING)


class TunnelEnd:
    """One of the two connections of a tunnel; *received* counts what came from its peer."""

    half_closes: bool
    transport: Transport

    def __init__(self, tunnel: StreamTunnel) -> None:
        self.half_closes = True
        self.is_open = False
        self.has_ended = False
        self.received = 0
        self._was_spliced = False
        self._tunnel = tunnel

    def __repr__(self) -> str:
        return f"<TunnelEnd of {self._tunnel!r}>"

    def makeConnection(self, transport: Transport) -> None:
        """The connection is there."""
        self.transport = transport
        # TLS has no half-close that peers of any protocol could rely on.
        self.half_closes = transport.tls is None
        self.is_open = True
        self.transport.setTcpNoDelay(True)
        self.transport.setTcpKeepAlive(True)
        self._tunnel.connected(self)

    def handshakeCompleted(self) -> None:
        """TLS is terminated here, and its handshake over."""
        self._tunnel.shaken()

    def dataReceived(self, received: bytes) -> None:
        """Pass on what has come; what comes while the tunnel closes is for nobody."""
        tunnel = self._tunnel
        if tunnel.state is not State.OPEN:
            if tunnel.state in _BEFORE:
                # What Twisted's layer of TLS had already when it was told to pause.
                self.received += len(received)
                tunnel.first += received
            return
        self.received += len(received)
        other = tunnel.other(self)
        if other.is_open:
            other.transport.write(received)
            if self.received >= TUNNEL_SPLICE_BYTES and not self._was_spliced:
                self._was_spliced = True
                self._splice(other)
        tunnel.moved()

    def _splice(self, other: "TunnelEnd") -> None:
        """Have the kernel move what still comes, if the transports can."""
        other.transport.splice_from(KernelCopy(self.transport, _ENDLESS, self._moved, _never, to_end=True))

    def _moved(self, count: int) -> None:
        self.received += count
        self._tunnel.moved()

    def readConnectionLost(self) -> None:
        """The peer sends no more."""
        self._tunnel.read_ended(self)

    def connectionLost(self, reason: Failure) -> None:
        """The connection is gone."""
        self.is_open = False
        self._tunnel.lost(self, reason.check(ConnectionDone) is not None)

    def end(self) -> None:
        """End our side once everything is sent."""
        self.transport.loseWriteConnection()

    # The transport tells how full it is.

    def pauseProducing(self) -> None:
        """The peer of this end is slow: the other one must wait."""
        other = self._tunnel.other(self)
        if other.is_open:
            other.transport.pauseProducing()

    def resumeProducing(self) -> None:
        """There is room again."""
        other = self._tunnel.other(self)
        if other.is_open and not other.has_ended:
            other.transport.resumeProducing()


_NO_END = TunnelEnd(None)  # type: ignore[arg-type]  # it is never asked
"""Stands for both ends of a tunnel that is over."""
