"""A record as a line of fields by name, of JSON or in the form that is called logfmt.

Both have all that a record knows, under the same names, which stay as they are (``docs/access-log.md``).  A field that there is
nothing for is left out.  Whatever clients write, a line of JSON is one object of plain ASCII, and one of logfmt is one line of it.

Most values of a line were in another one before, so they are remembered as they stand there; how many, and how long ones, is bounded.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted
from typing import Final, Generic, TypeVar

from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.records import AttemptRecord, Record, RecordedHead, RecordedRoute
from ingress.model.serving.log_formats import LineForm
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.process.timestamps import stamp_of
from ingress.proxy.exchange.access_log.log_lines import MAX_VALUE, LineMaker, field_finder

_MOST_REMEMBERED: Final = 1024
"""Values of one sort."""
_LONGEST_REMEMBERED: Final = 256
"""Bytes of a value that a client chose."""
_LONGEST_FIELDS: Final = 2048
"""Bytes of all fields of a request whose agent and referer are remembered."""

_find_agent: Final = field_finder(b"user-agent")
_find_referer: Final = field_finder(b"referer")
_is_bare: Final = re.compile(r"[!#-<>-\[\]-~]+").fullmatch
"""Plain visible characters, but for ``"``, ``=`` and the backslash."""

Value = TypeVar("Value")


def record_line_maker(form: LineForm) -> LineMaker:
    """Return what makes lines of *form*, which has names."""
    return _JSON.line if form is LineForm.JSON else _LOGFMT.line


class _Told(Generic[Value]):
    """What is said of values that are told apart by identity: to compare them would take longer than to say it."""

    def __init__(self, say: Callable[[Value], str]) -> None:
        self._say = say
        self._said: dict[int, tuple[Value, str]] = {}

    def __call__(self, value: Value) -> str:
        said = self._said.get(id(value))
        if said is not None and said[0] is value:
            return said[1]
        if len(self._said) >= _MOST_REMEMBERED:
            self._said.clear()
        text = self._say(value)
        self._said[id(value)] = value, text
        return text


