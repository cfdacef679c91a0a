"""A downstream connection speaking HTTP/1.1: requests in, answers out, one at a time.

``channel_state`` draws its states, and decides when it reads and how long it waits.  A channel has a ``RequestReader``, for
each body a ``BodyIntake``, an ``AnswerWriter``, and a ``Sending``; it is told what happens, and says what they are to do.

What arrives for the next request while one is answered (pipelining) waits in the buffer, at most ``MAX_AHEAD`` bytes of it; then
reading pauses.  What cannot be read in one way is answered with an error and the end of the connection: the next request has no beginning.

What may be awaited is one of four: a turn, if more has come than one takes; something to come, for which there is a deadline;
something to be taken, which is looked at with every tick of the deadlines (``progress``); or nothing of this side's.
"""

from attrs import evolve
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.http.forwarding import Origin
from ingress.http.request_head import UNREADABLE, RequestHead, only_head
from ingress.http.response_head import ResponseHead
from ingress.http.work import LATER_TURN_WORK, REQUEST_WORK, SECONDS_OF_WORK, TURN_WORK
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.contract.security import Security
from ingress.proxy.contract.sides import Answering, Downstream, RequestSink
from ingress.proxy.contract.transport import Hearer, KernelCopy, Speaker, Transport
from ingress.proxy.contract.turns import LATELY_SECONDS, LONG_AGO
from ingress.proxy.dispatch.site import ProxySite, Session
from ingress.proxy.downstream.answer_writer import AnswerWriter
from ingress.proxy.downstream.body_intake import BodyIntake
from ingress.proxy.downstream.channel_state import (
    BETWEEN,
    CLOSED,
    EXCHANGE,
    HEAD,
    LINGERING,
    PREFACE,
    TUNNEL,
    seconds_allowed,
    wants_reading,
)
from ingress.proxy.downstream.client import client_of
from ingress.proxy.downstream.negotiating import Beginning, agreed_on_http2, is_preface, take_over
from ingress.proxy.downstream.request_reader import RefusedError, RequestReader
from ingress.proxy.downstream.sending import Sending
from ingress.proxy.exchange.exchange import Exchange

log = Logger()

_NOBODY, _NOWHERE = Origin(b"", b"http", 0, b""), (b"", b"")


