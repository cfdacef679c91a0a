"""The series about the reactor: how late it came to what was due.

``Metrics`` shows these series with its own; whoever looks at a clock says what it found.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric

WINDOW_SECONDS: Final = 5.0


class WorstLateness:
    """The largest number of this window and the one before, so of the last five to ten seconds."""

    def __init__(self) -> None:
        self._until = 0.0
        self._now = self._before = 0.0

    def take(self, now: float, seconds: float) -> float:
        """Take that it was *seconds* late at *now*; return the worst."""
        if now >= self._until:
            is_next = now < self._until + WINDOW_SECONDS
            self._before, self._now = self._now if is_next else 0.0, 0.0
            self._until = now + WINDOW_SECONDS
        self._now = max(self._now, seconds)
        return max(self._now, self._before)


BOUNDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Upper bounds in seconds: a slice of work, what is a stall, what is an overload, and what clients notice."""


class ReactorMetrics:
    """What looks at the reactor found, of which there are some a second."""

    def __init__(self) -> None:
        self._worst = WorstLateness()
        self._worst_seconds = 0.0
        self._counts = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    @property
    def worst_seconds(self) -> float:
        """How late it came at worst, of late."""
        return self._worst_seconds

    def looked(self, late_seconds: float, now: float) -> float:
        """Note that a look came so late; return how late the worst of the last seconds did."""
        seconds = max(0.0, late_seconds)
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._seconds += seconds
        self._worst_seconds = self._worst.take(now, seconds)
        return self._worst_seconds

    def families(self) -> Iterable[Metric]:
        """Yield what processes that serve have together."""
        buckets: list[tuple[str, float]] = []
        below = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self._counts, strict=True):
            below += count
            buckets.append((bound, below))
        yield HistogramMetricFamily(
            "ingress_reactor_delay_seconds",
            "By how much reactors came late to looks that were due, some of which there are each second.",
            buckets=buckets,
            sum_value=self._seconds,
        )

    def own_families(self) -> Iterable[Metric]:
        """Yield what each process has for itself."""
        yield GaugeMetricFamily(
            "ingress_reactor_lag_seconds",
            "By how much the reactor came late to a look that was due, at worst in the last 5 to 10 seconds.",
            value=self._worst_seconds,
        )
