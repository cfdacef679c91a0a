"""The rotations of thousands of backends get other endpoints in steps, and soon."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, cast

from attrs import evolve
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.metrics import Metrics
from ingress.model.shared_map import SharedMap
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.model.upstream.balancing import Algorithm, Balancing
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.dispatch.known_rotations import KnownRotations
from ingress.proxy.upstream.rotation import Rotations
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from tests.fakes.clocks.step_clocks import StepClock
from tests.fakes.counting import calls
from tests.properties import examples
from tests.proxy.playing import OWNER, ProxyCase

Backends = SharedMap[BackendReference, BackendState]


def backend(number: int) -> BackendReference:
    return BackendReference("demo", f"s{number}", 80)


def endpoint(number: int, generation: int) -> Endpoint:
    return Endpoint(f"10.{generation}.{number >> 8}.{number & 255}", 80)


def backends(count: int, generation: int) -> Backends:
    """Return so many, whose endpoints are those of a generation."""
    return SharedMap({backend(one): BackendState((endpoint(one, generation),)) for one in range(count)})


class Torn(SharedMap[BackendReference, BackendState]):
    """Has one backend that cannot be found out about."""

    def get(self, key: BackendReference, default: object = None, /) -> Any:
        """Return what there is of the others."""
        return 1 / 0 if key == backend(500) else super().get(key)


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

    def test_few_of_many(self) -> None:
        """So they have where thousands of others are as they were, which nobody looks at."""
        some = backends(3000, 1)
        known = self.known(some)
        other = some.patched({backend(7): BackendState((endpoint(7, 2),)), backend(8): None})
        self.assertLess(calls(partial(known.follow, other)), 200)
        self.assertEqual((self.clock.calls, len(known.usual)), ([], 2999))
        self.assertEqual(known.usual[backend(7)].endpoints, (endpoint(7, 2),))

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

    def test_same_anew(self) -> None:
        """Nor is the publication of thousands that are put together anew, be they the same."""
        found = []
        for count in (1000, 8000):
            some = backends(count, 1)
            known = self.known(some)
            found.append(calls(partial(known.follow, SharedMap(dict(some)))))
            self.clock.work()
        self.assertLess(found[1], 2 * found[0])

    def test_meanwhile(self) -> None:
        """What changes again meanwhile ends as it is in the last snapshot, and whoever asks meanwhile has that at once."""
        known = self.known(backends(1000, 1))
        for some in (backends(900, 2), backends(1000, 3), backends(950, 4)):
            known.follow(some)
        self.assertEqual((self.addresses(known), known.usual), ({"1"}, {}))
        rotation = known.brought_up(backend(7))
        assert rotation is not None
        self.assertEqual(rotation.endpoints, (endpoint(7, 4),))
        self.assertIs(known.usual[backend(7)], rotation)
        self.assertIsNone(known.brought_up(backend(970)))
        self.clock.work()
        self.assertIs(known.usual[backend(7)], rotation)
        self.assertEqual((self.addresses(known), len(known.usual)), ({"4"}, 950))
        self.assertEqual(self.metrics.endpoints.known, 950)

    def test_publications_in_a_row(self) -> None:
        """However soon publications follow each other, each rotation has its turn."""
        known = self.known(backends(500, 1))
        for generation in range(2, 50):
            known.follow(backends(500, generation))
            self.clock.calls.pop()()
        self.assertLessEqual(self.addresses(known), {str(generation) for generation in range(38, 50)})

    def test_failure(self) -> None:
        """A bug that ends the steps leaves no rotation with endpoints of before: the next publication goes on."""
        known = self.known(backends(1000, 1))
        known.follow(Torn(backends(1000, 2)))
        self.clock.work()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        (left, *_) = known._behind
        rotation = known.brought_up(left)
        assert rotation is not None
        self.assertEqual(rotation.endpoints[0].address.split(".")[1], "2")
        known.follow(backends(999, 2))
        self.clock.work()
        self.assertEqual((self.addresses(known), len(known.usual)), ({"2"}, 998))

    def test_forgotten_meanwhile(self) -> None:
        """Those that are to share requests otherwise are made anew, be they behind."""
        known = self.known(backends(1000, 1))
        known.follow(backends(1000, 2))
        known.forget()
        self.clock.work()
        self.assertEqual(([*known], self.metrics.endpoints.known), ([], 0))

    def test_random_histories(self) -> None:
        """Whatever is published, and asked for, between any two steps, is as where all is done at once."""
        chance = Random(7)
        for _ in range(examples(12)):
            known = self.known(some := backends(chance.choice((10, 100, 300)), 0))
            for generation in range(1, 30):
                match chance.randrange(3):
                    case 0:
                        count = chance.choice((1, 60, 300))
                        changed = [backend(chance.randrange(300)) for _ in range(count)]
                        some = some.patched(
                            {
                                one: BackendState((endpoint(at, generation),))
                                if chance.random() < 0.7
                                else None
                                for at, one in enumerate(changed)
                            }
                        )
                        known.follow(some)
                    case 1:
                        if self.clock.calls:
                            self.clock.calls.pop()()
                    case _:
                        one = backend(chance.randrange(300))
                        rotation = known.usual.get(one) or known.brought_up(one)
                        self.assertIs(rotation is not None and one not in some, False)
                        if rotation is not None:
                            self.assertEqual(rotation.endpoints, some[one].endpoints)
                for one, rotation in known.usual.items():
                    self.assertEqual(rotation.endpoints, some[one].endpoints)
            self.clock.work()
            self.assertEqual({one.backend for one in known}, {*known.usual})
            self.assertEqual(self.metrics.endpoints.known, sum(len(one.endpoints) for one in known))
            known.forget()

    def test_same_for_all_tables(self) -> None:
        """What one table has followed another one need not look at."""
        some = backends(1000, 1)
        known = self.known(some)
        self.assertLess(calls(partial(known.follow, some)), 10)


class OvertakenTests(ProxyCase):
    """Requests that come while thousands of rotations get other endpoints."""

    def setUp(self) -> None:
        super().setUp()
        # No step is taken while a test goes on.
        self.stage.resource._known._clock = cast(IReactorTime, StepClock())
        self.publish(backends(200, 1))
        for one in range(200):
            self.stage.resource.rotation_of(backend(one))

    def publish(self, some: Backends, balancing: Balancing | None = None) -> None:
        """Publish a host for each backend that there may be."""
        route = Route("", "/", Match.PREFIX, OWNER, backend(0), balancing=balancing)
        hosts = {
            f"h{one}.test": HostRoutes((evolve(route, host=f"h{one}.test", backend=backend(one)),))
            for one in range(200)
        }
        self.stage.resource.publish(RouteTable().patched(hosts), some)

    def ask(self, number: int) -> bytes:
        """Ask a host; return what is said to it at once."""
        client = self.stage.open()
        client.say(b"GET / HTTP/1.1\r\nHost: h%d.test\r\nConnection: close\r\n\r\n" % number)
        return client.take()

    def test_endpoints_of_now(self) -> None:
        """They go to the endpoints of the snapshot that is in force, and to none of before."""
        self.publish(backends(200, 2))
        for number in range(200):
            self.ask(number)
        self.assertEqual(self.connector.asked, [endpoint(number, 2) for number in range(200)])

    def test_endpoints_came(self) -> None:
        """Where there were none, and are some now, nobody is told 503."""
        self.publish(SharedMap({backend(one): BackendState((), "none") for one in range(200)}))
        for number in range(200):
            self.assert_status(self.ask(number), 503)
        self.publish(backends(200, 2))
        self.assertEqual({self.ask(number) for number in range(200)}, {b""})

    def test_backend_went(self) -> None:
        """Where a backend is gone they are told so, whatever way to share them a route asks for."""
        self.publish(SharedMap({}), Balancing(Algorithm.LEAST_REQUESTS))
        for number in range(200):
            self.assert_status(self.ask(number), 503)
