"""What filters count, and how often they fail."""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, Metric

MAX_EVENTS: Final = 1024
"""Pairs of filter and event that have a series of their own; what else is counted is counted under no event."""


class FilterMetrics:
    """Counters of filters by name.  Every method belongs to the reactor thread."""

    def __init__(self) -> None:
        self._events: dict[tuple[str, str], int] = {}
        self._failures: dict[str, int] = {}

    def counted(self, name: str, event: str) -> None:
        """Count *event* of filter *name*."""
        key = name, event
        if key not in self._events and len(self._events) >= MAX_EVENTS:
            key = name, ""
        self._events[key] = self._events.get(key, 0) + 1

    def failed(self, name: str) -> None:
        """Count a request that filter *name* failed."""
        self._failures[name] = self._failures.get(name, 0) + 1

    def families(self) -> Iterator[Metric]:
        """Yield the series."""
        events = CounterMetricFamily(
            "ingress_filter_events",
            "What filters count, by the name of the filter and its own word for it.",
            labels=("filter", "event"),
        )
        for (name, event), count in self._events.items():
            events.add_metric((name, event), count)
        yield events
        failures = CounterMetricFamily(
            "ingress_filter_failures",
            "Requests that a filter failed: it raised, or did not decide in time.",
            labels=("filter",),
        )
        for name, count in self._failures.items():
            failures.add_metric((name,), count)
        yield failures
