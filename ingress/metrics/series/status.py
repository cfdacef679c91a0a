"""What reporting back to the cluster counts: leader or not, statuses, Events.

Belongs to the reactor thread, like ``Metrics``, which shows it.
"""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

WRITE_OUTCOMES = ("ok", "failed")
"""How the write of a status ended."""

EVENT_OUTCOMES = ("ok", "known", "counted", "failed", "dropped")
"""What became of an Event: written, there already, counted in one that is there, not written, or never tried for lack of room."""


class StatusMetrics:
    """All of it; shown once there was an election."""

    def __init__(self) -> None:
        self._is_candidate = False
        self._is_leader = False
        self._changes = 0
        self._lease_failures = 0
        self._status_writes = dict.fromkeys(WRITE_OUTCOMES, 0)
        self._events = dict.fromkeys(EVENT_OUTCOMES, 0)

    def began(self) -> None:
        """Note that we take part in an election."""
        self._is_candidate = True

    def leading(self, is_leader: bool) -> None:
        """Note that we lead now, or do not any more."""
        self._is_leader = is_leader
        self._changes += 1

    def lease_request_failed(self) -> None:
        """Count a request for the Lease that failed; losing it to another is no failure."""
        self._lease_failures += 1

    def status_written(self, outcome: str) -> None:
        """Count the write of a status; *outcome* is one of ``WRITE_OUTCOMES``."""
        self._status_writes[outcome] += 1

    def event(self, outcome: str) -> None:
        """Count an Event; *outcome* is one of ``EVENT_OUTCOMES``."""
        self._events[outcome] += 1

    def families(self) -> Iterable[Metric]:
        """Yield the series; none where there is no election."""
        if not self._is_candidate:
            return
        yield GaugeMetricFamily(
            "ingress_is_leader", "1 for the replica that reports to the cluster.", value=int(self._is_leader)
        )
        yield CounterMetricFamily(
            "ingress_leader_changes",
            "Times that this replica became leader or ceased to be.",
            value=self._changes,
        )
        yield CounterMetricFamily(
            "ingress_lease_failures", "Requests for the lease that failed.", value=self._lease_failures
        )
        yield _by_outcome(
            "ingress_status_writes",
            "Writes of the status of an object, by how they ended.",
            self._status_writes,
        )
        yield _by_outcome("ingress_events", "Events for problems, by what became of them.", self._events)


def _by_outcome(name: str, text: str, counts: dict[str, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=("outcome",))
    for outcome, count in counts.items():
        family.add_metric((outcome,), count)
    return family
