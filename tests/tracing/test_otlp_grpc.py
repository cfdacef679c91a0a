"""Spans by OTLP over gRPC, to a collector on a real socket."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.tracing import otlp
from ingress.tracing.otlp import OtlpSender, exporter_for
from tests.tracing.test_otlp import SPANS


class Collector(TraceServiceServicer):
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []

    def Export(
        self, request: ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> ExportTraceServiceResponse:
        """Take spans."""
        self.requests.append(request)
        return ExportTraceServiceResponse()


class GrpcTests(SynchronousTestCase):
    """What a collector gets, or does not."""

    def setUp(self) -> None:
        self.patch(otlp, "TIMEOUT_SECONDS", 2.0)
        self.collector = Collector()
        self.server = grpc.server(ThreadPoolExecutor(1))
        add_TraceServiceServicer_to_server(self.collector, self.server)
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.addCleanup(lambda: self.server.stop(None).wait())

    def sender(self) -> OtlpSender:
        """Return a sender."""
        url = f"grpc://127.0.0.1:{self.port}"
        sender = OtlpSender(exporter_for(url), url, {"service.name": "edge"}, Clock().seconds)
        self.addCleanup(sender.close)
        return sender

    def test_taken(self) -> None:
        """Spans come as they do over HTTP."""
        self.server.start()
        self.assertEqual(self.sender().send(SPANS), "")
        (request,) = self.collector.requests
        (server, attempt) = request.resource_spans[0].scope_spans[0].spans
        self.assertEqual((server.trace_id.hex(), attempt.parent_span_id), ("a" * 32, server.span_id))

    def test_away(self) -> None:
        """Where nobody answers, sending ends in its time, with a reason."""
        self.server.stop(None).wait()
        self.patch(otlp, "TIMEOUT_SECONDS", 0.2)
        self.assertTrue(self.sender().send(SPANS))
        self.assertEqual(self.collector.requests, [])
