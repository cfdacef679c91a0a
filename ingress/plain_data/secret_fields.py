"""Fields of requests and answers whose values nobody is shown, by their names."""

import re
from typing import Final

NOT_SHOWN: Final = "(not shown)"
_TELLING: Final = re.compile(
    r"authorization|cookie|token|secret|api-?key|password|session|credential|signature|jwt|csrf",
    re.IGNORECASE,
)
# What comes with each request is no secret of whoever writes that it is passed on.
_VARIABLE: Final = re.compile(r"\$(?:\w+|\{\w+\})")


def tells_of_secrets(name: str) -> bool:
    """Whether a field of that name is taken to hold a secret."""
    return _TELLING.search(name) is not None


def is_hidden_pair(value: object) -> bool:
    """Whether *value* is the name of a field with a text that nobody is shown."""
    return isinstance(value, tuple) and len(value) == 2 and _hides(*value)


def hides_its_value(value: object) -> bool:
    """Whether *value*, of a class that attrs made, has a ``name`` of a field and a ``value`` that nobody is shown."""
    return _hides(getattr(value, "name", None), getattr(value, "value", None))


def _hides(name: object, value: object) -> bool:
    field, text = _text(name), _text(value)
    return bool(field and text) and tells_of_secrets(field) and _VARIABLE.fullmatch(text) is None


def _text(value: object) -> str:
    """Return *value* as text, empty where it has no text of its own."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return str(value) if isinstance(value, str) or type(value).__str__ is not object.__str__ else ""
