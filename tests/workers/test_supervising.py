"""When a worker that ended is followed, and which one hangs."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.problems import Reason
from ingress.workers.supervising import (
    FIRST_PAUSE_SECONDS,
    LEAVING_SECONDS,
    LONGEST_PAUSE_SECONDS,
    SILENT_LOOKS,
    STARTING_LOOKS,
    Looks,
    Restarts,
    keeps_ports,
    worker_problems,
)


class RestartsTests(SynchronousTestCase):
    """``Restarts``, with times that are said."""

    def test_seldom(self) -> None:
        """Who ends now and then is followed at once, each time."""
        restarts = Restarts()
        self.assertEqual([restarts.ended(10.0 * time) for time in range(20)], [0.0] * 20)
        self.assertEqual(restarts.trouble(200.0), 0)

    def test_often(self) -> None:
        """Five ends in half a minute make a pause, which grows with each further end up to a bound."""
        restarts = Restarts()
        self.assertEqual([restarts.ended(time) for time in range(4)], [0.0] * 4)
        now, pauses = 4.0, []
        for _ in range(7):
            pauses.append(restarts.ended(now))
            now += pauses[-1] + 0.1
        self.assertEqual(pauses, [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, LONGEST_PAUSE_SECONDS])
        self.assertGreaterEqual(restarts.trouble(now), 5)

    def test_none_left(self) -> None:
        """However many ended, the last one is followed within a second, and the others wait as ever."""
        restarts = Restarts()
        pauses = [restarts.ended(0.0) for _ in range(24)]
        self.assertEqual(pauses[-1], LONGEST_PAUSE_SECONDS)
        self.assertEqual(restarts.ended(0.0, is_last=True), FIRST_PAUSE_SECONDS)
        self.assertEqual(restarts.ended(1.0), LONGEST_PAUSE_SECONDS)
        self.assertEqual(restarts.ended(1000.0, is_last=True), 0.0)

    def test_over(self) -> None:
        """After a long while without an end there is no trouble, and no pause."""
        restarts = Restarts()
        for time in range(6):
            restarts.ended(time)
        self.assertEqual(restarts.trouble(6.0), 6)
        self.assertEqual(restarts.trouble(1000.0), 0)
        self.assertEqual(restarts.ended(1000.0), 0.0)


class KeepsPortsTests(SynchronousTestCase):
    """``keeps_ports``: whose parent is gone."""

    def test_hangs(self) -> None:
        """Who accepts and has no turn does; who has left the ports may be busy, and who has turns will leave them."""
        late = LEAVING_SECONDS + 0.1
        self.assertEqual(
            [keeps_ports(True, late), keeps_ports(True, 0.1), keeps_ports(False, late)], [True, False, False]
        )


class LooksTests(SynchronousTestCase):
    """``Looks``: what a row of beats says."""

    def test_well(self) -> None:
        """Who has a turn between two looks does not hang."""
        looks = Looks()
        self.assertFalse(any(looks.hangs(beat, False) for beat in range(1, 1000)))

    def test_hangs(self) -> None:
        """Who has had no turn for some looks does."""
        looks = Looks()
        found = [looks.hangs(7, False) for _ in range(SILENT_LOOKS + 1)]
        self.assertEqual(found, [False] * SILENT_LOOKS + [True])

    def test_parent_away(self) -> None:
        """A parent that was stopped, with its workers or alone, finds none that hangs by its first looks."""
        looks = Looks()
        looks.hangs(7, False)
        self.assertFalse(any(looks.hangs(7, True) for _ in range(100)))
        self.assertFalse(looks.hangs(8, False))

    def test_starting(self) -> None:
        """One that has never had a turn may take much longer."""
        looks = Looks()
        found = [looks.hangs(0, False) for _ in range(STARTING_LOOKS)]
        self.assertEqual(found, [False] * (STARTING_LOOKS - 1) + [True])


class ProblemTests(SynchronousTestCase):
    """What the operator is told of workers."""

    def test_problems(self) -> None:
        """That some ended of late, that no common ticket keys are left, both, or nothing."""
        for ended, left, expected in (
            (0, 1.0, []),
            (5, 1.0, [Reason.WORKERS_ENDING]),
            (0, 0.0, [Reason.TICKET_KEYS_USED_UP]),
            (6, -1.0, [Reason.WORKERS_ENDING, Reason.TICKET_KEYS_USED_UP]),
        ):
            self.assertEqual([one.reason for one in worker_problems(ended, left)], expected)
