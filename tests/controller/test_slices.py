"""How long the controller keeps requests waiting: slices of rounds, and the rest between rounds."""

import gc

from twisted.internet.task import Clock

from ingress.controller import (
    LONGEST_REST_SECONDS,
    REST_FACTOR,
    STEPS_COLLECTED,
    Controller,
)
from ingress.model.cluster.objects import (
    ClusterObject,
)
from ingress.model.upstream.backends import BackendReference
from ingress.process.in_slices import SLICE_SECONDS
from ingress.translate.snapshot import Snapshot
from tests.controller.controller_case import (
    NOW,
    ControllerTestCase,
    batch,
    endpoint_slice,
    ingress,
    service,
    two_hosts,
)


class BusyClock(Clock):
    """A clock by which every look at it took ``step`` seconds of work."""

    step = 0.0

    def seconds(self) -> float:
        self.rightNow += self.step
        return super().seconds()


class BusyTestCase(ControllerTestCase):
    """A controller for which each step of translation takes as long as a slice."""

    def setUp(self) -> None:
        super().setUp()
        self.clock: BusyClock = BusyClock()
        self.controller = Controller(
            self.store, self.options, self.published.append, self.clock, self.metrics, lambda: NOW
        )

    def turns(self, count: int = 1) -> None:
        """Let the reactor turn *count* times with next to no time between."""
        for _ in range(count):
            due = [call for call in self.clock.calls if call.getTime() <= self.clock.rightNow]
            for call in due:
                self.clock.calls.remove(call)
                call.called = True
                call.func(*call.args, **call.kw)

    def work(self) -> int:
        """Let the reactor turn until something is published; return how many turns that took."""
        for turn in range(1, 1000):
            self.turns()
            if self.published:
                return turn
        raise AssertionError("nothing was published")


class SliceTests(BusyTestCase):
    """Rounds that take more than one slice."""

    def setUp(self) -> None:
        super().setUp()
        self.clock.step = SLICE_SECONDS

    def test_first_round(self) -> None:
        """The first snapshot is made in slices, too, and is complete when it is published."""
        self.controller.changed(batch(*(ingress(f"i{n}", f"h{n}.test") for n in range(10))))
        self.controller.synced()
        self.assertEqual(self.published, [])
        self.assertGreater(self.work(), 10)
        self.assertEqual(len(self.hosts()), 10)

    def test_other_calls_come_in_between(self) -> None:
        """Whoever waits for the reactor waits for one slice, not for the round."""
        self.controller.changed(batch(*(ingress(f"i{n}", f"h{n}.test") for n in range(10))))
        self.controller.synced()
        served: list[int] = []
        self.clock.callLater(0, served.append, 1)
        self.turns()
        self.assertEqual((served, self.published), ([1], []))

    def test_collects_little_by_little(self) -> None:
        """Long rounds look for garbage among what they made while that is little, in turns of its own."""
        collected: list[int] = []
        self.patch(gc, "collect", collected.append)
        count = STEPS_COLLECTED
        self.controller.changed(batch(*(ingress(f"i{n}", f"h{n}.test") for n in range(count))))
        self.controller.synced()
        self.work()
        self.assertEqual(len(self.hosts()), count)
        # Each Ingress takes a few steps.
        self.assertGreater(len(collected), 2)
        self.assertEqual(set(collected), {1})

    def start_two(self) -> None:
        """Publish an Ingress with two hosts."""
        self.controller.changed(batch(two_hosts("a.test", "b.test"), service("shop")))
        self.controller.synced()
        if not self.published:
            self.work()
        self.published.clear()
        self.clock.rightNow += 1.0

    def test_all_or_nothing(self) -> None:
        """No snapshot has one host of an Ingress as it was and another as it is."""
        self.start_two()
        self.controller.changed(batch(two_hosts("c.test", "d.test")))
        self.assertGreater(self.work(), 2)
        self.assertEqual([len(self.published), self.hosts()], [1, ["c.test", "d.test"]])

    def test_change_during_round(self) -> None:
        """What changes during a round waits for the next one, which follows by itself."""
        self.start_two()
        self.controller.changed(batch(two_hosts("c.test", "d.test")))
        self.turns(3)
        self.controller.changed(batch(two_hosts("e.test", "f.test"), ingress("other", "other.test")))
        self.work()
        self.assertEqual(self.hosts(), ["c.test", "d.test"])
        self.published.clear()
        self.clock.rightNow += LONGEST_REST_SECONDS
        self.work()
        self.assertEqual(self.hosts(), ["e.test", "f.test", "other.test"])
        self.clock.step = 0.0
        self.assertEqual(self.controller.verify(), ())

    def test_never_quiet(self) -> None:
        """Changes that never cease do not keep a round from ending."""
        self.start_two()
        for number in range(200):
            self.controller.changed(batch(ingress("other", f"h{number}.test")))
            self.clock.rightNow += SLICE_SECONDS
            self.turns()
        self.assertGreaterEqual(len(self.published), 3)

    def test_endpoints_during_round(self) -> None:
        """Endpoints do not wait for the end of a round, and the round does not bring the old ones back."""
        self.start_two()
        self.controller.changed(batch(two_hosts("c.test", "d.test")))
        self.turns()
        self.assertEqual(self.published, [])
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.9")))
        self.turns()
        self.assertEqual((self.hosts(), self.addresses()), (["a.test", "b.test"], ["10.0.0.9"]))
        self.published.clear()
        self.work()
        self.assertEqual((self.hosts(), self.addresses()), (["c.test", "d.test"], ["10.0.0.9"]))

    def test_endpoints_during_first_round(self) -> None:
        """Endpoints that change while the first snapshot is made are in it, wherever the round was."""
        names = ("shop", "blog", "idle")
        objects: list[ClusterObject] = [
            *map(service, names),
            *(ingress(name, f"{name}.test", name) for name in names),
        ]
        for turn in range(20):
            self.setUp()
            self.controller.changed(batch(*objects))
            self.controller.changed(batch(*(endpoint_slice(f"{name}-1", name, "10.0.0.1") for name in names)))
            self.controller.synced()
            self.turns(turn)
            self.controller.changed(batch(*(endpoint_slice(f"{name}-1", name, "10.0.0.2") for name in names)))
            self.turns(30)
            found = [self.addresses(BackendReference("web", name, 80)) for name in names]
            self.assertEqual(found, [["10.0.0.2"]] * 3, f"turn {turn}")

    def test_stop_during_round(self) -> None:
        """A round that is under way ends with ``stop``."""
        self.start_two()
        self.controller.changed(batch(two_hosts("c.test", "d.test")))
        self.turns()
        self.controller.stop()
        self.turns(20)
        self.assertEqual(self.published, [])
        self.assertEqual(self.clock.getDelayedCalls(), [])


