"""Frames, whole and in parts."""

from __future__ import annotations

import random

from twisted.trial.unittest import SynchronousTestCase

from ingress.process.framing import Frame, FrameReader, frame_to_bytes

FRAMES = [
    Frame(3, 7, b"question"),
    Frame(1, 4_000_000_000, b"x" * 100_000),
    Frame(4),
    Frame(7, 1, b"0", 2),
    Frame(7, 2, b"listeners", 1000),
    *(Frame(6, 0, b"line") for _ in range(50)),
]


class FramingTests(SynchronousTestCase):
    """``FrameReader`` makes what ``frame_to_bytes`` took apart."""

    def test_at_once(self) -> None:
        """Frames that come together are told apart."""
        octets = b"".join(map(frame_to_bytes, FRAMES))
        self.assertEqual(list(FrameReader().take(octets)), FRAMES)

    def test_in_parts(self) -> None:
        """Wherever a stream is cut, the same frames come of it."""
        octets = b"".join(map(frame_to_bytes, FRAMES))
        for seed in range(20):
            rng = random.Random(seed)
            reader, start = FrameReader(), 0
            found: list[Frame] = []
            while start < len(octets):
                end = start + rng.choice((1, 3, 10, 11, 12, 4096, 65_536))
                found += reader.take(octets[start:end])
                start = end
            self.assertEqual(found, FRAMES)

    def test_nothing(self) -> None:
        """A part of a frame is none."""
        self.assertEqual(list(FrameReader().take(frame_to_bytes(FRAMES[0])[:-1])), [])
