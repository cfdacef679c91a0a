"""Whether something changed between two versions that were measured in turn.  Pure.

Of each round there is one ratio, after to before: what slows the machine down for a while slows both, and cancels out. The
estimate is the median of the means of all pairs of rounds, and its interval the one that belongs to it (Hodges and Lehmann 1963),
which Wilcoxon's signed ranks give exactly for as few rounds as these.  It asks nothing of the noise but that it falls on
both sides alike; no lucky round can move it far.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from math import exp, log
from statistics import median

from attrs import frozen

CONFIDENCE = 0.99
"""A run compares some twenty figures; with 0.95, one of them would seem to have changed in each run."""
LEAST_CHANGE = 0.01
"""Less is not worth a word, however sure it is."""


class Verdict(Enum):
    """What is to be said about a figure."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "no change beyond noise"
    UNKNOWN = "too few rounds to tell"


@frozen
class Change:
    """A figure *after*, divided by that *before*: the estimate, and where it surely lies; both None if there are too few rounds."""

    ratio: float
    low: float | None
    high: float | None

    def verdict(self, more_is_better: bool = False) -> Verdict:
        """What to say of it."""
        if self.low is None or self.high is None:
            return Verdict.UNKNOWN
        if self.low <= 1.0 <= self.high or abs(self.ratio - 1.0) < LEAST_CHANGE:
            return Verdict.SAME
        return Verdict.BETTER if (self.ratio > 1.0) == more_is_better else Verdict.WORSE


def walsh_averages(values: Sequence[float]) -> list[float]:
    """The means of all pairs of *values*, each with itself among them, in order."""
    return sorted((one + other) / 2 for number, one in enumerate(values) for other in values[number:])


def rank_sum_chances(count: int) -> list[float]:
    """How likely each sum of positive signed ranks is, from 0 on, of so many differences that fall on both sides alike."""
    ways = [1] + [0] * (count * (count + 1) // 2)
    for rank in range(1, count + 1):
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    return [one / 2**count for one in ways]


def cut_off(count: int, confidence: float) -> int | None:
    """How many Walsh averages lie outside of the interval at each end, of *count* values; None if there is no such interval."""
    below = 0.0
    for number, chance in enumerate(rank_sum_chances(count)):
        below += chance
        if below > (1.0 - confidence) / 2:
            return number - 1 if number else None
    return None


def change_of(
    before: Mapping[int, float], after: Mapping[int, float], confidence: float = CONFIDENCE
) -> Change | None:
    """What changed from *before* to *after*, by round; of the rounds that both have.  None if there is none."""
    rounds = [
        log(after[number] / before[number])
        for number in sorted(before.keys() & after.keys())
        if before[number] > 0 and after[number] > 0
    ]
    if not rounds:
        return None
    averages = walsh_averages(rounds)
    outside = cut_off(len(rounds), confidence)
    if outside is None:
        return Change(exp(median(averages)), None, None)
    return Change(exp(median(averages)), exp(averages[outside]), exp(averages[-1 - outside]))


def change_of_counts(before: Sequence[float], after: Sequence[float]) -> Change:
    """What changed between counts, which hardly vary: surely no less and no more than the extremes of both say."""
    return Change(median(after) / median(before), min(after) / max(before), max(after) / min(before))


def rounds_needed(confidence: float = CONFIDENCE) -> int:
    """So many rounds have an interval."""
    count = 1
    while cut_off(count, confidence) is None:
        count += 1
    return count
