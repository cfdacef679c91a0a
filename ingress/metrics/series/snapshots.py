"""The series about snapshots: what the current one holds, when and how long it was made, and when anything changed last.

``Metrics`` shows these series with its own; this module reads no clock.  All of it belongs to the reactor thread.
"""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily

from ingress.model.cluster.problems import Reason


def _no_seconds() -> float:
    return 0.0


class SnapshotMetrics:
    """Gauges of the current one, counters of all.  Times are seconds since the epoch, 0 before the first."""

    def __init__(self) -> None:
        self._routes = 0
        self._certificates = 0
        self._problems: Mapping[Reason, int] = {}
        self._count = 0
        self._seconds = 0.0
        self._failed = 0
        self._published_at = 0.0
        self.changed_at = 0.0
        """When an object last became another."""
        self.waiting_seconds: Callable[[], float] = _no_seconds
        """For how long the oldest change has not been translated."""

    def published(
        self, routes: int, certificates: int, problems: Mapping[Reason, int], seconds: float, at: float
    ) -> None:
        """Note what the current snapshot holds, the *seconds* that making it took, and when that was."""
        self._routes = routes
        self._certificates = certificates
        self._problems = problems
        self._count += 1
        self._seconds += seconds
        self._published_at = at

    @property
    def problems(self) -> int:
        """How many problems the current snapshot has."""
        return sum(self._problems.values())

    @property
    def certificates(self) -> int:
        """How many certificates it has."""
        return self._certificates

    def failed(self) -> None:
        """Count a translation that a bug of ours ended; the last snapshot stays in force."""
        self._failed += 1

    def families(self) -> Iterable[Metric]:
        """Yield the series."""
        yield GaugeMetricFamily("ingress_routes", "Routes of the current snapshot.", value=self._routes)
        yield GaugeMetricFamily(
            "ingress_certificates", "Certificates of the current snapshot.", value=self._certificates
        )
        problems = GaugeMetricFamily(
            "ingress_problems", "Problems of the current snapshot, by reason.", labels=("reason",)
        )
        for reason in Reason:
            problems.add_metric((reason.value,), self._problems.get(reason, 0))
        yield problems
        yield SummaryMetricFamily(
            "ingress_snapshot_seconds",
            "Snapshots published, and the seconds spent making them.",
            count_value=self._count,
            sum_value=self._seconds,
        )
        yield CounterMetricFamily(
            "ingress_translations_failed",
            "Translations that a bug ended; the last snapshot stayed in force.",
            value=self._failed,
        )
        yield GaugeMetricFamily(
            "ingress_last_change_timestamp_seconds",
            "When an object that is read last became another, in seconds since the epoch; 0 before the first.",
            value=self.changed_at,
        )
        yield GaugeMetricFamily(
            "ingress_last_publish_timestamp_seconds",
            "When the current snapshot was published, in seconds since the epoch; 0 before the first.",
            value=self._published_at,
        )
        yield GaugeMetricFamily(
            "ingress_changes_waiting_seconds",
            "Seconds for which the oldest change waits that is not yet translated; 0 while there is none.",
            value=self.waiting_seconds(),
        )
