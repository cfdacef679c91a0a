"""A record as a line of the access log in a format of nginx's.

A format becomes one function, once; what clients write is cut and escaped, so that no line is forged.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable
from os import getpid
from socket import gethostname
from time import gmtime, strftime
from typing import Final

from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import AttemptRecord, Record, RecordedSecurity
from ingress.model.serving.log_formats import LogFormat
from ingress.model.text.named_values import cookie_variable, query_value

MAX_VALUE: Final = 2048
"""Bytes of a value that a line shows."""

LineMaker = Callable[[Record, float], bytes]
"""Makes a line of a record and the time of day at which it ended, in seconds since 1970."""
_Value = Callable[[Record, float], bytes]

_SAFE: Final = bytes(octet for octet in range(0x20, 0x7F) if octet not in b'"\\')
_match_unsafe = re.compile(rb"[^\x20\x21\x23-\x5b\x5d-\x7e]")
_SHOWN: Final[tuple[bytes, ...]] = tuple(
    b"%c" % octet if octet in _SAFE else b"\\x%02X" % octet for octet in range(0x100)
)
_A_FEW: Final = 8
"""Where there are this many octets or more for each that is not shown as it is, these are looked for."""


def line_maker(log_format: LogFormat, *, escapes_json: bool) -> LineMaker:
    """Return what makes lines in *log_format*."""
    escape, nothing = (_in_json, b"") if escapes_json else (_in_line, b"-")
    texts = [part.encode() for part in log_format.parts[::2]]
    values = [_value_of(name) for name in log_format.parts[1::2]]

    def make(record: Record, now: float) -> bytes:
        line = [texts[0]]
        for value, text in zip(values, texts[1:], strict=True):
            found = value(record, now)[:MAX_VALUE]
            line.append(escape(found) if found else nothing)
            line.append(text)
        return b"".join(line)

    return make


def _in_line(value: bytes) -> bytes:
    return escaped(value, _SAFE, _match_unsafe, _SHOWN)


def escaped(value: bytes, safe: bytes, unsafe: re.Pattern[bytes], shown: tuple[bytes, ...]) -> bytes:
    """Return *value* with each octet that is not *safe*, as *unsafe* finds them, as it is *shown*.

    A call for each of them takes as long as a request, where a client sends nothing else.
    """
    odd = len(value.translate(None, safe))
    if odd * _A_FEW > len(value):
        return b"".join(map(shown.__getitem__, value))
    return unsafe.sub(lambda found: shown[found[0][0]], value) if odd else value


def _in_json(value: bytes) -> bytes:
    return json.dumps(value.decode("utf-8", "replace"))[1:-1].encode("ascii")


def _value_of(name: str) -> _Value:
    known = _VALUES.get(name)
    if known is not None:
        return known
    family, _, rest = name.partition("_")
    called = rest.encode("ascii")
    if family == "arg":
        return lambda record, now: query_value(record.target, called)
    if name.lower() == "http_content_length":
        return _content_length
    if name.lower() == "http_upgrade":
        return _upgrade
    if name.lower() == "http_connection":
        return lambda record, now: b"Upgrade" if _upgrade(record, now) else b""
    field = request_field(called.lower().replace(b"_", b"-") if family == "http" else b"cookie")
    if family == "cookie":
        return lambda record, now: cookie_variable(field(record, now), called)
    return field


def field_finder(name: bytes) -> Callable[[bytes], bytes]:
    """Return what finds the values of the field *name* in lines of fields, each with its end; several are joined, cookies as cookies are."""
    # Each field stands behind the end of a line; to look for the beginnings of lines takes several times as long.
    find = re.compile(rb"\n%b:[ \t]*([^\r\n]*)" % re.escape(name), re.IGNORECASE).findall
    between = b"; " if name == b"cookie" else b", "

    def value(fields: bytes) -> bytes:
        return between.join(find(b"\n" + fields)).strip()

    return value


def request_field(name: bytes) -> _Value:
    """Return what finds the field *name* of the request, as it came."""
    find = field_finder(name)

    def value(record: Record, now: float) -> bytes:
        head = record.head
        if head is None:
            return b""
        if name in head.forwarded:
            return head.forwarded[name]
        return find(head.forward)

    return value


def _content_length(record: Record, now: float) -> bytes:
    # It frames the request, and so is none of its fields.
    if record.head is None or record.head.content_length < 0:
        return b""
    return b"%d" % record.head.content_length


def _upgrade(record: Record, now: float) -> bytes:
    return b"" if record.head is None else record.head.upgrade


_AUTHORIZATION: Final = request_field(b"authorization")


def _user(record: Record, now: float) -> bytes:
    scheme, _, encoded = _AUTHORIZATION(record, now).partition(b" ")
    if scheme.lower() != b"basic" or len(encoded) > MAX_VALUE:
        return b""
    try:
        return b64decode(encoded.strip(), validate=True).partition(b":")[0]
    except ValueError:
        return b""


def _forwarded_for(record: Record, now: float) -> bytes:
    said = b"" if record.head is None else record.head.forwarded.get(b"x-forwarded-for", b"")
    return said + b", " + record.client if said else record.client


def _length(record: Record, now: float) -> bytes:
    head = record.head
    if head is None:
        return b"0"
    # The request line, and the fields as far as they go on.
    sent = len(record.method) + len(record.target) + len(b"  HTTP/1.1\r\n\r\n") + len(head.forward)
    return b"%d" % (sent + record.bytes_received)


def _each(text: Callable[..., str]) -> _Value:
    def value(record: Record, now: float) -> bytes:
        return ", ".join(text(attempt) for attempt in record.attempts).encode()

    return value


def _security(word: Callable[[RecordedSecurity], str]) -> _Value:
    def value(record: Record, now: float) -> bytes:
        security = None if record.downstream is None else record.downstream.security
        return b"" if security is None else word(security).encode()

    return value


def _alternative(record: Record, now: float) -> bytes:
    """Return the backend that was asked in place of the route's own."""
    backend = record.backend
    if backend is None or record.route is None or backend == record.route.backend:
        return b""
    return f"{backend.namespace}-{backend.name}-{backend.port}".encode()


