"""Fields that are set, added and removed: ``RequestHeaderModifier`` and ``ResponseHeaderModifier`` (``HTTPHeaderFilter``).

A field that is set is sent once, whatever was there; one that is added is sent behind others of its name.  Nobody sets fields that
frame a message or belong to a connection, and requests keep their ``Host``: that is for ``URLRewrite`` to change.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from ingress.filter_parts.changing import ChangesAnswers, ChangesRequests
from ingress.filters import FieldChanges, Filter, Phase, Services
from ingress.model.frozen import frozen
from ingress.model.requests.reserved_fields import RESERVED_FIELDS, RESERVED_FIELDS_OF_REQUESTS

MOST_FIELDS: Final = 16
"""Of each of the three lists, as the API has it."""
MOST_NAME_CHARACTERS: Final = 256
MOST_VALUE_CHARACTERS: Final = 4096

_is_name = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+").fullmatch
_has_control = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search

Fields = tuple[tuple[str, str], ...]
"""Names and values."""


@frozen(cache_hash=True)
class FieldEdits:
    """What is done to fields, checked: plain data."""

    put: tuple[tuple[bytes, bytes], ...] = ()
    add: tuple[tuple[bytes, bytes], ...] = ()
    drop: tuple[bytes, ...] = ()

    @property
    def changes(self) -> FieldChanges:
        """The same, for an edit."""
        return FieldChanges(drop=self.drop, put=self.put, add=self.add)

    def __str__(self) -> str:
        parts = [
            f"{verb} {', '.join(names)}"
            for verb, names in (
                ("sets", [name.decode() for name, _ in self.put]),
                ("adds", [name.decode() for name, _ in self.add]),
                ("removes", [name.decode() for name in self.drop]),
            )
            if names
        ]
        return " and ".join(parts) or "changes no field"


@frozen(cache_hash=True)
class RequestFieldEdits:
    """Changes fields of requests on their way to endpoints."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "request-field-edits"

    edits: FieldEdits

    def describe(self) -> str:
        """Say which."""
        return f"{self.edits} of requests"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return ChangesRequests(self.edits.changes)


@frozen(cache_hash=True)
class AnswerFieldEdits:
    """Changes fields of answers on their way to clients."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "answer-field-edits"

    edits: FieldEdits

    def describe(self) -> str:
        """Say which."""
        return f"{self.edits} of answers"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return ChangesAnswers(self.edits.changes)


def read_field_edits(
    put: Fields, add: Fields, drop: tuple[str, ...], *, of_requests: bool
) -> FieldEdits | str:
    """Return what is done by these lists; or, as a text, why nothing can be.

    Names are the same in upper and lower case.  Of a name that a list has twice the first counts; one that stands in
    two lists makes no sense, as the API says.
    """
    dropped = tuple((name, "") for name in drop)
    for what, fields in (("set", put), ("add", add), ("remove", dropped)):
        if len(fields) > MOST_FIELDS:
            return f"{what} has more than {MOST_FIELDS} fields"
    for fault in _faults(
        (*put, *add, *dropped), RESERVED_FIELDS_OF_REQUESTS if of_requests else RESERVED_FIELDS
    ):
        return fault
    first = [_firsts(fields) for fields in (put, add, dropped)]
    twice = (
        (first[0].keys() & first[1].keys())
        | (first[0].keys() & first[2].keys())
        | (first[1].keys() & first[2].keys())
    )
    if twice:
        return f"{min(twice)} is to be changed in two ways"
    if not any(first):
        return "names no field"
    sets, adds, removes = ([(name.encode(), value.encode()) for name, value in one.values()] for one in first)
    return FieldEdits(tuple(sets), tuple(adds), tuple(name for name, _ in removes))


def _faults(fields: Fields, reserved: frozenset[str]) -> Iterator[str]:
    for name, value in fields:
        if len(name) > MOST_NAME_CHARACTERS or _is_name(name) is None:
            yield f"{name[:64]!a} is no name of a field"
        elif name.lower() in reserved:
            hint = "; urlRewrite changes the host" if name.lower() == "host" else ""
            yield f"{name} is a field of the proxy's own{hint}"
        elif len(value) > MOST_VALUE_CHARACTERS:
            yield f"the value of {name} is longer than {MOST_VALUE_CHARACTERS} characters"
        elif _has_control(value) is not None or not _is_text(value):
            yield f"the value of {name} has characters that no field can have"


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _firsts(fields: Fields) -> dict[str, tuple[str, str]]:
    """Return the first of each name, by its lower case, without space around its value."""
    found: dict[str, tuple[str, str]] = {}
    for name, value in fields:
        found.setdefault(name.lower(), (name, value.strip(" \t")))
    return found
