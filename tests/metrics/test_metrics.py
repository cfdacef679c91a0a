"""What is counted, and how it is shown."""

import gc
import os
import re
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from prometheus_client.core import Metric
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.exchanges.exchange_rows import STATUS_CLASSES
from ingress.metrics.exchanges.histograms import BOUNDS
from ingress.metrics.metrics import REPEAT_REASONS, Metrics
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.exchanges.causes import Cause
from ingress.model.observability.workers import WorkerStage, WorkerState
from ingress.model.serving.limits import Timeouts
from ingress.process.caps.cgroups import Cap
from ingress.proxy.contract.faults import Fault
from tests.fakes.records import record_of

SHOP = ObjectKey("web", "shop")
BLOG = ObjectKey("web", "blog")


class MetricsTests(SynchronousTestCase):
    """``Metrics``, seen through what Prometheus would get."""

    def setUp(self) -> None:
        self.metrics = Metrics()

    def value(self, series: str) -> float | None:
        """The value of *series*, labels included in alphabetical order; None when it is not shown."""
        found = re.search(rf"^{re.escape(series)} (\S+)$", self.metrics.render().decode(), re.MULTILINE)
        return None if found is None else float(found[1])

    def publish(self, *ingresses: ObjectKey) -> None:
        services = frozenset(ObjectKey(one.namespace, "web") for one in ingresses)
        self.metrics.snapshot_published(1, 0, {}, 0.0, frozenset(ingresses), services)
        for _ in self.metrics.exchanges.drop():
            pass

    def test_downstream_connections(self) -> None:
        """Connections are counted as they come, and shown as open until they end, TLS apart from plain."""
        self.metrics.downstream_opened(True)
        self.metrics.downstream_opened(True)
        self.metrics.downstream_opened(False)
        self.metrics.downstream_closed(True)
        self.assertEqual(self.value('ingress_downstream_connections_accepted_total{tls="true"}'), 2)
        self.assertEqual(self.value('ingress_downstream_connections{tls="true"}'), 1)
        self.assertEqual(self.value('ingress_downstream_connections{tls="false"}'), 1)

    def test_upstream(self) -> None:
        """Upstream connections, failed attempts and repeated ones each have a counter."""
        for _ in range(3):
            self.metrics.upstream_opened()
        self.metrics.upstream_closed()
        self.metrics.upstream_failed()
        self.metrics.attempt_repeated("stale")
        self.metrics.attempt_repeated("stale")
        self.assertEqual(self.value("ingress_upstream_connections_opened_total"), 3)
        self.assertEqual(self.value("ingress_upstream_connections"), 2)
        self.assertEqual(self.value("ingress_upstream_failures_total"), 1)
        self.assertEqual(self.value('ingress_attempts_repeated_total{reason="stale"}'), 2)

    def test_access_lines_dropped(self) -> None:
        """Lost lines of the access log add up."""
        self.metrics.access_lines_dropped(3)
        self.metrics.access_lines_dropped(4)
        self.assertEqual(self.value("ingress_access_lines_dropped_total"), 7)

    def test_exchange_of_ingress(self) -> None:
        """An exchange is counted for its Ingress, by class of status, with its bytes."""
        self.publish(SHOP)
        self.metrics.exchanges.ended(record_of(SHOP, 200, 0.1, 10))
        self.metrics.exchanges.ended(record_of(SHOP, 204, 0.1, 0))
        self.metrics.exchanges.ended(record_of(SHOP, 503, 0.1, 5))
        self.assertEqual(
            self.value('ingress_requests_total{ingress="shop",namespace="web",service="web",status="2xx"}'), 2
        )
        self.assertEqual(
            self.value('ingress_requests_total{ingress="shop",namespace="web",service="web",status="5xx"}'), 1
        )
        self.assertEqual(
            self.value('ingress_response_body_bytes_total{ingress="shop",namespace="web",service="web"}'), 15
        )

    def test_exchange_without_route(self) -> None:
        """An exchange that no Ingress claims is counted under empty labels."""
        self.metrics.exchanges.ended(record_of(None, 404, 0.1, 10))
        self.assertEqual(
            self.value('ingress_requests_total{ingress="",namespace="",service="",status="4xx"}'), 1
        )

    def test_exchange_without_status(self) -> None:
        """An exchange that ended before a status was sent, or with one out of range, has the class none."""
        for status in (0, 99, 600, 1000):
            self.metrics.exchanges.ended(record_of(None, status, 0.1, 0))
        self.assertEqual(
            self.value('ingress_requests_total{ingress="",namespace="",service="",status="none"}'), 4
        )

    def test_every_status_class(self) -> None:
        """Each status from 100 to 599 falls into the class of its first digit."""
        for status in (100, 199, 200, 299, 300, 399, 400, 499, 500, 599):
            self.metrics.exchanges.ended(record_of(None, status, 0.1, 0))
        for status_class in STATUS_CLASSES[1:]:
            series = f'ingress_requests_total{{ingress="",namespace="",service="",status="{status_class}"}}'
            self.assertEqual(self.value(series), 2)

    def test_unknown_ingress(self) -> None:
        """An Ingress that the current snapshot does not hold gets no series of its own."""
        self.publish(SHOP)
        self.metrics.exchanges.ended(record_of(BLOG, 200, 0.1, 10))
        self.assertNotIn(b'ingress="blog"', self.metrics.render())
        self.assertEqual(
            self.value('ingress_requests_total{ingress="",namespace="",service="",status="2xx"}'), 1
        )

    def test_ingress_gone(self) -> None:
        """The series of an Ingress that left the snapshot are dropped, those of others stay."""
        self.publish(SHOP, BLOG)
        self.metrics.exchanges.ended(record_of(SHOP, 200, 0.1, 1))
        self.metrics.exchanges.ended(record_of(BLOG, 200, 0.1, 1))
        self.publish(BLOG)
        self.assertNotIn(b'ingress="shop"', self.metrics.render())
        self.assertEqual(
            self.value('ingress_requests_total{ingress="blog",namespace="web",service="web",status="2xx"}'), 1
        )
        self.metrics.exchanges.ended(record_of(SHOP, 200, 0.1, 1))
        self.assertNotIn(b'ingress="shop"', self.metrics.render())

    def test_durations(self) -> None:
        """Durations are counted up to each bound that they do not exceed, and summed."""
        for seconds in (0.001, 0.0011, 0.3, 31.0):
            self.metrics.exchanges.ended(record_of(None, 200, seconds, 0))
        name = "ingress_request_duration_seconds"
        self.assertEqual(self.value(f'{name}_bucket{{le="0.001"}}'), 1)
        self.assertEqual(self.value(f'{name}_bucket{{le="0.0025"}}'), 2)
        self.assertEqual(self.value(f'{name}_bucket{{le="0.25"}}'), 2)
        self.assertEqual(self.value(f'{name}_bucket{{le="0.5"}}'), 3)
        self.assertEqual(self.value(f'{name}_bucket{{le="30.0"}}'), 3)
        self.assertEqual(self.value(f'{name}_bucket{{le="+Inf"}}'), 4)
        self.assertEqual(self.value(f"{name}_count"), 4)
        total = self.value(f"{name}_sum")
        assert total is not None
        self.assertAlmostEqual(total, 31.3021)

    def test_snapshot(self) -> None:
        """A published snapshot replaces the numbers of the one before, and its time is added."""
        self.metrics.snapshot_published(9, 9, {Reason.INVALID_PATH: 9}, 0.25)
        self.metrics.snapshot_published(3, 2, {Reason.INVALID_HOST: 4}, 0.5)
        self.assertEqual(self.value("ingress_routes"), 3)
        self.assertEqual(self.value("ingress_certificates"), 2)
        self.assertEqual(self.value('ingress_problems{reason="InvalidHost"}'), 4)
        self.assertEqual(self.value('ingress_problems{reason="InvalidPath"}'), 0)
        self.assertEqual(self.value("ingress_snapshot_seconds_count"), 2)
        self.assertEqual(self.value("ingress_snapshot_seconds_sum"), 0.75)

    def test_many(self) -> None:
        """However many Ingresses have counters, no step makes many objects, so none waits for the collector more than others."""
        many = [ObjectKey("web", f"shop-{number}") for number in range(1000)]
        self.publish(*many)
        for ingress in many:
            self.metrics.exchanges.ended(record_of(ingress, 200, 0.1, 1))
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        before = [gc.get_count()[0]]
        for _ in self.metrics.pieces():
            before.append(gc.get_count()[0])
        self.assertLess(max(now - then for then, now in pairwise(before)), 1000)

    def test_translation_failed(self) -> None:
        """A translation that a bug ended is counted."""
        self.metrics.snapshots.failed()
        self.assertEqual(self.value("ingress_translations_failed_total"), 1)

    def test_two_of_them(self) -> None:
        """Two sets of metrics know nothing of each other."""
        Metrics().attempt_repeated("stale")
        self.assertEqual(self.value('ingress_attempts_repeated_total{reason="stale"}'), 0)

    def test_process_and_python(self) -> None:
        """The process, the interpreter and its garbage collector are shown, too."""
        shown = self.metrics.render()
        for name in (b"process_cpu_seconds_total ", b"python_info{", b"python_gc_collections_total{"):
            self.assertIn(b"\n" + name, shown)


