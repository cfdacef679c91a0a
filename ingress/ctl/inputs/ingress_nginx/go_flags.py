"""The words of a command line as ``pflag`` reads them, Go's library for that.  Pure.

A boolean takes no word behind it: ``--x false`` is ``--x``, with ``false`` as a word that means nothing.  Any other takes the next
word, whatever that is.  What it refuses keeps a program from starting.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Final

from ingress.model.frozen import frozen
from ingress.options.ingress_nginx_arguments import ArgumentType, seconds_of

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
# With a base as in Go, and with underscores between digits where it has one.
_WHOLE: Final = re.compile(r"([+-]?)(0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0[bB][01_]+|[1-9][0-9]{0,18}|0)")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST: Final = {ArgumentType.WHOLE: (-(2**63), 2**63 - 1), ArgumentType.COUNT: (0, 2**32 - 1)}


@frozen
class Flag:
    """One argument as it is read: *value* is its text, of a boolean ``true`` or ``false``, of a whole number its digits."""

    name: str
    value: str = ""
    fault: str = ""
    """Why it is refused; empty where it is not."""
    ignored: str = ""
    """The word behind a boolean that looks like its value and is none."""
    is_known: bool = True


def read_flags(words: Sequence[str], types: Mapping[str, ArgumentType]) -> Iterator[Flag]:
    """Yield what *words* say, in their order; *types* are those of all that there are, by name.

    Words that belong to none are passed over.
    """
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word == "--":
            return
        if not word.startswith("-") or word == "-":
            continue
        following = words[place] if place < len(words) else None
        flag, takes_next = _read(word, following, types)
        yield flag
        place += takes_next


def _read(word: str, following: str | None, types: Mapping[str, ArgumentType]) -> tuple[Flag, bool]:
    """Return what *word* says, and whether that takes the word *following*."""
    if word.startswith("--"):
        name, has_value, value = word[2:].partition("=")
    else:
        # One letter, with its value behind it or not.
        name, value = word[1], word[2:].removeprefix("=")
        has_value = word[2:]
    if not word.startswith("--") and (len(name + has_value) > 1 and name not in types):
        return Flag(word[1:].partition("=")[0], fault="has one dash, and needs two", is_known=False), False
    kind = types.get(name)
    if kind is None:
        return Flag(name, is_known=False), False
    if has_value:
        return _checked(name, kind, value), False
    if kind is ArgumentType.BOOLEAN:
        is_boolean = following is not None and following in _TRUE | _FALSE
        return Flag(name, "true", ignored=following if following is not None and is_boolean else ""), False
    if following is None:
        return Flag(name, fault="needs a value"), False
    return _checked(name, kind, following), True


def _checked(name: str, kind: ArgumentType, text: str) -> Flag:
    if kind is ArgumentType.BOOLEAN and text in _TRUE | _FALSE:
        return Flag(name, "true" if text in _TRUE else "false")
    if kind in _MOST:
        number = whole_number(text, *_MOST[kind])
        return Flag(name, text, f"is no {_NAMES[kind]}") if number is None else Flag(name, str(number))
    return Flag(name, text, "" if _is_read(kind, text) else f"is no {_NAMES[kind]}")


def _is_read(kind: ArgumentType, text: str) -> bool:
    match kind:
        case ArgumentType.TEXT:
            return True
        case ArgumentType.NUMBER:
            return _NUMBER.fullmatch(text) is not None
        case ArgumentType.NUMBERS:
            return all(_NUMBER.fullmatch(part) for part in text.split(","))
        case ArgumentType.DURATION:
            return _is_duration(text)
        case ArgumentType.ADDRESS:
            return _is_address(text.strip())
        case _:
            return False


def whole_number(text: str, least: int, most: int) -> int | None:
    """Return the number that *text* is in Go, of any base; None where it is none, or out of bounds."""
    found = _WHOLE.fullmatch(text)
    if found is None or "__" in text or text.endswith("_"):
        return None
    digits = found[2].replace("_", "")
    # An old octal number has no letter in Go, and needs one in Python.
    number = int(digits, 8) if re.fullmatch("0[0-7]+", digits) else int(digits, 0)
    number = -number if found[1] == "-" else number
    return number if least <= number <= most else None


def _is_duration(text: str) -> bool:
    try:
        seconds_of(text)
    except ValueError:
        return False
    return True


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


_NAMES: Final = {
    ArgumentType.BOOLEAN: "boolean; write true or false",
    ArgumentType.WHOLE: "whole number",
    ArgumentType.COUNT: "whole number, 0 or more",
    ArgumentType.NUMBER: "number",
    ArgumentType.NUMBERS: "list of numbers with commas between them",
    ArgumentType.DURATION: 'duration; write "30s" or "1m30s"',
    ArgumentType.ADDRESS: "IP address",
}
