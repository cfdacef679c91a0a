"""One connection of HTTP/2, as both roles keep it: streams, windows, settings, bounds.

Sans-IO: ``receive`` is given what came, ``write`` is called with what is to be sent, and what a role
does with streams is in its methods.  What a peer does wrong ends the stream or the connection as RFC 9113
section 5.4 says: after a connection fault nothing is read any more, and GOAWAY is the last that is sent.

A field block is decoded whatever becomes of its stream, or the two tables of HPACK would be out of
step (section 4.3).  What a block meant is remembered while the table stays as it is; most clients send
the same few blocks again and again.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from ingress.http.work import FRAME_WORK, LIST_BYTES_OF_WORK
from ingress.http2.budget import FAULT_COST, PRIORITY_COST, WINDOW_COST
from ingress.http2.faults import ConnectionFault, ErrorCode, StreamFault
from ingress.http2.field_decoder import FieldDecoder
from ingress.http2.frames import (
    ACK,
    ENABLE_PUSH,
    FRAME_BYTES,
    GOAWAY,
    HEADER_TABLE_SIZE,
    INITIAL_WINDOW_SIZE,
    LARGEST_WINDOW,
    MAX_CONCURRENT_STREAMS,
    MAX_FRAME_SIZE,
    PING,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS_ACK,
    USUAL_TABLE_SIZE,
    USUAL_WINDOW,
    WINDOW_UPDATE,
    ping_frame,
    reset_frame,
    unpack_number,
    unpack_setting,
    window_update,
)
from ingress.http2.outgoing import Sending
from ingress.http2.stream import Stream

STREAM_WINDOW: Final = 256 * 1024
"""What a peer may send on one stream before any of it is taken."""
CONNECTION_WINDOW: Final = 1024 * 1024
"""The same for all streams together."""
MAX_LIST_BYTES: Final = 64 * 1024
"""Of one field list, as section 6.5.2 counts it; what is larger ends the connection."""
MAX_SETTINGS: Final = 32
MEMO_BLOCKS: Final = 32
MEMO_BLOCK_BYTES: Final = 1024
MEMO_LIST_BYTES: Final = 4096
_MAX_REMEMBERED_RESETS: Final = 512
_NO_TABLE: Final = b"\x20"

S = TypeVar("S", bound=Stream)
F = TypeVar("F")
M = TypeVar("M")


class Connection(Sending, Generic[S, F, M]):
    """What both roles share; *S* is a stream, *F* a decoded field, *M* what a field block means."""

    __slots__ = (
        "_announced_table_size",
        "_credit",
        "_decoder",
        "_owed",
        "_reset_ids",
        "first_credit",
        "memo",
        "stream_credit",
        "streams",
    )

    def __init__(self, read_field: Callable[[bytes, bytes], F], seconds: Callable[[], float]) -> None:
        super().__init__(seconds)
        self.streams: dict[int, S] = {}
        self.first_credit = self.stream_credit = STREAM_WINDOW
        """What we let the peer send on a new stream, and ahead on one that is being taken."""
        self.memo: dict[bytes, M] = {}
        """What field blocks meant, while the peer's table is as it was then."""
        self._announced_table_size = USUAL_TABLE_SIZE
        self._decoder = FieldDecoder(read_field, most_bytes=MAX_LIST_BYTES)
        self._credit = USUAL_WINDOW
        self._owed = 0
        self._reset_ids: dict[int, None] = {}
        """Streams that we ended: what the peer sent before it knew is no fault of its."""

    # What a role does

    @abstractmethod
    def is_idle(self, stream_id: int) -> bool:
        """Whether nobody has begun this stream."""

    @abstractmethod
    def stream_closed(self, stream: S) -> None:
        """*stream* is over on both sides, or was reset."""

    def peer_leaves(self, last: int, code: int) -> None:
        """The peer sent GOAWAY: it looks at none of our streams above *last*."""

    def most_streams_changed(self, count: int) -> None:
        """The peer lets us have so many streams at once."""

    def answered(self, payload: bytes) -> None:
        """Our PING is answered."""

    # Field blocks

    def decode(self, block: bytes) -> list[F]:
        """Return the fields of *block*; whatever its fate, it must be decoded in its turn."""
        changes = self._decoder.changes
        fields = self._decoder.decode(block)
        self._left -= len(block) + self._decoder.list_size // LIST_BYTES_OF_WORK
        if changes != self._decoder.changes and self.memo:
            self.memo.clear()
        return fields

    @property
    def list_bytes(self) -> int:
        """Size of the field list that was decoded last."""
        return self._decoder.list_size

    def remember(self, block: bytes, changes: int, meaning: M) -> None:
        """Keep what *block* means, if it left the table alone since it had that many *changes*."""
        if (
            len(block) <= MEMO_BLOCK_BYTES
            and self._decoder.changes == changes
            and self._decoder.list_size <= MEMO_LIST_BYTES
        ):
            if len(self.memo) >= MEMO_BLOCKS:
                self.memo.clear()
            self.memo[block] = meaning

    @property
    def table_changes(self) -> int:
        """How often the peer's table changed."""
        return self._decoder.changes

    # Bodies

    def data_received(self, stream_id: int, piece: bytes, length: int, ended: bool) -> None:
        self._credit -= length
        if self._credit < 0:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "more than the connection's window")
        stream = self.streams.get(stream_id)
        size = len(piece)
        if stream is None or stream.remote_ended:
            self.give_back(length)
            self.stray(stream_id, stream)
            return
        stream.credit -= length
        if stream.credit < 0:
            self.give_back(length)
            raise StreamFault(ErrorCode.FLOW_CONTROL_ERROR, "more than the stream's window")
        if stream.body_left >= 0:
            stream.body_left -= size
            if stream.body_left < 0 or (ended and stream.body_left):
                self.give_back(length)
                raise StreamFault(ErrorCode.PROTOCOL_ERROR, "body and content-length differ")
        stream.remote_ended = ended
        # Should the stream end while it takes this, what it holds is given back with it.
        stream.held += size
        if length != size:
            stream.give_back(length - size)
        stream.received(piece, ended)
        if not stream.is_paused and stream.held:
            stream.resume()

    def give_back(self, count: int) -> None:
        """Return credit of the connection for *count* bytes that were taken, or dropped."""
        self._owed += count
        if self._owed >= self._credit:
            # Half of what is not held: streams that nobody takes anything of leave the others the rest.
            self.grant(self._owed)
            self._owed = 0

    @property
    def is_out_of_credit(self) -> bool:
        """Whether the peer may send nothing of any body, for all that it sent so far is still held."""
        return self._credit <= 0

    def grant(self, count: int) -> None:
        """Let the peer send *count* bytes more on the connection."""
        self._credit += count
        self.write(window_update(0, count))

    # The ends of streams

    def stray(self, stream_id: int, stream: S | None) -> None:
        """A frame came for a stream that takes none; raises what follows from it (section 5.1)."""
        if stream is not None:
            raise StreamFault(ErrorCode.STREAM_CLOSED, "more than the end of a stream")
        if self.is_idle(stream_id):
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "frame of a stream that was never begun")
        if stream_id not in self._reset_ids:
            raise ConnectionFault(ErrorCode.STREAM_CLOSED, "frame of a stream that is closed")
        self.spend()

    def stream_fault(self, stream_id: int, fault: StreamFault) -> None:
        """End one stream for what its peer did."""
        stream = self.streams.get(stream_id)
        if stream is None:
            self.reset_id(stream_id, fault.code)
        else:
            self.reset(stream, fault.code)
            stream.broken(fault.code, str(fault))
        self.came_to_nothing(FAULT_COST)

    def reset(self, stream: Stream, code: ErrorCode) -> None:
        """End *stream* by RST_STREAM."""
        self.reset_id(stream.id, code)
        self.close_stream(stream)

    def reset_id(self, stream_id: int, code: ErrorCode) -> None:
        """Send RST_STREAM, and remember for a while that what comes for the stream is no fault."""
        if len(self._reset_ids) >= _MAX_REMEMBERED_RESETS:
            del self._reset_ids[next(iter(self._reset_ids))]
        self._reset_ids[stream_id] = None
        self.write(reset_frame(stream_id, code))

    def stream_ended(self, stream: Stream) -> None:
        """All of *stream* was sent, which is over if the peer has ended it, too."""
        if stream.remote_ended:
            self.budget.ended_well()
            self.close_stream(stream)

    def close_stream(self, stream: Stream) -> None:
        """Let go of *stream*, which is over; what it holds is given back."""
        known = self.streams.pop(stream.id, None)
        if known is None:
            return
        stream.forget_unsent()
        held, stream.held = stream.held, 0
        if held:
            self.give_back(held)
        self.stream_closed(known)

    def came_to_nothing(self, cost: float = 1.0) -> None:
        """A stream was reset by either side; too many of them end the connection."""
        if self.budget.came_to_nothing(cost):
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too many streams that come to nothing")

    def _rst_stream(self, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM of another size")
        if not stream_id or self.is_idle(stream_id):
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "RST_STREAM of a stream that was never begun")
        stream = self.streams.get(stream_id)
        if stream is None:
            self.spend()
            return
        stream.forget_unsent()
        self.close_stream(stream)
        stream.broken(unpack_number(payload)[0], "reset by the peer")
        if not stream.local_ended:
            self.came_to_nothing()

    # The connection

    def control_received(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if kind == WINDOW_UPDATE:
            self._window_update(stream_id, payload)
        elif kind == PING:
            self._ping(flags, stream_id, payload)
        elif kind == RST_STREAM:
            self._rst_stream(stream_id, payload)
        elif kind == PRIORITY:
            self._priority(stream_id, payload)
        elif kind == GOAWAY:
            self._goaway(stream_id, payload)
        elif kind == PUSH_PROMISE:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "PUSH_PROMISE is not wanted")
        else:
            # Section 4.1: what is not known is ignored.
            self.spend()

    def settings_received(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "SETTINGS of a stream")
        self.spend()
        if flags & ACK:
            if payload:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS acknowledged with content")
            return
        if len(payload) % 6:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS of another size")
        if len(payload) > 6 * MAX_SETTINGS:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too many settings")
        self._left -= len(payload) // 6 * len(self.streams)
        for name, value in unpack_setting(payload):
            self._set(name, value)
        self.send_at_once(SETTINGS_ACK)
        if self.blocked:
            # Not between two values (section 6.5.3): the first of them may have made room that the second takes back.
            self.pump()

    def _set(self, name: int, value: int) -> None:
        if name == INITIAL_WINDOW_SIZE:
            if value > LARGEST_WINDOW:
                raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "initial window too large")
            change, self.initial_window = value - self.initial_window, value
            for stream in self.streams.values():
                stream.window += change
                if stream.window > LARGEST_WINDOW:
                    raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "window too large")
        elif name == MAX_FRAME_SIZE:
            # Section 6.5.2: none is below what we send.
            if not FRAME_BYTES <= value < 1 << 24:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "impossible frame size")
        elif name == ENABLE_PUSH:
            if value > 1:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "ENABLE_PUSH is neither 0 nor 1")
        elif name == MAX_CONCURRENT_STREAMS:
            self.most_streams_changed(value)
        elif name == HEADER_TABLE_SIZE and value < self._announced_table_size:
            # RFC 7541 section 4.2: a reduction must be told, also by those who keep no table.
            self._announced_table_size = 0
            self.table_update = _NO_TABLE

    def _ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "PING of a stream")
        if len(payload) != 8:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "PING of another size")
        self.spend()
        if flags & ACK:
            self.answered(payload)
        else:
            self.send_at_once(ping_frame(payload, is_answer=True))

    def _priority(self, stream_id: int, payload: bytes) -> None:
        if not stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "PRIORITY of no stream")
        self.spend(PRIORITY_COST)
        if len(payload) != 5:
            self.stream_fault(stream_id, StreamFault(ErrorCode.FRAME_SIZE_ERROR, "PRIORITY of another size"))
        elif unpack_number(payload)[0] & LARGEST_WINDOW == stream_id:
            fault = StreamFault(ErrorCode.PROTOCOL_ERROR, "a stream that depends on itself")
            self.stream_fault(stream_id, fault)

    def _goaway(self, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "GOAWAY of a stream")
        if len(payload) < 8:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY of another size")
        self.spend()
        self.peer_leaves(unpack_number(payload)[0] & LARGEST_WINDOW, unpack_number(payload, 4)[0])

    def _window_update(self, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE of another size")
        increment = unpack_number(payload)[0] & LARGEST_WINDOW
        self.spend(WINDOW_COST)
        if self.blocked:
            self._left -= FRAME_WORK
        if not stream_id:
            if not increment:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of nothing")
            self.window += increment
            if self.window > LARGEST_WINDOW:
                raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "window too large")
            self.pump()
            return
        stream = self.streams.get(stream_id)
        if stream is None:
            if self.is_idle(stream_id):
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "window of a stream that was never begun")
            return
        stream.window += increment
        if not increment:
            self.stream_fault(stream_id, StreamFault(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of nothing"))
        elif stream.window > LARGEST_WINDOW:
            fault = StreamFault(ErrorCode.FLOW_CONTROL_ERROR, "window too large")
            self.stream_fault(stream_id, fault)
        elif stream in self.blocked:
            self.pump()
