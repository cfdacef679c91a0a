"""The memory in which workers share what they know of clients: made once, before the first of them is forked; and what is told when it is full."""

from collections.abc import Callable
from typing import Final

from twisted.logger import Logger

from ingress.process.shared_counts import SharedCounts
from ingress.process.shared_table import SharedTable

_NONCE_BITS: Final = (10, 15)


class LimitMemory:
    """What so many *workers* know of clients together.  It is theirs alone: no file has it, and no other process.

    Memory is used as far as it is written: nothing without limits, and at most what ``size`` says.
    """

    def __init__(self, workers: int) -> None:
        self.rates = SharedTable()
        """How far clients are ahead of rates."""
        self.counts = SharedCounts(workers)
        """What each worker has under way, for each client."""
        self.nonces = SharedTable(_NONCE_BITS)
        """Which requests came with nonces."""

    @property
    def size(self) -> int:
        """Bytes that may be in use."""
        return self.rates.size + len(self.counts.memory) + self.nonces.size

    def forget(self, number: int) -> None:
        """Take back the requests that worker *number* had under way; to be called once it is gone."""
        self.counts.forget(number)


TELL_SECONDS: Final = 60.0


class Crowding:
    """Tells that the memory is full: *count* is called each time, and the log has a line once a minute."""

    log = Logger()

    def __init__(self, seconds: Callable[[], float], count: Callable[[str, str], object]) -> None:
        self._seconds = seconds
        self._count = count
        self._told_at: float | None = None

    def __call__(self, name: str) -> None:
        """What filter *name* has counted longest ago, or counts now, has no place."""
        self._count(name, "crowded")
        now = self._seconds()
        if self._told_at is None or now - self._told_at >= TELL_SECONDS:
            self._told_at = now
            self.log.warn(
                "Clients with limits are more than workers can count together ({name}): some begin anew, "
                "or are counted by one worker alone",
                name=name,
            )
