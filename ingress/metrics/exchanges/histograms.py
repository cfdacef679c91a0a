"""Histograms of seconds: their buckets, their families, and what a share of the requests took at most.

Plain lists of integers, one more than there are bounds: the last counts what is slower than all of them.  Native histograms of
Prometheus are not written: prometheus_client can put them into no format that a released Prometheus asks for.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.samples import Exemplar

from ingress.metrics.exchanges.examples import Example

BOUNDS: Final[tuple[float, ...]] = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    120.0,
)
"""Upper bounds in seconds; the last ones tell a time-out of 60 seconds, the default, from what an Ingress asks for beyond.  Prometheus' own defaults begin at 5 ms; a proxy near its pods is often quicker."""

BUCKETS: Final = len(BOUNDS) + 1

_LABELS: Final = (*map(str, BOUNDS), "+Inf")


Bucket = tuple[str, float] | tuple[str, float, Exemplar]
"""Its bound, how many were not above it, and an example."""


def buckets_of(counts: Sequence[int], examples: Iterable[Example | None] | None = None) -> list[Bucket]:
    """Return the buckets of a family: each with its bound, how many were not above it, and an example, if there is one."""
    found: Iterator[Example | None] = iter(examples or (None,) * BUCKETS)
    return [
        (bound, count) if one is None else (bound, count, Exemplar(one.labels, one.seconds))
        for bound, count, one in zip(_LABELS, accumulate(counts), found, strict=True)
    ]


def family_of(
    name: str, text: str, counts: Sequence[int], total: float, examples: Iterable[Example | None]
) -> HistogramMetricFamily:
    """Return the family of one histogram without labels, all its numbers of one moment."""
    return HistogramMetricFamily(name, text, buckets=buckets_of(counts, examples), sum_value=total)


def quantile(counts: Sequence[int], share: float) -> float | None:
    """Return the seconds that a *share* of what was counted took at most, as Prometheus' ``histogram_quantile``; None of nothing.

    Within a bucket all are taken to be spread evenly; what is slower than all bounds is said to be as slow as the last one.
    """
    rank = share * sum(counts)
    if not any(counts):
        return None
    below, before = 0, 0.0
    for bound, count in zip(BOUNDS, counts, strict=False):
        if count and below + count >= rank:
            return before + (bound - before) * (rank - below) / count
        below, before = below + count, bound
    return BOUNDS[-1]
