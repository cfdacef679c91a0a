"""Tests for ``ingress.process.computing``."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, current_thread, main_thread
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import ComputingRefused
from ingress.process.computing import ComputingThreads

SECONDS = 10


class ComputingTests(SynchronousTestCase):
    """Threads that compute; what they say to the reactor is done by the test."""

    def setUp(self) -> None:
        """Begin with one thread, which can be held."""
        self.said: SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]] = SimpleQueue()
        self.gate, self.begun = Event(), Event()
        self.threads = ComputingThreads(
            lambda call, *arguments: self.said.put((call, arguments)),
            threads=1,
            most_at_once=4,
            most_for_one=2,
        )
        self.addCleanup(self.threads.stop)
        self.addCleanup(self.gate.set)

    def turn(self, count: int = 1) -> None:
        """Do what the thread said, for *count* computations."""
        for _ in range(count):
            call, arguments = self.said.get(timeout=SECONDS)
            call(*arguments)

    def held(self, whose: object = None, once: object = None) -> Deferred[Any]:
        """Ask for a computation that waits for the gate."""

        def work() -> None:
            self.begun.set()
            self.gate.wait(SECONDS)

        return self.threads.compute(work, whose, once)

    def test_result(self) -> None:
        """What is computed is computed in a thread that keeps no process, and comes back."""
        found: Deferred[Any] = self.threads.compute(lambda: current_thread())
        self.turn()
        thread = self.successResultOf(found)
        self.assertIsNot(thread, main_thread())
        self.assertTrue(thread.daemon)

    def test_failure(self) -> None:
        """What it raises comes back, too, and the thread goes on."""
        failing = self.threads.compute(lambda: 1 // 0)
        self.turn()
        self.failureResultOf(failing, ZeroDivisionError)
        after = self.threads.compute(lambda: 2)
        self.turn()
        self.assertEqual(self.successResultOf(after), 2)

    def test_too_many(self) -> None:
        """Beyond a number for one, and beyond one of all, nothing is taken; there is room again once some are done."""
        for _ in range(2):
            self.held("a")
        with self.assertRaises(ComputingRefused) as refused:
            self.held("a")
        self.assertTrue(refused.exception.is_own)
        for _ in range(2):
            self.held("b")
        with self.assertRaises(ComputingRefused) as refused:
            self.held("c")
        self.assertFalse(refused.exception.is_own)
        self.gate.set()
        self.turn(4)
        self.held("a")
        self.turn()

    def test_once(self) -> None:
        """Equal work that is under way is done once for all who wait, and takes one place; later it is done anew."""
        calls: list[None] = []

        def work() -> int:
            self.gate.wait(SECONDS)
            calls.append(None)
            return len(calls)

        all_waiting = [self.threads.compute(work, "a", "x") for _ in range(10)]
        self.gate.set()
        self.turn()
        self.assertEqual([self.successResultOf(one) for one in all_waiting], [1] * 10)
        again = self.threads.compute(work, "a", "x")
        self.turn()
        self.assertEqual(self.successResultOf(again), 2)

    def test_who_leaves(self) -> None:
        """What nobody waits for any more is not begun; who still waits for the same gets it."""
        self.held()
        calls: list[str] = []
        gone = self.threads.compute(lambda: calls.append("gone"))
        left, waits = (self.threads.compute(lambda: calls.append("kept"), once="x") for _ in range(2))
        for one in (gone, left):
            one.cancel()
            self.failureResultOf(one, CancelledError)
        self.gate.set()
        self.turn(3)
        self.successResultOf(waits)
        self.assertEqual(calls, ["kept"])

    def test_stop(self) -> None:
        """Stopping waits for nothing; what waits is not begun, and nothing more is taken."""
        self.held()
        self.begun.wait(SECONDS)
        calls: list[None] = []
        self.threads.compute(lambda: calls.append(None))
        self.threads.stop()
        self.assertRaises(ComputingRefused, self.held)
        self.gate.set()
        self.turn()
        self.assertEqual(calls, [])
