"""From samples to figures: medians, ratios and percentiles.  Pure.

A ratio is the median of the ratios of each round, not the ratio of two medians: what
slows the machine down for a while slows both sides of one round, and cancels out.  Only time outside of
the kernel is added up over the rounds first, since it is told in ticks of 10 ms.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from statistics import median

from attrs import frozen

from bench.loads.catalog import Goal, Load, Unit


@frozen
class Sample:
    """One measurement: one load, one target, one round."""

    requests: int
    cpu_seconds: float
    wall_seconds: float
    peak_kib: int
    noise: float
    """CPU time that other processes and other guests took on the proxy's CPU, divided by elapsed time."""
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    """Both in steps of 10 ms, so their sum is not *cpu_seconds*."""
    p50_us: float | None = None
    p99_us: float | None = None


def value(load: Load, sample: Sample) -> float:
    """The figure of *sample* that *load* is about."""
    match load.unit:
        case Unit.MICROSECONDS:
            return sample.cpu_seconds * 1e6 / sample.requests
        case Unit.MEGABYTES:
            return sample.requests * load.body_bytes / 1e6 / sample.cpu_seconds
        case Unit.P99:
            if sample.p99_us is None:
                raise ValueError(f"a sample of {load.name} without latencies")
            return sample.p99_us


def user_share(samples: Iterable[Sample]) -> float | None:
    """The share of the CPU time of all *samples* that was not spent in the kernel."""
    kept = list(samples)
    user = sum(one.user_seconds for one in kept)
    total = user + sum(one.system_seconds for one in kept)
    return user / total if total else None


def user_us(samples: Mapping[int, Sample]) -> float | None:
    """The CPU time, in microseconds, that a request takes outside of the kernel, over all rounds; None if no tick was counted.

    The share comes from ticks, which are too coarse for one round; the time that it is the share of does not.
    """
    share = user_share(samples.values())
    if share is None:
        return None
    spent = sum(one.cpu_seconds for one in samples.values())
    return share * spent * 1e6 / sum(one.requests for one in samples.values())


def user_ratio(ours: Mapping[int, Sample], theirs: Mapping[int, Sample]) -> float | None:
    """``user_us`` of ours divided by that of theirs, over the rounds that both have; None if there is none."""
    both = ours.keys() & theirs.keys()
    if not both:
        return None
    mine, reference = (user_us({number: one[number] for number in both}) for one in (ours, theirs))
    return mine / reference if mine is not None and reference else None


def ratio(ours: Mapping[int, float], theirs: Mapping[int, float]) -> float | None:
    """The median of ours divided by theirs, over the rounds that both have; None if there are none."""
    ratios = [ours[number] / theirs[number] for number in ours.keys() & theirs.keys() if theirs[number]]
    return median(ratios) if ratios else None


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of *values* that at least *share* (0 to 1) of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def is_met(goal: Goal, unit: Unit, measured: float) -> bool:
    """Whether the ratio *measured* is as *goal* demands."""
    return measured >= goal.must if unit.more_is_better else measured <= goal.must
