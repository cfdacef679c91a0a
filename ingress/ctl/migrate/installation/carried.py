"""The values of what is carried over from one installation to another: changes of manifests, and what is said of each field."""

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

from ingress.model.frozen import frozen

_DEEPEST: Final = 16
_UNSOUND: Final = "no such value is in the API"
_LONGEST_NAME: Final = 317
"""Of an annotation: a domain, a slash and 63 characters."""


class Fate(Enum):
    """What becomes of one field, the worst first."""

    LEFT = "not taken over"
    LATER = "later"
    """It can be one Service's only; it waits as a comment until the other one is gone."""
    TAKEN = "taken over"


FATES: Final = tuple(Fate)


@frozen
class CarriedField:
    """One *field* of *owner*, an object or the pods, and why it is *fate*; an empty *why* for what needs no words."""

    owner: str
    field: str
    fate: Fate
    why: str = ""


@frozen
class Change:
    """The member at *path*, a JSON pointer (RFC 6901), is to be *value*; None has it removed."""

    path: str
    value: Any


@frozen
class Carried:
    """What is carried over to one object: *changes* of it, those for *later*, and what is said of *fields*."""

    changes: tuple[Change, ...] = ()
    later: tuple[Change, ...] = ()
    fields: tuple[CarriedField, ...] = ()


class Carrying:
    """Gathers what is carried over of *owner*."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._changes: list[Change] = []
        self._later: list[Change] = []
        self._fields: list[CarriedField] = []

    def take(self, field: str, path: str, value: Any, why: str = "") -> None:
        """Take over *field*: what is at *path* is to be *value*, if that can be what the API has there."""
        if not is_sound(value):
            self.leave(field, _UNSOUND)
            return
        self.change(path, value)
        self._say(field, Fate.TAKEN, why)

    def change(self, path: str, value: Any) -> None:
        """Have *value* at *path*, without a word of its own."""
        self._changes.append(Change(path, value))

    def wait(self, field: str, path: str, value: Any, why: str) -> None:
        """The same as ``take``, once ingress-nginx has it no more."""
        if not is_sound(value):
            self.leave(field, _UNSOUND)
            return
        self.change_later(path, value)
        self._say(field, Fate.LATER, why)

    def change_later(self, path: str, value: Any) -> None:
        """Have *value* at *path* by then, without a word of its own."""
        self._later.append(Change(path, value))

    def leave(self, field: str, why: str) -> None:
        """Leave *field* where it is."""
        self._say(field, Fate.LEFT, why)

    def say_taken(self, field: str, why: str = "") -> None:
        """Say that *field* is taken over, by a change that has more than that."""
        self._say(field, Fate.TAKEN, why)

    def _say(self, field: str, fate: Fate, why: str) -> None:
        self._fields.append(CarriedField(self._owner, field, fate, why))

    def carried(self) -> Carried:
        """Return all of it."""
        return Carried(tuple(self._changes), tuple(self._later), tuple(self._fields))


def is_sound(value: object, depth: int = 0) -> bool:
    """Whether *value* is as deep as any of the API's, and its names are no longer."""
    if isinstance(value, dict):
        return depth < _DEEPEST and all(
            isinstance(name, str) and len(name) <= _LONGEST_NAME and is_sound(one, depth + 1)
            for name, one in value.items()
        )
    if isinstance(value, list):
        return depth < _DEEPEST and all(is_sound(one, depth + 1) for one in value)
    return True


def member(*names: str) -> str:
    """Return the JSON pointer whose steps are *names*."""
    return "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in names)


def steps(path: str) -> list[str]:
    """Return the steps of the JSON pointer *path*."""
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def worst_first(fields: Iterable[CarriedField]) -> tuple[CarriedField, ...]:
    """Return *fields* by what becomes of them."""
    return tuple(sorted(fields, key=lambda one: (FATES.index(one.fate), one.owner, one.field)))
