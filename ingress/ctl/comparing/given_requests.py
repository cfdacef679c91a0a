"""Samples that somebody brings: URLs, an access log, JSON lines, or a HAR file.

The form of each line is seen by its beginning, and lines of several forms may stand in one file:

    https://shop.example.com/cart                        GET, or a method before the URL
    {"method": "GET", "url": "https://…", "headers": {"Accept": "text/html"}}
    {"vhost": "shop.example.com", "path": "/cart", "request_query": "id=7", "method": "GET", …}      a log in JSON
    10.1.2.3 - - [22/Nov/2026:10:00:00 +0000] "GET /cart HTTP/1.1" 200 …      combined, and ingress-nginx's own
    2026-11-22T10:00:00.000Z 10.1.2.3 GET shop.example.com "/cart" 200 …      this controller's own

A log of nginx names no host.  That of ingress-nginx names the backend (``namespace-service-port``), by which the hosts are
found whose rules lead there; else they are those of ``--host``.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any, Final, TextIO

from ingress.ctl.comparing.generating import encrypted_hosts, sample_host, scheme_of
from ingress.ctl.comparing.samples import METHOD, OURS_ALONE, Chooser, Chosen, Sample, host_name
from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.input import Input
from ingress.model.text.lookup_budget import found_at_last
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.hosts import HostError, normal_host
from ingress.routing.paths import PathError, normal_path
from ingress.routing.route import Route

MAX_LINE: Final = 64 * 1024
MAX_HAR: Final = 64 * 1024 * 1024
MAX_LINES: Final = 2_000_000
"""Lines of a file that are read."""
_REQUEST_LINE: Final = re.compile(r'"([A-Z][A-Z-]{0,31}) ([^" ]+) HTTP/[0-9.]{1,4}"')
_UPSTREAM_NAME: Final = re.compile(r" [0-9.-]+ [0-9.-]+ \[([a-z0-9.-]+)\] \[")
_OURS: Final = re.compile(r'[0-9T:.-]+Z \S+ ([A-Z][A-Z-]{0,31}) (\S+) "([^"]*)" [0-9]{3} ')
_ESCAPE: Final = re.compile(r"\\x([0-9A-Fa-f]{2})")
_LOG_NAMES: Final = (
    ("vhost", "host", "http_host"),
    ("request_uri", "path", "uri"),
    ("request_query", "args", "query_string", "query"),
    ("method", "request_method"),
)
_URL: Final = re.compile(r"(?:([A-Z][A-Z-]{0,31})\s+)?(https?://\S+)\s*")


class NoSampleError(ValueError):
    """A line that is no request; the message says why, as a reason for leaving it out."""


class Hosts:
    """Which hosts are meant where a line names none: those of *given*'s rules, or else *named*."""

    def __init__(self, named: Iterable[str] = (), given: Input | None = None) -> None:
        self._named = list(named)
        self._layers = () if given is None else given.layers
        self._encrypted = frozenset().union(*(encrypted_hosts(layer) for layer in self._layers))
        self._by_upstream: dict[str, dict[str, Input]] = {}
        for layer in self._layers:
            for route in layer.snapshot.routes():
                hosts = self._by_upstream.setdefault(_upstream_name(route), {})
                hosts.setdefault(sample_host(route.host), layer)

    def scheme(self, host: str) -> str:
        """Return what people use at *host*."""
        return scheme_of(host_name(host), self._encrypted)

    def of(self, target: str, upstream: str) -> list[str]:
        """Return the hosts at which a request for *target* leads to the backend that nginx calls *upstream*."""
        found = []
        for host, layer in self._by_upstream.get(upstream, {}).items():
            taken = route_of(layer, host, target)
            if taken is not None and _upstream_name(taken) == upstream:
                found.append(host)
        return sorted(found) or self._named


def route_of(given: Input, host: str, target: str) -> Route | None:
    """Return the route of *given* that takes a request, None where none does or its host or path is no such thing."""
    try:
        name, _ = normal_host(host.encode())
        path = normal_path(target.partition("?")[0].encode())
        return found_at_last(partial(given.snapshot.table.find, name, path))
    except (HostError, PathError, PathTooLong, UnicodeEncodeError):
        return None


def _upstream_name(route: Route) -> str:
    """Return what ingress-nginx calls the backend of *route*: ``$proxy_upstream_name``."""
    return f"{route.backend.namespace}-{route.backend.name}-{route.backend.port}"


def lines_of(file: TextIO) -> Iterator[str]:
    """Yield the lines of *file*; one that is too long comes in pieces, none of which is a request."""
    while line := file.readline(MAX_LINE + 1):
        yield line


def read_requests(lines: Iterable[str], hosts: Hosts, chooser: Chooser, name: str = "--requests") -> Chosen:
    """Have *chooser* take the samples in *lines*, each with its line end; raises ``Mistake`` where there is none in the file *name*."""
    some = iter(lines)
    first = next(some, "").removeprefix("\ufeff")
    if first.lstrip().startswith("{") and not _is_json_line(first):
        _read_har(chain([first], some), chooser, name)
    else:
        for line in islice(chain([first], some), MAX_LINES):
            _read(partial(_of_line, line, hosts), chooser)
        if (more := sum(1 for _ in some)) > 0:
            chooser.leave_out(f"beyond the first {MAX_LINES} lines", more)
    chosen = chooser.chosen()
    if not chosen.samples and not chosen.left_out:
        raise Mistake(f"{name}: there is no request in it")
    return chosen


