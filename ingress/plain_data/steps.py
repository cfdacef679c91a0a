"""Large values in small steps, so that whoever makes a page of them can stop after any step.

A step is what an iterator does between two of its values.  Where a step has no value to show
yet, it shows ``NOT_YET``.  Pure: who goes on when is for others to say.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any, Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 200
"""How many values are looked at in one step: a fraction of a millisecond."""


class NotYet:
    """The class of ``NOT_YET``."""

    def __repr__(self) -> str:
        return "NOT_YET"


NOT_YET: Final = NotYet()
"""There is no value yet; go on when there is time."""


def in_order(values: Iterable[T], key: Callable[[T], Any]) -> Iterator[T | NotYet]:
    """Yield *values* sorted by *key*, equal ones in their order; ``NOT_YET`` while that is being found out."""
    source = iter(values)
    runs: list[list[T]] = []
    while run := list(islice(source, AT_ONCE)):
        run.sort(key=key)
        runs.append(run)
        yield NOT_YET
    yield from merge(*runs, key=key)


def json_text(value: object, margin: str = "\n") -> Iterator[str]:
    """Yield *value* as ``json.dumps`` writes it with an indent of 2, in pieces, empty ones for ``NOT_YET``.

    An iterator is written as a list, and asked for one item after the other while that is done.  A function is called
    when it is its turn, and what it returns is written.
    *margin* is what lines begin with.
    """
    if value is None or isinstance(value, str | int | float):
        yield json.dumps(value)
    elif isinstance(value, dict):
        before = "{"
        for name, part in value.items():
            yield f"{before}{margin}  {json.dumps(name)}: "
            yield from json_text(part, f"{margin}  ")
            before = ","
        yield "{}" if before == "{" else f"{margin}}}"
    elif isinstance(value, Iterator | list | tuple):
        before = "["
        for part in value:
            if part is NOT_YET:
                yield ""
                continue
            yield f"{before}{margin}  "
            yield from json_text(part, f"{margin}  ")
            before = ","
        yield "[]" if before == "[" else f"{margin}]"
    elif callable(value):
        yield from json_text(value(), margin)
    else:
        raise TypeError(f"JSON has no {type(value).__name__}")
