"""The series about overload: whether there is one, and what it cost whom.

``Metrics`` shows these series with its own; this module reads no clock.  All of
it belongs to the reactor thread.
"""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

LATE, MEMORY = CAUSES = ("late", "memory")
"""What there is too little of: time, or memory."""


class OverloadMetrics:
    """Counters and a gauge, by cause."""

    def __init__(self) -> None:
        self._on = dict.fromkeys(CAUSES, 0)
        self._begun = dict.fromkeys(CAUSES, 0)
        self._refused = dict.fromkeys(CAUSES, 0)

    def begun(self, cause: str) -> None:
        """Note that there is an overload; *cause* is one of ``CAUSES``."""
        self._on[cause] = 1
        self._begun[cause] += 1

    def ended(self, cause: str) -> None:
        """Note that it is over."""
        self._on[cause] = 0

    def refused(self, cause: str) -> None:
        """Count a request that was answered with 503 because of it."""
        self._refused[cause] += 1

    def families(self) -> Iterable[Metric]:
        """Yield the series."""
        on = GaugeMetricFamily(
            "ingress_overload",
            "Processes that refuse new requests now, by what there is too little of.",
            labels=("cause",),
        )
        begun = CounterMetricFamily(
            "ingress_overloads", "Times that refusing new requests began, by cause.", labels=("cause",)
        )
        refused = CounterMetricFamily(
            "ingress_overload_requests_refused",
            "Requests answered with 503 because of an overload, by cause.",
            labels=("cause",),
        )
        for family, values in ((on, self._on), (begun, self._begun), (refused, self._refused)):
            for cause, value in values.items():
                family.add_metric((cause,), value)
            yield family