OF_INGRESS_NGINX = [
    "requests",
    "request_duration_seconds",
    "response_duration_seconds",
    "header_duration_seconds",
    "connect_duration_seconds",
    "ingress_upstream_latency_seconds",
    "response_size",
    "request_size",
    "bytes_sent",
    "nginx_process_connections",
    "nginx_process_connections_total",
    "nginx_process_requests_total",
    "nginx_process_cpu_seconds_total",
    "nginx_process_num_procs",
    "nginx_process_oldest_start_time_seconds",
    "nginx_process_read_bytes_total",
    "nginx_process_write_bytes_total",
    "nginx_process_resident_memory_bytes",
    "nginx_process_virtual_memory_bytes",
    "config_hash",
    "config_last_reload_successful",
    "config_last_reload_successful_timestamp_seconds",
    "success",
    "errors",
    "check_success",
    "check_errors",
    "ssl_expire_time_seconds",
    "ssl_certificate_info",
    "leader_election_status",
    "orphan_ingress",
    "build_info",
    "admission_config_size",
    "admission_render_duration",
    "admission_render_ingresses",
    "admission_roundtrip_duration",
    "admission_tested_duration",
    "admission_tested_ingresses",
]
"""Without their prefix; those of its pages and of ``internal/ingress/metric/collectors``."""


