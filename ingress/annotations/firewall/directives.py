"""The grammar of ModSecurity's configuration: a text becomes directives, each with the line where it begins.

A directive is a line, which a backslash at its end continues; its words are plain or in double quotes, in which a backslash is
for the next character, and both are kept as they are written.  A line that begins with # is a comment.  ingress-nginx pastes the text
between single quotes of nginx, so what nginx makes of a backslash there (``\\'`` and its like) is made of it first.

Source: https://github.com/owasp-modsecurity/ModSecurity/wiki/Reference-Manual-(v3.x), and ``ngx_conf_read_token`` of nginx.
"""

import re
from collections.abc import Iterator
from typing import Final

from ingress.model.frozen import frozen

MAX_CHARACTERS: Final = 16 * 1024
MAX_DIRECTIVES: Final = 256
MAX_WORDS: Final = 64
"""Of one directive."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_OF_NGINX: Final = re.compile(r"\\([\"'\\])")
_WORD: Final = re.compile(r'\s*+(?:"(?P<quoted>(?:[^"\\]++|\\.)*+)"(?=\s|\Z)|(?P<plain>[^\s"]\S*+))')
_CONTINUES: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[ \t]*\Z")


class GrammarError(ValueError):
    """The text cannot be read; the message says why, and where."""


@frozen
class Directive:
    """One directive."""

    name: str
    """In lower case."""
    words: tuple[str, ...]
    """Without their quotes, and else as they are written."""
    line: int
    """From 1."""
    written: str = ""
    """Its name as it is written."""


def read_directives(text: str) -> tuple[Directive, ...]:
    """Read a whole text; raises ``GrammarError``."""
    if len(text) > MAX_CHARACTERS:
        raise GrammarError(f"is longer than {MAX_CHARACTERS} characters")
    if _CONTROL.search(text) is not None:
        raise GrammarError("holds a control character")
    found: list[Directive] = []
    for line, whole in _lines(_OF_NGINX.sub(r"\1", text)):
        words = _words(whole, line)
        if not words:
            continue
        found.append(Directive(words[0].lower(), tuple(words[1:]), line, words[0]))
        if len(found) > MAX_DIRECTIVES:
            raise GrammarError(f"has more than {MAX_DIRECTIVES} directives")
    return tuple(found)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield what stands on lines, those that are continued as one, with the number of the first."""
    begun = 0
    parts: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not parts:
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            begun = number
        continued = _CONTINUES.search(line)
        if continued is None:
            yield begun, "".join((*parts, line))
            parts = []
        else:
            parts.append(line[: continued.end()].rstrip(" \t")[:-1])
    if parts:
        raise GrammarError(f"ends amid line {begun}, which a backslash continues")


def _words(whole: str, line: int) -> list[str]:
    words: list[str] = []
    at, end = 0, len(whole.rstrip())
    while at < end:
        found = _WORD.match(whole, at, end)
        if found is None:
            raise GrammarError(f"has quotes in line {line} that are not closed, or go on behind them")
        quoted = found["quoted"]
        words.append(found["plain"] if quoted is None else quoted)
        at = found.end()
        if len(words) > MAX_WORDS:
            raise GrammarError(f"has more than {MAX_WORDS} words in line {line}")
    return words
