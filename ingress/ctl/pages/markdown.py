"""A document as Markdown, in GitHub's flavor: what tenants wrote is words in it, and never markup.

Plain words have escapes before whatever Markdown would read.  Words that are made into links or mentions without any
markup (addresses, ``@names``, numbers of issues) become code, and so does all that is meant letter by letter.
"""

import re
from collections.abc import Iterator
from typing import Final

from ingress.ctl.pages.document import (
    Block,
    Code,
    Document,
    Heading,
    Line,
    Listing,
    Paragraph,
    Part,
    Points,
    Strong,
    Table,
)
from ingress.ctl.terminal import printable, printable_lines

_MARKS: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|&~$"})
_BEGINNING: Final = re.compile(r"^(\s*)([-+#=]|[0-9]+(?=[.)]))")
_BY_ITSELF: Final = re.compile(r"@|://|www\.|#[0-9]|\bgh-[0-9]", re.IGNORECASE)


def as_markdown(document: Document) -> str:
    """Return *document* as text; its last line ends with a line break."""
    blocks = [f"# {_plain(document.title)}", *("\n".join(_block(block)) for block in document.blocks)]
    return "\n\n".join(blocks) + "\n"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Heading(level, line):
            yield f"{'#' * level} {_line(line)}"
        case Paragraph(line):
            yield _line(line)
        case Points(items, numbered):
            for number, item in enumerate(items, 1):
                yield f"{number}. {_line(item)}" if numbered else f"- {_line(item)}"
        case Table(caption, columns, rows, numbers):
            yield f"{_plain(caption)}:"
            yield ""
            yield _row(_plain(name) for name in columns)
            yield _row("---:" if number in numbers else "---" for number in range(len(columns)))
            for row in rows:
                yield _row(_line(cell, in_table=True) for cell in row)
        case Listing(text, language):
            yield fenced(printable_lines(text), language)


def _row(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _line(line: Line, *, in_table: bool = False) -> str:
    return "".join(_part(part, in_table) for part in line)


def _part(part: Part, in_table: bool) -> str:
    match part:
        case str():
            return _plain(part, in_table=in_table)
        case Code(text):
            return _code(text, in_table)
        case Strong(text):
            return f"**{_plain(text, in_table=in_table)}**"
        case _:
            return _plain(part.text, in_table=in_table)


def _plain(text: str, *, in_table: bool = False) -> str:
    words = printable(text).split(" ")
    escaped = " ".join(
        _code(word, in_table) if _BY_ITSELF.search(word) else word.translate(_MARKS) for word in words
    )
    return _BEGINNING.sub(_escaped_beginning, escaped)


def _escaped_beginning(found: re.Match[str]) -> str:
    # A number that a list would begin with has its escape behind it.
    mark = found[2]
    return f"{found[1]}{mark}\\" if mark.isdigit() else f"{found[1]}\\{mark}"


def _code(text: str, in_table: bool) -> str:
    shown = printable(text)
    if not shown.strip(" "):
        return "(nothing)" if not shown else f"({len(shown)} blanks)"
    if in_table and ("|" in shown or "\\" in shown):
        # Rows are cut at bars before code is looked for, and how escapes of these nest is not said anywhere.
        return f"<code>{''.join(_entity(character) for character in shown)}</code>"
    run = longest_run(shown)
    fence = "`" * (run + 1)
    space = " " if run or shown != shown.strip(" ") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def _entity(character: str) -> str:
    return character if character.isalnum() or character == " " else f"&#{ord(character)};"


_RUN: Final = re.compile("`+")
_LEAST: Final = 3


def longest_run(text: str) -> int:
    """Return how many backquotes stand in a row in *text*, at the most."""
    return max((len(run) for run in _RUN.findall(text)), default=0)


def fenced(text: str, language: str) -> str:
    """Return *text* between two fences that are longer than any in it (CommonMark 0.31, section 4.5), without a line break at the end."""
    fence = "`" * max(_LEAST, longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
