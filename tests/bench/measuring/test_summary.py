"""Medians, ratios, percentiles, goals."""

from twisted.trial.unittest import SynchronousTestCase

from bench.loads.catalog import GOALS, LOADS, Goal, Load, Unit
from bench.measuring.summary import Sample, is_met, percentile, ratio, user_ratio, user_share, user_us, value
from bench.peers.targets import TARGETS


def sample(cpu: float, requests: int = 1000, p99: float | None = None) -> Sample:
    """A sample of *requests* that took *cpu* seconds."""
    return Sample(requests, cpu, 1.0, 2048, 0.01, p50_us=p99, p99_us=p99)


class ValueTests(SynchronousTestCase):
    """The figure of a sample."""

    def test_microseconds(self) -> None:
        """CPU time is divided by requests."""
        self.assertAlmostEqual(value(Load("x", "x"), sample(0.05)), 50.0)

    def test_megabytes(self) -> None:
        """Bytes of body, in units of a million, are divided by CPU time."""
        load = Load("x", "x", unit=Unit.MEGABYTES, body_bytes=10_000_000)
        self.assertAlmostEqual(value(load, sample(0.5, 100)), 2000.0)

    def test_p99(self) -> None:
        """A latency load is about its p99, and a sample without one is a mistake."""
        load = Load("x", "x", unit=Unit.P99)
        self.assertEqual(value(load, sample(1.0, p99=1300.0)), 1300.0)
        self.assertRaises(ValueError, value, load, sample(1.0))


class RatioTests(SynchronousTestCase):
    """Ratios of rounds."""

    def test_slow_round(self) -> None:
        """A round in which the whole machine was slow does not move the ratio."""
        self.assertAlmostEqual(ratio({1: 30.0, 2: 90.0, 3: 31.0}, {1: 20.0, 2: 60.0, 3: 20.0}) or 0, 1.5)

    def test_medians_are_not_divided(self) -> None:
        """It is the median of ratios: the ratio of the medians would be 1 here."""
        self.assertAlmostEqual(ratio({1: 10.0, 2: 20.0, 3: 60.0}, {1: 20.0, 2: 10.0, 3: 20.0}) or 0, 2.0)

    def test_rounds_in_common(self) -> None:
        """Only rounds that both have count, and without any there is no ratio."""
        self.assertAlmostEqual(ratio({1: 10.0, 2: 40.0}, {2: 20.0, 3: 1.0}) or 0, 2.0)
        self.assertIsNone(ratio({1: 10.0}, {2: 10.0}))


class PercentileTests(SynchronousTestCase):
    """Percentiles of latencies."""

    def test_nearest_rank(self) -> None:
        """It is a value that occurred, whatever the order of the values."""
        values = list(range(200, 0, -1))
        self.assertEqual(percentile(values, 0.99), 198)
        self.assertEqual(percentile(values, 0.5), 100)
        self.assertEqual(percentile(values, 1.0), 200)

    def test_few(self) -> None:
        """Of one value, each percentile is that value."""
        self.assertEqual(percentile([7], 0.5), 7)


class ShareTests(SynchronousTestCase):
    """How the time is shared between program and kernel."""

    def test_over_all_samples(self) -> None:
        """Times are added up before they are divided: each alone is too coarse."""
        samples = [Sample(1, 1.0, 1.0, 1, 0.0, 0.01, 0.0), Sample(1, 1.0, 1.0, 1, 0.0, 0.0, 0.03)]
        self.assertEqual(user_share(samples), 0.25)

    def test_nothing(self) -> None:
        """Where no tick was counted, there is no share."""
        self.assertIsNone(user_share([Sample(1, 0.0, 1.0, 1, 0.0)]))


class UserTests(SynchronousTestCase):
    """CPU time outside of the kernel."""

    def test_over_all_rounds(self) -> None:
        """The share of all rounds is applied to the time of all rounds: a round may have no tick at all."""
        rounds = {
            1: Sample(1000, 0.02, 1.0, 1, 0.0, 0.02, 0.0),
            2: Sample(1000, 0.02, 1.0, 1, 0.0, 0.0, 0.02),
        }
        self.assertAlmostEqual(user_us(rounds) or 0, 10.0)
        self.assertIsNone(user_us({1: Sample(1000, 0.02, 1.0, 1, 0.0)}))
        self.assertIsNone(user_us({}))

    def test_ratio(self) -> None:
        """Ours is divided by theirs, of the rounds that both have."""
        ours = {1: Sample(1000, 0.02, 1.0, 1, 0.0, 0.01, 0.01), 2: Sample(1000, 9.0, 1.0, 1, 0.0, 9.0, 0.0)}
        theirs = {1: Sample(2000, 0.02, 1.0, 1, 0.0, 0.01, 0.03), 3: Sample(1, 1.0, 1.0, 1, 0.0, 1.0, 0.0)}
        self.assertAlmostEqual(user_ratio(ours, theirs) or 0, 4.0)
        self.assertIsNone(user_ratio(ours, {}))


class GoalTests(SynchronousTestCase):
    """What must be reached."""

    def test_direction(self) -> None:
        """Less CPU time is better, more megabytes are; the bound itself is good enough."""
        goal = Goal("x", "nginx", 1.5)
        self.assertTrue(is_met(goal, Unit.MICROSECONDS, 1.5))
        self.assertFalse(is_met(goal, Unit.MICROSECONDS, 1.6))
        self.assertTrue(is_met(goal, Unit.MEGABYTES, 1.6))
        self.assertFalse(is_met(goal, Unit.MEGABYTES, 1.4))

    def test_loads_exist(self) -> None:
        """Every goal is about a load that is measured."""
        self.assertEqual({goal.load for goal in GOALS} - {load.name for load in LOADS}, set())

    def test_targets_exist(self) -> None:
        """Every goal is about a proxy that is measured, beside one that is; no goal is told twice."""
        names = {one.name for one in TARGETS}
        self.assertEqual({name for goal in GOALS for name in (goal.target, goal.reference)} - names, set())
        self.assertEqual(len({(goal.load, goal.reference, goal.target) for goal in GOALS}), len(GOALS))
