"""Paths that a regular expression takes, and paths beside these that it does not: guessed by its text, decided by running it."""

import re
from collections.abc import Iterator
from typing import Final

from ingress.model.frozen import frozen
from ingress.routing.beginnings import regex_beginnings
from ingress.routing.paths import PathError, normal_path
from ingress.routing.route import Route

MAX_TAKEN: Final = 4
MAX_LEFT: Final = 3
_MAX_GUESSES: Final = 400
_ENDINGS: Final = ("", "/", "/below", "/1", "beside", "1", "/below/further", "-1", ".html")
_COUNT: Final = re.compile(r"\{([0-9]{1,3})(,[0-9]{0,3})?\}")
_LETTERS: Final = {
    "d": "1",
    "w": "x",
    "s": "",
    "D": "x",
    "W": "-",
    "S": "x",
    "b": "",
    "A": "",
    "z": "",
    "Z": "",
}


@frozen
class ExpressionPaths:
    """Paths that an expression takes, and paths that it leaves."""

    taken: tuple[str, ...]
    left: tuple[str, ...]


def paths_beside(route: Route) -> ExpressionPaths:
    """Return some paths that *route*, which is one of expressions, takes, and some like them that it does not.

    Where its expression is not run, the first are those that it may take, and there are none of the second.
    """
    taken: list[str] = []
    left: list[str] = []
    for path in dict.fromkeys(_guesses(route)):
        raw = path.encode()
        try:
            if normal_path(raw) != raw:
                continue
        except PathError:
            continue
        if route.expressions:
            takes = any(one.takes(raw) for one in route.expressions)
        else:
            takes = route.beginnings is not None and route.beginnings.take(raw)
        kept, most = (taken, MAX_TAKEN) if takes else (left, MAX_LEFT)
        if len(kept) < most:
            kept.append(path)
    return ExpressionPaths(tuple(taken), tuple(left) if route.expressions else ())


def _guesses(route: Route) -> Iterator[str]:
    """Yield what may be taken, the likeliest first."""
    starts = []
    for expression in route.expressions:
        for more in (0, 1):
            example = _Example(expression.text, more).text()
            if example is not None:
                starts.append(example)
    beginnings = route.beginnings or regex_beginnings(route.path)
    starts += [one.decode("utf-8", "replace") for one in (*beginnings.prefixes, *sorted(beginnings.whole))]
    count = 0
    for ending in _ENDINGS:
        for start in dict.fromkeys(starts):
            guess = start + ending
            guess = guess if guess.startswith("/") else f"/{guess}"
            if guess.isascii() and guess.isprintable() and len(guess) <= 256:
                count += 1
                yield guess
            if count >= _MAX_GUESSES:
                return


class _Example:
    """One text that an expression may match: each part as rarely as it may come, and *more* times where it may come more often."""

    def __init__(self, text: str, more: int) -> None:
        self._text = text
        self._more = more
        self._at = 0

    def text(self) -> str | None:
        """Return it; None where the expression says what is not understood here."""
        try:
            found = self._alternatives(0)
        except _NotUnderstoodError:
            return None
        return found if self._at == len(self._text) else None

    def _alternatives(self, depth: int) -> str:
        if depth > 20:
            raise _NotUnderstoodError
        found = self._branch(depth)
        while self._text.startswith("|", self._at):
            self._at += 1
            other = self._branch(depth)
            # What is empty, as in (/|$), says the least.
            found = found or other
        return found

    def _branch(self, depth: int) -> str:
        parts: list[str] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._atom(depth)))
            if sum(map(len, parts)) > 256:
                raise _NotUnderstoodError
        return "".join(parts)

    def _atom(self, depth: int) -> str:
        sign = self._text[self._at]
        self._at += 1
        if sign == "(":
            if found := re.compile(r"\?(?::|P?<\w+>|i\))").match(self._text, self._at):
                self._at = found.end()
                if found[0] == "?i)":
                    return ""
            elif self._text.startswith("?", self._at):
                raise _NotUnderstoodError
            inner = self._alternatives(depth + 1)
            if not self._text.startswith(")", self._at):
                raise _NotUnderstoodError
            self._at += 1
            return inner
        if sign == "[":
            return self._class()
        if sign == "\\":
            letter = self._text[self._at : self._at + 1]
            self._at += 1
            if not letter or (letter.isalnum() and letter not in _LETTERS):
                raise _NotUnderstoodError
            return _LETTERS.get(letter, letter)
        return {".": "x", "^": "", "$": ""}.get(sign, sign)

    def _class(self) -> str:
        end = self._text.find("]", self._at + 1 + self._text.startswith("^", self._at))
        if end < 0:
            raise _NotUnderstoodError
        inner = self._text[self._at : end]
        self._at = end + 1
        if inner.startswith("^"):
            return next((sign for sign in "x1-_~" if sign not in inner), "x")
        if inner.startswith("\\"):
            return _LETTERS.get(inner[1:2], inner[1:2])
        return inner[:1]

    def _repeated(self, atom: str) -> str:
        sign = self._text[self._at : self._at + 1]
        least = 1
        if sign and sign in "*?":
            least = 0
            self._at += 1
        elif sign == "+":
            self._at += 1
        elif sign == "{" and (count := _COUNT.match(self._text, self._at)):
            least = int(count[1])
            self._at = count.end()
            sign = "" if count[2] is None else sign
        else:
            return atom
        if self._text[self._at : self._at + 1] in ("?", "+"):
            self._at += 1
        times = min(1, least + self._more) if sign == "?" else least + self._more if sign else least
        if times * len(atom) > 256:
            raise _NotUnderstoodError
        return atom * times


class _NotUnderstoodError(Exception):
    """Here is what no example is made of."""
