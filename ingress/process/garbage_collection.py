"""The collector, little by little: for work that makes and replaces many objects over many turns of the reactor.

The collector counts the objects that were made less those that were freed.  Work that replaces what was there
frees about as many as it makes, so left to itself the collector would come late, and stay for longer than a request
may wait (``interpreter``).  So such work counts its own steps, and gives the collector a turn of its own now and then.
"""

import gc


class CollectorTurns:
    """Has what came lately looked at after so many *steps* of work."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self.made = 0
        """Steps of work since the collector was called; to be counted by whoever works."""

    def take(self) -> bool:
        """Call the collector if it is its turn; return whether it was, for then this turn of the reactor is over."""
        if self.made < self._steps:
            return False
        self.made = 0
        gc.collect(1)
        return True
