"""What the proxy asks and tells about traces while it serves.

For nearly all requests that is one question: which trace it is part of, so that whoever gets it next is told.  Of those that
are sampled it is told what became of them, once that is known: of whole exchanges, sub-requests, and filters that had somebody
wait.  These are handed over as they are; spans are made of them elsewhere (``ingress.tracing.spans``).
"""

from collections.abc import Callable
from typing import Final, Protocol

from ingress.http.edited_heads import RequestChange
from ingress.http.field_values import first_value
from ingress.http.request_head import RequestHead
from ingress.http.trace_context import NO_TRACE, read_parent, trace_lines
from ingress.metrics.series.tracing import TracingMetrics
from ingress.model.exchanges.records import Record
from ingress.model.observability.traces import TraceContext
from ingress.model.observability.tracing_settings import RouteTracing, TracingSettings
from ingress.tracing.ended import MAX_TEXT, Ended, EndedExchange, EndedWait
from ingress.tracing.sampling import SecondlyBound, bound_of

# Not by its name, which is a call more for each request.
_new: Final = tuple.__new__


class TracedHead(Protocol):
    """The head of a request as it came; ``ingress.http.request_head.RequestHead`` is one."""

    forward: bytes
    request_id: bytes


class TracedChain(Protocol):
    """The filters of a request; ``ingress.proxy.exchange.filtering.chain.Chain`` is one."""

    tracing: RouteTracing | None


class Traced(Protocol):
    """An exchange, as far as its trace goes by it; ``ingress.proxy.exchange.exchange.Exchange`` is one."""

    trace: TraceContext | None
    request_id: bytes
    started: float

    @property
    def received(self) -> TracedHead:
        """The head of its request as it came."""

    @property
    def chain(self) -> TracedChain | None:
        """Its filters."""


class Tracer:
    """Goes by *settings*; *most* is how many requests may be sampled in a second here, 0 for any number.

    *seconds* is the clock of exchanges, *time* the time of day, *new_id* returns 32 hexadecimal digits that nothing else has,
    and *told* takes what ended.
    """

    def __init__(
        self,
        settings: TracingSettings,
        most: int,
        seconds: Callable[[], float],
        time: Callable[[], float],
        new_id: Callable[[], bytes],
        told: Callable[[Ended], None],
        metrics: TracingMetrics,
    ) -> None:
        self._metrics = metrics
        self._settings = settings
        self._bound = bound_of(settings.ratio)
        self._mark = b"\n%b:" % settings.header.lower().encode("ascii") if settings.header else b""
        self._seconds = seconds
        self._time = time
        self._new_id = new_id
        self.told = told
        """Takes what else ended of a trace that is sampled."""
        self._rate = SecondlyBound(most)

    def begin(
        self, head: TracedHead, route: RouteTracing | None, request_id: bytes, began: float
    ) -> TraceContext | None:
        """Return the trace of a request whose *head* was read when the clock was at *began*; None where it is not traced.

        A trace that begins here has the *request_id*, if that is one of ours.
        """
        settings, lines = self._settings, head.forward
        trusts, is_on, name = settings.trusts_parent, settings.by_default, settings.name
        if route is not None:
            is_on = is_on if route.is_on is None else route.is_on
            trusts = trusts if route.trusts_parent is None else route.trusts_parent
            name = route.name or name
        if not is_on:
            return None
        lowered = lines.lower()
        parent = read_parent(lines) if trusts and b"traceparent:" in lowered else None
        parent_id = state = ""
        flags, sampled_flags = "00", "01"
        if parent is None:
            trace_id = (self._new_id() if head.request_id or not request_id else request_id).decode()
            is_sampled = trace_id[16:] < self._bound
        else:
            trace_id, parent_id, state = parent.trace_id, parent.span_id, parent.state
            is_sampled = parent.is_sampled if settings.follows_parent else trace_id[16:] < self._bound
            if parent.is_random:
                flags, sampled_flags = "02", "03"
        if not is_sampled and self._mark:
            is_sampled = self._mark in lowered or lowered.startswith(self._mark[1:])
        span_id, epoch = self._new_id()[:16].decode(), 0.0
        if is_sampled:
            is_sampled = self._rate.passes(began)
            if is_sampled:
                flags, epoch = sampled_flags, self._time() - self._seconds()
            else:
                self._metrics.limited += 1
        # In the order of its fields.
        known = (trace_id, span_id, is_sampled, flags, parent_id, state, epoch, began, name)
        return _new(TraceContext, known)

    def trace_of(self, exchange: Traced) -> TraceContext | None:
        """Return the trace of *exchange*, which is the same from the first time on."""
        trace = exchange.trace
        if trace is None:
            chain = exchange.chain
            route = None if chain is None else chain.tracing
            trace = exchange.trace = self.begin(
                exchange.received, route, exchange.request_id, exchange.started
            )
        return trace

    def traced(
        self, exchange: Traced, head: RequestHead, fields: bytes, number: int
    ) -> tuple[RequestHead, bytes]:
        """Return the head and all fields with which attempt *number* of *exchange* goes to its endpoint, in place of these.

        *fields* are those of *head*, and then what the proxy adds.
        """
        trace = exchange.trace or self.trace_of(exchange)
        if trace is None:
            return head, fields
        lines = trace_lines(trace, trace.attempt_id(number))
        if b"trace" not in fields.lower():
            return head, fields + lines
        change = RequestChange(head, fields)
        change.change(NO_TRACE)
        return change.head, change.fields + lines

    def exchange_over(self, record: Record) -> None:
        """Take note of an exchange."""
        trace = record.trace
        if trace is None or not trace.is_sampled:
            return
        head, security = record.head, None if record.downstream is None else record.downstream.security
        # What waits must not keep connections, or what a client has filled a head with.
        kept = record._replace(downstream=None, head=None, target=record.target[:MAX_TEXT])
        agent = b"" if head is None else first_value(head.forward, b"user-agent")[:MAX_TEXT]
        self.told(EndedExchange(trace, kept, "" if security is None else security.tls_version(), agent))

    def new_span_id(self) -> str:
        """Return 16 hexadecimal digits that no other span has."""
        return self._new_id()[:16].decode()

    def waited(self, trace: TraceContext | None, name: str, began: float, why: str) -> None:
        """Take note that filter *name* had somebody wait since *began*, until now; *why* says what went wrong, if anything."""
        if trace is not None and trace.is_sampled:
            self.told(EndedWait(trace, self.new_span_id(), name, began, self._seconds(), why))
