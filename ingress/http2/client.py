"""The client's side of a connection: requests out, answers in.

Every answer is checked to be one, and to be whole, before anything of it goes on (RFC 9113
sections 8.1 and 8.3.2).  Streams are begun while the peer lets us have more of them, until it says goodbye (section
6.8) or their numbers are used up.  What it says it has done nothing with is told apart, for
that alone may be asked again whatever it was (section 8.7).

Credit of the connection is given back as soon as a body comes, but credit of a stream only when that is taken.  So
a client that takes nothing stops its own stream, and none of the others, which belong to strangers.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from mypy_extensions import mypyc_attr

from ingress.http.grammar import Sightings
from ingress.http.response_head import MAX_INTERIM_BYTES, ResponseHead, interim_bytes
from ingress.http2.block_decoder import (
    MEMO_BLOCK_BYTES,
    MEMO_BLOCKS,
    MEMO_LIST_BYTES,
    BlockDecoder,
)
from ingress.http2.budget import PURSE, Budget
from ingress.http2.connection import Connection
from ingress.http2.faults import ConnectionFault, ErrorCode, Malformed, StreamFault
from ingress.http2.frame_reader import FrameReader
from ingress.http2.frames import (
    ENABLE_PUSH,
    INITIAL_WINDOW_SIZE,
    LAST_STREAM,
    PREFACE,
    USUAL_WINDOW,
    goaway_frame,
    settings_frame,
    window_update,
)
from ingress.http2.incoming import CONNECTION_WINDOW, Incoming
from ingress.http2.outgoing import MAX_SURPLUS, Outgoing
from ingress.http2.response_fields import (
    ResponseField,
    read_response_field,
    response_head,
    trailer_lines,
)
from ingress.http2.stream import Stream, StreamConnection

ASSUMED_STREAMS: Final = 100
"""How many a peer is taken to allow until it says so (section 6.5.2 recommends no fewer)."""
FIRST_WINDOW: Final = 16 * 1024
"""What may come of an answer before any of it is taken: of so much a hundred streams may wait for one client."""
ANSWER_WINDOW: Final = 64 * 1024
"""What may come ahead of one that is being taken."""
MAX_UNTAKEN: Final = 4 * 1024 * 1024
"""Bytes that were sent at once while the endpoint took none.  The heads of a hundred requests are 3.2 MB at most."""
_FRAME_SHARE: Final = 1 / 8
"""Streams are ours to begin, so what an endpoint says about them is less of a threat than what a client may."""

GREETING: Final = (
    PREFACE
    + settings_frame(((ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, FIRST_WINDOW)))
    + window_update(0, CONNECTION_WINDOW - USUAL_WINDOW)
)
"""What we say first."""

S = TypeVar("S", bound="ClientStream")
Meaning = ResponseHead | list[bytes]
"""What a field block of an answer is: a head, or trailers that go on, as lines without CRLF."""


class AnswerConnection(StreamConnection, Protocol):
    """What the stream of an answer asks of its connection."""

    def answer_ended(self, stream: "ClientStream") -> None:
        """An answer is whole."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ClientStream(Stream):
    """A request and its answer; it has no number until it is begun."""

    __slots__ = ("_client", "_interims", "has_no_content", "knows_head")

    def __init__(self, connection: AnswerConnection, has_no_content: bool = False) -> None:
        """*has_no_content* says that this is a HEAD request."""
        # Not by ``super``: to find it so takes as long as what it does.
        Stream.__init__(self, connection, 0, 0)
        self._client = connection
        self.has_no_content = has_no_content
        """Whether the answer has none whatever its head says (RFC 9110 section 6.4.1): to HEAD, and once it is known that it is 204 or 304."""
        self.knows_head = False
        """Whether the head of the final answer came."""
        self._interims = 0
        """What the interim heads count as that came."""

    # What takes the answer

    @abstractmethod
    def interim(self, head: ResponseHead) -> None:
        """A 1xx head came."""

    @abstractmethod
    def answered(self, head: ResponseHead, ended: bool) -> None:
        """The head of the answer came; with *ended* that is all of it."""

    @abstractmethod
    def body(self, piece: bytes, ended: bool) -> None:
        """A piece of the body came; with *ended* it was the last one, and there are no trailers."""

    @abstractmethod
    def trailers(self, lines: list[bytes]) -> None:
        """The body is whole, and these came behind it."""

    # What came

    def received(self, piece: bytes, ended: bool) -> None:
        """A piece of the body came, or its end."""
        if not self.knows_head:
            raise Malformed("a body without a head")
        self.body(piece, ended)
        if ended:
            self._client.answer_ended(self)

    def block_received(self, meaning: Meaning, ended: bool) -> None:
        """A field block came; raises ``StreamFault`` for what cannot be one here."""
        if isinstance(meaning, ResponseHead):
            self._take_head(meaning, ended)
        elif not self.knows_head:
            raise Malformed("an answer without :status")
        elif not ended:
            raise Malformed("fields amid a body")
        elif self.body_left > 0:
            raise Malformed("body and content-length differ")
        else:
            self.remote_ended = True
            self.trailers(meaning)
        if self.remote_ended:
            self._client.answer_ended(self)

    def _take_head(self, head: ResponseHead, ended: bool) -> None:
        if self.knows_head:
            raise Malformed("a second head")
        if head.status < 200:
            if ended:
                raise Malformed("an interim answer, and nothing behind it")
            self._interims += interim_bytes(head)
            if self._interims > MAX_INTERIM_BYTES:
                raise StreamFault(ErrorCode.ENHANCE_YOUR_CALM, "too many or too large interim answers")
            self.interim(head)
            return
        if not head.has_body:
            self.has_no_content = True
        self.body_left = 0 if self.has_no_content else head.content_length
        if ended and self.body_left > 0:
            raise Malformed("a length, and no content")
        self.knows_head = True
        self.remote_ended = ended
        self.answered(head, ended)


