"""The upstream side of one exchange, over one stream of HTTP/2.

What comes for a stream is collected while the session reads, and told to the exchange once it has: so an
answer that comes in one piece, as nearly all do, is one call whatever frames it was in, and nothing of
what the exchange does then happens amid reading.

How long an endpoint may take is as with HTTP/1.1 (``connection``), but for one stream: it ends by
RST_STREAM, and the connection goes on for the others.  An answer without content (to HEAD, or 204 or 304) is whole with its head, as over
HTTP/1.1: the exchange is over then, and a stream that does not end soon is reset.
"""

from typing import Protocol

from twisted.logger import Logger

from ingress.http.response_head import ResponseHead
from ingress.http2.blocks import request_block
from ingress.http2.client import AnswerConnection, ClientStream
from ingress.http2.faults import ErrorCode, name_of_code
from ingress.model.serving.limits import Timeouts
from ingress.proxy.contract.deadlines import NEVER, Deadlines, waiting_since
from ingress.proxy.contract.faults import Fault
from ingress.proxy.contract.limits import STREAM_END_SECONDS
from ingress.proxy.contract.progress import Progress
from ingress.proxy.contract.sides import AnswerSink, Upstream
from ingress.proxy.contract.transport import KernelCopy
from ingress.routing.balancing.health import Liveness

log = Logger()


class StreamSession(AnswerConnection, Protocol):
    """What a stream asks of its session."""

    deadlines: Deadlines
    timeouts: Timeouts
    scheme: bytes
    liveness: Liveness
    news: "list[UpstreamStream]"
    """Streams with something to tell their exchanges."""
    was_used: bool
    """Whether the endpoint has said anything about any request."""

    def begin(self, stream: "UpstreamStream", block: bytes, piece: bytes, ended: bool) -> None:
        """Send the head of a request, and the first *piece* of its body."""

    def was_silent(self, seconds: float) -> None:
        """A stream waited in vain for so long."""


