"""Whether enough workers serve."""

from datetime import UTC, datetime

from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.pages.readiness import STALE_SECONDS, is_enough, workers_missing
from ingress.model.observability.workers import WorkerStage, WorkerState

THEN = datetime(2026, 11, 22, tzinfo=UTC)


def worker(
    slot: int, stage: WorkerStage = WorkerStage.SERVING, behind: float = 0.0, last_end: str = ""
) -> WorkerState:
    """A worker of which nothing else matters."""
    return WorkerState(slot, stage, THEN, behind_seconds=behind, last_end=last_end)


class ReadinessTests(SynchronousTestCase):
    """``workers_missing`` and ``is_enough``."""

    def test_by_itself(self) -> None:
        """A process that serves by itself misses no workers."""
        self.assertEqual(workers_missing(()), ())
        self.assertTrue(is_enough((), have_all_served=False))

    def test_all_serve(self) -> None:
        """Workers that serve are enough, also those that are behind for a moment."""
        workers = (worker(0), worker(1, behind=STALE_SECONDS / 2))
        self.assertEqual(workers_missing(workers), ())
        self.assertTrue(is_enough(workers, have_all_served=False))

    def test_start(self) -> None:
        """At the start all have to serve; later one is enough."""
        workers = (worker(0), worker(1), worker(2, WorkerStage.STARTING))
        self.assertEqual(workers_missing(workers), ("worker 2 is starting",))
        self.assertFalse(is_enough(workers, have_all_served=False))
        self.assertTrue(is_enough(workers, have_all_served=True))

    def test_none_left(self) -> None:
        """None at all is never enough, and each says why."""
        workers = (
            worker(0, WorkerStage.HUNG),
            worker(1, WorkerStage.ENDED, last_end="was killed by signal 9"),
            worker(2, WorkerStage.ENDED),
            worker(3, behind=31.4),
        )
        self.assertFalse(is_enough(workers, have_all_served=True))
        self.assertEqual(
            workers_missing(workers),
            (
                "worker 0 is hung",
                "worker 1 was killed by signal 9",
                "worker 2 has not begun",
                "worker 3 has been without the current snapshot for 31 s",
            ),
        )
