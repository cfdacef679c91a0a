"""What is found out step by step, so that whoever wants it can do something else in between: generators that return it."""

from collections.abc import Generator
from typing import TypeVar

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
