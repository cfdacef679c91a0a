"""Series as text, in small pieces, so that whoever sends them can stop after any piece.

A family with a series for each Ingress or certificate has tens of thousands of them.  So it
comes in *parts*: families of the same name one after the other, of which only the first
is written with its head.  Each part is made, and its numbers read, when it is asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

PART: Final = 32
"""Series at once: a few tenths of a millisecond."""

_HEAD_LINES: Final = 2

LabeledFamily = CounterMetricFamily | GaugeMetricFamily


class _Just(Collector):
    """Collects one family."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterable[Metric]:
        return (self._metric,)


def in_parts(
    family: Callable[[], LabeledFamily], rows: Iterable[tuple[Sequence[str], float]]
) -> Iterator[Metric]:
    """Yield the family that *family* makes, with *rows* of label values and number, in parts; one, if there are none."""
    source = iter(rows)
    some = list(islice(source, PART))
    while True:
        part = family()
        for labels, number in some:
            part.add_metric(labels, number)
        yield part
        some = list(islice(source, PART))
        if not some:
            return


def as_text(families: Iterable[Metric | None]) -> Iterator[str]:
    """Yield *families* in the Prometheus text format, a piece each; an empty one where there is none yet."""
    last = ""
    for family in families:
        if family is None:
            yield ""
            continue
        # Whatever the library is given to collect, it writes in one go.
        text = generate_latest(_Just(family)).decode()
        yield text.split("\n", _HEAD_LINES)[_HEAD_LINES] if family.name == last else text
        last = family.name
