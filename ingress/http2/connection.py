"""One connection of HTTP/2, as both roles keep it: streams, credit, settings, and how all of these end.

Sans-IO: ``receive`` is given what came, and what is to be sent goes to ``outgoing``; what a role does with streams is in
its methods.  What a peer does wrong ends the stream or the connection as RFC 9113 section 5.4 says: after a
connection fault nothing is read any more, and GOAWAY is the last that is sent.

It has a *reader*, which makes frames of bytes, *blocks*, which know what field blocks mean, an *incoming* side, the
peer's credit, an *outgoing* one, by which its streams send, and a *budget* for what the peer may cost.
"""

from abc import abstractmethod
from typing import Final, Generic, TypeVar

from mypy_extensions import mypyc_attr

from ingress.http.work import FRAME_WORK
from ingress.http2.block_decoder import BlockDecoder
from ingress.http2.budget import FAULT_COST, PRIORITY_COST, WINDOW_COST, Budget
from ingress.http2.faults import ConnectionFault, ErrorCode, StreamFault
from ingress.http2.frame_reader import FrameReader, FrameSink
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
    goaway_frame,
    ping_frame,
    reset_frame,
    unpack_number,
    unpack_setting,
)
from ingress.http2.incoming import CONNECTION_WINDOW, Incoming
from ingress.http2.outgoing import Outgoing
from ingress.http2.stream import Stream

MAX_SETTINGS: Final = 32
_MAX_REMEMBERED_RESETS: Final = 512
_NO_TABLE: Final = b"\x20"

S = TypeVar("S", bound=Stream)
F = TypeVar("F")
M = TypeVar("M")


