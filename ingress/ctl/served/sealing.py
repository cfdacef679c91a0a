"""Seals: what stands, where two inputs are compared, for values that nobody is shown.

Whether a list of passwords changed can be told without telling anything of it: equal values have the same seal, a number
that means something in one comparison alone.  Seals are never printed.
"""

from collections.abc import Hashable, Iterator
from typing import Any, Final

import attrs

from ingress.plain_data.secret_fields import hides_its_value, is_hidden_pair

SEALED: Final = "sealed"
"""The field of plain data that has a seal."""


class Seals:
    """Gives seals, the same one to equal values."""

    def __init__(self) -> None:
        self._seals: dict[Hashable, int] = {}

    def of(self, value: object) -> int:
        """Return the seal of what is not shown of *value*; 0 where that is nothing."""
        hidden = tuple(_hidden(value, ""))
        if not hidden:
            return 0
        return self._seals.setdefault(hidden, len(self._seals) + 1)


def _hidden(value: Any, at: str) -> Iterator[tuple[str, object]]:
    """Yield what *value*, and the values in it, keep to themselves, each with where it stands.

    That is what their ``repr`` leaves out, and the texts of fields that tell of secrets by their names.
    """
    if isinstance(value, tuple):
        for number, part in enumerate(value):
            if is_hidden_pair(part):
                yield f"{at}.{number}", part
            yield from _hidden(part, f"{at}.{number}")
        return
    kind: Any = type(value)
    if not attrs.has(kind):
        return
    if hides_its_value(value):
        yield at, value.value
    for field in attrs.fields(kind):
        part = getattr(value, field.name)
        if field.repr:
            yield from _hidden(part, f"{at}.{field.name}")
        elif field.eq:
            yield f"{at}.{field.name}", part


def without_seals(value: Any) -> Any:
    """Return plain data as it may be shown."""
    if isinstance(value, dict):
        return {name: without_seals(part) for name, part in value.items() if name != SEALED}
    return [without_seals(part) for part in value] if isinstance(value, list) else value
