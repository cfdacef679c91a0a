"""How the interpreter is set up."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from unittest import skipUnless

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.stepwise import Stepwise
from ingress.process.interpreter import AGAIN_SECONDS, GROWTH, MANY, SWITCH_SECONDS, Interpreter
from tests.fakes.processes import ROOT

_COMING_AND_GOING = """
from resource import RUSAGE_SELF, getrusage
from ingress.process.interpreter import Interpreter

def faults():
    return getrusage(RUSAGE_SELF).ru_minflt

def pass_on():
    return b"".join([bytes([1]) * 200_000 for _ in range(4)])

Interpreter(None).set_up()
pass_on()
before = faults()
for _ in range(50):
    pass_on()
print(faults() - before)
"""
"""Bodies as they pass, after which their memory is free; says how many pages of it the system had to find anew."""


class Node:
    """Half of a cycle; *alive* counts those that nobody has freed."""

    alive = 0
    other: Node

    def __init__(self) -> None:
        Node.alive += 1

    def __del__(self) -> None:
        Node.alive -= 1


def cycles(count: int) -> list[Node]:
    """Make as many cycles of two, and return one of each."""
    made = []
    for _ in range(count):
        one, other = Node(), Node()
        one.other, other.other = other, one
        made.append(one)
    return made


class _Reactor(Clock):
    """Keeps what it is to call."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Callable[[], None]] = []

    def callFromThread(self, call: Callable[[], None]) -> None:
        """Keep *call*."""
        self.asked.append(call)


class InterpreterCase(SynchronousTestCase):
    """An interpreter that is set up, whose collector begins only when a test says so."""

    def setUp(self) -> None:
        self.reactor = _Reactor()
        self.interval = sys.getswitchinterval()
        self.thresholds = gc.get_threshold()
        self.trims: list[int] = []
        self.living = 0
        """How many objects are said to live, once as many steps are taken as ``steps``."""
        self.steps = 1
        self.interpreter = Interpreter(
            self.reactor, lambda: self.trims.append(gc.get_freeze_count()), self.count
        )
        # What other tests left is not to be counted as what this one leaves.
        gc.collect()
        self.interpreter.set_up()
        gc.disable()
        self.addCleanup(self.freeze)
        self.addCleanup(gc.enable)
        self.addCleanup(self.interpreter.undo)
        Node.alive = 0

    def freeze(self) -> None:
        """
        Have the next test walk through nothing that was there before this one, but for what thaws in it.

        To find the cycles that a test has left among all that this process has imported takes a third of a walk for garbage.
        """
        if Node.alive:
            for one in gc.get_objects():
                if type(one) is Node:
                    one.__dict__.clear()
        gc.freeze()

    def count(self) -> Stepwise[int]:
        """Say how many objects live."""
        for _ in range(self.steps):
            yield
        return self.living

    def judge(self) -> None:
        """Have growth judged, which is due."""
        (judge,) = self.reactor.asked
        self.reactor.asked.clear()
        judge()
        self.reactor.pump([0.0] * (self.steps + 1))
        if self.reactor.getDelayedCalls():
            # There is more in use than lives, and it is counted once more.
            self.reactor.advance(AGAIN_SECONDS)
            self.reactor.pump([0.0] * (self.steps + 1))
        self.assertEqual(self.reactor.getDelayedCalls(), [])


