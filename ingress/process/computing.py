"""Threads that compute what would keep the reactor busy for too long, such as the hash of a password.

What is computed waits in one line, and the line is bounded: as a whole, and for whoever asks.  What is
refused costs nothing, so a flood of requests costs no more than the threads compute.  Equal work that is under way is done
once.  The threads are daemons and nobody joins them: a computation never holds back the end of the process.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ingress.errors import ComputingRefused

THREADS: Final = 2
MOST_AT_ONCE: Final = 64
"""Computations that wait or go on.  A hash of a password takes 250 ms at most, so the last one has its turn after 8 seconds."""
MOST_FOR_ONE: Final = 4
"""Those of whoever asks, such as one address."""


@define(eq=False)
class _Computation:
    """One call, and who waits for what it returns; the threads read *call* and *is_wanted*, and nothing else."""

    call: Callable[[], object]
    whose: Hashable
    once: Hashable
    waiting: list[Deferred[Any]] = field(factory=list)
    is_wanted: bool = True


class ComputingThreads:
    """Computes in threads; *call_from_thread* is the reactor's, whose thread everything else is for."""

    def __init__(
        self,
        call_from_thread: Callable[..., object],
        *,
        threads: int = THREADS,
        most_at_once: int = MOST_AT_ONCE,
        most_for_one: int = MOST_FOR_ONE,
    ) -> None:
        self._call_from_thread = call_from_thread
        self._threads = threads
        self._most_at_once = most_at_once
        self._most_for_one = most_for_one
        self._line: SimpleQueue[_Computation | None] = SimpleQueue()
        self._of_each: Counter[Hashable] = Counter()
        self._named: dict[Hashable, _Computation] = {}
        self._at_once = 0
        self._has_started = False
        self._is_stopping = False

    def compute(
        self, call: Callable[[], object], whose: Hashable = None, once: Hashable = None
    ) -> Deferred[Any]:
        """Call *call* in a thread; fires with what it returns, or fails with what it raises.

        *whose* is who asks, *once* what is the same for calls of which one is enough.  Raises ``ComputingRefused`` at once.
        A Deferred that is cancelled fires no more; what nobody waits for any more is not begun.
        """
        known = self._named.get(once) if once is not None else None
        if known is not None:
            return self._wait(known)
        if self._at_once >= self._most_at_once or self._is_stopping:
            raise ComputingRefused(is_own=False)
        if whose is not None and self._of_each[whose] >= self._most_for_one:
            raise ComputingRefused(is_own=True)
        coming = _Computation(call, whose, once)
        self._at_once += 1
        self._of_each[whose] += 1
        if once is not None:
            self._named[once] = coming
        self._start()
        self._line.put(coming)
        return self._wait(coming)

    def stop(self) -> None:
        """Begin nothing more, and have the threads end after what they compute; returns at once."""
        self._is_stopping = True
        for _ in range(self._threads if self._has_started else 0):
            self._line.put(None)

    def _wait(self, coming: _Computation) -> Deferred[Any]:
        def left(one: Deferred[Any]) -> None:
            coming.waiting.remove(one)
            coming.is_wanted = bool(coming.waiting)
            if not coming.waiting and self._named.get(coming.once) is coming:
                # Who asks for the same now has it begun anew.
                del self._named[coming.once]

        waiter: Deferred[Any] = Deferred(left)
        coming.waiting.append(waiter)
        return waiter

    def _start(self) -> None:
        if self._has_started:
            return
        self._has_started = True
        for number in range(self._threads):
            Thread(target=self._work, name=f"computing {number + 1}", daemon=True).start()

    def _work(self) -> None:
        """Thread: compute one after the other."""
        while (coming := self._line.get()) is not None and not self._is_stopping:
            result: object = None
            if coming.is_wanted:
                try:
                    result = coming.call()
                except Exception:
                    result = Failure()
            self._call_from_thread(self._computed, coming, result)

    def _computed(self, coming: _Computation, result: object) -> None:
        self._at_once -= 1
        self._of_each[coming.whose] -= 1
        if not self._of_each[coming.whose]:
            del self._of_each[coming.whose]
        if self._named.get(coming.once) is coming:
            del self._named[coming.once]
        waiting, coming.waiting = coming.waiting, []
        for waiter in waiting:
            waiter.callback(result)
