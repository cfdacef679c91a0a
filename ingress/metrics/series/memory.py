"""The series about memory: what the control group of the process may have, and what of it is used.

``Metrics`` shows these series with its own; memory is looked at when somebody asks for them.
"""

from collections.abc import Callable, Iterable

from prometheus_client.core import GaugeMetricFamily, Metric

from ingress.process.caps.cgroups import Cap


def _none() -> Cap | None:
    return None


class MemoryMetrics:
    """Shows what *cap* returns; whoever knows the control group sets it."""

    def __init__(self) -> None:
        self.cap: Callable[[], Cap | None] = _none

    def families(self) -> Iterable[Metric]:
        """Yield the series; none where memory has no limit."""
        cap = self.cap()
        if cap is None:
            return
        yield GaugeMetricFamily(
            "ingress_memory_limit_bytes",
            "Limit of the control group that has the least memory left, of those that the process is in.",
            value=cap.limit,
        )
        yield GaugeMetricFamily(
            "ingress_memory_used_bytes",
            "How much of that is used, by whomever.",
            value=cap.used,
        )
