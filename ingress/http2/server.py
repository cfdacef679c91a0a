"""The server's side of a connection: requests in, answers out.

What becomes of a request is decided above; here it is found out what was asked, and whether it may be
(RFC 9113 section 5.1).  The end is in two steps (section 6.8), so that no request is lost that is on its way:

    OPEN ──leave()──▶ LEAVING: GOAWAY that names no stream, and a PING
                         │ the PING is answered: all that was sent before has come
                         ▼
                      LEFT: GOAWAY with the last stream; what comes later is not looked at
"""

from abc import abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeVar

from mypy_extensions import mypyc_attr

from ingress.http.grammar import MAX_HEAD
from ingress.http.request_head import HeadError, RequestHead
from ingress.http.work import REQUEST_WORK
from ingress.http2.block_decoder import BlockDecoder
from ingress.http2.budget import PURSE, Budget
from ingress.http2.connection import Connection
from ingress.http2.faults import ConnectionFault, ErrorCode, Malformed
from ingress.http2.frame_reader import FrameReader
from ingress.http2.frames import (
    ENABLE_CONNECT_PROTOCOL,
    INITIAL_WINDOW_SIZE,
    LAST_STREAM,
    MAX_CONCURRENT_STREAMS,
    MAX_HEADER_LIST_SIZE,
    PREFACE,
    USUAL_WINDOW,
    goaway_frame,
    ping_frame,
    settings_frame,
    window_update,
)
from ingress.http2.incoming import CONNECTION_WINDOW, STREAM_WINDOW, Incoming
from ingress.http2.outgoing import Outgoing
from ingress.http2.request_fields import (
    RequestField,
    check_request_trailers,
    read_request_field,
    request_head,
    stand_in_for,
)
from ingress.http2.stream import Stream

MAX_STREAMS: Final = 128
"""Requests at once on one connection; nginx 128, Envoy and Go 100 and more."""
_LEAVING: Final = b"goodbye."

GREETING: Final = settings_frame(
    (
        (MAX_CONCURRENT_STREAMS, MAX_STREAMS),
        (INITIAL_WINDOW_SIZE, STREAM_WINDOW),
        (MAX_HEADER_LIST_SIZE, MAX_HEAD),
        (ENABLE_CONNECT_PROTOCOL, 1),
    )
) + window_update(0, CONNECTION_WINDOW - USUAL_WINDOW)
"""What we say first."""

S = TypeVar("S", bound=Stream)


class Leaving(Enum):
    """How far the end of the connection is; see the picture above."""

    OPEN = "open"
    LEAVING = "leaving"
    LEFT = "left"


# Bound once: looking a member up in its class costs more than comparing it.
LEFT: Final = Leaving.LEFT


