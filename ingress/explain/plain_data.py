"""An explanation as plain data for JSON: names of fields in ``camelCase``, everything else as it is."""

from enum import Enum
from functools import lru_cache
from typing import Any

import attrs


def plain(value: object) -> Any:
    """Return *value*, of attrs classes, tuples, texts and numbers, as dictionaries and lists."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return {camel(name): plain(getattr(value, name)) for name in _names(type(value))}


def _names(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in attrs.fields(kind))


@lru_cache(maxsize=256)
def camel(name: str) -> str:
    """Return *name*, which has underscores, in ``camelCase``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
