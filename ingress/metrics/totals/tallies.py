"""Tallies: what one worker has counted since it last told, as bytes on their way to its parent.

Counters come as what was added to them, so whoever adds all tallies up has the sum over all workers and all their lives, and
nothing that is lost or late ever makes it smaller.  Gauges come as they are.

Bytes are JSON, a few kilobytes for each tally.  Whoever reads them believes nothing: a worker speaks to strangers.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import chain
from math import isinf
from typing import Any, Final, NamedTuple, TypeVar

from ingress.metrics.exchanges.examples import Example, is_harmless
from ingress.metrics.exchanges.exchange_rows import PLACES, Labels, RowNews
from ingress.metrics.exchanges.histograms import BOUNDS
from ingress.model.frozen import frozen

MAX_BYTES: Final = 49_152
"""How long a tally may be; few have a tenth of that.  Whatever it holds, it is read in a few milliseconds."""
ROWS: Final = 56
"""For how many pairs of Ingress and Service, or of filter and event, a tally has room, however long their names are."""
COUNTS: Final = 256
"""With the row in which it has more counters than these, a tally is full, too."""
MAX_CHARACTERS: Final = 253
"""How long a name or label may be; no object of the API has a longer name."""

_LARGEST: Final = 1 << 63
_FIXED: Final = len(Labels._fields) + len(RowNews._fields) - 2
"""What of a row comes before its counters: labels and sums."""
_TRACE: Final = re.compile("[0-9a-f]{32}")

T = TypeVar("T")


class TallyError(ValueError):
    """Bytes are no tally; the message says why, without anything of them."""


class Series(NamedTuple):
    """One series of many: the name of its samples, with the values of its labels in their order."""

    name: str
    labels: tuple[str, ...]


@frozen
class Tally:
    """What was counted, by where it is added."""

    summed: Sequence[tuple[Series, float]] = ()
    """Of series that all workers have together."""
    own: Sequence[tuple[Series, float]] = ()
    """Of series that each worker has for itself."""
    exchanges: Sequence[RowNews] = ()
    examples: Sequence[tuple[bool, int, Example]] = ()
    """Whether it is one of the times at endpoints, its bucket, and what fell into it."""
    events: Sequence[tuple[str, str, int]] = ()
    """Name of a filter, its word for what happened, and how often it did."""
    failures: Sequence[tuple[str, int]] = ()
    """Name of a filter, and the requests that it failed."""


def tally_to_bytes(tally: Tally) -> bytes:
    """Write *tally*."""
    parts: dict[str, list[list[object]]] = {
        "summed": [[series.name, *series.labels, number] for series, number in tally.summed],
        "own": [[series.name, *series.labels, number] for series, number in tally.own],
        "exchanges": [[*one.labels, *one[2:], *chain.from_iterable(one.counts)] for one in tally.exchanges],
        "examples": [[is_upstream, bucket, *one] for is_upstream, bucket, one in tally.examples],
        "events": [list(row) for row in tally.events],
        "failures": [list(row) for row in tally.failures],
    }
    return json.dumps(
        {name: rows for name, rows in parts.items() if rows}, separators=(",", ":"), ensure_ascii=False
    ).encode()


def tally_from_bytes(octets: bytes) -> Tally:
    """Read what ``tally_to_bytes`` wrote; raise ``TallyError`` for anything else."""
    if len(octets) > MAX_BYTES:
        raise TallyError(f"{len(octets)} bytes are no tally")
    try:
        parts = json.loads(octets)
    except (ValueError, RecursionError):
        raise TallyError("not JSON") from None
    if not isinstance(parts, dict):
        raise TallyError("not an object")
    tally = Tally(
        summed=_rows(parts.pop("summed", []), _series),
        own=_rows(parts.pop("own", []), _series),
        exchanges=_rows(parts.pop("exchanges", []), _exchanges),
        examples=_rows(parts.pop("examples", []), _example),
        events=_rows(parts.pop("events", []), _event),
        failures=_rows(parts.pop("failures", []), _failure),
    )
    if parts:
        raise TallyError("unknown parts")
    return tally


def _rows(rows: Any, read: Callable[[list[Any]], T]) -> list[T]:
    if not isinstance(rows, list):
        raise TallyError("not a list")
    return [read(row) for row in rows if _is_row(row)]


def _is_row(row: Any) -> bool:
    if not isinstance(row, list) or len(row) < 2:
        raise TallyError("not a row")
    return True


def _series(row: list[Any]) -> tuple[Series, float]:
    *names, number = row
    if type(number) not in (int, float) or number != number or not (isinf(number) or abs(number) < _LARGEST):
        raise TallyError("not a number")
    name, *labels = map(_text, names)
    return Series(name, tuple(labels)), number


def _exchanges(row: list[Any]) -> RowNews:
    if not _FIXED <= len(row) <= _FIXED + 2 * PLACES or len(row) % 2 != _FIXED % 2:
        raise TallyError("not a row of exchanges")
    namespace, ingress, service, sent, received, seconds, upstream_seconds = row[:_FIXED]
    counts = [
        (_place(place), _count(count))
        for place, count in zip(row[_FIXED::2], row[_FIXED + 1 :: 2], strict=True)
    ]
    return RowNews(
        Labels(_text(namespace), _text(ingress), _text(service)),
        counts,
        _count(sent),
        _count(received),
        _seconds(seconds),
        _seconds(upstream_seconds),
    )


def _example(row: list[Any]) -> tuple[bool, int, Example]:
    if len(row) != 5 or type(row[0]) is not bool:
        raise TallyError("not an example")
    is_upstream, bucket, trace, request, seconds = row
    one = Example(_text(trace), _text(request), _seconds(seconds))
    is_named = _TRACE.fullmatch(one.trace) if one.trace else is_harmless(one.request)
    if not is_named or (one.trace and one.request) or bisect_left(BOUNDS, one.seconds) != bucket:
        raise TallyError("not an example")
    return is_upstream, _count(bucket), one


def _event(row: list[Any]) -> tuple[str, str, int]:
    if len(row) != 3:
        raise TallyError("not an event")
    return _text(row[0]), _text(row[1]), _count(row[2])


def _failure(row: list[Any]) -> tuple[str, int]:
    if len(row) != 2:
        raise TallyError("not a failure")
    return _text(row[0]), _count(row[1])


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_CHARACTERS:
        raise TallyError("not a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        # JSON can say halves of characters, which no page can show.
        raise TallyError("not a text") from None
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise TallyError("not a count")
    return value


def _place(value: Any) -> int:
    if type(value) is not int or not 0 <= value < PLACES:
        raise TallyError("not a place")
    return value


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < _LARGEST:
        raise TallyError("not a time")
    return float(value)
