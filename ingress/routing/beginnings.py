"""The beginnings of a path that is a regular expression: what every match of it begins with, or is.

No expression is run here, since it is a tenant's text.  It is read from the left as far as it says
one thing after the other: characters, escaped characters, groups of alternatives, what may be
absent.  Where it says anything else (a class, a dot, a repetition), reading ends.  So the result
takes every path that the expression takes, and others, too; it never takes less.

Whoever wrote the expression had nginx match it (``location ~* "^EXPRESSION"``): by PCRE, against
the normal form of the path, without upper and lower case, fixed to the beginning of the path and not to its
end.  Of alternatives outside of groups only the first is fixed to the beginning, and the others match anywhere.
"""

import re
from functools import lru_cache
from typing import Final

from ingress.model.frozen import frozen

MAX_CHARACTERS: Final = 1024
"""Of expressions that are longer, nothing is read: reading one must not take above a millisecond or two."""
MAX_BEGINNINGS: Final = 32
"""Alternatives that are followed; beyond these, what they have begun with is enough."""
MAX_LENGTH: Final = 256
"""Characters of one beginning."""
_MAX_DEPTH: Final = 32
EVERYBODY: Final = "*"
"""Stands for all namespaces, where they share their hosts."""

# What follows where no text can be continued any more, up to the next sign that has to do with groups.
_PASSED: Final = re.compile(r"[^\\\[()|]+")

_SIGNS: Final = re.compile(r"[\\^$|?*+()\[\]{}]")
# No normal form of a path has these (``ingress.routing.paths``), or it has them in another spelling.
_NOT_IN_PATHS: Final = frozenset(";?#%\\")
_is_simple: Final = re.compile(r"[A-Za-z0-9/_.~-]*").fullmatch
_GROUP: Final = re.compile(r"\?(?::|P?<[A-Za-z_][A-Za-z0-9_]*>|'[A-Za-z_][A-Za-z0-9_]*')")
_LOOK: Final = re.compile(r"\?<?[=!]")
_COUNT: Final = re.compile(r"\{[0-9, ]*\}")


def has_regex_signs(path: str) -> bool:
    """Say whether *path* means something else as a regular expression; a dot alone is not counted."""
    return _SIGNS.search(path) is not None


@frozen(weakref_slot=False)
class Beginnings:
    """Which paths are meant, in lower case: those that begin with *prefixes*, and those of *whole*."""

    prefixes: tuple[bytes, ...]
    whole: frozenset[bytes] = frozenset()
    realm: str = ""
    """Among whose paths the longer text comes first, as in ingress-nginx: a namespace, an Ingress, or ``EVERYBODY``."""
    own_prefixes: tuple[bytes, ...] = ()
    """More of them, which an older Ingress of another realm has as a path of its own: what that takes does not go here."""
    own_whole: frozenset[bytes] = frozenset()
    order: int = 0
    """Which of the Ingresses of the host it belongs to, counted from the oldest."""
    place: int = 0
    """Which of the paths of its Ingress it is, counted from the first that is written."""
    text: str = ""
    """What it stands by among the paths of its realm, where that is not the text of its expression."""

    def take(self, path: bytes) -> bool:
        """Whether *path*, in normal form, is among those that are meant."""
        lowered = path.lower()
        return lowered in self.whole or lowered.startswith(self.prefixes)

    @property
    def takes_all(self) -> bool:
        """Whether there is no path that is not meant."""
        return any(one in (b"", b"/") for one in self.prefixes)

    def __str__(self) -> str:
        """Return them in words, for a message."""
        if self.takes_all:
            return "every path"
        if not self.prefixes and not self.whole:
            return "what nobody older has" if self.own_prefixes or self.own_whole else "no path"
        shown = [f"what begins with {_shown(one)}" for one in self.prefixes]
        shown += [_shown(one) for one in sorted(self.whole) if not one.endswith(b"\n")]
        more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
        return ", ".join(shown[:4]) + more


EVERYTHING: Final = Beginnings((b"",))


@lru_cache(maxsize=1024)
def regex_beginnings(path: str) -> Beginnings:
    """Return the beginnings of the regular expression *path*.  Never raises."""
    if len(path) > MAX_CHARACTERS:
        return EVERYTHING
    if len(path) <= MAX_LENGTH and "//" not in path and _is_simple(path):
        # A dot is any character, and is hardly ever meant as one: what has it there counts with all of the text.
        lowered = path.lower().encode()
        before, dot, _ = lowered.partition(b".")
        return Beginnings((before, lowered) if dot else (lowered,))
    reader = _Reader(path)
    try:
        branch = reader.branch(0, _EMPTY)
        if reader.at < len(path):
            # An alternative that is not fixed to the beginning, or a bracket that nothing opened.
            return EVERYTHING
    except _Unread:
        return EVERYTHING
    # No normal form has an empty segment, here as in nginx.
    ends = {_plain(text) for text in branch.ends if "//" not in text}
    prefixes = _least({_plain(text) for text in branch.live | branch.stopped if "//" not in text})
    whole = {one for one in ends if not one.startswith(prefixes)}
    # The end of a subject is also before a line feed that ends it.
    return Beginnings(prefixes, frozenset(whole | {one + b"\n" for one in whole}))


class _Unread(Exception):  # noqa: N818 - it ends the reading, and is no failure
    """Here is what is not understood: it may change the meaning of all that was read."""


@frozen
class _Branch:
    """The texts that a part of an expression may begin with.

    What follows the part belongs behind those of *live*; *stopped* is not known further, and
    *ends* are whole paths.
    """

    live: frozenset[str]
    stopped: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()


