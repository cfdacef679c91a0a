"""One stream, as both roles keep it: how much may come and go, and what waits to be sent.

RFC 9113 section 5.2 has a window for either direction.  Here *window* is what we may send, and *credit* what the
peer may.  What came is *held* until whoever reads the stream has taken it, and only then is it given back to the peer as
new credit.  So a slow reader stops its own sender, and nobody else's.
What cannot be sent, because a window is used up or the transport is full, waits here; whoever wrote it is
to write no more until ``drained``.
"""

from abc import abstractmethod
from collections import deque
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from ingress.http2.budget import PURSE
from ingress.http2.faults import ErrorCode
from ingress.http2.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_BYTES,
    HEADERS,
    field_block_frames,
    pack_head,
    window_update,
)
from ingress.http2.incoming import Incoming
from ingress.http2.outgoing import Outgoing

_SMALL: Final = 1024
"""Pieces that wait are put together up to this size: those of an octet each would take a hundred times as much."""
_NOTHING: Final[deque[memoryview]] = deque()
"""What waits on nearly every stream; never changed."""


class StreamConnection(Protocol):
    """What a stream asks of its connection."""

    incoming: Incoming
    outgoing: Outgoing

    def stream_sent(self, stream: "Stream") -> None:
        """All of *stream* was sent."""

    def reset(self, stream: "Stream", code: ErrorCode) -> None:
        """End *stream* by RST_STREAM."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Stream:
    """A stream of *connection*, from the first HEADERS to its end."""

    __slots__ = (
        "_final",
        "body_left",
        "connection",
        "credit",
        "held",
        "id",
        "is_paused",
        "local_ended",
        "outgoing",
        "owed",
        "remote_ended",
        "waiting",
        "window",
    )

    def __init__(
        self,
        connection: StreamConnection,
        stream_id: int,
        body_left: int = -1,
        ended: bool = False,
    ) -> None:
        """*body_left* is how much body is announced, -1 when that is not known; *ended* says that there is none."""
        self.connection = connection
        self.outgoing = outgoing = connection.outgoing
        self.id = stream_id
        self.window = outgoing.initial_window
        """Bytes that may be sent; may be negative (section 6.9.2)."""
        self.credit = connection.incoming.first
        """Bytes that the peer may send; we never take back what we have allowed."""
        self.held = 0
        """Bytes that came and were not taken yet."""
        self.body_left = body_left
        """Bytes of the body that are still to come; -1 when that is not known."""
        self.is_paused = False
        """Whether nobody takes what comes."""
        self.local_ended = False
        self.remote_ended = ended
        self.owed = 0
        """Bytes that were taken, and for which there is no new credit yet."""
        self.waiting = _NOTHING
        """What is to be sent and cannot be yet, in pieces."""
        self._final: bytes | None = None
        """What ends it once all that waits is sent: a block of trailers, or an empty one for none; None while more may come."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    # What a role does with it

    @abstractmethod
    def received(self, piece: bytes, ended: bool) -> None:
        """A piece of the body came, or its end."""

    @abstractmethod
    def broken(self, code: ErrorCode | int, why: str) -> None:
        """The stream is over before its end; whose fault that was is in the words."""

    @abstractmethod
    def drained(self) -> None:
        """All that waited was sent."""

    # Receiving

    def pause(self) -> None:
        """Give no more credit: what comes from now on is held."""
        self.is_paused = True

    def resume(self) -> None:
        """All that was held is taken; let the peer send as much again."""
        self.is_paused = False
        held, self.held = self.held, 0
        if held:
            self.give_back(held)

    def give_back(self, count: int) -> None:
        """Return credit for *count* bytes that were taken."""
        incoming = self.connection.incoming
        if not self.remote_ended:
            self.owed += count
            ahead = self.credit + self.held + self.owed
            if self.owed * 2 >= ahead:
                increment = self.owed + incoming.ahead - ahead
                self.credit += increment
                self.outgoing.write(window_update(self.id, increment))
                self.owed = 0
        if not incoming.least:
            incoming.give_back(count)

    # Sending

    @property
    def is_blocked(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self.waiting)

    @property
    def unsent(self) -> int:
        """How many bytes wait, with the trailers behind them."""
        waiting = self.waiting
        return sum(map(len, waiting)) + (len(self._final) if waiting and self._final else 0)

    def send_head(self, block: bytes, piece: bytes, ended: bool, final: bytes = b"") -> None:
        """Send a field block, and with it the first *piece* of the body.

        With *ended* that is all, but for the trailers in the block *final*.
        """
        outgoing = self.outgoing
        if outgoing.table_update:
            block = outgoing.with_table_update(block)
        if not ended:
            final = b""
        size, length = len(piece), len(block)
        if (
            outgoing.is_full
            or size > self.window
            or size > outgoing.window
            or size > FRAME_BYTES
            or length > FRAME_BYTES
            or len(final) > FRAME_BYTES
        ):
            self._send_head_apart(block, piece, ended, final)
            return
        # Nearly every message: one write for all of it, put together once.
        flag = END_STREAM if ended and not final else 0
        if size:
            self.window -= size
            outgoing.window -= size
            budget = outgoing.budget
            if budget.frames < PURSE:
                budget.sent(size, 1)
            else:
                budget.useful += size
            head = pack_head(length, HEADERS, END_HEADERS, self.id)
            frames = [head, block, pack_head(size, DATA, flag, self.id), piece]
        else:
            frames = [pack_head(length, HEADERS, END_HEADERS | flag, self.id), block]
        if final:
            frames += pack_head(len(final), HEADERS, END_HEADERS | END_STREAM, self.id), final
        outgoing.write(b"".join(frames))
        if ended:
            self.local_ended = True
            self.connection.stream_sent(self)

    def _send_head_apart(self, block: bytes, piece: bytes, ended: bool, final: bytes) -> None:
        """Send a field block, and behind it as much of the body as the windows allow."""
        is_all = ended and not piece and not final
        self.outgoing.send_at_once(field_block_frames(self.id, block, is_all))
        if is_all:
            self.local_ended = True
            self.connection.stream_sent(self)
        elif piece or ended:
            self.send(piece, ended, final)

    def send(self, piece: bytes, ended: bool, final: bytes = b"") -> None:
        """Send more of the body, as far as the windows allow."""
        outgoing = self.outgoing
        if not ended:
            final = b""
        size = len(piece)
        if (
            self.waiting
            or outgoing.is_full
            or size > self.window
            or size > outgoing.window
            or size > FRAME_BYTES
            # Before trailers there may be an update of the table, of one octet.
            or len(final) >= FRAME_BYTES
            or not (size or ended)
        ):
            self._send_in_turns(piece, ended, final)
            return
        # Nearly every piece.
        frames = b""
        if size or not final:
            self.window -= size
            outgoing.window -= size
            budget = outgoing.budget
            if budget.frames < PURSE:
                budget.sent(size, 1)
            else:
                budget.useful += size
            flags = END_STREAM if ended and not final else 0
            frames = pack_head(size, DATA, flags, self.id) + piece
        if final:
            frames += self._final_frame(outgoing.with_table_update(final))
        outgoing.write(frames)
        if ended:
            self.local_ended = True
            self.connection.stream_sent(self)

    def _send_in_turns(self, piece: bytes, ended: bool, final: bytes) -> None:
        """Send of the body what can be sent, and have the rest wait for its turn."""
        outgoing = self.outgoing
        outgoing.waiting += len(piece)
        if ended:
            self._final = final
            outgoing.waiting += len(final)
        was_blocked = bool(self.waiting)
        if piece:
            if not was_blocked:
                self.waiting = deque()
            elif len(piece) + len(self.waiting[-1]) <= _SMALL:
                piece = b"".join((self.waiting.pop(), piece))
            self.waiting.append(memoryview(piece))
        if was_blocked or (piece and outgoing.is_full):
            outgoing.blocked[self] = None
        else:
            self.flow(len(piece))
            if self.waiting:
                outgoing.blocked[self] = None

    def _final_frame(self, block: bytes) -> bytes:
        """Return the frame of trailers that fit into one."""
        return pack_head(len(block), HEADERS, END_HEADERS | END_STREAM, self.id) + block

    def flow(self, most: int) -> int:
        """Send of what waits as much as the windows allow, at most *most* bytes; return how much that was."""
        outgoing = self.outgoing
        waiting = self.waiting
        frames: list[bytes | memoryview] = []
        sent = whole = 0
        while waiting:
            piece = waiting[0]
            room = min(self.window, outgoing.window, most - sent, FRAME_BYTES)
            if room <= 0:
                break
            if len(piece) > room:
                waiting[0] = piece[room:]
                piece = piece[:room]
            else:
                waiting.popleft()
                whole += 1
            size = len(piece)
            sent += size
            self.window -= size
            outgoing.window -= size
            is_last = not waiting and self._final == b""
            frames.append(pack_head(size, DATA, END_STREAM if is_last else 0, self.id))
            frames.append(piece)
        if sent:
            outgoing.waiting -= sent
            outgoing.budget.sent(sent, whole)
        is_over = self._final is not None and not waiting
        if is_over:
            if self._final:
                outgoing.waiting -= len(self._final)
                frames.append(field_block_frames(self.id, outgoing.with_table_update(self._final), True))
            elif not sent:
                frames.append(pack_head(0, DATA, END_STREAM, self.id))
        if frames:
            # Trailers alone have no window, and may come while the transport is full.
            outgoing.send_at_once(b"".join(frames))
        if is_over:
            self.local_ended = True
            self.connection.stream_sent(self)
        return sent

    def leave_turns(self) -> None:
        """Nothing: what waits here is to be sent by turns."""

    def account(self, count: int) -> None:
        """Take *count* bytes of the body that are sent off the windows."""
        self.window -= count
        self.outgoing.window -= count
        self.outgoing.budget.sent(count)

    def reset(self, code: ErrorCode) -> None:
        """End the stream at once, and say why."""
        self.forget_unsent()
        self.connection.reset(self, code)

    def forget_unsent(self) -> None:
        """Nothing of what waits is of use any more."""
        if self.waiting:
            self.outgoing.waiting -= self.unsent
            self.waiting = _NOTHING
        self.outgoing.blocked.pop(self, None)
