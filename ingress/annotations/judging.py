"""The filter of a verdict: what only says whether a request passes, and is asked nothing else.

Most of what annotations ask for judges requests by their facts alone, keeps nothing, and needs no service.  Its
spec has the verdict as a pure function, and this filter calls it.
"""

from collections.abc import Callable

from ingress.filters import Facts, Filter, Reply


class Judging(Filter):
    """Answers what *judge* has a reply for."""

    def __init__(self, judge: Callable[[Facts], Reply | None]) -> None:
        self._judge = judge

    def on_request(self, facts: Facts) -> Reply | None:
        """Give the verdict."""
        return self._judge(facts)
