"""Events as server-sent ones are written (HTML Living Standard, section 9.2), and where somebody goes on who saw some.  Pure."""

import json
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

COMMENT: Final = b":\n\n"
"""Tells nothing but that somebody is there."""
_MARK: Final = re.compile(r"([0-9a-f]{1,32})\.([0-9]{1,15})\.([0-9]{1,15})")


class Mark(NamedTuple):
    """Up to where somebody has seen what happened."""

    life: str
    """Of the process, whose numbers they are."""
    change: int = 0
    failure: int = 0

    def __str__(self) -> str:
        return f"{self.life}.{self.change}.{self.failure}"


def mark_from(text: str, life: str) -> Mark:
    """Return what a ``Last-Event-ID`` of *text* says, of another life or without sense: that nothing was seen."""
    found = _MARK.fullmatch(text)
    if found is None or found[1] != life:
        return Mark(life)
    return Mark(life, int(found[2]), int(found[3]))


def event(name: str, value: object, mark: Mark | None = None) -> bytes:
    """Return an event of *name* with *value* as JSON; a client that has seen it says *mark* when it comes again."""
    return _event(name, _json(value), mark)


def newest(name: str, values: Iterable[object], most: int, mark: Mark) -> bytes:
    """Return an event with a list of *values*, which come newest first, the oldest first: as many as fit into *most* bytes, and one at least."""
    told: list[bytes] = []
    for value in values:
        data = _json(value)
        most -= len(data)
        if told and most < 0:
            break
        told.append(data)
    return _event(name, b"[%b]" % b",".join(reversed(told)), mark)


def _json(value: object) -> bytes:
    # JSON has no line breaks of its own, and those of texts are escaped: an event cannot be broken out of.
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def _event(name: str, data: bytes, mark: Mark | None) -> bytes:
    said = "" if mark is None else f"id: {mark}\n"
    return b"event: %b\n%bdata: %b\n\n" % (name.encode(), said.encode(), data)
