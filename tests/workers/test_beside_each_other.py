"""Workers beside each other, in one process here: what each has by itself, what is divided, and what is the same for all."""

from random import Random

from attrs import evolve
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.rate_limits.family import BUCKETS, RequestLimit
from ingress.annotations.rate_limits.leaky_buckets import ONE, Rate, Rates
from ingress.annotations.rate_limits.shared_buckets import SharedBuckets
from ingress.data_plane import OwnDataPlane, now
from ingress.filters import Filter
from ingress.metrics.metrics import Metrics
from ingress.model.serving.limits import Limits
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.model.upstream.balancing import Algorithm, Balancing
from ingress.process.caps.caps import Caps
from ingress.process.shared.limit_memory import LimitMemory
from ingress.process.shared.shared_table import SharedTable
from ingress.process.shared.worker_part import WorkerPart
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.exchange.filtering.services import FilterClock
from ingress.proxy.transport.connection_limit import DEFAULT_CONNECTIONS
from ingress.proxy.upstream.rotation import Rotation, Rotations
from ingress.routing.balancing.consistent_hash import ConsistentHash
from ingress.routing.balancing.health import FAILURES
from ingress.routing.balancing.sticky import Sticky
from ingress.settings import Settings
from tests.fakes.serving import logged_to

BACKEND = BackendReference("demo", "shop", "80")
ENDPOINTS = tuple(Endpoint(f"10.0.0.{number}", 8080) for number in range(1, 5))


class Worker:
    """What a worker has for its endpoints."""

    def __init__(self, clock: MemoryReactorClock, seed: int = 0, slow_start_seconds: float = 0.0) -> None:
        self.metrics = Metrics()
        self._rotations = Rotations(
            clock,
            Deadlines(clock),
            self.metrics,
            Random(seed),
            slow_start_seconds=slow_start_seconds,
        )

    def rotation(self, algorithm: Algorithm = Algorithm.ROUND_ROBIN, count: int = 4) -> Rotation:
        """Return its rotation of the first so many endpoints."""
        return self._rotations.make(BACKEND, ENDPOINTS[:count], Balancing(algorithm))


def picks(rotation: Rotation, count: int) -> list[Endpoint | None]:
    """Return who gets so many requests."""
    return [rotation.pick((), b"") for _ in range(count)]


class OwnTests(SynchronousTestCase):
    """What each worker knows by itself."""

    def setUp(self) -> None:
        self.clock = MemoryReactorClock()

    def test_ejection(self) -> None:
        """An endpoint that one worker ejects is tried by another until that has seen as much."""
        one, other = (Worker(self.clock).rotation() for _ in range(2))
        for _ in range(FAILURES):
            one.unreachable(ENDPOINTS[0])
        self.assertNotIn(ENDPOINTS[0], picks(one, 8))
        self.assertEqual(picks(other, 8).count(ENDPOINTS[0]), 2)
        for _ in range(FAILURES):
            other.unreachable(ENDPOINTS[0])
        self.assertNotIn(ENDPOINTS[0], picks(other, 8))
        self.assertIn(ENDPOINTS[0], picks(Worker(self.clock).rotation(), 8))

    def test_turns(self) -> None:
        """Each hands out in turn, from the first one on: all together are fair to a request for each worker."""
        workers = [Worker(self.clock).rotation() for _ in range(2)]
        found = [endpoint for one in workers for endpoint in picks(one, 5)]
        self.assertEqual([found.count(endpoint) for endpoint in ENDPOINTS], [4, 2, 2, 2])

    def test_slow_start(self) -> None:
        """What comes is new to each worker that learns of it, and not to one that begins later."""
        before = [Worker(self.clock, slow_start_seconds=60).rotation(count=3) for _ in range(2)]
        for rotation in before:
            rotation.assign(ENDPOINTS)
        later = Worker(self.clock, slow_start_seconds=60).rotation()
        for rotation in before:
            self.assertEqual(picks(rotation, 40).count(ENDPOINTS[3]), 0)
        self.assertEqual(picks(later, 40).count(ENDPOINTS[3]), 10)

    def test_averages(self) -> None:
        """A worker judges endpoints by what went through itself."""
        one, other = (Worker(self.clock).rotation(Algorithm.EWMA, count=2) for _ in range(2))
        for rotation in (one, other):
            for endpoint in ENDPOINTS[:2]:
                rotation.began(endpoint)
                rotation.ended(endpoint, 0.1, False)
        one.began(ENDPOINTS[0])
        one.ended(ENDPOINTS[0], 50.0, False)
        self.clock.advance(1)
        one.began(ENDPOINTS[0])
        one.ended(ENDPOINTS[0], 50.0, False)
        self.assertEqual(set(picks(one, 20)), {ENDPOINTS[1]})
        self.assertEqual(set(picks(other, 60)), set(ENDPOINTS[:2]))


