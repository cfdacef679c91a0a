"""Tests for what is concluded about an overload, by simulated turns of plain numbers."""

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.dispatch.overload import (
    CALM_SECONDS,
    GAP_SECONDS,
    LASTING_SECONDS,
    MARK_SECONDS,
    TRIAL_SECONDS,
    TURN_SECONDS,
    Overload,
)

LATE = 2 * MARK_SECONDS


def begun(at: float = 100.0) -> Overload:
    """Return one that is overloaded since *at*."""
    overload = Overload()
    overload.late(LATE, at - LASTING_SECONDS)
    assert overload.late(LATE, at)
    return overload


class BeginningTests(SynchronousTestCase):
    """When it begins."""

    def test_stays_late(self) -> None:
        """What stays late makes an overload, which begins once."""
        overload = Overload()
        self.assertFalse(overload.late(LATE, 100.0))
        self.assertFalse(overload.late(LATE, 100.0 + LASTING_SECONDS / 2))
        self.assertTrue(overload.late(LATE, 100.0 + LASTING_SECONDS))
        self.assertTrue(overload.is_on)
        self.assertFalse(overload.late(LATE, 101.0))

    def test_burst(self) -> None:
        """A burst that is over soon makes none, however late it is meanwhile."""
        overload = Overload()
        overload.late(10 * LATE, 100.0)
        overload.late(MARK_SECONDS / 2, 100.0 + LASTING_SECONDS / 2)
        self.assertFalse(overload.late(LATE, 100.0 + LASTING_SECONDS))

    def test_bursts_far_apart(self) -> None:
        """Two bursts make none, if nothing was heard in between."""
        overload = Overload()
        overload.late(LATE, 100.0)
        self.assertFalse(overload.late(LATE, 100.0 + 2 * GAP_SECONDS))

    def test_busy(self) -> None:
        """Who is busy for hours and below the mark is not overloaded."""
        overload = Overload()
        self.assertFalse(any(overload.late(0.9 * MARK_SECONDS, at / 10) for at in range(100_000)))

    def test_never(self) -> None:
        """A mark of 0 means never."""
        overload = Overload(0.0)
        self.assertFalse(any(overload.late(10.0, at / 10) for at in range(1000)))


class Turns:
    """A process that needs *each* second for a request, and *base* for every turn, by the numbers alone."""

    def __init__(self, overload: Overload, each: float, base: float = 0.00005) -> None:
        self.overload = overload
        self.each, self.base = each, base
        self.now = 100.0
        self.begun = 0
        self.lengths: list[float] = []

    def take(self, waiting: int, noise: float = 1.0) -> int:
        """Take one turn, of at most *waiting* requests; return how many it began."""
        began = min(self.overload.room, waiting)
        length = self.base + began * self.each * noise
        self.now += length
        self.lengths.append(length)
        self.begun += began
        self.overload.turned(length, began)
        return began

    def run(self, seconds: float, noise: Random | None = None) -> None:
        """Take turns for so long, with more waiting than any of them begins."""
        until = self.now + seconds
        while self.now < until:
            self.take(10_000, 1.0 if noise is None else noise.uniform(0.3, 2.5))


class RoomTests(SynchronousTestCase):
    """How many requests a turn begins."""

    def test_converges(self) -> None:
        """Whatever a request costs, a turn comes to take what it should, within a second, and stays there."""
        for each in (0.00002, 0.0001, 0.0005):
            turns = Turns(begun(), each)
            turns.run(1.0)
            del turns.lengths[:]
            turns.run(1.0)
            mean = sum(turns.lengths) / len(turns.lengths)
            self.assertLess(abs(mean - TURN_SECONDS), 0.25 * TURN_SECONDS, f"{each}")

    def test_dear_requests(self) -> None:
        """Requests that each take longer than a turn are begun one by one."""
        turns = Turns(begun(), 0.02)
        turns.run(3.0)
        self.assertEqual(turns.overload.room, 1)

    def test_goodput(self) -> None:
        """Nearly all of the time goes to requests, however their costs vary."""
        turns = Turns(begun(), 0.0001)
        turns.run(1.0)
        began_at, before = turns.now, turns.begun
        turns.run(5.0, Random(7))
        rate = (turns.begun - before) / (turns.now - began_at)
        self.assertGreater(rate * 0.0001 * 1.4, 0.9)

    def test_stall(self) -> None:
        """One long turn takes little room away, and is made good again within a second."""
        turns = Turns(begun(), 0.0001)
        turns.run(1.0)
        before = turns.overload.room
        turns.overload.turned(0.5, before)
        self.assertGreater(turns.overload.room, 0.5 * before)
        turns.run(1.0)
        self.assertGreaterEqual(turns.overload.room, 0.95 * before)

    def test_endless_stalls(self) -> None:
        """Room is never less than for one, and grows again within a second of the last stall."""
        turns = Turns(begun(), 0.0001)
        for _ in range(1000):
            turns.overload.turned(0.5, turns.overload.room)
        self.assertEqual(turns.overload.room, 1)
        turns.run(1.0)
        self.assertGreater(turns.overload.room, 10)

    def test_work_in_later_turns(self) -> None:
        """What a request costs is known although most of its work is done turns after it was begun."""
        overload = begun()
        later = [0, 0, 0]
        rooms = []
        for _ in range(2000):
            began = overload.room
            later.append(began)
            overload.turned(began * 0.00002 + later.pop(0) * 0.00008, began)
            rooms.append(began)
        self.assertLessEqual(max(rooms[500:]) - min(rooms[500:]), 1)
        self.assertLessEqual(abs(rooms[-1] - TURN_SECONDS / 0.0001), 1)

    def test_few_came(self) -> None:
        """Turns for which few came tell as well what requests cost."""
        turns = Turns(begun(), 0.0001, base=0.0)
        while turns.now < 101.0:
            turns.take(2)
        self.assertLessEqual(abs(turns.overload.room - TURN_SECONDS / 0.0001), 1)


