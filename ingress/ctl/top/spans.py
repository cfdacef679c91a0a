"""Lines of a terminal in pieces, each with what it is to look like; cut to columns before anything is coloured.  Pure."""

from collections.abc import Iterable, Sequence
from enum import Enum

from ingress.ctl.columns import columns, cut
from ingress.model.frozen import frozen


class Look(Enum):
    """What a piece is to look like; the value is the parameter of SGR (ECMA-48)."""

    PLAIN = ""
    BOLD = "1"
    FAINT = "2"
    TURNED = "7"
    BAD = "31"
    GOOD = "32"
    ODD = "33"


@frozen
class Span:
    """A piece of a line: printable text."""

    text: str
    look: Look = Look.PLAIN


Line = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """Return a line of *parts*."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts if part)


def joined(parts: Iterable[str | Span], between: str = "   ") -> Line:
    """Return a line of the *parts* that are not empty, with the same text between each two."""
    found = [part for part in line(*parts) if part.text]
    return tuple(one for part in found for one in (Span(between), part))[1:]


def painted(spans: Sequence[Span], width: int, has_colour: bool) -> str:
    """Return the text of a line in at most *width* columns, with what a terminal does if *has_colour*."""
    written = []
    for span in spans:
        if width <= 0:
            break
        text = cut(span.text, width)
        width -= columns(text)
        is_painted = has_colour and span.look is not Look.PLAIN
        written.append(f"\x1b[{span.look.value}m{text}\x1b[0m" if is_painted else text)
    return "".join(written)
