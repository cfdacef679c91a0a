"""Series as text: the two formats, and who gets which."""

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parsed
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.metrics import Metrics
from ingress.metrics.text import OPEN_METRICS, PART, PROMETHEUS, format_for, takes_gzip
from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.causes import Cause
from ingress.model.observability.traces import TraceContext
from tests.fakes.records import ENDPOINT, record_of

SHOP = ObjectKey("web", "shop")


class FormatTests(SynchronousTestCase):
    """``format_for``."""

    def test_accept(self) -> None:
        """OpenMetrics is for who likes it better than the text of Prometheus, in a version that is written; all others get that."""
        wanted = (
            "application/openmetrics-text; version=1.0.0",
            "application/openmetrics-text",
            "Application/OpenMetrics-Text;Version=1.0.0;Q=0.9, text/plain;q=0.8",
            # Prometheus 2.42.
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
            "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        )
        for accept in wanted:
            self.assertIs(format_for(accept), OPEN_METRICS, accept)
        others = (
            "",
            "*/*",
            "text/plain",
            "text/html,application/xhtml+xml",
            "application/openmetrics-text; version=0.0.1",
            "application/openmetrics-text; q=0",
            "application/openmetrics-text; q=many",
            "application/openmetrics-text; q=nan",
            "text/plain, application/openmetrics-text",
            ";;;,,,=;q",
        )
        for accept in others:
            self.assertIs(format_for(accept), PROMETHEUS, accept)


class GzipTests(SynchronousTestCase):
    """``takes_gzip``."""

    def test_accept_encoding(self) -> None:
        """Gzip is for who names it, and does not say that it is not wanted."""
        for wanted in ("gzip", "GZIP", "br, gzip;q=0.1", "deflate;q=0, gzip"):
            self.assertTrue(takes_gzip(wanted), wanted)
        for other in ("", "*", "identity", "gzip;q=0", "gzip;q=0.0", "xgzip", "gzip;q=none", "gzip;q=nan"):
            self.assertFalse(takes_gzip(other), other)


class OpenMetricsTests(SynchronousTestCase):
    """``Metrics.pieces`` in the format OpenMetrics, as a strict reader of it."""

    def setUp(self) -> None:
        self.metrics = Metrics()
        self.metrics.snapshot_published(
            1, 0, {}, 0.0, frozenset((SHOP,)), frozenset((ObjectKey("web", "web"),))
        )

    def text(self) -> str:
        return "".join(self.metrics.pieces(OPEN_METRICS))

    def exemplars(self, name: str) -> dict[str, tuple[dict[str, str], float]]:
        """Those of a histogram, by bucket."""
        return {
            sample.labels["le"]: (sample.exemplar.labels, sample.exemplar.value)
            for family in parsed(self.text())
            for sample in family.samples
            if sample.name == f"{name}_bucket" and sample.exemplar
        }

    def test_whole(self) -> None:
        """All series can be read by who is strict, those in parts, too; and the end is said once."""
        keys = frozenset(ObjectKey("web", f"shop-{number}") for number in range(3 * PART))
        self.metrics.snapshot_published(1, 0, {}, 0.0, keys)
        self.metrics.shows_durations_by_service = True
        for key in keys:
            self.metrics.exchanges.ended(record_of(key, 502, 0.1, 1, cause=Cause.BAD_GATEWAY))
        text = self.text()
        self.assertTrue(text.endswith("\n# EOF\n"))
        self.assertEqual(text.count("# EOF"), 1)
        families = {family.name: family for family in parsed(text)}
        self.assertEqual(len(families["ingress_failures"].samples), 3 * PART)
        self.assertIn("ingress_upstream_duration_by_service_seconds", families)
        self.assertIn("process_cpu_seconds", families)

    def test_exemplars(self) -> None:
        """A bucket shows the newest exchange in it, one whose trace is told before all others; in each histogram by its own time."""
        ended = self.metrics.exchanges.ended
        for request in (b"old", b"new"):
            ended(record_of(SHOP, 200, 0.03, 1, request=request, endpoint=ENDPOINT))
        sampled, unsampled = (TraceContext(digit * 32, "0" * 16, digit == "a") for digit in "ab")
        ended(record_of(SHOP, 200, 4.0, 1, request=b"traced", trace=sampled))
        ended(record_of(SHOP, 200, 4.5, 1, request=b"newer", trace=unsampled))
        self.assertEqual(
            self.exemplars("ingress_request_duration_seconds"),
            {"0.05": ({"request_id": "new"}, 0.03), "5.0": ({"trace_id": "a" * 32}, 4.0)},
        )
        self.assertEqual(
            self.exemplars("ingress_upstream_duration_seconds"), {"0.05": ({"request_id": "new"}, 0.03)}
        )
        self.assertNotIn("trace_id", self.metrics.render().decode())

    def test_hostile_ids(self) -> None:
        """What a client says its request is called is shown only if it is short and plain, and is never markup."""
        for number, request in enumerate((b"", b"x" * 65, b"a\nb", b"\xff", b"a\x00", b'"} 1 # \\', b"a b")):
            self.metrics.exchanges.ended(record_of(SHOP, 200, 10.0**-number, 1, request=request))
        self.assertEqual(self.exemplars("ingress_request_duration_seconds"), {})
        self.metrics.exchanges.ended(record_of(SHOP, 200, 0.4, 1, request=b"6f1c:a/9+Z="))
        self.assertEqual(
            self.exemplars("ingress_request_duration_seconds"), {"0.5": ({"request_id": "6f1c:a/9+Z="}, 0.4)}
        )
