"""What trial hands out to its processes (``--jobs``): a module of tests to each, where trial itself hands out single tests.

What a module imports, what it makes once for all its tests, and processes that it starts to fork from are then needed in one
process, and not in all of them.
"""

import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from twisted.python.failure import Failure

T = TypeVar("T")

WAITING = (
    "tests.cluster.api.test_api_client",
    "tests.cluster.test_api_server",
    "tests.end_to_end.",
    "tests.examples.",
    "tests.proxy.downstream.test_h2_leftovers",
    "tests.proxy.downstream.test_leftovers",
    "tests.proxy.sockets.test_grpc",
    "tests.proxy.sockets.test_on_epoll",
    "tests.proxy.upstream.test_leftovers_upstream",
    "tests.status.test_conditions",
    "tests.status.test_gateway_services",
    "tests.status.test_reporting",
)
"""How modules begin whose tests wait most of their time, for other processes and for time to go by: seven seconds and more in all."""
LONG = (
    "tests.process.test_interpreter",
    "tests.proxy.downstream.test_h2_waiting",
    "tests.proxy.sockets.test_reactors",
    "tests.test_packaging",
    "tests.translate.hosts.test_host_steps",
    "tests.translate.test_incremental",
    "tests.workers.feed.test_feed",
)
"""Modules that need four seconds of a processor and more, which are begun first: at the end one process would be at them alone."""
_BUSY = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""So many processes always have others, as long as there are any: all processors are busy, and what waits goes by beside that."""


class Share:
    """The tests of the module *name*, which one process runs one after another; stands where trial would have a test."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tests: list[Any] = []

    @property
    def waits(self) -> bool:
        """Whether they wait most of their time."""
        return self.name.startswith(WAITING)


def shares(tests: Iterable[Any]) -> list[Share]:
    """Put *tests* into shares, in the order in which they come."""
    found: dict[str, Share] = {}
    for test in tests:
        name = type(test).__module__
        found.setdefault(name, Share(name)).tests.append(test)
    return list(found.values())


def from_both_ends(some: Sequence[T]) -> Iterator[T]:
    """Yield the first, the last, the second, the last but one, and so on: what is side by side is alike."""
    left = deque(some)
    while left:
        yield left.popleft()
        if left:
            yield left.pop()


class Shares:
    """
    All shares, of which each process gets the next one when it has ended another.

    *busy* processes get what does not wait, and whoever comes besides what waits, each as long as there is any.
    """

    def __init__(self, some: Sequence[Share], busy: int = _BUSY) -> None:
        self._waiting = deque(share for share in some if share.waits)
        others = [share for share in some if not share.waits]
        short = from_both_ends([share for share in others if share.name not in LONG])
        self._others = deque([*(share for share in others if share.name in LONG), *short])
        self._busy = busy
        self._under_way = 0
        """How many of those that do not wait."""

    def take(self) -> Share:
        """Return the next one."""
        if self._waiting and (self._under_way >= self._busy or not self._others):
            return self._waiting.popleft()
        self._under_way += 1
        return self._others.popleft()

    def ended(self, share: Share) -> None:
        """Told when a *share* has been run."""
        if not share.waits:
            self._under_way -= 1


def hand_out_modules(disttrial: Any, worker: Any, prepare: Callable[[], None], busy: int = _BUSY) -> None:
    """
    Have trial do so from now on, and *prepare* before it does.

    *disttrial* and *worker* are its modules; what is exchanged in them has no public name.  What it hands out are numbers: which
    share stands behind one is decided when its turn has come.
    """
    iterate: Callable[[Any], Iterable[Any]] = disttrial._iterateTests
    run_test: Callable[[Any, Any, Any], Awaitable[object]] = worker.LocalWorkerAMP.run
    found: list[Share] = []
    left = Shares(())

    def prepared_turns(suite: Any) -> list[int]:
        prepare()
        found[:] = shares(iterate(suite))
        return list(range(len(found)))

    async def run_share(process: Any, turn: int, result: Any) -> None:
        nonlocal left
        if turn == 0:
            # Once more, where trial is to go on until something fails.
            left = Shares(found, busy)
        pool = left
        share = pool.take()
        for test in share.tests:
            try:
                await run_test(process, test, result)
            except Exception:
                # As trial does with a test whose process is gone.
                result.original.addError(test, Failure())
        pool.ended(share)

    disttrial._iterateTests = prepared_turns
    worker.LocalWorkerAMP.run = run_share
