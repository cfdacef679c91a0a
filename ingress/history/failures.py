"""Keeps the exchanges that failed, as far as there are not too many at once.

A listener of records.  What a flood of failures costs is bounded: so many a second are kept, and of one sort fewer, so that others are
seen beside it; the rest is counted.
"""

from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Final, Protocol

from ingress.model.exchanges.records import AttemptRecord, Record
from ingress.model.observability.changes_and_failures import (
    MOST_ATTEMPTS,
    FailedAttempt,
    Failure,
    shown,
    shown_octets,
)

MOST_A_SECOND: Final = 200
MOST_OF_A_SORT: Final = 50
"""How many are kept a second, and how many of them with the same route, cause and status."""


class Kept(Protocol):
    """Where they go: the ring of this process, or what tells another process."""

    left_out: int
    """How many were not kept."""

    def add(self, entry: Failure, /) -> object:
        """Keep one."""


class Failures:
    """Has what failed kept in *kept*.

    *seconds* returns those of a clock that nobody sets, *now* the time of day with its zone; *shows_queries* says whether
    ids, queries and clients of requests are kept, too.
    """

    def __init__(
        self,
        kept: Kept,
        seconds: Callable[[], float],
        now: Callable[[], datetime],
        *,
        shows_queries: bool = False,
    ) -> None:
        self._kept = kept
        self._seconds = seconds
        self._now = now
        self._shows_queries = shows_queries
        self._since = 0.0
        self._count = 0
        self._sorts: dict[Hashable, int] = {}

    def ended(self, record: Record) -> None:
        """Keep the failure that *record* is of, if it is one."""
        if record.cause is None:
            return
        now = self._seconds()
        if not 0 <= now - self._since < 1.0:
            self._since, self._count = now, 0
            self._sorts.clear()
        sort = record.owner, record.cause, record.status
        of_sort = self._sorts.get(sort, 0)
        if self._count >= MOST_A_SECOND or of_sort >= MOST_OF_A_SORT:
            self._kept.left_out += 1
            return
        self._count += 1
        self._sorts[sort] = of_sort + 1
        self._kept.add(failure_of(record, self._now(), shows_queries=self._shows_queries))


def failure_of(record: Record, at: datetime, *, shows_queries: bool = False) -> Failure:
    """Return the failure that *record* is of, which was over *at* that time."""
    assert record.cause is not None, "there is none without a cause"
    path, _, query = record.target.partition(b"?")
    kept = record.attempts[-MOST_ATTEMPTS:]
    return Failure(
        at,
        record.cause.value,
        record.status,
        shown(record.reason),
        shown_octets(record.method),
        shown_octets(record.host),
        shown_octets(path),
        record.seconds,
        "" if record.owner is None else shown(str(record.owner)),
        "" if record.backend is None else shown(str(record.backend)),
        shown(record.filter),
        tuple(map(_attempt, kept)),
        len(record.attempts) - len(kept),
        shown_octets(record.protocol),
        "" if record.trace is None else shown(record.trace.trace_id),
        id=shown_octets(record.id) if shows_queries else None,
        query=shown_octets(query) if shows_queries else None,
        client=shown_octets(record.client) if shows_queries else None,
    )


def _attempt(attempt: AttemptRecord) -> FailedAttempt:
    over = attempt.over if attempt.over >= 0 else attempt.ended
    return FailedAttempt(
        shown(str(attempt.endpoint)),
        shown(attempt.outcome),
        attempt.began,
        max(0.0, over - attempt.began),
        attempt.connected,
        attempt.is_reused,
    )
