"""Tests for ``ingress.proxy.contract.portions``, and for how the deadlines end many in portions."""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.stepwise import finished
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.portions import PORTION_SECONDS, in_portions
from tests.fakes.clocks.busy_clocks import BusyClock

EACH = PORTION_SECONDS / 10
"""How long the end of one takes."""


class Waiting:
    """Something with a deadline, whose end takes a moment."""

    def __init__(self, clock: BusyClock, deadline: float, then: Callable[[], None] = lambda: None) -> None:
        self.deadline = deadline
        self.then = then
        self.expired = 0
        self._clock = clock

    def expire(self) -> None:
        self.expired += 1
        self.deadline = NEVER
        self._clock.take(EACH)
        self.then()

    def abort(self) -> None:
        raise AssertionError("nothing is wrong with it")


class PortionsTests(SynchronousTestCase):
    """Portions."""

    def setUp(self) -> None:
        self.clock = BusyClock()
        self.done: list[int] = []

    def work(self, item: int) -> None:
        """Take a moment for *item*."""
        self.clock.take(EACH)
        self.done.append(item)

    def test_portions(self) -> None:
        """A step takes as long as it may, each item has its turn in its order, and nothing is one step, too."""
        steps = in_portions(range(25), self.work, self.clock.seconds)
        next(steps)
        self.assertIn(len(self.done), (10, 11))
        finished(steps)
        self.assertEqual(self.done, list(range(25)))
        finished(in_portions((), self.work, self.clock.seconds))

    def test_long(self) -> None:
        """What takes longer by itself than a portion is a step of its own."""
        steps = in_portions(range(3), lambda item: self.clock.take(1), self.clock.seconds)
        self.assertEqual(sum(1 for _ in steps), 3)

    def test_slow_turns(self) -> None:
        """Where turns take long a portion is longer: a ninth of the time at least, but never as long as a turn should not be."""
        for others, expected in ((0.0, 10), (0.008, 10), (0.016, 20), (0.08, 30), (60.0, 30)):
            self.done.clear()
            steps = in_portions(range(1000), self.work, self.clock.seconds)
            next(steps)
            before = len(self.done)
            self.clock.take(others)
            next(steps)
            self.assertIn(len(self.done) - before, (expected, expected + 1), others)

    def test_fault(self) -> None:
        """A bug is logged, and keeps no other from its turn."""

        def fail(item: int) -> None:
            self.work(item)
            if item in (2, 15):
                raise RuntimeError("a bug")

        finished(in_portions(range(25), fail, self.clock.seconds))
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 2)
        self.assertEqual(self.done, list(range(25)))


class ManyDeadlinesTests(SynchronousTestCase):
    """Very many that are due with one tick."""

    def setUp(self) -> None:
        self.clock = BusyClock()
        self.deadlines = Deadlines(self.clock)
        self.deadlines.start()
        self.addCleanup(self.deadlines.stop)

    def watch(self, count: int, deadline: float = 1.0) -> list[Waiting]:
        """Watch so many."""
        found = [Waiting(self.clock, deadline) for _ in range(count)]
        for each in found:
            self.deadlines.watch(each)
        return found

    def due(self) -> None:
        """Have those be due: the first portion ends with the tick, which is called by itself."""
        self.clock.rightNow = 1.0
        self.deadlines.tick()

    def test_spread(self) -> None:
        """No turn ends more than a portion, and all of them end before the next tick."""
        many = self.watch(500)
        self.due()
        self.assertIn(sum(each.expired for each in many), (10, 11))
        self.clock.turns.clear()
        self.clock.advance(0)
        self.assertEqual([each.expired for each in many], [1] * 500)
        self.assertLess(max(self.clock.turns), PORTION_SECONDS + 2 * EACH)
        self.assertLess(self.clock.seconds(), 1.1)

    def test_gone_meanwhile(self) -> None:
        """One that ends by itself before its turn is left alone, as is one that gets more time."""
        many = self.watch(50)
        self.due()
        gone, spared = many[30], many[40]
        self.deadlines.forget(gone)
        spared.deadline = 60.0
        self.clock.advance(0)
        self.assertEqual((gone.expired, spared.expired), (0, 0))
        self.assertEqual(sum(each.expired for each in many), 48)

    def test_next_tick(self) -> None:
        """Those that are still to end at the next tick have their turn before those that are due with it, and once."""
        order: list[str] = []
        old = self.watch(30)
        self.due()
        again = old[0]
        again.deadline, again.then = 1.0, lambda: order.append("again")
        old[-1].then = lambda: order.append("old")
        self.deadlines.tick()
        self.clock.advance(0)
        self.assertEqual(order, ["old", "again"])
        self.assertEqual([each.expired for each in old], [2] + [1] * 29)

    def test_stood_still(self) -> None:
        """Where the process stands still before all have ended, what came meanwhile is read first."""
        many = self.watch(30)
        self.due()
        ended = sum(each.expired for each in many)
        self.clock.rightNow = 60.0
        self.deadlines.tick()
        self.assertEqual(sum(each.expired for each in many), ended)
        self.clock.calls[0].func()
        self.assertEqual(sum(each.expired for each in many), ended)
        self.clock.advance(2)
        self.clock.advance(2)
        self.assertEqual(sum(each.expired for each in many), 30)

    def test_stop(self) -> None:
        """Who stops leaves nothing in the reactor, and what was not done yet undone."""
        many = self.watch(30)
        self.due()
        self.deadlines.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertLess(sum(each.expired for each in many), 30)

    def test_stop_amid(self) -> None:
        """The end of one may be that of the process, in whichever portion it is; then others are left as they are."""
        for number in (3, 25):
            self.deadlines.start()
            many = self.watch(40, self.clock.seconds() + 1)
            many[number].then = self.deadlines.stop
            self.clock.rightNow += 1
            self.deadlines.tick()
            self.clock.advance(0)
            self.assertEqual(self.clock.getDelayedCalls(), [])
            self.assertIn(sum(each.expired for each in many), range(number + 1, number + 12))
            for each in many:
                self.deadlines.forget(each)

    def test_fault(self) -> None:
        """A bug in a later portion is logged, and keeps nobody from the next ones."""

        def fail(item: int) -> None:
            self.clock.take(EACH)
            if item == 20:
                raise RuntimeError("a bug")

        done: list[int] = []
        self.deadlines.in_portions(range(30), fail)
        self.deadlines.in_portions(range(3), done.append)
        self.clock.advance(0)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.assertEqual(done, [0, 1, 2])
