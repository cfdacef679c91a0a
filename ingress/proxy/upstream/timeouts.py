"""How long an upstream connection waits for its endpoint, and how it ends: of itself, or when that is over.

What ``upstream`` builds upon.  Upstream has to act when it owes the next piece of an answer
(``read_seconds``), or while it is to take more of the request (``send_seconds``, looked at with every
tick of the deadlines).  It is not to blame while the rest of the request is still to come, nor
while downstream does not take its answer.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING

from twisted.internet.protocol import Protocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.http.body import Decoder
from ingress.model.backends import Endpoint
from ingress.proxy.contract.deadlines import NEVER, waiting_since
from ingress.proxy.contract.faults import Fault
from ingress.proxy.contract.limits import LINGER_SECONDS, TUNNEL_END_SECONDS
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.contract.progress import Progress
from ingress.proxy.contract.sides import AnswerSink
from ingress.proxy.contract.transport import Transport, in_batch, is_held_up, unsent
from ingress.routing.health import Liveness

if TYPE_CHECKING:
    from ingress.proxy.transport.epoll.delivery import Delivery
    from ingress.proxy.upstream.pool import UpstreamPool


log = Logger()


class PatientUpstream(Protocol):
    """Keeps the deadlines of one connection."""

    transport: Transport  # type: ignore[assignment]  # Twisted says ITransport or None
    endpoint: Endpoint
    liveness: Liveness
    _waits_for_turn = False
    """Whether more of an answer has come than one turn takes, and waits for the next one."""
    _loss: Failure | None = None
    """Why the connection is gone, while something that came before is still read."""
    _decoder: Decoder | None = None
    _delivery: "Delivery | None" = None
    """Only while a request is under way that may be repeated if, and only if, nothing of it was taken."""

    def __init__(self, pool: "UpstreamPool") -> None:
        self.deadline = NEVER
        self._pool = pool
        self._deadlines = pool.deadlines
        self._timeouts = pool.timeouts
        self._exchange: AnswerSink | None = None
        self._request_sent = True
        self._touched = False
        """Whether a byte of the answer has come."""
        self._tunnel = False
        self._is_half_over = False
        """Whether one side of the tunnel has ended."""
        self._paused = False
        self._closing = False
        self._is_full = False
        """Whether some of the request waits to be taken, which is looked at."""
        self._is_copying = False
        """Whether the kernel moves what is left of the request."""
        self._progress = Progress()

    @abstractmethod
    def _break_off(self, why: str, fault: Fault) -> None:
        """End the connection, and the exchange with it."""

    @abstractmethod
    def discard_and_abort(self) -> None:
        """End the connection at once, and offer it to nobody."""

    @abstractmethod
    def close_idle(self) -> None:
        """Close an idle connection."""

    def _wait_for_turn(self) -> None:
        """Go on in a turn of its own, and read nothing until then; the silence is ours."""
        if not self._is_full:
            self.deadline = NEVER
        if not self._waits_for_turn:
            self._waits_for_turn = True
            self.transport.pauseProducing()
        self._deadlines.run_queue.put(self._take_turn)

    @never_raises
    def _take_turn(self) -> None:
        in_batch(self.transport, self._go_on)

    @never_raises
    def _go_on(self) -> None:
        """Go on with what has come."""
        if not self._waits_for_turn:
            return
        self._waits_for_turn = False
        decoder = self._decoder
        if self._exchange is not None and decoder is not None and decoder.has_more:
            self._await_upstream()
            self.dataReceived(b"")
        if self._waits_for_turn:
            return
        if self._loss is not None:
            self.connectionLost(self._loss)
        elif not self._paused:
            self.transport.resumeProducing()

    def watch_delivery(self) -> None:
        """Find out about the next request whether upstream takes anything of it, where that can be known."""
        watch = getattr(self.transport, "watch_delivery", None)
        if watch is not None:
            self._delivery = watch()

    def _forget_delivery(self) -> bool:
        """Look no more after what is delivered; returns whether it is known that nothing was."""
        delivery, self._delivery = self._delivery, None
        if delivery is None:
            return False
        took_nothing = not self._touched and delivery.took_nothing()
        delivery.close()
        return took_nothing

    def raised(self) -> None:
        """A bug was met: end the exchange at hand, and the connection with it."""
        self._crash(self._exchange)

    def _crash(self, exchange: AnswerSink | None) -> None:
        """End *exchange*, which met a bug, and the connection unless it went to another one meanwhile."""
        if self._exchange is exchange:
            self._exchange = None
        try:
            if exchange is None:
                log.failure("A connection to an endpoint failed by a bug; it is the only one that ends")
            else:
                exchange.crash()
        except Exception:
            log.failure("What met a bug could not be ended in order")
            if exchange is not None:
                exchange.hang_up()
        if self._exchange is None:
            self.discard_and_abort()

    @never_raises
    def expire(self) -> None:
        """Called by the deadlines: idle, silent or closing for too long, or how the request is taken is to be looked at."""
        now = self._deadlines.now
        self.deadline = NEVER
        if self._closing:
            self.transport.abortConnection()
        elif self._exchange is None:
            self.close_idle()
        elif self._is_full:
            waiting = unsent(self.transport) or int(not self._is_copying)
            if self._progress.is_stuck(waiting, now, self._timeouts.send_seconds):
                self._stop_waiting("upstream took nothing of the request for too long")
            else:
                self.deadline = now
        elif self._is_half_over:
            # One side has ended, and the other had its time: what is still to be sent may go.
            self._exchange.downstream_lost()
        elif is_held_up(self.transport):
            # The kernel moves the answer, and waits for downstream.
            self.deadline = now + self._timeouts.read_seconds
        else:
            self._stop_waiting("upstream was silent for too long")

    def _stop_waiting(self, why: str) -> None:
        if not self._touched:
            self.liveness.miss(waiting_since(self._deadlines, self._timeouts.read_seconds))
        self._break_off(why, Fault.STALLED if self._touched else Fault.SILENT)

    def _watch_sending(self) -> None:
        """Have the deadlines look, from the next tick on, at how the request is taken."""
        self._is_full = True
        self._progress = Progress()
        self.deadline = self._deadlines.now

    def _await_upstream(self) -> None:
        """Set until when upstream has to act."""
        if self._is_full:
            self.deadline = self._deadlines.now
        elif self._tunnel:
            self.deadline = NEVER
            self._tunnel_moved()
        elif self._paused or not self._request_sent:
            self.deadline = NEVER
        else:
            self.deadline = self._deadlines.now + self._timeouts.read_seconds

    def _tunnel_moved(self) -> None:
        """Something went through a tunnel, which may rest as long as it likes unless its route says otherwise.

        Once one side has ended, the other has a while for its last words.
        """
        if self._is_full:
            return
        if self._is_half_over:
            self.deadline = self._deadlines.now + TUNNEL_END_SECONDS
        elif self._timeouts is not self._pool.timeouts:
            self.deadline = self._deadlines.now + self._timeouts.read_seconds

    # The end

    @property
    def _is_secure(self) -> bool:
        return self.endpoint.link_settings is not None and self.endpoint.link_settings.tls is not None

    def end_sending(self) -> None:
        """Downstream's side of a tunnel ended: tell upstream after what was sent, and give it time for its own end."""
        self._is_half_over = True
        self._tunnel_moved()
        if not self._is_secure:
            # With TLS, the end of one side would end both.
            self.transport.loseWriteConnection()

    def end_tunnel(self) -> None:
        """Downstream is gone from a tunnel: close once everything is sent."""
        self._exchange = None
        self.close()

    def close(self) -> None:
        """Close once everything is sent; a peer that does not take it has a while to do so."""
        self._closing = True
        self.deadline = self._deadlines.now + LINGER_SECONDS
        self.transport.unregisterProducer()
        self.transport.loseConnection()

    def abort(self) -> None:
        """End the connection at once; the exchange, if any, is told when it is lost."""
        self.transport.abortConnection()

    @never_raises
    def readConnectionLost(self) -> None:
        """Upstream says no more in a tunnel; of any other connection that is the end."""
        exchange = self._exchange
        if exchange is not None and exchange.upstream_ended():
            self._is_half_over = True
            self._tunnel_moved()
            return
        self._exchange = None
        self.close()
        if exchange is not None:
            self._tell_lost(exchange, "connection closed", Fault.BROKEN)

    def writeConnectionLost(self) -> None:
        """Our side of a tunnel has ended, as we asked."""

    def _tell_lost(self, exchange: AnswerSink, why: str, fault: Fault) -> None:
        try:
            exchange.upstream_lost(why, fault)
        except Exception:
            self._crash(exchange)
