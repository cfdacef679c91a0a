"""Label and field selectors: from the text of a query to a predicate on objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from tests.fakes.apiserver.kinds import Json, ResourceType
from tests.fakes.apiserver.statuses import StatusError

Predicate: TypeAlias = Callable[[Json], bool]

_SET_TERM = re.compile(r"(?P<key>[^\s!=,()]+)\s+(?P<operator>in|notin)\s+\((?P<values>[^()]*)\)\Z")
_EQUAL_TERM = re.compile(r"(?P<key>[^\s!=,()]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^\s!=,()]*)\Z")
_PRESENT_TERM = re.compile(r"(?P<absent>!?)\s*(?P<key>[^\s!=,()]+)\Z")

#: Field labels that every kind has.
COMMON_FIELDS = ("metadata.name", "metadata.namespace")


def selector(kind: ResourceType, labels: str, fields: str) -> Predicate:
    """Return the predicate of both selectors; raise 400 for one that does not parse."""
    terms = [_label_term(term) for term in _split(labels)]
    terms += [_field_term(kind, term) for term in _split(fields)]

    def matches(obj: Json) -> bool:
        return all(term(obj) for term in terms)

    return matches


def selected_name(fields: str) -> str:
    """Return the name that ``metadata.name=NAME`` asks for, or an empty string."""
    for term in _split(fields):
        found = _EQUAL_TERM.match(term)
        if found and found["key"] == "metadata.name" and found["operator"] != "!=":
            return found["value"]
    return ""


def _split(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    return [part.strip() for part in re.split(r",(?![^()]*\))", text) if part.strip()]


def _label_term(term: str) -> Predicate:
    found = _SET_TERM.match(term)
    if found:
        values = {value.strip() for value in found["values"].split(",")}
        return _label_in(found["key"], values, wanted=found["operator"] == "in")
    found = _EQUAL_TERM.match(term)
    if found:
        return _label_in(found["key"], {found["value"]}, wanted=found["operator"] != "!=")
    found = _PRESENT_TERM.match(term)
    if found:
        key, wanted = found["key"], not found["absent"]
        return lambda obj: (key in _labels(obj)) is wanted
    raise StatusError(400, f"unable to parse requirement: {term!r}")


def _label_in(key: str, values: set[str], *, wanted: bool) -> Predicate:
    """Match by value; an absent label satisfies ``!=`` and ``notin`` only."""
    return lambda obj: (_labels(obj).get(key) in values) is wanted


def _labels(obj: Json) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def _field_term(kind: ResourceType, term: str) -> Predicate:
    found = _EQUAL_TERM.match(term)
    if found is None:
        raise StatusError(400, f"invalid field selector: {term!r}")
    path, value, wanted = found["key"], found["value"], found["operator"] != "!="
    if path not in COMMON_FIELDS and path not in kind.fields:
        raise StatusError(400, f"field label not supported: {path}")
    return lambda obj: (_field(obj, path) == value) is wanted


def _field(obj: Json, path: str) -> str:
    value: object = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return "" if value is None else str(value)
