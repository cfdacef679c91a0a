"""Tests for ``ingress.routing.balancing.balancer``."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.balancer import RoundRobin
from tests.properties import examples


def endpoints(*numbers: int) -> tuple[Endpoint, ...]:
    """Endpoints told apart by *numbers*."""
    return tuple(Endpoint(f"10.0.0.{number}", 8080) for number in numbers)


def picks(balancer: RoundRobin, count: int) -> list[Endpoint]:
    """The next *count* endpoints, of which none may be missing."""
    found = [balancer.pick() for _ in range(count)]
    return [endpoint for endpoint in found if endpoint is not None]


class RoundRobinTests(SynchronousTestCase):
    """Endpoints are handed out in turn."""

    def test_none(self) -> None:
        """Without endpoints there is none to pick."""
        self.assertIsNone(RoundRobin().pick())

    def test_turns(self) -> None:
        """Each endpoint has its turn before any has a second one."""
        one, two, three = endpoints(1, 2, 3)
        balancer = RoundRobin((one, two, three))
        self.assertEqual(picks(balancer, 7), [one, two, three, one, two, three, one])

    @settings(derandomize=True, deadline=None, max_examples=examples(100))
    @given(st.integers(1, 12), st.integers(0, 100))
    def test_even(self, count: int, requests: int) -> None:
        """However many requests there were, no endpoint is more than one ahead of another."""
        balancer = RoundRobin(endpoints(*range(count)))
        seen = Counter(picks(balancer, requests))
        shares = [seen[endpoint] for endpoint in balancer.endpoints]
        self.assertEqual(sum(shares), requests)
        self.assertLessEqual(max(shares) - min(shares), 1)

    def test_exclude(self) -> None:
        """An excluded endpoint is passed over, nobody's turn with it, and None tells that all are excluded."""
        one, two, three = endpoints(1, 2, 3)
        balancer = RoundRobin((one, two, three))
        self.assertEqual(balancer.pick({one}), two)
        self.assertEqual(balancer.pick([three, one]), two)
        self.assertIsNone(balancer.pick((one, two, three)))
        self.assertEqual(picks(balancer, 3), [one, two, three])

    def test_even_among_the_rest(self) -> None:
        """While one endpoint is excluded, the others share evenly."""
        one, two, three = endpoints(1, 2, 3)
        balancer = RoundRobin((one, two, three))
        seen = Counter(balancer.pick({one}) for _ in range(10))
        self.assertEqual(seen, {two: 5, three: 5})

    def test_even_though_one_fails(self) -> None:
        """While each attempt at one endpoint is followed by another one elsewhere, turns stay even."""
        one, two, three = endpoints(1, 2, 3)
        balancer = RoundRobin((one, two, three))
        first: Counter[Endpoint | None] = Counter()
        second: Counter[Endpoint | None] = Counter()
        for _ in range(60):
            picked = balancer.pick()
            first[picked] += 1
            if picked == one:
                second[balancer.pick({one})] += 1
        self.assertEqual(first, {one: 20, two: 20, three: 20})
        self.assertEqual(second, {two: 10, three: 10})

    def test_assign(self) -> None:
        """The endpoints that were assigned are the ones that are picked."""
        balancer = RoundRobin(endpoints(1, 2))
        balancer.endpoints = endpoints(3, 4)
        self.assertEqual(balancer.endpoints, endpoints(3, 4))
        self.assertEqual(set(picks(balancer, 2)), set(endpoints(3, 4)))

    def test_turn_survives_change(self) -> None:
        """When endpoints come and go, the turn stays with the endpoint that had it."""
        one, two, three, four = endpoints(1, 2, 3, 4)
        balancer = RoundRobin((one, three))
        self.assertEqual(balancer.pick(), one)
        balancer.endpoints = (one, two, three, four)
        self.assertEqual(picks(balancer, 4), [three, four, one, two])

    def test_turn_passes_on(self) -> None:
        """When the endpoint that had the turn is gone, the next one left has it."""
        one, two, three, four = endpoints(1, 2, 3, 4)
        balancer = RoundRobin((one, two, three, four))
        self.assertEqual(picks(balancer, 1), [one])
        balancer.endpoints = (one, three, four)
        self.assertEqual(picks(balancer, 3), [three, four, one])

    def test_many(self) -> None:
        """Of a backend with very many endpoints, one of which is another, nearly all are left as they are."""
        hashed = 0

        class Counted(str):
            __slots__ = ()

            def __hash__(self) -> int:
                nonlocal hashed
                hashed += 1
                return super().__hash__()

        some = [Endpoint(Counted(f"10.0.{number >> 8}.{number & 255}"), 80) for number in range(1000)]
        balancer = RoundRobin(tuple(some))
        balancer.pick()
        some[500] = Endpoint(Counted("10.1.0.0"), 80)
        balancer.endpoints = tuple(some)
        self.assertEqual((balancer.pick(), hashed), (some[1], 0))

    def test_fair_though_backend_changes_often(self) -> None:
        """An endpoint that comes and goes with each request takes nothing from the others."""
        one, two, three, other = endpoints(1, 2, 3, 9)
        balancer = RoundRobin((one, two, three))
        seen: Counter[Endpoint | None] = Counter()
        for number in range(300):
            balancer.endpoints = (one, two, three, other) if number % 2 else (one, two, three)
            picked = balancer.pick()
            seen[picked if picked != other else balancer.pick({other})] += 1
        self.assertLessEqual(
            max(seen[one], seen[two], seen[three]) - min(seen[one], seen[two], seen[three]), 1
        )

    def test_empty_in_between(self) -> None:
        """A backend that lost all its endpoints serves again when some come back."""
        balancer = RoundRobin(endpoints(1, 2))
        balancer.pick()
        balancer.endpoints = ()
        self.assertIsNone(balancer.pick())
        balancer.endpoints = endpoints(1, 2)
        self.assertEqual(set(picks(balancer, 2)), set(endpoints(1, 2)))

    def test_repr(self) -> None:
        """The repr tells how many endpoints there are."""
        self.assertEqual(repr(RoundRobin(endpoints(1, 2))), "<RoundRobin over 2 endpoints>")
