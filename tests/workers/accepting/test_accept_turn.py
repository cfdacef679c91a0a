"""Which worker takes a connection."""

from __future__ import annotations

import random

from attrs import define
from twisted.trial.unittest import SynchronousTestCase

from ingress.workers.accepting.accept_turn import (
    FEW,
    LATE_MOMENT_SECONDS,
    MOMENT_SECONDS,
    MOMENTS,
    SILENT_NANOSECONDS,
    AcceptTurn,
    beat_seconds,
)


@define
class Row:
    """A worker, as it says."""

    connections: int = 0
    beat: int = 0
    is_late: bool = False
    accepts: bool = True


class BeatTests(SynchronousTestCase):
    """``beat_seconds``."""

    def test_at_rest(self) -> None:
        """Who has no connections says less often that it is well, and still often enough to be counted upon."""
        self.assertGreater(beat_seconds(0), beat_seconds(1))
        self.assertEqual(beat_seconds(1), beat_seconds(1000))
        self.assertLessEqual(2 * beat_seconds(0) * 1e9, SILENT_NANOSECONDS)


class AcceptTurnTests(SynchronousTestCase):
    """``AcceptTurn``, at a time that is said."""

    def setUp(self) -> None:
        self.now = 10 * SILENT_NANOSECONDS
        self.own = Row(beat=self.now)
        self.others = [Row(beat=self.now), Row(beat=self.now)]
        self.turn = self.turn_of(self.own, self.others)

    def turn_of(self, own: Row, others: list[Row]) -> AcceptTurn:
        """Return the turn of one of them."""
        return AcceptTurn(others, lambda: own.connections, lambda: own.is_late, lambda: self.now)

    def test_alike(self) -> None:
        """Who has no more than the others takes what waits."""
        self.assertEqual(self.turn.seconds_to_leave(), 0.0)

    def test_few(self) -> None:
        """A handful of connections is nothing to wait for."""
        self.own.connections = FEW
        self.assertEqual(self.turn.seconds_to_leave(), 0.0)

    def test_more(self) -> None:
        """Who has more leaves it for a moment, a few times; and the next one as often again."""
        self.own.connections = FEW + 1
        left = [MOMENT_SECONDS] * MOMENTS + [0.0]
        self.assertEqual([self.turn.seconds_to_leave() for _ in left], left)
        self.turn.over()
        self.assertEqual([self.turn.seconds_to_leave() for _ in left], left)

    def test_late(self) -> None:
        """Who is late takes nothing, however often it is asked, unless all are late."""
        self.own.is_late = True
        for _ in range(100):
            self.assertEqual(self.turn.seconds_to_leave(), LATE_MOMENT_SECONDS)
        for other in self.others:
            other.is_late = True
        self.assertEqual(self.turn.seconds_to_leave(), 0.0)

    def test_not_counted_upon(self) -> None:
        """Nothing is left to who is late, does not accept, or has not said for a while that it is well."""
        self.own.connections = 50
        late, closed = self.others
        late.is_late, closed.accepts = True, False
        self.assertEqual(self.turn.seconds_to_leave(), 0.0)
        late.is_late = False
        self.assertNotEqual(self.turn.seconds_to_leave(), 0.0)
        self.now += SILENT_NANOSECONDS
        self.assertEqual(self.turn.seconds_to_leave(), 0.0)

    def test_spread(self) -> None:
        """Whoever asks first, and be it mostly the same one, a thousand connections are spread by ± 20 % among four."""
        rng = random.Random(4)
        rows = [Row(beat=self.now) for _ in range(4)]
        turns = [self.turn_of(row, [other for other in rows if other is not row]) for row in rows]
        for _ in range(1000):
            order = sorted(range(4), key=lambda number: number * rng.random())
            taker = next(number for number in order if not turns[number].seconds_to_leave())
            rows[taker].connections += 1
            for turn in turns:
                turn.over()
        for row in rows:
            self.assertTrue(200 <= row.connections <= 300, rows)
