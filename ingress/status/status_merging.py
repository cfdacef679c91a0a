"""What a status is to have, of what is there and of what we say: nothing of others is lost, changed or moved.  Pure.

The API asks for this of all who write a status: conditions are told apart by their type, entries of a shared list by
``controllerName`` and by what they are about; whoever does not know one leaves it alone.

Sources: notes for implementors at ``GatewayStatus.conditions`` and ``RouteStatus.parents`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ingress.model.cluster.object_meta import Condition
from ingress.model.frozen import frozen
from ingress.model.reporting.reports import StatusDocument, StatusEntry
from ingress.model.reporting.writes import ListShape, StatusShape
from ingress.object_fields import is_object

CONDITIONS: Final = "conditions"
_CONTROLLER: Final = "controllerName"
# What the API fills in where a reference to a parent says nothing.
_REFERENCE_DEFAULTS: Final = (("group", "gateway.networking.k8s.io"), ("kind", "Gateway"))
_MOST_CONDITIONS: Final = 8


@frozen
class Moment:
    """What conditions say besides: the *generation* that they are about, and the *time* if they turn now."""

    generation: int
    time: str


def merged_fields(
    seen: Mapping[str, Any], wanted: StatusDocument, shape: StatusShape, moment: Moment
) -> dict[str, Any]:
    """Return what of the status *seen* is to be something else, by field; None for what is not to be there any more."""
    changed: dict[str, Any] = {}
    merged = {}
    if shape.types:
        merged[CONDITIONS] = _conditions(seen.get(CONDITIONS), wanted.conditions, shape.types, moment)
    for one in shape.lists:
        merged[one.name] = _entries(
            seen.get(one.name), wanted.lists.get(one.name, ()), one, wanted.controller, moment
        )
    required = {one.name for one in shape.lists if one.is_shared}
    for name, entries in merged.items():
        if entries != (seen.get(name) or []):
            changed[name] = entries if entries or name in required else None
    for name in shape.fields:
        if wanted.fields.get(name) != seen.get(name):
            changed[name] = wanted.fields.get(name)
    return changed


def _conditions(
    seen: object, wanted: tuple[Condition, ...], types: frozenset[str], moment: Moment
) -> list[Mapping[str, Any]]:
    """Return the conditions of others as they are, and ours where they were, new ones last."""
    coming = {one.type: one for one in wanted}
    found: list[Mapping[str, Any]] = []
    for entry in _objects(seen):
        of_type = str(entry.get("type"))
        one = coming.pop(of_type, None)
        if one is not None:
            found.append(_dated(one, entry, moment))
        elif of_type not in types or _is_default(entry):
            found.append(entry)
    found += (_dated(one, {}, moment) for one in coming.values())
    return found[:_MOST_CONDITIONS]


def _entries(
    seen: object, wanted: tuple[StatusEntry, ...], shape: ListShape, controller: str, moment: Moment
) -> list[Mapping[str, Any]]:
    """Return the entries of others as they are, and ours where they were, new ones last."""
    coming = {_identity(one.fields, shape): one for one in reversed(wanted)}
    found: list[Mapping[str, Any]] = []
    for entry in _objects(seen):
        if shape.is_shared and entry.get(_CONTROLLER) != controller:
            found.append(entry)
        elif (one := coming.pop(_identity(entry, shape), None)) is not None:
            found.append(_entry(one, entry.get(CONDITIONS), shape, moment))
    found += (_entry(one, None, shape, moment) for one in reversed(coming.values()))
    return found[: shape.most]


def _entry(one: StatusEntry, conditions: object, shape: ListShape, moment: Moment) -> Mapping[str, Any]:
    return {**one.fields, CONDITIONS: _conditions(conditions, one.conditions, shape.types, moment)}


def _objects(entries: object) -> Iterator[Mapping[str, Any]]:
    """Yield those of *entries* that are of the API's shape."""
    for entry in entries if isinstance(entries, list) else ():
        if is_object(entry) and isinstance(entry.get("type", ""), str):
            yield entry


def _is_default(condition: Mapping[str, Any]) -> bool:
    """Whether it is what the API fills in where nobody has said anything; removed, it would be there again."""
    return condition.get("status") == "Unknown" and condition.get("reason") == "Pending"


def _identity(entry: Mapping[str, Any], shape: ListShape) -> str:
    """Return what tells *entry* from others of ours: names and references, whose defaults may be written or not."""
    parts = []
    for name in shape.identity:
        value = entry.get(name)
        if is_object(value):
            said = {key: one for key, one in value.items() if one not in (None, "")}
            parts.append(repr(sorted((dict(_REFERENCE_DEFAULTS) | said).items())))
        else:
            parts.append(repr(value))
    return " ".join(parts)


def _dated(wanted: Condition, known: Mapping[str, Any], moment: Moment) -> Mapping[str, Any]:
    """Return *wanted* with the time of its last transition: that of a change of the status, not of the words."""
    since = known.get("lastTransitionTime") if known.get("status") == wanted.status else None
    entry: dict[str, Any] = {
        "type": wanted.type,
        "status": wanted.status,
        "reason": wanted.reason,
        "message": wanted.message,
        "lastTransitionTime": since if isinstance(since, str) and since else moment.time,
    }
    if moment.generation:
        entry["observedGeneration"] = moment.generation
    return entry
