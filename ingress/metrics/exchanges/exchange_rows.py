"""What is counted of exchanges, in one list of integers a row: by class of status, by cause, by how long they took.

A row is an Ingress and a Service that its requests were for.  All of its counters but sums stand in one list, so whoever adds rows
up, or tells them to another process, need not know what each of them means.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ingress.metrics.exchanges.histograms import BUCKETS
from ingress.model.exchanges.causes import Cause

STATUS_CLASSES: Final = ("none", "1xx", "2xx", "3xx", "4xx", "5xx")
"""Values of the ``status`` label; ``none`` is an exchange that ended before any status was sent."""
CAUSES: Final = tuple(Cause)

FAILED: Final = len(STATUS_CLASSES)
"""Where the counters by cause begin."""
TOOK: Final = FAILED + len(CAUSES)
"""Where those by the time from a request to the end of its answer do."""
UPSTREAM_TOOK: Final = TOOK + BUCKETS
"""Where those by the time at endpoints do."""
PLACES: Final = UPSTREAM_TOOK + BUCKETS
"""How many counters there are."""
PLACE_OF_CAUSE: Final = {cause: FAILED + place for place, cause in enumerate(CAUSES)}


class Labels(NamedTuple):
    """What a row is called; all empty for what is of no row of its own."""

    namespace: str
    ingress: str
    service: str
    """The name of the Service, behind its namespace and a slash where that is another; empty where there is none."""


NO_LABELS: Final = Labels("", "", "")


_NOTHING: Final = [0] * PLACES
"""What rows have that are gone; nothing is counted there."""


class Row:
    """The counters of one Ingress and Service; never smaller than they were."""

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "counts",
        "is_gone",
        "labels",
        "seconds",
        "upstream_seconds",
    )

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.counts = [0] * PLACES
        self.is_gone = False
        """Whether its Ingress or Service has left, and nothing is counted in it any more."""
        self.bytes_sent = 0
        """Of bodies of answers, to clients."""
        self.bytes_received = 0
        """Of bodies of requests, from clients."""
        self.seconds = 0.0
        """From heads of requests to the last bytes of their answers, added up."""
        self.upstream_seconds = 0.0
        """That attempts at endpoints took, added up."""

    def __repr__(self) -> str:
        return f"<Row of {'/'.join(self.labels)}: {self.requests}>"

    @property
    def requests(self) -> int:
        """How many exchanges ended."""
        return sum(self.counts[:FAILED])

    @property
    def by_class(self) -> Sequence[int]:
        """A number for each of ``STATUS_CLASSES``."""
        return self.counts[:FAILED]

    @property
    def failures(self) -> int:
        """How many of them had a cause."""
        return sum(self.counts[FAILED:TOOK])

    @property
    def by_cause(self) -> Sequence[int]:
        """A number for each of ``CAUSES``."""
        return self.counts[FAILED:TOOK]

    @property
    def durations(self) -> Sequence[int]:
        """The histogram of how long they took (``ingress.metrics.exchanges.histograms``)."""
        return self.counts[TOOK:UPSTREAM_TOOK]

    @property
    def upstream_durations(self) -> Sequence[int]:
        """The histogram of how long their attempts took, of those that had any."""
        return self.counts[UPSTREAM_TOOK:]

    def leave(self) -> None:
        """Note that it is gone, and give back what it had: thousands that end together would take milliseconds."""
        self.is_gone = True
        self.counts = _NOTHING

    def add(self, told: "RowNews") -> None:
        """Add what was counted elsewhere."""
        counts = self.counts
        for place, count in told.counts:
            counts[place] += count
        self.bytes_sent += told.bytes_sent
        self.bytes_received += told.bytes_received
        self.seconds += told.seconds
        self.upstream_seconds += told.upstream_seconds

    def news(self) -> "RowNews":
        """Return all that was counted."""
        return RowNews(
            self.labels,
            [(place, count) for place, count in enumerate(self.counts) if count],
            self.bytes_sent,
            self.bytes_received,
            self.seconds,
            self.upstream_seconds,
        )


class RowNews(NamedTuple):
    """What is to be added to a row."""

    labels: Labels
    counts: Sequence[tuple[int, int]]
    """Places, from 0 to below ``PLACES``, and what is added there."""
    bytes_sent: int = 0
    bytes_received: int = 0
    seconds: float = 0.0
    upstream_seconds: float = 0.0

    @property
    def requests(self) -> int:
        """How many exchanges that are."""
        return sum(count for place, count in self.counts if place < FAILED)
