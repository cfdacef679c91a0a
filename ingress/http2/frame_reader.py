"""Frames out of bytes, wherever these were cut: what each is, and what belongs together.

A frame is checked here for what makes it one (RFC 9113 sections 4 and 6), and a field block is put together from
its frames.  What a frame means is for the ``FrameSink`` to say, which is given to each call: a reader that knew the
connection whose part it is would be a cycle.
"""

from abc import abstractmethod
from typing import Final

from mypy_extensions import mypyc_attr

from ingress.http.work import FRAME_WORK, PIECE_WORK, TURN_WORK
from ingress.http2.budget import PURSE, Budget
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
    RESERVED,
    SETTINGS,
    WINDOW_UPDATE,
    unpack_head,
    unpack_number,
)

MAX_BLOCK_FRAMES: Final = 32
MAX_BLOCK_BYTES: Final = 64 * 1024
"""Of one field block, compressed."""
_LARGE_BLOCK: Final = 2048
"""What is larger is decoded in as many turns as that takes."""
_KIND_AT: Final = 3
_NOT_PLAIN: Final = END_HEADERS | PADDED | HAS_PRIORITY
_MUCH: Final = 4096
"""From here on, bytes are not copied without need."""
_DATA_KIND: Final = bytes([DATA])


@mypyc_attr(allow_interpreted_subclasses=True)
class FrameSink:
    """What frames are for: a connection."""

    __slots__ = ()

    @abstractmethod
    def block_received(self, stream_id: int, block: bytes, ended: bool) -> None:
        """A whole field block came; it must be decoded whatever becomes of it.  May raise ``StreamFault``."""

    @abstractmethod
    def decode_some(self, block: bytes) -> bool:
        """Decode more of a large block, as far as ``work_left`` goes, before it is received; return whether it is whole."""

    @abstractmethod
    def data_received(self, stream_id: int, piece: bytes, length: int, ended: bool) -> None:
        """A piece of a body came, which was *length* bytes with its padding."""

    @abstractmethod
    def settings_received(self, flags: int, stream_id: int, payload: bytes) -> None:
        """Settings came, or ours were acknowledged."""

    @abstractmethod
    def window_received(self, stream_id: int, increment: int) -> None:
        """WINDOW_UPDATE came: the peer takes more of a stream, or of all of them together."""

    @abstractmethod
    def control_received(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """Any other frame came."""

    @abstractmethod
    def stream_fault(self, stream_id: int, fault: StreamFault) -> None:
        """End one stream for what its peer did."""


class FrameReader:
    """Reads what one peer sends, whom *budget* judges; first of all it must say *preface*.

    What cannot go on raises ``ConnectionFault``; then nothing is to be read any more.
    """

    # Thousands of connections rest, each with all of this.
    __slots__ = (
        "_block",
        "_block_depends_on_itself",
        "_block_ends_stream",
        "_block_of",
        "_budget",
        "_gathered",
        "_large",
        "_padding",
        "_preface",
        "_unread",
        "has_more",
        "is_closed",
        "knows_settings",
        "turn_work",
        "work_left",
    )

    def __init__(self, budget: Budget, preface: bytes = b"") -> None:
        self._budget = budget
        self._preface = preface
        """What of it is still to come."""
        self.is_closed = False
        """Whether nothing is read any more."""
        self.has_more = False
        """Whether more has come than is read in one go: ``read`` is to be called again, be it with nothing."""
        self.turn_work = TURN_WORK
        """How much work is done in a turn."""
        self.work_left = 0
        """How much more work may be done in this turn; whoever does some takes it off."""
        self.knows_settings = False
        """Whether the peer has said what must be first."""
        self._unread = b""
        self._gathered: dict[int, list[bytes | memoryview]] = {}
        """What came of bodies while this reads and is passed on once it has, by stream, ..."""
        self._padding: dict[int, int] | None = None
        """... and how much padding came with it, where some did."""
        self._block: list[bytes] = []
        """What came of a field block that goes on in CONTINUATION frames, ..."""
        self._block_of = 0
        """... whose stream this is (0 when there is none), ..."""
        self._block_ends_stream = False
        self._block_depends_on_itself = False
        self._large: tuple[int, bytes, bool, bool] | None = None
        """A large field block that is decoded in several turns, with its stream and how ``_whole_block`` was told of it."""

    @property
    def is_amid(self) -> bool:
        """Whether something has begun that must soon be whole: preface, settings, a field block, a frame but DATA."""
        return bool(
            not self.knows_settings
            or self._block_of
            or (self._unread and self._unread[_KIND_AT : _KIND_AT + 1] != _DATA_KIND)
        )

    @property
    def unread(self) -> int:
        """Bytes of a frame that is not whole."""
        return len(self._unread)

    def keep(self, received: bytes) -> None:
        """Keep what came for the next call of ``read``."""
        if not self.is_closed:
            self._budget.received += len(received)
            self._unread += received
            self.has_more = True

    def close(self) -> None:
        """Read nothing any more, and drop what is not read yet."""
        self.is_closed = True
        self._unread = b""
        self._block.clear()
        self._large = None
        self._gathered.clear()
        self._padding = None

    def read(self, received: bytes, sink: FrameSink) -> None:
        """Tell *sink* of what came, wherever it was cut; if it is much work, of the first of it (``has_more``)."""
        self._budget.received += len(received)
        behind = self._missing(len(received)) if self._unread and len(received) > _MUCH else 0
        octets = self._unread + (received[:behind] if behind else received) if self._unread else received
        if self._preface:
            octets = self._behind_preface(octets)
        at = useful = 0
        size = len(octets)
        last = size - FRAME_HEAD_BYTES
        view: memoryview | None = None
        body: bytes | memoryview
        # What ``struct`` returns may be anything; compiled code calculates with numbers that it knows to be some.
        high: int
        length: int
        kind: int
        flags: int
        stream_id: int
        budget, gathered = self._budget, self._gathered
        self.has_more = False
        self.work_left = self.turn_work
        if self._large is not None:
            self._whole_block(*self._large, sink)
            if self.is_closed:
                return
        is_amid = not self.knows_settings or self._block_of != 0
        while True:
            if at > last:
                if not behind or at != size:
                    break
                # The frame that had begun is read; to put all together for its sake would be a copy of everything.
                octets, at, size, behind, view = received, behind, len(received), 0, None
                last = size - FRAME_HEAD_BYTES
                continue
            if self.work_left <= 0:
                self.has_more = True
                break
            high, length, kind, flags, stream_id = unpack_head(octets, at)
            if high or length > FRAME_BYTES:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "frame too large")
            begin = at + FRAME_HEAD_BYTES
            end = begin + length
            if end > size:
                break
            at = end
            if stream_id < 0:
                stream_id -= RESERVED
            # Of these are nearly all, each with no more than it needs; all others are below.
            if is_amid:
                pass
            elif kind == HEADERS:
                if flags & _NOT_PLAIN == END_HEADERS and stream_id and length <= _LARGE_BLOCK:
                    if gathered:
                        # Bodies alone have no order among each other.
                        self.pass_on_all(sink)
                        if self.is_closed:
                            break
                    useful += length
                    self.work_left -= FRAME_WORK
                    try:
                        sink.block_received(stream_id, octets[begin:end], flags & END_STREAM != 0)
                    except StreamFault as fault:
                        sink.stream_fault(stream_id, fault)
                    if self.is_closed:
                        break
                    continue
            elif kind == WINDOW_UPDATE:
                # Of messages back and forth half of all frames, and of no account to bodies that come.
                if length != 4:
                    raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE of another size")
                self.work_left -= FRAME_WORK
                number: int = unpack_number(octets, begin)[0]
                sink.window_received(stream_id, number & LARGEST_WINDOW)
                if self.is_closed:
                    break
                continue
            elif kind == DATA:
                if length > _MUCH:
                    if view is None:
                        view = memoryview(octets)
                    body = view[begin:end]
                    pieces = None if flags else gathered.get(stream_id)
                    if pieces is not None:
                        # Of large reads nearly all; what of it belongs together is put together later, by one copy.
                        budget.payload(length)
                        self.work_left -= PIECE_WORK
                        pieces.append(body)
                        continue
                else:
                    body = octets[begin:end]
                if not stream_id:
                    raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "DATA of no stream")
                if flags & PADDED:
                    body = _unpadded(bytes(body))
                ended = flags & END_STREAM != 0
                if body:
                    useful += len(body)
                    if budget.frames < PURSE:
                        budget.frames += 1
                elif not ended:
                    budget.spend()
                if (ended and stream_id not in gathered) or not (
                    gathered or behind or (size - at > _KIND_AT and octets[at + _KIND_AT] == DATA)
                ):
                    self.work_left -= FRAME_WORK
                    whole = body if isinstance(body, bytes) else bytes(body)
                    sink.data_received(stream_id, whole, length, ended)
                else:
                    self._gather(stream_id, body, length)
                    if ended:
                        self._pass_on(stream_id, True, sink)
                if self.is_closed:
                    break
                continue
            if gathered:
                self.pass_on_all(sink)
                if self.is_closed:
                    break
            payload = octets[begin:end]
            if self._block_of:
                if kind != CONTINUATION or stream_id != self._block_of:
                    raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "field block broken off")
                self._continuation(flags, payload, sink)
            elif not self.knows_settings:
                if kind != SETTINGS or flags & ACK:
                    raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "SETTINGS must be first")
                self.knows_settings = True
                sink.settings_received(flags, stream_id, payload)
            elif kind == HEADERS:
                self._headers(flags, stream_id, payload, sink)
            elif kind == CONTINUATION:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "CONTINUATION of nothing")
            else:
                self.work_left -= FRAME_WORK
                if kind == SETTINGS:
                    sink.settings_received(flags, stream_id, payload)
                else:
                    sink.control_received(kind, flags, stream_id, payload)
            if self.is_closed:
                break
            is_amid = not self.knows_settings or self._block_of != 0
        if self._gathered:
            self.pass_on_all(sink)
        if not self.is_closed:
            if self._large is not None:
                self.has_more = True
            self._unread = octets[at:] + received[behind:] if behind else octets[at:]
            budget.useful += useful
            budget.check_use()

    def gather_bodies(self, received: memoryview) -> int:
        """Gather what *received* begins with, as far as that is whole frames of bodies; return how many bytes it was.

        The rest is to be read at once, be it nothing: ``read`` passes on what is gathered, by the one copy that is made of
        it, and then the memory of *received* may be used for something else.
        """
        if self.has_more or self.is_closed or self._block_of or not self.knows_settings:
            return 0
        # What ``struct`` returns may be anything; compiled code calculates with numbers that it knows to be some.
        high: int
        length: int
        kind: int
        flags: int
        stream_id: int
        at = frames = useful = 0
        size = len(received)
        if self._unread:
            at = self._missing(size)
            if not at:
                return 0
            high, length, kind, flags, stream_id = unpack_head(self._unread)
            if (
                kind != DATA
                or flags
                or length <= _MUCH
                or length > FRAME_BYTES
                or not stream_id & LARGEST_WINDOW
            ):
                return 0
            begun = memoryview(self._unread)[FRAME_HEAD_BYTES:]
            self._gathered[stream_id & LARGEST_WINDOW] = [begun, received[:at]] if begun else [received[:at]]
            self._unread = b""
            frames, useful = 1, length
        while size - at >= FRAME_HEAD_BYTES:
            high, length, kind, flags, stream_id = unpack_head(received, at)
            end = at + FRAME_HEAD_BYTES + length
            stream_id &= LARGEST_WINDOW
            if (
                kind != DATA
                or flags
                or high
                or length <= _MUCH
                or length > FRAME_BYTES
                or not stream_id
                or end > size
            ):
                break
            pieces = self._gathered.get(stream_id)
            if pieces is None:
                self._gathered[stream_id] = [received[at + FRAME_HEAD_BYTES : end]]
            else:
                pieces.append(received[at + FRAME_HEAD_BYTES : end])
            frames += 1
            useful += length
            at = end
        self._budget.received += at
        self._budget.payload(useful, frames)
        return at

    def _missing(self, received: int) -> int:
        """Return how many of so many bytes are the rest of the frame that has begun; 0 if it is not whole then, or was before."""
        unread = self._unread
        if len(unread) < FRAME_HEAD_BYTES:
            return 0
        high, length, _, _, _ = unpack_head(unread)
        missing = FRAME_HEAD_BYTES + length - len(unread)
        return missing if not high and 0 < missing <= received else 0

    def _behind_preface(self, received: bytes) -> bytes:
        """Return what came behind the preface, or behind what came of it so far."""
        said = received[: len(self._preface)]
        if not self._preface.startswith(said):
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "this is no preface of HTTP/2")
        self._preface = self._preface[len(said) :]
        return received[len(said) :]

    # Field blocks

    def _headers(self, flags: int, stream_id: int, payload: bytes, sink: FrameSink) -> None:
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
            self._budget.useful += len(payload)
            self._whole_block(stream_id, payload, ended, depends_on_itself, sink)
        else:
            self._block = [payload]
            self._block_of = stream_id
            self._block_ends_stream = ended
            self._block_depends_on_itself = depends_on_itself

    def _continuation(self, flags: int, payload: bytes, sink: FrameSink) -> None:
        if not payload:
            self._budget.spend()
        self._block.append(payload)
        if len(self._block) > MAX_BLOCK_FRAMES or sum(map(len, self._block)) > MAX_BLOCK_BYTES:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "field block too large")
        if flags & END_HEADERS:
            stream_id, self._block_of = self._block_of, 0
            block, self._block = b"".join(self._block), []
            self._budget.useful += len(block)
            self._whole_block(stream_id, block, self._block_ends_stream, self._block_depends_on_itself, sink)

    def _whole_block(
        self, stream_id: int, block: bytes, ended: bool, depends_on_itself: bool, sink: FrameSink
    ) -> None:
        if len(block) > _LARGE_BLOCK and not self._is_decoded(
            stream_id, block, ended, depends_on_itself, sink
        ):
            return
        self.work_left -= FRAME_WORK
        try:
            sink.block_received(stream_id, block, ended)
            if depends_on_itself:
                raise StreamFault(ErrorCode.PROTOCOL_ERROR, "a stream that depends on itself")
        except StreamFault as fault:
            sink.stream_fault(stream_id, fault)

    def _is_decoded(
        self, stream_id: int, block: bytes, ended: bool, depends_on_itself: bool, sink: FrameSink
    ) -> bool:
        """Have more of a large block decoded; until it is whole, it is kept, and nothing behind it is read."""
        self._large = None
        if self.work_left > 0 and sink.decode_some(block):
            return True
        self._large = (stream_id, block, ended, depends_on_itself)
        self.work_left = min(self.work_left, 0)
        return False

    def _gather(self, stream_id: int, piece: bytes | memoryview, length: int) -> None:
        """Keep a piece of a body, which was *length* bytes with its padding, for those behind it.

        Pieces of an octet each are put together: passing them on is what would cost most.
        """
        pieces = self._gathered.get(stream_id)
        if pieces is None:
            self.work_left -= FRAME_WORK
            self._gathered[stream_id] = [piece]
        else:
            self.work_left -= PIECE_WORK
            pieces.append(piece)
        padding = length - len(piece)
        if padding:
            if self._padding is None:
                self._padding = {}
            self._padding[stream_id] = self._padding.get(stream_id, 0) + padding

    def _pass_on(self, stream_id: int, ended: bool, sink: FrameSink) -> None:
        """Pass on what was gathered of the body of one stream, if anything was."""
        pieces = self._gathered.pop(stream_id, None)
        padding = 0 if self._padding is None else self._padding.pop(stream_id, 0)
        if pieces is not None and not self.is_closed:
            piece = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            whole = piece if isinstance(piece, bytes) else bytes(piece)
            sink.data_received(stream_id, whole, len(whole) + padding, ended)

    def pass_on_all(self, sink: FrameSink) -> None:
        """Pass on all that was gathered; by itself, before a fault that follows it ends all."""
        for stream_id in list(self._gathered):
            self._pass_on(stream_id, False, sink)


def _unpadded(payload: bytes) -> bytes:
    """Take the padding off (section 6.1)."""
    if not payload:
        raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "no room for the length of the padding")
    if payload[0] >= len(payload):
        raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "more padding than there is")
    return payload[1 : len(payload) - payload[0]]
