"""Tests for ``ingress.routing.balancing.two_choices``."""

from collections import Counter
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.routing.balancing.two_choices import draw_two
from tests.routing.balancing.test_balancer import endpoints


class DrawTwoTests(SynchronousTestCase):
    """Two endpoints drawn by chance."""

    def test_none(self) -> None:
        """Nothing is drawn where nothing is left."""
        self.assertIsNone(draw_two((), (), Random(1).random))
        self.assertIsNone(draw_two(endpoints(1, 2), set(endpoints(1, 2)), Random(1).random))

    def test_one(self) -> None:
        """A single endpoint is drawn twice."""
        one, two = endpoints(1, 2)
        self.assertEqual(draw_two((one,), (), Random(1).random), (one, one))
        self.assertEqual(draw_two((one, two), {one}, Random(1).random), (two, two))

    def test_pairs_are_even(self) -> None:
        """The two differ, and each ordered pair is as likely as any other."""
        chance = Random(1).random
        drawn = Counter(draw_two(endpoints(1, 2, 3), (), chance) for _ in range(12_000))
        self.assertEqual(len(drawn), 6)
        for pair, count in drawn.items():
            assert pair is not None
            self.assertNotEqual(pair[0], pair[1])
            self.assertApproximates(count, 2000, 150)
