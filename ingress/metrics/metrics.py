"""The series of one process: what is counted, and how it is shown to Prometheus.

The hot-path methods of ``Metrics`` are a few integer and dictionary operations,
called in the reactor thread only; there are no locks, and prometheus_client sees
the numbers only when somebody asks for them (``pieces``).  This module knows no
HTTP and reads no clock.

How many series there can be is bounded.  An Ingress has labels of its own only
while the current snapshot holds it; what ends for any other (an old one whose
request outlived it, the controller's own default backend, no route at all) is
counted under empty labels.  The counters of an Ingress that left are dropped.

``docs/metrics.md`` lists every series; a test keeps it in step.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate, chain

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from ingress.metrics.certificates import CertificateMetrics
from ingress.metrics.connections import ConnectionMetrics
from ingress.metrics.filters import FilterMetrics
from ingress.metrics.http2 import Http2Metrics
from ingress.metrics.process import ProcessMetrics
from ingress.metrics.status import StatusMetrics
from ingress.metrics.sub_requests import SubRequestMetrics
from ingress.metrics.text import as_text, in_parts
from ingress.metrics.watch import WatchMetrics
from ingress.model.objects import ObjectKey
from ingress.model.problems import Reason
from ingress.model.records import Record

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""The media type of what ``Metrics.pieces`` are put together."""

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

_NO_INGRESS = ObjectKey("", "")
_TLS_LABELS = (("false", False), ("true", True))


def _none() -> int:
    return 0


class _IngressCounts:
    """The counters of one pair of ``namespace`` and ``ingress`` labels."""

    __slots__ = ("by_class", "bytes_sent", "ingress")

    def __init__(self, ingress: ObjectKey) -> None:
        self.ingress = ingress
        self.by_class = [0] * len(STATUS_CLASSES)
        self.bytes_sent = 0