class EndTests(SynchronousTestCase):
    """When it is over."""

    def test_calm(self) -> None:
        """It is over once everybody has had room for a while."""
        overload = begun(100.0)
        overload.left_out(101.0)
        self.assertFalse(overload.is_over(101.0 + CALM_SECONDS / 2, 0))
        self.assertTrue(overload.is_over(101.0 + CALM_SECONDS, 0))
        self.assertFalse(overload.is_on)

    def test_goes_on(self) -> None:
        """It is not over while more waits than could be done soon, for however long."""
        overload = begun(100.0)
        for second in range(101, 1000):
            overload.left_out(float(second))
            self.assertFalse(overload.is_over(float(second), 10_000))

    def test_trial(self) -> None:
        """Patient clients that are few enough for all to be served soon do not keep it up."""
        overload = begun(100.0)
        usual, waiting = overload.room, overload.room * 10
        self.try_at(overload, 100.0 + TRIAL_SECONDS / 2, waiting)
        self.assertEqual((overload.is_trial, overload.room), (False, usual))
        self.try_at(overload, 100.0 + TRIAL_SECONDS, waiting)
        self.assertTrue(overload.is_trial)
        self.assertGreaterEqual(overload.room, waiting)
        self.assertFalse(overload.is_over(100.0 + TRIAL_SECONDS + CALM_SECONDS / 2, waiting))
        self.assertTrue(overload.is_over(100.0 + TRIAL_SECONDS + CALM_SECONDS, waiting))

    def test_too_many_for_a_trial(self) -> None:
        """There is no trial while more wait than could be served soon."""
        overload = begun(100.0)
        self.try_at(overload, 100.0 + TRIAL_SECONDS, overload.room * 1000)
        self.assertFalse(overload.is_trial)

    def test_trial_in_vain(self) -> None:
        """A trial ends with the first who is surplus all the same, and the next one comes after twice the time."""
        overload = begun(100.0)
        usual = overload.room
        at = 100.0 + TRIAL_SECONDS
        self.try_at(overload, at, 0)
        overload.left_out(at + 0.1)
        self.assertEqual((overload.is_trial, overload.room), (False, usual))
        self.try_at(overload, at + 1.5 * TRIAL_SECONDS, 0)
        self.assertFalse(overload.is_trial)
        self.try_at(overload, at + 0.1 + 2 * TRIAL_SECONDS, 0)
        self.assertTrue(overload.is_trial)

    def test_late_again(self) -> None:
        """If it is late again soon after a trial, that was in vain, too; later it is none of the trial's doing."""
        overload = begun(100.0)
        self.end_by_trial(overload, 100.0 + TRIAL_SECONDS)
        again = 102.0 + TRIAL_SECONDS
        self.begin(overload, again)
        self.try_at(overload, again + 1.5 * TRIAL_SECONDS, 0)
        self.assertFalse(overload.is_trial)
        self.end_by_trial(overload, again + 2 * TRIAL_SECONDS)
        self.begin(overload, again + 1000)
        self.try_at(overload, again + 1000 + TRIAL_SECONDS, 0)
        self.assertTrue(overload.is_trial)

    def begin(self, overload: Overload, at: float) -> None:
        """Have it late again."""
        overload.late(LATE, at - LASTING_SECONDS)
        self.assertTrue(overload.late(LATE, at))

    def try_at(self, overload: Overload, at: float, waiting: int) -> None:
        """Look whether it is over at a time at which somebody was left out a moment ago."""
        overload.left_out(at - CALM_SECONDS / 10)
        self.assertFalse(overload.is_over(at, waiting))

    def end_by_trial(self, overload: Overload, at: float) -> None:
        """Have a trial begin, and succeed."""
        self.try_at(overload, at, 0)
        self.assertTrue(overload.is_trial)
        self.assertTrue(overload.is_over(at + CALM_SECONDS, 0))
