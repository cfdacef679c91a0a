"""The downstream side of one exchange, over one stream of HTTP/2.

What the exchange says becomes frames here, and what the stream receives is told to it.  A stream that
cannot send stops its upstream, and an upstream that takes nothing leaves the stream without
credit, so each stream is slow for itself alone.

A WebSocket (RFC 8441) is a tunnel inside of a stream.  Its handshake is that of HTTP/1.1 towards upstream, so
its key and the proof that the key was understood belong to this side.
"""

from typing import Final, Protocol

from attrs import evolve
from twisted.logger import Logger

from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.http.web_socket import WebSocketKey
from ingress.http2.blocks import response_block, trailers_block, tunnel_block
from ingress.http2.faults import ErrorCode
from ingress.http2.frame_reader import FrameReader
from ingress.http2.frame_room import FrameRoom
from ingress.http2.frames import FRAME_BYTES, field_block_frames
from ingress.http2.stream import Stream, StreamConnection
from ingress.model.exchanges.causes import Cause
from ingress.model.serving.limits import Limits
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.limits import (
    ABOVE_WATERMARK_SECONDS,
    ENDED_SECONDS,
    MAX_HEADS_UNTAKEN,
    MAX_WAITING,
    TUNNEL_END_SECONDS,
)
from ingress.proxy.contract.progress import Progress
from ingress.proxy.contract.security import Security
from ingress.proxy.contract.sides import Answering, Downstream, RequestSink
from ingress.proxy.contract.transport import KernelCopy, Transport
from ingress.proxy.contract.turns import Turns
from ingress.proxy.downstream.framed_copy import FramedCopy
from ingress.proxy.downstream.h2_backlog import SendBacklog
from ingress.proxy.downstream.request_body import BodyPace

log = Logger()

