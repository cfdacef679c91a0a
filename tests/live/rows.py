"""Rows of counters, for tests of those who look at them."""

from collections.abc import Sequence

from ingress.live.counted import RowReader
from ingress.metrics.exchanges.histograms import BOUNDS


class FakeRow:
    """A row that tests count in."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.looks = 0
        self._requests = self._failed = 0
        self._durations = [0] * (len(BOUNDS) + 1)

    def count(self, requests: int = 1, failed: int = 0, bucket: int = 0) -> None:
        """Count *requests* of a duration, of which so many failed."""
        self._requests += requests
        self._failed += failed
        self._durations[bucket] += requests

    def name(self) -> str:
        """Return what it is called."""
        return self._name

    def mark(self) -> float:
        """Return another number after each request."""
        self.looks += 1
        return self._requests / 1000

    def requests(self) -> int:
        """Return how many there were."""
        return self._requests

    def failed(self) -> int:
        """Return how many of them failed."""
        return self._failed

    def durations(self) -> Sequence[int]:
        """Return how long they took."""
        return self._durations


READ = RowReader(FakeRow.name, FakeRow.mark, FakeRow.requests, FakeRow.failed, FakeRow.durations)
