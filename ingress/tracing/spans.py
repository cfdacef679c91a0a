"""What ended, as spans: plain values by the semantic conventions of OpenTelemetry for HTTP.

Texts that clients chose are cut; query strings are left out unless they are asked for.  Names of attributes that the
conventions lack begin with ``txingress.``.

Source: https://opentelemetry.io/docs/specs/semconv/http/http-spans/.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import AttemptRecord, Record
from ingress.model.network.http_urls import parse_url
from ingress.model.observability.span_names import MAX_NAME, SpanName
from ingress.tracing.ended import MAX_TEXT, Ended, EndedExchange, EndedSubRequest, EndedWait

METHODS: Final = frozenset((b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"QUERY"))
"""Those that the conventions know, and that get here; any other is ``_OTHER``."""
_VERSIONS: Final = {b"HTTP/1.0": "1.0", b"HTTP/2.0": "2"}
# Few are asked, and often.
_read_url = lru_cache(maxsize=256)(parse_url)

Value = str | int | float | bool


class SpanKind(Enum):
    """What a span is of, as OpenTelemetry has it."""

    SERVER = "server"
    CLIENT = "client"
    INTERNAL = "internal"


class Span(NamedTuple):
    """One span; times are nanoseconds since 1970."""

    name: str
    kind: SpanKind
    trace_id: str
    span_id: str
    parent_id: str
    """Empty where the trace begins with it."""
    is_parent_remote: bool
    state: str
    began: int
    over: int
    attributes: Mapping[str, Value]
    error: str | None = None
    """What went wrong; None where nothing did."""


def spans_of(ended: Ended, *, shows_query: bool) -> tuple[Span, ...]:
    """Return the spans that *ended* becomes, the one that is the parent of the others first."""
    if isinstance(ended, EndedExchange):
        return (_exchange(ended, shows_query), *_attempts(ended))
    if isinstance(ended, EndedSubRequest):
        return (_sub_request(ended),)
    return (_wait(ended),)


def text_of(octets: bytes) -> str:
    """Return what somebody wrote, cut to a sane length."""
    return octets[:MAX_TEXT].decode("utf-8", "backslashreplace")[:MAX_TEXT]


def _method(method: bytes) -> Iterator[tuple[str, Value]]:
    if method in METHODS:
        yield "http.request.method", method.decode()
    else:
        yield "http.request.method", "_OTHER"
        yield "http.request.method_original", text_of(method[:32])


def _name_of(method: bytes) -> str:
    return method.decode() if method in METHODS else "HTTP"


def render_name(name: SpanName, record: Record) -> str:
    """Return *name* with the values of one exchange."""
    route, owner, backend = record.route, record.owner, record.backend
    path = "" if route is None else route.path
    known = {
        "request_method": _name_of(record.method),
        "host": "" if route is None else route.host,
        "location_path": path,
        "uri": path,
        "request_uri": path,
        "namespace": "" if owner is None else owner.namespace,
        "ingress_name": "" if owner is None else owner.name,
        "service_name": "" if backend is None else backend.name,
        "service_port": "" if backend is None else str(backend.port),
        "scheme": record.scheme.decode(),
    }
    parts = [known[part] if at % 2 else part for at, part in enumerate(name.parts)]
    return "".join(parts)[:MAX_NAME] or _name_of(record.method)


def _exchange(ended: EndedExchange, shows_query: bool) -> Span:
    trace, record = ended.trace, ended.record
    route = record.route
    if trace.name is not None:
        name = render_name(trace.name, record)
    else:
        name = _name_of(record.method) + (
            "" if route is None or not route.path else f" {route.path[:MAX_NAME]}"
        )
    error = None
    if record.status >= 500 or record.cause in (Cause.CUT, Cause.BUG):
        error = record.reason or f"answered {record.status}"
    return Span(
        name,
        SpanKind.SERVER,
        trace.trace_id,
        trace.span_id,
        trace.parent_id,
        True,
        trace.state,
        trace.time_of(trace.began),
        trace.time_of(trace.began + record.seconds),
        dict(_of_exchange(ended, shows_query)),
        None if error is None else error[:MAX_TEXT],
    )


def _of_exchange(ended: EndedExchange, shows_query: bool) -> Iterator[tuple[str, Value]]:
    record = ended.record
    yield from _method(record.method)
    path, _, query = record.target.partition(b"?")
    yield "url.path", text_of(path)
    if shows_query and query:
        yield "url.query", text_of(query)
    yield "url.scheme", record.scheme.decode()
    yield "server.address", text_of(record.host)
    yield "client.address", text_of(record.client)
    yield "http.response.status_code", record.status
    yield "http.response.body.size", record.bytes_sent
    if record.bytes_received:
        yield "http.request.body.size", record.bytes_received
    yield "network.protocol.version", _VERSIONS.get(record.protocol, "1.1")
    if ended.tls_version:
        yield "tls.protocol.version", ended.tls_version.removeprefix("TLSv")
    if ended.agent:
        yield "user_agent.original", text_of(ended.agent)
    if record.route is not None and record.route.path:
        yield "http.route", record.route.path[:MAX_TEXT]
    if record.owner is not None:
        yield "k8s.namespace.name", record.owner.namespace
        yield "txingress.ingress", str(record.owner)
    if record.backend is not None:
        yield "txingress.backend", str(record.backend)[:MAX_TEXT]
    if record.id:
        yield "txingress.request_id", text_of(record.id)
    if record.filter:
        yield "txingress.filter", record.filter[:MAX_TEXT]
    if record.cause is not None:
        yield "txingress.cause", record.cause.value
    if record.reason:
        yield "txingress.reason", record.reason[:MAX_TEXT]
    if record.status >= 500 or record.cause in (Cause.CUT, Cause.BUG):
        is_own = record.cause not in (None, Cause.UPSTREAM)
        yield "error.type", record.cause.value if is_own and record.cause is not None else str(record.status)


def _attempts(ended: EndedExchange) -> Iterator[Span]:
    trace, record = ended.trace, ended.record
    for number, attempt in enumerate(record.attempts):
        over = attempt.over if attempt.over >= 0 else attempt.ended
        outcome = attempt.outcome
        is_error = not outcome.isdigit() or int(outcome) >= 400
        yield Span(
            _name_of(record.method),
            SpanKind.CLIENT,
            trace.trace_id,
            trace.attempt_id(number),
            trace.span_id,
            False,
            trace.state,
            trace.time_of(trace.began + attempt.began),
            trace.time_of(trace.began + max(attempt.began, over)),
            dict(_of_attempt(record, attempt, number)),
            outcome[:MAX_TEXT] if is_error else None,
        )


def _of_attempt(record: Record, attempt: AttemptRecord, number: int) -> Iterator[tuple[str, Value]]:
    endpoint, outcome = attempt.endpoint, attempt.outcome
    yield from _method(record.method)
    link = endpoint.link_settings
    yield "url.scheme", "http" if link is None or link.tls is None else "https"
    yield "server.address", endpoint.address
    yield "server.port", endpoint.port
    if outcome.isdigit():
        yield "http.response.status_code", int(outcome)
    if not outcome.isdigit() or int(outcome) >= 400:
        yield "error.type", outcome[:MAX_TEXT]
    if number:
        yield "http.request.resend_count", number
    if record.backend is not None:
        yield "txingress.backend", str(record.backend)[:MAX_TEXT]
    if attempt.connected >= 0:
        yield "txingress.connection.reused", attempt.is_reused
        yield "txingress.connection.seconds", round(max(0.0, attempt.connected - attempt.began), 6)


def _sub_request(ended: EndedSubRequest) -> Span:
    trace = ended.trace
    attributes: dict[str, Value] = dict(_method(ended.method))
    url = _read_url(ended.url)
    scheme = "https" if url.is_secure else "http"
    attributes["url.full"] = f"{scheme}://{url.authority.decode()}{text_of(ended.target.partition(b'?')[0])}"
    attributes["server.address"] = url.host
    attributes["server.port"] = url.port
    attributes["txingress.sub_request"] = "ask" if ended.is_awaited else "tell"
    error = ended.why[:MAX_TEXT] or (str(ended.status) if ended.status >= 400 else None)
    if ended.status:
        attributes["http.response.status_code"] = ended.status
    if error:
        attributes["error.type"] = str(ended.status) if ended.status else "failed"
    return Span(
        _name_of(ended.method),
        SpanKind.CLIENT,
        trace.trace_id,
        ended.span_id,
        trace.span_id,
        False,
        trace.state,
        trace.time_of(ended.began),
        trace.time_of(ended.over),
        attributes,
        error,
    )


def _wait(ended: EndedWait) -> Span:
    trace = ended.trace
    attributes: dict[str, Value] = {"txingress.filter": ended.filter}
    if ended.why:
        attributes["error.type"] = "failed"
    return Span(
        f"filter {ended.filter}",
        SpanKind.INTERNAL,
        trace.trace_id,
        ended.span_id,
        trace.span_id,
        False,
        trace.state,
        trace.time_of(ended.began),
        trace.time_of(ended.over),
        attributes,
        ended.why[:MAX_TEXT] or None,
    )
