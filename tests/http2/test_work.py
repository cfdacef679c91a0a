"""What one connection of HTTP/2 may have done in one turn, whatever it is that it says."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.request_head import RequestHead
from ingress.http.work import FRAME_WORK, LATER_TURN_WORK, PIECE_WORK, REQUEST_WORK, TURN_WORK
from ingress.http2.budget import FAULT_COST, PURSE
from ingress.http2.faults import ErrorCode
from ingress.http2.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    PADDED,
    PREFACE,
    frame,
    ping_frame,
    settings_frame,
    window_update,
)
from ingress.http2.incoming import CONNECTION_WINDOW, STREAM_WINDOW
from ingress.http2.server import ServerConnection
from ingress.http2.stream import Stream
from tests.fakes.http2.frames import block, literal, request_fields

GET = block(request_fields())
PIECES_AT_ONCE = TURN_WORK // PIECE_WORK


class Taken(Stream):
    """A stream that notes what it is told."""

    def __init__(self, connection: Serving, stream_id: int, length: int, ended: bool) -> None:
        super().__init__(connection, stream_id, length, ended)
        self.pieces: list[bytes] = []
        self.has_ended = ended

    def received(self, piece: bytes, ended: bool) -> None:
        self.pieces.append(piece)
        self.has_ended = ended

    def broken(self, code: ErrorCode | int, why: str) -> None:
        self.pieces.append(b"broken")

    def drained(self) -> None: ...


class Serving(ServerConnection[Taken]):
    """A connection whose requests are kept."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)
        self.asked = 0
        self.fault: ErrorCode | None = None
        self.sent = b""
        self.outgoing.write = self._send
        self.greet()

    def _send(self, octets: bytes) -> None:
        self.sent += octets

    def request(self, stream_id: int, head: RequestHead, ended: bool) -> None:
        self.asked += 1
        self.streams[stream_id] = Taken(self, stream_id, head.content_length, ended)

    def unreadable(self, stream_id: int, head: RequestHead, status: int, why: str, ended: bool) -> None:
        self.asked += 1

    def no_more_streams(self) -> None: ...

    def stream_closed(self, stream: Taken) -> None: ...

    def failed(self, code: ErrorCode, why: str) -> None:
        self.fault = code


def get(stream: int, fields: bytes = GET, ended: bool = True) -> bytes:
    """A request."""
    return frame(HEADERS, (END_STREAM if ended else 0) | END_HEADERS, stream, fields)


