"""An upstream connection: sends requests, reads answers, one exchange at a time.

States: idle (no exchange; anything received is an error), reading a head, reading a body, tunnel.  An answer whose end is not certain ends the
connection; only one that ended cleanly, with nothing behind it, after a request that was sent whole, leaves it for the next exchange.

It waits for upstream to give the next piece of an answer (``read_seconds``), or to take more of the request (``send_seconds``, looked at with every
tick of the deadlines); neither while the rest of the request is still to come, nor while downstream does not take its answer.
"""

from attrs import evolve
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.http.body import (
    BodyError,
    ChunkedDecoder,
    CloseDecoder,
    Decoder,
    LengthDecoder,
    chunk,
    decoder_of,
    last_chunk,
)
from ingress.http.forwarding import request_head_bytes
from ingress.http.response_head import (
    MAX_INTERIM_BYTES,
    ResponseError,
    ResponseHead,
    check_beginning,
    interim_bytes,
    is_forwardable_trailer,
    parse_response_head,
)
from ingress.http.upgrades import may_switch
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.deadlines import NEVER, waiting_since
from ingress.proxy.contract.faults import Fault, Reuse
from ingress.proxy.contract.limits import LINGER_SECONDS, SPLICE_BYTES, TUNNEL_END_SECONDS
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.contract.progress import Progress
from ingress.proxy.contract.reads import full_read
from ingress.proxy.contract.sides import CLOSED, AnswerSink, Upstream
from ingress.proxy.contract.transport import Delivery, Hearer, KernelCopy, Speaker, Transport
from ingress.proxy.upstream.keepers import IdleKeeper, Taker
from ingress.proxy.upstream.tunnel_end import TunnelEnd
from ingress.routing.balancing.health import Liveness, liveness_of
from ingress.tls.upstream import words_of_error

log = Logger()


