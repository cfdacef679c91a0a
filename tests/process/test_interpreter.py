"""How the interpreter is set up."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from unittest import skipUnless

from twisted.trial.unittest import SynchronousTestCase

from ingress.process.interpreter import GROWTH, MANY, SWITCH_SECONDS, Interpreter
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


class _Reactor:
    """Keeps what it is to call."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []

    def callFromThread(self, call: Callable[[], None]) -> None:
        """Keep *call*."""
        self.calls.append(call)


class InterpreterCase(SynchronousTestCase):
    """An interpreter that is set up, whose collector begins only when a test says so."""

    def setUp(self) -> None:
        self.reactor = _Reactor()
        self.interval = sys.getswitchinterval()
        self.thresholds = gc.get_threshold()
        self.trims: list[int] = []
        self.interpreter = Interpreter(self.reactor, lambda: self.trims.append(gc.get_freeze_count()))
        # What other tests left is not to be counted as what this one leaves.
        gc.collect()
        self.interpreter.set_up()
        gc.disable()
        self.addCleanup(gc.enable)
        self.addCleanup(self.interpreter.undo)
        Node.alive = 0


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
        (give_back,) = self.reactor.calls
        give_back()
        self.assertEqual(self.trims, [gc.get_freeze_count()])
        self.assertEqual(len(self.reactor.calls), 1)

    def test_start(self) -> None:
        """Before the process is said to be settled, nobody walks through everything, however much there comes to be."""
        self.patch(sys, "getallocatedblocks", iter(range(10**6, 10**9, 10**6)).__next__)
        for _ in range(3):
            kept = cycles(MANY)
            gc.collect()
        self.assertEqual(len(kept), MANY)
        self.assertEqual(self.reactor.calls, [])

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
        while sys.getallocatedblocks() < wanted and not self.reactor.calls:
            lot = cycles(MANY)
            gc.collect()
            del lot

    def settled(self) -> int:
        """Settle, with the turn behind it; return how many blocks are in use then."""
        self.interpreter.settle()
        self.reactor.calls.pop()()
        return sys.getallocatedblocks()

    def test_found_by_growth(self) -> None:
        """It is found once twice as much memory is in use as was settled, in the reactor's thread, and not before."""
        settled = self.settled()
        self.hoard((GROWTH - 1) * settled * 8 // 10)
        self.assertEqual(self.reactor.calls, [])
        self.assertGreater(Node.alive, 0)
        self.hoard((GROWTH - 1) * settled * 3 // 10)
        (thaw,) = self.reactor.calls
        thaw()
        self.assertEqual(Node.alive, 0)
        self.assertLess(sys.getallocatedblocks(), settled + MANY)

    def test_again(self) -> None:
        """The next time comes after as much growth again, and what lives is settled, however much it is."""
        before = self.settled()
        kept: list[Node] = []
        while not self.reactor.calls:
            kept += cycles(MANY)
            gc.collect()
        self.reactor.calls.pop()()
        self.assertEqual(Node.alive, 2 * len(kept))
        settled = sys.getallocatedblocks()
        self.assertGreater(settled, GROWTH * before)
        self.hoard((GROWTH - 1) * settled * 8 // 10)
        self.assertEqual(self.reactor.calls, [])
        self.hoard((GROWTH - 1) * settled * 3 // 10)
        self.reactor.calls.pop()()
        self.assertEqual(Node.alive, 2 * len(kept))

    def test_coming_and_going(self) -> None:
        """What comes and goes without being lost, as connections do, brings one walk through everything, and not one each time."""
        settled = self.settled()
        for walks in (1, 0, 0):
            kept: list[list[list[int]]] = []
            while sys.getallocatedblocks() < GROWTH * settled + 4 * MANY:
                kept += [[[number]] for number in range(MANY)]
                gc.collect()
            self.assertEqual(len(self.reactor.calls), walks)
            while self.reactor.calls:
                self.reactor.calls.pop()()
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
            self.assertEqual(self.reactor.calls, [])
            kept += cycles(MANY)
            gc.collect()
        (thaw,) = self.reactor.calls
        thaw()
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
