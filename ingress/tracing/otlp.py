"""Spans on their way to a collector by OTLP, in the words of OpenTelemetry's packages.

This is the one module that imports these, and nobody imports it before spans are to be sent: it takes a third of a second, and
needs the extra ``tracing``.  What they log goes to our own log, sparingly.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState
from twisted.logger import Logger

from ingress.tracing import spans as ours
from ingress.tracing.spans import Span
from ingress.wording import number_of

TIMEOUT_SECONDS: Final = 5.0
"""How long a batch may take, with all that is tried again."""
QUIET_SECONDS: Final = 60.0
"""So rarely the log says that a collector takes nothing."""
_MOST_CHARACTERS: Final = 300
_KINDS: Final = {
    ours.SpanKind.SERVER: SpanKind.SERVER,
    ours.SpanKind.CLIENT: SpanKind.CLIENT,
    ours.SpanKind.INTERNAL: SpanKind.INTERNAL,
}
_SESSION_VARIABLES: Final = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER",
)
_SCOPE: Final = InstrumentationScope("txingress")
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


def exporter_for(endpoint: str) -> SpanExporter:
    """Return OpenTelemetry's exporter for an endpoint as ``ingress.model.observability.tracing_settings`` has it; the environment completes it (``OTEL_EXPORTER_OTLP_…``)."""
    scheme, _, rest = endpoint.partition("://")
    if scheme in ("grpc", "grpcs"):
        # Its care at each fork locks up the child now and then, and no child of ours goes on with it.
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as OverGrpc

        return OverGrpc(rest, insecure=scheme == "grpc", timeout=TIMEOUT_SECONDS)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as OverHttp

    from ingress.tracing.bounded_http import bounded_session

    # A session of the operator's own, with credentials, is left to do as it does.
    has_own = any(map(os.environ.get, _SESSION_VARIABLES))
    return OverHttp(endpoint, timeout=TIMEOUT_SECONDS, session=None if has_own else bounded_session())


class _LastWord(logging.Handler):
    """Keeps what OpenTelemetry's packages logged last, and shows it to nobody."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()

    def take(self) -> str:
        """Return it, cut and without what a terminal could take for more than text."""
        text, self.text = self.text[:_MOST_CHARACTERS], ""
        return "".join(one if one.isprintable() else " " for one in text)


class OtlpSender:
    """Sends spans by *exporter*; *attributes* say whose they are, *clock* how often the log may say that it does not work."""

    log = Logger()

    def __init__(
        self,
        exporter: SpanExporter,
        endpoint: str,
        attributes: Mapping[str, str],
        clock: Callable[[], float],
    ) -> None:
        self._exporter = exporter
        self._endpoint = endpoint
        # What the environment says of this process (OTEL_RESOURCE_ATTRIBUTES) stands behind what the operator says.
        self._resource = Resource.create(dict(attributes))
        self._clock = clock
        self._said = -QUIET_SECONDS
        self._lost = 0
        self._word = _LastWord()
        self._logger = logging.getLogger("opentelemetry")
        self._logger.addHandler(self._word)
        self._logger.propagate = False

    def send(self, spans: Sequence[Span]) -> str:
        """Send *spans*; return why the collector does not take them, empty where it does."""
        if self._exporter.export([self._of_sdk(span) for span in spans]) is SpanExportResult.SUCCESS:
            self._word.take()
            return ""
        why = self._word.take() or "the collector does not take them"
        self._lost += len(spans)
        if self._clock() - self._said >= QUIET_SECONDS:
            self._said = self._clock()
            self.log.warn(
                "{lost} lost, as {endpoint} takes none: {why}",
                lost=number_of(self._lost, "span is", "spans are"),
                endpoint=self._endpoint,
                why=why,
            )
            self._lost = 0
        return why

    def close(self) -> None:
        """Send no more."""
        self._exporter.shutdown()
        self._logger.removeHandler(self._word)

    def _of_sdk(self, span: Span) -> ReadableSpan:
        trace_id = int(span.trace_id, 16)
        state = TraceState.from_header([span.state]) if span.state else None
        context = SpanContext(trace_id, int(span.span_id, 16), False, _SAMPLED, state)
        parent = None
        if span.parent_id:
            parent = SpanContext(trace_id, int(span.parent_id, 16), span.is_parent_remote, _SAMPLED)
        return ReadableSpan(
            span.name,
            context,
            parent,
            self._resource,
            span.attributes,
            kind=_KINDS[span.kind],
            status=Status() if span.error is None else Status(StatusCode.ERROR, span.error),
            start_time=span.began,
            end_time=span.over,
            instrumentation_scope=_SCOPE,
        )
