"""Tests for ``ingress.process.one_each_turn``."""

from functools import partial
from typing import cast

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.stepwise import Stepwise
from ingress.process.in_slices import SLICE_SECONDS, in_slices
from ingress.process.one_each_turn import OneEachTurn


class OneEachTurnTests(SynchronousTestCase):
    """``OneEachTurn``, with a reactor of which each turn is taken by itself."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.slices = OneEachTurn(cast(IReactorTime, self.clock))
        self.called: list[str] = []

    def turn(self) -> list[str]:
        """Make the calls that are due, as a reactor does in one turn; return what was called."""
        self.called = []
        due = [call for call in self.clock.calls if call.getTime() <= self.clock.seconds()]
        self.clock.calls = [call for call in self.clock.calls if call not in due]
        for call in due:
            call.called = 1
            call.func(*call.args, **call.kw)
        return self.called

    def again(self, name: str, left: int) -> None:
        """Take a slice, and be called so many times more."""
        self.called.append(name)
        self.clock.rightNow += SLICE_SECONDS
        if left:
            self.slices.callLater(0, self.again, name, left - 1)

    def test_in_turn(self) -> None:
        """Each has a turn to itself, and who comes again stands behind all others."""
        for name in "abc":
            self.slices.callLater(0, self.again, name, 1)
        self.assertEqual([self.turn() for _ in range(7)], [["a"], ["b"], ["c"], ["a"], ["b"], ["c"], []])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_short_ones(self) -> None:
        """Those that take no slice go on together until one is over; who comes again has its next turn."""

        def short(name: str, left: int) -> None:
            self.called.append(name)
            self.clock.rightNow += SLICE_SECONDS / 2
            if left:
                self.slices.callLater(0, short, name, left - 1)

        for name in "abc":
            self.slices.callLater(0, short, name, 1)
        self.assertEqual([self.turn() for _ in range(4)], [["a", "b"], ["c", "a"], ["b", "c"], []])
        self.slices.callLater(0, short, "a", 1)
        self.assertEqual([self.turn() for _ in range(3)], [["a"], ["a"], []])

    def test_slices(self) -> None:
        """Several that go on in slices take no more of a turn than one does."""

        def steps() -> Stepwise[None]:
            for _ in range(6):
                self.clock.rightNow += SLICE_SECONDS / 2.5
                yield

        ends = [in_slices(self.slices, steps()) for _ in range(3)]
        taken = []
        while not all(end.called for end in ends):
            began = self.clock.seconds()
            self.turn()
            taken.append(round((self.clock.seconds() - began) / SLICE_SECONDS, 1))
        self.assertEqual(taken, [1.2] * 6 + [0.0])

    def test_later(self) -> None:
        """What is to be called after some time is the reactor's own affair."""
        self.slices.callLater(1.5, self.called.append, "later")
        self.assertEqual(self.turn(), [])
        (call,) = self.slices.getDelayedCalls()
        self.assertEqual(call.getTime(), 1.5)

    def test_cancelled(self) -> None:
        """Who was cancelled is not called and keeps nobody waiting, wherever it stood."""
        calls = [self.slices.callLater(0, self.again, name, 0) for name in "abc"]
        calls[0].cancel()
        calls[2].cancel()
        self.assertEqual([call.active() for call in calls], [False, True, False])
        self.assertEqual([self.turn(), self.turn()], [["b"], []])
        self.assertFalse(calls[1].active())

    def test_all_cancelled(self) -> None:
        """A turn for which nobody is left does nothing, and others have theirs after it."""
        self.slices.callLater(0, self.again, "a", 0).cancel()
        self.assertEqual(self.turn(), [])
        self.slices.callLater(0, self.again, "b", 0)
        self.assertEqual(self.turn(), ["b"])

    def test_failing(self) -> None:
        """Who raises keeps nobody else from its turn."""
        self.slices.callLater(0, partial(int, "no number"))
        self.slices.callLater(0, self.again, "b", 0)
        self.assertRaises(ValueError, self.turn)
        self.assertEqual(self.turn(), ["b"])

    def test_arguments(self) -> None:
        """A call gets its arguments, and says itself when it is due; the time is that of the reactor."""
        self.clock.advance(3)
        call = self.slices.callLater(0, self.again, "a", left=0)
        self.assertEqual((call.getTime(), self.slices.seconds()), (3.0, 3.0))
        self.assertIn("1 waiting", repr(self.slices))
        self.assertEqual(self.slices.getDelayedCalls()[-1], call)
        self.assertEqual(self.turn(), ["a"])
