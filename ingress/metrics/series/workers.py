"""The series about workers: which are up, how often they began and ended, how late they are, what they serve.

``Metrics`` shows these series with its own; this module reads no clock.  A worker's label is its slot,
so there are as many as ``--workers`` says, however often they are replaced.
"""

from collections.abc import Callable, Iterable, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ingress.metrics.series.process import resident_bytes
from ingress.model.observability.workers import WorkerEnd, WorkerStage, WorkerState

_LABELS = ("worker",)


def _nobody() -> int | None:
    return None


def _none() -> Sequence[WorkerState]:
    return ()


class WorkerMetrics:
    """Shows what *states* returns; whoever has workers sets it."""

    def __init__(self) -> None:
        self.states: Callable[[], Sequence[WorkerState]] = _none
        self.fork_server: Callable[[], int | None] = _nobody
        """Returns the process id of who forks them; None where there is nobody."""

    def families(self) -> Iterable[Metric]:
        """Yield the series; none where one process serves by itself."""
        states = self.states()
        if not states:
            return
        yield _gauge(
            "ingress_worker_up",
            "1 for a worker that serves, 0 for one that does not.",
            ((state, int(state.stage is WorkerStage.SERVING)) for state in states),
        )
        starts = CounterMetricFamily(
            "ingress_worker_starts", "Times that a worker was started.", labels=_LABELS
        )
        ends = CounterMetricFamily(
            "ingress_worker_ends", "Times that a worker ended, by cause.", labels=(*_LABELS, "cause")
        )
        for state in states:
            starts.add_metric((str(state.slot),), state.starts)
            for cause in WorkerEnd:
                ends.add_metric((str(state.slot), cause.value), state.ends.get(cause, 0))
        yield starts
        yield ends
        yield _gauge(
            "ingress_worker_connections",
            "Downstream connections open now, by worker.",
            ((state, state.connections) for state in states),
        )
        yield _gauge(
            "ingress_worker_lateness_seconds",
            "By how much the worker's reactor came late to what was due.",
            ((state, state.lateness_seconds) for state in states),
        )
        yield _gauge(
            "ingress_worker_snapshot",
            "The number of the snapshot that the worker has in force; 0 before the first.",
            ((state, state.snapshot) for state in states),
        )
        yield _gauge(
            "ingress_worker_behind_seconds",
            "Seconds for which there has been a newer snapshot than that; 0 while there is none.",
            ((state, state.behind_seconds) for state in states),
        )
        pid = self.fork_server()
        resident = None if pid is None else resident_bytes(pid)
        if resident is not None:
            yield GaugeMetricFamily(
                "ingress_fork_server_resident_memory_bytes",
                "Resident memory of the process that forks workers, most of which they share with it.",
                value=resident,
            )


def _gauge(name: str, text: str, rows: Iterable[tuple[WorkerState, float]]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=_LABELS)
    for state, number in rows:
        family.add_metric((str(state.slot),), number)
    return family
