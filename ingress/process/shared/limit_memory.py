"""The memory in which workers share what they know of clients: made once, before the first of them is forked."""

from typing import Final

from ingress.process.shared.shared_counts import SharedCounts
from ingress.process.shared.shared_table import SharedTable

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
