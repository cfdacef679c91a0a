"""What filters count, and how often they fail."""

from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, Metric

MAX_EVENTS: Final = 1024
"""Pairs of filter and event that have a series of their own; what else is counted is counted under no event."""
MAX_CHARACTERS: Final = 64
"""So much of a name or an event is told to another process."""


class FilterMetrics:
    """Counters of filters by name.  Every method belongs to the reactor thread."""

    def __init__(self) -> None:
        self._events: dict[tuple[str, str], int] = {}
        self._failures: dict[str, int] = {}

    def counted(self, name: str, event: str, count: int = 1) -> None:
        """Count that *event* of filter *name* happened, *count* times."""
        key = name, event
        if key not in self._events and len(self._events) >= MAX_EVENTS:
            key = name, ""
        self._events[key] = self._events.get(key, 0) + count

    def failed(self, name: str, count: int = 1) -> None:
        """Count requests that filter *name* failed."""
        self._failures[name] = self._failures.get(name, 0) + count

    def take_events(self) -> Iterator[tuple[str, str, int]]:
        """Return name, event and count of what was counted since this was last called."""
        events, self._events = self._events, {}
        return ((_short(name), _short(event), count) for (name, event), count in events.items())

    def take_failures(self) -> Iterator[tuple[str, int]]:
        """Return the requests that filters failed since this was last called, by name."""
        failures, self._failures = self._failures, {}
        return ((_short(name), count) for name, count in failures.items())

    def add(
        self, events: Iterable[tuple[str, str, int]] = (), failures: Iterable[tuple[str, int]] = ()
    ) -> None:
        """Add what a worker counted; of more names than there may be nothing is told apart."""
        for name, event, count in events:
            known = (name, event) in self._events or (name, "") in self._events
            if known or len(self._events) < 2 * MAX_EVENTS:
                self.counted(name, event, count)
            else:
                self.counted("", "", count)
        for name, count in failures:
            is_new = name not in self._failures and len(self._failures) >= MAX_EVENTS
            self.failed("" if is_new else name, count)

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


def _short(text: str) -> str:
    """Return the beginning of *text*, with a question mark for what cannot be shown."""
    return "".join(one if one.isprintable() else "?" for one in text[:MAX_CHARACTERS])
