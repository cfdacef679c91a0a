"""A page of a list, object by object as its bytes come.  Pure.

A page is one text of JSON, and decoding it as a whole keeps the interpreter from all other threads: with 250 EndpointSlices of a hundred
endpoints each, as Kubernetes makes them, for 60 milliseconds, and for more than a second where objects are as large as they
may be.  So its text is cut between the objects, and each of them is decoded by itself.

Where one ends is found by how the first one begins, such as ``{"metadata":{``, since an API server writes all of a list alike.
That may stand elsewhere, too, but what ends there is not JSON, and goes on to the next such place then.  What cannot be cut,
however it is written, is decoded as a whole in the end; so a page says the same in whatever pieces.
"""

import re
from collections.abc import Iterator
from typing import Final

from ingress.cluster.json_text import decoded
from ingress.cluster.watching.large_objects import LARGE_BYTES, decoding
from ingress.cluster.watching.watch_events import (
    BrokenStreamError,
    ListPage,
    ObjectEvent,
    decoded_or_broken,
    object_from_json,
    page_from_json,
)
from ingress.model.stepwise import finished

MOST_BYTES: Final = 512 * 1024 * 1024
"""What may wait to be decoded: more than a page of the largest objects."""
_LONGEST_BEGINNING: Final = 8 * 1024
"""Within so much of a page is the beginning of its first object; where it is not, the page is decoded as a whole."""
_MOST_DOUBTS: Final = 8
"""How many places may turn out to be in the midst of an object before no more are looked for."""

_find_first = re.compile(rb'"items"\s*:\s*\[\s*(?=\{)').search
_match_beginning = re.compile(rb'\{(?:\s*"[^"\\]*"\s*:\s*"[^"\\]*"\s*,)*\s*"[^"\\]*"\s*:\s*\{').match
"""How an object begins: fields that are texts, and the first one that is an object, which is its metadata."""


class PageParts:
    """Takes the chunks of one page, and gives out its objects."""

    def __init__(self) -> None:
        self._head = b""
        """What stands before the first object, ..."""
        self._beginning = b""
        """... and how that begins; empty until it is here."""
        self._text = bytearray()
        """What was not given out yet: from the beginning of an object on, once there is one."""
        self._searched = 0
        self._doubts = 0

    def __repr__(self) -> str:
        return f"<PageParts: {len(self._text)} bytes wait>"

    def feed(self, chunk: bytes) -> Iterator[ObjectEvent]:
        """Take *chunk*; yield the objects that are complete by it, each decoded when it is asked for.

        Raises ``BrokenStreamError`` for what is none.
        """
        self._text += chunk
        if len(self._text) > MOST_BYTES:
            raise BrokenStreamError("a page of a list that has no end")
        if not self._beginning:
            self._begin()
        if self._beginning:
            yield from self._complete()

    def end(self) -> ListPage:
        """Return the page without the objects that were yielded.  Raises ``BrokenStreamError`` where it is none."""
        text = self._head + bytes(self._text)
        self._text.clear()
        return page_from_json(decoded_or_broken(text))

    def _begin(self) -> None:
        if self._doubts or len(self._text) < _LONGEST_BEGINNING:
            return
        first = _find_first(self._text, 0, _LONGEST_BEGINNING)
        beginning = _match_beginning(self._text, first.end(), _LONGEST_BEGINNING) if first else None
        if first is None or beginning is None:
            self._doubts = _MOST_DOUBTS
            return
        self._beginning = beginning[0]
        self._head = bytes(self._text[: first.end()])
        del self._text[: first.end()]
        self._searched = len(self._beginning)

    def _complete(self) -> Iterator[ObjectEvent]:
        while self._doubts < _MOST_DOUBTS:
            end = self._text.find(self._beginning, self._searched)
            if end < 0:
                self._searched = max(self._searched, len(self._text) - len(self._beginning) + 1)
                return
            raw = _object_of(bytes(self._text[:end]))
            if raw is None:
                self._doubts += 1
                self._searched = end + 1
                continue
            del self._text[:end]
            self._searched = len(self._beginning)
            yield object_from_json(raw, end)


def _object_of(text: bytes) -> object:
    """Return the object that *text* is, with a comma behind it; None where it is none, or a part of one."""
    text = text.rstrip()
    if not text.endswith(b","):
        return None
    try:
        if len(text) > LARGE_BYTES:
            # Other threads have the interpreter between the pieces.
            return finished(decoding(text[:-1])).value
        return decoded(text[:-1])
    except ValueError:
        return None
