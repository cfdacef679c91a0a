"""How many replicas share limits: from EndpointSlices to the snapshot, and its way to another process."""

from attrs import evolve

from ingress.model.cluster.objects import ClusterObject, EndpointSlice, Kind, ObjectKey, SlicePort
from ingress.translate.options import TranslateOptions
from tests.controller.controller_case import (
    ControllerTestCase,
    batch,
    endpoint_slice,
    gone,
    ingress,
    key,
    service,
)
from tests.fakes.counting import calls
from tests.workers.sent import sent


class ReplicaTests(ControllerTestCase):
    """Replicas of a controller that shares limits."""

    options = TranslateOptions(limits_shared=True, own_service=ObjectKey("web", "own"))

    def count(self) -> int:
        """Return how many the last snapshot has, which is what a full translation has, and what another process reads."""
        snapshot = self.published[-1]
        self.assertEqual(self.controller.verify(), ())
        self.assertEqual(sent(snapshot).replicas, snapshot.replicas)
        return snapshot.replicas

    def test_as_they_come_and_go(self) -> None:
        """Each ready endpoint of our Service is one, from the next turn on, without a round; without any there is ourselves."""
        self.controller.changed(batch(ingress("shop", "shop.test"), service("shop"), service("own")))
        self.controller.changed(batch(endpoint_slice("own-1", "own", "10.0.0.1", "10.0.0.2", "10.0.0.3")))
        self.controller.synced()
        self.assertEqual(self.count(), 3)
        table = self.published[-1].table
        for slices, count in (
            (endpoint_slice("own-1", "own", "10.0.0.1", "10.0.0.2"), 2),
            (endpoint_slice("own-2", "own", "10.0.0.2", "10.0.0.4"), 3),
            (endpoint_slice("own-1", "own"), 2),
            (endpoint_slice("own-2", "own"), 1),
        ):
            self.controller.changed(batch(slices))
            self.clock.advance(0)
            self.assertEqual(self.count(), count)
        self.assertIs(self.published[-1].table, table)

    def test_many(self) -> None:
        """Another change costs no more beside thousands of replicas, and that of one slice looks at the addresses of that one."""
        self.controller.changed(batch(ingress("shop", "shop.test"), service("shop"), service("own")))
        self.controller.synced()
        alone = self.costs(ingress("shop", "a.test"))
        for number in range(40):
            self.costs(self.slice_of(number, 0))
        self.assertEqual(self.count(), 4000)
        self.assertLess(self.costs(ingress("shop", "b.test")), alone + 100)
        self.assertLess(self.costs(self.slice_of(7, 1)), 6000)
        self.assertEqual((self.count(), self.published[-1].replica_addresses[0]), (4000, "10.0.0.0"))

    def slice_of(self, number: int, shift: int) -> EndpointSlice:
        """Return one of a hundred replicas."""
        return endpoint_slice(
            f"own-{number}", "own", *(f"10.{shift}.{number}.{place}" for place in range(100))
        )

    def costs(self, value: ClusterObject) -> int:
        """Return how many calls a change takes."""
        self.controller.changed(batch(value))
        return calls(lambda: self.clock.advance(1))

    def test_two_families(self) -> None:
        """A pod with addresses of two families is one; one that is not ready is none."""
        four = endpoint_slice("own-1", "own", "10.0.0.1", "10.0.0.2")
        six = EndpointSlice(
            key("own-6"), key("own"), "IPv6", (SlicePort("http", 8080),), ("::1", "::2"), unready=("::3",)
        )
        self.controller.changed(batch(service("own"), four, six))
        self.controller.synced()
        self.assertEqual(self.count(), 2)

    def test_unknown_service(self) -> None:
        """Where our Service is not known each replica limits for itself, and the operator is told, until it comes."""
        self.controller.changed(batch(service("shop")))
        self.controller.synced()
        (problem,) = self.published[-1].problems
        self.assertEqual((problem.kind, problem.name, problem.is_the_operators), ("Service", "own", True))
        self.assertIn("each replica limits for itself", problem.message)
        self.assertEqual(self.count(), 1)
        self.controller.changed(batch(service("own"), endpoint_slice("own-1", "own", "10.0.0.1", "10.0.0.2")))
        self.clock.advance(1)
        self.assertEqual((self.count(), self.published[-1].problems), (2, ()))
        self.controller.changed(gone(Kind.SERVICE, "own"))
        self.clock.advance(1)
        self.assertEqual(len(self.published[-1].problems), 1)


class NoServiceTests(ControllerTestCase):
    """A controller that does not know its Service."""

    options = TranslateOptions(limits_shared=True)

    def test_told(self) -> None:
        """The operator is told what is missing."""
        self.controller.changed(batch(service("own"), endpoint_slice("own-1", "own", "10.0.0.1", "10.0.0.2")))
        self.controller.synced()
        (problem,) = self.published[-1].problems
        self.assertTrue(problem.is_the_operators)
        self.assertIn("needs --publish-service", problem.message)
        self.assertEqual(self.published[-1].replicas, 1)


class NotSharedTests(ControllerTestCase):
    """A controller that shares nothing."""

    options = evolve(ReplicaTests.options, limits_shared=False)

    def test_counts_for_itself(self) -> None:
        """However many replicas there are, each limits for itself, and nobody is told of anything."""
        self.controller.changed(batch(endpoint_slice("own-1", "own", "10.0.0.1", "10.0.0.2")))
        self.controller.synced()
        self.assertEqual((self.published[-1].replicas, self.published[-1].problems), (1, ()))
