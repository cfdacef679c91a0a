"""Workers: processes that serve beside each other; none where one process serves by itself."""

from collections.abc import Iterable
from typing import Final

from ingress.admin.contract.listing import Listing, Position
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import listing_rows
from ingress.admin.contract.schemas import (
    Schema,
    fields_of,
    moment,
    number,
    numbers_by,
    one_of,
    or_null,
    text,
    whole_number,
)
from ingress.model.observability.workers import WorkerEnd, WorkerStage, WorkerState
from ingress.process.timestamps import rfc3339

WORKER: Final[Schema] = fields_of(
    {
        "slot": whole_number("Which one it is, from 0 on."),
        "pid": or_null(whole_number("Its process id; null where there is no worker at the moment.")),
        "state": one_of([stage.value for stage in WorkerStage], "Where its life is."),
        "since": moment("When that began."),
        "connections": whole_number("Those of clients that are open."),
        "latenessSeconds": number("By how much its reactor came late to what was due."),
        "snapshot": whole_number("The number of the snapshot in force."),
        "behindSeconds": number("For how long there has been a newer one."),
        "starts": whole_number("How many workers the slot has had."),
        "ends": numbers_by([end.value for end in WorkerEnd], "How many of them ended, by cause."),
        "lastEnd": text("What ended the last one; empty before any ended."),
    }
)


def _entries(asked: PageRequest) -> Iterable[WorkerState]:
    return asked.sources.workers.states()


def _position(worker: WorkerState) -> Position:
    return (worker.slot,)


def _as_data(worker: WorkerState, asked: PageRequest) -> dict[str, object]:
    return worker_as_data(worker)


def worker_as_data(worker: WorkerState) -> dict[str, object]:
    """Return *worker* as JSON has it."""
    return {
        "slot": worker.slot,
        "pid": worker.pid,
        "state": worker.stage.value,
        "since": rfc3339(worker.since),
        "connections": worker.connections,
        "latenessSeconds": worker.lateness_seconds,
        "snapshot": worker.snapshot,
        "behindSeconds": worker.behind_seconds,
        "starts": worker.starts,
        "ends": {cause.value: worker.ends.get(cause, 0) for cause in WorkerEnd},
        "lastEnd": worker.last_end,
    }


WORKERS: Final = Listing("workers", (int,), _entries, _position, _as_data, is_of_snapshot=False)
"""Sorted by slot."""

ROWS: Final = listing_rows(
    WORKERS, "processes that serve beside each other, and how they are", WORKER, has_alias=True
)
