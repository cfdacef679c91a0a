"""Frames out of bytes, wherever these were cut: what each is, and what belongs together.

The bottom of a connection.  A frame is checked here for what makes it one (RFC 9113 sections 4 and 6), a
field block is put together from its frames, and a fault ends the stream or the connection it is of.  What a
frame means is above, in ``connection``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from ingress.http.work import FRAME_WORK, PIECE_WORK, TURN_WORK
from ingress.http2.budget import Budget
from ingress.http2.faults import ConnectionFault, ErrorCode, StreamFault
from ingress.http2.frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_BYTES,
    FRAME_HEAD_BYTES,
    HAS_PRIORITY,
    HEADERS,
    LARGEST_WINDOW,
    PADDED,
    SETTINGS,
    goaway_frame,
    unpack_head,
    unpack_number,
)

MAX_BLOCK_FRAMES: Final = 32
MAX_BLOCK_BYTES: Final = 64 * 1024
"""Of one field block, compressed."""
_KIND_AT: Final = 3
_DATA_KIND: Final = bytes([DATA])


class FrameReader(ABC):
    """Reads what one peer sends."""

    # Thousands of connections rest, each with all of this.
    __slots__ = (
        "_block",
        "_block_depends_on_itself",
        "_block_ends_stream",
        "_block_of",
        "_gathered",
        "_knows_settings",
        "_left",
        "_unread",
        "budget",
        "has_failed",
        "has_more",
        "last_id",
        "write",
    )

    write: Callable[[bytes], object]
    """Sends; to be set before anything else is done."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        """*seconds* is a clock; a coarse one will do."""
        self.budget = Budget(seconds)
        self.last_id = 0
        """The highest stream that was begun, by whoever begins streams."""
        self.has_failed = False
        """Whether a connection fault was met, and nothing is read any more."""
        self.has_more = False
        """Whether more has come than is read in one go: ``receive`` is to be called again, be it with nothing."""
        self._unread = b""
        self._left = 0
        """How much more work may be done in this turn."""
        self._gathered: dict[int, tuple[list[int], list[bytes]]] = {}
        """What came of bodies while this reads and is passed on once it has, by stream: lengths and pieces."""
        self._knows_settings = False
        self._block: list[bytes] = []
        """What came of a field block that goes on in CONTINUATION frames, ..."""
        self._block_of = 0
        """... whose stream this is (0 when there is none), ..."""
        self._block_ends_stream = False
        self._block_depends_on_itself = False

    # What is above

    @abstractmethod
    def block_received(self, stream_id: int, block: bytes, ended: bool) -> None:
        """A whole field block came; it must be decoded whatever becomes of it."""

    @abstractmethod
    def data_received(self, stream_id: int, piece: bytes, length: int, ended: bool) -> None:
        """A piece of a body came, which was *length* bytes with its padding."""

    @abstractmethod
    def settings_received(self, flags: int, stream_id: int, payload: bytes) -> None:
        """Settings came, or ours were acknowledged."""

    @abstractmethod
    def control_received(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """Any other frame came."""

    @abstractmethod
    def stream_fault(self, stream_id: int, fault: StreamFault) -> None:
        """End one stream for what its peer did."""

    @abstractmethod
    def failed(self, code: ErrorCode, why: str) -> None:
        """The connection is of no use any more; GOAWAY is sent."""

    @property
    def last_named(self) -> int:
        """The last stream of the peer's that is looked at, as GOAWAY names it."""
        return self.last_id

    @property
    def is_amid(self) -> bool:
        """Whether something has begun that must soon be whole: settings, a field block, a frame but DATA."""
        return bool(
            not self._knows_settings
            or self._block_of
            or (self._unread and self._unread[_KIND_AT : _KIND_AT + 1] != _DATA_KIND)
        )

    @property
    def unread(self) -> int:
        """Bytes of a frame that is not whole."""
        return len(self._unread)

    # Receiving

    def receive(self, received: bytes) -> None:
        """Act on what came, wherever it was cut; if it is much work, on the first of it (``has_more``)."""
        if self.has_failed:
            return
        self.budget.received += len(received)
        try:
            self._read_frames(self._unread + received if self._unread else received)
            if self.budget.is_overhead():
                raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "hardly any payload")
        except ConnectionFault as fault:
            self._fail_after_all(fault)

    def _fail_after_all(self, fault: ConnectionFault) -> None:
        """End the connection for *fault*, or for one in what was gathered and came before."""
        try:
            self._pass_on_all()
        except ConnectionFault as earlier:
            fault = earlier
        self.fail(fault.code, str(fault))

    def keep(self, received: bytes) -> None:
        """Keep what came for the next call of ``receive``."""
        if not self.has_failed:
            self.budget.received += len(received)
            self._unread += received
            self.has_more = True

    def _read_frames(self, octets: bytes) -> None:
        at = 0
        size = len(octets)
        self.has_more = False
        self._left = TURN_WORK
        while size - at >= FRAME_HEAD_BYTES:
            if self._left <= 0:
                self.has_more = True
                break
            high, length, kind, flags, stream_id = unpack_head(octets, at)
            if high or length > FRAME_BYTES:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "frame too large")
            end = at + FRAME_HEAD_BYTES + length
            if end > size:
                break
            payload = octets[at + FRAME_HEAD_BYTES : end]
            at = end
            stream_id &= LARGEST_WINDOW
            if self._gathered and kind != DATA:
                # Bodies alone have no order among each other.
                self._pass_on_all()
                if self.has_failed:
                    break
            if self._block_of:
                if kind != CONTINUATION or stream_id != self._block_of:
                    raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "field block broken off")
                self._continuation(flags, payload)
            elif not self._knows_settings:
                if kind != SETTINGS or flags & ACK:
                    raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "SETTINGS must be first")
                self._knows_settings = True
                self.settings_received(flags, stream_id, payload)
            elif kind == HEADERS:
                self._headers(flags, stream_id, payload)
            elif kind == DATA:
                self._data(flags, stream_id, payload)
            elif kind == CONTINUATION:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "CONTINUATION of nothing")
            else:
                self._control(kind, flags, stream_id, payload)
            if self.has_failed:
                break
        if self._gathered:
            self._pass_on_all()
        if not self.has_failed:
            self._unread = octets[at:]

    def _control(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        self._left -= FRAME_WORK
        if kind == SETTINGS:
            self.settings_received(flags, stream_id, payload)
            return
        self.control_received(kind, flags, stream_id, payload)

    def spend(self, cost: float = 1.0) -> None:
        """A frame came that carries nothing; too many of them end the connection."""
        if self.budget.frame(cost):
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too many frames that carry nothing")

    # Field blocks

    def _headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        if not stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "HEADERS of no stream")
        depends_on_itself = False
        if flags & (PADDED | HAS_PRIORITY):
            payload = _unpadded(payload) if flags & PADDED else payload
            if flags & HAS_PRIORITY:
                if len(payload) < 5:
                    raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "no room for a priority")
                depends_on_itself = unpack_number(payload)[0] & LARGEST_WINDOW == stream_id
                payload = payload[5:]
        ended = flags & END_STREAM != 0
        if flags & END_HEADERS:
            self._whole_block(stream_id, payload, ended, depends_on_itself)
        else:
            self._block = [payload]
            self._block_of = stream_id
            self._block_ends_stream = ended
            self._block_depends_on_itself = depends_on_itself

    def _continuation(self, flags: int, payload: bytes) -> None:
        if not payload:
            self.spend()
        self._block.append(payload)
        if len(self._block) > MAX_BLOCK_FRAMES or sum(map(len, self._block)) > MAX_BLOCK_BYTES:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "field block too large")
        if flags & END_HEADERS:
            stream_id, self._block_of = self._block_of, 0
            block, self._block = b"".join(self._block), []
            self._whole_block(stream_id, block, self._block_ends_stream, self._block_depends_on_itself)

    def _whole_block(self, stream_id: int, block: bytes, ended: bool, depends_on_itself: bool) -> None:
        self.budget.useful += len(block)
        self._left -= FRAME_WORK
        try:
            self.block_received(stream_id, block, ended)
            if depends_on_itself:
                raise StreamFault(ErrorCode.PROTOCOL_ERROR, "a stream that depends on itself")
        except StreamFault as fault:
            self.stream_fault(stream_id, fault)

    def _data(self, flags: int, stream_id: int, payload: bytes) -> None:
        if not stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "DATA of no stream")
        piece = _unpadded(payload) if flags & PADDED else payload
        ended = flags & END_STREAM != 0
        if piece:
            self.budget.payload(len(piece))
        elif not ended:
            self.spend()
        gathered = self._gathered
        if ended and stream_id not in gathered:
            self._left -= FRAME_WORK
            self._take_data(stream_id, piece, len(payload), True)
            return
        # Pieces of an octet each are put together: passing them on is what would cost most.
        lengths, pieces = gathered.setdefault(stream_id, ([], []))
        self._left -= PIECE_WORK if lengths else FRAME_WORK
        lengths.append(len(payload))
        pieces.append(piece)
        if ended:
            self._pass_on(stream_id, ended=True)

    def _pass_on(self, stream_id: int, ended: bool = False) -> None:
        """Pass on what was gathered of the body of one stream, if anything was."""
        gathered = self._gathered.pop(stream_id, None)
        if gathered is not None and not self.has_failed:
            lengths, pieces = gathered
            piece = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            self._take_data(stream_id, piece, sum(lengths), ended)

    def _take_data(self, stream_id: int, piece: bytes, length: int, ended: bool) -> None:
        try:
            self.data_received(stream_id, piece, length, ended)
        except StreamFault as fault:
            self.stream_fault(stream_id, fault)

    def _pass_on_all(self) -> None:
        """Pass on all that was gathered."""
        for stream_id in list(self._gathered):
            self._pass_on(stream_id)

    def fail(self, code: ErrorCode, why: str) -> None:
        """End the connection for what the peer did: GOAWAY is the last that it hears."""
        if not self.has_failed:
            self.has_failed = True
            self._unread = b""
            self._block.clear()
            self._gathered.clear()
            self.write(goaway_frame(self.last_named, code, why))
            self.failed(code, why)


def _unpadded(payload: bytes) -> bytes:
    """Take the padding off (section 6.1)."""
    if not payload:
        raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "no room for the length of the padding")
    if payload[0] >= len(payload):
        raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "more padding than there is")
    return payload[1 : len(payload) - payload[0]]
