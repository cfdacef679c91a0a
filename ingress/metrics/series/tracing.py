"""The series about traces: what is told to a collector, and what is lost on the way there.

``Metrics`` shows these series with its own; this module reads no clock.  All of it belongs to the reactor thread.
"""

from collections.abc import Iterable
from typing import Final

from prometheus_client.core import CounterMetricFamily, Metric

WHERE: Final = ("queue", "export")
"""Where spans are lost: there was no room for them, or the collector did not take them."""


class TracingMetrics:
    """Counters."""

    def __init__(self) -> None:
        self.exported = 0
        """Spans that a collector has taken."""
        self.limited = 0
        """Requests that were not sampled, since so many had been in that second."""
        self._lost = dict.fromkeys(WHERE, 0)

    def lost(self, where: str, spans: int) -> None:
        """Count *spans* that are lost at one of ``WHERE``."""
        self._lost[where] += spans

    def families(self) -> Iterable[Metric]:
        """Yield the series."""
        yield CounterMetricFamily(
            "ingress_spans_exported", "Spans that the collector of traces has taken.", value=self.exported
        )
        lost = CounterMetricFamily(
            "ingress_spans_dropped",
            "Spans that were lost: for want of room in the queue, or since the collector did not take them (export).",
            labels=("where",),
        )
        for where, count in self._lost.items():
            lost.add_metric((where,), count)
        yield lost
        yield CounterMetricFamily(
            "ingress_traces_limited",
            "Requests that were to be sampled and were not, since there had been as many in that second as there may be.",
            value=self.limited,
        )
