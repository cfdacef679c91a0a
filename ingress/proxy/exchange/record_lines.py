"""A record as a line of fields by name, of JSON or in the form that is called logfmt.

Both have all that a record knows, under the same names, which stay as they are (``docs/access-log.md``).  A field that there is
nothing for is left out.  Whatever clients write, a line of JSON is one object of plain ASCII, and one of logfmt is one line of it.
"""

import re
from collections.abc import Callable, Hashable
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted
from typing import Final

from ingress.model.log_formats import LineForm
from ingress.model.records import AttemptRecord, Record
from ingress.process.timestamps import stamp_of
from ingress.proxy.exchange.log_lines import MAX_VALUE, LineMaker, request_field

_AGENT: Final = request_field(b"user-agent")
_REFERER: Final = request_field(b"referer")
_is_bare: Final = re.compile(r"[!#-<>-\[\]-~]+").fullmatch
"""Plain visible characters, but for ``"``, ``=`` and the backslash."""


def record_line_maker(form: LineForm) -> LineMaker:
    """Return what makes lines of *form*, which has names."""
    return _MAKERS[form]


# What follows is written out rather than called: each line has some thirty values.


def _as_json(record: Record, now: float) -> bytes:
    said = _object(_fields(record, now))
    if record.attempts:
        attempts = ",".join([_attempt(one) for one in record.attempts])
        said = f'{said[:-1]},"attempts":[{attempts}]}}'
    return said.encode("ascii")


def _object(fields: dict[str, str | float]) -> str:
    """Return *fields*, whose names are plain words, as an object of JSON."""
    pairs = [f'"{name}":{_quoted(value) if type(value) is str else value}' for name, value in fields.items()]
    return f"{{{','.join(pairs)}}}"


def _as_logfmt(record: Record, now: float) -> bytes:
    fields = _fields(record, now)
    if record.attempts:
        for name, column in _COLUMNS.items():
            fields[name] = ";".join(map(column, record.attempts))
    pairs = [
        f"{name}={value if type(value) is not str or _is_bare(value) else _quoted(value)}"
        for name, value in fields.items()
    ]
    return " ".join(pairs).encode("ascii")


_MAKERS: Final[dict[LineForm, LineMaker]] = {LineForm.JSON: _as_json, LineForm.LOGFMT: _as_logfmt}


def _text(octets: bytes) -> str:
    return octets[:MAX_VALUE].decode("utf-8", "backslashreplace")


def _fields(record: Record, now: float) -> dict[str, str | float]:
    """Return what *record* knows, but for its attempts, by name."""
    fields: dict[str, str | float] = {"time": stamp_of(int(now * 1000)).decode()}
    trace, attempts, route, cause = record.trace, record.attempts, record.route, record.cause
    if record.id:
        fields["id"] = record.id.decode("latin-1")
    if trace is not None:
        fields["trace"] = trace.trace_id
    fields["client"] = _text(record.client)
    if record.method:
        fields["method"] = _text(record.method)
    if record.scheme:
        fields["scheme"] = _text(record.scheme)
    if record.host:
        fields["host"] = _text(record.host)
    if record.target:
        fields["path"] = _text(record.target)
    fields["protocol"] = _text(record.protocol)
    fields["status"] = record.status
    fields["bytes_sent"] = record.bytes_sent
    fields["bytes_received"] = record.bytes_received
    fields["seconds"] = round(record.seconds, 6)
    if attempts:
        fields["upstream_seconds"] = round(sum(_over(one) - one.began for one in attempts), 6)
        fields["endpoint"] = _shown(attempts[-1].endpoint)
    if record.owner is not None:
        fields["ingress"] = _shown(record.owner)
    if record.backend is not None:
        fields["backend"] = _shown(record.backend)[:MAX_VALUE]
    if route is not None:
        if route.host:
            fields["route_host"] = route.host
        fields["route_path"] = route.path
    if record.downstream is not None and (security := record.downstream.security) is not None:
        if version := security.tls_version():
            fields["tls"] = version
        if name := security.server_name():
            fields["sni"] = name[:MAX_VALUE]
    if agent := _AGENT(record, now):
        fields["user_agent"] = _text(agent)
    if referer := _REFERER(record, now):
        fields["referer"] = _text(referer)
    if record.filter:
        fields["filter"] = record.filter
    if cause is not None:
        fields["cause"] = cause.value
    if record.reason:
        fields["reason"] = record.reason[:MAX_VALUE]
    return fields


@lru_cache(maxsize=4096)
def _shown(value: Hashable) -> str:
    return str(value)


def _over(attempt: AttemptRecord) -> float:
    return attempt.over if attempt.over >= 0 else attempt.ended


def _attempt(attempt: AttemptRecord) -> str:
    """Return one attempt as an object of JSON; times are seconds since its endpoint was chosen."""
    told: dict[str, str | float] = {"endpoint": _shown(attempt.endpoint), "outcome": attempt.outcome}
    if attempt.connected >= 0:
        told["connect"] = round(attempt.connected - attempt.began, 6)
    if attempt.outcome.isdigit():
        told["head"] = round(attempt.ended - attempt.began, 6)
    told["seconds"] = round(_over(attempt) - attempt.began, 6)
    # The one value that is neither a text nor a number.
    return f'{_object(told)[:-1]},"reused":true}}' if attempt.is_reused else _object(told)


_COLUMNS: Final[dict[str, Callable[[AttemptRecord], str]]] = {
    "endpoints": lambda one: _shown(one.endpoint),
    "outcomes": lambda one: one.outcome,
    "connect_seconds": lambda one: f"{one.connected - one.began:.6f}" if one.connected >= 0 else "-",
    "head_seconds": lambda one: f"{one.ended - one.began:.6f}" if one.outcome.isdigit() else "-",
    "attempt_seconds": lambda one: f"{_over(one) - one.began:.6f}",
}
"""Of all attempts in their order, with semicolons between them, as logfmt has no lists."""