class _Lines:
    """The lines of one form: *label* stands before a value and has its name, *quote* makes a value of a text."""

    def __init__(
        self,
        label: Callable[[str], str],
        quote: Callable[[str], str],
        ends: tuple[str, str, str],
        attempts: Callable[[tuple[AttemptRecord, ...]], str],
    ) -> None:
        """*ends* begin a line, part its fields, and end it; *attempts* says all of them, as fields."""
        self._label = label
        self._quote = quote
        self._begin, self._between, self._end = ends
        self._attempts = attempts
        numbers = (("status", "%d"), ("bytes_sent", "%d"), ("bytes_received", "%d"), ("seconds", "%.6f"))
        self._numbers = self._between.join(label(name) + number for name, number in numbers)
        self._upstream_seconds = label("upstream_seconds") + "%.6f"
        self._path, self._id = label("path"), label("id")
        # What a client says again and again.
        self._remembered = lru_cache(maxsize=_MOST_REMEMBERED)(self._field)
        self._remembered_agents = lru_cache(maxsize=_MOST_REMEMBERED // 4)(self._agents)
        # By the address: in the settings of an endpoint may be a private key, which is not to stay for a line.
        self._endpoint = lru_cache(maxsize=_MOST_REMEMBERED)(self._of_endpoint)
        self._ingress = _Told[ObjectKey](lambda one: self._pair("ingress", str(one)))
        self._backend = _Told[BackendReference](lambda one: self._pair("backend", str(one)))
        self._route = _Told[RecordedRoute](self._of_route)

    def _pair(self, name: str, text: str) -> str:
        return self._label(name) + self._quote(text[:MAX_VALUE])

    def _field(self, name: str, octets: bytes) -> str:
        return self._label(name) + self._quote(_text(octets))

    def _said(self, name: str, octets: bytes) -> str:
        say = self._remembered if len(octets) <= _LONGEST_REMEMBERED else self._field
        return say(name, octets)

    def _of_endpoint(self, address: str, port: int) -> str:
        return self._pair("endpoint", str(Endpoint(address, port)))

    def _of_route(self, route: RecordedRoute) -> str:
        path = self._label("route_path") + self._quote(route.path)
        if not route.host:
            return path
        return f"{self._label('route_host')}{self._quote(route.host)}{self._between}{path}"

    def _agents(self, fields: bytes) -> str:
        """Return what *fields* of a request say of who asks, and where that was led from; empty for nothing."""
        pairs = (("user_agent", _find_agent(fields)), ("referer", _find_referer(fields)))
        return self._between.join(self._field(name, said) for name, said in pairs if said)

    def _agents_of(self, head: RecordedHead) -> str:
        fields = head.forward
        return (self._remembered_agents if len(fields) <= _LONGEST_FIELDS else self._agents)(fields)

    def line(self, record: Record, now: float) -> bytes:
        """Return the line of *record*, which was made at *now*, in seconds since 1970."""
        # All fields at once: to ask for each by its name takes twice as long.
        (id_, route, owner, filter_, attempts, status, sent, seconds, reason, client, method, host, target, protocol, head, scheme, cause, backend, received, downstream, trace) = record  # fmt: skip
        said = [self._label("time") + self._quote(stamp_of(int(now * 1000)).decode())]
        add = said.append
        if id_:
            add(self._id + self._quote(id_.decode("latin-1")))
        if trace is not None:
            add(self._pair("trace", trace.trace_id))
        add(self._said("client", client))
        if method:
            add(self._said("method", method))
        if scheme:
            add(self._said("scheme", scheme))
        if host:
            add(self._said("host", host))
        if target:
            add(self._path + self._quote(_text(target)))
        add(self._said("protocol", protocol))
        add(self._numbers % (status, sent, received, seconds))
        if attempts:
            add(self._upstream_seconds % sum([_over(one) - one.began for one in attempts]))
            endpoint = attempts[-1].endpoint
            add(self._endpoint(endpoint.address, endpoint.port))
        if owner is not None:
            add(self._ingress(owner))
        if backend is not None:
            add(self._backend(backend))
        if route is not None:
            add(self._route(route))
        if downstream is not None and (security := downstream.security) is not None:
            if version := security.tls_version():
                add(self._pair("tls", version))
            if name := security.server_name():
                add(self._pair("sni", name))
        if head is not None and (agents := self._agents_of(head)):
            add(agents)
        if filter_:
            add(self._pair("filter", filter_))
        if cause is not None:
            add(self._pair("cause", cause.value))
        if reason:
            add(self._pair("reason", reason))
        if attempts:
            add(self._attempts(attempts))
        return f"{self._begin}{self._between.join(said)}{self._end}".encode("ascii")


def _text(octets: bytes) -> str:
    return octets[:MAX_VALUE].decode("utf-8", "backslashreplace")


def _over(attempt: AttemptRecord) -> float:
    return attempt.over if attempt.over >= 0 else attempt.ended


# Times of an attempt are seconds since its endpoint was chosen.


@lru_cache(maxsize=_MOST_REMEMBERED)
def _as_json(address: str, port: int) -> str:
    return f'{{"endpoint":{_quoted(str(Endpoint(address, port)))},"outcome":'


def _attempts_as_json(attempts: tuple[AttemptRecord, ...]) -> str:
    said = ",".join([_attempt_as_json(one) for one in attempts])
    return f'"attempts":[{said}]'


def _attempt_as_json(attempt: AttemptRecord) -> str:
    endpoint, outcome, began, ended, connected, _, is_reused = attempt
    connect = f',"connect":{connected - began:.6f}' if connected >= 0 else ""
    head = f',"head":{ended - began:.6f}' if outcome.isdigit() else ""
    reused = ',"reused":true' if is_reused else ""
    seconds = _over(attempt) - began
    return f'{_as_json(endpoint.address, endpoint.port)}{_quoted(outcome)}{connect}{head},"seconds":{seconds:.6f}{reused}}}'


_COLUMNS: Final[dict[str, Callable[[AttemptRecord], str]]] = {
    "endpoints": lambda one: str(one.endpoint),
    "outcomes": lambda one: one.outcome,
    "connect_seconds": lambda one: f"{one.connected - one.began:.6f}" if one.connected >= 0 else "-",
    "head_seconds": lambda one: f"{one.ended - one.began:.6f}" if one.outcome.isdigit() else "-",
    "attempt_seconds": lambda one: f"{_over(one) - one.began:.6f}",
}
"""Of all attempts in their order, with semicolons between them, as logfmt has no lists."""


def _attempts_as_columns(attempts: tuple[AttemptRecord, ...]) -> str:
    columns = ((name, ";".join(map(column, attempts))) for name, column in _COLUMNS.items())
    return " ".join([f"{name}={_bare_or_quoted(said)}" for name, said in columns])


def _bare_or_quoted(text: str) -> str:
    return text if _is_bare(text) else _quoted(text)


_JSON: Final = _Lines(lambda name: f'"{name}":', _quoted, ("{", ",", "}"), _attempts_as_json)
_LOGFMT: Final = _Lines(lambda name: f"{name}=", _bare_or_quoted, ("", " ", ""), _attempts_as_columns)