class RestTests(BusyTestCase):
    """The time between rounds."""

    seconds = 0.001

    def begin(self) -> None:
        """Make the first snapshot, whose round takes a little more than ``seconds``; then stop the clock."""
        self.controller = Controller(
            self.store, self.options, self.publish, self.clock, self.metrics, lambda: NOW
        )
        self.start_shop()

    def publish(self, snapshot: Snapshot) -> None:
        """Take ``seconds`` to publish."""
        self.clock.rightNow += self.seconds
        self.published.append(snapshot)

    def test_rest(self) -> None:
        """A change right after a round waits several times as long as that took."""
        self.begin()
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.advance(REST_FACTOR * self.seconds * 0.9)
        self.assertEqual(self.published, [])
        self.clock.advance(REST_FACTOR * self.seconds * 0.2)
        self.assertEqual(len(self.published), 1)

    def test_rested(self) -> None:
        """A change after a while of quiet is translated in the next turn."""
        self.begin()
        self.clock.advance(REST_FACTOR * self.seconds)
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.advance(0)
        self.assertEqual(len(self.published), 1)

    def test_longest_rest(self) -> None:
        """The wait is bounded, however long a round takes."""
        self.seconds = 60.0
        self.begin()
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.advance(LONGEST_REST_SECONDS)
        self.assertEqual(len(self.published), 1)

    def test_clock_set_back(self) -> None:
        """The wait is bounded, too, when the clock of the machine is set back."""
        self.begin()
        self.clock.rightNow -= 3600
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.advance(LONGEST_REST_SECONDS)
        self.assertEqual(len(self.published), 1)

    def test_endpoints_do_not_rest(self) -> None:
        """Endpoints are published in the next turn all the same."""
        self.begin()
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.advance(0)
        self.assertEqual(self.addresses(), ["10.0.0.2"])
