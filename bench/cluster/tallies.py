"""``python -m bench.cluster.tallies``: what it costs to have one worker's numbers in its parent, and how long either is held by it.

A worker has had requests of so many Ingresses since it last told.  Times are those of the processor: each tally is made in a turn
of the worker's reactor, and added in one of the parent's.
"""

import argparse
import gc
import sys
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import TypeVar

from bench.setup.ending import status_of
from ingress.metrics.metrics import Metrics
from ingress.metrics.totals.tallying import Tallying
from ingress.metrics.totals.totals import Totals
from ingress.model.cluster.objects import ObjectKey
from tests.fakes.records import record_of

T = TypeVar("T")

COUNTS = (0, 100, 1000, 10_000)


class _Times:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    def of(self, call: Callable[[], T]) -> T:
        """Return what *call* does, and note how long it took."""
        began = process_time()
        result = call()
        self.seconds.append(process_time() - began)
        return result

    def shown(self, rounds: int) -> str:
        """Return the time of a round, and of the median and the longest call."""
        ordered = sorted(self.seconds)
        median = ordered[len(ordered) // 2]
        return f"{sum(ordered) / rounds * 1e3:8.2f} ms {median * 1e3:8.2f} ms {ordered[-1] * 1e3:8.2f} ms"


def measure(ingresses: int, counted: int, rounds: int) -> str:
    """Return a line about a worker that has counted for *counted* of *ingresses*, all *rounds* together."""
    keys = [ObjectKey(f"team-{number % 100:03}", f"shop-{number:05}") for number in range(ingresses)]
    parent, worker = Metrics(), Metrics()
    parent.snapshot_published(ingresses, 0, {}, 0.0, frozenset(keys))
    life, tallying = Totals(parent).begin(0), Tallying(worker)
    made, added = _Times(), _Times()
    octets = tallies = 0
    # As a process that has settled: what was there before is walked no more.
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for key in keys[:counted]:
            worker.exchanges.ended(record_of(key, 200, 0.004, 1234))
        taken = tallying.take(with_own=True)
        while (tally := made.of(partial(next, taken, None))) is not None:
            tallies += 1
            octets += len(tally)
            added.of(partial(life.take, tally))
    return f"{counted:9} {tallies / rounds:8.0f} {octets / rounds:9.0f}   {made.shown(rounds)}   {added.shown(rounds)}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.tallies", description=__doc__)
    parser.add_argument("--ingresses", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    known = parser.parse_args()
    times = f"{'all':>8}    {'median':>8}    {'longest':>8}   "
    print(f"{'Ingresses':>9} {'tallies':>8} {'bytes':>9}   {'made in the worker':35}   added in the parent")
    print(f"{'':28}   {times}   {times}")
    for counted in COUNTS:
        print(measure(known.ingresses, min(counted, known.ingresses), known.rounds))


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
