"""A stream by itself: what it sends, and in how many writes."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.budget import Budget
from ingress.http2.faults import ErrorCode
from ingress.http2.frames import DATA, END_HEADERS, END_STREAM, FRAME_BYTES, HEADERS, frame, pack_head
from ingress.http2.incoming import Incoming
from ingress.http2.outgoing import Outgoing
from ingress.http2.stream import Stream

HEAD = b"\x88"
TRAILERS = b"\x00\x03sum\x01x"


class Wire:
    """A connection that keeps what its stream writes."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.sent: list[Stream] = []
        self.outgoing = Outgoing(Budget(lambda: 0.0))
        self.outgoing.write = self.written.append
        self.incoming = Incoming(self.outgoing)

    def stream_sent(self, stream: Stream) -> None:
        """Note it."""
        self.sent.append(stream)

    def reset(self, stream: Stream, code: ErrorCode) -> None:
        """Nobody resets."""
        raise AssertionError(code)


class Answer(Stream):
    """A stream that nothing comes for, and that is not told of much."""

    def received(self, piece: bytes, ended: bool) -> None:
        """Nothing comes."""
        raise AssertionError(piece)

    def broken(self, code: ErrorCode | int, why: str) -> None:
        """Nothing breaks."""
        raise AssertionError(why)

    def drained(self) -> None:
        """All that waited was sent."""


class AnswerTests(SynchronousTestCase):
    """Answers with trailers, as all of gRPC's are."""

    def setUp(self) -> None:
        self.wire = Wire()
        self.stream = Answer(self.wire, 1, ended=True)

    def frames(self) -> bytes:
        """Return what was written, which must be the end of the stream."""
        self.assertEqual((self.wire.sent, self.stream.local_ended), ([self.stream], True))
        return b"".join(self.wire.written)

    def test_whole_answer(self) -> None:
        """Head, body and trailers that come together leave in one write."""
        self.stream.send_head(HEAD, b"body", True, TRAILERS)
        self.assertEqual(len(self.wire.written), 1)
        expected = frame(HEADERS, END_HEADERS, 1, HEAD) + frame(DATA, 0, 1, b"body")
        self.assertEqual(self.frames(), expected + frame(HEADERS, END_HEADERS | END_STREAM, 1, TRAILERS))

    def test_no_body(self) -> None:
        """Without a body there is no empty frame between both."""
        self.stream.send_head(HEAD, b"", True, TRAILERS)
        self.assertEqual(len(self.wire.written), 1)
        expected = frame(HEADERS, END_HEADERS, 1, HEAD)
        self.assertEqual(self.frames(), expected + frame(HEADERS, END_HEADERS | END_STREAM, 1, TRAILERS))

    def test_end_of_a_body(self) -> None:
        """The last piece leaves with the trailers, and so do trailers alone."""
        for piece, before in ((b"end", frame(DATA, 0, 1, b"end")), (b"", b"")):
            self.setUp()
            self.stream.send_head(HEAD, b"", False)
            self.wire.written.clear()
            self.stream.send(piece, True, TRAILERS)
            self.assertEqual(len(self.wire.written), 1)
            self.assertEqual(self.frames(), before + frame(HEADERS, END_HEADERS | END_STREAM, 1, TRAILERS))

    def test_not_the_end(self) -> None:
        """What is not the end has no trailers yet."""
        self.stream.send_head(HEAD, b"a", False, TRAILERS)
        self.stream.send(b"b", False, TRAILERS)
        self.assertFalse(self.stream.local_ended)
        expected = frame(HEADERS, END_HEADERS, 1, HEAD) + frame(DATA, 0, 1, b"a") + frame(DATA, 0, 1, b"b")
        self.assertEqual(b"".join(self.wire.written), expected)

    def test_small_window(self) -> None:
        """Trailers wait behind the body that waits for credit."""
        self.stream.window = 2
        self.stream.send_head(HEAD, b"body", True, TRAILERS)
        waiting = 2 + len(TRAILERS)
        self.assertEqual((self.stream.unsent, self.stream.local_ended), (waiting, False))
        self.assertEqual(self.wire.outgoing.waiting, waiting)
        self.stream.window = 2
        self.wire.outgoing.pump()
        self.assertEqual((self.stream.unsent, self.wire.outgoing.waiting), (0, 0))
        expected = frame(HEADERS, END_HEADERS, 1, HEAD) + frame(DATA, 0, 1, b"bo") + frame(DATA, 0, 1, b"dy")
        self.assertEqual(self.frames(), expected + frame(HEADERS, END_HEADERS | END_STREAM, 1, TRAILERS))

    def test_no_use(self) -> None:
        """Of a stream that is over before its trailers could be sent, nothing waits any more."""
        self.stream.window = 2
        self.stream.send_head(HEAD, b"body", True, TRAILERS)
        self.stream.forget_unsent()
        self.assertEqual((self.stream.unsent, self.wire.outgoing.waiting), (0, 0))

    def test_large_trailers(self) -> None:
        """Trailers that do not fit into a frame go on in another one."""
        self.stream.send_head(HEAD, b"body", True, bytes(FRAME_BYTES + 1))
        self.assertEqual(self.frames()[-10:-1], pack_head(1, 0x9, END_HEADERS, 1))

    def test_smaller_table(self) -> None:
        """The first block after the peer has made its table smaller says so, and that may be the trailers'."""
        self.stream.send_head(HEAD, b"", False)
        self.wire.outgoing.table_update = b"\x20"
        self.stream.send(b"", True, TRAILERS)
        self.assertEqual(
            self.wire.written[-1], frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x20" + TRAILERS)
        )

    def test_smaller_table_and_full_frame(self) -> None:
        """With what it says so by, trailers that fill a frame go on in another one: no frame is larger than any may be."""
        self.stream.send_head(HEAD, b"", False)
        self.wire.outgoing.table_update = b"\x20"
        self.stream.send(b"", True, bytes(FRAME_BYTES))
        self.assertEqual(self.frames()[-10:], frame(0x9, END_HEADERS, 1, b"\0"))
