"""Tests for ``ingress.http2.frame_reader``: bodies come out as they were, however they were framed, padded and cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.budget import Budget
from ingress.http2.faults import ConnectionFault, ErrorCode, StreamFault
from ingress.http2.frame_reader import FrameReader, FrameSink
from tests.fakes.bodies import piece_at
from tests.fakes.http2.frames import data, frame, ping, settings, window_update

STREAMS = (1, 3, 5)
LARGEST = 16_384


class Taken(FrameSink):
    """A connection that keeps what it is told."""

    def __init__(self, reader: FrameReader) -> None:
        self.bodies = dict.fromkeys(STREAMS, b"")
        self.lengths = dict.fromkeys(STREAMS, 0)
        self.ended: list[int] = []
        self.told: list[str] = []
        self.closes_at = 0
        self._reader = reader

    def block_received(self, stream_id: int, block: bytes, ended: bool) -> None:
        self.told.append("block")

    def decode_some(self, block: bytes) -> bool:
        return True

    def data_received(self, stream_id: int, piece: bytes, length: int, ended: bool) -> None:
        assert type(piece) is bytes
        assert stream_id not in self.ended
        self.bodies[stream_id] += piece
        self.lengths[stream_id] += length
        self.told.append(f"data {stream_id}")
        if ended:
            self.ended.append(stream_id)
        if len(self.told) == self.closes_at:
            self._reader.close()

    def settings_received(self, flags: int, stream_id: int, payload: bytes) -> None:
        """Settings are said first."""

    def window_received(self, stream_id: int, increment: int) -> None:
        self.told.append(f"window {stream_id} {increment}")

    def control_received(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        self.told.append("control")

    def stream_fault(self, stream_id: int, fault: StreamFault) -> None:
        raise AssertionError(fault)


class FrameCase(SynchronousTestCase):
    """A reader of frames whose peer has said its settings."""

    gathers = False
    """Whether what comes lies in memory that is used again as soon as it is read."""

    def setUp(self) -> None:
        self.reader = FrameReader(Budget(lambda: 0.0))
        self.taken = Taken(self.reader)
        self.give(settings())

    def give(self, octets: bytes) -> None:
        """Have *octets* read, as far as that goes at once."""
        memory = bytearray(octets)
        gathered = self.reader.gather_bodies(memoryview(memory)) if self.gathers else 0
        try:
            self.reader.read(bytes(memory[gathered:]), self.taken)
        finally:
            memory[:] = b"?" * len(memory)

    def read(self, octets: bytes) -> None:
        """Have *octets* read in all the turns that it takes."""
        self.give(octets)
        while self.reader.has_more:
            self.give(b"")


class CutTests(FrameCase):
    """Frames that are cut anywhere."""

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(STREAMS),
                st.one_of(st.integers(1, 300), st.integers(3_000, 6_000), st.integers(16_000, LARGEST - 256)),
                st.one_of(st.none(), st.integers(0, 255)),
            ),
            max_size=40,
        ),
        st.lists(st.one_of(st.integers(1, 30), st.integers(4_000, 200_000)), min_size=1, max_size=8),
        st.booleans(),
    )
    def test_any_cut(self, frames: list[tuple[int, int, int | None]], cuts: list[int], gathers: bool) -> None:
        """Whatever the frames are, and wherever they are cut, each body is whole and counted with its padding."""
        self.gathers = gathers
        self.setUp()
        bodies, lengths = dict.fromkeys(STREAMS, b""), dict.fromkeys(STREAMS, 0)
        octets = b""
        for stream, size, padding in frames:
            piece = piece_at(len(octets), size)
            octets += data(stream, piece, padding=padding)
            bodies[stream] += piece
            lengths[stream] += size + (0 if padding is None else padding + 1)
        octets += b"".join(data(stream, ended=True) for stream in STREAMS)
        at = number = 0
        while at < len(octets):
            cut = cuts[number % len(cuts)]
            self.read(octets[at : at + cut])
            at += cut
            number += 1
        self.assertTrue(self.taken.bodies == bodies)
        self.assertEqual(self.taken.lengths, lengths)
        self.assertEqual(sorted(self.taken.ended), list(STREAMS))
        self.assertEqual(self.reader.unread, 0)


class DataTests(FrameCase):
    """DATA frames of three streams."""

    def test_order(self) -> None:
        """What is no body is told of behind what came before it, also where a frame that had begun is read by itself."""
        octets = data(1, bytes(LARGEST)) + data(3, bytes(5_000)) + ping() + data(1, bytes(LARGEST))
        self.give(octets[:100])
        self.give(octets[100:])
        self.assertEqual(self.taken.told, ["data 1", "data 3", "control", "data 1"])

    def test_credit_between(self) -> None:
        """Credit for what we send is told of at once, and tears no body apart that is being put together."""
        octets = data(1, b"a") + data(3, b"b") + window_update(0, 5) + window_update(1, 7) + data(1, b"c")
        self.give(octets)
        self.assertEqual(self.taken.told, ["window 0 5", "window 1 7", "data 1", "data 3"])
        self.assertEqual(self.taken.bodies, {1: b"ac", 3: b"b", 5: b""})

    def test_credit_of_another_size(self) -> None:
        """Credit is a number of four octets."""
        for size in (0, 3, 5):
            self.setUp()
            with self.assertRaises(ConnectionFault) as caught:
                self.give(frame(8, bytes(size), stream=1))
            self.assertEqual(caught.exception.code, ErrorCode.FRAME_SIZE_ERROR)

    def test_no_credit_amid_a_block(self) -> None:
        """Credit may not come amid a field block, nor before settings."""
        self.assertRaises(ConnectionFault, self.give, frame(1, b"\x82", stream=7) + window_update(0, 5))
        self.assertRaises(
            ConnectionFault, FrameReader(Budget(lambda: 0.0)).read, window_update(0, 5), self.taken
        )
        self.assertEqual(self.taken.told, [])

    def test_alone(self) -> None:
        """A frame that no other body follows is passed on as it is, before what is behind it is looked at."""
        self.give(data(1, b"a", padding=3) + ping() + data(1, b"b"))
        self.assertEqual(self.taken.told, ["data 1", "control", "data 1"])
        self.assertEqual((self.taken.bodies[1], self.taken.lengths[1]), (b"ab", 6))

    def test_too_large(self) -> None:
        """A frame that is too large is refused as soon as all of its head is there, and what came before it is passed on."""
        octets = data(1, bytes(10_000)) + frame(0, bytes(LARGEST + 1), stream=1)
        for cut in (100, 10_009 + 9, 10_009 + 12):
            self.setUp()
            with self.assertRaises(ConnectionFault) as caught:
                self.give(octets[:cut])
                self.give(octets[cut:])
            self.assertEqual(caught.exception.code, ErrorCode.FRAME_SIZE_ERROR)
            self.reader.pass_on_all(self.taken)
            self.assertEqual(self.taken.lengths[1], 10_000)

    def test_no_stream(self) -> None:
        """A large frame of no stream is a fault like a small one."""
        for size in (1, 10_000):
            self.setUp()
            self.assertRaises(ConnectionFault, self.give, data(0, bytes(size)))

    def test_amid_a_block(self) -> None:
        """No body may come amid a field block, however large it is."""
        begun = frame(1, b"\x82", stream=7) + data(1, bytes(10_000))
        self.assertRaises(ConnectionFault, self.give, begun)
        self.assertEqual(self.taken.told, [])

    def test_closed_meanwhile(self) -> None:
        """Nothing is told of what comes behind the frame that ended the connection."""
        octets = data(1, bytes(10_000), ended=True) + data(3, bytes(10_000), ended=True) * 3
        self.taken.closes_at = 1
        self.give(octets[:50])
        self.give(octets[50:])
        self.assertEqual((self.taken.told, self.reader.unread), (["data 1"], 0))


class MemoryTests(DataTests):
    """The same in memory that is used again as soon as it is read."""

    gathers = True

    def test_gathered(self) -> None:
        """Large frames of bodies are gathered, from the one that had begun to the first that is something else or not whole."""
        large = data(1, bytes(5_000)) + data(3, bytes(5_000))
        self.give(large[:100])
        for behind in (
            ping(),
            data(1, bytes(4_000)),
            data(1, bytes(5_000), ended=True),
            frame(0, bytes(LARGEST + 1), stream=1),
            data(0, bytes(5_000)),
        ):
            self.assertEqual(
                self.reader.gather_bodies(memoryview(large[100:] + behind + large)), len(large) - 100
            )
            self.reader.read(large[:100], self.taken)

    def test_not_gathered(self) -> None:
        """Nothing is gathered before settings, amid a field block or a small frame, nor when nothing is read any more."""
        large = data(1, bytes(5_000))
        before_settings, closed = (FrameReader(Budget(lambda: 0.0)) for _ in range(2))
        closed.read(settings(), Taken(closed))
        closed.close()
        self.assertEqual(
            [each.gather_bodies(memoryview(large)) for each in (before_settings, closed)], [0, 0]
        )
        for begun in (
            frame(1, b"\x82", stream=7),
            ping()[:-1],
            data(1, bytes(4_000))[:-1],
            large[:8],
            large[:100],
        ):
            self.setUp()
            self.give(begun)
            self.assertEqual(self.reader.gather_bodies(memoryview(large[100:-1])), 0)

    def test_counted(self) -> None:
        """What is gathered counts as what is read: a peer that sends bodies earns what its other frames cost."""
        frames = data(1, bytes(5_000)) * 3
        counted = []
        for gathers in (True, False):
            budget = Budget(lambda: 0.0)
            reader = FrameReader(budget)
            reader.read(settings() + frames[:100], Taken(reader))
            budget.spend(50)
            at = reader.gather_bodies(memoryview(frames)[100:]) if gathers else 0
            reader.read(frames[100 + at :], Taken(reader))
            counted.append((budget.received, budget.useful, budget.frames))
        self.assertEqual(counted[0], counted[1])
