"""Tests for ``ingress.routing.balancing.ewma``."""

from collections import Counter
from math import exp
from random import Random

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.ewma import DECAY_SECONDS, Ewma
from tests.routing.balancing.test_balancer import endpoints


class EwmaTests(SynchronousTestCase):
    """The endpoint that answered faster of late."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.one, self.two, self.three = endpoints(1, 2, 3)
        self.balancer = Ewma((self.one, self.two), self.clock.seconds, Random(5).random)

    def picked(self, count: int = 50) -> set[Endpoint | None]:
        """The endpoints that *count* picks chose from."""
        return {self.balancer.pick() for _ in range(count)}

    def average(self, endpoint: Endpoint) -> float:
        """The average of *endpoint* as it is now."""
        return self.balancer.average(endpoint, self.clock.seconds())

    def test_none(self) -> None:
        """With all endpoints excluded there is none to pick."""
        self.assertIsNone(self.balancer.pick({self.one, self.two}))

    def test_unknown_are_alike(self) -> None:
        """Endpoints that nothing is known of are equally good."""
        self.assertEqual(self.picked(), {self.one, self.two})

    def test_faster_wins(self) -> None:
        """The endpoint with the lower average is picked."""
        self.balancer.ended(self.one, 0.2, failed=False)
        self.balancer.ended(self.two, 0.1, failed=False)
        self.assertEqual(self.picked(), {self.two})

    def test_average(self) -> None:
        """An attempt weighs the more, the longer the last one is ago: 1 - exp(-t / 10 s)."""
        self.balancer.ended(self.one, 0.2, failed=False)
        self.assertEqual(self.average(self.one), 0.2)
        self.clock.advance(3)
        self.balancer.ended(self.one, 1.0, failed=False)
        weight = exp(-3 / DECAY_SECONDS)
        self.assertAlmostEqual(self.average(self.one), 0.2 * weight + 1.0 * (1 - weight))

    def test_decay(self) -> None:
        """An average falls to 1/e in ten seconds without attempts, so a slow endpoint is tried again."""
        self.balancer.ended(self.one, 1.0, failed=False)
        self.balancer.ended(self.two, 0.5, failed=False)
        self.clock.advance(DECAY_SECONDS)
        self.assertAlmostEqual(self.average(self.one), exp(-1))
        for _ in range(20):
            self.clock.advance(1)
            self.balancer.ended(self.two, 0.5, failed=False)
        self.assertEqual(self.picked(), {self.one})

    def test_failure_is_never_fast(self) -> None:
        """An attempt that failed at once does not make its endpoint look better."""
        self.balancer.ended(self.one, 0.2, failed=False)
        self.balancer.ended(self.two, 0.1, failed=False)
        for _ in range(100):
            self.clock.advance(0.01)
            self.balancer.ended(self.one, 0.0, failed=True)
            self.balancer.ended(self.two, 0.1, failed=False)
        self.assertEqual(self.picked(), {self.two})

    def test_new_begins_with_the_mean(self) -> None:
        """An endpoint that is new begins with the mean of the others, and not as the fastest of all."""
        self.balancer.ended(self.one, 0.1, failed=False)
        self.balancer.ended(self.two, 0.3, failed=False)
        self.balancer.endpoints = (self.one, self.two, self.three)
        self.assertAlmostEqual(self.average(self.three), 0.2)

    def test_kept_across_change(self) -> None:
        """What is known of an endpoint that stays is kept; one that left is forgotten."""
        self.balancer.ended(self.one, 0.1, failed=False)
        self.balancer.ended(self.two, 0.3, failed=False)
        self.balancer.endpoints = (self.two, self.three)
        self.assertAlmostEqual(self.average(self.two), 0.3)
        self.balancer.ended(self.one, 5.0, failed=False)
        self.assertNotIn(self.one, self.balancer.averages)

    def test_even_when_all_are_alike(self) -> None:
        """Three endpoints of the same speed share 10,000 requests within 5 %."""
        chance = Random(11)
        balancer = Ewma((self.one, self.two, self.three), self.clock.seconds, chance.random)
        seen: Counter[Endpoint | None] = Counter()
        for _ in range(10_000):
            self.clock.advance(0.005)
            picked = balancer.pick()
            assert picked is not None
            seen[picked] += 1
            balancer.ended(picked, 0.01, failed=False)
        for endpoint in balancer.endpoints:
            self.assertApproximates(seen[endpoint] / 10_000, 1 / 3, 1 / 60)

    def test_slow_endpoint_gets_less(self) -> None:
        """An endpoint that takes ten times as long gets few requests, but some."""
        balancer = Ewma((self.one, self.two, self.three), self.clock.seconds, Random(11).random)
        seen: Counter[Endpoint | None] = Counter()
        for _ in range(10_000):
            self.clock.advance(0.01)
            picked = balancer.pick()
            assert picked is not None
            seen[picked] += 1
            balancer.ended(picked, 0.1 if picked == self.three else 0.01, failed=False)
        self.assertLess(seen[self.three], 1000)
        self.assertGreater(seen[self.three], 0)
