"""An explanation as text that is read from top to bottom: what becomes of the request, and then why.

It is made of the plain data, which may come from a controller of another version: what is not there is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ingress.ctl.columns import wrapped
from ingress.ctl.terminal import printable
from ingress.wording import number_of

_WIDTH: Final = 12
_INDENT: Final = 3
_STREAMS: Final = {
    "tcp": "stream of TCP",
    "udp": "session of UDP",
    "passthrough": "TLS that passes through",
    "terminated": "stream out of TLS that ends here",
}
"""What the route of a stream is, by its sort."""
Data = Mapping[str, Any]


def text_of(data: Data, width: int) -> Iterator[str]:
    """Yield the lines of the explanation *data*, at most *width* columns each but for the first two.

    Raises ``LookupError`` or ``TypeError`` for what is none.
    """
    request = data["request"]
    yield printable(f"{request['method']} {request['url']}".lstrip())
    yield printable(data["outcome"]["sentence"])
    yield ""
    for name, lines in (
        ("request", _request(request)),
        ("handshake", _handshake(data.get("handshake"))),
        ("host", _hosts(data)),
        ("route", _route(data)),
        ("variants", _variants(data)),
        ("filters", _filters(data)),
        ("asked for", _upstream(data.get("upstream"))),
        ("backend", _backends(data)),
        ("settings", iter(data.get("settings", ()))),
        ("conditions", iter(data["outcome"].get("conditions", ()))),
        ("lost", _lost(data)),
        ("near", _near(data)),
        ("not served", _unserved(data)),
        ("not checked", _not_checked(data)),
        ("problems", _problems(data)),
    ):
        yield from _block(name, lines, width)


def _block(name: str, lines: Iterator[str], width: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        text = line.lstrip(" ")
        margin = " " * (_WIDTH + len(line) - len(text))
        deeper = " " * max(len(margin), _WIDTH + _INDENT)
        for part in wrapped(printable(text), width - len(margin), then=width - len(deeper)):
            yield f"{margin}{part}" if number else f"{name:<{len(margin)}}{part}"
            number, margin = 1, deeper


def _request(request: Data) -> Iterator[str]:
    client, seen = request["client"], request["clientSeen"]
    if request["host"] or request["path"]:
        path = f", path {request['path']}" if request["path"] else ""
        yield f"host {request['host'] or '(none)'}{path}, from {client}"
    else:
        yield f"from {client}"
    if seen != client:
        yield f"a trusted proxy says that the client is {seen}"
    for name, value in request["fields"]:
        yield f"with {name}: {value}"
    yield from request["notes"]


def _handshake(handshake: Data | None) -> Iterator[str]:
    if handshake is None:
        return
    name = f"for {handshake['serverName']}" if handshake["serverName"] else "without a server name"
    if handshake["passthrough"]:
        yield f"{name}: TLS passes through to {handshake['passthrough']}"
        return
    if handshake["isRefused"]:
        yield f"{name}: refused"
        return
    if handshake["notChecked"]:
        yield f"{name}: the certificate is not checked: {handshake['notChecked']}"
        return
    if not handshake["certificates"]:
        yield f"{name}: the certificate that the controller makes for itself, which no client trusts"
    for one in handshake["certificates"]:
        names = ", ".join(one["names"][:5]) + (" …" if len(one["names"]) > 5 else "")
        default = ", the default certificate" if one["isDefault"] else ""
        ends = f"ends {one['notAfter']}"
        yield f"{name}: certificate of Secret {one['secret']} ({names}), {one['keyType']}, {ends}{default}"
        if not one["covers"]:
            yield "clients refuse it: it is not for this name, or not valid now"
    if handshake["clientCertificate"]:
        yield f"clients are asked for {handshake['clientCertificate']}"


def _hosts(data: Data) -> Iterator[str]:
    for one in data.get("hosts", ()):
        host = one["host"] or "(rules for all hosts)"
        count = one["paths"]
        yield f"{host}: {number_of(count, 'path')}" if count else f"{host}: nothing is served"


def _route(data: Data) -> Iterator[str]:
    if data.get("route") is not None:
        yield _shown_route(data["route"])


def _shown_route(route: Data) -> str:
    if route["match"] in _STREAMS:
        what = _STREAMS[route["match"]] + (f" for {route['host']}" if route["host"] else "")
        return f"{what}: {route['kind']} {route['namespace']}/{route['name']}" if route["name"] else what
    what = f"{route['match']} {route['path']} of {route['host'] or 'all hosts'}"
    if not route["name"]:
        return f"{what}, the controller's own default backend"
    field = f", {route['field']}" if route["field"] else ""
    return f"{what}: {route['kind']} {route['namespace']}/{route['name']}{field}"


def _variants(data: Data) -> Iterator[str]:
    for one in data.get("variants", ()):
        conditions = " and ".join(
            f"{sentence} ({'yes' if holds else 'no'})" for sentence, holds in one["conditions"]
        )
        taken = "taken" if one["isTaken"] else "not taken"
        yield f"{', '.join(one['backends'])} if {conditions}: {taken}"


def _filters(data: Data) -> Iterator[str]:
    for number, one in enumerate(data.get("filters", ()), 1):
        yield f"{number}. {one['name']}: {one['sentence']}"
        yield f"   {one['does']}"
        for change in one["changes"]:
            yield f"   {change}"


def _upstream(upstream: Data | None) -> Iterator[str]:
    if upstream is not None:
        yield f"{upstream['method']} {upstream['target']} as Host {upstream['authority']}"


def _backends(data: Data) -> Iterator[str]:
    for one in data.get("backends", ()):
        share = "" if one["share"] == 100 else f"{one['share']:g}%: "
        stands = f", which stands in for {one['standsInFor']}" if one["standsInFor"] else ""
        kind = "" if one["kind"] != "Service" else "Service "
        yield f"{share}{kind}{one['backend']}{stands}"
        if one["endpoints"]:
            yield f"   {one['protocol']} to {', '.join(one['endpoints'])}"
        elif one["unknown"]:
            yield f"   endpoints not checked: {one['unknown']}"
        else:
            yield f"   no endpoints: {one['reason']}"


def _lost(data: Data) -> Iterator[str]:
    for one in data.get("lost", ()):
        yield f"{_shown_route(one['route'])}"
        yield f"   {one['sentence']}"
    if data.get("moreLost"):
        yield f"and {data['moreLost']} more"


def _near(data: Data) -> Iterator[str]:
    for one in data.get("nearPaths", ()):
        yield _shown_route(one)
    for host in data.get("nearHosts", ()):
        yield f"the host {host} is served"


def _unserved(data: Data) -> Iterator[str]:
    for one in data.get("unserved", ()):
        field = f" {one['field']}" if one["field"] else ""
        yield f"{one['object']}{field}: {one['why']}"


def _not_checked(data: Data) -> Iterator[str]:
    """Yield what could not be checked, but for what is told where it matters."""
    told = [one["unknown"] for one in data.get("backends", ()) if one["unknown"]]
    handshake = data.get("handshake")
    if handshake is not None and handshake["notChecked"]:
        told.append(handshake["notChecked"])
    for one in data.get("problems", ()):
        if one["notChecked"] and not any(text.startswith(one["notChecked"]) for text in told):
            yield f"{one['object']} {one['field']}: {one['notChecked']}"


def _problems(data: Data) -> Iterator[str]:
    for one in data.get("problems", ()):
        if one["notChecked"]:
            continue
        field = f" {one['field']}" if one["field"] else ""
        yield f"{one['object']}{field}: {one['message']} ({one['reason']})"
    if data.get("moreProblems"):
        yield f"and {data['moreProblems']} more"
