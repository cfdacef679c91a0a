"""TLS that goes through to an endpoint as it is: the bytes of one connection, both ways, never decrypted.

A tunnel begins when the server name of the ClientHello named a passthrough host.  It picks an
endpoint as an exchange does, and tries others when no connection can be made: nothing was
sent then.  After that it is a pair of ends that write what the other one reads::

    CONNECTING ──connected──▶ OPEN ──one side ended──▶ OPEN, one way ──other side ended──▶ CLOSING ──▶ done
        │                      └──────────────either side lost──────────────────────────────▲
        └──no endpoint, or downstream left─────────────────────────────────────────────────-┘

Invariants: the slower side sets the pace of the faster one; the end of one side is passed on
(half-close), a reset as a reset; as with other tunnels there is no limit to how long an open one
may rest, but one that is open one way only must move bytes.  When both ends are
gone there is one line in the access log, with ``TLS`` for the method.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from ingress.model.backends import Endpoint
from ingress.model.records import AttemptRecord, Record
from ingress.model.retries import RetryRule
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.faults import CLIENT_CLOSED, CUT_OFF, TABLE, Side, Step
from ingress.proxy.contract.faults import State as ExchangeState
from ingress.proxy.contract.limits import (
    HALF_CLOSED_SECONDS,
    LINGER_SECONDS,
    MAX_ATTEMPTS,
    TUNNEL_SPLICE_BYTES,
)
from ingress.proxy.contract.transport import KernelCopy, Receiver, Transport, peer_address
from ingress.proxy.exchange.attempts import Attempts
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.route import Route

if TYPE_CHECKING:
    from ingress.proxy.dispatch.site import ProxySite


_RETRIES = RetryRule(max_tries=MAX_ATTEMPTS)
_ENDLESS = 1 << 62
"""Bytes, more than ever come."""


def _never() -> None:
    """What an endless copy does once all of it was moved."""


class State(Enum):
    """Where a tunnel is; see the picture above."""

    CONNECTING = "connecting"
    OPEN = "open"
    CLOSING = "closing"
    DONE = "done"


class PassthroughTunnel:
    """One connection of a client, and the one to an endpoint that was made for it.

    *downstream* is the receiver to give to the client's connection; *first* is what was read
    of that already.
    """

    def __init__(
        self,
        site: "ProxySite",
        connect: Callable[[Endpoint, Receiver, Callable[[str], None], float], None],
        route: Route,
        rotation: Rotation,
        server_name: bytes,
    ) -> None:
        self.deadline = NEVER
        self.state = State.CONNECTING
        self.first = b""
        self.downstream = TunnelEnd(self)
        self.upstream = TunnelEnd(self)
        self._site = site
        self._connect = connect
        self._route = route
        self._server_name = server_name
        self._peer = b""
        self._rotation = rotation
        self._attempts: Attempts | None = None
        self._status = 200
        self._started = site.context.clock.seconds()

    def __repr__(self) -> str:
        return f"<PassthroughTunnel {self._server_name!r} to {self._endpoint} {self.state.value}>"

    @property
    def _endpoint(self) -> Endpoint | None:
        return None if self._attempts is None else self._attempts.endpoint

    def _seconds(self) -> float:
        return self._site.context.clock.seconds() - self._started

    # Attempts

    def connected(self, end: "TunnelEnd") -> None:
        """One end has its connection."""
        if end is self.downstream:
            self._peer = peer_address(end.transport.getPeer())
            end.transport.pauseProducing()
            self._site.connections.opened(self, True)
            self._site.context.deadlines.watch(self)
            self._site.context.metrics.connections.passthrough_opened()
            self._attempts = Attempts(self._rotation, _RETRIES, b"")
            self._attempt(self._attempts)
            return
        self._site.context.metrics.upstream_opened()
        attempts = self._attempts
        if self.state is not State.CONNECTING or end is not self.upstream or attempts is None:
            end.transport.abortConnection()
            return
        self.state = State.OPEN
        # How long the connection took to be made is the endpoint's affair, how long the tunnel lasts up to its peers.
        attempts.conclude(str(self._status), self._seconds())
        attempts.reached()
        if self.first:
            end.transport.write(self.first)
            self.downstream.received = len(self.first)
            self.first = b""
        self.downstream.transport.resumeProducing()

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
            metrics.attempt_repeated()
            self._attempt(attempts)

    def _fail(self, status: int, why: str) -> None:
        self._status = status
        subject = self._endpoint or self._route.passthrough
        self._site.context.upstream_errors.warn(status, self._server_name, b"", subject, why)
        self._close(self.downstream)

    # The bytes, and their ends

    def moved(self) -> None:
        """Bytes went through."""
        if self.deadline != NEVER and self.state is State.OPEN:
            self.deadline = self._site.context.deadlines.now + HALF_CLOSED_SECONDS

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
        if other.has_ended:
            self._close(other)
            self._close(end)
        else:
            self.deadline = self._site.context.deadlines.now + HALF_CLOSED_SECONDS
            other.end()

    def lost(self, end: "TunnelEnd", is_clean: bool) -> None:
        """The connection of *end* is gone."""
        if end is not self.downstream:
            self._site.context.metrics.upstream_closed()
            if end is not self.upstream:
                return
        if self.state is State.CONNECTING:
            self._status = CUT_OFF if self._site.context.is_cutting_off else CLIENT_CLOSED
            self.state = State.CLOSING
        other = self.other(end)
        if other.is_open:
            if is_clean:
                self._close(other)
            else:
                self.state = State.CLOSING
                other.transport.abortConnection()
        elif not self.downstream.is_open:
            self._done()

    def _close(self, end: "TunnelEnd") -> None:
        """Close *end* once everything is sent; a peer that does not take it has a while to do so."""
        self.state = State.CLOSING
        self.deadline = self._site.context.deadlines.now + LINGER_SECONDS
        end.close()

    def drain(self) -> None:
        """Go on: a tunnel ends when its peers say so, or when the time to drain is over."""

    is_mute = is_silent = False

    def make_way(self) -> None:
        """Nothing: what goes on is not ended for others."""

    def rests_since(self) -> float:
        """Return ``NEVER``: nobody here knows what its peers are about."""
        return NEVER

    def abort(self) -> None:
        """End both connections at once."""
        for end in (self.downstream, self.upstream):
            if end.is_open:
                end.transport.abortConnection()

    def expire(self) -> None:
        """Called by the deadlines: it should have ended, and did not."""
        self.deadline = NEVER
        self.abort()

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
            made = attempts.over
            if attempts.endpoint is not None:
                outcome = attempts.outcome or str(self._status)
                made += (AttemptRecord(attempts.endpoint, outcome, attempts.began, answered),)
        sent = self.upstream.received
        site.context.metrics.connections.passthrough_ended(self._status, self.downstream.received, sent)
        site.access_log.exchange_ended(
            Record(
                id=b"",
                route=self._route,
                owner=None if self._route.owner is None else self._route.owner.key,
                filter="",
                attempts=made,
                status=self._status,
                bytes_sent=sent,
                seconds=seconds,
                reason="",
                client=self._peer,
                method=b"TLS",
                host=self._server_name,
                target=b"-",
                protocol=b"-",
            )
        )
        # The ends know the tunnel, too; one that is still being connected finds out here that nobody waits for it.
        self.downstream = self.upstream = _NO_END
        site.connections.closed(self, True)


class TunnelEnd:
    """One of the two connections of a tunnel; *received* counts what came from its peer."""

    half_closes = True
    transport: Transport

    def __init__(self, tunnel: PassthroughTunnel) -> None:
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
        self.is_open = True
        self.transport.setTcpNoDelay(True)
        self.transport.setTcpKeepAlive(True)
        self._tunnel.connected(self)

    def handshakeCompleted(self) -> None:
        """Never: TLS is between others."""

    def dataReceived(self, received: bytes) -> None:
        """Pass on what has come."""
        self.received += len(received)
        tunnel = self._tunnel
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

    def close(self) -> None:
        """Close once everything is sent."""
        self.transport.loseConnection()

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