class DownstreamChannel(Downstream, Hearer):
    """The downstream side of exchanges, speaking HTTP/1.1; to its transport a receiver."""

    __slots__ = (  # A dictionary of attributes would be a twentieth more of a connection at rest.
        "_advancing", "_answers", "_began_at", "_intake", "_is_broken", "_is_proxied", "_origin", "_site", "_waits_for_turn",
        "_waits_since", "beginning", "deadline", "deadlines", "exchange", "half_closes", "is_full", "is_half_closed", "is_reading",
        "is_request_paused", "is_secure", "limits", "reader", "security", "sending", "site", "state", "transport",
    )  # fmt: skip

    protocol = b"HTTP/1.1"
    site: Answering
    half_closes: bool
    is_full: bool
    security: Security | None
    transport: Transport

    def __init__(self, site: ProxySite, secure: bool, beginning: Beginning = Beginning.HTTP_1) -> None:
        self.beginning = beginning
        self.state = PREFACE if beginning is Beginning.BY_PREFACE else HEAD
        self.deadline = NEVER
        self.site = self._site = site
        self.limits = site.context.limits
        self.deadlines = site.context.deadlines
        self.is_secure = secure
        self.security = None
        self._origin = _NOBODY
        self._is_proxied = False
        """Whether the peer is a proxy of ours, which says who the client is."""
        self._began_at = NEVER
        self.reader = RequestReader()
        self.is_reading, self.is_full = True, False
        self._advancing = self._waits_for_turn = False
        """Whether more has come than one turn takes, and waits for the next one."""
        self._waits_since = LONG_AGO
        self.is_half_closed, self.half_closes = False, not secure or self.limits.allow_half_close
        self._is_broken = False
        """Whether what was received could not be read, so that nobody knows where the next request begins."""
        # The exchange under way
        self.exchange: RequestSink | None = None
        self._intake: BodyIntake | None = None
        """What takes its request body; None once the request is whole."""
        self.is_request_paused = False
        """Whether upstream takes no more of the request."""
        self._answers = AnswerWriter()
        self.sending = Sending()

    def __repr__(self) -> str:
        return f"<DownstreamChannel {self._origin.address.decode()} {self.state.value} {self.exchange!r}>"

    # The connection

    def makeConnection(self, transport: Transport) -> None:
        """Begin; the first head must come as quickly as any, only between requests may a peer rest."""
        self.transport = transport
        transport.setTcpNoDelay(True)
        transport.setTcpKeepAlive(True)
        self._origin, self._is_proxied = client_of(transport, self.is_secure, self._site.trusted_proxies)
        self._began_at = self.deadlines.now  # The same number for all who came with one tick.
        self.deadline = self._began_at + self.limits.head_seconds
        self.deadlines.watch(self)
        if self.is_secure:
            self.security = Security(transport)
        self._site.connections.opened(self, self.is_secure)

    @never_raises
    def handshakeCompleted(self) -> None:
        """Step aside if HTTP/2 was agreed on; nothing was received so far."""
        is_open = self.state is not CLOSED and self.beginning is Beginning.BY_HANDSHAKE
        if is_open and agreed_on_http2(self.transport.tls):
            self._step_aside()

    @never_raises
    def _look_for_preface(self, received: bytes) -> None:
        """Look at all that has come; while it is part of a preface, the deadline is that of a head."""
        found = is_preface(received)
        if found is None:
            self.reader.ahead[:] = received
        elif found:
            self._step_aside().dataReceived(received)
        else:
            self.state = HEAD
            self.reader.ahead.clear()
            self.dataReceived(received)

    def _step_aside(self) -> Session:
        """Have a session take over; whatever happens from here on, HTTP/1.1 is nothing that the peer would understand."""
        self.state = CLOSED
        self.deadlines.forget(self)
        return take_over(self._site, self, self.transport, self.is_secure)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is gone."""
        self.deadlines.forget(self)
        self.state = CLOSED
        self._site.connections.closed(self, self.is_secure)
        try:
            if self.exchange is not None:
                self.exchange.downstream_lost()
        except Exception:
            self.raised()
        self.exchange = None

    @never_raises
    def readConnectionLost(self) -> None:
        """Downstream sends no more: it has left, unless it may still wait for its answer (half-close)."""
        self.is_half_closed = True
        if self._waits_for_turn:
            return  # What came before is read first.
        if self.exchange is None or self.state not in (EXCHANGE, TUNNEL):
            self.end()
        elif self.state is TUNNEL:
            self.exchange.downstream_ended()
        elif self._intake is not None:
            self.body_broken(400, "request body breaks off")
        elif not self.limits.allow_half_close:
            self._leave()

    def abort(self) -> None:
        """End the connection at once."""
        self.transport.abortConnection()

    def end(self) -> None:
        """End the connection once everything is sent."""
        if self.state is not CLOSED:
            self.state = CLOSED
            self.is_full = False
            self.sending.end(self)
            self.transport.loseConnection()

    def _linger(self) -> None:
        """Close our side, and take what still comes until the peer closes too."""
        self.state = LINGERING
        self._waits_for_turn = False
        self.sending.linger(self)
        self.reader.ahead.clear()
        self.update_reading()
        self.is_full = False
        self.transport.loseWriteConnection()

    def _leave(self) -> None:
        """End the exchange, for the peer has left: nobody waits for the answer, nor for those to what it sent ahead."""
        self.is_half_closed = True
        self.cut()
        if self.exchange is not None:
            self.exchange.downstream_lost()

    def raised(self) -> None:
        """A bug was met: end the exchange at hand with 500, if that can still be said, and the connection with it."""
        try:
            if self.exchange is not None:
                self.exchange.crash()
            elif self.state in BETWEEN:
                log.failure("A request could not be read, by a bug; it is the only one that ends")
                self._refuse(500, "a bug")
            else:
                log.failure("A connection failed by a bug; it is the only one that ends")
                self.transport.abortConnection()
        except Exception:
            log.failure("What met a bug could not be ended in order")
            self.transport.abortConnection()

    # One of many: the connection limit asks, and tells

    def drain(self) -> None:
        """Take no further request: close now when at rest, after the answer otherwise."""
        if not self.reader.ahead:
            end = self.end if self.state in BETWEEN else self.close_after_answer
            end()

    @property
    def is_mute(self) -> bool:
        """Whether nothing has come."""
        return not self.reader.count

    @property
    def is_silent(self) -> bool:
        """Whether not a byte has come."""
        has_come = self.reader.count or self.reader.ahead or self.state not in BETWEEN
        return not has_come and self.transport.has_said_nothing

    def make_way(self) -> None:
        """Close, since others have more to say; what was begun of a head is given up."""
        self.end()

    def rests_since(self) -> float:
        """Return since when nothing has come and nothing is awaited but a request; ``NEVER`` if that is not so."""
        if self.state not in BETWEEN or self.reader.ahead or self.is_full:
            return NEVER
        limits = self.limits
        return self.deadline - (limits.keep_alive_seconds if self.reader.count else limits.head_seconds)

    # Requests

    def dataReceived(self, received: bytes) -> None:
        """Take what has come."""
        try:
            state = self.state
            if state is HEAD:
                ahead = self.reader.ahead
                if not ahead:
                    block = only_head(received)
                    if block is not None and not self.is_full and not self._advancing:
                        self._begin(block)
                        return
                    self.deadline = self.deadlines.now + self.limits.head_seconds
                ahead += received
                self._advance()
            elif state is EXCHANGE:
                if self._intake is not None:
                    if self._waits_for_turn:
                        self._intake.body.keep(received)
                    else:
                        self._intake.take(self, received)
                elif not self._is_broken:
                    self.reader.ahead += received
                    self.update_reading()
            elif state is TUNNEL:
                if self.exchange is not None:
                    self.exchange.tunnel_from_downstream(received)
            elif state is LINGERING:
                self.sending.heard(self)
            elif state is PREFACE:
                self._look_for_preface(bytes(self.reader.ahead) + received)
        except Exception:
            self.raised()

    def _advance(self) -> None:
        """Begin the requests in the buffer, one after the other as each one ends."""
        if self._advancing or self._waits_for_turn:
            return
        self._advancing = True
        left = LATER_TURN_WORK if self.deadlines.now - self._waits_since < LATELY_SECONDS else TURN_WORK
        seconds, first = left * SECONDS_OF_WORK, NEVER
        try:
            while self.state is HEAD and not self.is_full:
                if left <= 0 and self.reader.ahead:
                    self.wait_for_turn()
                    return
                block = self.reader.next_block()
                if block is None:
                    break
                left -= REQUEST_WORK + len(block)
                begun = self._begin(block)
                first = begun if begun < first else first
                left = 0 if begun - first > seconds else left
        except RefusedError as error:
            self._refuse(error.status, str(error))
        finally:
            self._advancing = False
        if self.is_half_closed and self.state is HEAD and not self.is_full:
            self.end()

    def _begin(self, block: bytes) -> float:
        """Read one head and start its exchange; return when."""
        try:
            head, destination = self.reader.read(block)
        except RefusedError as error:
            self._refuse(error.status, str(error), error.head)
            return NEVER
        site, answers = self._site, self._answers
        self.state, self.deadline = EXCHANGE, NEVER
        answers.minor = head.minor
        answers.keep_alive = (
            head.keep_alive
            and self.reader.count < self.limits.keep_alive_requests
            and self.deadlines.now - self._began_at < self.limits.keep_alive_age_seconds
            and not site.connections.draining
        )
        if head.underscored and site.context.takes_underscores:
            head = head.with_line(head.underscored)
        origin = site.trusted_proxies.origin(self._origin, head) if self._is_proxied else self._origin
        exchange = self.exchange = Exchange(site.context, self, head, destination, origin)
        try:
            if head.has_body:
                self._intake = BodyIntake(head, self.deadlines.now, self.limits)
                # What came with the head goes upstream with it, in one write.
                self._intake.take(self, self.reader.ahead.take())
                is_over = self.is_half_closed and not self._waits_for_turn
                if is_over and self._intake is not None and self._is_at(exchange):
                    exchange.request_broken(400, "request body breaks off")
                if not self._is_at(exchange):
                    return exchange.started
            if self.security is not None and not self.security.serves(destination[0], site.server_names):
                exchange.fail(421, "the host needs a connection of its own")
            else:
                site.resource_for(exchange).render(exchange)
        except Exception:
            self.raised()
        return exchange.started

    def _is_at(self, exchange: Exchange) -> bool:
        return self.exchange is exchange

    def _refuse(self, status: int, why: str, head: RequestHead = UNREADABLE) -> None:
        """Answer what cannot be read, and end the connection."""
        self._answers.keep_alive = False
        self._answers.minor = 1
        # Whatever follows is of no use, but must be taken for our reply to arrive.
        self._is_broken = True
        self.reader.ahead.clear()
        self.state = EXCHANGE
        self.exchange = Exchange(self._site.context, self, head, _NOWHERE, self._origin)
        self.exchange.fail(status, why)

    def wait_for_turn(self) -> None:
        """Go on in a turn of its own, and read nothing until then."""
        self._waits_for_turn = True
        self._waits_since = self.deadlines.now
        self.update_reading()
        self.deadlines.run_queue.put(self._take_turn)

    @never_raises
    def _take_turn(self) -> None:
        self.transport.call_in_batch(self._go_on)

    @never_raises
    def _go_on(self) -> None:
        """Go on with what has come."""
        if not self._waits_for_turn or self.state is CLOSED:
            return
        self._waits_for_turn = False
        intake = self._intake
        if self.state is HEAD:
            self._advance()
        elif self.state is EXCHANGE and intake is not None:
            intake.body.excuse(self.deadlines.now - self._waits_since)
            intake.take(self, b"")
            if self.is_half_closed and not self._waits_for_turn:
                self.readConnectionLost()
        if not self._waits_for_turn:
            deadline = self.deadline
            self.update_reading()
            # What the body is given is less, if it is too slow.
            self.deadline = min(self.deadline, deadline)

    # Request bodies

    def body_ended(self, rest: bytes) -> None:
        """The body is whole, and *rest* came behind it."""
        self._intake = None
        self.deadline = NEVER
        self.reader.ahead += rest

    def body_broken(self, status: int, why: str) -> None:
        """The body cannot be read, or will never be whole, and upstream must not take it for such."""
        self._answers.keep_alive = False
        if self.exchange is not None:
            self.exchange.request_broken(status, why)

    @never_raises
    def body_moved(self, count: int) -> None:
        """So much of the body went upstream by the kernel."""
        if self._intake is not None:
            self._intake.body.moved(count, self.deadlines.now)

    @never_raises
    def body_spliced(self) -> None:
        """All that was left of the body went upstream by the kernel."""
        self._intake = None
        if self.exchange is not None and self.exchange.passage is not None:
            self.exchange.passage.end()
        self.update_reading()

    def pause_request(self) -> None:
        """Bring no more of the request."""
        self.is_request_paused = True
        self.update_reading()

    def resume_request(self) -> None:
        """Go on bringing the request."""
        if self.is_request_paused:
            self.is_request_paused = False
            if self._intake is not None:
                self._intake.body.restart_window(self.deadlines.now)
            self.update_reading()

    # Answers

    def respond(self, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send the head, and what there is of the body with it in one write."""
        exchange, answers = self.exchange, self._answers
        assert exchange is not None
        if self._site.connections.draining or (ended and self._intake is not None):
            answers.keep_alive = False
        speaker: Speaker = self.transport
        speaker.write(answers.begin(head, exchange.head.method, body, ended, trailers, self.deadlines.date))

    def send_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send more of the body."""
        self.transport.write(self._answers.more(piece, ended, trailers))

    def splice_body(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of a body of known length, if that is possible."""

        def ended() -> None:
            self.sending.is_copying = False
            copy.ended()

        if not self._answers.has_length or not self.transport.splice_from(evolve(copy, ended=ended)):
            return False
        self.sending.is_copying = True
        if self._intake is not None:
            # From now on the deadlines measure the sender of the request by this.
            self._intake.body.restart_window(self.deadlines.now)
        self.sending.watch(self)
        return True

    def send_interim(self, head: ResponseHead) -> None:
        """Send a 1xx head."""
        self.transport.write(self._answers.interim(head))

    def open_tunnel(self, head: ResponseHead, first: bytes) -> None:
        """Send the 101 head and turn into a pipe."""
        self.state, self.half_closes = TUNNEL, not self.is_secure
        self.transport.write(self._answers.switch(head, first))
        ahead = self.reader.ahead.take()
        self.update_reading()
        if ahead and self.exchange is not None:
            self.exchange.tunnel_from_downstream(ahead)
        if self.is_half_closed and self.exchange is not None:
            self.exchange.downstream_ended()

    def send_raw(self, octets: bytes) -> None:
        """Send bytes of a tunnel."""
        self.transport.write(octets)

    def end_sending(self) -> Transport | None:
        """End our side of a tunnel alone, if that is possible: with TLS, the end of one side ends both."""
        if self.is_secure:
            return None
        self.transport.loseWriteConnection()
        return self.transport

    def close_after_answer(self) -> None:
        """Take no request after this one."""
        self._answers.keep_alive = False

    def cut(self) -> None:
        """Break the answer off, so that downstream can see that it is not whole."""
        self._answers.keep_alive = False
        self._intake = None
        if self._answers.ends_by_closing:
            # A regular close would look like the end of the body; a reset does not.
            self.transport.abortConnection()

    def finished(self) -> None:
        """The exchange is over: go on with the next request, or close."""
        self.exchange = None
        self.is_request_paused = False
        is_whole = self._intake is None and not self._is_broken
        if self.state is not EXCHANGE or not is_whole:
            # Who may speak on is not to lose what was said last.
            may_speak = (self.state is EXCHANGE or self.state is TUNNEL) and not self.is_half_closed
            end = self._linger if may_speak else self.end
            end()
        elif self._answers.keep_alive:
            self.state = HEAD
            if self.is_reading and not self.is_full and not self.reader.ahead and not self.is_half_closed:
                self.deadline = self.deadlines.now + self.limits.keep_alive_seconds
                return  # As ``update_reading`` would find nearly always.
            self.update_reading()
            if self.reader.ahead or self.is_half_closed:
                self._advance()
        elif self.reader.ahead and not self.is_half_closed:
            # More requests came than are taken; closing with some unread would be a reset, and lose the answer.
            self._linger()
        else:
            self.end()

    # How full the transport is, as it says, and how what is sent is taken

    @never_raises
    def pauseProducing(self) -> None:
        """The transport's buffer is full: upstream must wait."""
        self.is_full = True
        self.sending.restart()
        if self.exchange is not None:
            self.exchange.downstream_full()
        self.update_reading()

    @never_raises
    def resumeProducing(self) -> None:
        """The transport's buffer has room again."""
        self.is_full = False
        if self.exchange is not None:
            self.exchange.downstream_drained()
        self.update_reading()
        if self.state is HEAD and (self.reader.ahead or self.is_half_closed):
            self._advance()

    # Time

    def update_reading(self) -> None:
        """Read while somebody can take it, and set until when downstream has to act."""
        in_body = self._intake is not None
        ahead = len(self.reader.ahead)
        wanted = wants_reading(self.state, in_body, self.is_request_paused, self.is_full, ahead)
        if self.state is LINGERING or self.state is CLOSED:
            pass  # A closing has a bound of its own.
        elif self.is_full or self._is_by_kernel:
            self.deadline = self.deadlines.now
        elif self._waits_for_turn:
            self.deadline = NEVER
        elif not wanted and self.state is EXCHANGE:
            # Nobody would see the peer's end; so the deadlines look for it.
            self.deadline = self.deadlines.now
        else:
            seconds = seconds_allowed(self.state, in_body, self.is_request_paused, ahead, self.limits)
            self.deadline = self.deadlines.now + seconds
        wanted = wanted and not self._waits_for_turn
        if wanted != self.is_reading and not self.is_half_closed:
            self.is_reading = wanted
            if wanted:
                self.transport.resumeProducing()
            else:
                self.transport.pauseProducing()

    @never_raises
    def expire(self) -> None:
        """Called by the deadlines: the peer took too long, or how it takes what is sent is to be looked at."""
        if self.state is CLOSED or self.state is LINGERING:
            self.sending.expire(self)
        elif self.state is EXCHANGE and not self.is_reading and self._has_left():
            self._leave()
        elif (self.is_full or self.sending.is_copying) and self.sending.is_awaited(self):
            return
        elif self.state in BETWEEN:
            self.deadline = NEVER
            if self.reader.ahead:
                self._refuse(408, "head not complete in time")
            else:
                self.end()
        elif self._intake is not None and not self._intake.is_in_time(self):
            self.deadline = NEVER
            self.body_broken(408, "request body not complete in time")
        else:
            # What the kernel moves is waited for by turns: for one side, then for the other.
            goes_on = self._is_by_kernel or (self.state is EXCHANGE and not self.is_reading)
            self.deadline = self.deadlines.now if goes_on else NEVER

    @property
    def _is_by_kernel(self) -> bool:
        """Whether the kernel moves what is left of the request, or of the answer."""
        return self.sending.is_copying or (self._intake is not None and self._intake.is_by_kernel)

    def _has_left(self) -> bool:
        """Whether the peer, which is not being read, has ended its side, and is not one that may and stay."""
        return not self.limits.allow_half_close and self.transport.has_left
