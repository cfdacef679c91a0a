"""The series about requests of our own: what filters ask other services, and what they only tell them.

``Metrics`` shows these series with its own; this module reads no clock.  All of
it belongs to the reactor thread.
"""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, Metric

KINDS = ("ask", "tell")
"""Whether anybody waits for the answer."""
OUTCOMES = ("answered", "failed", "cancelled", "dropped")
"""How it ended: with a whole answer, without one, since who asked waits no more, or unsent, since too many were under way."""


class SubRequestMetrics:
    """Counters."""

    def __init__(self) -> None:
        self._ended = dict.fromkeys(((kind, outcome) for kind in KINDS for outcome in OUTCOMES), 0)

    def ended(self, kind: str, outcome: str) -> None:
        """Count one; *kind* is one of ``KINDS``, *outcome* of ``OUTCOMES``."""
        self._ended[kind, outcome] += 1

    def families(self) -> Iterable[Metric]:
        """Yield the series."""
        ended = CounterMetricFamily(
            "ingress_sub_requests",
            "Requests of filters to other services, by whether the answer is waited for, and by how they ended.",
            labels=("kind", "outcome"),
        )
        for labels, count in self._ended.items():
            ended.add_metric(labels, count)
        yield ended
