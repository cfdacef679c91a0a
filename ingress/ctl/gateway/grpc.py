"""Rules for gRPC: an HTTPRoute's rule as one of a GRPCRoute, where its path is that of a service or a method.

Source: ``GRPCRouteRule``, ``GRPCMethodMatch``.
"""

import re

from ingress.ctl.gateway.rendering_values import Json
from ingress.ctl.gateway.rules import Rule

_match_service = re.compile(r"/(?P<service>[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*)").fullmatch
_match_method = re.compile(
    r"/(?P<service>[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*)/(?P<method>[A-Za-z_][A-Za-z_0-9]*)"
).fullmatch


def grpc_rules(rules: list[Rule]) -> list[Json] | None:
    """Return *rules* as those of a GRPCRoute; None where one of them cannot be such."""
    found = []
    for rule in rules:
        if not rule.is_grpc:
            return None
        matches = [_match(one) for one in rule.matches]
        if None in matches:
            return None
        entries = [one for one in matches if one]
        content = dict(rule.content)
        # Without any match a rule takes everything.
        found.append({"matches": entries, **content} if len(entries) == len(matches) else content)
    return found


def _match(match: Json) -> Json | None:
    path = match["path"]
    if set(match) - {"path", "headers"} or path["type"] == "RegularExpression":
        return None
    said: Json = {}
    if path != {"type": "PathPrefix", "value": "/"}:
        found = (_match_service if path["type"] == "PathPrefix" else _match_method)(path["value"])
        if found is None:
            return None
        said["method"] = found.groupdict()
    if "headers" in match:
        said["headers"] = match["headers"]
    return said