class FreezingTests(InterpreterCase):
    """What the collector leaves alone."""

    def test_what_was_there_is_left_alone(self) -> None:
        """What was there at the start, as modules are, is never walked through."""
        self.assertGreater(gc.get_freeze_count(), 10_000)
        self.assertLess(len(gc.get_objects()), 1000)

    def test_memory_is_given_back(self) -> None:
        """What the allocator has left over goes back once garbage is gone, in a turn of its own, and settling brings about nothing more."""
        self.interpreter.settle()
        self.assertEqual(self.trims, [])
        (give_back,) = self.reactor.asked
        give_back()
        self.assertEqual(self.trims, [gc.get_freeze_count()])
        self.assertEqual(len(self.reactor.asked), 1)

    def test_start(self) -> None:
        """Before the process is said to be settled, nobody walks through everything, however much there comes to be."""
        self.patch(sys, "getallocatedblocks", iter(range(10**6, 10**9, 10**6)).__next__)
        for _ in range(3):
            kept = cycles(MANY)
            gc.collect()
        self.assertEqual(len(kept), MANY)
        self.assertEqual(self.reactor.asked, [])

    def test_settled(self) -> None:
        """So is what was there when the process was said to be settled, but for garbage."""
        kept = cycles(1000)
        dropped = cycles(1000)
        del dropped
        self.interpreter.settle()
        self.assertEqual(Node.alive, 2000)
        self.assertLess(len(gc.get_objects()), len(kept))

    def test_few_survivors_are_not_frozen(self) -> None:
        """A cycle that survived any number of collections is found by the first after it became garbage."""
        kept = cycles(1000)
        for generation in (0, 1, 2, 2, 2):
            gc.collect(generation)
        self.assertEqual(Node.alive, 2000)
        kept.clear()
        gc.collect()
        self.assertEqual(Node.alive, 0)

    def test_many_survivors_are_frozen(self) -> None:
        """Many survivors are not walked through again, be it that the collection was of all or only of the younger ones."""
        for generation in (1, 2):
            kept = cycles(MANY)
            gc.collect(0)
            self.assertGreater(len(gc.get_objects()), MANY)
            gc.collect(generation)
            self.assertLess(len(gc.get_objects()), 1000)
            self.assertEqual(len(kept), MANY)

    def test_replaced(self) -> None:
        """Objects that replace others are frozen, too, although there are no more of them than before."""
        kept: list[Node] = []
        for _ in range(4):
            kept = cycles(MANY)
            gc.collect(1)
            self.assertLess(len(gc.get_objects()), 1000)
        self.assertEqual(len(kept), MANY)

    def test_freed_without_a_collector(self) -> None:
        """What is frozen and in no cycle is freed with its last reference."""
        kept = [Node() for _ in range(MANY)]
        gc.collect()
        self.assertLess(len(gc.get_objects()), 1000)
        kept.clear()
        self.assertEqual(Node.alive, 0)