class SameEverywhereTests(SynchronousTestCase):
    """What workers agree about without asking."""

    def test_keys(self) -> None:
        """A key leads to one endpoint in each worker and replica, and so does a cookie."""
        hashed = [ConsistentHash(ENDPOINTS, Random(seed).random) for seed in range(2)]
        sticky = [Sticky(ENDPOINTS) for _ in range(2)]
        for balancers in (hashed, sticky):
            for number in range(50):
                key = b"k%016x" % number
                self.assertEqual(len({one.pick((), key) for one in balancers}), 1)


class DividedTests(SynchronousTestCase):
    """The data planes of two workers."""

    def most(self, asked: int | None) -> list[int]:
        """Return how many connections of clients each of two workers may have, where *asked* is said for all."""
        limits = Limits(max_connections=asked)
        return [plane._site.connections.limit.most for plane in self.planes(limits)]

    def loop_limits(self, asked: int | None, connections: int | None = None) -> list[int]:
        """Return how many requests with one id each may have under way, where *asked* is said for all."""
        limits = Limits(max_connections=connections, loop_limit=asked)
        return [plane._site.context.loops.most for plane in self.planes(limits)]

    def planes(self, limits: Limits) -> list[OwnDataPlane]:
        """Return those of two workers."""
        settings = Settings(serving=logged_to(self.mktemp()), use_epoll=False)
        settings = evolve(settings, serving=evolve(settings.serving, limits=limits))
        first = WorkerPart(0, 2, limits=LimitMemory(2))
        return [
            OwnDataPlane(settings, MemoryReactorClock(), Metrics(), lambda told: None, part=part, caps=Caps())
            for part in (first, evolve(first, number=1))
        ]

    def test_connections(self) -> None:
        """What is said is divided; what is not said fits one process, and each has it."""
        self.assertEqual(self.most(101), [51, 50])
        self.assertEqual(self.most(1), [1, 1])
        self.assertEqual(self.most(None), [DEFAULT_CONNECTIONS] * 2)

    def test_loops(self) -> None:
        """What is said of requests with one id is divided; what is not said goes by the connections of each; 0 is no limit."""
        self.assertEqual(self.loop_limits(101), [51, 50])
        self.assertEqual(self.loop_limits(0), [0, 0])
        self.assertEqual(self.loop_limits(None), [DEFAULT_CONNECTIONS // 8] * 2)
        self.assertEqual(self.loop_limits(None, 8), [48, 48])


class CrowdedTests(SynchronousTestCase):
    """The memory that workers share, when it is full."""

    def test_told(self) -> None:
        """Each client that gives way is counted by the worker that needed the room, and the log has a line a minute."""
        limits = LimitMemory(2)
        limits.rates = SharedTable((9,))
        metrics, settings = Metrics(), Settings(serving=logged_to(self.mktemp()), use_epoll=False)
        part = WorkerPart(0, 2, limits=limits)
        reactor = MemoryReactorClock()
        plane = OwnDataPlane(settings, reactor, metrics, lambda told: None, part=part, caps=Caps())
        shared = plane._shared(FilterClock(reactor, now)) or {}
        buckets = shared[RequestLimit.name, BUCKETS]
        assert isinstance(buckets, SharedBuckets)
        rates, asker = Rates(None, Rate(16, 5 * ONE)), Filter()
        zone = buckets.zone("Ingress demo/a", rates, asker)
        with capturedLogs() as logged:
            for number in range(1000):
                self.assertTrue(buckets.take(zone, rates, b"%d" % number))
        (events, *_) = metrics.filters.families()
        counted = {one.labels["event"]: one.value for one in events.samples}
        self.assertGreater(counted["crowded"], 300)
        self.assertEqual(sum("more than workers can count" in formatEvent(one) for one in logged), 1)
