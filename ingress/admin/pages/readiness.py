"""Whether enough workers serve for load balancers to send connections.  Pure.

At the start all of them have to: a process of which a worker cannot start is not to take the place of one that works.
Later one that serves the current state is enough: it takes the connections of all, and the others are being replaced.
"""

from collections.abc import Sequence
from typing import Final

from ingress.model.observability.workers import WorkerStage, WorkerState

STALE_SECONDS: Final = 10.0
"""Who has had an old snapshot in force for so long does not serve the current state: endpoints in it may be gone."""


def workers_missing(workers: Sequence[WorkerState]) -> tuple[str, ...]:
    """Say of each worker that does not serve the current state what it does instead."""
    return tuple(said for worker in workers if (said := _said(worker)))


def is_enough(workers: Sequence[WorkerState], have_all_served: bool) -> bool:
    """Whether *workers* are enough to be ready; of no workers at all this process serves by itself.

    *have_all_served* says that there was a moment at which all of them did.
    """
    missing = len(workers_missing(workers))
    return not missing or (have_all_served and missing < len(workers))


def _said(worker: WorkerState) -> str:
    name = f"worker {worker.slot}"
    if worker.stage is WorkerStage.ENDED:
        return f"{name} {worker.last_end or 'has not begun'}"
    if worker.stage is not WorkerStage.SERVING:
        return f"{name} is {worker.stage.value}"
    if worker.behind_seconds > STALE_SECONDS:
        return f"{name} has been without the current snapshot for {worker.behind_seconds:.0f} s"
    return ""
