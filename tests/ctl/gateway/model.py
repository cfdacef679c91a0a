"""A small model of what a gateway does with HTTPRoutes: which rule takes a request.

Written from the text of the API (``Listener.hostname``, ``HTTPRouteRule.matches``), and knows nothing of the rendering.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]


def rule_of(
    objects: Iterable[Json], scheme: str, host: str, path: str, fields: Mapping[str, str] | None = None
) -> Json | None:
    """Return the rule that takes the request, None where none does; *fields* are by name in lower case."""
    listener = _listener(objects, 80 if scheme == "http" else 443, host)
    if listener is None:
        return None
    gateway, section = listener
    found = []
    for route in objects:
        if route["kind"] != "HTTPRoute" or not _is_attached(route, gateway, section):
            continue
        names = route["spec"].get("hostnames", [""])
        best = max((_precision(one) for one in names if _takes_host(one, host)), default=None)
        if best is None:
            continue
        for index, rule in enumerate(route["spec"]["rules"]):
            for match in rule.get("matches", [{}]):
                rank = _rank(match, path, fields or {})
                if rank is not None:
                    metadata = route["metadata"]
                    last = (metadata["namespace"], metadata["name"], index)
                    found.append(((tuple(-one for one in (*best, *rank)), last), rule))
    return min(found, key=lambda one: one[0])[1] if found else None


def _listener(objects: Iterable[Json], port: int, host: str) -> tuple[Json, Json] | None:
    """Return the listener that names *host* best, which alone gets its requests."""
    found = [
        (_precision(listener.get("hostname", "")), at, gateway, listener)
        for at, gateway in enumerate(one for one in objects if one["kind"] == "Gateway")
        for listener in gateway["spec"]["listeners"]
        if listener["port"] == port and _takes_host(listener.get("hostname", ""), host)
    ]
    if not found:
        return None
    _, _, gateway, listener = max(found, key=lambda one: (one[0], -one[1]))
    return gateway, listener


def _is_attached(route: Json, gateway: Json, section: Json) -> bool:
    namespace = route["metadata"]["namespace"]
    allowed = section["allowedRoutes"]["namespaces"]
    if (
        allowed["from"] == "Selector"
        and namespace not in allowed["selector"]["matchExpressions"][0]["values"]
    ):
        return False
    metadata = gateway["metadata"]
    return any(
        one["name"] == metadata["name"]
        and one.get("namespace", namespace) == metadata["namespace"]
        and one["sectionName"] == section["name"]
        for one in route["spec"]["parentRefs"]
    )


def _takes_host(name: str, host: str) -> bool:
    if name.startswith("*."):
        return host.endswith(name[1:]) and len(host) >= len(name)
    return name in ("", host)


def _precision(name: str) -> tuple[int, int]:
    return (0 if name.startswith("*") else len(name), len(name))


def _rank(match: Json, path: str, fields: Mapping[str, str]) -> tuple[int, int, int] | None:
    wanted = match.get("path", {"type": "PathPrefix", "value": "/"})
    value = wanted["value"]
    if wanted["type"] == "Exact":
        takes, rank = path == value, (1, 0)
    elif wanted["type"] == "PathPrefix":
        below = value.rstrip("/")
        takes, rank = path == below or path.startswith(f"{below}/"), (0, len(value))
    else:
        takes, rank = re.fullmatch(value, path) is not None, (0, len(value))
    headers = match.get("headers", [])
    for header in headers:
        said = fields.get(header["name"].lower(), "")
        if header.get("type") == "RegularExpression":
            takes = takes and bool(said) and re.fullmatch(header["value"], said) is not None
        else:
            takes = takes and said == header["value"]
    return (*rank, len(headers)) if takes else None
