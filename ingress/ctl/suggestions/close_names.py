"""Which of many names one may be meant by a name that there is not.  Pure.

A search is bounded, however many names there are: it is asked whether one is there that is written with a single mistake,
or with a word more or less; where that is not so, and they are few, they are compared as ``difflib`` does.
"""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cached_property
from typing import Final

_FEW: Final = 128
"""So many names are compared with each one."""
_MOST: Final = 3
"""Names that are suggested."""
_MOST_CHARACTERS: Final = 80
"""What is longer is looked for by words alone."""
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789-."
_LEAST_CLOSE: Final = 0.7
_BETWEEN_WORDS: Final = re.compile("[-./]")
_LEAST_LETTERS: Final = 5
"""A word of fewer letters is not taken for another one that was mistyped: *eu*, *uk*, *test* and *rest* may all be meant."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the end of a message: which one of a few *names* is meant by *name*, none of them; empty where none is close."""
    close = get_close_matches(name[:_MOST_CHARACTERS], names, 1)
    return f"; did you mean {close[0]}?" if close else ""


def is_slip(name: str, meant: str) -> bool:
    """Whether *name* is *meant* with one letter mistyped, so that hardly anybody can have meant another name by it.

    That is so of one long word among equal ones, with two letters changed round, or with one doubled, wrong, lacking or too
    many inside of it.  What differs at an end, or in a digit, may tell two names apart: nginx2, teama and teamb.
    """
    if name != meant and name.lower() == meant:
        return True
    words = list(zip(_BETWEEN_WORDS.split(name), _BETWEEN_WORDS.split(meant), strict=False))
    other = [(one, wanted) for one, wanted in words if one != wanted]
    if _BETWEEN_WORDS.findall(name) != _BETWEEN_WORDS.findall(meant) or len(other) != 1:
        return False
    return _is_mistyped(*other[0])


def _is_mistyped(word: str, meant: str) -> bool:
    shorter, longer = sorted((word, meant), key=len)
    if len(meant) < _LEAST_LETTERS or not f"{word}{meant}".isalpha():
        return False
    before, behind = _same(word, meant), _same(word[::-1], meant[::-1])
    if len(longer) == len(shorter):
        at = slice(before, before + 2)
        is_turned = before + behind == len(word) - 2 and word[at] == meant[at][::-1]
        return is_turned or (before + behind == len(word) - 1 and 0 < before < len(word) - 1)
    # Of a letter that is doubled nobody knows which of both is one too many.
    is_doubled = before + behind > len(shorter)
    is_inside = before + behind == len(shorter) and 0 < before < len(shorter)
    return len(longer) == len(shorter) + 1 and (is_doubled or is_inside)


def _same(one: str, other: str) -> int:
    """Return how many characters both begin with."""
    shortest = min(len(one), len(other))
    return next((at for at in range(shortest) if one[at] != other[at]), shortest)


def _is_once_mistaken(name: str, meant: str) -> bool:
    """Whether *name* is *meant* with a character too many, too few, wrong, or in its neighbour's place."""
    if not meant or abs(len(name) - len(meant)) > 1 or name == meant:
        return False
    before = _same(name, meant)
    rest, wanted = name[before:], meant[before:]
    if rest[1:] == wanted:
        return True
    if rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:]:
        return True
    return wanted[:1] in _LETTERS and wanted[1:] in (rest, rest[1:])


class CloseNames:
    """Names, and what may be meant by others; *between* stands between the words of one."""

    def __init__(self, names: Iterable[str], between: str = "-") -> None:
        self._names = frozenset(names)
        self._between = between

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def close_to(self, name: str) -> tuple[str, ...]:
        """Return the names that may be meant by *name*, the closest first; at most three."""
        found = dict.fromkeys(self._once_mistaken(name))
        found.update(dict.fromkeys(self._by_words(name)))
        if not found and len(self._names) <= _FEW and len(name) <= _MOST_CHARACTERS:
            found.update(dict.fromkeys(get_close_matches(name, self._sorted, _MOST, _LEAST_CLOSE)))
        found.pop(name, None)
        return tuple(found)[:_MOST]

    def _once_mistaken(self, name: str) -> Iterator[str]:
        """Yield those with a character too many, too few, wrong, or in its neighbour's place."""
        if not 1 < len(name) <= _MOST_CHARACTERS:
            return
        lowered = name.lower()
        if lowered in self._names:
            yield lowered
        if len(self._names) <= _FEW:
            # A few comparisons take less than thousands of spellings.
            yield from (one for one in self._sorted if _is_once_mistaken(lowered, one))
            return
        halves = [(lowered[:at], lowered[at:]) for at in range(len(lowered) + 1)]
        for before, after in halves:
            if after:
                yield from self._there(before + after[1:])
            if len(after) > 1:
                yield from self._there(before + after[1] + after[0] + after[2:])
        for letter in _LETTERS:
            for before, after in halves:
                yield from self._there(before + letter + after)
                if after:
                    yield from self._there(before + letter + after[1:])

    def _there(self, name: str) -> tuple[str, ...]:
        return (name,) if name in self._names else ()

    def _by_words(self, name: str) -> Iterator[str]:
        """Yield those with one word more or less at either end."""
        for shorter in _ends(name, self._between):
            yield from self._there(shorter)
        yield from self._longer.get(name, ())

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._names)

    @cached_property
    def _longer(self) -> dict[str, list[str]]:
        """By what is left of them without a word at an end: some names."""
        found: dict[str, list[str]] = {}
        for name in self._sorted:
            for shorter in _ends(name, self._between):
                some = found.setdefault(shorter, [])
                if len(some) < _MOST:
                    some.append(name)
        return found


def _ends(name: str, between: str) -> Iterator[str]:
    before, is_there, _ = name.rpartition(between)
    if is_there and before:
        yield before
    _, is_there, after = name.partition(between)
    if is_there and after:
        yield after
