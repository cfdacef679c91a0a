"""A JSON Patch applied, as RFC 6902 has it."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any


class PatchRefusedError(Exception):
    """An operation cannot be done, or a test fails: the object stays as it was."""


def applied(value: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Return *value* by *operations*; raises ``PatchRefusedError``."""
    made = deepcopy(value)
    for operation in operations:
        try:
            _apply(made, operation)
        except (KeyError, IndexError) as error:
            raise PatchRefusedError(f"{operation['path']}: {error!r}") from None
    return made


def _apply(value: Any, operation: Mapping[str, Any]) -> None:
    *way, last = (step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:])
    inner = value
    for step in way:
        inner = inner[int(step) if isinstance(inner, list) else step]
    place: Any = int(last) if isinstance(inner, list) else last
    match operation["op"]:
        case "test":
            if inner[place] != operation["value"]:
                raise PatchRefusedError(f"{operation['path']}: is {inner[place]!r}")
        case "remove":
            del inner[place]
        case "replace":
            _ = inner[place]
            inner[place] = operation["value"]
        case "add" if isinstance(inner, list):
            inner.insert(place, operation["value"])
        case "add":
            inner[place] = operation["value"]