def _connect_time(attempt: AttemptRecord) -> str:
    return "-" if attempt.connected < 0 else f"{attempt.connected - attempt.began:.3f}"


def _header_time(attempt: AttemptRecord) -> str:
    return f"{attempt.ended - attempt.began:.3f}" if attempt.outcome.isdigit() else "-"


def _response_time(attempt: AttemptRecord) -> str:
    over = attempt.over if attempt.over >= 0 else attempt.ended
    return f"{over - attempt.began:.3f}"


def _status_of(outcome: str) -> str:
    return outcome if outcome.isdigit() else "502"


def _of_backend(*names: str) -> _Value:
    def value(record: Record, now: float) -> bytes:
        backend = None if record.route is None else record.route.backend
        if backend is None:
            return b""
        return "-".join(str(getattr(backend, name)) for name in names).encode()

    return value


def _completion(record: Record, now: float) -> bytes:
    """Return whether the client got a whole answer, be it an error; a failure beside the status of none has cut it."""
    is_whole = record.cause is None or (record.cause not in _BROKEN and record.status >= 400)
    return b"OK" if is_whole else b""


_BROKEN: Final = (Cause.CUT, Cause.CLIENT)

_VALUES: Final[dict[str, _Value]] = {
    "remote_addr": lambda record, now: record.client,
    "the_real_ip": lambda record, now: record.client,
    "realip_remote_addr": lambda record, now: record.client,
    "proxy_protocol_addr": lambda record, now: record.client,
    "proxy_add_x_forwarded_for": _forwarded_for,
    "remote_user": _user,
    "time_local": lambda record, now: strftime("%d/%b/%Y:%H:%M:%S +0000", gmtime(now)).encode(),
    "time_iso8601": lambda record, now: strftime("%Y-%m-%dT%H:%M:%S+00:00", gmtime(now)).encode(),
    "msec": lambda record, now: b"%.3f" % now,
    "request": lambda record, now: b"%b %b %b" % (record.method, record.target, record.protocol),
    "request_method": lambda record, now: record.method,
    "request_uri": lambda record, now: record.target,
    "uri": lambda record, now: record.target.partition(b"?")[0],
    "args": lambda record, now: record.target.partition(b"?")[2],
    "query_string": lambda record, now: record.target.partition(b"?")[2],
    "is_args": lambda record, now: b"?" if b"?" in record.target else b"",
    "host": lambda record, now: record.host,
    "http_host": lambda record, now: record.host if record.head is None else record.head.authority,
    "server_protocol": lambda record, now: record.protocol,
    "scheme": lambda record, now: record.scheme,
    "status": lambda record, now: b"%d" % record.status,
    "body_bytes_sent": lambda record, now: b"%d" % record.bytes_sent,
    "bytes_sent": lambda record, now: b"%d" % record.bytes_sent,
    "request_length": _length,
    "request_time": lambda record, now: b"%.3f" % record.seconds,
    "upstream_addr": _each(lambda attempt: str(attempt.endpoint)),
    "upstream_status": _each(lambda attempt: _status_of(attempt.outcome)),
    "upstream_response_time": _each(_response_time),
    "upstream_header_time": _each(_header_time),
    "upstream_connect_time": _each(_connect_time),
    "upstream_cache_status": lambda record, now: b"",
    "upstream_response_length": lambda record, now: b"%d" % record.bytes_sent if record.attempts else b"",
    "proxy_host": _of_backend("namespace", "name", "port"),
    "proxy_upstream_name": _of_backend("namespace", "name", "port"),
    "proxy_alternative_upstream_name": _alternative,
    "namespace": lambda record, now: b"" if record.owner is None else record.owner.namespace.encode(),
    "ingress_name": lambda record, now: b"" if record.owner is None else record.owner.name.encode(),
    "service_name": _of_backend("name"),
    "service_port": _of_backend("port"),
    "location_path": lambda record, now: b"" if record.route is None else record.route.path.encode(),
    "req_id": lambda record, now: record.id,
    "request_id": lambda record, now: record.id,
    "pipe": lambda record, now: b".",
    "bytes_received": lambda record, now: b"%d" % record.bytes_received,
    "content_length": _content_length,
    "content_type": request_field(b"content-type"),
    "ssl_protocol": _security(lambda security: security.tls_version()),
    "ssl_server_name": _security(lambda security: security.server_name()),
    "server_name": lambda record, now: b"" if record.route is None else record.route.host.encode() or b"_",
    "request_completion": _completion,
    "hostname": lambda record, now: gethostname().encode(),
    "pid": lambda record, now: b"%d" % getpid(),
    "opentelemetry_trace_id": lambda record, now: (
        b"" if record.trace is None else record.trace.trace_id.encode()
    ),
    "opentelemetry_span_id": lambda record, now: (
        b"" if record.trace is None else record.trace.span_id.encode()
    ),
    "failure_cause": lambda record, now: b"" if record.cause is None else record.cause.value.encode(),
    "failure_reason": lambda record, now: record.reason.encode(),
    "filter": lambda record, now: record.filter.encode(),
}
