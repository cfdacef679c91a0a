"""Values of JSON as YAML in blocks, which is read as it was meant by versions 1.1 and 1.2 of YAML alike.  Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ingress.object_fields import RawObject

_PLAIN: Final = re.compile(r"[\w./=,$()@-]+(?::[\w./=,$()@-]+)*", re.ASCII)
_KEY: Final = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)
_WORDS: Final = frozenset({"false", "n", "no", "null", "off", "on", "true", "y", "yes"})
"""What is no text where it stands without quotes."""
_HIDDEN: Final = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
"""What JSON may hold as it is, and YAML not, or not in any place."""


def scalar(text: str) -> str:
    """Return *text*, which begins as an argument does, as a scalar: with quotes where it might mean something else."""
    return text if text.startswith("-") and _PLAIN.fullmatch(text) else quoted(text)


def quoted(value: object) -> str:
    """Return *value* as JSON, which YAML is a superset of but for some characters."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def manifest(objects: Iterable[RawObject]) -> str:
    """Return the manifest of *objects*; empty for none."""
    return "---\n".join("\n".join([*block(one, 0), ""]) for one in objects)


def block(value: Any, indent: int) -> Iterator[str]:
    """Yield the lines of *value*, which is an object or a list with something in it, *indent* spaces from the left."""
    space = " " * indent
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _entry(f"{space}{_key(name)}:", one, indent + 2)
        return
    for one in value:
        first, *others = _member(one, indent + 2)
        yield f"{space}- {first.removeprefix(' ' * (indent + 2))}"
        yield from others


def _member(value: Any, indent: int) -> Iterator[str]:
    if _has_lines(value):
        return block(value, indent)
    return iter((quoted(value),))


def _entry(start: str, value: Any, indent: int) -> Iterator[str]:
    if _has_lines(value):
        yield start
        yield from block(value, indent)
    else:
        yield f"{start} {quoted(value)}"


def _has_lines(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple) and bool(value)


def _key(name: object) -> str:
    text = str(name)
    return text if _KEY.fullmatch(text) and text.lower() not in _WORDS else quoted(text)
