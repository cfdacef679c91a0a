"""The series about exchanges: by Ingress and class of status, with their bytes, and how long they took.

An Ingress has labels of its own only while the current snapshot holds it; what ends for any other (an old one whose
request outlived it, the controller's own default backend, no route at all) is counted under empty labels.  The
counters of an Ingress that left are dropped.

A worker knows no Ingresses but those of the routes that it has.  It counts for whichever it meets, hands that over by
``take``, and begins anew; its parent adds it up by ``add``, and judges which of them are still there.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Final, NamedTuple

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from ingress.metrics.text import in_parts
from ingress.model.objects import ObjectKey
from ingress.model.records import Record

DURATION_BUCKETS_SECONDS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    120.0,
)
"""Upper bounds; the last ones tell a time-out of 60 seconds, the default, from what an Ingress asks for beyond.  Prometheus' own defaults begin at 5 ms; a proxy near its pods is often quicker."""

STATUS_CLASSES = ("none", "1xx", "2xx", "3xx", "4xx", "5xx")
"""Values of the ``status`` label; ``none`` is an exchange that ended before any status was sent."""

_NO_INGRESS: Final = ObjectKey("", "")


class _Every:
    """Holds whatever it is asked about."""

    def __contains__(self, value: object) -> bool:
        return True


class IngressExchanges(NamedTuple):
    """What was counted of one Ingress, or under empty labels."""

    namespace: str
    ingress: str
    by_class: Sequence[int]
    """A number for each of ``STATUS_CLASSES``."""
    bytes_sent: int


class _IngressCounts:
    """The counters of one pair of ``namespace`` and ``ingress`` labels."""

    __slots__ = ("by_class", "bytes_sent", "ingress")

    def __init__(self, ingress: ObjectKey) -> None:
        self.ingress = ingress
        self.by_class = [0] * len(STATUS_CLASSES)
        self.bytes_sent = 0


class ExchangeMetrics:
    """Counters, and a histogram of seconds."""

    def __init__(self) -> None:
        self._ingresses: Container[ObjectKey] = frozenset()
        self._begin()
        # One more than there are bounds: the last counts what is slower than all of them.
        self._durations = [0] * (len(DURATION_BUCKETS_SECONDS) + 1)
        self._seconds = 0.0

    def _begin(self) -> None:
        self._unattributed = _IngressCounts(_NO_INGRESS)
        self._by_ingress: dict[ObjectKey, _IngressCounts] = {}
        self._shown = [self._unattributed]
        """All of them in the order in which they came.  It grows, and gives way to another when some go, so
        that pages can be made of it without a copy, of which the collector would look at every part."""

    def ended(self, record: Record) -> None:
        """Count an exchange, whatever became of it."""
        counts = self._unattributed
        owner, status, seconds = record.owner, record.status, record.seconds
        if owner is not None:
            known = self._by_ingress.get(owner)
            if known is not None:
                counts = known
            elif owner in self._ingresses:
                counts = self._by_ingress[owner] = _IngressCounts(owner)
                self._shown.append(counts)
        counts.by_class[status // 100 if 100 <= status < 600 else 0] += 1
        counts.bytes_sent += record.bytes_sent
        self._durations[bisect_left(DURATION_BUCKETS_SECONDS, seconds)] += 1
        self._seconds += seconds

    def follow(self, ingresses: Iterable[ObjectKey]) -> None:
        """Show series of *ingresses* alone.

        A caller that hands over the same frozenset again, because the routes are the same, pays nothing for it.
        """
        known = frozenset(ingresses)
        if known is not self._ingresses:
            self._ingresses = known
            self._by_ingress = {
                ingress: counts for ingress, counts in self._by_ingress.items() if ingress in known
            }
            self._shown = [self._unattributed, *self._by_ingress.values()]

    def follow_every(self) -> None:
        """Count for whichever Ingress an exchange is of; somebody is to ``take`` that again and again."""
        self._ingresses = _Every()

    def take(self) -> Iterator[IngressExchanges]:
        """Return what was counted of Ingresses since this was last called; the histogram goes on."""
        shown = self._shown
        self._begin()
        return (
            IngressExchanges(one.ingress.namespace, one.ingress.name, one.by_class, one.bytes_sent)
            for one in shown
            if any(one.by_class)
        )

    def add(self, counted: IngressExchanges) -> None:
        """Add what a worker counted."""
        owner = ObjectKey(counted.namespace, counted.ingress)
        counts = self._by_ingress.get(owner, self._unattributed)
        if counts is self._unattributed and owner in self._ingresses:
            counts = self._by_ingress[owner] = _IngressCounts(owner)
            self._shown.append(counts)
        by_class = counts.by_class
        for place, count in enumerate(counted.by_class):
            by_class[place] += count
        counts.bytes_sent += counted.bytes_sent

    def by_ingress(self) -> Iterable[Metric]:
        """Yield the series by Ingress, in parts."""
        shown = self._shown
        yield from in_parts(
            partial(
                CounterMetricFamily,
                "ingress_requests",
                "Exchanges ended, by Ingress and class of the status sent downstream; "
                "empty labels: no Ingress of the current snapshot.",
                labels=("namespace", "ingress", "status"),
            ),
            (
                ((counts.ingress.namespace, counts.ingress.name, status_class), count)
                for counts in shown
                for status_class, count in zip(STATUS_CLASSES, counts.by_class, strict=True)
                if count
            ),
        )
        yield from in_parts(
            partial(
                CounterMetricFamily,
                "ingress_response_body_bytes",
                "Bytes of response bodies sent downstream, by Ingress.",
                labels=("namespace", "ingress"),
            ),
            (((counts.ingress.namespace, counts.ingress.name), counts.bytes_sent) for counts in shown),
        )

    def durations(self) -> Metric:
        """Return the histogram, all its numbers of one moment."""
        bounds = [*map(str, DURATION_BUCKETS_SECONDS), "+Inf"]
        return HistogramMetricFamily(
            "ingress_request_duration_seconds",
            "Seconds from the head of a request to the last byte of its response.",
            buckets=list(zip(bounds, accumulate(self._durations), strict=True)),
            sum_value=self._seconds,
        )
