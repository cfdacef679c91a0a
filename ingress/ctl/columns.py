"""Text in the columns of a terminal: how wide it is, broken into lines, and cut."""

import unicodedata
from typing import Final

_CUT: Final = "…"


def columns(text: str) -> int:
    """Return how many columns of a terminal *text*, one line, takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def wrapped(text: str, width: int, *, then: int | None = None, divides: bool = True) -> list[str]:
    """Return *text* as lines of at most *width* columns, those behind the first of *then* where that is given, broken at spaces.

    A word that is longer is divided, or without *divides* a line that is too long: a path is only of use as a whole.
    """
    lines: list[str] = []
    line: list[str] = []
    used = 0
    for word in text.split(" "):
        taken = columns(word)
        if line and used + 1 + taken > width:
            lines.append(" ".join(line))
            line, used = [], 0
            width = width if then is None else then
        while divides and taken > width and len(word) > 1:
            head, word = _divided(word, width)
            lines.append(head)
            taken = columns(word)
            width = width if then is None else then
        used += taken + bool(line)
        line.append(word)
    lines.append(" ".join(line))
    return lines


def cut_inside(text: str, width: int) -> str:
    """Return *text* if it takes at most *width* columns, else a third of that from its beginning, and its end: paths differ there."""
    if len(text) <= width // 2 or columns(text) <= width:
        return text
    head = _divided(text, max((width - 1) // 3, 1))[0]
    tail = _divided(text[::-1], max(width - 1 - columns(head), 1))[0][::-1]
    return head + _CUT + tail


def cut(text: str, width: int) -> str:
    """Return *text* if it takes at most *width* columns, else as much of its beginning; empty without room for that."""
    if columns(text) <= width:
        return text
    return "" if width < len(_CUT) + 1 else _divided(text, width - 1)[0] + _CUT


def padded(text: str, width: int) -> str:
    """Return *text* in exactly *width* columns: cut, or with spaces behind it."""
    text = cut(text, width)
    return text + " " * (width - columns(text))


def _divided(text: str, width: int) -> tuple[str, str]:
    """Divide *text* where *width* columns are full, after one character at least."""
    if text.isascii():
        at = max(width, 1)
        return text[:at], text[at:]
    used = 0
    for at, character in enumerate(text):
        used += _columns(character)
        if used > width and at:
            return text[:at], text[at:]
    return text, ""


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
