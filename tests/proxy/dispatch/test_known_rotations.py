"""The rotations of thousands of backends get other endpoints in steps, and soon."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import cast

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.metrics import Metrics
from ingress.model.backends import BackendReference, BackendState, Endpoint
from ingress.model.shared_map import SharedMap
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.dispatch.known_rotations import KnownRotations
from ingress.proxy.upstream.rotation import Rotations
from tests.fakes.counting import calls
from tests.fakes.step_clocks import StepClock

Backends = SharedMap[BackendReference, BackendState]


def backend(number: int) -> BackendReference:
    return BackendReference("demo", f"s{number}", 80)


def endpoint(number: int, generation: int) -> Endpoint:
    return Endpoint(f"10.{generation}.{number >> 8}.{number & 255}", 80)


def backends(count: int, generation: int) -> Backends:
    """Return so many, whose endpoints are those of a generation."""
    return SharedMap({backend(one): BackendState((endpoint(one, generation),)) for one in range(count)})


class KnownRotationTests(SynchronousTestCase):
    """All of a worker."""

    def setUp(self) -> None:
        self.clock = StepClock()
        reactor = Clock()
        self.metrics = Metrics()
        self.make = Rotations(reactor, Deadlines(reactor), self.metrics, Random(1)).make

    def known(self, some: Backends) -> KnownRotations:
        """Return rotations of all of *some*."""
        known = KnownRotations(cast(IReactorTime, self.clock))
        known.follow(some)
        for reference, state in some.items():
            rotation = known.usual[reference] = self.make(reference, state.endpoints)
            rotation.show()
        return known

    def addresses(self, known: KnownRotations) -> set[str]:
        """Return the second numbers of the addresses that are in rotation: generations."""
        return {one.address.split(".")[1] for each in known for one in each.endpoints}

    def longest(self, *work: Callable[[], object]) -> int:
        """Do *work* and all that follows; return how many calls the longest step takes."""
        return max(max(calls(one), self.clock.work()) for one in work)

    def test_few(self) -> None:
        """Few have theirs at once, and those that are gone are forgotten."""
        known = self.known(backends(20, 1))
        known.follow(backends(15, 2))
        self.assertEqual((self.clock.calls, self.addresses(known), len(known.usual)), ([], {"2"}, 15))
        self.assertEqual(self.metrics.endpoints.known, 15)

    def test_steps(self) -> None:
        """However many there are, no step is longer."""
        found = []
        for count in (1000, 4000):
            known = self.known(backends(count, 1))
            follow = partial(known.follow, backends(count, 2))
            forget = partial(known.follow, backends(0, 0))
            found.append(self.longest(follow, forget))
            self.assertEqual(known.usual, {})
        few, many = found
        self.assertLess(many, 1.3 * few)
        self.assertLess(few, 6000)

    def test_meanwhile(self) -> None:
        """What changes again meanwhile ends as it is in the last snapshot."""
        known = self.known(backends(1000, 1))
        for some in (backends(900, 2), backends(1000, 3), backends(950, 4)):
            known.follow(some)
        self.assertEqual(self.addresses(known), {"1", "2"})
        self.clock.work()
        self.assertEqual(self.addresses(known), {"4"})
        # Of those that went for a moment some were forgotten, and are made anew when they are asked for.
        self.assertLessEqual(len(known.usual), 950)
        self.assertTrue(all(backend(one) in known.usual for one in range(900)))

    def test_same_for_all_tables(self) -> None:
        """What one table has followed another one need not look at."""
        some = backends(1000, 1)
        known = self.known(some)
        self.assertLess(calls(partial(known.follow, some)), 10)
