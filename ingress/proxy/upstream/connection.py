"""An upstream connection: sends requests, reads answers, one exchange at a time.

States: idle (no exchange; anything received is an error), reading a head,
reading a body, tunnel.  An answer whose end is not certain ends the connection;
only one that ended cleanly, after a request that was sent whole, leaves it for
the next exchange.
"""

from typing import TYPE_CHECKING

from attrs import evolve
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IHalfCloseableProtocol, IPushProducer
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import alsoProvides, implementer

from ingress.http.body import (
    BodyError,
    ChunkedDecoder,
    CloseDecoder,
    Decoder,
    LengthDecoder,
    chunk,
    last_chunk,
)
from ingress.http.forwarding import request_head_bytes
from ingress.http.response_head import (
    MAX_RESPONSE_HEAD,
    ResponseError,
    ResponseHead,
    check_beginning,
    is_forwardable_trailer,
    parse_response_head,
)
from ingress.model.backends import Endpoint
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.faults import Fault
from ingress.proxy.contract.limits import MAX_INTERIM, SPLICE_BYTES
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.contract.sides import AnswerSink
from ingress.proxy.contract.transport import KernelCopy, splice
from ingress.proxy.upstream.timeouts import PatientUpstream
from ingress.routing.health import liveness_of
from ingress.tls.upstream import words_of_error

if TYPE_CHECKING:
    from ingress.proxy.upstream.pool import UpstreamPool


