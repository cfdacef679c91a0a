"""What the value of an annotation may be: parse functions, and how a refusal shows the value.

A parse function takes the text of the annotation and returns what it means, or
raises ``ValueRefused`` with the rest of a sentence that begins with the value.  It
never raises anything else, and it bounds what it does by the length of the text.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, Generic, TypeVar

from attrs import field, frozen

from ingress.annotations.host_facts import HostFacts
from ingress.filters import FilterSpec, Phase

S = TypeVar("S")

MAX_SHOWN_CHARACTERS: Final = 64
"""How much of a tenant's text a message repeats; enough to recognize it by."""

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class ValueRefused(Exception):  # noqa: N818 - it is a verdict on a value, no failure
    """The value of an annotation cannot be honored; the message says what is accepted."""


@frozen
class Annotation:
    """One annotation of a family: the setting that it fills, and what it accepts."""

    setting: str
    """The attribute of the family's settings."""
    parse: Callable[[str], object]
    refused: object = None
    """What the setting is where the value is refused; None leaves the default in force."""
    instead: str = "the default is used"
    """What the problem says of that."""
    unhonored: str = ""
    """What becomes of an Ingress that asks for it, where it is noticed and not honored; else empty."""


class Place(Enum):
    """For whom a filter stands where it does; within a phase the first come first."""

    EVERYTHING = "everything"
    HOST = "host"
    ROUTE = "route"
    BACKEND = "weighted backend"


@frozen(eq=False)
class Family(Generic[S]):
    """The annotations, by name without prefix, that fill one settings class together.

    *filters* makes filter specs of the settings, and of facts of the host; what it makes stands before each route of
    whoever asks.  A family that acts otherwise has none, and somebody in ``ingress.translate`` asks for its settings.
    """

    name: str
    settings: S
    """What holds where nobody asks for anything: the defaults of a frozen class."""
    annotations: Mapping[str, Annotation] = field(repr=False)
    acts: str
    """What it acts on, for the table of ``docs/annotations.md``."""
    phases: tuple[Phase, ...] = ()
    """Those in which its filters stand; empty where it has none."""
    place: Place = Place.ROUTE
    filters: Callable[[S, HostFacts], tuple[FilterSpec, ...]] | None = None
    filters_unasked: bool = False
    """Whether *filters* is to be called where nobody asks for anything, too."""


def parse_boolean(text: str) -> bool:
    """Read a boolean as Go's ``strconv.ParseBool`` does, for that is how these annotations came to be."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueRefused('is not a boolean; write "true" or "false"')


def quoted(text: str) -> str:
    """Return *text* for a message: in quotes, ASCII only, control characters escaped, cut to a sane length."""
    shown = text[:MAX_SHOWN_CHARACTERS].replace("\\", "\\\\").replace('"', '\\"')
    shown = shown.encode("ascii", "backslashreplace").decode()
    shown = "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in shown)
    return f'"{shown}"…' if len(text) > MAX_SHOWN_CHARACTERS else f'"{shown}"'
