"""How many objects live, counted little by little: what is reached from modules, and so from the reactor, which is in one.

The collector knows as much, but only all at once: to walk through a million objects takes it a quarter of a second, in which
nobody is served.  Here it takes three times as long, a few hundred references each time.  Meanwhile objects come and go and change
places, so the count is about right, and no more.  What is reached only from something that shows the collector nothing is left out: from what
a function has at hand that is being called, and from what some libraries have that are written in other languages.

One bit is kept for each place at which an object may begin, below a hundredth of the memory that is looked at.
"""

import gc
from collections.abc import Iterable
from typing import Any, Final

from ingress.model.stepwise import Stepwise

AT_ONCE: Final = 200
"""References that are followed in one step."""

_PAGE_BITS: Final = 16
_PLACE_BITS: Final = 4
"""Objects begin at multiples of 16 octets, or of 8 on a machine of 32 bits, where two places then have one bit."""


class _Seen:
    """Which addresses were seen."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}

    def is_new(self, address: int) -> bool:
        """Whether *address* is seen for the first time."""
        page = self._pages.get(address >> _PAGE_BITS)
        if page is None:
            page = self._pages[address >> _PAGE_BITS] = bytearray(1 << (_PAGE_BITS - _PLACE_BITS - 3))
        place = (address & ((1 << _PAGE_BITS) - 1)) >> _PLACE_BITS
        bit = 1 << (place & 7)
        if page[place >> 3] & bit:
            return False
        page[place >> 3] |= bit
        return True


def count_reachable(roots: Iterable[object]) -> Stepwise[int]:
    """Return how many objects are reached from *roots*, which are not counted themselves; some hundred references a step."""
    seen = _Seen()
    waiting: list[Any] = list(roots)
    count = followed = 0
    while waiting:
        # A list of another's references may be as long as a table of all hosts.
        for found in gc.get_referents(waiting.pop()):
            followed += 1
            if followed >= AT_ONCE:
                followed = 0
                yield
            if seen.is_new(id(found)):
                count += 1
                if gc.is_tracked(found):
                    waiting.append(found)
    return count
