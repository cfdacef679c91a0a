"""Tests for ``ingress.http2.frame_room``: what is read into the spaces comes out as DATA frames, and nothing else does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.frame_room import COPIED_FRAMES, PIECE_BYTES, FrameRoom
from ingress.http2.frames import DATA, FRAME_BYTES
from tests.fakes.bodies import piece_at
from tests.fakes.http2.frames import Frame

MOST = COPIED_FRAMES * PIECE_BYTES


def fill(room: FrameRoom, most: int, octets: bytes) -> int:
    """Read *octets* as a socket does, at most *most*; return how many these were."""
    at = 0
    for space in room.spaces(most):
        piece = octets[at : at + len(space)]
        space[: len(piece)] = piece
        at += len(piece)
    return at


def frames_of(octets: bytes) -> list[Frame]:
    """Return the frames of what is nothing but whole frames."""
    frames = []
    while octets:
        length, kind, flags = int.from_bytes(octets[:3]), octets[3], octets[4]
        assert len(octets) >= 9 + length
        frames.append(Frame(kind, flags, int.from_bytes(octets[5:9]), octets[9 : 9 + length]))
        octets = octets[9 + length :]
    return frames


class FrameRoomTests(SynchronousTestCase):
    """Bodies of all sizes."""

    def setUp(self) -> None:
        self.room = FrameRoom()

    @given(st.integers(1, 2 * MOST), st.integers(1, MOST), st.integers(1, 2**31 - 1))
    def test_frames(self, most: int, came: int, stream: int) -> None:
        """Whatever was asked for and came, it is whole, of one stream, and no frame is larger than any peer takes."""
        octets = piece_at(0, came)
        count = fill(self.room, most, octets)
        self.assertEqual(count, min(most, came, MOST))
        frames = frames_of(bytes(self.room.frames(stream, count)))
        self.assertEqual({(each.kind, each.flags, each.stream) for each in frames}, {(DATA, 0, stream)})
        self.assertEqual(b"".join(each.payload for each in frames), octets[:count])
        self.assertTrue(all(0 < len(each.payload) <= FRAME_BYTES for each in frames))

    def test_used_again(self) -> None:
        """Nothing of one stream is left in what goes to the next."""
        fill(self.room, MOST, b"\xff" * MOST)
        self.room.frames(1, MOST)
        count = fill(self.room, 20_000, bytes(20_000))
        frames = frames_of(bytes(self.room.frames(3, count)))
        self.assertEqual([(each.stream, set(each.payload)) for each in frames], [(3, {0}), (3, {0})])

    def test_one_frame(self) -> None:
        """What fits into one frame is one, though it is more than a piece, and however much of it comes."""
        for most in (PIECE_BYTES + 1, FRAME_BYTES):
            for came in (1, PIECE_BYTES, most):
                room, octets = FrameRoom(1), piece_at(0, came)
                (frame,) = frames_of(bytes(room.frames(5, fill(room, most, octets))))
                self.assertEqual(frame, Frame(DATA, 0, 5, octets))

    def test_records(self) -> None:
        """All of the room is as many records of TLS as frames."""
        fill(self.room, MOST, bytes(MOST))
        self.assertEqual(len(self.room.frames(1, MOST)), COPIED_FRAMES * FRAME_BYTES)

    def test_share(self) -> None:
        """Few streams read as much at once as there is room for; many share what others have to wait for, down to six frames."""
        shares = []
        for self.room.users in (0, 1, 6, 8, 16, 1000):
            shares.append(self.room.share // PIECE_BYTES)
        self.assertEqual(shares, [96, 96, 16, 12, 6, 6])