class WorkTests(SynchronousTestCase):
    """How far one call of ``receive`` goes."""

    def setUp(self) -> None:
        self.connection = Serving()
        self.connection.receive(PREFACE + settings_frame(()))

    def turns(self, octets: bytes) -> int:
        """Have *octets* received; return how many turns that took."""
        count = 1
        self.connection.receive(octets)
        while self.connection.reader.has_more:
            self.connection.receive(b"")
            count += 1
        return count

    def test_fields(self) -> None:
        """Of requests with large fields only a few are read at once, and all of them in the end."""
        large = GET + b"".join(literal(b"x-%d" % number, b"x" * 4000) for number in range(4))
        one = frame(HEADERS, END_STREAM, 1, large[:16000])
        one += frame(CONTINUATION, END_HEADERS, 1, large[16000:])
        octets = b"".join(one.replace(b"\0\0\0\1", b"\0\0\0%c" % stream) for stream in range(1, 41, 2))
        self.assertGreaterEqual(self.turns(octets), 10)
        self.assertEqual(self.connection.asked, 20)

    def test_bomb(self) -> None:
        """Fields that come by an octet each cost what they expand to."""
        entry = literal(b"x-large", b"x" * 3900, 0x40)
        self.connection.receive(get(1, GET + entry))
        bombs = b"".join(get(stream, GET + b"\xbe" * 7) for stream in range(3, 203, 2))
        self.assertGreaterEqual(self.turns(bombs), 100 * 7 * 3900 // 8 // TURN_WORK // 2)

    def test_crumbs(self) -> None:
        """So do many small ones."""
        crumbs = GET + literal(b"cookie", b"a=b", 0x40) + b"\xbe" * 80
        octets = b"".join(get(stream, crumbs) for stream in range(1, 201, 2))
        self.assertGreaterEqual(self.turns(octets), 100 * 80 * 32 // 8 // TURN_WORK)

    def test_requests(self) -> None:
        """Requests that are known by heart are so many a turn."""
        self.connection.receive(get(1))
        self.assertIn(GET, self.connection.blocks.known)
        octets = b"".join(get(stream) for stream in range(3, 253, 2))
        self.connection.receive(octets)
        self.assertLessEqual(self.connection.asked - 1, TURN_WORK // REQUEST_WORK)
        self.assertGreater(self.connection.asked - 1, TURN_WORK // REQUEST_WORK // 2)

    def test_long_targets(self) -> None:
        """A target counts as its octets, also where it comes by its index, in a head that is known by heart."""
        path = b"/" + b"x" * 3800
        others = block([field for field in request_fields() if field[0] != b":path"])
        self.connection.receive(get(1, literal(b":path", path, 0x40) + others))
        known = b"\xbe" + others
        self.connection.receive(get(3, known))
        self.assertIn(known, self.connection.blocks.known)
        self.connection.receive(b"".join(get(stream, known) for stream in range(5, 105, 2)))
        self.assertLessEqual(self.connection.asked - 2, TURN_WORK // len(path) + 1)

    def test_later_turns(self) -> None:
        """Fewer, once the reader is told that its turns are those of who has much to do."""
        self.connection.receive(get(1))
        self.connection.reader.turn_work = LATER_TURN_WORK
        self.connection.receive(b"".join(get(stream) for stream in range(3, 253, 2)))
        self.assertLessEqual(self.connection.asked - 1, LATER_TURN_WORK // REQUEST_WORK)

    def large(self, stream: int) -> bytes:
        """A request with 24 kB of fields, in a HEADERS frame and another."""
        much = GET + b"".join(literal(b"x-%d" % number, b"%d" % number * 4000) for number in range(6))
        return frame(HEADERS, END_STREAM, stream, much[:16000]) + frame(
            CONTINUATION, END_HEADERS, stream, much[16000:]
        )

    def test_large_block(self) -> None:
        """A large field block is decoded some fields a turn; what is behind it waits until it is whole."""
        self.connection.reader.turn_work = LATER_TURN_WORK
        self.connection.receive(self.large(1) + ping_frame(bytes(8)) + get(3))
        self.assertTrue(self.connection.reader.has_more)
        self.assertEqual(
            (self.connection.asked, self.connection.sent.count(ping_frame(bytes(8), True))), (0, 0)
        )
        turns = self.turns(b"")
        self.assertEqual(turns, 3)
        self.assertEqual(
            (self.connection.asked, self.connection.sent.count(ping_frame(bytes(8), True))), (2, 1)
        )
        self.assertIsNone(self.connection.fault)

    def test_large_block_alone(self) -> None:
        """So it is if nothing is behind it, and what comes meanwhile is kept."""
        self.connection.reader.turn_work = LATER_TURN_WORK
        self.connection.receive(self.large(1))
        self.connection.reader.keep(get(3))
        self.turns(b"")
        self.assertEqual(self.connection.asked, 2)

    def test_broken_large_block(self) -> None:
        """A fault in a later part of it ends the connection, which then reads nothing any more."""
        self.connection.reader.turn_work = LATER_TURN_WORK
        broken = GET + b"".join(literal(b"x-%d" % number, b"x" * 4000) for number in range(3)) + b"\x80"
        self.connection.receive(get(1, broken) + get(3))
        self.assertIsNone(self.connection.fault)
        self.turns(b"")
        self.assertIs(self.connection.fault, ErrorCode.COMPRESSION_ERROR)
        self.assertEqual(self.connection.asked, 0)
        self.assertFalse(self.connection.reader.has_more)

    def test_closed_amid_large_block(self) -> None:
        """Of a reader that is closed meanwhile nothing of the block is read on."""
        self.connection.reader.turn_work = LATER_TURN_WORK
        self.connection.receive(self.large(1))
        self.connection.reader.close()
        self.connection.receive(b"")
        self.assertEqual(self.connection.asked, 0)

    def test_control(self) -> None:
        """Frames of any other kind are so many a turn."""
        self.connection.receive(get(1))
        for octets in (ping_frame(bytes(8)), window_update(0, 1), window_update(1, 1), settings_frame(())):
            self.connection.sent = b""
            self.connection.budget.payload(1)
            self.assertGreaterEqual(self.turns(octets * 390), 390 * FRAME_WORK // TURN_WORK)
            self.assertIsNone(self.connection.fault)
            for _ in range(400):
                self.connection.budget.payload(1)

    def test_settings(self) -> None:
        """Settings cost by what they change: each value moves the windows of all streams."""
        self.connection.receive(b"".join(get(stream, ended=False) for stream in range(1, 129, 2)))
        self.turns(b"")
        swing = settings_frame(tuple((INITIAL_WINDOW_SIZE, 65535 + number % 2) for number in range(32)))
        self.assertGreaterEqual(self.turns(swing * 100), 100 * 32 * 64 // TURN_WORK)

    def test_pieces(self) -> None:
        """Pieces of an octet come together, many a turn, and nothing is lost or changes its order."""
        self.connection.receive(get(1, ended=False) + get(3, ended=False))
        octets = b"".join(
            frame(DATA, 0, stream, b"%c" % (65 + number % 26))
            for number in range(10_000)
            for stream in (1, 3)
        )
        turns = self.turns(octets + frame(DATA, END_STREAM, 3, b"."))
        self.assertGreaterEqual(turns, 20_000 // PIECES_AT_ONCE)
        text = b"".join(b"%c" % (65 + number % 26) for number in range(10_000))
        for stream, last in ((1, b""), (3, b".")):
            taken = self.connection.streams[stream]
            self.assertEqual(b"".join(taken.pieces), text + last)
            self.assertLessEqual(len(taken.pieces), turns)
        self.assertEqual([self.connection.streams[each].has_ended for each in (1, 3)], [False, True])

    def test_order(self) -> None:
        """What follows pieces finds them passed on: trailers, the end of a stream, an answer to PING."""
        self.connection.receive(get(1, ended=False) + get(3, ended=False))
        one = frame(DATA, 0, 1, b"a") + frame(DATA, 0, 1, b"b")
        trailers = frame(HEADERS, END_STREAM | END_HEADERS, 1, literal(b"x", b"y"))
        stream = self.connection.streams[1]
        self.connection.receive(one + trailers)
        self.assertEqual((stream.pieces, stream.has_ended), ([b"ab", b""], True))
        stream = self.connection.streams[3]
        self.connection.receive(one.replace(b"\0\0\0\1", b"\0\0\0\3") + frame(3, 0, 3, bytes(4)))
        self.assertEqual(stream.pieces, [b"ab", b"broken"])

    def test_before_a_fault(self) -> None:
        """What came before a fault of the connection is passed on."""
        self.connection.receive(get(1, ended=False))
        stream = self.connection.streams[1]
        self.connection.receive(frame(DATA, 0, 1, b"a") * 3 + frame(6, 0, 1, bytes(8)))
        self.assertEqual(stream.pieces, [b"aaa"])
        self.assertEqual(self.connection.fault, ErrorCode.PROTOCOL_ERROR)

    def test_credit(self) -> None:
        """Credit is kept to the byte, padding and all."""
        self.connection.receive(get(1, ended=False))
        stream = self.connection.streams[1]
        stream.pause()
        self.connection.receive(frame(DATA, PADDED, 1, b"\x09x" + bytes(9)) * 100)
        self.assertEqual(stream.held, 100)
        self.assertEqual(STREAM_WINDOW - stream.credit - stream.owed, 100)
        self.assertEqual(
            CONNECTION_WINDOW - self.connection.incoming.credit - self.connection.incoming.owed, 100
        )
        self.assertEqual(stream.pieces, [b"x" * 100])
        stream.resume()
        self.assertEqual(STREAM_WINDOW - stream.credit - stream.owed, 0)

    def test_too_much(self) -> None:
        """More than there is credit for, or than was announced, is found in pieces of an octet, too."""
        fields = block([*request_fields(method=b"POST"), (b"content-length", b"50")])
        self.connection.receive(get(1, fields, ended=False))
        stream = self.connection.streams[1]
        self.connection.receive(frame(DATA, 0, 1, b"x") * 51)
        self.assertNotIn(1, self.connection.streams)
        self.assertEqual(stream.pieces, [b"broken"])
        self.connection.receive(get(3, ended=False))
        self.connection.streams[3].pause()
        self.turns(frame(DATA, 0, 3, bytes(16_000)) * 17)
        self.assertNotIn(3, self.connection.streams)
        self.assertIsNone(self.connection.fault)

    def test_kept(self) -> None:
        """What is kept for later is read in order, and counted as received."""
        before = self.connection.budget.received
        self.connection.reader.keep(get(1)[:10])
        self.connection.reader.keep(get(1)[10:])
        self.assertEqual(self.connection.asked, 0)
        self.assertTrue(self.connection.reader.has_more)
        self.connection.receive(b"")
        self.assertEqual(self.connection.asked, 1)
        self.assertFalse(self.connection.reader.has_more)
        self.assertEqual(self.connection.budget.received - before, len(get(1)))


class FaultTests(SynchronousTestCase):
    """Streams that we are made to reset."""

    def test_cost(self) -> None:
        """Each costs what ten others cost that come to nothing."""
        makes = {
            "a window update of nothing": lambda stream: get(stream) + window_update(stream, 0),
            "a body behind the end": lambda stream: get(stream) + frame(DATA, 0, stream, b"x"),
            "a malformed request": lambda stream: get(stream, GET + literal(b"X", b"y")),
            "another length": lambda stream: (
                get(stream, GET + literal(b"content-length", b"5"), ended=False)
                + frame(DATA, END_STREAM, stream, b"x")
            ),
        }
        for name, make in makes.items():
            connection = Serving()
            connection.receive(PREFACE + settings_frame(()))
            count = 0
            while connection.fault is None and count < 2 * PURSE:
                connection.receive(make(2 * count + 1))
                count += 1
            self.assertEqual(connection.fault, ErrorCode.ENHANCE_YOUR_CALM, name)
            self.assertEqual(count, PURSE // FAULT_COST + 1, name)
