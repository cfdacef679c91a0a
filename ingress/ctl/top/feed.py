"""Server-sent events out of the octets of a stream, as the living standard of HTML has them.  Pure, and bounded."""

import json
from collections.abc import Iterator
from typing import Final

from ingress.model.frozen import frozen

MAX_EVENT_BYTES: Final = 4 * 1024 * 1024


class FeedError(ValueError):
    """What came is no stream of ours; the text says why."""


@frozen
class Event:
    """One event; a sign of life, which says nothing, has no name."""

    name: str = ""
    data: object = None
    id: str = ""
    """What a stream that goes on from here is asked for by."""


class Feed:
    """Takes octets as they come, and gives the events that are whole; those whose data is no JSON are none."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: list[tuple[str, str]] = []
        self._size = 0

    def take(self, octets: bytes) -> Iterator[Event]:
        """Yield the events that end in *octets*; raises ``FeedError`` where one is too large."""
        # A line may end in CR alone as well; nobody who sends such is asked here.
        *lines, self._rest = (self._rest + octets).split(b"\n")
        if len(self._rest) + self._size > MAX_EVENT_BYTES:
            raise FeedError(f"an event has more than {MAX_EVENT_BYTES} bytes")
        for octets_of_line in lines:
            line = octets_of_line.removesuffix(b"\r").decode("utf-8", "replace")
            self._size += len(line)
            if self._size > MAX_EVENT_BYTES:
                raise FeedError(f"an event has more than {MAX_EVENT_BYTES} bytes")
            if not line:
                yield from self._whole()
            elif line.startswith(":"):
                yield Event()
            else:
                name, _, value = line.partition(":")
                self._fields.append((name, value.removeprefix(" ")))

    def _whole(self) -> Iterator[Event]:
        fields, self._fields, self._size = self._fields, [], 0
        last = dict(fields)
        text = "\n".join(value for name, value in fields if name == "data")
        if not text:
            return
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return
        yield Event(last.get("event", "message"), data, last.get("id", ""))