@mypyc_attr(allow_interpreted_subclasses=True)
class Connection(FrameSink, Generic[S, F, M]):
    """What both roles share; *S* is a stream, *F* a decoded field, *M* what a field block means."""

    __slots__ = (
        "_announced_table_size",
        "_reset_ids",
        "blocks",
        "budget",
        "incoming",
        "last_id",
        "outgoing",
        "reader",
        "streams",
    )

    def __init__(
        self,
        reader: FrameReader,
        blocks: BlockDecoder[F, M],
        incoming: Incoming,
        outgoing: Outgoing,
        budget: Budget,
    ) -> None:
        self.reader = reader
        self.blocks = blocks
        self.incoming = incoming
        self.outgoing = outgoing
        self.budget = budget
        self.streams: dict[int, S] = {}
        self.last_id = 0
        """The highest stream that was begun, by whoever begins streams."""
        self._announced_table_size = USUAL_TABLE_SIZE
        self._reset_ids: dict[int, None] = {}
        """Streams that we ended: what the peer sent before it knew is no fault of its."""

    # What a role does

    @abstractmethod
    def is_idle(self, stream_id: int) -> bool:
        """Whether nobody has begun this stream."""

    @abstractmethod
    def block_received(self, stream_id: int, block: bytes, ended: bool) -> None:
        """A whole field block came; it must be decoded whatever becomes of it."""

    def decode_some(self, block: bytes) -> bool:
        """Decode more of a large field block, as far as this turn's work goes; return whether it is whole."""
        blocks, reader = self.blocks, self.reader
        is_whole = blocks.decode_some(block, reader.work_left)
        reader.work_left -= blocks.work
        return is_whole

    @abstractmethod
    def stream_sent(self, stream: Stream) -> None:
        """All of *stream* was sent."""

    @abstractmethod
    def stream_closed(self, stream: S) -> None:
        """*stream* is over on both sides, or was reset."""

    @abstractmethod
    def failed(self, code: ErrorCode, why: str) -> None:
        """The connection is of no use any more; GOAWAY is sent."""

    def peer_leaves(self, last: int, code: int) -> None:
        """The peer sent GOAWAY: it looks at none of our streams above *last*."""

    def most_streams_changed(self, count: int) -> None:
        """The peer lets us have so many streams at once."""

    def answered(self, payload: bytes) -> None:
        """Our PING is answered."""

    @property
    def last_named(self) -> int:
        """The last stream of the peer's that is looked at, as GOAWAY names it."""
        return self.last_id

    # What came

    def receive(self, received: bytes) -> None:
        """Act on what came, wherever it was cut; if it is much work, on the first of it (``reader.has_more``)."""
        reader = self.reader
        if reader.is_closed:
            return
        try:
            reader.read(received, self)
        except ConnectionFault as fault:
            self._fail_after_all(fault)
        incoming = self.incoming
        if incoming.credit < incoming.least and not reader.is_closed:
            incoming.grant(CONNECTION_WINDOW - incoming.credit)

    def _fail_after_all(self, fault: ConnectionFault) -> None:
        """End the connection for *fault*, or for one in what was gathered and came before."""
        try:
            self.reader.pass_on_all(self)
        except ConnectionFault as earlier:
            fault = earlier
        self.fail(fault.code, str(fault))

    def fail(self, code: ErrorCode, why: str) -> None:
        """End the connection for what the peer did: GOAWAY is the last that it hears."""
        if not self.reader.is_closed:
            self.reader.close()
            self.outgoing.write(goaway_frame(self.last_named, code, why))
            self.failed(code, why)

    # Bodies

    def data_received(self, stream_id: int, piece: bytes, length: int, ended: bool) -> None:
        """A piece of a body came, which was *length* bytes with its padding."""
        incoming = self.incoming
        incoming.credit -= length
        if incoming.credit < 0:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "more than the connection's window")
        try:
            stream = self.streams.get(stream_id)
            if stream is None or stream.remote_ended:
                incoming.give_back(length)
                self.stray(stream_id, stream)
                return
            stream.credit -= length
            if stream.credit < 0:
                incoming.give_back(length)
                raise StreamFault(ErrorCode.FLOW_CONTROL_ERROR, "more than the stream's window")
            size = len(piece)
            if stream.body_left >= 0:
                stream.body_left -= size
                if stream.body_left < 0 or (ended and stream.body_left):
                    incoming.give_back(length)
                    raise StreamFault(ErrorCode.PROTOCOL_ERROR, "body and content-length differ")
            stream.remote_ended = ended
            # Should the stream end while it takes this, what it holds is given back with it.
            stream.held += size
            if length != size:
                stream.give_back(length - size)
            stream.received(piece, ended)
            held = stream.held
            if held and not stream.is_paused:
                stream.held = 0
                if ended:
                    incoming.give_back(held)
                else:
                    stream.give_back(held)
        except StreamFault as fault:
            self.stream_fault(stream_id, fault)

    # The ends of streams

    def stray(self, stream_id: int, stream: S | None) -> None:
        """A frame came for a stream that takes none; raises what follows from it (section 5.1)."""
        if stream is not None:
            raise StreamFault(ErrorCode.STREAM_CLOSED, "more than the end of a stream")
        if self.is_idle(stream_id):
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "frame of a stream that was never begun")
        if stream_id not in self._reset_ids:
            raise ConnectionFault(ErrorCode.STREAM_CLOSED, "frame of a stream that is closed")
        self.budget.spend()

    def stream_fault(self, stream_id: int, fault: StreamFault) -> None:
        """End one stream for what its peer did."""
        stream = self.streams.get(stream_id)
        if stream is None:
            self.reset_id(stream_id, fault.code)
        else:
            self.reset(stream, fault.code)
            stream.broken(fault.code, str(fault))
        self.budget.came_to_nothing(FAULT_COST)

    def reset(self, stream: Stream, code: ErrorCode) -> None:
        """End *stream* by RST_STREAM."""
        self.reset_id(stream.id, code)
        self.close_stream(stream)

    def reset_id(self, stream_id: int, code: ErrorCode) -> None:
        """Send RST_STREAM, and remember for a while that what comes for the stream is no fault."""
        if len(self._reset_ids) >= _MAX_REMEMBERED_RESETS:
            del self._reset_ids[next(iter(self._reset_ids))]
        self._reset_ids[stream_id] = None
        self.outgoing.write(reset_frame(stream_id, code))

    def close_stream(self, stream: Stream) -> None:
        """Let go of *stream*, which is over; what it holds is given back."""
        known = self.streams.pop(stream.id, None)
        if known is None:
            return
        if self.outgoing.blocked:
            stream.forget_unsent()
        held = stream.held
        if held:
            stream.held = 0
            self.incoming.give_back(held)
        self.stream_closed(known)

    def _rst_stream(self, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM of another size")
        if not stream_id or self.is_idle(stream_id):
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "RST_STREAM of a stream that was never begun")
        stream = self.streams.get(stream_id)
        if stream is None:
            self.budget.spend()
            return
        self.close_stream(stream)
        stream.broken(unpack_number(payload)[0], "reset by the peer")
        if not stream.local_ended:
            self.budget.came_to_nothing()

    # The connection

    def control_received(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """A frame of any other kind came."""
        if kind == PING:
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
            self.budget.spend()

    def settings_received(self, flags: int, stream_id: int, payload: bytes) -> None:
        """Settings came, or ours were acknowledged (section 6.5)."""
        if stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "SETTINGS of a stream")
        self.budget.spend()
        if flags & ACK:
            if payload:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS acknowledged with content")
            return
        if len(payload) % 6:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS of another size")
        if len(payload) > 6 * MAX_SETTINGS:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too many settings")
        self.reader.work_left -= len(payload) // 6 * len(self.streams)
        for name, value in unpack_setting(payload):
            self._set(name, value)
        self.outgoing.acknowledge(SETTINGS_ACK)
        if self.outgoing.blocked:
            # Not between two values (section 6.5.3): the first of them may have made room that the second takes back.
            self.outgoing.pump()

    def _set(self, name: int, value: int) -> None:
        if name == INITIAL_WINDOW_SIZE:
            if value > LARGEST_WINDOW:
                raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "initial window too large")
            outgoing = self.outgoing
            change, outgoing.initial_window = value - outgoing.initial_window, value
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
            self.outgoing.table_update = _NO_TABLE

    def _ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "PING of a stream")
        if len(payload) != 8:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "PING of another size")
        self.budget.spend()
        if flags & ACK:
            self.answered(payload)
        else:
            self.outgoing.acknowledge(ping_frame(payload, is_answer=True))

    def _priority(self, stream_id: int, payload: bytes) -> None:
        if not stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "PRIORITY of no stream")
        self.budget.spend(PRIORITY_COST)
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
        self.budget.spend()
        self.peer_leaves(unpack_number(payload)[0] & LARGEST_WINDOW, unpack_number(payload, 4)[0])

    def window_received(self, stream_id: int, increment: int) -> None:
        """The peer takes so much more, of a stream or of all of them together."""
        budget, outgoing = self.budget, self.outgoing
        budget.frames -= WINDOW_COST * budget.frame_share
        if budget.frames < 0.0:
            budget.check_frames()
        if outgoing.blocked:
            self.reader.work_left -= FRAME_WORK
        if not stream_id:
            if not increment:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of nothing")
            outgoing.window += increment
            if outgoing.window > LARGEST_WINDOW:
                raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "window too large")
            if outgoing.blocked:
                outgoing.pump()
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
        elif stream in outgoing.blocked:
            outgoing.pump()
