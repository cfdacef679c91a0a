"""Tests for ``ingress.routing.balancing.slow_start``."""

from collections import Counter
from random import Random

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.balancer import Balancer, RoundRobin
from ingress.routing.balancing.least_requests import LeastRequests
from ingress.routing.balancing.slow_start import SlowStart
from tests.routing.balancing.test_balancer import endpoints


class SlowStartTests(SynchronousTestCase):
    """The share of a new endpoint grows."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.one, self.two, self.new = endpoints(1, 2, 3)

    def around(self, inner: Balancer) -> SlowStart:
        """A slow start of 100 seconds."""
        return SlowStart(inner, 100.0, self.clock.seconds, Random(3).random)

    def shares(self, balancer: SlowStart, count: int = 3000) -> Counter[Endpoint | None]:
        """How often each endpoint is picked, at one moment."""
        return Counter(balancer.pick() for _ in range(count))

    def test_first_endpoints_are_not_held_back(self) -> None:
        """Endpoints that came together to an empty backend share evenly at once."""
        self.assertEqual(
            self.shares(self.around(RoundRobin((self.one, self.two)))), {self.one: 1500, self.two: 1500}
        )
        balancer = self.around(RoundRobin())
        self.assertIsNone(balancer.pick())
        balancer.endpoints = (self.one, self.two)
        self.assertEqual(self.shares(balancer), {self.one: 1500, self.two: 1500})

    def test_share_grows_linearly(self) -> None:
        """After a tenth, a half and all of the time, a new endpoint has a tenth, a half and all of its share."""
        balancer = self.around(RoundRobin((self.one, self.two)))
        balancer.endpoints = (self.one, self.two, self.new)
        self.assertEqual(self.shares(balancer)[self.new], 0)
        self.clock.advance(10)
        self.assertApproximates(self.shares(balancer)[self.new], 100, 40)
        self.clock.advance(40)
        self.assertApproximates(self.shares(balancer)[self.new], 500, 80)
        self.clock.advance(50)
        self.assertEqual(self.shares(balancer), {self.one: 1000, self.two: 1000, self.new: 1000})
        self.assertEqual(balancer.starting, {})

    def test_the_others_stay_even(self) -> None:
        """What the new endpoint does not get yet is shared evenly by the others."""
        balancer = self.around(RoundRobin((self.one, self.two)))
        balancer.endpoints = (self.one, self.two, self.new)
        seen = self.shares(balancer)
        self.assertApproximates(seen[self.one], seen[self.two], 1)

    def test_only_new_ones_left(self) -> None:
        """When nothing but new endpoints is left, one of them is picked all the same."""
        balancer = self.around(RoundRobin((self.one,)))
        balancer.endpoints = (self.one, self.two, self.new)
        self.assertIn(balancer.pick({self.one}), {self.two, self.new})
        self.assertIsNone(balancer.pick({self.one, self.two, self.new}))

    def test_one_that_came_back_is_new(self) -> None:
        """An endpoint that left and came back starts slowly again."""
        balancer = self.around(RoundRobin((self.one, self.two)))
        balancer.endpoints = (self.one,)
        self.clock.advance(1000)
        balancer.endpoints = (self.one, self.two)
        self.assertEqual(self.shares(balancer)[self.two], 0)

    def test_attempts_are_told(self) -> None:
        """A balancer that counts attempts is told of them through the slow start."""
        inner = LeastRequests((self.one, self.two), Random(1).random)
        balancer = self.around(inner)
        self.assertTrue(balancer.counts)
        self.assertFalse(self.around(RoundRobin()).counts)
        balancer.began(self.one)
        self.assertEqual(inner.running, {self.one: 1})
        balancer.ended(self.one, 1.0, failed=False)
        self.assertEqual(inner.running, {})
