"""Tests for ``ingress.routing.balancing.least_requests``."""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.least_requests import LeastRequests
from tests.properties import examples
from tests.routing.balancing.test_balancer import endpoints


class LeastRequestsTests(SynchronousTestCase):
    """The endpoint with fewer attempts under way."""

    def test_none(self) -> None:
        """Without endpoints, and with all excluded, there is none to pick."""
        self.assertIsNone(LeastRequests((), Random(1).random).pick())
        both = endpoints(1, 2)
        self.assertIsNone(LeastRequests(both, Random(1).random).pick(set(both)))

    def test_less_to_do(self) -> None:
        """Of two endpoints, the one with less to do is always picked, until it has as much."""
        one, two = endpoints(1, 2)
        balancer = LeastRequests((one, two), Random(1).random)
        for _ in range(3):
            balancer.began(one)
        for _ in range(3):
            self.assertEqual(balancer.pick(), two)
            balancer.began(two)
        self.assertEqual({balancer.pick() for _ in range(50)}, {one, two})

    def test_even_when_all_are_alike(self) -> None:
        """Three endpoints that are equally quick share 10,000 requests evenly within 5 %."""
        balancer = LeastRequests(endpoints(1, 2, 3), Random(7).random)
        seen: Counter[Endpoint | None] = Counter()
        running: list[Endpoint] = []
        for _ in range(10_000):
            picked = balancer.pick()
            assert picked is not None
            seen[picked] += 1
            balancer.began(picked)
            running.append(picked)
            if len(running) == 30:
                balancer.ended(running.pop(0), 0.01, failed=False)
        for endpoint in balancer.endpoints:
            self.assertApproximates(seen[endpoint] / 10_000, 1 / 3, 1 / 60)

    def test_slow_endpoint_gets_less(self) -> None:
        """An endpoint whose requests take ten times as long gets far fewer of them."""
        one, two, slow = endpoints(1, 2, 3)
        balancer = LeastRequests((one, two, slow), Random(7).random)
        ends: list[tuple[int, Endpoint]] = []
        seen: Counter[Endpoint | None] = Counter()
        for now in range(5000):
            for end, endpoint in [each for each in ends if each[0] <= now]:
                balancer.ended(endpoint, 0.01, failed=False)
                ends.remove((end, endpoint))
            picked = balancer.pick()
            assert picked is not None
            balancer.began(picked)
            ends.append((now + (40 if picked == slow else 4), picked))
            seen[picked] += 1
        self.assertLess(seen[slow], seen[one] / 3)

    def test_counts_survive_change(self) -> None:
        """What is under way at an endpoint still counts when others come and go, or when it leaves."""
        one, two, three = endpoints(1, 2, 3)
        balancer = LeastRequests((one, two), Random(1).random)
        balancer.began(one)
        balancer.endpoints = (one, three)
        self.assertEqual({balancer.pick() for _ in range(20)}, {three})
        balancer.endpoints = (three,)
        balancer.ended(one, 1.0, failed=False)
        balancer.endpoints = (one, three)
        self.assertEqual({balancer.pick() for _ in range(50)}, {one, three})

    @settings(derandomize=True, deadline=None, max_examples=examples(100))
    @given(st.lists(st.integers(0, 4), max_size=60))
    def test_nothing_is_left_over(self, order: list[int]) -> None:
        """When all attempts have ended, nothing is counted any more, in whatever order they ended."""
        balancer = LeastRequests(endpoints(0, 1, 2, 3, 4), Random(3).random)
        for number in order:
            balancer.began(balancer.endpoints[number])
        for number in sorted(order):
            balancer.ended(balancer.endpoints[number], 0.1, failed=number % 2 == 0)
        self.assertEqual(balancer.running, {})
