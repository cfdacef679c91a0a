"""The schemas of the Gateway API's objects, and whether an object is of them.

The folder ``schemas_of_api`` has what the CRDs of Gateway API v1.6.1 (``config/crd/standard`` and ``…/experimental``)
say of each ``spec``, without their descriptions and rules in CEL; of the latter those are here that a rendering may meet.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).with_name("schemas_of_api")
_TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@cache
def schemas(channel: str) -> dict[str, Any]:
    """Return the schemas of *channel* by kind."""
    found: dict[str, Any] = json.loads((SCHEMAS / f"{channel}.json").read_text("utf-8"))
    return found


def faults(obj: dict[str, Any], channel: str = "standard") -> list[str]:
    """Return what an API server would refuse of *obj*."""
    schema = schemas(channel)[obj["kind"]]
    name = obj["metadata"]["name"]
    found = [] if _NAME.fullmatch(name) and len(name) <= 253 else [f"metadata.name {name}"]
    found += _faults(obj["spec"], schema, "spec")
    if obj["kind"] == "HTTPRoute":
        found += _rule_faults(obj["spec"]["rules"])
    if obj["kind"] == "Gateway":
        listeners = obj["spec"]["listeners"]
        names = [one["name"] for one in listeners]
        places = [(one["port"], one["protocol"], one.get("hostname")) for one in listeners]
        found += [f"spec.listeners: {some}" for some in (names, places) if len(set(some)) < len(some)]
    return found


def _faults(value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, _TYPES[kind]) or (kind == "integer" and value is True)):
        yield f"{at}: not of type {kind}: {value!r}"
        return
    for word, fails in (
        ("enum", lambda limit: value not in limit),
        ("maxItems", lambda limit: len(value) > limit),
        ("minItems", lambda limit: len(value) < limit),
        ("maxLength", lambda limit: len(value) > limit),
        ("minLength", lambda limit: len(value) < limit),
        ("maximum", lambda limit: value > limit),
        ("minimum", lambda limit: value < limit),
        ("maxProperties", lambda limit: len(value) > limit),
        ("pattern", lambda limit: re.search(limit, value) is None),
        ("required", lambda limit: not set(limit) <= set(value)),
    ):
        if word in schema and fails(schema[word]):
            yield f"{at}: {word} {schema[word]}: {value!r}"
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _faults(entry, schema["items"], f"{at}[{index}]")
    elif isinstance(value, dict) and "properties" in schema:
        for name, entry in value.items():
            if name in schema["properties"]:
                yield from _faults(entry, schema["properties"][name], f"{at}.{name}")
            else:
                yield f"{at}.{name}: unknown"


def _rule_faults(rules: list[dict[str, Any]]) -> Iterator[str]:
    if sum(len(rule.get("matches", [0])) for rule in rules) > 128:
        yield "spec.rules: more than 128 matches"
    for index, rule in enumerate(rules):
        at = f"spec.rules[{index}]"
        types = [one["type"] for one in rule.get("filters", ())]
        if len(set(types) - {"RequestMirror"}) < len([one for one in types if one != "RequestMirror"]):
            yield f"{at}: a filter comes twice"
        if "RequestRedirect" in types and ("URLRewrite" in types or rule.get("backendRefs")):
            yield f"{at}: a redirect beside a rewrite or a backend"
        if "replacePrefixMatch" in str(rule.get("filters")):
            paths = [one.get("path", {}).get("type") for one in rule["matches"]]
            if paths != ["PathPrefix"]:
                yield f"{at}: a prefix is replaced, and the paths are {paths}"
        for match in rule.get("matches", ()):
            path = match.get("path", {"type": "PathPrefix", "value": "/"})
            value = path["value"]
            if path["type"] != "RegularExpression" and (
                not re.fullmatch(r"(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})+", value)
                or not value.startswith("/")
                or re.search(r"//|/\./|/\.\./|%2[fF]|#|/\.\.?$", value)
            ):
                yield f"{at}: path {value}"
