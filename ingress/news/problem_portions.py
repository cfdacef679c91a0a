"""Very many problems that came and went, some at a time.  Pure."""

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Final

from ingress.model.problems import ORDER, Problem

AT_ONCE: Final = 500
"""How many problems a portion has, if no object has more of them."""

_Portion = tuple[Sequence[Problem], Sequence[Problem]]


def portions(came: Sequence[Problem], went: Sequence[Problem]) -> Iterator[_Portion]:
    """Yield *came* and *went*, which are sorted, in portions that have all of an object: what is told of it meanwhile is not half of it."""
    if len(came) + len(went) <= AT_ONCE:
        yield came, went
        return
    some_came: list[Problem] = []
    some_went: list[Problem] = []
    last: tuple[str, str, str] | None = None
    for problem, is_new in merge(
        ((one, True) for one in came), ((one, False) for one in went), key=lambda one: ORDER(one[0])
    ):
        of = problem.kind, problem.namespace, problem.name
        if of != last and len(some_came) + len(some_went) >= AT_ONCE:
            yield some_came, some_went
            some_came, some_went = [], []
        last = of
        (some_came if is_new else some_went).append(problem)
    yield some_came, some_went
