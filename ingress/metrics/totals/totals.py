"""What all workers have counted, over all their lives, as their parent shows it.

Counters and histograms are one sum, to which each tally adds: a worker that ended is still in it.  Gauges are added up over the
workers that live (open connections), or have the label of a worker where a sum means nothing (memory).  Counters of the
latter sort, such as processor time, are added up over the lives of a slot.

Rows come from processes that speak to strangers.  Only series that this process has, too, are taken, and no counter gets smaller,
so the worst that a worker can do is to have counted too much; how many series there are is decided here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isinf
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.samples import Sample

from ingress.metrics.metrics import Metrics
from ingress.metrics.totals.tallies import Series, Tally, TallyError, tally_from_bytes

LABEL: Final = "worker"

Rows = dict[Series, float]


class Life:
    """What one worker, one of several lives of its slot, has told of itself."""

    def __init__(self, totals: "Totals", slot: int) -> None:
        self._totals = totals
        self.slot = slot
        self.gauges: Rows = {}
        """Those that are added up."""
        self.own: Rows = {}
        """Gauges of this worker alone."""

    def take(self, octets: bytes) -> None:
        """Add the tally of *octets*; raises ``TallyError``, and adds nothing, if it is none."""
        self._totals.add(self, tally_from_bytes(octets))

    def ended(self) -> None:
        """Forget its gauges: there is no such process any more."""
        self._totals.end(self)


class Totals:
    """Adds up what workers tell, and has *metrics* show it beside its own."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._lives: list[Life] = []
        self._summed: Rows = {}
        self._own: dict[int, Rows] = {}
        """Counters of each slot."""
        self._serving = _gauges(metrics.serving_families())
        self._of_each = _gauges(metrics.own_families())
        metrics.added = self.added_to

    def begin(self, slot: int) -> Life:
        """Return the life of a worker that begins in *slot*."""
        life = Life(self, slot)
        self._lives.append(life)
        return life

    def end(self, life: Life) -> None:
        """Forget the gauges of *life*; saying it again changes nothing."""
        if life in self._lives:
            self._lives.remove(life)

    def add(self, life: Life, tally: Tally) -> None:
        """Add *tally*; raises ``TallyError``, and adds nothing, if it has a series that there is not, or takes something away."""
        _check(tally.summed, self._serving)
        _check(tally.own, self._of_each)
        _put(tally.summed, self._serving, self._summed, life.gauges)
        _put(tally.own, self._of_each, self._own.setdefault(life.slot, {}), life.own)
        exchanges = self._metrics.exchanges
        for row in tally.exchanges:
            exchanges.add(row)
        for is_upstream, bucket, example in tally.examples:
            (exchanges.upstream_examples if is_upstream else exchanges.examples).put(bucket, example)
        self._metrics.filters.add(tally.events, tally.failures)

    def added_to(self, families: Iterable[Metric | None]) -> Iterator[Metric | None]:
        """Yield *families* with what workers have told."""
        for family in families:
            if family is not None and family.samples:
                series = _series(family.samples[0])
                if series in self._serving:
                    self._add_sums(family)
                elif series in self._of_each:
                    self._add_each(family)
            yield family

    def _add_sums(self, family: Metric) -> None:
        lives = [life.gauges for life in self._lives]
        for place, sample in enumerate(family.samples):
            series = _series(sample)
            more = self._summed.get(series, 0) + sum(gauges.get(series, 0) for gauges in lives)
            if more:
                family.samples[place] = sample._replace(value=sample.value + more)

    def _add_each(self, family: Metric) -> None:
        """Add a sample with the label of a worker to each of *family*; of two lives of a slot the newest is shown."""
        newest = {life.slot: life.own for life in self._lives}
        for sample in list(family.samples):
            series = _series(sample)
            for slot, counters in sorted(self._own.items()):
                number = counters.get(series, newest.get(slot, {}).get(series))
                if number is not None:
                    family.add_sample(sample.name, {**sample.labels, LABEL: str(slot)}, number)


def _series(sample: Sample) -> Series:
    return Series(sample.name, tuple(sample.labels.values()))


def _gauges(families: Iterable[Metric | None]) -> dict[Series, bool]:
    """Return all series of *families*, and which of them are gauges."""
    return {
        _series(sample): family.type == "gauge"
        for family in families
        if family is not None
        for sample in family.samples
    }


def _check(rows: Sequence[tuple[Series, float]], are_gauges: Mapping[Series, bool]) -> None:
    for series, number in rows:
        is_gauge = are_gauges.get(series)
        if is_gauge is None:
            raise TallyError("a series that there is not")
        if number < 0 or (isinf(number) and not is_gauge):
            raise TallyError("not a number of such a series")


def _put(
    rows: Sequence[tuple[Series, float]], are_gauges: Mapping[Series, bool], counters: Rows, gauges: Rows
) -> None:
    for series, number in rows:
        if are_gauges[series]:
            gauges[series] = number
        else:
            counters[series] = counters.get(series, 0) + number
