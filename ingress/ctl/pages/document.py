"""A page as plain values: headings, paragraphs, lists, tables and listings, of which Markdown and HTML are made.

What tenants wrote is in here as they wrote it; the two that render it are the only ones that escape, each in its way.
"""

from collections.abc import Iterable

from ingress.model.frozen import frozen


@frozen
class Code:
    """A name, a value or another text that is meant letter by letter."""

    text: str


@frozen
class Strong:
    """Words that stand out."""

    text: str


@frozen
class Reference:
    """Words that lead to the heading *anchor* of the same page, where the format has links."""

    text: str
    anchor: str


Part = str | Code | Strong | Reference
Line = tuple[Part, ...]
"""Words in a row, without a break; a bare text is plain words."""


@frozen
class Heading:
    """*level* is 2 for the parts of the page, and more for what is in them; *anchor* has letters and digits alone."""

    level: int
    line: Line
    anchor: str = ""


@frozen
class Paragraph:
    """Some sentences."""

    line: Line


@frozen
class Points:
    """A list; *numbered* where the order matters."""

    items: tuple[Line, ...]
    numbered: bool = False


@frozen
class Table:
    """A table; the first cell of each row says what the row is about, and *numbers* are columns that hold numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]
    numbers: frozenset[int] = frozenset()


@frozen
class Listing:
    """Lines to be copied as they are; *language* is ``sh``, ``diff`` or ``json``."""

    text: str
    language: str


Block = Heading | Paragraph | Points | Table | Listing


@frozen
class Document:
    """A page in English: *title* is plain words."""

    title: str
    blocks: tuple[Block, ...]


def weight(blocks: Iterable[Block]) -> int:
    """Return about how many bytes *blocks* are as a page, seldom less: what has to be escaped counts as much as its escape."""
    return sum(_weight(text) + 64 for block in blocks for text in _texts(block))


def _weight(text: str) -> int:
    marks = sum(text.count(mark) for mark in "&<>\"'`|")
    return len(text.encode("utf-8", "replace")) + 5 * marks


def _texts(block: Block) -> Iterable[str]:
    match block:
        case Listing(text):
            # Each line has a mark of its own.
            return (text, "\n" * 32 * text.count("\n"))
        case Points(items):
            lines: Iterable[Line] = items
        case Table(_, _, rows):
            lines = (cell for row in rows for cell in row)
        case Heading(_, line) | Paragraph(line):
            lines = (line,)
    return (part if isinstance(part, str) else part.text for line in lines for part in line)
