"""Successors of large values that have what did not change as the very same objects, so that comparing both takes no time."""

from functools import cache
from typing import Any, TypeVar

import attrs

T = TypeVar("T")


def sharing(before: object, after: T) -> T:
    """Return *after*, or what is equal to it and has of *before* whatever stands there at the same place.

    Looked into are tuples and values of attrs, which are taken for immutable.
    """
    found: T = _sharing(before, after)
    return found


def _sharing(before: Any, after: Any) -> Any:
    kind = after.__class__
    if before.__class__ is not kind:
        return after
    if before == after and _compares_all(kind):
        return before
    if kind is tuple:
        shared = [_sharing(old, new) for old, new in zip(before, after, strict=False)]
        return (*shared, *after[len(shared) :])
    if not attrs.has(kind):
        return after
    changes = {}
    for field in attrs.fields(kind):
        new = getattr(after, field.name)
        known = _sharing(getattr(before, field.name), new)
        if known is not new and field.init:
            changes[field.alias or field.name] = known
    return attrs.evolve(after, **changes) if changes else after


@cache
def _compares_all(kind: Any) -> bool:
    """Whether values of *kind* that are equal have no field in which they may differ."""
    return not attrs.has(kind) or all(field.eq for field in attrs.fields(kind))