class Metrics:
    """Counters and gauges of one process.  Every method belongs to the reactor thread."""

    def __init__(self) -> None:
        self._accepted = {False: 0, True: 0}
        self._open = {False: 0, True: 0}
        self._ingresses: frozenset[ObjectKey] = frozenset()
        self._unattributed = _IngressCounts(_NO_INGRESS)
        self._by_ingress: dict[ObjectKey, _IngressCounts] = {}
        self._shown = [self._unattributed]
        """All of them in the order in which they came.  It grows, and gives way to another when some go, so
        that pages can be made of it without a copy, of which the collector would look at every part."""
        # One more than there are bounds: the last counts what is slower than all of them.
        self._durations = [0] * (len(DURATION_BUCKETS_SECONDS) + 1)
        self._seconds = 0.0
        self._upstream_opened = 0
        self._upstream_open = 0
        self._upstream_failed = 0
        self._attempts_repeated = 0
        self._endpoints_ejected = 0
        self._endpoints_out = 0
        self._access_lines_dropped = 0
        self.log_lines_dropped: Callable[[], int] = _none
        """How many lines of the log could not be written."""
        self._routes = 0
        self._certificates = 0
        self._problems: Mapping[Reason, int] = {}
        self._snapshots = 0
        self._snapshot_seconds = 0.0
        self._translations_failed = 0
        self.certificates = CertificateMetrics()
        """Until when each certificate is good."""
        self.connections = ConnectionMetrics()
        """What connections without exchanges count."""
        self.http2 = Http2Metrics()
        """What connections with streams count."""
        self.sub_requests = SubRequestMetrics()
        """What filters ask of other services."""
        self.filters = FilterMetrics()
        """What filters count."""
        self.watch = WatchMetrics()
        """What reading the API server counts."""
        self.status = StatusMetrics()
        """What reporting back to the cluster counts."""
        self._process = ProcessMetrics()
        self._interpreter = CollectorRegistry()
        PlatformCollector(registry=self._interpreter)
        GCCollector(registry=self._interpreter)

    def downstream_opened(self, secure: bool) -> None:
        """Count a connection that was accepted; *secure* says that it is TLS."""
        self._accepted[secure] += 1
        self._open[secure] += 1

    def downstream_closed(self, secure: bool) -> None:
        """Count the end of a connection that ``downstream_opened`` counted."""
        self._open[secure] -= 1

    def exchange_ended(self, record: Record) -> None:
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

    def upstream_opened(self) -> None:
        """Count a connection to an endpoint that was established."""
        self._upstream_opened += 1
        self._upstream_open += 1

    def upstream_closed(self) -> None:
        """Count the end of a connection that ``upstream_opened`` counted."""
        self._upstream_open -= 1

    def upstream_failed(self) -> None:
        """Count an attempt that an endpoint failed: refused, reset, timed out, bad answer."""
        self._upstream_failed += 1

    def attempt_repeated(self) -> None:
        """Count an attempt after the first one of its exchange."""
        self._attempts_repeated += 1

    def endpoint_ejected(self) -> None:
        """Count an endpoint that gets no requests for a while, since it could not be connected to."""
        self._endpoints_ejected += 1

    def endpoints_out(self, change: int) -> None:
        """Note that there are so many more ejected endpoints, or fewer."""
        self._endpoints_out += change

    def access_lines_dropped(self, count: int) -> None:
        """Count lines of the access log that could not be written."""
        self._access_lines_dropped += count

    def snapshot_published(
        self,
        routes: int,
        certificates: int,
        problems: Mapping[Reason, int],
        seconds: float,
        ingresses: Iterable[ObjectKey] = (),
    ) -> None:
        """Note what the current snapshot holds and the *seconds* that making it took.

        *ingresses* are those with a route in it.  A caller that hands over the same
        frozenset again, because the routes are the same, pays nothing for it.
        """
        self._routes = routes
        self._certificates = certificates
        self._problems = problems
        self._snapshots += 1
        self._snapshot_seconds += seconds
        if ingresses is not self._ingresses:
            self._ingresses = frozenset(ingresses)
            self._by_ingress = {
                ingress: counts for ingress, counts in self._by_ingress.items() if ingress in self._ingresses
            }
            self._shown = [self._unattributed, *self._by_ingress.values()]

    def translation_failed(self) -> None:
        """Count a translation that a bug of ours ended; the last snapshot stays in force."""
        self._translations_failed += 1

    def pieces(self) -> Iterator[str]:
        """Yield all series in the Prometheus text format (media type ``CONTENT_TYPE``), in small pieces.

        A number is read when its piece is made, all numbers of a histogram at the same time.
        An Ingress that gets its first request meanwhile is shown, too; one that goes is shown until the end.
        """
        return as_text(chain(self.families(), self._process.families(), self._interpreter.collect()))

    def render(self) -> bytes:
        """Return all of it at once."""
        return "".join(self.pieces()).encode()

    def families(self) -> Iterable[Metric]:
        """Yield this program's own series, with the process, platform and GC ones left out."""
        yield from self._downstream_families()
        yield from self._exchange_families()
        yield from self._upstream_families()
        yield from self._snapshot_families()
        yield from self.certificates.families()
        yield from self.connections.families()
        yield from self.http2.families()
        yield from self.sub_requests.families()
        yield from self.filters.families()
        yield from self.watch.families()
        yield from self.status.families()

    def _downstream_families(self) -> Iterable[Metric]:
        accepted = CounterMetricFamily(
            "ingress_downstream_connections_accepted",
            "Connections accepted, by whether they are TLS.",
            labels=("tls",),
        )
        still_open = GaugeMetricFamily(
            "ingress_downstream_connections",
            "Connections open now, by whether they are TLS.",
            labels=("tls",),
        )
        for label, secure in _TLS_LABELS:
            accepted.add_metric((label,), self._accepted[secure])
            still_open.add_metric((label,), self._open[secure])
        yield accepted
        yield still_open
        yield CounterMetricFamily(
            "ingress_access_lines_dropped",
            "Lines of the access log that could not be written.",
            value=self._access_lines_dropped,
        )
        yield CounterMetricFamily(
            "ingress_log_lines_dropped",
            "Lines of the log, apart from the access log, that could not be written.",
            value=self.log_lines_dropped(),
        )

    def _exchange_families(self) -> Iterable[Metric]:
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
        bounds = [*map(str, DURATION_BUCKETS_SECONDS), "+Inf"]
        yield HistogramMetricFamily(
            "ingress_request_duration_seconds",
            "Seconds from the head of a request to the last byte of its response.",
            buckets=list(zip(bounds, accumulate(self._durations), strict=True)),
            sum_value=self._seconds,
        )

    def _upstream_families(self) -> Iterable[Metric]:
        yield CounterMetricFamily(
            "ingress_upstream_connections_opened",
            "Connections to endpoints established.",
            value=self._upstream_opened,
        )
        yield GaugeMetricFamily(
            "ingress_upstream_connections",
            "Connections to endpoints open now, idle ones included.",
            value=self._upstream_open,
        )
        yield CounterMetricFamily(
            "ingress_upstream_failures",
            "Attempts that an endpoint failed: refused, reset, timed out, bad answer.",
            value=self._upstream_failed,
        )
        yield CounterMetricFamily(
            "ingress_attempts_repeated",
            "Attempts after the first one of their exchange.",
            value=self._attempts_repeated,
        )
        yield CounterMetricFamily(
            "ingress_endpoint_ejections",
            "Times that an endpoint was taken out of rotation, since connections to it failed.",
            value=self._endpoints_ejected,
        )
        yield GaugeMetricFamily(
            "ingress_endpoints_ejected",
            "Endpoints out of rotation now.",
            value=self._endpoints_out,
        )

    def _snapshot_families(self) -> Iterable[Metric]:
        yield GaugeMetricFamily("ingress_routes", "Routes of the current snapshot.", value=self._routes)
        yield GaugeMetricFamily(
            "ingress_certificates", "Certificates of the current snapshot.", value=self._certificates
        )
        problems = GaugeMetricFamily(
            "ingress_problems", "Problems of the current snapshot, by reason.", labels=("reason",)
        )
        for reason in Reason:
            problems.add_metric((reason.value,), self._problems.get(reason, 0))
        yield problems
        yield SummaryMetricFamily(
            "ingress_snapshot_seconds",
            "Snapshots published, and the seconds spent making them.",
            count_value=self._snapshots,
            sum_value=self._snapshot_seconds,
        )
        yield CounterMetricFamily(
            "ingress_translations_failed",
            "Translations that a bug ended; the last snapshot stayed in force.",
            value=self._translations_failed,
        )
