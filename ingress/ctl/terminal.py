"""Text for a terminal: in bounds, and nothing in it that a terminal would obey.

What tenants wrote into their objects comes through here on its way to a person: escape sequences, line breaks and
marks that turn the direction of text are shown, and not done.  So is what those who run builds would obey in the middle of
a line (``##[…]`` of GitHub, ``##vso[…]`` of Azure Pipelines).
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import Final

import click

_RUNNER_COMMAND: Final = re.compile(r"##(?=\w*\[)")
_SPELLED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """Return *text* on one line, with whatever a terminal may act on written as an escape."""
    if not text.isprintable():
        text = "".join(character if character.isprintable() else _escape(character) for character in text)
    return _RUNNER_COMMAND.sub(r"#\\x23", text) if "##" in text else text


def printable_lines(text: str) -> str:
    """Return *text* as ``printable`` does, but for its line breaks and tabs, which stay."""
    if text.isprintable():
        return text
    return "".join(
        character if character in "\n\t" or character.isprintable() else _escape(character)
        for character in text
    )


def _escape(character: str) -> str:
    return _SPELLED.get(character) or character.encode("unicode_escape", "surrogatepass").decode("ascii")


COLOR_CHOICES: Final = ("auto", "always", "never")
FILE_WIDTH: Final = 100
"""Columns of a report that goes elsewhere than to a terminal."""
_WIDTHS: Final = (40, 140)
"""Lines of text that are longer are hard to read."""
_BATCH: Final = 1000


def has_colour(choice: str) -> bool:
    """Whether standard output is to have colours by *choice*, one of ``COLOR_CHOICES`` (no-color.org)."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Return how many columns text for standard output may take: those of its terminal, or of ``COLUMNS``."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        return FILE_WIDTH
    least, most = _WIDTHS
    return min(max(shutil.get_terminal_size((FILE_WIDTH, 24)).columns, least), most)


def print_lines(lines: Iterable[str], has_colour: bool = False) -> None:
    """Print *lines* of the answer as they come, with the colours in them or without."""
    batch: list[str] = []
    for line in lines:
        batch.append(line)
        if len(batch) == _BATCH:
            _print(batch, has_colour)
            batch = []
    if batch:
        _print(batch, has_colour)


def _print(lines: list[str], has_colour: bool) -> None:
    text = "\n".join(lines)
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), color=has_colour)


def say(text: str = "") -> None:
    """Print a line of the answer; colour goes where there is a terminal alone."""
    click.echo(text)


def tell(text: str) -> None:
    """Print a line beside the answer, on standard error."""
    click.echo(text, err=True)