@mypyc_attr(allow_interpreted_subclasses=True)
class ServerConnection(Connection[S, RequestField, tuple[RequestHead, bool]]):
    """The server's side; *S* is a stream of whoever answers."""

    __slots__ = ("_last_taken", "leaving", "requests")

    def __init__(self, seconds: Callable[[], float]) -> None:
        """*seconds* is a clock; a coarse one will do."""
        budget = Budget(seconds)
        outgoing = Outgoing(budget)
        super().__init__(
            FrameReader(budget, PREFACE),
            BlockDecoder(read_request_field),
            Incoming(outgoing),
            outgoing,
            budget,
        )
        self.leaving = Leaving.OPEN
        self.requests = 0
        """How many there were."""
        self._last_taken = LAST_STREAM
        """The last stream that is looked at."""

    # What answers

    @abstractmethod
    def request(self, stream_id: int, head: RequestHead, ended: bool) -> None:
        """A request came; *ended* says that it has no body."""

    @abstractmethod
    def unreadable(self, stream_id: int, head: RequestHead, status: int, why: str, ended: bool) -> None:
        """A request came that is to be answered with *status*; *head* stands in for its own."""

    @abstractmethod
    def no_more_streams(self) -> None:
        """No further request will be looked at."""

    # The connection

    def greet(self) -> None:
        """Say our settings; to be called first."""
        self.incoming.credit = CONNECTION_WINDOW
        self.outgoing.write(GREETING)

    def leave(self) -> None:
        """Take no more requests than those that are on their way."""
        if self.leaving is Leaving.OPEN and not self.reader.is_closed:
            self.leaving = Leaving.LEAVING
            self.outgoing.write(goaway_frame(LAST_STREAM, ErrorCode.NO_ERROR) + ping_frame(_LEAVING))

    def leave_now(self) -> None:
        """Take no more requests."""
        if self.leaving is not Leaving.LEFT and not self.reader.is_closed:
            self.leaving = Leaving.LEFT
            self._last_taken = self.last_id
            self.outgoing.write(goaway_frame(self._last_taken, ErrorCode.NO_ERROR))
            self.no_more_streams()

    def answered(self, payload: bytes) -> None:
        """Our PING is answered: whatever the peer sent before it knew that we leave has come."""
        if self.leaving is Leaving.LEAVING and payload == _LEAVING:
            self.leave_now()

    def peer_leaves(self, last: int, code: int) -> None:
        """The client begins no more requests."""
        self.leave_now()

    @property
    def last_named(self) -> int:
        """The last stream that is looked at; what was said once is not taken back (section 6.8)."""
        return min(self._last_taken, self.last_id)

    def stray(self, stream_id: int, stream: S | None) -> None:
        """A frame came for a stream that takes none, perhaps because it came too late to be looked at."""
        if stream_id > self._last_taken and not self.is_idle(stream_id):
            self.budget.spend()
        else:
            super().stray(stream_id, stream)

    def is_idle(self, stream_id: int) -> bool:
        """Whether the client has not begun this stream; it never begins even ones (section 5.1.1)."""
        return stream_id > self.last_id or stream_id % 2 == 0

    def stream_sent(self, stream: Stream) -> None:
        """All of an answer was sent."""
        if stream.remote_ended:
            budget = self.budget
            if budget.frames < PURSE or budget.resets < PURSE:
                budget.ended_well()
            self.close_stream(stream)
        else:
            self.sent_early(stream)

    def sent_early(self, stream: Stream) -> None:
        """All of an answer was sent; of a request that goes on nobody wants the rest (section 8.1)."""
        self.reset(stream, ErrorCode.NO_ERROR)

    # Requests

    def block_received(self, stream_id: int, block: bytes, ended: bool) -> None:
        """A request or its trailers came."""
        if stream_id <= self.last_id:
            self._take_trailers(stream_id, block, ended)
            return
        if stream_id % 2 == 0:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a client begins no even streams")
        self.last_id = stream_id
        self.reader.work_left -= REQUEST_WORK
        blocks = self.blocks
        known = blocks.known.get(block)
        if known is None or known[1] is not ended:
            changes = blocks.decoder.changes
            fields = blocks.decode(block)
            self.reader.work_left -= blocks.work
            try:
                if blocks.decoder.list_size > MAX_HEAD:
                    raise HeadError(431, "head too large")
                head = request_head(fields, ended)
            except HeadError as error:
                if self._may_begin(stream_id):
                    self.unreadable(stream_id, stand_in_for(fields), error.status, str(error), ended)
                return
            blocks.remember(block, changes, (head, ended))
        else:
            head = known[0]
        # Whoever finds its route looks through it, be it that it came as one octet.
        self.reader.work_left -= len(head.target)
        if self._may_begin(stream_id):
            self.requests += 1
            self.request(stream_id, head, ended)

    def _may_begin(self, stream_id: int) -> bool:
        if self.leaving is LEFT:
            # The client was told so, and asks elsewhere (section 6.8).
            return False
        if len(self.streams) >= MAX_STREAMS:
            self.refuse(stream_id)
            return False
        return True

    def refuse(self, stream_id: int) -> None:
        """Have the client ask again: nothing was done about this request (section 8.7)."""
        self.reset_id(stream_id, ErrorCode.REFUSED_STREAM)
        self.budget.came_to_nothing()

    def _take_trailers(self, stream_id: int, block: bytes, ended: bool) -> None:
        fields = self.blocks.decode(block)
        self.reader.work_left -= self.blocks.work
        stream = self.streams.get(stream_id)
        if stream is None or stream.remote_ended:
            if stream is None and stream_id % 2 == 0:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a client begins no even streams")
            self.stray(stream_id, stream)
            return
        if not ended:
            raise Malformed("fields amid a body")
        check_request_trailers(fields)
        if stream.body_left > 0:
            raise Malformed("body and content-length differ")
        stream.remote_ended = True
        stream.received(b"", True)
