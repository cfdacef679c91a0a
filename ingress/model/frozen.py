"""``frozen``: ``attrs.frozen``, but with one ``__repr__`` for all classes in place of a compiled one for each.

A process makes hundreds of these classes when it starts, and nearly all of them are never shown.  What they show is the same.
Nor is the source kept of what is compiled for them, which debuggers show: that would be two megabytes.
"""

import linecache
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from attrs import frozen as frozen
else:

    def frozen(cls: type | None = None, **settings: Any) -> Any:
        """Make *cls* a class of frozen values, with the *settings* of ``attrs.frozen``; without *cls*, return what does."""
        return _made(cls, settings) if cls is not None else lambda given: _made(given, settings)


def _made(cls: type, settings: dict[str, Any]) -> type:
    made: Any
    if "__repr__" in vars(cls) or "repr" in settings:
        made = attrs.frozen(cls, **settings)
    else:
        made = attrs.frozen(cls, repr=False, **settings)
        made.__repr__ = _shown
    linecache.cache.pop(made.__init__.__code__.co_filename, None)
    result: type = made
    return result


def _shown(value: Any) -> str:
    """Return the class of *value* and what its fields have; those that are kept out of it are left out."""
    parts = []
    for field in attrs.fields(type(value)):
        if field.repr:
            has = getattr(value, field.name, attrs.NOTHING)
            parts.append(f"{field.name}={field.repr(has) if callable(field.repr) else repr(has)}")
    return f"{type(value).__qualname__.rpartition('>.')[2]}({', '.join(parts)})"
