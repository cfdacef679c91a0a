"""What is found out step by step, so that whoever wants it can do something else in between: generators that return it."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterable
from heapq import nsmallest
from itertools import chain, islice
from typing import Any, Final, TypeVar

T = TypeVar("T")

Stepwise = Generator[None, None, T]
"""Takes a step each time it is asked for the next, and returns what it found."""


def finished(steps: Stepwise[T]) -> T:
    """Take all *steps* that are left; return what they find."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def known(found: T) -> Stepwise[T]:
    """Take no step: *found* is what there is to be found."""
    yield from ()
    return found


LET_GO_AT_ONCE: Final = 100


def let_go(items: list[Any], at_once: int = LET_GO_AT_ONCE) -> Stepwise[None]:
    """Empty *items*, some *at_once*, a step each: to free tens of thousands of values, of which each has others, takes long."""
    while len(items) > at_once:
        del items[-at_once:]
        yield
    items.clear()


LOOKED_AT_ONCE: Final = 1000


def _itself(item: Any) -> Any:
    return item


def least(
    items: Iterable[T],
    most: int,
    key: Callable[[T], Any] = _itself,
    is_meant: Callable[[T], bool] | None = None,
) -> Stepwise[list[T]]:
    """Return the first *most* of *items* in their order by *key*, or by themselves, of those that are meant; some at once, a step each."""
    source = iter(items)
    found: list[T] = []
    while some := list(islice(source, LOOKED_AT_ONCE)):
        found = nsmallest(most, chain(found, filter(is_meant, some) if is_meant is not None else some), key)
        if len(some) == LOOKED_AT_ONCE:
            yield
    return found


SORTED_AT_ONCE: Final = 200


def in_order(
    items: Iterable[T], key: Callable[[T], Any] | None = None, at_once: int = SORTED_AT_ONCE
) -> Stepwise[list[T]]:
    """Return *items* sorted by *key*, or by themselves, equal ones in their order; some *at_once*, a step each."""
    source = iter(items)
    runs: list[list[T]] = []
    while run := list(islice(source, at_once)):
        if runs:
            yield
        runs.append(_sorted(run, key))
    while len(runs) > 1:
        longer = []
        for place in range(0, len(runs) - 1, 2):
            longer.append((yield from _merged(runs[place], runs[place + 1], key, at_once)))
        runs = longer + runs[len(runs) & ~1 :]
    return runs[0] if runs else []


def _merged(
    some: list[Any], more: list[Any], key: Callable[[Any], Any] | None, at_once: int
) -> Stepwise[list[Any]]:
    """Return both, which are sorted, as one.

    From each as many are taken as cannot come behind others that are left; two runs are sorted in the time of a look at each item.
    """
    found: list[Any] = []
    place = other = 0
    while place < len(some) or other < len(more):
        yield
        left, right = some[place : place + at_once], more[other : other + at_once]
        if left and right:
            last, its = (left[-1], right[-1]) if key is None else (key(left[-1]), key(right[-1]))
            if its < last:
                left = left[: bisect_right(left, its, key=key)]
            else:
                right = right[: bisect_left(right, last, key=key)]
        found += _sorted(left + right, key)
        place += len(left)
        other += len(right)
    return found


def _sorted(items: list[Any], key: Callable[[Any], Any] | None) -> list[Any]:
    return sorted(items, key=key)
