"""How many requests of each client are under way, here and at other workers.

What one process has it knows by itself, and exactly.  Where there are several workers, each tells the others by memory that they
share (``ingress.process.shared_counts``), and a client has what all of them say together.  Workers that judge in the same
microsecond may let in one each.
"""

from ingress.annotations.shared_buckets import zone_prefix
from ingress.process.shared_counts import WorkerCounts


class SharedUnderWay:
    """How many requests of each client the other workers have under way, and who tells them of ours."""

    def __init__(self, counts: WorkerCounts, owner: str, secret: bytes) -> None:
        self._counts = counts
        self._prefix = zone_prefix(owner, secret)

    def of_others(self, name: bytes) -> int:
        """Return how many of the client called *name* the others have."""
        return self._counts.of_others(hash(self._prefix + name) or 1)

    def tell(self, name: bytes, count: int) -> None:
        """Have the others know that *count* of the client called *name* are ours."""
        self._counts.tell(hash(self._prefix + name) or 1, count)


class UnderWay:
    """How many requests of each client are under way; of who has none nothing is kept."""

    def __init__(self, shared: SharedUnderWay | None = None) -> None:
        self.counts: dict[bytes, int] = {}
        self.shared = shared
        """What other workers have besides, if there are any."""
