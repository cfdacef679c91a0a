"""What a worker does for the metrics of all: it takes tallies of what it counts.

Small series are looked at as a whole, and those that are as they were before are left out.  Of Ingresses and filters only those
have rows that something happened to.  Of exchanges that can be found again the newest are told.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar

from prometheus_client.core import Metric

from ingress.metrics.exchanges.exchange_rows import RowNews
from ingress.metrics.metrics import Metrics
from ingress.metrics.totals.tallies import COUNTS, ROWS, Series, Tally, tally_to_bytes

T = TypeVar("T")


class Tallying:
    """Takes tallies of *metrics*, which nobody shows any more; what each process has for itself counts from now on."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._told: dict[Series, float] = {}
        metrics.exchanges.follow_every()
        # The interpreter's counters of a process that was forked go on where its parent's were.
        for family in metrics.own_families():
            if family is not None and family.type != "gauge":
                self._news(family)

    def take(self, with_own: bool) -> Iterator[bytes]:
        """Yield tallies of what was counted since the last call, each of a moment's work, and empty bytes for a moment without one.

        All have to be sent.  What each process has for itself is looked at *with_own* alone, since counting descriptors may
        take long.
        """
        summed = [row for family in self._metrics.serving_families() for row in self._news(family)]
        if summed:
            yield tally_to_bytes(Tally(summed=summed))
        exchanges = self._metrics.exchanges
        for rows in _some_rows(exchanges.take()):
            yield tally_to_bytes(Tally(exchanges=rows))
        examples = [
            (is_upstream, bucket, one)
            for is_upstream, some in ((False, exchanges.examples), (True, exchanges.upstream_examples))
            for bucket, one in some.take()
        ]
        if examples:
            yield tally_to_bytes(Tally(examples=examples))
        filters = self._metrics.filters
        for events in _some(filters.take_events()):
            yield tally_to_bytes(Tally(events=events))
        for failures in _some(filters.take_failures()):
            yield tally_to_bytes(Tally(failures=failures))
        if with_own:
            yield from self._own()

    def _own(self) -> Iterator[bytes]:
        rows: list[tuple[Series, float]] = []
        for family in self._metrics.own_families():
            if family is None:
                yield b""
            else:
                rows += self._news(family)
        if rows:
            yield tally_to_bytes(Tally(own=rows))

    def _news(self, family: Metric) -> list[tuple[Series, float]]:
        """Return what of *family* is not as it was told last; of a counter what was added, which is never less than nothing."""
        is_gauge = family.type == "gauge"
        news = []
        for sample in family.samples:
            series = Series(sample.name, tuple(sample.labels.values()))
            before, now = self._told.get(series, 0), sample.value
            if now == before:
                continue
            self._told[series] = now
            if is_gauge:
                news.append((series, now))
            elif now > before:
                news.append((series, now - before))
        return news


def _some_rows(rows: Iterator[RowNews]) -> Iterator[Sequence[RowNews]]:
    some: list[RowNews] = []
    counts = 0
    for row in rows:
        some.append(row)
        counts += len(row.counts)
        if len(some) == ROWS or counts > COUNTS:
            yield some
            some, counts = [], 0
    if some:
        yield some


def _some(rows: Iterator[T]) -> Iterator[Sequence[T]]:
    while some := list(islice(rows, ROWS)):
        yield some