@mypyc_attr(allow_interpreted_subclasses=True)
class ClientConnection(Connection[S, ResponseField, Meaning]):
    """The client's side; *S* is a stream of whoever asks."""

    def __init__(self, seconds: Callable[[], float], most_streams: int = ASSUMED_STREAMS) -> None:
        """*most_streams* is what the peer is taken to allow until it says so."""
        # A stream of ours that is reset is a request that has failed, and what follows is decided there.
        budget = Budget(seconds, _FRAME_SHARE, reset_share=0.0)
        # An endpoint is read on whatever it takes, since it may wait for us in the same way.
        outgoing = Outgoing(budget, MAX_UNTAKEN)
        super().__init__(
            FrameReader(budget),
            BlockDecoder(read_response_field),
            Incoming(outgoing, FIRST_WINDOW, ANSWER_WINDOW, CONNECTION_WINDOW // 2),
            outgoing,
            budget,
        )
        self.most_streams = most_streams
        """How many streams the peer lets us have at once."""
        self.is_leaving = False
        """Whether no stream may be begun any more."""
        self.next_id = 1
        """The number of the next stream."""
        self._repeats: dict[bytes, tuple[Meaning, list[tuple[ResponseField, int, bytes]]]] = {}
        """What blocks mean whatever the table has, and what they put into it."""
        self._seen = Sightings(MEMO_BLOCKS)

    @abstractmethod
    def no_more_streams(self) -> None:
        """The peer said goodbye, and begins nothing with what comes now."""

    def free_streams(self) -> int:
        """Return how many more streams may be begun now; not above 0 for none."""
        if (
            self.is_leaving
            or self.reader.is_closed
            or self.outgoing.surplus > MAX_SURPLUS
            or self.next_id > LAST_STREAM
        ):
            return 0
        return self.most_streams - len(self.streams)

    # Sending

    def greet(self) -> None:
        """Say our settings; to be called first."""
        self.incoming.credit = CONNECTION_WINDOW
        self.outgoing.write(GREETING)

    def begin(self, stream: S, block: bytes, piece: bytes, ended: bool) -> None:
        """Send the head of a request, and the first *piece* of its body; there must be ``free_streams``."""
        stream.id = self.next_id
        stream.window = self.outgoing.initial_window
        self.next_id += 2
        self.streams[stream.id] = stream
        stream.send_head(block, piece, ended)

    def leave(self) -> None:
        """Begin no more streams, and say so."""
        if not self.is_leaving and not self.reader.is_closed:
            self.is_leaving = True
            self.outgoing.write(goaway_frame(0, ErrorCode.NO_ERROR))

    # Receiving

    def block_received(self, stream_id: int, block: bytes, ended: bool) -> None:
        """An answer or its trailers came."""
        blocks = self.blocks
        meaning = blocks.known.get(block) or self._repeated(block)
        changes = blocks.decoder.changes
        fields = None
        if meaning is None:
            fields = blocks.decode(block)
            self.reader.work_left -= blocks.work
        stream = self.streams.get(stream_id)
        if stream is None or stream.remote_ended:
            self.stray(stream_id, stream)
            return
        if meaning is None:
            assert fields is not None
            meaning = (
                response_head(fields) if fields and fields[0][1] == b":status" else trailer_lines(fields)
            )
            blocks.remember(block, changes, meaning)
            if (
                changes != blocks.decoder.changes
                and len(block) <= MEMO_BLOCK_BYTES
                and self._seen.again(block)
            ):
                self._learn(block, meaning)
        stream.block_received(meaning, ended)

    def _learn(self, block: bytes, meaning: Meaning) -> None:
        """Keep what *block* means and does to the table, if neither depends on the blocks before."""
        decoder = self.blocks.decoder
        entries = decoder.entries_of(block)
        if entries is not None and decoder.list_size <= MEMO_LIST_BYTES:
            if len(self._repeats) >= MEMO_BLOCKS:
                self._repeats.clear()
            self._repeats[block] = (meaning, entries)

    def _repeated(self, block: bytes) -> Meaning | None:
        """Return what *block* means if that is known, and do to the table what it does."""
        repeat = self._repeats.get(block)
        if repeat is None:
            return None
        self.blocks.decoder.insert(repeat[1])
        self.blocks.known.clear()
        return repeat[0]

    def answer_ended(self, stream: ClientStream) -> None:
        """An answer is whole; of a request that goes on nobody wants the rest (section 8.1)."""
        if stream.local_ended:
            budget = self.budget
            if budget.frames < PURSE or budget.resets < PURSE:
                budget.ended_well()
            # The connection has its credit back already.
            stream.held = 0
            self.close_stream(stream)
        else:
            stream.reset(ErrorCode.NO_ERROR)

    def stream_sent(self, stream: Stream) -> None:
        """All of a request was sent; its answer is still to come, or it would be over."""

    def is_idle(self, stream_id: int) -> bool:
        """Whether we have not begun this stream; nobody begins even ones, for we take no pushes."""
        return stream_id >= self.next_id or stream_id % 2 == 0

    def most_streams_changed(self, count: int) -> None:
        self.most_streams = count

    def _set(self, name: int, value: int) -> None:
        if name == ENABLE_PUSH and value:
            # Section 6.5.2: who is never to push cannot be asked to.
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a server that wants pushes")
        super()._set(name, value)

    def peer_leaves(self, last: int, code: int) -> None:
        """The peer looks at no stream above *last*; those up to it go on (section 6.8)."""
        self.is_leaving = True
        why = f"the endpoint leaves, with code {code}"
        for stream in [each for each in self.streams.values() if each.id > last]:
            self.close_stream(stream)
            stream.broken(ErrorCode.REFUSED_STREAM, why)
        self.no_more_streams()
