"""What one of several workers has of what all of them have together: its number, a secret, and its part of each limit.

A limit of the whole controller that nobody counts together is *divided*: each worker keeps to its part by itself.  A process
that serves alone has all of it.
"""

from secrets import token_bytes

from attrs import field, frozen

from ingress.process.shared.limit_memory import LimitMemory


def _secret() -> bytes:
    return token_bytes(32)


@frozen
class WorkerPart:
    """Which of how many workers a process is."""

    number: int = 0
    """From 0 to below *count*.  Who stands in for one that died has its number."""
    count: int = 1
    secret: bytes = field(factory=_secret, repr=False)
    """32 bytes that all workers of one controller know and nobody else: what one has signed, another believes."""
    limits: LimitMemory | None = None
    """Where all of them count what clients ask for; None where a process serves alone, and counts by itself."""

    def of(self, most: int) -> int:
        """Return the part of *most*.  All parts together are *most*; but each is 1 at least."""
        whole, left = divmod(most, self.count)
        return max(1, whole + (self.number < left))

    def rounded_up(self, most: int) -> int:
        """Return the part of *most*, which is the same for each worker, and rounded up; of 0, which is no limit, it is 0.

        All parts together are *most*, or up to *count* - 1 more.
        """
        return -(-most // self.count)
