"""What a page answers: as a whole, in pieces that are made in slices, or for as long as somebody looks."""

import json
from collections.abc import Iterator
from typing import Final

from twisted.web import http

from ingress.live.live import Live
from ingress.model.frozen import frozen

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"


@frozen
class Answer:
    """One that is small, and made at once."""

    content: bytes
    content_type: str = TEXT
    status: int = http.OK
    fields: tuple[tuple[str, str], ...] = ()
    """Header fields besides those that all answers have, or in the place of theirs."""


@frozen
class LargeAnswer:
    """One that grows with the cluster; see ``ingress.admin.port.sliced_pages``."""

    pieces: Iterator[str]
    content_type: str = JSON
    is_gzip: bool = False
    """Whether it is sent compressed; whoever asks has said that it may be."""


@frozen(eq=False)
class StreamAnswer:
    """One that goes on for as long as somebody looks; see ``ingress.admin.pages.live_stream``."""

    live: Live


def as_json(value: object) -> Answer:
    """Return the answer that says *value*, which is small."""
    return Answer(json.dumps(value, indent=2).encode() + b"\n", JSON)


def refused_query(why: str) -> Answer:
    """Return the answer to a query that asks for something that there is not."""
    return Answer(json.dumps({"error": why}).encode() + b"\n", JSON, http.BAD_REQUEST)
