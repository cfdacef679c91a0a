"""What is found out step by step, so that whoever wants it can do something else in between: generators that return it."""

from collections.abc import Callable, Generator, Sequence
from heapq import merge
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


SORTED_AT_ONCE: Final = 500


def in_order(items: Sequence[T], key: Callable[[T], Any]) -> Stepwise[Sequence[T]]:
    """Return *items* sorted by *key*, some hundreds a step."""
    if len(items) <= SORTED_AT_ONCE:
        return sorted(items, key=key)
    parts: list[list[T]] = []
    for begin in range(0, len(items), SORTED_AT_ONCE):
        parts.append(sorted(items[begin : begin + SORTED_AT_ONCE], key=key))
        yield
    found: list[T] = []
    for item in merge(*parts, key=key):
        found.append(item)
        if not len(found) % SORTED_AT_ONCE:
            yield
    return found
