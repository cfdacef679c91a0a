"""Text for a terminal: in bounds, and nothing in it that a terminal would obey.

What tenants wrote into their objects comes through here on its way to a person: escape sequences, line breaks and
marks that turn the direction of text are shown, and not done.
"""

from typing import Final

import click

_SPELLED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """Return *text* on one line, with whatever a terminal may act on written as an escape."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


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


def say(text: str = "") -> None:
    """Print a line of the answer; colour goes where there is a terminal alone."""
    click.echo(text)


def tell(text: str) -> None:
    """Print a line beside the answer, on standard error."""
    click.echo(text, err=True)
