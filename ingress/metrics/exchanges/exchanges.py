"""What exchanges count: by Ingress and Service, and of the whole house.

A row has labels of its own only while the current snapshot holds its Ingress, and a Service is named only while a route of
the snapshot leads there; what ends for any other Ingress (an old one whose request outlived it, the controller's own default
backend, no route at all) is counted under empty labels.  The rows of an Ingress or a Service that left are dropped.  There are
never more than ``MOST_ROWS``: what belongs in none of these is counted under empty labels, too, and how often that happens is counted.

A worker knows no Ingresses but those of the routes that it has.  It counts for whichever it meets, hands that over by
``take``, and begins anew; its parent adds it up by ``add``, and judges which of them are still there.
"""

from bisect import bisect_left
from collections.abc import Container, Iterator
from typing import Final

from mypy_extensions import mypyc_attr

from ingress.metrics.exchanges.examples import Examples
from ingress.metrics.exchanges.exchange_rows import (
    CAUSES,
    FAILED,
    NO_LABELS,
    PLACE_OF_CAUSE,
    TOOK,
    UPSTREAM_TOOK,
    Labels,
    Row,
    RowNews,
)
from ingress.metrics.exchanges.histograms import BOUNDS, BUCKETS
from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.records import AttemptRecord, Record
from ingress.model.stepwise import Stepwise
from ingress.model.upstream.backends import BackendReference

MOST_ROWS: Final = 20_000
"""Pairs of Ingress and Service that have labels of their own."""
_SERVICE: Final = "Service"
_SHORTEST: Final = BOUNDS[0]
"""Most requests to pods nearby take no longer, and need no search."""
_AT_ONCE: Final = 32
"""Rows that are looked at in a step."""


class _Every:
    """Holds whatever it is asked about."""

    def __contains__(self, value: object) -> bool:
        return True


