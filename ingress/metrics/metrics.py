"""The series of one process: what is counted, and how it is shown to Prometheus.

The hot-path methods of ``Metrics`` are a few integer and dictionary operations,
called in the reactor thread only; there are no locks, and prometheus_client sees
the numbers only when somebody asks for them (``pieces``).  This module knows no
HTTP and reads no clock.

How many series there can be is bounded: an Ingress and a Service have labels of their own only
while the current snapshot holds them (``exchanges``), a worker those of its slot.

``docs/metrics.md`` lists every series; a test keeps it in step.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ingress.metrics.exchanges.exchange_families import ExchangeFamilies
from ingress.metrics.exchanges.exchanges import ExchangeMetrics
from ingress.metrics.series.admin import AdminMetrics
from ingress.metrics.series.admission import AdmissionMetrics
from ingress.metrics.series.build import BuildMetrics
from ingress.metrics.series.certificates import CertificateMetrics
from ingress.metrics.series.connections import ConnectionMetrics
from ingress.metrics.series.endpoints import EndpointMetrics
from ingress.metrics.series.filters import FilterMetrics
from ingress.metrics.series.http2 import Http2Metrics
from ingress.metrics.series.memory import MemoryMetrics
from ingress.metrics.series.overload import OverloadMetrics
from ingress.metrics.series.process import ProcessMetrics
from ingress.metrics.series.reactor import ReactorMetrics
from ingress.metrics.series.snapshots import SnapshotMetrics
from ingress.metrics.series.status import StatusMetrics
from ingress.metrics.series.sub_requests import SubRequestMetrics
from ingress.metrics.series.tracing import TracingMetrics
from ingress.metrics.series.udp import UdpMetrics
from ingress.metrics.series.watch import WatchMetrics
from ingress.metrics.series.workers import WorkerMetrics
from ingress.metrics.text import PROMETHEUS, Format, as_text
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason

REPEAT_REASONS: Final = (
    "no-socket",
    "unreachable",
    "connect-timeout",
    "untaken",
    "stale",
    "dropped",
    "declined",
    "declined-at-once",
    "silent",
    "invalid",
    "late",
    "refused-status",
)
"""Why a request is sent again: the faults after which the proxy may make another attempt."""

_TLS_LABELS = (("false", False), ("true", True))


def _none() -> int:
    return 0


def _as_they_are(families: Iterable[Metric | None]) -> Iterable[Metric | None]:
    return families


class Metrics:
    """Counters and gauges of one process.  Every method belongs to the reactor thread."""

    def __init__(self) -> None:
        self._accepted = {False: 0, True: 0}
        self._open = {False: 0, True: 0}
        self._upstream_opened = 0
        self._upstream_open = 0
        self._upstream_failed = 0
        self._attempts_repeated = dict.fromkeys(REPEAT_REASONS, 0)
        self._access_lines_dropped = 0
        self.log_lines_dropped: Callable[[], int] = _none
        """How many lines of the log could not be written."""
        self.build = BuildMetrics()
        """Which version this is."""
        self.exchanges = ExchangeMetrics()
        """What exchanges count."""
        self.shows_durations_by_service = False
        """Whether that is shown with two histograms for each Ingress and Service, of nearly forty lines."""
        self.endpoints = EndpointMetrics()
        """Who is in rotation."""
        self.snapshots = SnapshotMetrics()
        """What was published."""
        self.reactor = ReactorMetrics()
        """How late the reactor is."""
        self.memory = MemoryMetrics()
        """How much of what it may have the process has used."""
        self.certificates = CertificateMetrics()
        """Until when each certificate is good."""
        self.connections = ConnectionMetrics()
        """What connections without exchanges count."""
        self.udp = UdpMetrics()
        """What ports of UDP count."""
        self.http2 = Http2Metrics()
        """What connections with streams count."""
        self.overload = OverloadMetrics()
        """What is refused while there is more to do than can be done."""
        self.sub_requests = SubRequestMetrics()
        """What filters ask of other services."""
        self.filters = FilterMetrics()
        """What filters count."""
        self.tracing = TracingMetrics()
        """What is told of traces."""
        self.watch = WatchMetrics()
        """What reading the API server counts."""
        self.status = StatusMetrics()
        """What reporting back to the cluster counts."""
        self.admin = AdminMetrics()
        """What the admin port counts."""
        self.admission = AdmissionMetrics()
        """What the admission webhook counts."""
        self.workers = WorkerMetrics()
        """What is known of workers."""
        self.added: Callable[[Iterable[Metric | None]], Iterable[Metric | None]] = _as_they_are
        """Adds to families what other processes have counted."""
        self._process = ProcessMetrics()
        self._platform = CollectorRegistry()
        PlatformCollector(registry=self._platform)
        self._collector = CollectorRegistry()
        GCCollector(registry=self._collector)

    def downstream_opened(self, secure: bool) -> None:
        """Count a connection that was accepted; *secure* says that it is TLS."""
        self._accepted[secure] += 1
        self._open[secure] += 1

    def downstream_closed(self, secure: bool) -> None:
        """Count the end of a connection that ``downstream_opened`` counted."""
        self._open[secure] -= 1

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

    def attempt_repeated(self, reason: str) -> None:
        """Count an attempt after the first one of its exchange; *reason* is one of ``REPEAT_REASONS``."""
        self._attempts_repeated[reason] += 1

    def access_lines_dropped(self, count: int) -> None:
        """Count lines of the access log that could not be written."""
        self._access_lines_dropped += count

    def snapshot_published(
        self,
        routes: int,
        certificates: int,
        problems: Mapping[Reason, int],
        seconds: float,
        ingresses: Container[ObjectKey] = frozenset(),
        services: Container[ObjectKey] = frozenset(),
        at: float = 0.0,
    ) -> None:
        """Note what the current snapshot holds, the *seconds* that making it took, and that it was published *at* that time.

        *ingresses* are those with a route in it, *services* those to which one leads.  A caller that hands over the same
        sets again, because the routes are the same, pays nothing for it.
        """
        self.snapshots.published(routes, certificates, problems, seconds, at)
        self.exchanges.follow(ingresses, services)

    def pieces(self, form: Format = PROMETHEUS) -> Iterator[str]:
        """Yield all series in a format, in small pieces.

        A number is read when its piece is made, all numbers of a histogram at the same time.
        An Ingress that gets its first request meanwhile is shown, too; one that goes is shown until the end.
        """
        of_process = chain(self._process.families(), self._platform.collect(), self._collector.collect())
        return as_text(self.added(chain(self.families(), of_process)), form)

    def render(self) -> bytes:
        """Return all of it at once."""
        return "".join(self.pieces()).encode()

    def families(self) -> Iterable[Metric]:
        """Yield this program's own series, with the process, platform and GC ones left out."""
        yield from self.build.families()
        yield from self._downstream_families()
        exchanges = ExchangeFamilies(self.exchanges, self.shows_durations_by_service)
        yield from exchanges.families()
        yield exchanges.unlabeled()
        yield from self._upstream_families()
        yield from self.endpoints.families()
        yield from self.snapshots.families()
        yield from self.reactor.families()
        yield from self.reactor.own_families()
        yield from self.memory.families()
        yield from self.certificates.families()
        yield from self.connections.families()
        yield from self.udp.families()
        yield from self.http2.families()
        yield from self.overload.families()
        yield from self.sub_requests.families()
        yield from self.filters.families()
        yield from self.tracing.families()
        yield from self.watch.families()
        yield from self.status.families()
        yield from self.admin.families()
        yield from self.admission.families()
        yield from self.workers.families()

    def serving_families(self) -> Iterator[Metric]:
        """Yield what a data plane counts, without what has rows that come and go: exchanges by Ingress, and filters."""
        yield from self._downstream_families()
        yield ExchangeFamilies(self.exchanges).unlabeled()
        yield from self._upstream_families()
        yield from self.endpoints.families()
        yield from self.reactor.families()
        yield from self.connections.families()
        yield from self.udp.families()
        yield from self.http2.families()
        yield from self.overload.families()
        yield from self.sub_requests.families()
        yield from self.tracing.families()

    def own_families(self) -> Iterator[Metric | None]:
        """Yield what each process has for itself, and no sum is of use of; None where one takes another step."""
        yield from self._process.families()
        yield from self._collector.collect()
        yield from self.reactor.own_families()

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
        repeated = CounterMetricFamily(
            "ingress_attempts_repeated",
            "Attempts after the first one of their exchange, by why it was made.",
            labels=("reason",),
        )
        for reason, count in self._attempts_repeated.items():
            repeated.add_metric((reason,), count)
        yield repeated
