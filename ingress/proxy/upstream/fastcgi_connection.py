"""An upstream connection that speaks FastCGI: one request at a time, in the role of the web server.

It is kept between requests, timed, and ended as one of HTTP/1.1 is, and differs from it in the bytes alone (``ingress.fastcgi``).  Unless
its route wants connections to be kept, the endpoint is asked to close it after its answer: while one rests, a process of PHP-FPM is there
for nobody else.

An answer is over with END_REQUEST.  One that has all bytes of its Content-Length, or the end of STDOUT, is whole without it, should the
connection end or be silent then; and what has no body, with its head.
"""

from typing import Final

from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from ingress.fastcgi.answer import Answer
from ingress.fastcgi.params import params_records
from ingress.fastcgi.records import (
    STDIN,
    FastCgiError,
    RequestDeclined,
    abort_request,
    begin_request,
    end_of_stream,
    stream_records,
)
from ingress.http.field_values import first_value
from ingress.http.response_head import ResponseError, ResponseHead
from ingress.http.upgrades import is_web_socket
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.faults import Fault
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.contract.sides import AnswerSink
from ingress.proxy.contract.transport import KernelCopy
from ingress.proxy.upstream.connection import UpstreamConnection
from ingress.proxy.upstream.keepers import IdleKeeper

_CONTINUE: Final = ResponseHead(100, b"HTTP/1.1 100 Continue\r\n")


