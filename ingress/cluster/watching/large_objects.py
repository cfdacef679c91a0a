"""The text of one large object, decoded in pieces.  Pure.

Decoding keeps the interpreter from all other threads: for 18 milliseconds where an object has 1.3 MB, which is as large as an API server
takes them, and for 6 more when what was decoded is freed.  So long lists of objects are cut out of the text, some dozen KB at a time, each
of which is decoded by itself, and what is left of the text in the end.

A list is cut where elements begin alike, such as ``{"host":``, since an API server writes nearly all of them so; what begins otherwise is
left in the text.  That such a place is in the list itself, and not somewhere below, follows from JSON: what stands between two of them is a
list of whole elements, or is none at all.  That the list is one, and no part of a text, is seen in the end: a number stands in its place,
which has to be found in a list.  Whatever is otherwise has the text decoded as a whole.
"""

import re
from typing import Any, Final

from attrs import Factory, define

from ingress.cluster.json_text import decoded
from ingress.model.stepwise import Stepwise

LARGE_BYTES: Final = 32 * 1024
"""Of the text of an object.  Smaller ones are decoded and compared in tens of microseconds, and so often that doing it otherwise costs more."""
PIECE_BYTES: Final = 24 * 1024
"""Of a piece, at least: a third of a millisecond."""
_MOST_PIECES: Final = 3
"""A piece has no more than as many times that."""
_MOST_DOUBTS: Final = 16
"""How many pieces may turn out to be none before no more are looked for."""
_MOST_SHORT: Final = 64
"""Of how many sorts of lists none may be long before no more are looked for; an object has hardly twenty sorts."""
_LET_GO_AT_ONCE: Final = 500
_LOOKS_A_STEP: Final = 64

_FINDS: Final = tuple(re.compile(first + rb'(\{"[^"\\]{1,64}":)').search for first in (rb"\[", rb","))
"""Finds how the first element of a list begins, or a later one: by two expressions, each of which is looked for by its first bytes."""
_MARK: Final = b"-73409583120"
"""Begins the numbers that stand in the place of what was cut out."""


@define(eq=False)
class InPieces:
    """What a text is, which was decoded in pieces."""

    value: Any
    lists: list[list[Any]] = Factory(list)
    """The long lists in *value*."""

    def let_go(self) -> Stepwise[None]:
        """Free the long lists in steps; nobody may need *value* any more."""
        for some in self.lists:
            while some:
                del some[-_LET_GO_AT_ONCE:]
                yield


def decoding(text: bytes) -> Stepwise[InPieces]:
    """Return the value that *text* is; raises ``ValueError``."""
    if _MARK in text:
        return InPieces(decoded(text))
    # What is left of the text, and what was cut out of it, list by list.
    left: list[bytes] = []
    cut: list[list[Any]] = []
    # By how elements begin: how far it is known that no piece ends, and none begins.
    looked_to: dict[bytes, int] = {}
    none_before: dict[bytes, int] = {}
    beginnings = _Beginnings(text)
    at = taken = doubts = looks = 0
    # Whatever begins later has no piece behind it.
    last = len(text) - PIECE_BYTES
    while doubts < _MOST_DOUBTS and len(looked_to) < _MOST_SHORT and (begins := beginnings.at_or_after(at)):
        at = begin = first = begins.start(1)
        if at > last:
            break
        looks += 1
        if not looks % _LOOKS_A_STEP:
            yield
        if at < none_before.get(begins[1], 0):
            continue
        elements: list[Any] = []
        while (end := _end_of_piece(text, begin, begins[1], looked_to)) >= 0:
            try:
                piece = decoded(b"[%b]" % text[begin:end])
            except ValueError:
                # That place is in another list, the last one that begins before it, as a rule.
                doubts += 1
                none_before[begins[1]] = max(begin + 1, text.rfind(b"[" + begins[1], begin, end))
                break
            assert isinstance(piece, list), "so its brackets say"
            elements += piece
            begin = end + 1
            yield
        if begin > first:
            left += text[taken:first], b"%b%06d," % (_MARK, len(cut))
            cut.append(elements)
            # There may be long lists in the elements that are left, too.
            at = taken = begin
    if not cut:
        return InPieces(decoded(text))
    left.append(text[taken:])
    value = decoded(b"".join(left))
    yield
    lists = _put_back(value, cut)
    return InPieces(decoded(text)) if lists is None else InPieces(value, lists)


class _Beginnings:
    """Where elements of lists begin in a text."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._found = [find(text) for find in _FINDS]

    def at_or_after(self, at: int) -> "re.Match[bytes] | None":
        """Return the first beginning that is looked for from *at* on, which is no less than before, as the group 1; None for no more."""
        nearest = None
        for place, find in enumerate(_FINDS):
            found = self._found[place]
            if found is not None and found.start() < at:
                found = self._found[place] = find(self._text, at)
            if found is not None and (nearest is None or found.start() < nearest.start()):
                nearest = found
        return nearest


def _end_of_piece(text: bytes, begin: int, beginning: bytes, looked_to: dict[bytes, int]) -> int:
    """Return where a piece ends that begins at *begin*, in front of the comma; negative for none.

    No place is looked at twice: there may be ten thousand short lists, whose elements all begin alike.
    """
    end, until = b"}," + beginning, begin + _MOST_PIECES * PIECE_BYTES
    found = text.find(end, max(begin + PIECE_BYTES, looked_to.get(beginning, 0)), until)
    if found >= 0:
        return found + 1
    looked_to[beginning] = until - len(end) + 1
    return found


def _put_back(value: object, cut: list[list[Any]]) -> list[list[Any]] | None:
    """Put the elements of *cut* in the places in *value* that their numbers have; return the lists, None where one has no place."""
    places: list[tuple[list[Any], int, int]] = []
    first_mark = int(_MARK + b"000000")
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if type(one) is dict:
            waiting += one.values()
        elif type(one) is list:
            for place, some in enumerate(one):
                if type(some) is int:
                    if 0 <= first_mark - some < len(cut):
                        places.append((one, place, first_mark - some))
                elif type(some) is dict or type(some) is list:
                    waiting.append(some)
    if len(places) < len(cut):
        return None
    lists: list[list[Any]] = []
    # From the end of each list on, where the places before it stay as they are.
    for one, place, number in reversed(places):
        one[place : place + 1] = cut[number]
        if not lists or lists[-1] is not one:
            lists.append(one)
    return lists