_NO_TUNNEL: Final = ResponseHead(502, b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n", 0)
_KEPT: Final = FRAME_BYTES
"""What may have come of a frame that is not whole, and so is nobody's yet."""


class StreamSession(StreamConnection, Protocol):
    """What a stream asks of its session."""

    deadlines: Deadlines
    limits: Limits
    security: Security | None
    """What the handshake of the connection means for requests; None without TLS."""
    backlog: SendBacklog
    turns: Turns
    transport: Transport
    frame_room: FrameRoom
    """Where bodies go that need not be received to be sent on."""
    reader: FrameReader
    streams: "dict[int, DownstreamStream]"

    @property
    def site(self) -> Answering:
        """Where the connection came in."""

    def leave(self) -> None:
        """Take no more requests than those that are on their way."""


class DownstreamStream(Stream, Downstream):
    """One stream of *session*, and the downstream side of its exchange."""

    __slots__ = (
        "_ahead",
        "_copy",
        "_ends_at",
        "_held_at",
        "_is_tunnel",
        "_key",
        "_pace",
        "_progress",
        "_sent_before",
        "_session",
        "exchange",
        "is_held_back",
        "protocol",
        "security",
    )

    security: Security | None
    """What the handshake of the connection means for requests; None without TLS."""

    def __init__(
        self,
        session: StreamSession,
        stream_id: int,
        head: RequestHead,
        ended: bool,
        key: WebSocketKey | None,
    ) -> None:
        """With *key*, the request asks for a WebSocket."""
        # Not by ``super``: to find it so takes as long as what it does.
        Stream.__init__(self, session, stream_id, head.content_length, ended)
        self._session = session
        self.protocol = b"HTTP/2.0"
        self.security = session.security
        self.exchange: RequestSink | None = None
        self.is_held_back = False
        """Whether its endpoint has to wait for what other streams have to send, ..."""
        self._held_at = 0.0
        """... and since when."""
        self._pace: BodyPace | None = None
        """How fast the body comes, where it does not come with its head."""
        self._progress: Progress | None = None
        self._copy: FramedCopy | None = None
        """The rest of the answer's body, while it need not come here to be sent."""
        self._key = key
        self._is_tunnel = False
        self._ends_at = NEVER
        """Until when the other side may still say something, once one side has ended."""
        self._sent_before = 0
        """How much of a conversation's answer there was at the last look."""
        self._ahead: bytearray | None = None
        """What came for a tunnel that is not open yet."""

    @property
    def transport(self) -> Transport:
        """Its connection."""
        return self._session.transport

    @property
    def site(self) -> Answering:
        """Where it came in."""
        return self._session.site

    # From the client

    def await_body(self) -> None:
        """The request begins, and its body is not whole: from now on the client has the time that it may take."""
        session = self._session
        now = session.deadlines.now
        pace = self._pace = BodyPace(now, session.limits)
        if self.exchange is not None and self.exchange.passage is not None:
            pace.moved(self.exchange.passage.received, now)

    def received(self, piece: bytes, ended: bool) -> None:
        """Pass on a piece of the request body, or of a tunnel."""
        exchange = self.exchange
        if exchange is None:
            if self.local_ended:
                self._drop(ended)
            return
        try:
            if self._is_tunnel:
                self._take_from_tunnel(exchange, piece, ended)
            elif self._key is not None:
                if self._ahead is None:
                    self._ahead = bytearray()
                self._ahead += piece
                # Until the tunnel is open nobody takes it: the client may send a window's worth, and no more.
                self.pause()
                if ended and not self.is_refused:
                    # Nobody would end the stream else: there is no tunnel yet, and no answer any more.
                    self.reset(ErrorCode.CANCEL)
                    exchange.downstream_lost()
            else:
                if self._pace is not None:
                    self._pace.moved(len(piece), self._session.deadlines.now)
                if piece and exchange.passage is not None:
                    exchange.passage.take(piece)
                if ended and self.exchange is exchange and exchange.passage is not None:
                    exchange.passage.end()
        except Exception:
            self.raised()

    def _take_from_tunnel(self, exchange: RequestSink, piece: bytes, ended: bool) -> None:
        if piece:
            exchange.tunnel_from_downstream(piece)
        if ended:
            # Browsers end their side with their last frame, and want upstream's, too (RFC 6455 section 7.1.1).
            self._ends_at = self._session.deadlines.now + TUNNEL_END_SECONDS

    @property
    def is_refused(self) -> bool:
        """Whether the request is answered with an error."""
        return self.exchange is not None and self.exchange.status >= 400

    def await_rest(self) -> None:
        """The answer was sent before the request was whole: let the client read it in peace.

        curl 7.88 stops sending when it reads an error, but looks at no answer once its stream is reset.  After any other
        answer it waits for that reset alone, and without end.
        """
        self._ends_at = self._session.deadlines.now + ENDED_SECONDS

    def _drop(self, ended: bool) -> None:
        """Something came of a request that is answered: the connection gets credit for it, the stream none."""
        held, self.held = self.held, 0
        self.connection.incoming.give_back(held)
        if ended:
            self.connection.stream_sent(self)

    def broken(self, code: int, why: str) -> None:
        """The client left, or what it sent is not to go on."""
        if self._copy is not None:
            self._end_copy()
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            try:
                exchange.downstream_lost()
            except Exception:
                exchange.crash()

    def drained(self) -> None:
        """All that waited was sent."""
        self._progress = None
        session = self._session
        backlog = session.backlog
        if backlog.is_above_high_watermark:
            self.hold_back()
            backlog.shrank(session.outgoing, session.streams.values())
        elif self.exchange is not None:
            try:
                self.exchange.downstream_drained()
            except Exception:
                self.raised()

    # Downstream

    @property
    def is_full(self) -> bool:
        """Whether something of the answer waits, or is to wait; who has to wait then is told when nothing does."""
        if self._copy is not None and self._copy.is_stalled:
            return True
        return self.is_held_back or bool(self.waiting)

    def hold_back(self) -> None:
        """Have the endpoint say no more for now, also if there is none yet."""
        if not self.is_held_back and not self.is_blocked:
            self.is_held_back = True
            self._held_at = self._session.deadlines.now
            if self.exchange is not None:
                self.exchange.downstream_full()

    def go_on(self) -> None:
        """Have the endpoint go on that was held back."""
        if self.is_held_back:
            self.is_held_back = False
            if not self.is_blocked and self.exchange is not None:
                try:
                    self.exchange.downstream_drained()
                except Exception:
                    self.raised()

    def is_neglected(self, now: float) -> bool:
        """Whether the client has given this stream no credit for a while, and something waits for that alone."""
        if self.window > 0:
            return False
        if not self.is_blocked:
            return self.is_held_back and now - self._held_at >= ABOVE_WATERMARK_SECONDS
        return self._progress is not None and self._progress.is_stuck(
            self._untaken, now, ABOVE_WATERMARK_SECONDS
        )

    def give_up(self) -> None:
        """End the stream of a client that takes nothing."""
        self.reset(ErrorCode.CANCEL)
        self.broken(ErrorCode.CANCEL, "takes nothing of its answer")

    def respond(self, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send the head, and what there is of the body with it in one write."""
        exchange = self.exchange
        assert exchange is not None
        if self._key is not None and 200 <= head.status < 300:
            # To the client this would be an open tunnel (RFC 8441 section 5), and there is none.
            self._refuse_tunnel(exchange)
            return
        block = response_block(head, self._session.deadlines.date)
        self.send_head(block, body, ended, trailers_block(trailers) if trailers else b"")
        if self.waiting or self.outgoing.is_full:
            self._tell_if_full(ended)

    def send_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send more of the body."""
        self.send(piece, ended, trailers_block(trailers) if trailers else b"")
        if self.waiting or self.outgoing.is_full:
            self._tell_if_full(ended)

    def _tell_if_full(self, ended: bool) -> None:
        outgoing = self.outgoing
        if self.is_blocked and self._progress is None:
            self._progress = Progress()
            if not ended and self.exchange is not None:
                self.exchange.downstream_full()
        elif not outgoing.is_overfull and outgoing.waiting < MAX_WAITING:
            return
        session = self._session
        session.backlog.grew(outgoing, session.streams.values())
        if outgoing.surplus > MAX_HEADS_UNTAKEN:
            session.transport.abortConnection()

    def splice_body(self, copy: KernelCopy) -> bool:
        """Have the rest of the body go into frames as it comes from its socket, if that is possible."""
        session = self._session

        def ended() -> None:
            self._end_copy()
            copy.ended()

        framed = FramedCopy(self, session.transport, session.frame_room)
        if not framed.begin(evolve(copy, ended=ended)):
            return False
        self._copy = framed
        return True

    def stalled(self) -> None:
        """The copy waits for its turn."""
        self.outgoing.blocked[self] = None
        self._tell_if_full(False)

    def _end_copy(self) -> None:
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.close()

    @property
    def is_blocked(self) -> bool:
        """Whether something waits to be sent, here or at upstream."""
        return bool(self.waiting) or (self._copy is not None and self._copy.is_stalled)

    def flow(self, most: int) -> int:
        """Send of what waits as much as the windows allow, at most *most* bytes; return how much that was."""
        if self._copy is None or self.waiting:
            return super().flow(most)
        return self._copy.flow(most)

    def leave_turns(self) -> None:
        """Have the copy go on as upstream's socket tells, between the sockets of others."""
        if self._copy is not None:
            self._copy.is_stalled = False

    @property
    def _untaken(self) -> int:
        """A number that changes with whatever is sent of what waits."""
        return self.unsent + (0 if self._copy is None else self._copy.left)

    def send_interim(self, head: ResponseHead) -> None:
        """Send a 1xx head."""
        block = self.outgoing.with_table_update(response_block(head, b""))
        self.outgoing.send_at_once(field_block_frames(self.id, block, False))
        self._tell_if_full(False)

    def open_tunnel(self, head: ResponseHead, first: bytes) -> None:
        """Say that the WebSocket is open; raw bytes follow both ways."""
        exchange = self.exchange
        assert exchange is not None
        if self._key is None or not self._key.is_accepted_by(head):
            self._refuse_tunnel(exchange)
            return
        self._is_tunnel = True
        self.send_head(tunnel_block(head, self._session.deadlines.date), first, False)
        ahead, self._ahead = self._ahead, None
        if self.is_paused:
            self.resume()
        if ahead:
            exchange.tunnel_from_downstream(bytes(ahead))
        self._tell_if_full(False)

    def _refuse_tunnel(self, exchange: RequestSink) -> None:
        """Upstream's answer is not one to what was asked: nobody goes on."""
        exchange.status, exchange.cause = _NO_TUNNEL.status, Cause.BAD_GATEWAY
        self.send_head(response_block(_NO_TUNNEL, self._session.deadlines.date), b"", True)
        exchange.downstream_lost()

    def send_raw(self, octets: bytes) -> None:
        """Send bytes of a tunnel."""
        self.send(octets, False)
        self._tell_if_full(False)

    def end_sending(self) -> None:
        """Never alone: what ends our side is the end of the tunnel."""

    def close_after_answer(self) -> None:
        """Take no more requests on this connection."""
        self._session.leave()

    def cut(self) -> None:
        """Break the answer off: the client sees that it is not whole."""
        self.reset(ErrorCode.INTERNAL_ERROR)

    def end(self) -> None:
        """End the stream, which met a bug; how far it came nobody knows."""
        if self.id in self._session.streams:
            self.reset(ErrorCode.INTERNAL_ERROR)

    def finished(self) -> None:
        """The exchange is over; what waits to be sent goes on by itself."""
        if self._copy is not None:
            self._end_copy()
        self.exchange = None
        self._pace = None
        if self._is_tunnel and self.id in self._session.streams and not self.local_ended:
            self.send(b"", True)
        elif self.is_paused:
            self.resume()

    def pause_request(self) -> None:
        """Give no credit for more of the request."""
        self.pause()

    def resume_request(self) -> None:
        """Give credit again."""
        if self.is_paused:
            self.resume()
            if self._pace is not None:
                self._pace.restart_window(self._session.deadlines.now)

    # Time

    def look(self, now: float) -> None:
        """Called by the deadlines: end what takes too long."""
        progress = self._progress
        if progress is not None and progress.is_stuck(self._untaken, now, self._session.limits.send_seconds):
            self.give_up()
            return
        if now >= self._ends_at:
            self._end_late()
            return
        exchange = self.exchange
        pace = self._pace
        if exchange is None or pace is None or self.remote_ended:
            return
        session = self._session
        if self.is_paused or session.turns.reads_later or session.incoming.is_used_up:
            pace.restart_window(now)
        elif exchange.rest_seconds is not None:
            # A conversation may rest for longer, and be as slow as it likes; whoever speaks keeps it alive.
            if exchange.sent != self._sent_before:
                self._sent_before = exchange.sent
                pace.restart_window(now)
            elif pace.rests_for(now) >= exchange.rest_seconds:
                exchange.request_broken(408, "request body rests for too long")
        elif pace.is_overdue(now, _KEPT if session.reader.unread else 0):
            exchange.request_broken(408, "request body not complete in time")

    def _end_late(self) -> None:
        """The side that had not ended had its time."""
        self._ends_at = NEVER
        if self.local_ended:
            self.reset(ErrorCode.NO_ERROR)
        elif self.exchange is not None:
            self.exchange.downstream_lost()

    def raised(self) -> None:
        """A bug was met: end the exchange at hand, and nothing else."""
        exchange = self.exchange
        try:
            if exchange is not None:
                exchange.crash()
        except Exception:
            log.failure("What met a bug could not be ended in order")
            self.end()
