"""Successors of large values that have what did not change as the very same objects, so that comparing both takes no time."""

from functools import cache
from typing import Any, Final, TypeVar

import attrs

from ingress.model.stepwise import Stepwise

T = TypeVar("T")

ITEMS_AT_ONCE: Final = 50
"""Items of a tuple that are compared in a step; what has more is not compared as a whole."""


def sharing(before: object, after: T) -> Stepwise[T]:
    """Return in steps *after*, or what is equal to it and has of *before* whatever stands there at the same place.

    Looked into are tuples and values of attrs, which are taken for immutable.
    """
    found: T = yield from _sharing(before, after)
    return found


def _sharing(before: Any, after: Any) -> Stepwise[Any]:
    kind = after.__class__
    if before.__class__ is not kind:
        return after
    if not _is_long(after) and before == after and _compares_all(kind):
        return before
    if kind is tuple:
        return (yield from _sharing_items(before, after))
    if attrs.has(kind):
        return (yield from _sharing_fields(before, after))
    return after


def _sharing_items(before: Any, after: Any) -> Stepwise[Any]:
    shared = []
    is_same = len(before) == len(after)
    for number, (old, new) in enumerate(zip(before, after, strict=False), 1):
        if not number % ITEMS_AT_ONCE:
            yield
        one = yield from _sharing(old, new)
        is_same = is_same and one is old
        shared.append(one)
    return before if is_same else (*shared, *after[len(shared) :])


def _sharing_fields(before: Any, after: Any) -> Stepwise[Any]:
    changes = {}
    is_same = _compares_all(after.__class__)
    for field in attrs.fields(after.__class__):
        old, new = getattr(before, field.name), getattr(after, field.name)
        one = yield from _sharing(old, new)
        is_same = is_same and one is old
        if one is not new and field.init:
            changes[field.alias or field.name] = one
    if is_same:
        return before
    return attrs.evolve(after, **changes) if changes else after


def _is_long(value: Any) -> bool:
    """Whether *value*, or one of its fields, is a tuple that is compared in steps."""
    if value.__class__ is tuple:
        return len(value) > ITEMS_AT_ONCE
    fields = (getattr(value, name) for name in _field_names(value.__class__))
    return any(field.__class__ is tuple and len(field) > ITEMS_AT_ONCE for field in fields)


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else ()


@cache
def _compares_all(kind: Any) -> bool:
    """Whether values of *kind* that are equal have no field in which they may differ."""
    return not attrs.has(kind) or all(field.eq for field in attrs.fields(kind))
