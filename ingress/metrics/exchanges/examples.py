"""Examples of what fell into each bucket of a histogram: the newest exchange that can be found again, by its trace or its request id.

OpenMetrics calls them exemplars.  One whose trace is told to somebody is worth more than one that is newer and is not, so these
are kept apart.  There is one of each kind a bucket, and what a client may have chosen is shown only if it is short, and nothing but letters and figures.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ingress.model.observability.traces import TraceContext

MAX_CHARACTERS: Final = 64
"""How long an id may be: of the names and values of its labels, an exemplar has 128 characters at most."""

_HARMLESS: Final = re.compile(rf"[A-Za-z0-9._:/+=@-]{{1,{MAX_CHARACTERS}}}")
"""What such ids are made of; nothing that readers of the format could trip over."""

Seen = tuple[TraceContext | None, bytes, float, float]
"""Trace and request id of an exchange, its seconds, and those of its attempts."""


class Example(NamedTuple):
    """An exchange that fell into a bucket."""

    trace: str
    """The id of its trace; empty where that is told to nobody."""
    request: str
    """Its request id; empty where there is a trace."""
    seconds: float

    @property
    def labels(self) -> dict[str, str]:
        """How OpenMetrics names it."""
        return {"trace_id": self.trace} if self.trace else {"request_id": self.request}


def is_harmless(text: str) -> bool:
    """Whether *text* is an id that may be shown."""
    return _HARMLESS.fullmatch(text) is not None


class Examples:
    """Those of one histogram of so many *buckets*, be it *of_upstream* seconds."""

    __slots__ = ("_is_upstream", "_told", "traced", "untraced")

    def __init__(self, buckets: int, of_upstream: bool) -> None:
        self._is_upstream = of_upstream
        self._forget(buckets)

    def _forget(self, buckets: int) -> None:
        self.untraced: list[Seen | None] = [None] * buckets
        """By bucket, for whoever counts exchanges to assign: the newest whose trace is told to nobody, ..."""
        self.traced: list[Seen | None] = [None] * buckets
        """... and the newest of all others."""
        self._told: list[Example | None] = [None] * buckets

    def shown(self) -> Iterator[Example | None]:
        """Return the example of each bucket."""
        return (
            self._example(traced) or told or self._example(untraced)
            for untraced, traced, told in zip(self.untraced, self.traced, self._told, strict=True)
        )

    def take(self) -> Iterator[tuple[int, Example]]:
        """Return those that came since this was last called, with their buckets."""
        shown = list(self.shown())
        self._forget(len(shown))
        return ((bucket, one) for bucket, one in enumerate(shown) if one is not None)

    def _example(self, seen: Seen | None) -> Example | None:
        if seen is None:
            return None
        trace, request = seen[:2]
        seconds = seen[3] if self._is_upstream else seen[2]
        if trace is not None and trace.is_sampled:
            return Example(trace.trace_id, "", seconds)
        text = request.decode("ascii", "replace")
        return Example("", text, seconds) if is_harmless(text) else None

    def put(self, bucket: int, told: Example) -> None:
        """Keep what another process has seen."""
        known = self._told[bucket]
        if told.trace or known is None or not known.trace:
            self._told[bucket] = told
