"""What may stand in the query of a page: parameters as the table of pages describes them, and how queries are read by that.

Pure.  Whoever asks for something that there is not, or says what a parameter cannot be, gets an error that names it.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from ingress.model.frozen import frozen

MOST_CHARACTERS: Final = 2048
"""Of one value, as far as its parameter does not say less."""
MOST_REPEATS: Final = 200
_SHOWN: Final = 64


class Sort(Enum):
    """What the values of a parameter are."""

    TEXT = "string"
    NUMBER = "integer"


class QueryRefusedError(ValueError):
    """A query that asks for something that there is not; the message says what, and what there is."""


@frozen
class Parameter:
    """One parameter of a page."""

    name: str
    meaning: str
    sort: Sort = Sort.TEXT
    least: int = 0
    """The smallest number."""
    most: int = MOST_CHARACTERS
    """The largest number; of a text, how many characters it may have."""
    choices: tuple[str, ...] = ()
    """All that a text may be; empty where it may be anything."""
    missing: str = ""
    """What is said where it is missing; empty where it may be."""
    may_repeat: bool = False

    @property
    def may_be(self) -> str:
        """What it may be, as the rest of a sentence."""
        if self.sort is Sort.NUMBER:
            return f"a whole number from {self.least} to {self.most}"
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return f"a text of at most {self.most} characters"


class Given:
    """What a query says, by parameter."""

    def __init__(self, values: Mapping[str, Sequence[str]] | None = None) -> None:
        self._values = values or {}

    def __repr__(self) -> str:
        return f"<Given {self._values!r}>"

    def text(self, name: str) -> str | None:
        """Return the value of *name*; None where the query has none."""
        values = self._values.get(name)
        return values[0] if values else None

    def number(self, name: str) -> int | None:
        """Return the number that *name* is; None where the query has none."""
        value = self.text(name)
        return None if value is None else int(value)

    def texts(self, name: str) -> Sequence[str]:
        """Return all values of *name*."""
        return self._values.get(name, ())


def read_query(query: Mapping[bytes, Sequence[bytes]], parameters: Sequence[Parameter]) -> Given:
    """Return what *query* says of *parameters*; raises ``QueryRefusedError``."""
    known = {one.name: one for one in parameters}
    values: dict[str, Sequence[str]] = {}
    for name, given in query.items():
        text = name.decode("utf-8", "replace")
        parameter = known.get(text)
        if parameter is None:
            there_are = f"there are {', '.join(known)}" if known else "this page has none"
            raise QueryRefusedError(f"there is no parameter {text[:_SHOWN]!r}; {there_are}")
        values[text] = _read(parameter, given)
    for parameter in parameters:
        if parameter.missing and parameter.name not in values:
            raise QueryRefusedError(parameter.missing)
    return Given(values)


def _read(parameter: Parameter, given: Sequence[bytes]) -> Sequence[str]:
    most = MOST_REPEATS if parameter.may_repeat else 1
    if len(given) > most:
        may = f"at most {most} times" if parameter.may_repeat else "once"
        raise QueryRefusedError(f"the parameter {parameter.name} comes {len(given)} times; it may come {may}")
    try:
        values = [value.decode("utf-8") for value in given]
    except UnicodeDecodeError:
        raise QueryRefusedError(f"the parameter {parameter.name} is no UTF-8") from None
    for value in values:
        if not _may_be(parameter, value):
            raise QueryRefusedError(f"{parameter.name} is {_cut(value)}; it may be {parameter.may_be}")
    return values


def _may_be(parameter: Parameter, value: str) -> bool:
    if parameter.sort is Sort.NUMBER:
        is_number = value.isascii() and value.isdigit() and len(value) <= len(str(parameter.most))
        return is_number and parameter.least <= int(value) <= parameter.most
    return len(value) <= parameter.most and (not parameter.choices or value in parameter.choices)


def _cut(value: str) -> str:
    return repr(value) if len(value) <= _SHOWN else f"{value[:_SHOWN]!r}…"
