"""What trial hands out to its processes (``--jobs``): a module of tests to each, where trial itself hands out single tests.

What a module imports, what it makes once for all its tests, and processes that it starts to fork from are then needed in one
process, and not in all of them.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from twisted.python.failure import Failure

T = TypeVar("T")

_WAITING = ("tests.end_to_end.", "tests.examples.")
"""Modules whose tests wait most of their time, for other processes and for time to go by."""
_BETWEEN = 2
"""Others that are begun after each of these: of eight processes, some always have something to do, and none is left for the end."""


class Share:
    """The tests of the module *name*, which one process runs one after another; stands where trial would have a test."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tests: list[Any] = []

    @property
    def waits(self) -> bool:
        """Whether they wait most of their time."""
        return self.name.startswith(_WAITING)


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


def in_order(some: Sequence[Share]) -> Iterator[Share]:
    """Yield those that wait soon, with others between them, and then the rest."""
    others = from_both_ends([share for share in some if not share.waits])
    for share in some:
        if share.waits:
            yield share
            yield from islice(others, _BETWEEN)
    yield from others


def hand_out_modules(disttrial: Any, worker: Any, prepare: Callable[[], None]) -> None:
    """
    Have trial do so from now on, and *prepare* before it does.

    *disttrial* and *worker* are its modules; what is exchanged in them has no public name.
    """
    iterate: Callable[[Any], Iterable[Any]] = disttrial._iterateTests
    run_test: Callable[[Any, Any, Any], Awaitable[object]] = worker.LocalWorkerAMP.run

    def prepared_shares(suite: Any) -> list[Share]:
        prepare()
        return list(in_order(shares(iterate(suite))))

    async def run_share(process: Any, share: Share, result: Any) -> None:
        for test in share.tests:
            try:
                await run_test(process, test, result)
            except Exception:
                # As trial does with a test whose process is gone.
                result.original.addError(test, Failure())

    disttrial._iterateTests = prepared_shares
    worker.LocalWorkerAMP.run = run_share
