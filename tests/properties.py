"""How much of what can be tried without end is tried: ``make test`` takes a third of the examples and places, ``make properties`` and
``make test-compiled`` all.

``INGRESS_EXAMPLES`` is the share: 1 for all that tests name themselves, 10 for ten times as many examples, 0 for as few as there may be.
"""

import os

FEW = 30
"""So many examples are always tried: with fewer most properties would hardly leave the simplest cases."""
LEAST_SHARE = 0.01
"""Of places that are alike: with none of them nothing would be tried at all."""
SHARE = float(os.environ.get("INGRESS_EXAMPLES", "0.34"))


def examples(full: int, share: float = SHARE) -> int:
    """Return how many of *full* examples are tried."""
    return max(min(full, FEW), round(full * share))


def turns(share: float = SHARE) -> int:
    """Return how many cases take turns at places which are alike in all of them: each is tried in one of so many."""
    return max(1, round(1 / max(share, LEAST_SHARE)))
