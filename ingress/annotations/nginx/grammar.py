"""The grammar of nginx's configuration: a text becomes directives, each with the place where it stands.

A directive is words up to a semicolon, or up to a block in braces that holds directives again.  Words are plain or
in quotes; a backslash is for the next character, comments begin where a word could.  What stands in a block of Lua
is not looked at, but for where it ends.  The time is in proportion to the length of the text, and length, depth and number are bounded.

Source: https://nginx.org/en/docs/beginners_guide.html#conf_structure, and how nginx behaves.
"""

import re
from bisect import bisect_right
from typing import Final

from ingress.model.frozen import frozen

MAX_CHARACTERS: Final = 32 * 1024
MAX_DIRECTIVES: Final = 512
MAX_DEPTH: Final = 8
MAX_WORDS: Final = 64
"""Of one directive."""

_TOKEN: Final = re.compile(
    r"""
    (?P<space>(?:\s++|\#[^\n]*+)++)
    | (?P<sign>[;{}])
    | "(?P<double>(?:[^"\\]++|\\.)*+)"
    | '(?P<single>(?:[^'\\]++|\\.)*+)'
    | (?P<plain>(?!["'])(?:\\.|\$\{|[^\s;{\\$]++|\$)++)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([\"'\\trn])")
_ESCAPED: Final = {"t": "\t", "r": "\r", "n": "\n"}
_BEHIND_QUOTES: Final = re.compile(r"[\s;{)]|\Z")
_LUA: Final = re.compile(r"[{}\"'\[]|--")
_LUA_STRINGS: Final = {
    '"': re.compile(r'"(?:[^"\\\n]|\\.)*"', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\\n]|\\.)*'", re.DOTALL),
}
_LONG_BRACKET: Final = re.compile(r"\[(=*)\[")
LUA_BLOCK: Final = "_by_lua_block"
"""What names of directives end in whose block is Lua."""


class GrammarError(ValueError):
    """The text cannot be read; the message says why, and where."""

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        at = f" at line {line}, column {column}" if line else ""
        super().__init__(f"{reason}{at}")


@frozen
class Directive:
    """One directive."""

    name: str
    arguments: tuple[str, ...]
    line: int
    """From 1, ..."""
    column: int
    """... and so this; of the first character of its name."""
    block: "tuple[Directive, ...] | None" = None
    """What its braces hold; None where it ends in a semicolon."""
    lua: str = ""
    """What they hold where that is Lua."""


def read_directives(text: str) -> tuple[Directive, ...]:
    """Read a whole text; raises ``GrammarError``."""
    if len(text) > MAX_CHARACTERS:
        raise GrammarError(f"is longer than {MAX_CHARACTERS} characters")
    if "\0" in text:
        raise GrammarError("holds a NUL")
    return _Reader(text).read()


class _Reader:
    """Reads one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._count = 0
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]

    def read(self) -> tuple[Directive, ...]:
        directives = self._directives(0)
        if self._at < len(self._text):
            raise self._error("holds a } that nothing opened")
        return directives

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def _error(self, reason: str, at: int | None = None) -> GrammarError:
        return GrammarError(reason, *self._place(self._at if at is None else at))

    def _directives(self, depth: int) -> tuple[Directive, ...]:
        """Read up to the end, or up to a } that closes, which is left."""
        if depth > MAX_DEPTH:
            raise self._error(f"has blocks that are deeper than {MAX_DEPTH}")
        found: list[Directive] = []
        while (directive := self._directive(depth)) is not None:
            found.append(directive)
            self._count += 1
            if self._count > MAX_DIRECTIVES:
                raise self._error(f"has more than {MAX_DIRECTIVES} directives")
        return tuple(found)

    def _directive(self, depth: int) -> Directive | None:
        words: list[str] = []
        begin = self._at
        while True:
            at = self._at
            token = _TOKEN.match(self._text, at)
            if token is None:
                if at < len(self._text):
                    raise self._error("has quotes that are not closed, or a backslash at its end")
                if words:
                    raise self._error(f"ends amid {_shown(words[0])}: a semicolon is missing", begin)
                return None
            kind, value = token.lastgroup, token[0]
            if kind == "space":
                self._at = token.end()
            elif kind == "sign":
                if value == "}":
                    if words:
                        raise self._error(f"closes amid {_shown(words[0])}: a semicolon is missing", begin)
                    return None
                self._at = token.end()
                if not words:
                    if value == ";":
                        continue
                    raise self._error("opens a block without a name", at)
                return self._ended(words, begin, depth, value)
            else:
                if not words:
                    begin = at
                self._at = token.end()
                if kind in ("double", "single"):
                    value = token[kind]
                    if not _BEHIND_QUOTES.match(self._text, self._at):
                        raise self._error("goes on right behind quotes")
                words.append(_ESCAPE.sub(_unescaped, value) if "\\" in value else value)
                if len(words) > MAX_WORDS:
                    raise self._error(f"has a directive of more than {MAX_WORDS} words")

    def _ended(self, words: list[str], begin: int, depth: int, sign: str) -> Directive:
        name, arguments = words[0], tuple(words[1:])
        line, column = self._place(begin)
        if sign == ";":
            return Directive(name, arguments, line, column)
        if name.endswith(LUA_BLOCK):
            return Directive(name, arguments, line, column, (), self._lua())
        block = self._directives(depth + 1)
        if self._at >= len(self._text):
            raise self._error(f"never closes the block of {_shown(name)}", begin)
        self._at += 1
        return Directive(name, arguments, line, column, block)

    def _lua(self) -> str:
        """Go behind the } that ends a block of Lua."""
        text, begin, depth = self._text, self._at, 1
        at = begin
        while depth:
            found = _LUA.search(text, at)
            if found is None:
                raise self._error("never closes a block of Lua", begin)
            sign, at = found[0], found.end()
            if sign == "{":
                depth += 1
            elif sign == "}":
                depth -= 1
            elif sign == "--":
                bracket = _LONG_BRACKET.match(text, at)
                at = self._behind_bracket(bracket) if bracket else (text.find("\n", at) + 1 or len(text))
            elif sign == "[":
                bracket = _LONG_BRACKET.match(text, found.start())
                at = self._behind_bracket(bracket) if bracket else at
            else:
                quotes = _LUA_STRINGS[sign].match(text, found.start())
                if quotes is None:
                    raise self._error("has quotes in Lua that are not closed", found.start())
                at = quotes.end()
        self._at = at
        return text[begin : at - 1]

    def _behind_bracket(self, bracket: re.Match[str]) -> int:
        end = f"]{bracket[1]}]"
        at = self._text.find(end, bracket.end())
        if at < 0:
            raise self._error("has a long bracket in Lua that is not closed", bracket.start())
        return at + len(end)


def _unescaped(found: re.Match[str]) -> str:
    return _ESCAPED.get(found[1], found[1])


def _shown(name: str) -> str:
    """Return the name of a directive for a message."""
    return name if re.fullmatch(r"[a-z_0-9]{1,64}", name) else "a directive"
