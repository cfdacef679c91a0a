"""What changed between two versions, and whether that is more than noise."""

from math import exp, log
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from bench.measuring.changes import (
    Change,
    Verdict,
    change_of,
    change_of_counts,
    cut_off,
    rank_sum_chances,
    rounds_needed,
    walsh_averages,
)

ROUNDS = 10


def rounds(random: Random, middle: float, noise: float) -> dict[int, float]:
    """Figures of some rounds around *middle*."""
    return {number: middle * exp(random.gauss(0.0, noise)) for number in range(ROUNDS)}


class RankTests(SynchronousTestCase):
    """Wilcoxon's signed ranks."""

    def test_averages(self) -> None:
        """Each value is paired with each, itself among them."""
        self.assertEqual(walsh_averages([1.0, 4.0, 2.0]), [1.0, 1.5, 2.0, 2.5, 3.0, 4.0])

    def test_chances(self) -> None:
        """Of three differences, each of the eight patterns of signs is as likely."""
        self.assertEqual([one * 8 for one in rank_sum_chances(3)], [1, 1, 1, 2, 1, 1, 1])
        self.assertAlmostEqual(sum(rank_sum_chances(12)), 1.0)

    def test_table(self) -> None:
        """The critical values are those of the published tables, for 5 % and 1 % on both sides."""
        published = {6: (0, None), 8: (3, 0), 10: (8, 3), 12: (13, 7), 15: (25, 15)}
        self.assertEqual({n: (cut_off(n, 0.95), cut_off(n, 0.99)) for n in published}, published)
        self.assertIsNone(cut_off(5, 0.95))

    def test_rounds_needed(self) -> None:
        """Six rounds have an interval of 95 %, eight one of 99 %."""
        self.assertEqual((rounds_needed(0.95), rounds_needed(0.99)), (6, 8))


class ChangeTests(SynchronousTestCase):
    """Figures of rounds."""

    def test_paired(self) -> None:
        """A machine that is slower in some rounds hides nothing, since each round is compared with itself."""
        before = {number: 20.0 * (1 + number) for number in range(ROUNDS)}
        after = {number: one * 0.9 for number, one in before.items()}
        found = change_of(before, after)
        assert found is not None and found.low is not None and found.high is not None
        self.assertAlmostEqual(found.ratio, 0.9)
        self.assertAlmostEqual(found.low, 0.9)
        self.assertAlmostEqual(found.high, 0.9)
        self.assertIs(found.verdict(), Verdict.BETTER)
        self.assertIs(found.verdict(more_is_better=True), Verdict.WORSE)

    def test_noise(self) -> None:
        """Where nothing changed, about one run in a hundred says that something did."""
        random = Random(20)
        verdicts = []
        for _ in range(400):
            found = change_of(rounds(random, 20.0, 0.04), rounds(random, 20.0, 0.04))
            assert found is not None
            verdicts.append(found.verdict())
        self.assertGreaterEqual(verdicts.count(Verdict.SAME), 388)

    def test_beyond_noise(self) -> None:
        """A tenth less is found amid noise of four hundredths."""
        random = Random(20)
        verdicts = []
        for _ in range(100):
            found = change_of(rounds(random, 20.0, 0.04), rounds(random, 18.0, 0.04))
            assert found is not None
            verdicts.append(found.verdict())
        self.assertGreaterEqual(verdicts.count(Verdict.BETTER), 85)
        self.assertEqual(verdicts.count(Verdict.WORSE), 0)

    def test_lucky_round(self) -> None:
        """One round that is five times as fast makes nothing better."""
        before = dict.fromkeys(range(ROUNDS), 20.0)
        after = {**before, 3: 4.0}
        found = change_of(before, after)
        assert found is not None
        self.assertEqual((found.ratio, found.verdict()), (1.0, Verdict.SAME))

    def test_too_little(self) -> None:
        """A change of less than a hundredth is none, however sure it is."""
        self.assertIs(Change(1.005, 1.004, 1.006).verdict(), Verdict.SAME)

    def test_too_few(self) -> None:
        """With few rounds there is an estimate, and nothing is said for sure; without any, there is neither."""
        found = change_of({1: 10.0, 2: 10.0}, {1: 20.0, 2: 20.0, 3: 1.0})
        assert found is not None
        self.assertAlmostEqual(found.ratio, 2.0)
        self.assertIs(found.verdict(), Verdict.UNKNOWN)
        self.assertIsNone(change_of({1: 10.0}, {2: 10.0}))
        self.assertIsNone(change_of({1: 0.0}, {1: 10.0}), "where no tick was counted")

    def test_scale(self) -> None:
        """Twice as much and half as much are as far from nothing."""
        one = change_of(dict.fromkeys(range(9), 1.0), dict.fromkeys(range(9), 2.0))
        other = change_of(dict.fromkeys(range(9), 2.0), dict.fromkeys(range(9), 1.0))
        assert one is not None and other is not None
        self.assertAlmostEqual(log(one.ratio), -log(other.ratio))

    def test_counts(self) -> None:
        """Counts have changed where all of one side lie beyond all of the other."""
        self.assertIs(change_of_counts([1000.0, 1010.0], [900.0, 905.0]).verdict(), Verdict.BETTER)
        self.assertIs(change_of_counts([1000.0, 1010.0], [1005.0, 1030.0]).verdict(), Verdict.SAME)
        self.assertIs(change_of_counts([1000.0], [1100.0]).verdict(), Verdict.WORSE)
