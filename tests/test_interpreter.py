"""How the interpreter is set up."""

import gc
import sys

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.interpreter import SWITCH_SECONDS, THAW_SECONDS, set_up_interpreter


class InterpreterTests(SynchronousTestCase):
    """Small portions now, everything every few hours."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.interval = sys.getswitchinterval()
        self.undo = set_up_interpreter(self.clock)
        self.addCleanup(lambda: self.undo())

    def test_what_was_there_is_left_alone(self) -> None:
        """What was there at the start, as modules are, is never walked through."""
        self.undo()
        kept = [[number] for number in range(1000)]
        self.undo = set_up_interpreter(self.clock)
        self.assertGreater(gc.get_freeze_count(), len(kept))
        self.assertLess(len(gc.get_objects()), len(kept))

    def test_survivors_are_left_alone(self) -> None:
        """What a full collection left is not walked through by the next ones."""
        kept = [[number] for number in range(1000)]
        gc.collect()
        self.assertGreater(gc.get_freeze_count(), len(kept))
        self.assertLess(len(gc.get_objects()), len(kept))

    def test_small_collections_freeze_nothing(self) -> None:
        """A collection of the youngest objects freezes nothing; one of the middle generation does."""
        gc.collect()
        kept = [[number] for number in range(1000)]
        before = gc.get_freeze_count()
        gc.collect(0)
        self.assertLessEqual(gc.get_freeze_count(), before)
        gc.collect(1)
        self.assertGreaterEqual(gc.get_freeze_count(), before + len(kept) - 100)

    def test_frozen_cycles_are_found_later(self) -> None:
        """A cycle that became garbage after it was frozen is found when everything thaws."""

        class Node:
            alive = 0
            other: "Node"

            def __init__(self) -> None:
                Node.alive += 1

            def __del__(self) -> None:
                Node.alive -= 1

        one, two = Node(), Node()
        one.other, two.other = two, one
        gc.collect()
        del one, two
        gc.collect()
        self.assertEqual(Node.alive, 2)
        for _ in range(2):
            self.clock.advance(THAW_SECONDS)
            self.assertEqual(Node.alive, 0)

    def test_undone(self) -> None:
        """It can be undone: intervals, frozen objects and the call are as before."""
        self.undo()
        self.undo = lambda: None
        self.assertEqual(gc.get_freeze_count(), 0)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(sys.getswitchinterval(), self.interval)

    def test_threads_take_turns(self) -> None:
        """No thread keeps the interpreter from another for more than half a millisecond."""
        self.assertAlmostEqual(sys.getswitchinterval(), SWITCH_SECONDS)
        self.assertLess(sys.getswitchinterval(), self.interval)