_EMPTY: Final = _Branch(frozenset({""}))
_UNKNOWN: Final = _Branch(frozenset(), frozenset({""}))
_END: Final = _Branch(frozenset(), frozenset(), frozenset({""}))


def _joined(one: _Branch, other: _Branch) -> _Branch:
    """Return *one* followed by *other*."""
    if not one.live:
        return one
    live = {a + b for a in one.live for b in other.live}
    stopped = one.stopped | {a + b for a in one.live for b in other.stopped}
    ends = one.ends | {a + b for a in one.live for b in other.ends}
    if len(live) + len(stopped) + len(ends) > MAX_BEGINNINGS or any(len(text) > MAX_LENGTH for text in live):
        return _Branch(frozenset(), one.stopped | one.live, one.ends)
    return _Branch(frozenset(live), frozenset(stopped), frozenset(ends))


def _either(one: _Branch, other: _Branch) -> _Branch:
    found = _Branch(one.live | other.live, one.stopped | other.stopped, one.ends | other.ends)
    return found if len(found.live) + len(found.stopped) + len(found.ends) <= MAX_BEGINNINGS else _UNKNOWN


class _Reader:
    """Reads an expression from left to right; *at* is where it stands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def branch(self, depth: int, found: _Branch) -> _Branch:
        """Read behind *found* up to the next ``|`` or ``)`` that belongs to the part around this one."""
        text = self._text
        while self.at < len(text) and text[self.at] not in "|)":
            if found.live:
                found = _joined(found, self._repeated(self._atom(depth, _EMPTY)))
            elif passed := _PASSED.match(text, self.at):
                self.at = passed.end()
            else:
                self._atom(depth, found)
        return found

    def _atom(self, depth: int, begun: _Branch) -> _Branch:
        sign = self._text[self.at]
        self.at += 1
        if sign == "(":
            return self._group(depth + 1, begun)
        if sign == "[":
            return self._class()
        if sign == "\\":
            return self._escaped()
        if sign == "^":
            return _EMPTY
        if sign == "$":
            return _END
        if sign in ".?*+{":
            return _UNKNOWN
        return self._character(sign)

    def _character(self, sign: str) -> _Branch:
        if sign in _NOT_IN_PATHS or not sign.isprintable():
            return _UNKNOWN
        return _Branch(frozenset({sign}))

    def _escaped(self) -> _Branch:
        if self.at == len(self._text):
            raise _Unread
        sign = self._text[self.at]
        if sign in "QEKG":
            # A quotation, or another beginning of the match.
            raise _Unread
        self.at += 1
        return _UNKNOWN if sign.isalnum() else self._character(sign)

    def _class(self) -> _Branch:
        """Pass over a class of characters."""
        text, at = self._text, self.at
        if text[at : at + 1] == "^":
            at += 1
        if text[at : at + 1] == "]":
            at += 1
        while text[at : at + 1] != "]":
            if at >= len(text) or text.startswith(("[:", "\\Q", "\\E"), at):
                raise _Unread
            at += 2 if text[at] == "\\" else 1
        self.at = at + 1
        return _UNKNOWN

    def _group(self, depth: int, begun: _Branch) -> _Branch:
        if depth > _MAX_DEPTH:
            raise _Unread
        text = self._text
        looks = False
        if text.startswith("?i)", self.at):
            # Case makes no difference anyway.
            self.at += 3
            return _EMPTY
        if text[self.at : self.at + 1] in ("?", "*"):
            opening = _GROUP.match(text, self.at) or _LOOK.match(text, self.at)
            if opening is None:
                raise _Unread
            looks = opening.group()[-1] in "=!"
            self.at = opening.end()
        found = self.branch(depth, begun)
        while text[self.at : self.at + 1] == "|":
            self.at += 1
            # Where there are too many to follow, the others are only passed over.
            begun = _UNKNOWN if found is _UNKNOWN else begun
            found = _either(found, self.branch(depth, begun))
        if text[self.at : self.at + 1] != ")":
            raise _Unread
        self.at += 1
        # What looks ahead or back takes nothing, and only makes the matches fewer.
        return _EMPTY if looks else found

    def _repeated(self, atom: _Branch) -> _Branch:
        """Read how often *atom* comes."""
        text = self._text
        sign = text[self.at : self.at + 1]
        if sign == "" or sign not in "?*+{":
            return atom
        if sign == "{":
            count = _COUNT.match(text, self.at)
            if count is None:
                # A brace like any character, and what follows it is read like anything else.
                return atom
            self.at = count.end()
        else:
            self.at += 1
        if text[self.at : self.at + 1] in ("?", "+"):
            # As few as possible, or as many: no matter here.
            self.at += 1
        if sign == "?":
            return _either(atom, _EMPTY)
        if sign == "+":
            return _Branch(frozenset(), atom.live | atom.stopped, atom.ends)
        return _UNKNOWN


def _plain(text: str) -> bytes:
    """Return a beginning as it is compared."""
    return text.encode("utf-8").lower()


def _least(prefixes: set[bytes]) -> tuple[bytes, ...]:
    """Return those of *prefixes* that no other one begins, sorted."""
    found: list[bytes] = []
    for one in sorted(prefixes):
        if not found or not one.startswith(found[-1]):
            found.append(one)
    return tuple(found)


def _shown(text: bytes) -> str:
    cut = text[:64].decode("utf-8", "backslashreplace")
    return f'"{cut}"' if cut.isprintable() else ascii(cut)