class GrowthTests(InterpreterCase):
    """What was frozen and became garbage in a cycle, in a process that had nothing much before."""

    def setUp(self) -> None:
        """Have what this process has before all but hidden: to grow twice as large as all of that takes seconds."""
        super().setUp()
        blocks, frozen = sys.getallocatedblocks, gc.get_freeze_count
        hidden_blocks, hidden_frozen = blocks() - 20 * MANY, frozen() - 20 * MANY
        self.patch(sys, "getallocatedblocks", lambda: blocks() - hidden_blocks)
        self.patch(gc, "get_freeze_count", lambda: frozen() - hidden_frozen)

    def hoard(self, blocks: int) -> None:
        """Have objects frozen in cycles, some at a time, and let go of each lot, until so many blocks more are in use, or that is enough."""
        wanted = sys.getallocatedblocks() + blocks
        while sys.getallocatedblocks() < wanted and not self.reactor.asked:
            lot = cycles(MANY)
            gc.collect()
            del lot

    def settled(self) -> int:
        """Settle, with the turn behind it; return how many blocks are in use then."""
        self.interpreter.settle()
        self.reactor.asked.pop()()
        return sys.getallocatedblocks()

    def test_found_by_growth(self) -> None:
        """It is found once twice as much memory is in use as was settled, in the reactor's thread, and not before."""
        settled = self.living = self.settled()
        self.living //= 2
        self.hoard((GROWTH - 1) * settled * 8 // 10)
        self.assertEqual(self.reactor.asked, [])
        self.assertGreater(Node.alive, 0)
        self.hoard((GROWTH - 1) * settled * 3 // 10)
        self.judge()
        self.assertEqual(Node.alive, 0)
        self.assertLess(sys.getallocatedblocks(), settled + MANY)

    def test_growth_that_lives(self) -> None:
        """Nobody walks through everything where what has grown is what lives, however often that is."""
        self.settled()
        thawed: list[None] = []
        self.patch(gc, "unfreeze", lambda: thawed.append(None))
        kept: list[Node] = []
        for judged in range(1, 3):
            while not self.reactor.asked:
                kept += cycles(MANY)
                gc.collect()
            self.assertGreater(sys.getallocatedblocks(), GROWTH**judged * 10 * MANY)
            self.living = sys.getallocatedblocks() // 2
            self.judge()
            self.assertEqual(thawed, [])

    def test_garbage_beside_growth(self) -> None:
        """What grows and leaves as much garbage has that found at last, however often it was judged to live."""
        self.settled()
        kept: list[Node] = []
        most = 0
        for _ in range(6):
            while not self.reactor.asked:
                kept += cycles(MANY)
                self.hoard(2 * MANY)
            most = max(most, Node.alive)
            self.living = (sys.getallocatedblocks() - 6 * (Node.alive - 2 * len(kept))) // 2
            self.judge()
            if Node.alive == 2 * len(kept):
                break
        self.assertEqual(Node.alive, 2 * len(kept))
        self.assertLess(most, 8 * len(kept))

    def test_again(self) -> None:
        """The next time comes after as much growth again, and what lives is settled, however much it is."""
        before = self.settled()
        kept: list[Node] = []
        while not self.reactor.asked:
            kept += cycles(MANY)
            gc.collect()
        self.living = sys.getallocatedblocks() // 2
        self.judge()
        self.assertEqual(Node.alive, 2 * len(kept))
        settled = sys.getallocatedblocks()
        self.assertGreater(settled, GROWTH * before)
        self.living = settled // 2
        self.hoard((GROWTH - 1) * settled * 8 // 10)
        self.assertEqual(self.reactor.asked, [])
        self.hoard((GROWTH - 1) * settled * 3 // 10)
        self.judge()
        self.assertEqual(Node.alive, 2 * len(kept))

    def test_living_that_is_not_found(self) -> None:
        """Where a walk through everything leaves far more than was counted, that is not taken for garbage again."""
        self.settled()
        thawed: list[None] = []
        unfreeze = gc.unfreeze

        def thaw() -> None:
            thawed.append(None)
            unfreeze()

        self.patch(gc, "unfreeze", thaw)
        kept: list[Node] = []
        for walks in (1, 1, 1):
            while not self.reactor.asked:
                kept += cycles(MANY)
                gc.collect()
            self.living = sys.getallocatedblocks() // 10
            self.judge()
            self.assertEqual(len(thawed), walks)

    def test_for_a_while(self) -> None:
        """Where what lives is found by the second count, as what a thread has read by then, nobody walks through everything."""
        self.settled()
        thawed: list[None] = []
        self.patch(gc, "unfreeze", lambda: thawed.append(None))
        kept: list[Node] = []
        while not self.reactor.asked:
            kept += cycles(MANY)
            gc.collect()
        (judge,) = self.reactor.asked
        self.reactor.asked.clear()
        judge()
        self.reactor.advance(0)
        self.assertEqual(len(self.reactor.getDelayedCalls()), 1)
        self.living = sys.getallocatedblocks()
        self.reactor.advance(AGAIN_SECONDS)
        self.reactor.advance(0)
        self.assertEqual((thawed, self.reactor.getDelayedCalls(), self.reactor.asked), ([], [], []))

    def test_undone_before_the_second_count(self) -> None:
        """There is no second count once all is undone."""
        self.settled()
        kept: list[Node] = []
        while not self.reactor.asked:
            kept += cycles(MANY)
            gc.collect()
        self.reactor.asked.pop()()
        self.reactor.advance(0)
        self.assertEqual(len(self.reactor.getDelayedCalls()), 1)
        self.interpreter.undo()
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_counted_in_steps(self) -> None:
        """What lives is counted over many turns, in which more is frozen, and growth is not judged once more meanwhile."""
        self.settled()
        self.steps = 5
        kept: list[Node] = []
        while not self.reactor.asked:
            kept += cycles(MANY)
            gc.collect()
        (judge,) = self.reactor.asked
        judge()
        self.living = 1 << 40
        turns = 0
        while self.reactor.getDelayedCalls():
            kept += cycles(MANY)
            gc.collect()
            self.assertLess(len(gc.get_objects()), 1000)
            self.assertEqual(self.reactor.asked, [judge])
            self.reactor.advance(0)
            turns += 1
        self.assertGreater(turns, 0)
        self.assertEqual(Node.alive, 2 * len(kept))

    def test_undone_while_counting(self) -> None:
        """What goes on when all is undone goes on no further, and nothing thaws."""
        self.settled()
        kept: list[Node] = []
        while not self.reactor.asked:
            kept += cycles(MANY)
            gc.collect()
        (judge,) = self.reactor.asked
        self.interpreter.undo()
        judge()
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_cancelled(self) -> None:
        """Counting that has begun ends when all is undone."""
        self.settled()
        kept: list[Node] = []
        while not self.reactor.asked:
            kept += cycles(MANY)
            gc.collect()
        self.reactor.asked.pop()()
        self.assertEqual(len(self.reactor.getDelayedCalls()), 1)
        self.interpreter.undo()
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_counting_fails(self) -> None:
        """A mistake in counting is told, and growth is judged again later."""
        self.settled()

        def count() -> Stepwise[int]:
            yield
            raise LookupError

        self.patch(self.interpreter, "_count", count)
        kept: list[Node] = []
        for _ in range(2):
            while not self.reactor.asked:
                kept += cycles(MANY)
                gc.collect()
            self.judge()
            self.assertEqual(len(self.flushLoggedErrors(LookupError)), 1)

    def test_coming_and_going(self) -> None:
        """What comes and goes without being lost, as connections do, has growth judged once, and not each time."""
        settled = self.settled()
        for judgements in (1, 0, 0):
            kept: list[list[list[int]]] = []
            while sys.getallocatedblocks() < GROWTH * settled + 4 * MANY:
                kept += [[[number]] for number in range(MANY)]
                gc.collect()
            self.assertEqual(len(self.reactor.asked), judgements)
            self.living = sys.getallocatedblocks()
            if judgements:
                self.judge()
            kept.clear()

    def test_what_is_frozen_is_not_counted(self) -> None:
        """To freeze takes as long as there is to walk through, however much is frozen: nothing looks at that but a walk through everything."""
        looks: list[str] = []
        for name in ("get_freeze_count", "unfreeze"):
            self.patch(gc, name, partial(looks.append, name))
        kept = cycles(MANY)
        gc.collect()
        self.assertLess(len(gc.get_objects()), len(kept))
        self.assertEqual(looks, [])

    def test_other_allocator(self) -> None:
        """Where the interpreter counts no blocks, growth is that of what is frozen."""
        self.patch(sys, "getallocatedblocks", lambda: 0)
        self.settled()
        settled = gc.get_freeze_count()
        kept: list[Node] = []
        while 2 * len(kept) <= (GROWTH - 1) * settled:
            self.assertEqual(self.reactor.asked, [])
            kept += cycles(MANY)
            gc.collect()
        (judge,) = self.reactor.asked
        judge()
        self.assertGreater(gc.get_freeze_count(), GROWTH * settled)


class SettingsTests(InterpreterCase):
    """What is set, and set back."""

    def test_undone(self) -> None:
        """All can be undone; what was to be done later does nothing then."""
        self.interpreter.undo()
        self.interpreter.undo()
        self.interpreter.settle()
        self.assertEqual(gc.get_freeze_count(), 0)
        self.assertEqual(gc.get_threshold(), self.thresholds)
        self.assertEqual(sys.getswitchinterval(), self.interval)

    def test_threads_take_turns(self) -> None:
        """No thread keeps the interpreter from another for more than half a millisecond."""
        self.assertAlmostEqual(sys.getswitchinterval(), SWITCH_SECONDS)
        self.assertLess(sys.getswitchinterval(), self.interval)

    @skipUnless(platform.libc_ver()[0] == "glibc", "another allocator has its own ways")
    def test_memory_of_what_passes_is_kept(self) -> None:
        """The memory of bodies that come and go is not had of the system with each of them."""
        told = subprocess.run(
            [sys.executable, "-c", _COMING_AND_GOING], check=True, capture_output=True, text=True, cwd=ROOT
        )
        self.assertLess(int(told.stdout), 1000)