OF_OBJECTS = ("namespace", "ingress", "service", "secret", "host", "worker", "filter", "event", "le")
"""Labels whose values are names that users and operators choose, or numbers."""
OF_OTHER_PAGES = {
    *(("ingress_build_info", label) for label in ("version", "code", "python", "twisted", "openssl")),
    ("ingress_certificate_expiry_timestamp_seconds", "key_type"),
    ("ingress_problems", "reason"),
}


class BucketTests(SynchronousTestCase):
    """The buckets of the histogram."""

    def test_last(self) -> None:
        """A request that waits for the default of the read time-out falls into a bucket, and one twice as long, too."""
        self.assertIn(Timeouts().read_seconds, BOUNDS)
        self.assertGreaterEqual(BOUNDS[-1], 2 * Timeouts().read_seconds)

    def test_page(self) -> None:
        """The page names the last ones."""
        page = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text("utf-8")
        last = [f"{seconds:g}" for seconds in BOUNDS[-3:]]
        self.assertIn(f"{last[0]}, {last[1]} and {last[2]} seconds", page)


class MetricsPageTests(SynchronousTestCase):
    """``docs/metrics.md``."""

    def setUp(self) -> None:
        self.page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")

    def everything(self) -> list[Metric]:
        """Each family that there may be."""
        metrics = Metrics()
        metrics.snapshot_published(1, 1, {}, 0.1, frozenset((SHOP,)))
        metrics.exchanges.ended(record_of(SHOP, 502, 0.1, 1, cause=Cause.BAD_GATEWAY))
        metrics.shows_durations_by_service = True
        metrics.watch.reflector("Ingress", "", lambda: 1.0).last_contact = 0.0
        metrics.status.began()
        metrics.filters.counted("one", "seen")
        metrics.filters.failed("one")
        metrics.certificates.expiries = lambda: [("shop", "tls", "shop.test", "RSA", 1.0)]
        metrics.memory.cap = lambda: Cap(2 << 20, 1 << 20)
        metrics.workers.fork_server = os.getpid
        metrics.workers.states = lambda: [WorkerState(0, WorkerStage.SERVING, datetime.now(UTC))]
        # A large family comes in several parts.
        return list({family.name: family for family in metrics.families()}.values())

    def test_in_step(self) -> None:
        """The page lists exactly the series that exist, once each, with type, labels and meaning."""
        rows = []
        for family in self.everything():
            suffix = "_total" if family.type == "counter" else ""
            labels = ", ".join(f"`{label}`" for label in family.samples[0].labels if label != "le")
            rows.append(
                f"| `{family.name}{suffix}` | {family.type} | {labels}{' ' if labels else ''}| {family.documentation} |"
            )
        shown = [line for line in self.page.splitlines() if line.startswith("| `")]
        self.assertEqual(shown, rows)

    def test_values_of_labels(self) -> None:
        """The page names each value of a label that is out of a short list, for that label."""
        _, _, rest = self.page.partition("Labels have these values:\n\n- ")
        named: dict[str, set[str]] = {}
        for entry in rest.partition("\n\n")[0].split("\n- "):
            label, *values = re.findall("`([^`]+)`", entry)
            named.setdefault(label, set()).update(values)
        missing = {
            (family.name, label, value)
            for family in self.everything()
            for sample in family.samples
            for label, value in sample.labels.items()
            if label not in OF_OBJECTS and (family.name, label) not in OF_OTHER_PAGES
            if value not in named.get(label, ())
        }
        self.assertEqual(missing, set())

    def test_reasons_of_attempts(self) -> None:
        """The page says of each reason for another attempt what the fault is."""
        page = " ".join(self.page.split())
        for fault in Fault:
            said = f"`{fault.word}` ({fault.value})"
            self.assertEqual(said in page, fault.word in REPEAT_REASONS, said)

    def test_of_ingress_nginx(self) -> None:
        """Each series of ingress-nginx has a row, and what the row calls ours, there is, or it says that there is none and why."""
        _, _, table = self.page.partition("## Coming from ingress-nginx")
        lines = [line for line in table.splitlines() if line.startswith("| ")]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
        theirs = [name for row in rows for name in row[0].split(", ")]
        self.assertEqual(sorted(theirs), sorted(OF_INGRESS_NGINX))
        ours = {
            family.name + ("_total" if family.type == "counter" else "") for family in self.everything()
        } | {"process_cpu_seconds_total", "process_resident_memory_bytes"}
        ours |= {"process_virtual_memory_bytes", "process_start_time_seconds"}
        for _, here, what, *_ in rows:
            self.assertLessEqual(set(re.findall(r"`([a-z0-9_]+)`", here)), ours)
            self.assertNotEqual(bool(here), what.startswith("none: "), what)
        named = set(re.findall(r"`(ingress_[a-z0-9_]+)", self.page))
        self.assertEqual(named - ours, set())
