"""What lives, counted."""

from __future__ import annotations

import gc
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.stepwise import Stepwise, finished
from ingress.process.reachable import AT_ONCE, count_reachable
from tests.fakes.processes import ROOT

_GROWING = """
import gc, sys
from twisted.internet.task import Clock
from ingress.process.interpreter import Interpreter

class Reactor(Clock):
    def callFromThread(self, call):
        self.callLater(0, call)

class Node:
    pass

def lot():
    made = []
    for number in range(5000):
        node = Node()
        node.itself, node.more = node, [(number, str(number))]
        made.append(node)
    return made

walks = []
unfreeze = gc.unfreeze
gc.unfreeze = lambda: (walks.append(None), unfreeze())
reactor = Reactor()
interpreter = Interpreter(reactor, lambda: None)
interpreter.set_up()
interpreter.settle()
settled = sys.getallocatedblocks()
kept = []
while sys.getallocatedblocks() < 2.5 * settled:
    kept += lot()
    reactor.advance(0)
while reactor.getDelayedCalls():
    reactor.advance(0)
print(len(walks))
living = most = sys.getallocatedblocks()
for _ in range(5 * len(kept) // 5000):
    lot()
    reactor.advance(15)
    most = max(most, sys.getallocatedblocks())
print(len(walks) > 0, most < 4 * living)
"""
"""A process that grows more than twice as large, and then leaves five times as much garbage as it has of use."""


class CountingTests(SynchronousTestCase):
    """What is counted, and how."""

    def count_steps(self, steps: Stepwise[int]) -> tuple[int, int]:
        """Take all *steps*; return what they count, and how many there were."""
        taken = 1
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value, taken
            taken += 1

    def test_each_once(self) -> None:
        """Each object is counted once, however many ways lead there, and in circles."""
        leaf = object()
        one: list[object] = [leaf, leaf]
        other = [one, leaf]
        one.append(other)
        self.assertEqual(finished(count_reachable([[one, other]])), 3)

    def test_neighbours(self) -> None:
        """Objects beside each other are told apart, as far as the allocator can have them lie."""
        kept = [object() for _ in range(50_000)]
        self.assertEqual(finished(count_reachable([kept])), len(kept))

    def test_garbage_is_not_counted(self) -> None:
        """What nobody refers to is not counted, be it frozen or not."""
        kept: list[object] = [[] for _ in range(10)]
        lost: list[object] = []
        lost.append(lost)
        del lost
        self.assertEqual(finished(count_reachable([kept])), 10)

    def test_frozen(self) -> None:
        """What the collector leaves alone is counted like everything else."""
        kept = [[number] for number in range(1000, 1100)]
        gc.freeze()
        self.addCleanup(gc.unfreeze)
        self.assertEqual(finished(count_reachable([kept])), 200)

    def test_steps(self) -> None:
        """A step follows some hundred references, also where one object has very many."""
        for kept in ([object() for _ in range(10 * AT_ONCE)], [[object()] for _ in range(5 * AT_ONCE)]):
            counted, steps = self.count_steps(count_reachable([kept]))
            self.assertEqual((counted, steps), (10 * AT_ONCE, 11))

    def test_process(self) -> None:
        """A process that only grows never walks through everything; one that leaves garbage does, before there is much more of that than of use."""
        told = subprocess.run(
            [sys.executable, "-c", _GROWING], check=True, capture_output=True, text=True, cwd=ROOT
        )
        self.assertEqual(told.stdout.split(), ["0", "True", "True"])
