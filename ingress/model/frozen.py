"""``frozen``: ``attrs.frozen``, but without a compiled ``__repr__``, ``__eq__`` and ``__hash__`` for each class.

A process makes hundreds of these classes when it starts, and to compile what they are shown and compared by is a twentieth of its
start.  What they show is the same, made by one function for all; and they compare by the same fields, read by an ``attrgetter``.
Nor is kept what attrs keeps of each for debuggers and annotations: the source of what is compiled for it, two megabytes in all; the names of
its module as they were then, and a class of its own for the tuple of its fields, one and a half; and what its fields are annotated with a second time.
"""

import linecache
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from attrs import frozen as frozen
else:

    def frozen(cls: type | None = None, **settings: Any) -> Any:
        """Make *cls* a class of frozen values, with the *settings* of ``attrs.frozen``; without *cls*, return what does."""
        return _made(cls, settings) if cls is not None else lambda given: _made(given, settings)


# Settings by which attrs compares in another way, or not at all, and methods that do.
_OF_COMPARISON = frozenset({"eq", "order", "hash", "unsafe_hash", "cache_hash"})
_COMPARING = frozenset({"__eq__", "__hash__", "__lt__"})


def _made(cls: type, settings: dict[str, Any]) -> type:
    own = vars(cls)
    if "__repr__" not in own and "repr" not in settings:
        # Before there is the class with slots, whose names then have as much room as they need.
        cls.__repr__ = _shown  # type: ignore[assignment, method-assign]
    compares = (
        _OF_COMPARISON.isdisjoint(settings)
        and _COMPARING.isdisjoint(own)
        and not issubclass(cls, BaseException)
    )
    made: Any = attrs.frozen(cls, **settings, eq=False) if compares else attrs.frozen(cls, **settings)
    made.__attrs_attrs__ = tuple(made.__attrs_attrs__)
    if compares:
        _compare_by_fields(made)
    if "__init__" not in own:
        compiled = made.__init__
        linecache.cache.pop(compiled.__code__.co_filename, None)
        # The class says the same of its fields.
        compiled.__doc__ = None
        del compiled.__annotations__
        _keep_used(compiled.__globals__, vars(made).values())
    result: type = made
    return result


def _compare_by_fields(made: Any) -> None:
    """Have those of *made* equal, and hashed, by the fields that count for it; a field that counts in a way of its own is an error."""
    for field in made.__attrs_attrs__:
        if field.eq_key is not None or field.hash is not None:
            raise TypeError(
                f"{made.__qualname__}.{field.name} compares in a way of its own: say eq=True for the class"
            )
    names = [field.name for field in made.__attrs_attrs__ if field.eq]
    counted = attrgetter(*names) if names else type

    def is_equal(one: object, other: object) -> Any:
        return counted(one) == counted(other) if other.__class__ is one.__class__ else NotImplemented

    def hashed(one: object) -> int:
        return hash(counted(one))

    made.__eq__ = is_equal
    made.__hash__ = hashed


def _keep_used(names: dict[str, Any], methods: Iterable[Any]) -> None:
    """Have *names* hold only what those of *methods* look up that have them for their globals."""
    used = {"__builtins__"}
    for method in methods:
        if getattr(method, "__globals__", None) is names:
            used.update(method.__code__.co_names)
    kept = {name: value for name, value in names.items() if name in used}
    names.clear()
    names.update(kept)


def _shown(value: Any) -> str:
    """Return the class of *value* and what its fields have; those that are kept out of it are left out."""
    parts = []
    for field in attrs.fields(type(value)):
        if field.repr:
            has = getattr(value, field.name, attrs.NOTHING)
            parts.append(f"{field.name}={field.repr(has) if callable(field.repr) else repr(has)}")
    return f"{type(value).__qualname__.rpartition('>.')[2]}({', '.join(parts)})"
