"""Spans by OTLP, to a collector on a real socket."""

from __future__ import annotations

import logging

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.observability.tracing_settings import TracingSettings
from ingress.tracing import otlp
from ingress.tracing.ended import EndedExchange, EndedWait
from ingress.tracing.otlp import OtlpSender, exporter_for
from ingress.tracing.spans import spans_of
from ingress.tracing.tracing import otlp_sender
from tests.tracing.raw_collector import Collector
from tests.tracing.receiver import Receiver, shown
from tests.tracing.test_spans import RECORD, TRACE

SPANS = spans_of(EndedExchange(TRACE, RECORD), shows_query=False)


class OtlpTests(SynchronousTestCase):
    """What a collector gets."""

    def setUp(self) -> None:
        self.receiver = Receiver()
        self.addCleanup(self.receiver.stop)
        log = capturedLogs()
        self.told = log.__enter__()
        self.seen = 0
        self.addCleanup(log.__exit__, None, None, None)

    def warnings(self) -> list[str]:
        """Return what the log says of spans, since this was called last."""
        said = [text for one in self.told if "spans are lost" in (text := formatEvent(one))]
        found, self.seen = said[self.seen :], len(said)
        return found

    def sender(self, url: str, clock: Clock | None = None) -> OtlpSender:
        """Return a sender."""
        sender = OtlpSender(exporter_for(url), url, {"service.name": "edge"}, (clock or Clock()).seconds)
        self.addCleanup(sender.close)
        return sender

    def test_whole(self) -> None:
        """Ids, parents, times, kinds, statuses, states and attributes come as they were told, and whose they are."""
        settings = TracingSettings(
            self.receiver.url, service="edge", attributes=("deployment.environment.name=a=b",)
        )
        sender = otlp_sender(settings)
        self.addCleanup(sender.close)
        self.assertEqual(sender.send(SPANS), "")
        server, attempt = self.receiver.spans()
        self.assertEqual(
            (server.trace_id.hex(), server.span_id.hex(), server.parent_span_id.hex()),
            ("a" * 32, "f" * 16, "b" * 16),
        )
        self.assertEqual(
            (server.name, server.kind, attempt.kind),
            ("GET /cart", Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CLIENT),
        )
        self.assertEqual(
            (server.start_time_unix_nano, server.end_time_unix_nano), (SPANS[0].began, SPANS[0].over)
        )
        self.assertEqual((attempt.parent_span_id, server.trace_state), (server.span_id, "c=d"))
        self.assertEqual(shown(server), dict(SPANS[0].attributes))
        self.assertEqual(server.status.code, Status.STATUS_CODE_UNSET)
        resource = self.receiver.resource()
        self.assertEqual((resource["service.name"], resource["deployment.environment.name"]), ("edge", "a=b"))

    def test_error(self) -> None:
        """What went wrong is the status of the span."""
        wait = EndedWait(TRACE, "1" * 16, "auth", 5.0, 5.5, "late")
        self.sender(self.receiver.url).send(spans_of(wait, shows_query=False))
        (span,) = self.receiver.spans()
        self.assertEqual((span.status.code, span.status.message), (Status.STATUS_CODE_ERROR, "late"))
        self.assertEqual(span.kind, Span.SPAN_KIND_INTERNAL)

    def test_refused(self) -> None:
        """A collector that refuses, or is not there, is told of once a minute, with all that was lost meanwhile."""
        self.receiver.status = 400
        clock = Clock()
        sender = self.sender(self.receiver.url, clock)
        for _ in range(3):
            self.assertIn("400", sender.send(SPANS))
        (line,) = self.warnings()
        self.assertIn(f"2 spans are lost, as {self.receiver.url} takes none", line)
        clock.advance(60)
        sender.send(SPANS)
        (line,) = self.warnings()
        self.assertIn("6 spans are lost", line)

    def test_slow_answer(self) -> None:
        """A collector whose answer does not come in time is told of, and what is sent next goes on."""
        # Long enough for what is sent next on a busy machine, and far shorter than the first answer.
        self.patch(otlp, "TIMEOUT_SECONDS", 1.5)
        collector = Collector()
        self.addCleanup(collector.stop)
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
        collector.will_say(collector.slowly(head, bytes(100)), (head, bytes(100)))
        sender = self.sender(collector.url)
        self.assertIn("timeout", sender.send(SPANS))
        self.assertEqual(len(self.warnings()), 1)
        self.assertEqual(sender.send(SPANS), "")

    def test_away(self) -> None:
        """Where nobody listens, sending ends in its time, with a reason."""
        self.patch(otlp, "TIMEOUT_SECONDS", 0.2)
        self.receiver.stop()
        self.assertTrue(self.sender(self.receiver.url).send(SPANS))
        self.assertEqual(len(self.warnings()), 1)

    def test_quiet(self) -> None:
        """What OpenTelemetry's packages log goes nowhere else, and their logger is as before at the end."""
        logger = logging.getLogger("opentelemetry")
        before = list(logger.handlers)
        sender = OtlpSender(exporter_for(self.receiver.url), self.receiver.url, {}, Clock().seconds)
        self.assertEqual((len(logger.handlers), logger.propagate), (len(before) + 1, False))
        sender.close()
        self.assertEqual(logger.handlers, before)
