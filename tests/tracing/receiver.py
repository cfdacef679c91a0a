"""A collector of the tests' own: takes spans by OTLP over HTTP, on a real socket, and shows what they say."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Receiver:
    """Listens on a port of loopback, as ``url`` says; answers with *status*."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.requests: list[ExportTraceServiceRequest] = []
        self.heads: list[dict[str, str]] = []
        self._came = Condition()
        self.goes_on = Event()
        """Cleared while whoever sends gets no answer."""
        self.goes_on.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver.take(self.path, dict(self.headers), body)
                receiver.goes_on.wait()
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1/traces"
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def take(self, path: str, head: dict[str, str], body: bytes) -> None:
        """Take one request."""
        assert path == "/v1/traces", path
        with self._came:
            self.requests.append(ExportTraceServiceRequest.FromString(body))
            self.heads.append(head)
            self._came.notify_all()

    def spans(self) -> list[Span]:
        """Return all spans so far."""
        return [
            span
            for request in list(self.requests)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def wait_for(self, is_enough: Callable[[list[Span]], bool], seconds: float = 30.0) -> list[Span]:
        """Return the spans once there are enough."""
        with self._came:
            assert self._came.wait_for(lambda: is_enough(self.spans()), seconds), self.spans()
        return self.spans()

    def forget(self) -> None:
        """Begin anew."""
        with self._came:
            self.requests.clear()
            self.heads.clear()

    def resource(self) -> dict[str, str]:
        """Return what is said of who sent the first spans."""
        attributes = self.requests[0].resource_spans[0].resource.attributes
        return {one.key: one.value.string_value for one in attributes}

    def stop(self) -> None:
        """Listen no more."""
        self.goes_on.set()
        self._server.shutdown()
        self._server.server_close()


def shown(span: Span) -> dict[str, object]:
    """Return the attributes of a span."""
    found: dict[str, object] = {}
    for one in span.attributes:
        found[one.key] = getattr(one.value, str(one.value.WhichOneof("value")))
    return found
