"""How long a downstream connection waits for its peer, and what it does when that is over.

Stands between ``channel``, which reads requests, and ``answering``, which writes answers.
What may be awaited is one of four: a turn, if more has come than one takes; something to come, for which there is a deadline
(``channel_state.seconds_allowed``); something to be taken, which is looked at with every
tick of the deadlines (``progress``); or nothing.  What is awaited of upstream is no matter of this side.
"""

from abc import abstractmethod

from twisted.logger import Logger

from ingress.http.head_buffer import HeadBuffer
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.limits import LINGER_SECONDS
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.contract.progress import Progress
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.downstream.answering import AnsweringConnection
from ingress.proxy.downstream.channel_state import CLOSED, EXCHANGE, HEAD, LINGERING
from ingress.proxy.downstream.request_body import RequestBody

log = Logger()


class PatientConnection(AnsweringConnection):
    """Keeps the deadlines of one connection."""

    _reading = True
    _waits_for_turn = False
    """Whether more has come than one turn takes, and waits for the next one."""
    _waits_since = 0.0
    _half_closed = False
    """Whether the peer has ended its side."""
    _request_paused = False
    """Whether upstream takes no more of the request."""
    _is_bringing = False
    """Whether the kernel moves what is left of the request body."""
    _requests = 0
    _linger_until = 0.0
    _has_to_arrive = False
    """Whether the peer was not given time yet for what was sent at last."""

    def __init__(self, site: ProxySite, secure: bool) -> None:
        super().__init__(site, secure)
        self.state = HEAD
        self._buffer = HeadBuffer()

    @abstractmethod
    def _refuse(self, status: int, why: str) -> None:
        """Answer what cannot be read, and end the connection."""

    @abstractmethod
    def _advance(self) -> None:
        """Begin the requests in the buffer."""

    @abstractmethod
    def _take_body(self, body: RequestBody, received: bytes) -> None:
        """Hand on what has come of the request body."""

    @abstractmethod
    def _update_reading(self) -> None:
        """Read while somebody can take it, and set until when downstream has to act."""

    @abstractmethod
    def readConnectionLost(self) -> None:
        """Downstream sends no more."""

    def _await_more(self, body: RequestBody) -> None:
        """Give the sender of *body* its time for the next piece, or have the deadlines end it now."""
        now = self._deadlines.now
        if self._is_copying or self._is_bringing:
            # The deadlines looks at both directions by turns, and finds here when the last piece came.
            body.moved(0, now)
        elif not self.is_full:
            self.deadline = now if body.is_too_slow(now) else now + self._limits.body_seconds

    def _wait_for_turn(self) -> None:
        """Go on in a turn of its own, and read nothing until then."""
        self._waits_for_turn = True
        self._waits_since = self._deadlines.now
        self._update_reading()
        self._deadlines.run_queue.put(self._take_turn)

    @never_raises
    def _take_turn(self) -> None:
        self.transport.call_in_batch(self._go_on)

    @never_raises
    def _go_on(self) -> None:
        """Go on with what has come."""
        if not self._waits_for_turn or self.state is CLOSED:
            return
        self._waits_for_turn = False
        body = self._body
        if self.state is HEAD:
            self._advance()
        elif self.state is EXCHANGE and body is not None:
            body.excuse(self._deadlines.now - self._waits_since)
            self._take_body(body, b"")
            if self._half_closed and not self._waits_for_turn:
                self.readConnectionLost()
        if not self._waits_for_turn:
            deadline = self.deadline
            self._update_reading()
            # What the body is given is less, if it is too slow.
            self.deadline = min(self.deadline, deadline)

    def _close(self) -> None:
        """Close once everything is sent."""
        if self.state is not CLOSED:
            self.state = CLOSED
            self.deadline = self._linger_until = self._deadlines.now + LINGER_SECONDS
            self.is_full = False
            if self.transport.unsent:
                self._has_to_arrive = True
                self._watch_sending()
            self.transport.loseConnection()

    @property
    def is_mute(self) -> bool:
        """Whether nothing has come."""
        return not self._requests

    @property
    def is_silent(self) -> bool:
        """Whether not a byte has come."""
        if self._requests or self._buffer or self.state is not HEAD:
            return False
        return self.transport.has_said_nothing

    def make_way(self) -> None:
        """Close, since others have more to say; what was begun of a head is given up."""
        self._close()

    def rests_since(self) -> float:
        """Return since when nothing has come and nothing is awaited but a request; ``NEVER`` if that is not so."""
        if self.state is not HEAD or self._buffer or self.is_full:
            return NEVER
        limits = self._limits
        return self.deadline - (limits.keep_alive_seconds if self._requests else limits.head_seconds)

    def end(self) -> None:
        """End the connection once everything is sent."""
        self._close()

    def raised(self) -> None:
        """A bug was met: end the exchange at hand with 500, if that can still be said, and the connection with it."""
        try:
            if self._exchange is not None:
                self._exchange.crash()
            elif self.state is HEAD:
                log.failure("A request could not be read, by a bug; it is the only one that ends")
                self._refuse(500, "a bug")
            else:
                log.failure("A connection failed by a bug; it is the only one that ends")
                self.transport.abortConnection()
        except Exception:
            log.failure("What met a bug could not be ended in order")
            self.transport.abortConnection()

    @never_raises
    def expire(self) -> None:
        """Called by the deadlines: the peer took too long, or how it takes what is sent is to be looked at."""
        now = self._deadlines.now
        if self.state is CLOSED or self.state is LINGERING:
            self._expire_at_end(now)
        elif self.state is EXCHANGE and not self._reading and self._has_left():
            self._leave()
        elif (self.is_full or self._is_copying) and self._waits_for_peer():
            return
        elif self.state is HEAD:
            self.deadline = NEVER
            if self._buffer:
                self._refuse(408, "head not complete in time")
            else:
                self._close()
        elif self._body is not None and self._exchange is not None and not self._is_in_time(self._body, now):
            self.deadline = NEVER
            self._keep_alive = False
            self._exchange.request_broken(408, "request body not complete in time")
        else:
            # What the kernel moves is waited for by turns: for one side, then for the other.
            goes_on = self._is_copying or self._is_bringing or (self.state is EXCHANGE and not self._reading)
            self.deadline = now if goes_on else NEVER

    def _expire_at_end(self, now: float) -> None:
        if self._waits_for_peer():
            self._linger_until = now + LINGER_SECONDS
            self._has_to_arrive = True
        elif self._has_to_arrive:
            # All is sent, but the kernel still has some of it, which an abort would drop.
            self._has_to_arrive = False
            self.deadline = self._linger_until
        else:
            self.deadline = NEVER
            self.transport.abortConnection()

    def _has_left(self) -> bool:
        """Whether the peer, which is not being read, has ended its side, and is not one that may and stay."""
        return (self._secure or not self._limits.allow_half_close) and self.transport.has_left

    def _leave(self) -> None:
        """End the exchange, for the peer has left: nobody waits for the answer, nor for those to what it sent ahead."""
        self._half_closed = True
        self.cut()
        if self._exchange is not None:
            self._exchange.downstream_lost()

    def _is_in_time(self, body: RequestBody, now: float) -> bool:
        """Whether the sender of *body* does its part while it waits for upstream, or the kernel moves that or the answer.

        Upstream has a deadline of its own.
        """
        if self._request_paused or self.transport.is_held_up:
            body.restart_window(now)
            return True
        return (self._is_bringing or self._is_copying) and not body.is_overdue(now)

    def _watch_sending(self) -> None:
        """Have the deadlines look, from the next tick on, at how what is sent is taken."""
        self._progress = Progress()
        self.deadline = self._deadlines.now

    def _waits_for_peer(self) -> bool:
        """Look at how what is sent is taken, and see to the next look; False if nothing waits.  Cuts who is stuck."""
        now = self._deadlines.now
        waiting = self.transport.unsent or int(self.is_full)
        if not waiting:
            return False
        self.deadline = now
        progress = self._progress = self._progress or Progress()
        if progress.is_stuck(waiting, now, self._limits.send_seconds):
            self.deadline = NEVER
            self.transport.abortConnection()
        return True
