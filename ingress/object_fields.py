"""Reading fields of one raw object: what is wrong becomes a ``Problem``, never an exception.

A raw object is what a JSON or YAML decoder gave, so anything may stand anywhere.
``FieldReader`` asks for one field at a time, says with the field's path what it
found instead, and lets the caller decide how small a part is lost.  It knows
nothing of kinds.  As in the API, ``null`` and absent mean the same.
"""

from collections.abc import Iterator
from functools import lru_cache
from sys import intern
from typing import TypeGuard

from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.problems import Problem, Reason

MAX_TEXT_CHARACTERS = 4096
"""Far above every limit of the API for a name, a host or a port name, and above any sane path."""

MAX_PORT = 2**31 - 1
"""Ports are ``int32`` in the API; which of them make sense is not judged here."""

RawObject = dict[str, object]


def is_object(value: object) -> TypeGuard[RawObject]:
    """Say whether *value* is a JSON object; its field names are for the reader to look up."""
    return isinstance(value, dict)


def is_text(value: object) -> TypeGuard[str]:
    """Say whether *value* is text that can be used."""
    return type(value) is str and value.isprintable() and len(value) <= MAX_TEXT_CHARACTERS


def shape_of(value: object) -> str:
    """Name the JSON type of *value*, never its content, which may be huge or secret."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, dict) else f"of type {type(value).__name__}"


class FieldReader:
    """Reads the fields of the object *kind* *key*, and collects the problems met.

    *at* is always the path of *parent*, empty for the object itself.
    """

    def __init__(self, kind: Kind, key: ObjectKey) -> None:
        self.kind = kind
        self.key = key
        self.problems: list[Problem] = []

    def report(self, field: str, message: str, reason: Reason = Reason.MALFORMED_OBJECT) -> None:
        """Note that *field* is lost, and why."""
        key = self.key
        self.problems.append(Problem(self.kind, key.namespace, key.name, reason, message, field))

    def wrong_shape(self, field: str, wanted: str, value: object) -> None:
        """Note that *field* holds another JSON type than the API says."""
        self.report(field, f"must be {wanted}, but is {shape_of(value)}")

    def mapping(self, parent: RawObject, name: str, at: str) -> RawObject | None:
        """Return an object field; ``{}`` when absent, None when it is something else."""
        value = parent.get(name)
        if isinstance(value, dict):
            return value
        if value is None:
            return {}
        self.wrong_shape(path_of(at, name), "an object", value)
        return None

    def entries(self, parent: RawObject, name: str, at: str) -> list[object]:
        """Return a list field; empty when absent or something else."""
        value = parent.get(name)
        if isinstance(value, list):
            return value
        if value is not None:
            self.wrong_shape(path_of(at, name), "a list", value)
        return []

    def objects(self, parent: RawObject, name: str, at: str) -> list[tuple[str, RawObject]]:
        """Return the objects of a list field, each with its path; other entries are dropped."""
        return list(self.each_object(parent, name, at))

    def each_object(self, parent: RawObject, name: str, at: str) -> Iterator[tuple[str, RawObject]]:
        """Yield the same one by one, where there may be thousands."""
        entries = parent.get(name)
        if not isinstance(entries, list):
            entries = self.entries(parent, name, at)
        for index, entry in enumerate(entries):
            path = entry_path(at, name, index)
            if isinstance(entry, dict):
                yield path, entry
            else:
                self.wrong_shape(path, "an object", entry)

    def texts(self, parent: RawObject, name: str, at: str) -> tuple[str, ...]:
        """Return the texts of a list field; other entries are dropped."""
        found: list[str] = []
        for index, entry in enumerate(self.entries(parent, name, at)):
            if type(entry) is str and entry.isprintable() and len(entry) <= MAX_TEXT_CHARACTERS:
                found.append(entry)
            else:
                self._wrong_text(entry_path(at, name, index), entry)
        return tuple(found)

    def text(self, parent: RawObject, name: str, at: str, default: str = "") -> str | None:
        """Return a text field; *default* when absent, None when it cannot be used.

        A control character or half a surrogate pair cannot stand in any name, host or
        path, and would spoil a log line.
        """
        value = parent.get(name)
        if value is None:
            return default
        if type(value) is str and value.isprintable() and len(value) <= MAX_TEXT_CHARACTERS:
            return value
        self._wrong_text(path_of(at, name), value)
        return None

    def word(self, parent: RawObject, name: str, at: str, default: str = "") -> str | None:
        """Do as ``text`` does, for values that many objects share: one copy is kept."""
        value = parent.get(name)
        if value is None:
            return default
        if type(value) is str and value.isprintable() and len(value) <= MAX_TEXT_CHARACTERS:
            return intern(value)
        self._wrong_text(path_of(at, name), value)
        return None

    def _wrong_text(self, field: str, value: object) -> None:
        if not isinstance(value, str):
            self.wrong_shape(field, "text", value)
        elif len(value) > MAX_TEXT_CHARACTERS:
            self.report(field, f"is longer than {MAX_TEXT_CHARACTERS} characters")
        else:
            self.report(field, "holds control or other unprintable characters")

    def port(self, parent: RawObject, name: str, at: str) -> int | None:
        """Return an ``int32`` field; 0 when absent, None when it is something else."""
        value = parent.get(name)
        if value is None:
            return 0
        if type(value) is int and -MAX_PORT <= value <= MAX_PORT:
            return value
        self._wrong_port(path_of(at, name), "a whole number", value)
        return None

    def port_or_name(self, parent: RawObject, name: str, at: str) -> int | str | None:
        """Return an ``IntOrString`` field; None when absent or something else."""
        value = parent.get(name)
        if isinstance(value, str):
            return self.word(parent, name, at)
        if value is None or (type(value) is int and -MAX_PORT <= value <= MAX_PORT):
            return value
        self._wrong_port(path_of(at, name), "a whole number or text", value)
        return None

    def _wrong_port(self, field: str, wanted: str, value: object) -> None:
        if type(value) is int:
            self.report(field, "is a number outside the range of ports")
        elif isinstance(value, float):
            self.report(field, f"must be {wanted}, without a fraction")
        else:
            self.wrong_shape(field, wanted, value)


@lru_cache(maxsize=4096)
def path_of(at: str, name: str) -> str:
    """Return the path of the field *name* of the object at *at*."""
    return f"{at}.{name}" if at else name


@lru_cache(maxsize=4096)
def entry_path(at: str, name: str, index: int) -> str:
    """Return the path of an entry of the list *name* of the object at *at*: most objects have the same few."""
    return f"{at}.{name}[{index}]" if at else f"{name}[{index}]"
