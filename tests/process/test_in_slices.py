"""Tests for ``ingress.process.in_slices``."""

import gc
from weakref import ref

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.stepwise import Stepwise
from ingress.process.in_slices import SLICE_SECONDS, OneForAll, in_slices


class InSlicesTests(SynchronousTestCase):
    """``in_slices``, with steps of which each takes a third of a slice."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.taken = 0

    def steps(self, count: int, fails: bool = False) -> Stepwise[str]:
        """Take *count* steps."""
        for _ in range(count):
            self.clock.rightNow += SLICE_SECONDS / 2.5
            self.taken += 1
            yield
        if fails:
            raise ZeroDivisionError
        return "found"

    def turn(self) -> None:
        """Make the calls that are due, as a reactor does in one turn."""
        due, self.clock.calls = self.clock.calls, []
        for call in due:
            call.called = 1
            call.func(*call.args, **call.kw)
        due.clear()

    def test_slices(self) -> None:
        """A turn takes the steps of a slice, and the last one tells what was found."""
        found = in_slices(self.clock, self.steps(8))
        counts = []
        for _ in range(3):
            self.turn()
            counts.append(self.taken)
        self.assertEqual(counts, [3, 6, 8])
        self.assertEqual(self.successResultOf(found), "found")
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_leftovers(self) -> None:
        """Nothing is left for the collector, neither of who was told the end nor of who was not."""
        for count, fails, is_cancelled in ((1, False, False), (3, True, False), (3, False, True)):
            alive = ref(found := in_slices(self.clock, self.steps(count, fails)))
            found.addErrback(lambda failure: None)
            gc.disable()
            try:
                self.turn()
                if is_cancelled:
                    found.cancel()
                self.turn()
                del found
                self.assertIsNone(alive())
            finally:
                gc.enable()

    def test_failure(self) -> None:
        """What a step raises is the failure of the whole."""
        found = in_slices(self.clock, self.steps(1, fails=True))
        self.turn()
        self.failureResultOf(found, ZeroDivisionError)

    def test_cancelled(self) -> None:
        """Nothing is done for who does not want to know any more."""
        found = in_slices(self.clock, self.steps(100))
        self.turn()
        found.cancel()
        self.failureResultOf(found, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.taken, 3)


class OneForAllTests(SynchronousTestCase):
    """``OneForAll``."""

    def setUp(self) -> None:
        self.asked: list[Deferred[str]] = []
        self.look = OneForAll(self.ask)

    def ask(self) -> Deferred[str]:
        self.asked.append(Deferred())
        return self.asked[-1]

    def test_once(self) -> None:
        """All who ask meanwhile get one answer, and who asks later has it asked anew."""
        one, two = self.look(), self.look()
        self.assertEqual(len(self.asked), 1)
        self.asked[0].callback("so")
        self.assertEqual((self.successResultOf(one), self.successResultOf(two)), ("so", "so"))
        three = self.look()
        self.asked[1].callback("otherwise")
        self.assertEqual(self.successResultOf(three), "otherwise")

    def test_cancelled(self) -> None:
        """Who leaves takes the answer from nobody else."""
        leaves, stays = self.look(), self.look()
        leaves.cancel()
        self.failureResultOf(leaves, CancelledError)
        self.asked[0].callback("so")
        self.assertEqual(self.successResultOf(stays), "so")

    def test_all_leave(self) -> None:
        """Once all have left, the next one waits for what is being asked, and asks not a second time."""
        self.look().addErrback(lambda _: None).cancel()
        waits = self.look()
        self.assertEqual(len(self.asked), 1)
        self.asked[0].errback(ZeroDivisionError())
        self.failureResultOf(waits, ZeroDivisionError)