@implementer(IPushProducer)
class UpstreamConnection(PatientUpstream):
    """The upstream half of an exchange, speaking HTTP/1.1."""

    may_decline = False
    may_rest = False

    def __init__(self, endpoint: Endpoint, pool: "UpstreamPool") -> None:
        super().__init__(pool)
        self.endpoint = endpoint
        self.liveness = liveness_of(pool.livenesses, endpoint)
        self.is_reused = False
        self.idle_since = 0.0
        self._buffer = b""
        self._keep_alive = False
        self._decoder: Decoder | None = None
        self._interim = 0
        self._chunked_request = False
        self._connected = False

    def __repr__(self) -> str:
        doing = "idle" if self._exchange is None else repr(self._exchange)
        return f"<UpstreamConnection {self.endpoint} {doing}>"

    # Sending

    @property
    def is_quiet(self) -> bool:
        """Whether upstream has said nothing to an idle connection, not even goodbye, as far as is known."""
        return bool(getattr(self.transport, "is_quiet", True))

    def begin(self, exchange: AnswerSink, fields: bytes, body: bytes, ended: bool) -> None:
        """Send a request: its head, with *fields* in it, and what there is of its body."""
        self._exchange = exchange
        self._buffer = b""
        self._decoder = None
        self._interim = 0
        self._touched = False
        self._chunked_request = exchange.head.chunked
        self._request_sent = ended
        self._timeouts = timeouts = exchange.timeouts or self._pool.timeouts
        # Until the request is whole, downstream is awaited, or that upstream takes what there is of it.
        self.deadline = self._deadlines.now + timeouts.read_seconds if ended else NEVER
        head = request_head_bytes(exchange.head, fields)
        if self._chunked_request:
            head += chunk(body) if body else b""
            head += last_chunk([]) if ended else b""
        else:
            head += body
        self.transport.write(head)

    def send_body(self, piece: bytes) -> None:
        """Send more of the request body."""
        self.transport.write(chunk(piece) if self._chunked_request else piece)

    def splice_body(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of a request body of known length, if that is possible."""

        def ended() -> None:
            self._is_copying = self._is_full = False
            copy.ended()

        if self._chunked_request or not splice(self.transport, evolve(copy, ended=ended)):
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
        if not self._tunnel and not self._is_full:
            self.deadline = NEVER
        self._paused = True
        self.transport.pauseProducing()

    def resume(self) -> None:
        """Go on reading the answer."""
        self._paused = False
        if not self._waits_for_turn:
            self._await_upstream()
            self.transport.resumeProducing()

    def abandon(self) -> None:
        """Drop the exchange and the connection, at once and without a regular end."""
        self._exchange = None
        self.transport.abortConnection()

    def discard_and_abort(self) -> None:
        """End the connection at once, and offer it to nobody."""
        self._pool.discard(self)
        self.transport.abortConnection()

    def close_idle(self) -> None:
        """Close an idle connection, which was in use long ago."""
        self._pool.discard(self)
        self.close()

    # IPushProducer: the transport tells how full it is.

    @never_raises
    def pauseProducing(self) -> None:
        """The transport's buffer is full."""
        if not self._tunnel:
            self._watch_sending()
        if self._exchange is not None:
            self._exchange.upstream_full()

    @never_raises
    def resumeProducing(self) -> None:
        """The transport's buffer has room again."""
        self._is_full = self._is_copying
        if self._exchange is not None:
            self._await_upstream()
            self._exchange.upstream_drained()

    def stopProducing(self) -> None:
        """The transport is gone; ``connectionLost`` says so too."""

    # Receiving

    @never_raises
    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        self.transport.setTcpKeepAlive(True)
        self.transport.registerProducer(self, True)
        self._connected = True
        self._deadlines.watch(self)
        self._pool.connected(self)

    def dataReceived(self, received: bytes) -> None:
        exchange = self._exchange
        if self._waits_for_turn and isinstance(self._decoder, ChunkedDecoder):
            self._decoder.keep(received)
            return
        if exchange is None:
            # Nobody asked: whatever this is, it must not become the answer to the next request.
            self.discard_and_abort()
            return
        if self._tunnel:
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
                piece, ended, trailers = self._read_body(self._decoder, received)
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
        while True:
            end = received.find(b"\r\n\r\n")
            if end < 0 or end > MAX_RESPONSE_HEAD:
                if len(received) > MAX_RESPONSE_HEAD:
                    raise ResponseError("response head too large")
                # The last bytes may be part of a line ending.
                check_beginning(received, max(0, len(self._buffer) - 3))
                self._buffer = received
                return
            head = parse_response_head(received[:end])
            received = received[end + 4 :]
            if head.status >= 200:
                break
            if head.status == 101:
                self._switch(exchange, head, received)
                return
            self._interim += 1
            self._buffer = b""
            if self._interim > MAX_INTERIM:
                raise ResponseError("too many interim answers")
            exchange.upstream_interim(head)
            if self._exchange is not exchange:
                return
        self._buffer = b""
        self._keep_alive = head.keep_alive
        if head.content_length == len(received) and head.has_body and exchange.head.method != b"HEAD":
            # Nearly every answer comes whole.
            self._release(is_clean=True)
            exchange.upstream_head(head, received, True, [])
            return
        if exchange.head.method == b"HEAD" or not head.has_body:
            self._decoder = LengthDecoder(0)
        elif head.chunked:
            self._decoder = ChunkedDecoder()
        elif head.content_length >= 0:
            self._decoder = LengthDecoder(head.content_length)
        else:
            self._decoder = CloseDecoder()
        piece, ended, trailers = self._read_body(self._decoder, received)
        exchange.upstream_head(head, piece, ended, trailers)
        if not ended and self._exchange is exchange:
            decoder = self._decoder
            if decoder.has_more:
                self._wait_for_turn()
            elif isinstance(decoder, LengthDecoder) and decoder.left >= SPLICE_BYTES:
                exchange.splice_answer(KernelCopy(self.transport, decoder.left, self._moved, self._spliced))

    @never_raises
    def _moved(self, count: int) -> None:
        """So much of a spliced answer went downstream."""
        self.liveness.heard_at = self._deadlines.now
        if self._request_sent:
            self.deadline = self._deadlines.now + self._timeouts.read_seconds
        if self._exchange is not None:
            self._exchange.answer_moved(count)

    def _spliced(self) -> None:
        """All of a spliced answer went downstream."""
        exchange = self._exchange
        try:
            if exchange is not None:
                self._release(is_clean=True)
                exchange.upstream_body(b"", True, [])
        except Exception:
            self._crash(exchange)

    def _read_body(self, decoder: Decoder, received: bytes) -> tuple[bytes, bool, list[bytes]]:
        """Return the payload in *received*, whether the body ended, and its trailers.

        A connection whose answer is whole is released here, before the exchange
        is told, so that the next request of the same downstream connection finds
        it free.
        """
        piece = b"".join(decoder.feed(received))
        if not decoder.finished:
            return piece, False, []
        self._release(is_clean=not decoder.rest)
        return piece, True, [line for line in decoder.trailers if is_forwardable_trailer(line)]

    def _switch(self, exchange: AnswerSink, head: ResponseHead, first: bytes) -> None:
        if not exchange.head.upgrade or head.upgrade.lower() != exchange.head.upgrade:
            raise ResponseError("upstream switches to a protocol that was not asked for")
        self._tunnel = True
        # From now on, and only now, its end is not the end of everything.
        alsoProvides(self, IHalfCloseableProtocol)
        self._await_upstream()
        self._buffer = b""
        exchange.upstream_switched(head, first)

    def _release(self, is_clean: bool) -> None:
        """Leave the exchange after a whole answer, and go back to the pool if that is safe."""
        if self._delivery is not None:
            self._forget_delivery()
        self._decoder = None
        self._exchange = None
        self.deadline = NEVER
        # With much of this request still to be taken, the next one would wait behind it.
        if is_clean and self._keep_alive and self._request_sent and not self._is_full:
            if self._paused:
                self._paused = False
                self.transport.resumeProducing()
            self._pool.release(self)
        elif self._request_sent:
            self.close()
        else:
            self.transport.abortConnection()

    def _break_off(self, why: str, fault: Fault) -> None:
        """Upstream's answer is of no use: end the connection, and the exchange with it."""
        exchange, self._exchange = self._exchange, None
        self.transport.abortConnection()
        if exchange is not None:
            self._tell_lost(exchange, why, fault)

    @never_raises
    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._waits_for_turn and self._exchange is not None:
            # What came before the end has to wait for its turn, and is part of an answer.
            self._keep_alive = False
            self._loss = reason
            return
        self._deadlines.forget(self)
        if self._connected:
            self._pool.lost(self)
        exchange, self._exchange = self._exchange, None
        took_nothing = self._forget_delivery()
        if exchange is None:
            return
        clean = reason.check(ConnectionDone) is not None
        if clean and isinstance(self._decoder, CloseDecoder):
            self._exchange = exchange
            exchange.upstream_body(b"", True, [])
            self._exchange = None
            return
        why = "connection closed" if clean else "connection lost"
        if self.endpoint.link_settings is not None and not clean:
            # What ends TLS has more to say than a reset, such as that our certificate is not liked.
            why = f"{why}: {words_of_error(reason.value)}"
        if self._touched:
            fault = Fault.BROKEN
        elif not self.is_reused:
            fault = Fault.DROPPED
        else:
            self._pool.was_stale(self.endpoint)
            fault = Fault.UNTAKEN if clean and took_nothing else Fault.STALE
        self._tell_lost(exchange, why, fault)
