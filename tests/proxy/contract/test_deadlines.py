"""Tests for ``ingress.proxy.contract.deadlines``."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.deadlines import NEVER, Deadlines


class Waiting:
    """Something with a deadline."""

    def __init__(self, deadline: float, then: Callable[[], None] = lambda: None) -> None:
        self.deadline = deadline
        self.then = then
        self.expired = 0
        self.aborted = 0

    def abort(self) -> None:
        self.aborted += 1

    def expire(self) -> None:
        self.expired += 1
        self.deadline = NEVER
        self.then()


class DeadlinesTests(SynchronousTestCase):
    """Deadlines."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.wall = Clock()
        self.deadlines = Deadlines(self.clock, self.wall.seconds)
        self.deadlines.start()
        self.addCleanup(self.deadlines.stop)

    def watch(self, waiting: Waiting) -> Waiting:
        """Watch it."""
        self.deadlines.watch(waiting)
        return waiting

    def test_expires_once(self) -> None:
        """What is overdue is told once, by the tick that is next to its deadline."""
        waiting, patient = self.watch(Waiting(2.6)), self.watch(Waiting(NEVER))
        self.clock.pump([1, 1])
        self.assertEqual(waiting.expired, 0)
        self.clock.pump([1, 1, 1])
        self.assertEqual((waiting.expired, patient.expired), (1, 0))

    def test_jitter(self) -> None:
        """A tick that comes a little too early ends what was to end with it."""
        waiting = self.watch(Waiting(2.0))
        self.clock.advance(1.99)
        self.deadlines.tick()
        self.assertEqual(waiting.expired, 1)

    def test_forgotten(self) -> None:
        """What is no longer watched is left alone."""
        waiting = self.watch(Waiting(1))
        self.deadlines.forget(waiting)
        self.clock.pump([1, 1, 1])
        self.assertEqual(waiting.expired, 0)

    def test_stood_still(self) -> None:
        """After ticks that were missed what came meanwhile has an interval to be read in, before anything ends."""
        heard, silent = self.watch(Waiting(5)), self.watch(Waiting(5))
        self.clock.advance(60.9)
        self.assertEqual((heard.expired, silent.expired), (0, 0))
        heard.deadline = 70
        # On the beat, but too soon.
        self.clock.advance(0.1)
        self.assertEqual((self.deadlines.now, silent.expired), (61, 0))
        self.clock.advance(1)
        self.assertEqual((heard.expired, silent.expired), (0, 1))
        self.clock.pump([1] * 8)
        self.assertEqual(heard.expired, 1)

    def test_taken_before_the_tick(self) -> None:
        """Where the time is taken before what came meanwhile is read, what begins with that has all of its time."""
        self.wall.advance(86400)
        self.clock.callLater(59.5, self.deadlines.take_time)
        self.clock.callLater(59.6, lambda: self.watch(Waiting(self.deadlines.now + 2)))
        old = self.watch(Waiting(5))
        self.clock.advance(60)
        self.assertEqual((self.deadlines.date, old.expired), (b"Fri, 02 Jan 1970 00:00:00 GMT", 0))
        *_, new = self.deadlines.watched
        assert isinstance(new, Waiting)
        self.clock.pump([1])
        self.assertEqual((old.expired, new.expired), (1, 0))
        self.clock.pump([1])
        self.assertEqual(new.expired, 1)

    def test_always_late(self) -> None:
        """Nor does a process that is late each time keep anything open for ever."""
        waiting = self.watch(Waiting(5))
        self.clock.pump([10, 10])
        self.assertEqual(waiting.expired, 1)

    def test_one_may_spare_another(self) -> None:
        """What gets more time by the end of another is not ended in the same tick."""
        first, second = Waiting(1), Waiting(1)

        def more_time(other: Waiting) -> Callable[[], None]:
            return lambda: setattr(other, "deadline", 10)

        first.then, second.then = more_time(second), more_time(first)
        self.watch(first)
        self.watch(second)
        self.clock.pump([1, 1])
        self.assertEqual(first.expired + second.expired, 1)

    def test_fault(self) -> None:
        """A fault in one ends that one, and keeps neither the others nor the next tick from being looked after."""

        def fail() -> None:
            raise RuntimeError("a bug")

        others = [self.watch(Waiting(1)) for _ in range(5)]
        broken = self.watch(Waiting(1, fail))
        late = self.watch(Waiting(3))
        self.clock.pump([1, 1, 1])
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.assertEqual([each.expired for each in (*others, broken, late)], [1] * 7)
        self.assertEqual([each.aborted for each in (*others, broken, late)], [0] * 5 + [1, 0])

    def test_fault_that_stays(self) -> None:
        """Nor does one that cannot even be aborted."""

        def fail() -> None:
            raise RuntimeError("a bug")

        broken = self.watch(Waiting(1, fail))
        broken.abort = fail  # type: ignore[method-assign]
        late = self.watch(Waiting(3))
        self.clock.pump([1, 1, 1])
        self.assertTrue(self.flushLoggedErrors(RuntimeError))
        self.assertEqual(late.expired, 1)

    def test_date(self) -> None:
        """The date that answers carry is that of the last tick, by the time of day; deadlines go by the other clock."""
        self.assertEqual(self.deadlines.date, b"Thu, 01 Jan 1970 00:00:00 GMT")
        self.wall.advance(86400)
        self.assertEqual(self.deadlines.date, b"Thu, 01 Jan 1970 00:00:00 GMT")
        self.clock.pump([1] * 61)
        self.assertEqual(self.deadlines.date, b"Fri, 02 Jan 1970 00:00:00 GMT")
        self.assertEqual(self.deadlines.now, 61)

    def test_stop(self) -> None:
        """A stopped sweep asks for no more time, and may be stopped and started again."""
        self.deadlines.start()
        self.deadlines.stop()
        self.deadlines.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.deadlines.start()
