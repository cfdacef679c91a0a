"""Options about traces: their texts, and what ingress-nginx's keys come to."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.observability.tracing_settings import TracingSettings
from ingress.options.config_map import read_config_map
from ingress.options.merging import merge
from ingress.options.tracing_options import (
    read_attribute,
    read_collector,
    read_delay,
    read_ratio,
    read_service,
)
from ingress.settings import Settings
from tests.options.test_table import settings_of


def read(**content: str) -> tuple[TracingSettings, tuple[Problem, ...]]:
    """Return what a ConfigMap with these keys, which have underscores here, comes to."""
    keys = {key.replace("_", "-"): text for key, text in content.items()}
    merged = merge(Settings(), (), read_config_map(ObjectKey("a", "b"), keys))
    return merged.settings.serving.tracing, merged.problems


class TextTests(SynchronousTestCase):
    """What may be written."""

    def test_collectors(self) -> None:
        """A URL of HTTP gets the path of traces where it has none; one of gRPC is scheme, host and port."""
        for text, wanted in (
            ("http://a.test:4318", "http://a.test:4318/v1/traces"),
            ("https://a.test/", "https://a.test/v1/traces"),
            ("http://[::1]:4318/otlp/v1/traces", "http://[::1]:4318/otlp/v1/traces"),
            ("grpc://a.test:4317", "grpc://a.test:4317"),
            ("grpcs://a.test:4317/", "grpcs://a.test:4317"),
        ):
            self.assertEqual(read_collector(text), wanted)

    def test_refused(self) -> None:
        """What is none of these is refused, a password in a URL above all."""
        for text in ("a.test:4318", "udp://a.test", "http://", "http://a.test:x", "http://a.test:0", "http://u:p@a.test",
                     "http://a.test/?q", "http://a.test/#f", "grpc://a.test", "grpc://a.test:1/x", "http://a b", "http://\u00e4.test"):  # fmt: skip
            self.assertRaises(ValueError, read_collector, text)
        for text in ("", "-0.1", "1.1", "2", "nan", "0,5", "1e-1"):
            self.assertRaises(ValueError, read_ratio, text)
        for text in ("a", "=b", "a=", "a=b,c", "a b=c", "a=\n"):
            self.assertRaises(ValueError, read_attribute, text)
        for text in ("0", "61", "x"):
            self.assertRaises(ValueError, read_delay, text)
        for text in (" ", "x" * 256, "a\nb"):
            self.assertRaises(ValueError, read_service, text)

    def test_several_attributes(self) -> None:
        """Attributes of the resource may be given several times."""
        settings = settings_of("--tracing-attribute=a=1", "--tracing-attribute=b=2")
        self.assertEqual(settings.serving.tracing.attributes, ("a=1", "b=2"))


class ConfigMapTests(SynchronousTestCase):
    """Keys of ingress-nginx."""

    def test_as_there(self) -> None:
        """All of them together come to what they mean there."""
        settings, problems = read(
            enable_opentelemetry="true",
            opentelemetry_trust_incoming_span="false",
            opentelemetry_operation_name="HTTP $request_method $service_name $uri",
            otlp_collector_host="otel-collector.observability.svc",
            otlp_collector_port="4319",
            otel_service_name="edge",
            otel_sampler="TraceIdRatioBased",
            otel_sampler_ratio="0.25",
            otel_sampler_parent_based="false",
            otel_max_queuesize="4096",
            otel_max_export_batch_size="256",
            otel_schedule_delay_millis="2500",
        )
        assert settings.name is not None
        self.assertEqual(problems, ())
        self.assertEqual(settings.endpoint, "grpc://otel-collector.observability.svc:4319")
        self.assertEqual(
            (settings.by_default, settings.trusts_parent, settings.follows_parent), (True, False, False)
        )
        self.assertEqual((settings.ratio, settings.service), (0.25, "edge"))
        self.assertEqual((settings.queue_size, settings.batch_size, settings.delay_seconds), (4096, 256, 2.5))
        self.assertEqual(settings.name.text, "HTTP $request_method $service_name $uri")

    def test_defaults_there(self) -> None:
        """A host alone has the defaults of ingress-nginx: every trace, clients trusted, and only for Ingresses that ask."""
        settings, problems = read(otlp_collector_host="10.0.0.1")
        self.assertEqual((settings.endpoint, settings.ratio, problems), ("grpc://10.0.0.1:4317", 1.0, ()))
        self.assertEqual((settings.by_default, settings.trusts_parent), (False, True))

    def test_samplers(self) -> None:
        """Each sampler is a ratio; another one has no effect, and is told."""
        for sampler, ratio in (("AlwaysOn", 1.0), ("AlwaysOff", 0.0), ("TraceIdRatioBased", 0.01)):
            self.assertEqual(read(otlp_collector_host="a", otel_sampler=sampler)[0].ratio, ratio)
        settings, (problem,) = read(otlp_collector_host="a", otel_sampler="Sometimes")
        self.assertEqual((problem.reason, problem.field), (Reason.INVALID_OPTION, "data.otel-sampler"))
        self.assertEqual(settings.ratio, TracingSettings().ratio)

    def test_own_names(self) -> None:
        """What stands there by our own names beats the defaults of the other, and its keys."""
        settings, _ = read(
            otlp_collector_host="a",
            tracing_endpoint="http://b.test",
            tracing_trust_parent="false",
            tracing_ratio="0.5",
        )
        self.assertEqual(
            (settings.endpoint, settings.trusts_parent, settings.ratio),
            ("http://b.test/v1/traces", False, 0.5),
        )
        settings, _ = read(tracing_endpoint="http://b.test", enable_opentelemetry="false")
        self.assertEqual((settings.by_default, settings.trusts_parent), (False, False))

    def test_without_host(self) -> None:
        """Switched on without a collector it changes nothing, which is a note; switched off it is silent."""
        settings, (problem,) = read(enable_opentelemetry="true")
        self.assertEqual((settings, problem.reason), (TracingSettings(), Reason.OPTION_NOTE))
        self.assertIn("otlp-collector-host", problem.message)
        self.assertEqual(read(enable_opentelemetry="false", otel_sampler="AlwaysOn"), (TracingSettings(), ()))

    def test_wrong(self) -> None:
        """What cannot be read is told by the key that stands there."""
        for keys, field in (
            ({"otlp_collector_host": "a b"}, "otlp-collector-host"),
            ({"otlp_collector_host": "a", "otlp_collector_port": "x"}, "otlp-collector-host"),
            ({"otlp_collector_host": "a", "enable_opentelemetry": "maybe"}, "enable-opentelemetry"),
            ({"otel_schedule_delay_millis": "1s"}, "otel-schedule-delay-millis"),
            ({"opentelemetry_operation_name": "$http_cookie"}, "opentelemetry-operation-name"),
        ):
            _, (problem,) = read(**keys)
            self.assertEqual((problem.reason, problem.field), (Reason.INVALID_OPTION, f"data.{field}"))
