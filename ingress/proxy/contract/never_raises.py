"""Bugs of ours, kept to the request that meets them.

What a reactor calls must not raise: on either network the connection would end without a
word, and upstream's, if that is where it was noticed, would take the blame.  Everything on the way of an
exchange is entered by a method that is ``never_raises``, or has the same three lines where a
call more would cost too much.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any


def never_raises(method: Callable[..., None]) -> Callable[..., None]:
    """Have what *method* raises end the exchange at hand, by ``raised`` of its object, and nothing else."""

    @wraps(method)
    def call(self: Any, *arguments: Any) -> None:
        try:
            method(self, *arguments)
        except Exception:
            self.raised()

    return call