@mypyc_attr(allow_interpreted_subclasses=True)
class ExchangeMetrics:
    """Rows of counters, and one of all exchanges together."""

    def __init__(self) -> None:
        self._ingresses: Container[ObjectKey] = frozenset()
        self._services: Container[ObjectKey] = frozenset()
        # Of the whole house, Ingresses that are gone included.
        self.durations = [0] * BUCKETS
        """The histogram of how long exchanges took; its sum is how many there were."""
        self.seconds = 0.0
        """That they took, all together."""
        self.upstream_durations = [0] * BUCKETS
        """The histogram of how long their attempts took, of those that had any."""
        self.upstream_seconds = 0.0
        self.failures = [0] * len(CAUSES)
        """How many failed, for each of ``CAUSES``."""
        self.has_to_drop = False
        """Whether there may be rows of Ingresses and Services that left."""
        self.unlabeled = 0
        """Exchanges that are counted under empty labels for want of room."""
        self.examples = Examples(BUCKETS, of_upstream=False)
        """Of how long they took."""
        self.upstream_examples = Examples(BUCKETS, of_upstream=True)
        """Of how long their attempts took."""
        self._begin()

    def _begin(self) -> None:
        self._no_labels = Row(NO_LABELS)
        self._of_labels: dict[Labels, Row] = {}
        self._found: dict[tuple[ObjectKey, str, str], Row] = {}
        """In which row an exchange is counted, by its owner, and namespace and name of its backend."""
        self.rows = [self._no_labels]
        """All of them in the order in which they came, that of empty labels first.  It grows, and gives way to another when some go, so
        that pages can be made of it without a copy, of which the collector would look at every part."""

    # What happens for each exchange

    def ended(self, record: Record) -> None:
        """Count an exchange, whatever became of it."""
        owner, backend, seconds, attempts = record.owner, record.backend, record.seconds, record.attempts
        row = self._no_labels
        if owner is not None and backend is not None:
            row = self._found.get((owner, backend[0], backend[1])) or self._find(owner, backend)
        counts = row.counts
        bucket = 0 if seconds <= _SHORTEST else bisect_left(BOUNDS, seconds)
        status = record.status
        counts[status // 100 if 100 <= status < 600 else 0] += 1
        counts[TOOK + bucket] += 1
        self.durations[bucket] += 1
        row.seconds += seconds
        self.seconds += seconds
        row.bytes_sent += record.bytes_sent
        if record.bytes_received:
            row.bytes_received += record.bytes_received
        cause = record.cause
        if cause is not None:
            place = PLACE_OF_CAUSE[cause]
            counts[place] += 1
            self.failures[place - FAILED] += 1
        request, trace = record.id, record.trace
        of_all, of_upstream = self.examples.untraced, self.upstream_examples.untraced
        if trace is not None and trace.is_sampled:
            of_all, of_upstream = self.examples.traced, self.upstream_examples.traced
        if not attempts:
            of_all[bucket] = trace, request, seconds, 0.0
            return
        upstream_seconds = attempts[0].over - attempts[0].began if len(attempts) == 1 else _sum_of(attempts)
        upstream_bucket = 0 if upstream_seconds <= _SHORTEST else bisect_left(BOUNDS, upstream_seconds)
        counts[UPSTREAM_TOOK + upstream_bucket] += 1
        self.upstream_durations[upstream_bucket] += 1
        row.upstream_seconds += upstream_seconds
        self.upstream_seconds += upstream_seconds
        of_all[bucket] = of_upstream[upstream_bucket] = trace, request, seconds, upstream_seconds

    def _find(self, owner: ObjectKey, backend: BackendReference) -> Row:
        """Return the row of *owner* and *backend*, which begins with the first exchange."""
        row = self._row_of(_labels_of(owner, backend))
        if row is not self._no_labels:
            self._found[owner, backend.namespace, backend.name] = row
        return row

    def _row_of(self, labels: Labels, exchanges: int = 1) -> Row:
        """Return the row that *exchanges* of *labels* are counted in."""
        labels = self._judged(labels)
        row = self._no_labels if labels == NO_LABELS else self._of_labels.get(labels)
        if row is None and len(self._of_labels) < MOST_ROWS:
            row = self._of_labels[labels] = Row(labels)
            self.rows.append(row)
        if row is None:
            self.unlabeled += exchanges
            row = self._no_labels
        return row

    def _judged(self, labels: Labels) -> Labels:
        """Return *labels* without what is not in the current snapshot."""
        # Tuples are equal to the keys that they are compared with, and cost a tenth of them.
        if labels[:2] not in self._ingresses:
            return NO_LABELS
        if labels.service and _service_of(labels) not in self._services:
            return labels._replace(service="")
        return labels

    # What there is

    def follow(self, ingresses: Container[ObjectKey], services: Container[ObjectKey]) -> None:
        """Count in rows of *ingresses* alone, and name *services* alone; rows of others are to be dropped by ``drop``.

        A caller that hands over the same two sets again, because the routes are the same, pays nothing for it.
        """
        if ingresses is self._ingresses and services is self._services:
            return
        self._ingresses, self._services = ingresses, services
        self.has_to_drop = len(self.rows) > 1
        # Whoever is asked for next is judged anew.
        self._found = {}

    def drop(self) -> Stepwise[None]:
        """Drop the rows of Ingresses and Services that left, some a step; they are shown until it is their turn."""
        stay = [self._no_labels]
        rows, place = self.rows, 1
        while place < len(rows):
            some = rows[place : place + _AT_ONCE]
            place += len(some)
            for row in some:
                if row.is_gone:
                    continue
                if self._judged(row.labels) is row.labels:
                    stay.append(row)
                else:
                    row.leave()
                    del self._of_labels[row.labels]
            yield
        self.rows = stay
        self.has_to_drop = False

    def follow_every(self) -> None:
        """Count for whichever Ingress an exchange is of; somebody is to ``take`` that again and again."""
        self._ingresses = self._services = _Every()

    # What workers count

    def take(self) -> Iterator[RowNews]:
        """Return what was counted since this was last called."""
        rows = self.rows
        self._begin()
        return _news_of(rows)

    def add(self, told: RowNews) -> None:
        """Add what a worker counted."""
        self._row_of(told.labels, told.requests).add(told)
        for place, count in told.counts:
            if place >= UPSTREAM_TOOK:
                self.upstream_durations[place - UPSTREAM_TOOK] += count
            elif place >= TOOK:
                self.durations[place - TOOK] += count
            elif place >= FAILED:
                self.failures[place - FAILED] += count
        self.seconds += told.seconds
        self.upstream_seconds += told.upstream_seconds


def _news_of(rows: list[Row]) -> Iterator[RowNews]:
    # No expression, which compiled code makes a list of, and that at once.
    for row in rows:
        if any(row.counts):
            yield row.news()


def _labels_of(owner: ObjectKey, backend: BackendReference) -> Labels:
    service = "" if backend.kind != _SERVICE else backend.name
    if service and backend.namespace != owner.namespace:
        service = f"{backend.namespace}/{service}"
    return Labels(owner.namespace, owner.name, service)


def _service_of(labels: Labels) -> tuple[str, str]:
    namespace, slash, name = labels.service.rpartition("/")
    return namespace if slash else labels.namespace, name


def _sum_of(attempts: tuple[AttemptRecord, ...]) -> float:
    return sum(each.over - each.began for each in attempts)