class UpstreamConnection(Upstream, Hearer):
    """The upstream side of an exchange, speaking HTTP/1.1; to its transport a receiver."""

    __slots__ = (
        "_buffer", "_chunked_request", "_closing", "_deadlines", "_decoder", "_delivery", "_full_read",
        "_interim", "_is_copying", "_is_full", "_keeper", "_loss", "_paused", "_progress",
        "_request_sent", "_timeouts", "_touched", "_tunnel_end", "_waits_for_turn",
        "deadline", "endpoint", "exchange", "half_closes", "idle_since", "is_reused", "keep_alive", "liveness",
        "transport",
    )  # fmt: skip

    may_decline = False
    may_rest = False
    liveness: Liveness
    transport: Transport
    _full_read: int

    def __init__(self, endpoint: Endpoint, keeper: "IdleKeeper[UpstreamConnection]") -> None:
        self.endpoint = endpoint
        self.exchange: AnswerSink | None = None
        """Whom the answer that is read is for; None while idle."""
        self.liveness = liveness_of(keeper.livenesses, endpoint)
        self.is_reused = False
        self.idle_since = 0.0
        self.half_closes = False
        """Whether it is a tunnel: then, and only then, the end of one side is not the end of everything."""
        self.deadline = NEVER
        self._keeper = keeper
        self._deadlines = keeper.deadlines
        self._timeouts = keeper.timeouts
        self._closing = False
        # The request
        self._chunked_request = False
        self._request_sent = True
        self._is_full = False
        """Whether some of the request waits to be taken, which is looked at."""
        self._is_copying = False  # Whether the kernel moves what is left of the request.
        self._progress: Progress | None = None
        """How what waits is taken; only while something has waited."""
        self._delivery: Delivery | None = None
        """Only while a request is under way that may be repeated if, and only if, nothing of it was taken."""
        # The answer
        self._buffer = b""
        self._decoder: Decoder | None = None
        self._interim = 0
        self.keep_alive = self._touched = False
        """Whether a byte of the answer has come."""
        self._paused = self._waits_for_turn = False
        """Whether more of an answer has come than one turn takes, and waits for the next one."""
        self._loss: Failure | None = None
        """Why the connection is gone, while something that came before is still read."""
        self._tunnel_end: TunnelEnd | None = None  # Once it is one.

    def __repr__(self) -> str:
        doing = "idle" if self.exchange is None else repr(self.exchange)
        return f"<UpstreamConnection {self.endpoint} {doing}>"

    # Sending

    @property
    def is_quiet(self) -> bool:
        """Whether upstream has said nothing to an idle connection, not even goodbye, as far as is known."""
        return self.transport.is_quiet

    def open(self, reuse: Reuse) -> "UpstreamConnection":
        """Return itself, which is new, for one exchange to begin."""
        return self

    def begin(self, exchange: AnswerSink, fields: bytes, body: bytes, ended: bool) -> None:
        """Send a request: its head, with *fields* in it, and what there is of its body."""
        self.exchange = exchange
        self._buffer = b""
        self._decoder = None
        self._interim = 0
        self._touched = False
        # Who is asked for a 100 and answers without one may take the body for requests (RFC 9110 section 10.1.1).
        self.keep_alive = not exchange.head.expect_continue
        self._chunked_request = exchange.head.chunked
        self._request_sent = ended
        self._timeouts = timeouts = exchange.timeouts or self._keeper.timeouts
        # Until the request is whole, downstream is awaited, or that upstream takes what there is of it.
        self.deadline = self._deadlines.now + timeouts.read_seconds if ended else NEVER
        head = request_head_bytes(exchange.head, fields)
        if self._chunked_request:
            head += (chunk(body) if body else b"") + (last_chunk([]) if ended else b"")
        elif body:
            head += body
        speaker: Speaker = self.transport
        speaker.write(head)

    def send_body(self, piece: bytes) -> None:
        """Send more of the request body."""
        self.transport.write(chunk(piece) if self._chunked_request else piece)

    def splice_body(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of a request body of known length, if that is possible."""

        def ended() -> None:
            self._is_copying = self._is_full = False
            copy.ended()

        if self._chunked_request or not self.transport.splice_from(evolve(copy, ended=ended)):
            return False
        self._is_copying = True
        self._watch_sending()
        return True

    def end_body(self) -> None:
        """The request body is complete."""
        if not self._request_sent:
            self._request_sent = True
            if not self._paused:
                self._await_upstream()
            if self._chunked_request:
                self.transport.write(last_chunk([]))

    def send_raw(self, octets: bytes) -> None:
        """Send bytes of a tunnel."""
        self._tunnel_moved()
        self.transport.write(octets)

    def pause(self) -> None:
        """Read no more of the answer; the silence is ours now."""
        if self.half_closes:
            self._await_upstream()
        elif not self._is_full:
            self.deadline = NEVER
        self._paused = True
        self.transport.pauseProducing()

    def resume(self) -> None:
        """Go on reading the answer."""
        self._paused = False
        if not self._waits_for_turn:
            self._await_upstream()
            self.transport.resumeProducing()

    # The transport tells how full it is.

    @never_raises
    def pauseProducing(self) -> None:
        """The transport's buffer is full."""
        self._watch_sending()
        if self.exchange is not None:
            self.exchange.upstream_full()

    @never_raises
    def resumeProducing(self) -> None:
        """The transport's buffer has room again."""
        self._is_full = self._is_copying
        if self.exchange is not None:
            self._await_upstream()
            self.exchange.upstream_drained()

    def watch_delivery(self) -> None:
        """Find out about the next request whether upstream takes anything of it, where that can be known."""
        self._delivery = self.transport.watch_delivery()

    # Receiving

    def handshakeCompleted(self) -> None:
        """It was before this is a connection."""

    @never_raises
    def makeConnection(self, transport: Transport) -> None:
        """Take note that the connection is made."""
        self.transport, self._full_read = transport, full_read(transport)
        transport.setTcpNoDelay(True)
        transport.setTcpKeepAlive(True)
        self._deadlines.watch(self)
        self._keeper.connected(self)

    def dataReceived(self, received: bytes) -> None:
        """Read on."""
        exchange = self.exchange
        if self._waits_for_turn and isinstance(self._decoder, ChunkedDecoder):
            self._decoder.keep(received)
            return
        if exchange is None:
            # Nobody asked: whatever this is, it must not become the answer to the next request.
            if not self._closing:
                self.discard_and_abort()
            return
        if self.half_closes:
            self._pass_on(exchange, received)
            return
        self._touched = True
        self.liveness.heard_at = now = self._deadlines.now
        if self.deadline != NEVER and not self._is_full:
            self.deadline = now + self._timeouts.read_seconds
        try:
            if self._decoder is None:
                self._read_heads(exchange, self._buffer + received if self._buffer else received)
            else:
                piece, ended, trailers = self._read_body(self._decoder, received, len(received))
                if piece or ended:
                    exchange.upstream_body(piece, ended, trailers)
                if not ended and self._decoder is not None and self._decoder.has_more:
                    self._wait_for_turn()
        except (ResponseError, BodyError) as error:
            self._break_off(str(error), Fault.INVALID)
        except Exception:
            self._crash(exchange)

    @never_raises
    def _pass_on(self, exchange: AnswerSink, received: bytes) -> None:
        self.liveness.heard_at = self._deadlines.now
        self._tunnel_moved()
        exchange.tunnel_from_upstream(received)

    def _read_heads(self, exchange: AnswerSink, received: bytes) -> None:
        """Read 1xx heads and the final one, with what of the body follows it."""
        size = len(received)
        while True:
            block, end, rest = received.partition(b"\r\n\r\n")
            if not end or len(block) + 4 > self._timeouts.head_bytes:
                if len(received) > self._timeouts.head_bytes:
                    raise ResponseError("response head too large")
                # The last bytes may be part of a line ending.
                check_beginning(received, max(0, len(self._buffer) - 3))
                self._buffer = received
                return
            head, received = parse_response_head(block), rest
            if head.status >= 200:
                break
            if head.status == 101:
                self._switch(exchange, head, received)
                return
            self._interim += interim_bytes(head)
            self.keep_alive = self.keep_alive or head.status == 100
            self._buffer = b""
            if self._interim > MAX_INTERIM_BYTES:
                raise ResponseError("too many or too large interim answers")
            exchange.upstream_interim(head)
            if self.exchange is not exchange:
                return
        self._buffer = b""
        self.keep_alive = self.keep_alive and head.keep_alive
        if head.content_length == len(received) and head.has_body and exchange.head.method != b"HEAD":
            # Nearly every answer comes whole.
            self._release(is_clean=size < self._full_read or self.transport.is_quiet)
            exchange.upstream_head(head, received, True, [])
            return
        decoder = self._decoder = decoder_of(
            head.chunked, head.content_length, is_empty=exchange.head.method == b"HEAD" or not head.has_body
        )
        piece, ended, trailers = self._read_body(decoder, received, size)
        exchange.upstream_head(head, piece, ended, trailers)
        if not ended and self.exchange is exchange:
            if decoder.has_more:
                self._wait_for_turn()
            elif isinstance(decoder, LengthDecoder) and decoder.left >= SPLICE_BYTES:
                exchange.splice_answer(KernelCopy(self.transport, decoder.left, self._moved, self._spliced))

    @never_raises
    def _moved(self, count: int) -> None:
        """So much of a spliced answer went downstream."""
        self.liveness.heard_at = self._deadlines.now
        if self._request_sent and not self._paused:
            self.deadline = self._deadlines.now + self._timeouts.read_seconds
        if self.exchange is not None:
            self.exchange.answer_moved(count)

    def _spliced(self) -> None:
        """All of a spliced answer went downstream; what upstream said behind it is still in the socket."""
        exchange = self.exchange
        try:
            if exchange is not None:
                self._release(is_clean=self.transport.is_quiet)
                exchange.upstream_body(b"", True, [])
        except Exception:
            self._crash(exchange)

    def _read_body(self, decoder: Decoder, received: bytes, size: int) -> tuple[bytes, bool, list[bytes]]:
        """Return the payload in *received*, the end of a read of *size* bytes, 0 for none; whether the body ended, and its trailers.

        At the end of an answer the connection is released before the exchange is told: the next request may need it.
        """
        piece = b"".join(decoder.feed(received))
        if not decoder.finished:
            return piece, False, []
        self._release(is_clean=not decoder.rest and (0 < size < self._full_read or self.transport.is_quiet))
        return piece, True, [line for line in decoder.trailers if is_forwardable_trailer(line)]

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
        self.transport.call_in_batch(self._go_on)

    @never_raises
    def _go_on(self) -> None:
        """Go on with what has come."""
        if not self._waits_for_turn:
            return
        self._waits_for_turn = False
        if self.exchange is not None and self._has_more():
            self._await_upstream()
            self.dataReceived(b"")
        if self._waits_for_turn:
            return
        if self._loss is not None:
            self.connectionLost(self._loss)
        elif not self._paused:
            self.transport.resumeProducing()

    def _has_more(self) -> bool:
        """Whether more of an answer has come than was read."""
        return self._decoder is not None and self._decoder.has_more

    def _switch(self, exchange: AnswerSink, head: ResponseHead, first: bytes) -> None:
        # What is left of a body would be taken for what the tunnel begins with.
        if not self._request_sent or not may_switch(exchange.head.upgrade, head.upgrade):
            raise ResponseError("upstream switches to a protocol that was not asked for, or too soon")
        self.half_closes, self._tunnel_end = True, TunnelEnd()
        self._buffer = b""
        exchange.upstream_switched(head, first)
        # What bounded the request may not be for the tunnel.
        self._timeouts = exchange.timeouts or self._keeper.timeouts
        self._await_upstream()

    def _release(self, is_clean: bool) -> None:
        """Leave the exchange after a whole answer, and go back to the pool if that is safe."""
        self._delivery = None
        self._decoder = None
        self.exchange = None
        self.deadline = NEVER
        # With much of this request still to be taken, the next one would wait behind it.
        if is_clean and self.keep_alive and self._request_sent and not self._is_full:
            if self._paused:
                self._paused = False
                self.transport.resumeProducing()
            taker: Taker[UpstreamConnection] = self._keeper
            taker.release(self)
        elif self._request_sent:
            self.close()
        else:
            self.transport.abortConnection()

    # Time

    def _watch_sending(self) -> None:
        """Have the deadlines look, from the next tick on, at how the request is taken."""
        self._is_full = True
        self._progress = Progress()
        self.deadline = self._deadlines.now

    def _await_upstream(self) -> None:
        """Set until when upstream has to act."""
        if self._is_full:
            self.deadline = self._deadlines.now
        elif self.half_closes:
            # While nothing is taken of what is said, nobody reads of its sender that it has ended its side.
            self.deadline = self._deadlines.now + TUNNEL_END_SECONDS
            self._tunnel_moved()
        elif self._paused or not self._request_sent:
            self.deadline = NEVER
        else:
            self.deadline = self._deadlines.now + self._timeouts.read_seconds

    def _tunnel_moved(self) -> None:
        """Something went through a tunnel, which may rest as long as it likes unless its route says otherwise."""
        if self._is_full:
            return
        if self._tunnel_end is not None and self._tunnel_end.has_begun:
            self.deadline = self._deadlines.now + TUNNEL_END_SECONDS
        elif self._timeouts is not self._keeper.timeouts:
            self.deadline = self._deadlines.now + self._timeouts.read_seconds

    @never_raises
    def expire(self) -> None:
        """Called by the deadlines: idle, silent or closing for too long, or how the request is taken is to be looked at."""
        now, end = self._deadlines.now, self._tunnel_end
        self.deadline = NEVER
        if end is not None and (self._closing or end.has_begun) and end.is_taken(self.transport):
            self.deadline = now + (LINGER_SECONDS if self._closing else TUNNEL_END_SECONDS)
        elif self._closing:
            self.transport.abortConnection()
        elif self.exchange is None:
            self.close_idle()
        elif self._is_full and (end is None or not end.has_begun):
            assert self._progress is not None
            waiting = self.transport.unsent or int(not self._is_copying)
            if self._progress.is_stuck(waiting, now, self._timeouts.send_seconds):
                self._stop_waiting("upstream took nothing of the request for too long")
            else:
                is_over = end is not None and end.begins(self.transport, self.exchange.downstream_transport())
                self.deadline = now + (TUNNEL_END_SECONDS if is_over else 0.0)
        elif end is not None and end.has_begun:
            # One side has ended, and the other had its time: what is still to be sent may go.
            self.exchange.downstream_lost()
        elif end is not None and self._timeouts is self._keeper.timeouts:
            downstream = self.exchange.downstream_transport()
            if end.begins(self.transport, downstream) or self._paused or self.transport.unsent:
                self.deadline = now + TUNNEL_END_SECONDS
        elif self.transport.is_held_up:
            # The kernel moves the answer, and waits for downstream.
            self.deadline = now + self._timeouts.read_seconds
        else:
            self._stop_waiting("upstream was silent for too long")

    def _stop_waiting(self, why: str) -> None:
        if not self._touched:
            self.liveness.miss(waiting_since(self._deadlines, self._timeouts.read_seconds))
        self._break_off(why, Fault.STALLED if self._touched else Fault.SILENT)

    # The end

    def end_sending(self) -> None:
        """Downstream's side of a tunnel ended: tell upstream after what was sent, and give it time for its own end."""
        if self._tunnel_end is not None:
            self._tunnel_end.has_begun = True
        self._tunnel_moved()
        link_settings = self.endpoint.link_settings
        if link_settings is None or link_settings.tls is None:
            # With TLS, the end of one side would end both.
            self.transport.loseWriteConnection()

    def end_tunnel(self) -> None:
        """Downstream is gone from a tunnel: close once everything is sent, and what was said last is taken."""
        self._begin_closing()
        if self._tunnel_end is not None and self._tunnel_end.has_rest(self.transport):
            # Closed while upstream speaks, it would be reset, and the rest lost: what comes is dropped until upstream closes.
            self.transport.loseWriteConnection()
            self.transport.resumeProducing()
        else:
            self.transport.loseConnection()

    def close(self) -> None:
        """Close once everything is sent; a peer that does not take it has a while to do so."""
        self._begin_closing()
        self.transport.loseConnection()

    def _begin_closing(self) -> None:
        self.exchange, self._closing = None, True
        if self._tunnel_end is not None:
            self._tunnel_end.taker = None
        self.deadline = self._deadlines.now + LINGER_SECONDS

    def close_idle(self) -> None:
        """Close an idle connection, which was in use long ago."""
        self._keeper.discard(self)
        self.close()

    def abort(self) -> None:
        """End the connection at once; the exchange, if any, is told when it is lost."""
        self.transport.abortConnection()

    def abandon(self) -> None:
        """Drop the exchange and the connection, at once and without a regular end."""
        self.exchange = None
        self.transport.abortConnection()

    def discard_and_abort(self) -> None:
        """End the connection at once, and offer it to nobody."""
        self._keeper.discard(self)
        self.transport.abortConnection()

    def _break_off(self, why: str, fault: Fault) -> None:
        """Upstream's answer is of no use: end the connection, and the exchange with it."""
        exchange, self.exchange = self.exchange, None
        self.transport.abortConnection()
        if exchange is not None:
            self._tell_lost(exchange, why, fault)

    @never_raises
    def readConnectionLost(self) -> None:
        """Upstream says no more in a tunnel; of any other connection that is the end."""
        exchange = self.exchange
        if exchange is not None:
            taker = exchange.upstream_ended()
            if taker is not None and self._tunnel_end is not None:
                self._tunnel_end.taker, self._tunnel_end.has_begun = taker, True
                self._tunnel_moved()
                return
        self.close()
        if exchange is not None:
            self._tell_lost(exchange, CLOSED, Fault.BROKEN)

    @never_raises
    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is gone, and with it what of an answer was still to come."""
        if self._waits_for_turn and self.exchange is not None:
            # What came before the end has to wait for its turn, and is part of an answer.
            self.keep_alive = False
            self._loss = reason
            return
        self._deadlines.forget(self)
        self._keeper.lost(self)
        exchange, self.exchange, self._tunnel_end = self.exchange, None, None
        delivery, self._delivery = self._delivery, None
        took_nothing = delivery is not None and delivery.took_nothing()
        if exchange is None:
            return
        clean = reason.check(ConnectionDone) is not None
        if clean and isinstance(self._decoder, CloseDecoder):
            self.exchange = exchange
            exchange.upstream_body(b"", True, [])
            self.exchange = None
            return
        why = CLOSED if clean else "connection lost"
        if self.endpoint.link_settings is not None and not clean:
            # What ends TLS has more to say than a reset, such as that our certificate is not liked.
            why = f"{why}: {words_of_error(reason.value)}"
        if self._touched:
            fault = Fault.BROKEN
        elif not self.is_reused:
            fault = Fault.DROPPED
        else:
            self._keeper.was_stale(self.endpoint)
            fault = Fault.UNTAKEN if clean and took_nothing else Fault.STALE
        self._tell_lost(exchange, why, fault)

    def _tell_lost(self, exchange: AnswerSink, why: str, fault: Fault) -> None:
        try:
            exchange.upstream_lost(why, fault)
        except Exception:
            self._crash(exchange)

    # Bugs

    def raised(self) -> None:
        """A bug was met: end the exchange at hand, and the connection with it."""
        self._crash(self.exchange)

    def _crash(self, exchange: AnswerSink | None) -> None:
        """End *exchange*, which met a bug, and the connection unless it went to another one meanwhile."""
        if self.exchange is exchange:
            self.exchange = None
        try:
            if exchange is None:
                log.failure("A connection to an endpoint failed by a bug; it is the only one that ends")
            else:
                exchange.crash()
        except Exception:
            log.failure("What met a bug could not be ended in order")
            if exchange is not None:
                exchange.hang_up()
        if self.exchange is None:
            self.discard_and_abort()