class FastCgiConnection(UpstreamConnection):
    """The upstream side of an exchange, speaking FastCGI."""

    __slots__ = ("_answer", "_fields", "_is_head_told", "_program_errors")

    may_decline = True

    def __init__(self, endpoint: Endpoint, keeper: IdleKeeper[UpstreamConnection]) -> None:
        super().__init__(endpoint, keeper)
        self._program_errors = keeper.program_errors
        self._answer: Answer | None = None
        """What is read; None between requests."""
        self._is_head_told = False
        self._fields = b""
        """Those of the request under way."""

    # Sending

    def begin(self, exchange: AnswerSink, fields: bytes, body: bytes, ended: bool) -> None:
        """Send a request: its params, and what there is of its body."""
        head, cgi = exchange.head, exchange.head.cgi
        is_upgrade = is_web_socket(head.upgrade)
        if cgi is None or is_upgrade or (not ended and head.content_length < 0):
            self.transport.abortConnection()
            if is_upgrade:
                exchange.fail(501, "no WebSocket leads to an endpoint that speaks FastCGI")
            elif cgi is None:
                exchange.fail(502, "the route has no params for an endpoint that speaks FastCGI")
            else:
                exchange.fail(500, "a body whose length changes on its way cannot be sent by FastCGI")
            return
        self.exchange = exchange
        self._fields = fields
        self._touched = self._is_head_told = False
        self.keep_alive = cgi.keeps_connection
        self._request_sent = ended
        self._timeouts = timeouts = exchange.timeouts or self._keeper.timeouts
        self._answer = Answer(timeouts.head_bytes, head.method == b"HEAD")
        self.deadline = self._deadlines.now + timeouts.read_seconds if ended else NEVER
        length = len(body) if ended and head.has_body else head.content_length
        octets = begin_request(cgi.keeps_connection) + params_records(head, cgi, fields, length)
        octets += stream_records(STDIN, body)
        if ended:
            octets += end_of_stream(STDIN)
        self.transport.write(octets)
        if head.expect_continue and not ended and self.exchange is exchange:
            # Nobody behind FastCGI says so.
            exchange.upstream_interim(_CONTINUE)

    def send_body(self, piece: bytes) -> None:
        """Send more of the request body."""
        self.transport.write(stream_records(STDIN, piece))

    def splice_body(self, copy: KernelCopy) -> bool:
        """Records are for us to make."""
        return False

    def end_body(self) -> None:
        """The request body is complete."""
        if not self._request_sent:
            super().end_body()
            self.transport.write(end_of_stream(STDIN))

    def abandon(self) -> None:
        """Drop the exchange, and tell the endpoint, if it hears that at once; the connection ends."""
        if self.exchange is None or self.transport.unsent:
            super().abandon()
        else:
            self.transport.write(abort_request())
            self.close()

    # Receiving

    def dataReceived(self, received: bytes) -> None:
        """Read on."""
        exchange, answer = self.exchange, self._answer
        if exchange is None or answer is None:
            # Nobody asked: whatever this is, it must not become the answer to the next request.
            if not self._closing:
                self.discard_and_abort()
            return
        if self._waits_for_turn:
            answer.keep(received)
            return
        self._touched = True
        self.liveness.heard_at = now = self._deadlines.now
        if self.deadline != NEVER and not self._is_full:
            self.deadline = now + self._timeouts.read_seconds
        try:
            self._read(exchange, answer, received)
        except RequestDeclined as declined:
            is_untouched = answer.is_untouched
            self._break_off(str(declined), Fault.DECLINED_AT_ONCE if is_untouched else Fault.INVALID)
        except (FastCgiError, ResponseError) as error:
            self._break_off(str(error), Fault.INVALID)
        except Exception:
            self._crash(exchange)

    def _read(self, exchange: AnswerSink, answer: Answer, received: bytes) -> None:
        """Read *received*, and tell the exchange what of the answer is in it."""
        try:
            piece = answer.feed(received)
        finally:
            if answer.errors:
                self._tell_errors(exchange, answer)
        is_over = answer.is_over
        head = None if self._is_head_told else answer.head
        self._is_head_told = answer.head is not None
        if is_over:
            # Before the exchange is told: the next request may need the connection.
            self._answer, self._fields = None, b""
            self._release(
                is_clean=answer.is_clean and (len(received) < self._full_read or self.transport.is_quiet)
            )
        if head is not None:
            exchange.upstream_head(head, piece, is_over, [])
        elif piece or is_over:
            exchange.upstream_body(piece, is_over, [])
        if not is_over and self.exchange is exchange and answer.has_more:
            self._wait_for_turn()

    def _tell_errors(self, exchange: AnswerSink, answer: Answer) -> None:
        said, answer.errors = answer.errors, b""
        head, request_id = exchange.head, first_value(self._fields, b"x-request-id")
        self._program_errors.tell(self.endpoint, head.method, head.target, request_id, said)

    def _has_more(self) -> bool:
        """Whether more of an answer has come than was read."""
        return self._answer is not None and self._answer.has_more

    # The end

    def _is_whole(self) -> bool:
        """Whether the answer under way lacks nothing but that the endpoint is done with the request."""
        return (
            self.exchange is not None
            and self._answer is not None
            and self._answer.is_whole
            and not self._waits_for_turn
        )

    def _tell_whole(self, exchange: AnswerSink) -> None:
        self._answer = None
        try:
            exchange.upstream_body(b"", True, [])
        except Exception:
            self._crash(exchange)

    def _stop_waiting(self, why: str) -> None:
        exchange = self.exchange
        if exchange is None or not self._is_whole():
            super()._stop_waiting(why)
            return
        self.exchange = None
        self.transport.abortConnection()
        self._tell_whole(exchange)

    @never_raises
    def readConnectionLost(self) -> None:
        """The endpoint says no more."""
        self._end(connectionDone, is_half=True)

    @never_raises
    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is gone, and with it what of an answer was still to come."""
        self._end(reason, is_half=False)

    def _end(self, reason: Failure, is_half: bool) -> None:
        exchange, is_whole = self.exchange, self._is_whole()
        if is_whole:
            self.exchange = None
        if is_half:
            super().readConnectionLost()
        else:
            super().connectionLost(reason)
        if exchange is not None and is_whole:
            self._tell_whole(exchange)
