"""The series about exchanges, in parts: a row of ten thousand is shown in a turn of its own, if need be."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from ingress.metrics.exchanges.exchange_rows import CAUSES, STATUS_CLASSES, TOOK, UPSTREAM_TOOK, Row
from ingress.metrics.exchanges.exchanges import ExchangeMetrics
from ingress.metrics.exchanges.histograms import BUCKETS, buckets_of, family_of
from ingress.metrics.text import in_parts

_LABELS = ("namespace", "ingress", "service")


class ExchangeFamilies:
    """Shows what *exchanges* counted; with *shows_durations*, two histograms of each row, too."""

    def __init__(self, exchanges: ExchangeMetrics, shows_durations: bool = False) -> None:
        self._exchanges = exchanges
        self._shows_durations = shows_durations

    def families(self) -> Iterator[Metric]:
        """Yield the series."""
        yield from self._counted(
            "ingress_requests",
            "Exchanges ended, by Ingress, Service and class of the status sent downstream; "
            "empty labels: no Ingress of the current snapshot.",
            "status",
            lambda row: zip(STATUS_CLASSES, row.by_class, strict=True),
        )
        yield from self._counted(
            "ingress_failures",
            "Exchanges that failed, by Ingress, Service and whose failure it was.",
            "cause",
            lambda row: zip((cause.value for cause in CAUSES), row.by_cause, strict=True),
        )
        yield from self._summed(
            "ingress_response_body_bytes",
            "Bytes of response bodies sent downstream, by Ingress and Service.",
            lambda row: row.bytes_sent,
        )
        yield from self._summed(
            "ingress_request_body_bytes",
            "Bytes of request bodies received from downstream, by Ingress and Service.",
            lambda row: row.bytes_received,
        )
        yield from self._summed(
            "ingress_request_seconds",
            "Seconds from heads of requests to the last bytes of their responses, by Ingress and Service.",
            lambda row: row.seconds,
        )
        yield from self._summed(
            "ingress_upstream_seconds",
            "Seconds that attempts at endpoints took, by Ingress and Service.",
            lambda row: row.upstream_seconds,
        )
        exchanges = self._exchanges
        yield family_of(
            "ingress_request_duration_seconds",
            "Seconds from the head of a request to the last byte of its response.",
            exchanges.durations,
            exchanges.seconds,
            exchanges.examples.shown(),
        )
        yield family_of(
            "ingress_upstream_duration_seconds",
            "Seconds that the attempts at endpoints of a request took, of requests that had any.",
            exchanges.upstream_durations,
            exchanges.upstream_seconds,
            exchanges.upstream_examples.shown(),
        )
        if self._shows_durations:
            yield from self._durations(
                "ingress_request_duration_by_service_seconds",
                "Seconds from the head of a request to the last byte of its response, by Ingress and Service.",
                TOOK,
                lambda row: row.seconds,
            )
            yield from self._durations(
                "ingress_upstream_duration_by_service_seconds",
                "Seconds that the attempts at endpoints of a request took, by Ingress and Service.",
                UPSTREAM_TOOK,
                lambda row: row.upstream_seconds,
            )

    def unlabeled(self) -> Metric:
        """Return the series about rows that there was no room for."""
        return CounterMetricFamily(
            "ingress_requests_unlabeled",
            "Exchanges counted under empty labels, since as many pairs of Ingress and Service as may have labels of their own.",
            value=self._exchanges.unlabeled,
        )

    def _counted(
        self, name: str, text: str, label: str, counts: Callable[[Row], Iterable[tuple[str, int]]]
    ) -> Iterator[Metric]:
        def rows() -> Iterator[tuple[tuple[str, ...], float] | None]:
            for row in self._exchanges.rows:
                is_empty = True
                for value, count in () if row.is_gone else counts(row):
                    if count:
                        yield (*row.labels, value), count
                        is_empty = False
                if is_empty:
                    yield None

        return in_parts(partial(CounterMetricFamily, name, text, labels=(*_LABELS, label)), rows())

    def _summed(self, name: str, text: str, value: Callable[[Row], float]) -> Iterator[Metric]:
        return in_parts(
            partial(CounterMetricFamily, name, text, labels=_LABELS),
            (None if row.is_gone else (row.labels, value(row)) for row in self._exchanges.rows),
        )

    def _durations(self, name: str, text: str, place: int, total: Callable[[Row], float]) -> Iterator[Metric]:
        for row in self._exchanges.rows:
            part = HistogramMetricFamily(name, text, labels=_LABELS)
            if not row.is_gone:
                part.add_metric(row.labels, buckets_of(row.counts[place : place + BUCKETS]), total(row))
            yield part
