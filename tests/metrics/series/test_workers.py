"""The series about workers."""

from datetime import UTC, datetime
from functools import partial

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.workers import WorkerMetrics
from ingress.model.observability.workers import WorkerEnd, WorkerStage, WorkerState

THEN = datetime(2026, 11, 22, tzinfo=UTC)


class WorkerMetricsTests(SynchronousTestCase):
    """``WorkerMetrics``, sample by sample."""

    def setUp(self) -> None:
        self.metrics = WorkerMetrics()

    def samples(self) -> dict[tuple[str, ...], float]:
        """All samples by name and label values."""
        return {
            (sample.name.removeprefix("ingress_worker_"), *sample.labels.values()): sample.value
            for family in self.metrics.families()
            for sample in family.samples
        }

    def test_none(self) -> None:
        """Where one process serves by itself there is no such series."""
        self.assertEqual(list(self.metrics.families()), [])

    def test_two(self) -> None:
        """Each worker has its series, the label of its slot, and a number for each cause of an end."""
        self.metrics.states = lambda: [
            WorkerState(0, WorkerStage.SERVING, THEN, 41, 7, 0.002, 12, 0.0, 1),
            WorkerState(1, WorkerStage.ENDED, THEN, None, 0, 0.0, 0, 3.0, 4, {WorkerEnd.HUNG: 4}, "hung"),
        ]
        found = self.samples()
        self.assertEqual((found["up", "0"], found["up", "1"]), (1, 0))
        self.assertEqual((found["starts_total", "0"], found["starts_total", "1"]), (1, 4))
        self.assertEqual((found["ends_total", "1", "hung"], found["ends_total", "1", "killed"]), (4, 0))
        self.assertEqual((found["connections", "0"], found["lateness_seconds", "0"]), (7, 0.002))
        self.assertEqual((found["snapshot", "0"], found["behind_seconds", "1"]), (12, 3.0))

    def test_only_serving_is_up(self) -> None:
        """Of all stages only serving counts as up."""
        for stage in WorkerStage:
            states = (WorkerState(0, stage, THEN),)
            self.metrics.states = partial(tuple, states)
            self.assertEqual(self.samples()["up", "0"], int(stage is WorkerStage.SERVING))