class UpstreamStream(ClientStream, Upstream):
    """One request to an endpoint, and its answer."""

    __slots__ = (
        "_exchange",
        "_fault",
        "_has_news",
        "_head",
        "_interim_heads",
        "_is_full",
        "_is_over",
        "_is_whole",
        "_piece",
        "_pieces",
        "_progress",
        "_request_sent",
        "_session",
        "_timeouts",
        "_touched",
        "_trailers",
        "deadline",
        "is_reused",
        "is_shared",
        "may_decline",
        "may_rest",
    )

    _timeouts: Timeouts

    def __init__(self, session: StreamSession, is_reused: bool, is_shared: bool) -> None:
        """*is_reused* says that the connection was used before, *is_shared* that others at least use it, too."""
        # Not by ``super``: to find it so takes as long as what it does.
        ClientStream.__init__(self, session)
        self._session = session
        self._exchange: AnswerSink | None = None
        self.is_reused = is_reused
        self.is_shared = is_shared
        self.may_decline = self.may_rest = True
        self.deadline = NEVER
        self._request_sent = False
        self._is_full = False
        """Whether some of the request waits to be taken, which is looked at."""
        self._progress: Progress | None = None
        self._touched = False
        """Whether anything of an answer has come."""
        self._is_over = False
        """Whether nothing more can be sent or will come."""
        # The news that the exchange does not know yet
        self._has_news = False
        self._interim_heads: list[ResponseHead] | None = None
        self._head: ResponseHead | None = None
        self._piece = b""
        self._pieces: list[bytes] | None = None
        """What came behind the first piece."""
        self._is_whole = False
        self._trailers: list[bytes] | None = None
        self._fault: tuple[str, Fault] | None = None

    # Upstream

    @property
    def liveness(self) -> Liveness:
        """What is known of the endpoint."""
        return self._session.liveness

    def begin(self, exchange: AnswerSink, fields: bytes, body: bytes, ended: bool) -> None:
        """Send a request: its head, with *fields* in it, and what there is of its body."""
        session = self._session
        head = exchange.head
        self._exchange = exchange
        self._timeouts = exchange.timeouts or session.timeouts
        self.has_no_content = head.method == b"HEAD"
        self._request_sent = ended
        session.begin(self, request_block(head, session.scheme, fields), body, ended)
        if self.waiting:
            self._watch_sending()
            exchange.upstream_full()
        elif ended:
            self.deadline = session.deadlines.now + self._timeouts.read_seconds

    def send_body(self, piece: bytes) -> None:
        """Send more of the request body."""
        if self._is_over:
            return
        self.send(piece, False)
        if self.waiting and not self._is_full:
            self._watch_sending()
            if self._exchange is not None:
                self._exchange.upstream_full()

    def splice_body(self, copy: KernelCopy) -> bool:
        """Frames are for us to make."""
        return False

    def end_body(self) -> None:
        """The request body is complete."""
        if not self._request_sent and not self._is_over:
            self._request_sent = True
            self.send(b"", True)
            self._await_upstream()

    def send_raw(self, octets: bytes) -> None:
        """Nothing: no tunnel leads here."""

    def end_sending(self) -> None:
        """Nothing: no tunnel leads here."""

    def end_tunnel(self) -> None:
        """Nothing: no tunnel leads here."""

    def pause(self) -> None:
        """Let the endpoint send no more than it may by now; the silence is ours."""
        super().pause()
        if not self._is_full:
            self.deadline = NEVER

    def resume(self) -> None:
        """Let it go on."""
        super().resume()
        self._await_upstream()

    def abandon(self) -> None:
        """Drop the exchange, and tell the endpoint that nobody waits for it any more."""
        self._exchange = None
        self._give_up(ErrorCode.CANCEL)

    # What came

    def interim(self, head: ResponseHead) -> None:
        """A 1xx head came."""
        if self._interim_heads is None:
            self._interim_heads = []
        self._interim_heads.append(head)
        self._note()

    def answered(self, head: ResponseHead, ended: bool) -> None:
        """The head of the answer came."""
        self._head = head
        self._note()
        if ended:
            self._is_whole = self._is_over = True

    def body(self, piece: bytes, ended: bool) -> None:
        """A piece of the body came, or its end."""
        if not self._piece:
            self._piece = piece
        elif self._pieces is None:
            self._pieces = [self._piece, piece]
        else:
            self._pieces.append(piece)
        if not self._has_news:
            self._note()
        if ended:
            self._is_whole = self._is_over = True

    def trailers(self, lines: list[bytes]) -> None:
        """The body is whole."""
        self._trailers = lines
        if not self._has_news:
            self._note()
        self._is_whole = self._is_over = True

    def broken(self, code: ErrorCode | int, why: str) -> None:
        """The stream was reset, by the endpoint, or since what came cannot go on."""
        if self._has_all:
            self._is_whole = self._is_over = True
            self._note()
        elif not self._is_over:
            fault = Fault.INVALID
            if code == ErrorCode.REFUSED_STREAM and not self._touched:
                fault = Fault.DECLINED if self.is_shared else Fault.DECLINED_AT_ONCE
            elif self._touched:
                fault = Fault.BROKEN
            self._fault = (f"{why}: {name_of_code(code)}", fault)
            self._note()
            self._is_over = True

    def lost(self, why: str, is_untaken: bool) -> None:
        """The connection is gone; *is_untaken* says that the endpoint took nothing of this."""
        if self._is_over:
            return
        if self._has_all:
            self._is_whole = True
        elif self._touched:
            self._fault = (why, Fault.BROKEN)
        else:
            stale = Fault.UNTAKEN if is_untaken else Fault.STALE
            self._fault = (why, stale if self.is_reused else Fault.DROPPED)
        self._is_over = True
        self.deliver()

    @property
    def _has_all(self) -> bool:
        """Whether nothing but its end is missing of the answer, since it has no content.

        Then it is whole, as it is over HTTP/1.1, however the stream ends: content behind such a head makes an answer malformed (RFC 9113 section
        8.1.1), but that comes when the head is on its way, and nobody is told of it.
        """
        return self.has_no_content and self.knows_head and not self._is_over

    @property
    def _is_answered(self) -> bool:
        """Whether the client has waited for all that there can be, and the stream alone has not ended."""
        return self._has_all and self._request_sent and not self._is_full

    def _note(self) -> None:
        self._touched = True
        if not self._has_news:
            self._has_news = True
            self._session.was_used = True
            self._session.news.append(self)

    def deliver(self) -> None:
        """Tell the exchange what came since the last time."""
        self._has_news = False
        if not self._is_over and (self._piece or self._head is not None or self._interim_heads is not None):
            # It has said something, and has its time anew for what follows.
            self._await_upstream()
        exchange = self._exchange
        if exchange is None:
            return
        try:
            if self._interim_heads is not None:
                heads, self._interim_heads = self._interim_heads, None
                for interim in heads:
                    exchange.upstream_interim(interim)
                    if self._exchange is not exchange:
                        return
            piece = self._piece
            if piece:
                self._piece = b""
                if self._pieces is not None:
                    piece, self._pieces = b"".join(self._pieces), None
            head = self._head
            is_whole = self._is_whole or (self.has_no_content and self._is_answered)
            if is_whole:
                self._exchange = None
            if head is not None:
                self._head = None
                exchange.upstream_head(head, piece, is_whole, self._trailers or [])
            elif piece or is_whole:
                exchange.upstream_body(piece, is_whole, self._trailers or [])
            if self._fault is not None and self._exchange is exchange:
                self._exchange = None
                exchange.upstream_lost(*self._fault)
        except Exception:
            self._crash(exchange)

    # The end

    def _give_up(self, code: ErrorCode) -> None:
        """End the stream, unless it is over or has not begun."""
        if not self._is_over:
            self._is_over = True
            self.deadline = NEVER
            if self.id:
                self.reset(code)

    def _crash(self, exchange: AnswerSink) -> None:
        """End *exchange*, which met a bug, and the stream with it."""
        if self._exchange is exchange:
            self._exchange = None
        try:
            exchange.crash()
        except Exception:
            log.failure("What met a bug could not be ended in order")
            exchange.hang_up()
        self._give_up(ErrorCode.INTERNAL_ERROR)

    # Time

    def drained(self) -> None:
        """All that waited of the request was sent."""
        exchange = self._exchange
        self._is_full = False
        if exchange is None:
            return
        self._await_upstream()
        try:
            exchange.upstream_drained()
        except Exception:
            self._crash(exchange)

    def _watch_sending(self) -> None:
        """Have each tick look at how the request is taken."""
        self._is_full = True
        self._progress = Progress()
        self.deadline = self._session.deadlines.now

    def _await_upstream(self) -> None:
        """Set until when the endpoint has to act."""
        if self._is_full:
            self.deadline = self._session.deadlines.now
        elif self.has_no_content and self._is_answered:
            self.deadline = self._session.deadlines.now + STREAM_END_SECONDS
        elif self.is_paused or not self._request_sent:
            self.deadline = NEVER
        else:
            self.deadline = self._session.deadlines.now + self._timeouts.read_seconds

    def expire(self) -> None:
        """Silent for too long, or how the request is taken is to be looked at."""
        if self._is_full and not self.is_blocked:
            # Its end went with the last of it.
            self._is_full = False
            self._await_upstream()
        elif self._is_full:
            assert self._progress is not None
            now = self._session.deadlines.now
            if self._progress.is_stuck(self.unsent, now, self._timeouts.send_seconds):
                self._stop_waiting("upstream took nothing of the request for too long")
        elif self._exchange is None:
            # It has its answer, and nobody waits.
            self._give_up(ErrorCode.CANCEL)
        else:
            self._stop_waiting("upstream was silent for too long")

    def _stop_waiting(self, why: str) -> None:
        self._is_whole = self._has_all
        exchange = self._exchange
        if not self._is_whole:
            self._exchange = None
        self._give_up(ErrorCode.CANCEL)
        session, seconds = self._session, self._timeouts.read_seconds
        session.was_silent(seconds)
        if not self._touched:
            session.liveness.miss(waiting_since(session.deadlines, seconds))
        if self._is_whole:
            self.deliver()
        elif exchange is not None:
            try:
                exchange.upstream_lost(why, Fault.STALLED if self._touched else Fault.SILENT)
            except Exception:
                self._crash(exchange)
