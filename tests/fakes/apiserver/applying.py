"""
Server-side apply: what a field manager wants is merged, and what it wanted before and does not any more is removed.

Of the API's rules there are those that matter to one who applies whole objects: fields are owned one by one (entries of
``ownerReferences`` by their uid, of ``ports`` by port and protocol); who applies another value than somebody else has set
is refused unless it forces; whoever changes a value by another sort of write takes it from those who applied it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from tests.fakes.apiserver.kinds import Json, ResourceType
from tests.fakes.apiserver.statuses import StatusError

#: A path of field names as ``FieldsV1`` has them, such as ``("f:spec", 'k:{"port":80,"protocol":"TCP"}', "f:name")``.
Path: TypeAlias = tuple[str, ...]

_LIST_KEYS: dict[str, tuple[str, ...]] = {"f:ownerReferences": ("uid",), "f:ports": ("port", "protocol")}
_NOT_OWNED = {("f:apiVersion",), ("f:kind",)} | {
    ("f:metadata", f"f:{name}")
    for name in (
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
    )
}


def applied(
    kind: ResourceType, stored: Json | None, body: Json, manager: str, now: str, *, force: bool
) -> Json:
    """Return *stored* (None for a new object) with what *manager* wants in *body*; raise 409."""
    wanted = {path: value for path, value in _leaves(body) if path not in _NOT_OWNED}
    if stored is None:
        return _with_entry(copy.deepcopy(body), kind, manager, wanted, now)
    has = dict(_leaves(stored))
    others = sorted(
        path
        for path, value in wanted.items()
        if path in has and has[path] != value and path not in _owned(stored, manager)
    )
    if others and not force:
        named = ", ".join(".".join(path) for path in others)
        raise StatusError(409, f"Apply failed with {len(others)} conflicts: {named}", reason="Conflict")
    result = copy.deepcopy(stored)
    for path in _owned(stored, manager) - wanted.keys():
        _remove(result, _cut(path, wanted))
    for path, value in wanted.items():
        _put(result, path, value)
    return _with_entry(result, kind, manager, wanted, now)


def taken_over(before: Json, after: Json) -> Json:
    """Return *after*, the result of a write that applied nothing: what it changed belongs to no applier any more."""
    had, has = dict(_leaves(before)), dict(_leaves(after))
    entries = after["metadata"].get("managedFields") or []
    kept = []
    for entry in entries:
        if entry.get("operation") == "Apply":
            paths = {path: None for path in _paths(entry["fieldsV1"]) if had.get(path) == has.get(path)}
            entry = {**entry, "fieldsV1": _fields(paths)}
        kept.append(entry)
    if kept == entries:
        return after
    return {**after, "metadata": {**after["metadata"], "managedFields": kept}}


def _with_entry(obj: Json, kind: ResourceType, manager: str, wanted: dict[Path, Any], now: str) -> Json:
    """Return *obj* with what *manager* owns now; the time counts only with other fields."""
    fields = _fields(wanted)
    entries = obj["metadata"].get("managedFields") or []
    kept = []
    for entry in entries:
        if entry["operation"] == "Apply" and entry["manager"] == manager:
            if entry["fieldsV1"] == fields:
                now = entry["time"]
            continue
        kept.append(entry)
    own = {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": kind.api_version,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**obj, "metadata": {**obj["metadata"], "managedFields": [*kept, own]}}


def _owned(obj: Json, manager: str) -> set[Path]:
    return {
        path
        for entry in obj["metadata"].get("managedFields") or []
        if entry["operation"] == "Apply" and entry["manager"] == manager
        for path in _paths(entry["fieldsV1"])
    }


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, (*path, f"f:{name}"))
    elif path and path[-1] in _LIST_KEYS and isinstance(value, list):
        for one in value:
            for name, leaf in one.items():
                yield (*path, _key_of(path[-1], one), f"f:{name}"), leaf
    else:
        yield path, value


def _key_of(field: str, entry: Json) -> str:
    key = {name: entry.get(name, "TCP" if name == "protocol" else None) for name in _LIST_KEYS[field]}
    return "k:" + json.dumps(key, separators=(",", ":"))


def _paths(fields: Json, path: Path = ()) -> Iterator[Path]:
    for name, inner in fields.items():
        if inner:
            yield from _paths(inner, (*path, name))
        elif name != ".":
            yield (*path, name)


def _fields(paths: dict[Path, Any]) -> Json:
    fields: Json = {}
    for path in sorted(paths):
        at = fields
        for name in path:
            at = at.setdefault(name, {})
    return fields


def _put(obj: Json, path: Path, value: Any) -> None:
    at: Any = obj
    for number, name in enumerate(path[:-1]):
        if name.startswith("k:"):
            key = json.loads(name[2:])
            entry = next((one for one in at if _key_of(path[number - 1], one) == name), None)
            if entry is None:
                at.append(entry := dict(key))
            at = entry
        else:
            at = at.setdefault(name[2:], [] if path[number + 1].startswith("k:") else {})
    at[path[-1][2:]] = copy.deepcopy(value)


def _remove(obj: Json, path: Path) -> None:
    """Remove a field or an entry of a list, if it is there."""
    at: Any = obj
    for number, name in enumerate(path):
        if name.startswith("k:"):
            step: Any = next(
                (index for index, one in enumerate(at) if _key_of(path[number - 1], one) == name), None
            )
        else:
            step = name[2:] if name[2:] in at else None
        if step is None:
            return
        if number == len(path) - 1:
            del at[step]
        else:
            at = at[step]


def _cut(path: Path, wanted: dict[Path, Any]) -> Path:
    """Return what to remove for *path*: the whole entry of a list when nothing of it is wanted any more."""
    for number, name in enumerate(path, 1):
        if name.startswith("k:") and not any(one[:number] == path[:number] for one in wanted):
            return path[:number]
    return path
