"""In which order the regular expressions of one realm of a host are asked: as ingress-nginx sorts them, by length."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Final, NamedTuple, Protocol

from ingress.model.stepwise import Stepwise
from ingress.model.text.path_expressions import PathExpression
from ingress.routing.beginnings import Beginnings

_AT_ONCE: Final = 200
_TEXT: Final = itemgetter(0)


class Compared(Protocol):
    """What has a path that may be a regular expression: a route, or a claim."""

    @property
    def path(self) -> str:
        """The path of its rule."""

    @property
    def beginnings(self) -> Beginnings | None:
        """What every path begins with that is meant; None for plain text."""

    @property
    def expressions(self) -> tuple[PathExpression, ...]:
        """What takes it; empty where it is closed."""


class Asked(NamedTuple):
    """An expression among the others of its realm."""

    text: bytes
    """What it stands by: that of the rule."""
    expression: PathExpression | None
    """None where all that begins so is closed."""
    number: int
    """Which of those it is that were given."""
    order: int
    place: int


def asking_order(all_compared: Sequence[Compared]) -> Stepwise[list[Asked]]:
    """Return, in steps, the expressions of one realm in the order in which they are asked.

    The longest text comes first, and among those of one length the one that is later in the alphabet.
    """
    found: list[Asked] = []
    for number, one in enumerate(all_compared):
        if number and not number % _AT_ONCE:
            yield
        begun = one.beginnings
        order, place, standing = (0, 0, "") if begun is None else (begun.order, begun.place, begun.text)
        if not one.expressions:
            found.append(Asked(_bytes(standing or one.path), None, number, order, place))
        for expression in one.expressions:
            found.append(Asked(_bytes(standing or expression.text), expression, number, order, place))
    yield
    found.sort(key=_age)
    yield
    found.sort(key=_TEXT, reverse=True)
    yield
    found.sort(key=_shortness)
    return found


def _age(asked: Asked) -> tuple[int, int, int]:
    """Return which of those with one text come first: the older Ingress's, of one Ingress the path that it writes first, and of one path that with the slash at its end."""
    length = 0 if asked.expression is None else len(asked.expression.text)
    return asked.order, asked.place, -length


def _shortness(asked: Asked) -> int:
    return -len(asked.text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