def _read(read: Callable[[], Iterable[Sample]], chooser: Chooser) -> None:
    try:
        for sample in read():
            chooser.add(sample)
    except NoSampleError as error:
        chooser.leave_out(str(error))


def _of_line(line: str, hosts: Hosts) -> Iterable[Sample]:
    line = line.strip()
    if not line or line.startswith("#"):
        return ()
    if len(line) > MAX_LINE:
        raise NoSampleError(f"of lines longer than {MAX_LINE} characters")
    if line.startswith("{"):
        entry = _object(line)
        return [_of_json(entry) if "url" in entry else _of_json_log(entry, hosts)]
    if url := _URL.fullmatch(line):
        return [_of_url(url[1] or "GET", url[2])]
    if ours := _OURS.match(line):
        method, host, target = ours[1], ours[2], _unescaped(ours[3])
        return [Sample(hosts.scheme(host), method, host, target, of=host, what="of the access log")]
    if request := _REQUEST_LINE.search(line):
        upstream = _UPSTREAM_NAME.search(line, request.end())
        target = _unescaped(request[2])
        found = hosts.of(target, upstream[1] if upstream else "")
        if not found:
            raise NoSampleError("of log lines of which no host is known; --host names one")
        return [
            Sample(hosts.scheme(host), request[1], host, target, of=host, what="of the access log")
            for host in found
        ]
    raise NoSampleError("of lines that are in none of the forms that are read")


def _unescaped(target: str) -> str:
    """Return *target* as it was before it was written into a log, where quotes and bytes beyond ASCII are escaped."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), target)


def _of_url(method: str, url: str, fields: tuple[tuple[str, str], ...] = ()) -> Sample:
    """Split *url* without changing anything of it."""
    scheme, sign, rest = url.partition("://")
    scheme = scheme.lower()
    if not sign or scheme not in ("http", "https"):
        raise NoSampleError("of URLs that are neither http nor https")
    rest = rest.partition("#")[0]
    end = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    host, target = rest[:end], rest[end:]
    if "@" in host:
        raise NoSampleError("of URLs with a user's name in them; --credentials is for these")
    target = target if target.startswith("/") else f"/{target}"
    return Sample(scheme, method, host, target, fields, of=host, what="given")


def _object(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise NoSampleError("of lines that begin like JSON and are none") from None
    if not isinstance(found, dict):
        raise NoSampleError("of lines that begin like JSON and are none")
    return found


def _of_json(entry: Mapping[str, Any]) -> Sample:
    """Read ``{"method": …, "url": …, "headers": …}``; headers are a mapping, or a list as in a HAR."""
    method, url, headers = entry.get("method", "GET"), entry.get("url"), entry.get("headers") or {}
    if not isinstance(url, str) or not isinstance(method, str) or not METHOD.fullmatch(method):
        raise NoSampleError("of JSON objects without url, or with a method that is none")
    if isinstance(headers, list):
        pairs = [(one.get("name"), one.get("value")) for one in headers if isinstance(one, dict)]
    elif isinstance(headers, dict):
        pairs = list(headers.items())
    else:
        raise NoSampleError("of JSON objects whose headers are neither an object nor a list")
    fields: list[tuple[str, str]] = []
    for name, value in pairs:
        if not isinstance(name, str) or not isinstance(value, str):
            raise NoSampleError("of JSON objects with a header that is no text")
        # Pseudo-fields of HTTP/2 begin with a colon.
        if name and not name.startswith(":") and name.lower() not in OURS_ALONE:
            fields.append((name, value))
    return _of_url(method, url, tuple(fields))


def _of_entry(entry: Mapping[str, Any]) -> Iterable[Sample]:
    return [_of_json(entry)]


def _of_json_log(entry: Mapping[str, Any], hosts: Hosts) -> Sample:
    """Read a line of an access log in JSON, by the names that ingress-nginx's documents use, or nginx's variables."""
    host, path, query, method = (
        next((entry[name] for name in names if isinstance(entry.get(name), str)), "") for names in _LOG_NAMES
    )
    if not host or not path or not METHOD.fullmatch(method):
        raise NoSampleError("of JSON objects without url, or without host, path and method of a log")
    target = f"{path}?{query}" if query and "?" not in path else path
    return Sample(hosts.scheme(host), method, host, target, of=host, what="of the access log")


def _is_json_line(line: str) -> bool:
    try:
        return "log" not in _object(line)
    except NoSampleError:
        return False


def _read_har(lines: Iterable[str], chooser: Chooser, name: str) -> None:
    """Read all of *lines* as one HAR (HTTP Archive 1.2)."""
    parts: list[str] = []
    size = 0
    for line in lines:
        size += len(line)
        if size > MAX_HAR:
            raise Mistake(f"{name}: it is larger than {MAX_HAR // 1024 // 1024} MiB and no list of lines")
        parts.append(line)
    try:
        entries = json.loads("".join(parts))["log"]["entries"]
        requests = [entry["request"] for entry in entries]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Mistake(
            f"{name}: it begins like JSON, and is neither one object a line nor a HAR file"
        ) from None
    for request in requests:
        if isinstance(request, dict):
            _read(partial(_of_entry, request), chooser)
        else:
            chooser.leave_out("of JSON objects without url, or with a method that is none")
