"""Many who come to the same end at once, a portion in each turn of the reactor.

To end a connection takes from ten microseconds to a tenth of a millisecond, and thousands may be due together: those that a burst
has left behind, those of a listener that closes, all that rest when the process ends.  Who has a request meanwhile waits
for a portion, and not for all of them.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from ingress.model.stepwise import Stepwise

T = TypeVar("T")

PORTION_SECONDS: Final = 0.001
"""How long one portion may take: what one connection may have done in a turn, whatever it is (``docs/limits.md``)."""


def in_portions(
    items: Iterable[T], call: Callable[[T], object], seconds: Callable[[], float]
) -> Stepwise[None]:
    """Call *call* with each of *items*, as many in one step as go into a portion by the clock *seconds*."""
    until = seconds() + PORTION_SECONDS
    for item in items:
        call(item)
        if seconds() >= until:
            yield
            until = seconds() + PORTION_SECONDS
