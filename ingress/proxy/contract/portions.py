"""Many who come to the same end at once, a portion in each turn of the reactor.

To end a connection takes from ten microseconds to a tenth of a millisecond, and thousands may be due together: those that a burst
has left behind, those of a listener that closes, all that rest when the process ends.  Who has a request meanwhile waits
for a portion, and not for all of them.

Where turns take long, since there is much to do, a portion is longer, too: connections come by the turn, and as many must end as come.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from twisted.logger import Logger

from ingress.model.stepwise import Stepwise

T = TypeVar("T")

PORTION_SECONDS: Final = 0.001
"""How long one portion may take: what one connection may have done in a turn, whatever it is (``docs/limits.md``), ..."""
PORTION_SHARE: Final = 8
"""... or one part in so many of what others have taken since the one before, if that is more, ..."""
MOST_PORTION_SECONDS: Final = 0.003
"""... and no more than this, be it that the process stood still."""

_log: Final = Logger()


def in_portions(
    items: Iterable[T], call: Callable[[T], object], seconds: Callable[[], float]
) -> Stepwise[None]:
    """Call *call* with each of *items*, as many in one step as go into a portion by the clock *seconds*.

    A bug that one of them meets is logged, and keeps no other from its turn.
    """
    until = seconds() + PORTION_SECONDS
    for item in items:
        try:
            call(item)
        except Exception:
            _log.failure("one of many could not be seen to, which is a bug; the others have their turn")
        ended = seconds()
        if ended >= until:
            yield
            begun = seconds()
            share = (begun - ended) / PORTION_SHARE
            until = begun + min(max(PORTION_SECONDS, share), MOST_PORTION_SECONDS)
