"""Turns, counted: what a proxy in memory does in each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from twisted.internet.task import Clock

from ingress.filters import Facts, Filter, Reply
from ingress.proxy.contract.run_queue import RunQueue
from tests.proxy.playing import Stage


class CountingQueue(RunQueue):
    """Notes, before each turn that it gives and behind the last one, how much was done so far."""

    def __init__(self, stage: Stage, done: Callable[[], int]) -> None:
        super().__init__(stage.reactor)
        self._done = done
        self._before: list[int] = []
        self._began = done()
        self.between: Callable[[], None] = lambda: None
        """Called between turns."""
        stage.deadlines.run_queue = self

    def _run(self) -> None:
        self._before.append(self._done())
        self.between()
        super()._run()

    @property
    def turns(self) -> list[int]:
        """How much was done in each turn, the one of the read first."""
        marks = [self._began, *self._before, self._done()]
        return [after - before for before, after in pairwise(marks)]


class Deciding(Filter):
    """Refuses each request, for which it takes some seconds."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds

    def on_request(self, facts: Facts) -> Reply:
        """Take the time, and refuse."""
        self._clock.rightNow += self._seconds
        return Reply(403)
