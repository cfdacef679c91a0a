"""Who has more to do than one turn takes."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.run_queue import RunQueue


class OneTurnClock(Clock):
    """A clock that calls what is due by now, and what follows from that later."""

    def turn(self) -> int:
        """Make the calls of one turn; return how many there were."""
        calls, self.calls = [each for each in self.calls if each.getTime() <= self.seconds()], []
        for call in calls:
            call.called = 1
            call.func(*call.args, **call.kw)
        return len(calls)


class RunQueueTests(SynchronousTestCase):
    """Calls that wait for their turns."""

    def setUp(self) -> None:
        self.clock = OneTurnClock()
        self.queue = RunQueue(self.clock)
        self.called: list[str] = []
        self.again = {"a": 3, "b": 2, "c": 1}

    def caller(self, name: str) -> None:
        self.called.append(name)
        self.again[name] -= 1
        if self.again[name]:
            self.queue.put(self.calls[name])

    def test_turns(self) -> None:
        """One goes on in each turn, whoever waits longest; and when nobody waits, nothing is called."""
        self.calls = {name: (lambda name=name: self.caller(name)) for name in self.again}
        for call in self.calls.values():
            self.queue.put(call)
        turns = 0
        while self.clock.turn():
            turns += 1
            self.assertEqual(len(self.called), turns)
        self.assertEqual("".join(self.called), "abcaba")
        self.assertEqual(repr(self.queue), "<RunQueue of 0>")

    def test_once(self) -> None:
        """Whoever is put twice is called once, and keeps its place."""
        first, second = (lambda: self.called.append("first")), (lambda: self.called.append("second"))
        for call in (first, second, first):
            self.queue.put(call)
        while self.clock.turn():
            pass
        self.assertEqual(self.called, ["first", "second"])

    def test_bug(self) -> None:
        """What raises ends nobody else's turn."""

        def fail() -> None:
            raise ZeroDivisionError

        self.queue.put(fail)
        self.queue.put(lambda: self.called.append("next"))
        self.assertRaises(ZeroDivisionError, self.clock.turn)
        self.clock.turn()
        self.assertEqual(self.called, ["next"])
