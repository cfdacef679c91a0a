"""From changed objects to a published snapshot."""

import gc
from collections.abc import Collection, Container, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from attrs import evolve
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.source import Sink
from ingress.cluster.store import Changes, Store
from ingress.controller import (
    CALENDAR_SECONDS,
    LONGEST_REST_SECONDS,
    REST_FACTOR,
    SLICE_SECONDS,
    STEPS_COLLECTED,
    Controller,
)
from ingress.metrics.metrics import Metrics
from ingress.model.backends import BackendReference, BackendState, Endpoint, ManualEndpoint
from ingress.model.object_meta import ObjectMeta
from ingress.model.objects import (
    ClusterObject,
    EndpointSlice,
    Kind,
    ObjectId,
    ObjectKey,
    Projection,
    Secret,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.model.problems import Problem, Reason
from ingress.model.serving import ServingSettings
from ingress.model.state import ClusterState
from ingress.news.problem_log import SETTLE_SECONDS
from ingress.news.publication_log import REPORT_SECONDS
from ingress.translate.endpoint_rules import API_SERVER
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.records import record_of
from tests.translate.golden import issued

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SHOP = BackendReference("web", "shop", 80)
BLOG = BackendReference("web", "blog", 80)


def key(name: str) -> ObjectKey:
    return ObjectKey("web", name)


def ingress(name: str, host: str, service: str = "shop") -> Ingress:
    backend = IngressBackend(service, ServicePortReference(number=80))
    rule = IngressRule(host, (IngressPath("/", "Prefix", backend),))
    return Ingress(key(name), created="2026-01-01T00:00:00Z", class_name="nginx", rules=(rule,))


def two_hosts(first: str, second: str) -> Ingress:
    """The Ingress ``web/two``, which asks for two hosts."""
    one, other = ingress("two", first), ingress("two", second)
    return evolve(one, rules=(*one.rules, *other.rules))


def service(name: str) -> Service:
    return Service(key(name), ports=(ServicePort("http", 80, 8080),))


def endpoint_slice(name: str, of: str, *addresses: str) -> EndpointSlice:
    return EndpointSlice(key(name), key(of), ports=(SlicePort("http", 8080),), ready=addresses)


def batch(*values: ClusterObject) -> dict[ObjectId, Projection | None]:
    return {(Kind(type(value).__name__), value.key): Projection(value) for value in values}


def gone(kind: Kind, name: str) -> dict[ObjectId, Projection | None]:
    return {(kind, key(name)): None}


class BrokenStore(Store):
    """A store that can be told to have a bug."""

    is_broken = False

    def state(self) -> ClusterState:
        if self.is_broken:
            raise RuntimeError("a bug")
        return super().state()


class ControllerTestCase(SynchronousTestCase):
    """A controller on a clock, with what it published."""

    options = TranslateOptions()

    def setUp(self) -> None:
        self.clock = Clock()
        self.store = BrokenStore()
        self.metrics = Metrics()
        self.published: list[Snapshot] = []
        self.controller = Controller(
            self.store, self.options, self.published.append, self.clock, self.metrics, lambda: NOW
        )

    def start(self, *values: ClusterObject) -> None:
        """Sync with *values*, and forget the first snapshot."""
        self.controller.changed(batch(*values))
        self.controller.synced()
        self.published.clear()

    def start_shop(self) -> Snapshot:
        """Sync with one Ingress, its Service and one endpoint; return the first snapshot."""
        self.controller.changed(
            batch(ingress("shop", "shop.test"), service("shop"), endpoint_slice("shop-1", "shop", "10.0.0.1"))
        )
        self.controller.synced()
        return self.published.pop()

    def addresses(self, reference: BackendReference = SHOP) -> list[str]:
        """The addresses behind *reference* in the snapshot published last."""
        return [endpoint.address for endpoint in self.published[-1].backends[reference].endpoints]

    def hosts(self) -> list[str]:
        """The hosts of the snapshot published last."""
        return sorted(route.host for route in self.published[-1].table.routes)


class SyncTests(ControllerTestCase):
    """The first snapshot."""

    def test_nothing_before(self) -> None:
        """Nothing is published before the source is synced, however much comes and however long it takes."""
        self.controller.changed(batch(ingress("shop", "shop.test")))
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.1")))
        self.clock.advance(3600)
        self.assertEqual(self.published, [])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_at_once(self) -> None:
        """The first snapshot is published at once and holds everything that came so far."""
        self.controller.changed(batch(ingress("shop", "shop.test")))
        self.controller.changed(batch(service("shop"), endpoint_slice("shop-1", "shop", "10.0.0.1")))
        self.controller.synced()
        self.assertEqual(len(self.published), 1)
        self.assertEqual(self.hosts(), ["shop.test"])
        self.assertEqual(self.addresses(), ["10.0.0.1"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_empty(self) -> None:
        """An empty cluster gives an empty snapshot, so that one can be ready without an Ingress."""
        self.controller.synced()
        self.assertEqual([snapshot.table.routes for snapshot in self.published], [()])

    def test_is_a_sink(self) -> None:
        """The controller is what a source expects."""
        sink: Sink = self.controller
        sink.changed({})
        sink.synced()
        self.assertEqual(len(self.published), 1)


class RoundTests(ControllerTestCase):
    """Changes that need a round of translation."""

    def test_quiet_time(self) -> None:
        """The first change of a quiet time is translated in the next turn."""
        self.start_shop()
        self.clock.advance(REPORT_SECONDS)
        self.controller.changed(batch(ingress("other", "other.test")))
        self.assertEqual(self.published, [])
        self.clock.advance(0)
        self.assertEqual(self.hosts(), ["other.test", "shop.test"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_one_turn(self) -> None:
        """Changes of one turn become one round, however many batches they come in."""
        self.start_shop()
        for number in range(20):
            self.controller.changed(batch(ingress(f"i{number}", f"h{number}.test")))
        self.clock.advance(0)
        self.assertEqual(len(self.published), 1)
        self.assertEqual(len(self.hosts()), 21)

    def test_no_change(self) -> None:
        """What changes nothing for us publishes nothing."""
        self.start_shop()
        self.controller.changed(
            batch(ingress("shop", "shop.test"), endpoint_slice("shop-1", "shop", "10.0.0.1"))
        )
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_no_difference(self) -> None:
        """A change that makes no difference to what is served publishes nothing."""
        self.start_shop()
        self.controller.changed(batch(service("unnamed")))
        self.controller.changed({(Kind.INGRESS, key("foreign")): Projection(Ingress(key("foreign")))})
        self.clock.advance(0)
        self.assertEqual(self.published, [])

    def test_deleted(self) -> None:
        """An Ingress that is gone takes its routes along."""
        self.start_shop()
        self.controller.changed(gone(Kind.INGRESS, "shop"))
        self.clock.advance(0)
        self.assertEqual(self.hosts(), [])

    def test_service(self) -> None:
        """A Service that appears solves the problem of the Ingress that names it."""
        self.start(ingress("shop", "shop.test"), endpoint_slice("shop-1", "shop", "10.0.0.1"))
        self.controller.changed(batch(service("shop")))
        self.clock.advance(0)
        self.assertEqual(self.published[-1].problems, ())
        self.assertEqual(self.addresses(), ["10.0.0.1"])

    def test_other_hosts_shared(self) -> None:
        """The next snapshot shares with the one before what the change does not concern."""
        first = self.start_shop()
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.advance(0)
        [second] = self.published
        self.assertIs(second.table.get("shop.test"), first.table.get("shop.test"))
        self.assertIs(second.certificates, first.certificates)
        self.assertEqual([route.host for route in first.table.routes], ["shop.test"])

    def test_verify(self) -> None:
        """What is published is what a full translation makes, and what is not yet is told."""
        self.assertEqual(self.controller.verify(), ("nothing is published",))
        self.start_shop()
        self.assertEqual(self.controller.verify(), ())
        self.controller.changed(batch(ingress("other", "other.test")))
        # The route of its host, the settings of its handshakes, and the problem that there is no Service.
        self.assertEqual(len(self.controller.verify()), 3)
        self.clock.advance(0)
        self.assertEqual(self.controller.verify(), ())


class CalendarTests(ControllerTestCase):
    """Certificates that begin and cease to be valid while no object changes."""

    def setUp(self) -> None:
        super().setUp()
        self.today = NOW
        self.controller = Controller(
            self.store, self.options, self.published.append, self.clock, self.metrics, lambda: self.today
        )
        content = issued(("shop.test",), NOW - timedelta(days=1), NOW + timedelta(seconds=70))
        entry = IngressTLS(("shop.test",), "tls")
        self.start(
            evolve(ingress("shop", "shop.test"), tls=(entry,)),
            Secret(key("tls"), "kubernetes.io/tls", content),
        )

    def pass_(self, seconds: float, calendar: float | None = None) -> list[bool]:
        """Let so much time pass, by the calendar perhaps another; return for what was published whether hosts insist."""
        self.today += timedelta(seconds=seconds if calendar is None else calendar)
        self.clock.advance(seconds)
        self.clock.advance(0)
        found = [snapshot.table.routes[0].secure_fields is not None for snapshot in self.published]
        self.published.clear()
        return found

    def test_moment(self) -> None:
        """A snapshot is published at the very moment, and none before it."""
        for seconds in (30, 30, 9.5):
            self.assertEqual(self.pass_(seconds), [])
        self.assertEqual(self.pass_(0.5), [False])

    def test_calendar_is_set(self) -> None:
        """A calendar that is set is noticed soon, forwards and backwards."""
        self.assertEqual(self.pass_(1, calendar=3600), [])
        self.assertEqual(self.pass_(CALENDAR_SECONDS), [False])
        self.assertEqual(self.pass_(1, calendar=-3600), [])
        self.assertEqual(self.pass_(CALENDAR_SECONDS), [True])

    def looks(self) -> int:
        """How many looks at the calendar are to come."""
        return sum("_look_at_calendar" in str(call) for call in self.clock.getDelayedCalls())

    def test_one_call(self) -> None:
        """One call waits however much changes, and none for a cluster without certificates or after the end."""
        for number in range(3):
            self.controller.changed(batch(ingress(f"i{number}", f"{number}.test")))
            self.clock.advance(1)
        self.assertEqual(self.looks(), 1)
        self.controller.changed(gone(Kind.SECRET, "tls"))
        self.clock.advance(1)
        self.assertEqual(self.looks(), 0)
        self.controller.changed(
            batch(Secret(key("tls"), "kubernetes.io/tls", issued(("shop.test",), NOW, NOW)))
        )
        self.clock.advance(1)
        self.assertEqual(self.looks(), 1)
        self.controller.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])


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


class EndpointTests(ControllerTestCase):
    """Changes of EndpointSlices alone."""

    def test_next_turn(self) -> None:
        """New endpoints are published in the next turn; table, certificates and problems are the same objects."""
        first = self.start_shop()
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.assertEqual(self.published, [])
        self.clock.advance(0)
        self.assertEqual(len(self.published), 1)
        self.assertEqual(self.addresses(), ["10.0.0.2"])
        self.assertIs(self.published[0].table, first.table)
        self.assertIs(self.published[0].certificates, first.certificates)
        self.assertIs(self.published[0].problems, first.problems)
        self.assertEqual(first.backends[SHOP].endpoints, (Endpoint("10.0.0.1", 8080),))

    def test_one_turn(self) -> None:
        """Changes of many Services in one turn are published together; other backends keep their state."""
        self.start(
            ingress("shop", "shop.test"),
            ingress("blog", "blog.test", "blog"),
            ingress("idle", "idle.test", "idle"),
            *map(service, ("shop", "blog", "idle")),
            endpoint_slice("idle-1", "idle", "10.0.0.9"),
        )
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.1")))
        self.controller.changed(batch(endpoint_slice("blog-1", "blog", "10.0.0.2")))
        self.clock.advance(0)
        self.assertEqual(len(self.published), 1)
        self.assertEqual((self.addresses(SHOP), self.addresses(BLOG)), (["10.0.0.1"], ["10.0.0.2"]))
        self.assertEqual(self.addresses(BackendReference("web", "idle", 80)), ["10.0.0.9"])

    def test_refused(self) -> None:
        """An endpoint that is refused is out at once; a round tells the problem, and takes it back."""
        self.start_shop()
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "127.0.0.1")))
        self.clock.advance(0)
        self.assertEqual(self.addresses(), [])
        self.clock.advance(1)
        (problem,) = self.published[-1].problems
        self.assertEqual((problem.kind, problem.reason), ("EndpointSlice", Reason.ENDPOINT_FORBIDDEN))
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.advance(0)
        self.assertEqual(self.addresses(), ["10.0.0.2"])
        self.clock.advance(1)
        self.assertEqual(self.published[-1].problems, ())
        self.assertEqual(self.controller.verify(), ())

    def test_api_server_moves(self) -> None:
        """When the API server says that it is elsewhere, endpoints there are refused, and others are not any more."""
        self.start_shop()
        moved = evolve(
            endpoint_slice("kubernetes", "kubernetes", "10.0.0.1"), key=API_SERVER, service=API_SERVER
        )
        self.controller.changed(batch(moved))
        self.clock.advance(1)
        self.assertEqual(self.addresses(), [])
        self.controller.changed(batch(evolve(moved, ready=("10.0.0.7",))))
        self.clock.advance(1)
        self.assertEqual(self.addresses(), ["10.0.0.1"])
        self.assertEqual(self.controller.verify(), ())

    def test_later_changes(self) -> None:
        """Each later change builds on the one before."""
        self.start_shop()
        for address in ("10.0.0.2", "10.0.0.3"):
            self.controller.changed(batch(endpoint_slice("shop-1", "shop", address)))
            self.clock.advance(0)
            self.assertEqual(self.addresses(), [address])

    def test_slice_deleted(self) -> None:
        """An EndpointSlice that is gone takes its endpoints along."""
        self.start_shop()
        self.controller.changed(batch(endpoint_slice("shop-2", "shop", "10.0.0.2")))
        self.controller.changed(gone(Kind.ENDPOINT_SLICE, "shop-1"))
        self.clock.advance(0)
        self.assertEqual(self.addresses(), ["10.0.0.2"])

    def test_slice_moved(self) -> None:
        """An EndpointSlice that changes hands is taken from one Service and given to the other."""
        self.start(
            ingress("shop", "shop.test"),
            ingress("blog", "blog.test", "blog"),
            service("shop"),
            service("blog"),
            endpoint_slice("any-1", "shop", "10.0.0.1"),
        )
        self.controller.changed(batch(endpoint_slice("any-1", "blog", "10.0.0.1")))
        self.clock.advance(0)
        self.assertEqual((self.addresses(SHOP), self.addresses(BLOG)), ([], ["10.0.0.1"]))

    def test_same_endpoints(self) -> None:
        """Nothing is published when no backend got other endpoints."""
        self.start_shop()
        self.controller.changed(batch(endpoint_slice("shop-2", "shop", "10.0.0.1")))
        self.controller.changed(batch(endpoint_slice("nobody-1", "nobody", "10.0.0.1")))
        self.clock.advance(1)
        self.assertEqual(self.published, [])

    def test_all_ports(self) -> None:
        """Every backend of the Service follows, whatever the port and spelling."""
        by_name = IngressBackend("shop", ServicePortReference(name="http"))
        other = Ingress(
            key("other"),
            class_name="nginx",
            rules=(IngressRule("other.test", (IngressPath("/", "Prefix", by_name),)),),
        )
        self.start(ingress("shop", "shop.test"), other, service("shop"))
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.1")))
        self.clock.advance(0)
        self.assertEqual(self.addresses(SHOP), ["10.0.0.1"])
        self.assertEqual(self.addresses(BackendReference("web", "shop", "http")), ["10.0.0.1"])

    def test_with_other_changes(self) -> None:
        """Endpoints and a round may come in the same turn."""
        self.start_shop()
        self.clock.advance(REPORT_SECONDS)
        self.controller.changed(batch(ingress("other", "other.test")))
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.advance(0)
        self.assertEqual((self.hosts(), self.addresses()), (["other.test", "shop.test"], ["10.0.0.2"]))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_unreadable_slice(self) -> None:
        """An EndpointSlice that becomes unreadable loses its endpoints, and its problem is published."""
        self.start_shop()
        problem = Problem("EndpointSlice", "web", "shop-1", Reason.MALFORMED_OBJECT, "no endpoints")
        self.controller.changed({(Kind.ENDPOINT_SLICE, key("shop-1")): Projection(None, (problem,))})
        self.clock.advance(0)
        self.assertEqual(self.addresses(), [])
        self.assertEqual(self.published[-1].problems, (problem,))


class StopTests(ControllerTestCase):
    """``stop``."""

    def test_calls_canceled(self) -> None:
        """What was due is canceled."""
        self.start_shop()
        self.controller.changed(batch(ingress("other", "other.test")))
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.controller.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.published, [])

    def test_changed_afterwards(self) -> None:
        """What comes afterwards publishes nothing."""
        self.start_shop()
        self.controller.stop()
        self.controller.changed(batch(ingress("other", "other.test")))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_before_sync(self) -> None:
        """A controller that was never synced can be stopped, too."""
        self.controller.stop()
        self.assertEqual(self.published, [])


class BugTests(ControllerTestCase):
    """A translation that fails although it must not."""

    def failures(self) -> int:
        return len(self.flushLoggedErrors(RuntimeError))

    def test_last_snapshot_stays(self) -> None:
        """It is logged as critical and counted, and nothing is published."""
        self.start_shop()
        self.store.is_broken = True
        with capturedLogs() as events:
            self.controller.changed(batch(ingress("other", "other.test")))
            self.clock.advance(REPORT_SECONDS)
        self.assertEqual([event["log_level"] for event in events], [LogLevel.critical])
        self.assertEqual(self.failures(), 1)
        self.assertEqual(self.published, [])
        self.assertIn(b"\ningress_translations_failed_total 1.0\n", self.metrics.render())

    def test_next_change(self) -> None:
        """The next change is translated as ever, together with what was missed."""
        self.start_shop()
        self.store.is_broken = True
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.advance(REPORT_SECONDS)
        self.store.is_broken = False
        self.controller.changed(batch(ingress("third", "third.test")))
        self.clock.advance(REPORT_SECONDS)
        self.assertEqual(self.hosts(), ["other.test", "shop.test", "third.test"])
        self.assertEqual(self.failures(), 1)

    def test_first_translation(self) -> None:
        """After a first translation that failed, any change leads to the first snapshot."""
        self.store.is_broken = True
        self.start(ingress("shop", "shop.test"), service("shop"))
        self.store.is_broken = False
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.1")))
        self.clock.advance(REPORT_SECONDS)
        self.assertEqual(self.addresses(), ["10.0.0.1"])
        self.assertEqual(self.failures(), 1)

    def test_endpoints(self) -> None:
        """When only the endpoints were to be found, everything is translated anew, once."""
        self.start_shop()
        self.store.is_broken = True
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.advance(0)
        self.assertEqual(self.failures(), 1)
        self.store.is_broken = False
        self.clock.advance(REPORT_SECONDS)
        self.assertEqual(self.addresses(), ["10.0.0.2"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_no_loop(self) -> None:
        """A bug that stays is met once for each change, not again and again."""
        self.start_shop()
        self.store.is_broken = True
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.pump([LONGEST_REST_SECONDS] * 20)
        self.assertEqual(self.failures(), 2)
        self.assertEqual(self.clock.getDelayedCalls(), [])


class ReportTests(ControllerTestCase):
    """What is logged and counted."""

    def logged(self, level: object, *batches: Mapping[ObjectId, Projection | None]) -> list[str]:
        """Hand over *batches* one after the other; return what is logged at *level*."""
        with capturedLogs() as events:
            for one in batches:
                self.controller.changed(one)
                self.clock.pump([0.0, SETTLE_SECONDS, 0.0])
        return [str(event["log_format"]).format(**event) for event in events if event["log_level"] is level]

    def test_problem_once(self) -> None:
        """A problem is logged when it comes, and not again while it stays."""
        self.start_shop()
        lines = self.logged(
            LogLevel.warn,
            batch(ingress("other", "other.test", "absent")),
            batch(ingress("third", "third.test")),
        )
        self.assertEqual(len(lines), 1)
        self.assertIn("Ingress web/other", lines[0])
        self.assertIn("(ServiceNotFound)", lines[0])

    def test_problem_solved(self) -> None:
        """A problem that went away is logged as solved."""
        self.start(ingress("shop", "shop.test"))
        lines = self.logged(LogLevel.info, batch(service("shop")))
        self.assertEqual(len([line for line in lines if line.startswith("Solved: Ingress web/shop")]), 1)

    def test_nothing_served(self) -> None:
        """Without a route the line names the classes that were seen, and stays true when others come."""
        with capturedLogs() as events:
            self.start(evolve(ingress("shop", "shop.test"), class_name="traefik"))
            self.controller.changed(batch(evolve(ingress("blog", "blog.test"), class_name=None)))
            self.clock.pump([0.0, REPORT_SECONDS, 0.0])
        lines = [str(event["log_format"]).format(**event) for event in events]
        first, last = [
            line for line in lines if line.startswith("Published 0 routes of 0 hosts, with 0 problems: ")
        ]
        self.assertIn('left alone are 1 Ingress of class "traefik"; ', first)
        self.assertIn('1 Ingress of class "traefik", 1 Ingress without class; ', last)
        self.assertIn("--watch-without-class", last)

    def test_published(self) -> None:
        """What is published is logged with its counts."""
        self.start_shop()
        self.clock.advance(REPORT_SECONDS)
        lines = self.logged(LogLevel.info, batch(ingress("other", "other.test")))
        self.assertEqual(
            lines,
            ["Published 2 routes of 2 hosts, with 0 problems. Ingress web/other came; routes: 1 came"],
        )

    def test_published_in_many_ways(self) -> None:
        """It is said which objects came, went or changed, and what that did to routes."""
        self.start_shop()
        lines = self.logged(
            LogLevel.info,
            {**batch(*(ingress(f"i{n}", f"i{n}.test") for n in range(5)), service("blog"))},
            {
                **batch(ingress("shop", "other.test"), ingress("i0", "i0.test", "blog")),
                **gone(Kind.INGRESS, "i1"),
            },
            gone(Kind.SERVICE, "blog"),
        )
        self.assertEqual(
            [line.partition("problems. ")[2] for line in lines[:2]],
            [
                "Ingress web/i0, web/i1, web/i2 and 2 more came, Service web/blog came; routes: 5 came",
                "Ingress web/i1 went, Ingress web/i0, web/shop changed; routes: 1 came, 2 went, 1 changed",
            ],
        )
        self.assertEqual(
            lines[2],
            "Published 5 routes of 5 hosts, with 1 problems. Service web/blog went; no route is different",
        )

    def test_left_alone(self) -> None:
        """Ingresses of another class, or of none, are counted there, lest nobody know why they are not served."""
        self.start_shop()
        self.clock.advance(REPORT_SECONDS)
        others = [
            evolve(ingress(name, f"{name}.test"), class_name=of) for name, of in (("a", "other"), ("b", None))
        ]
        lines = self.logged(LogLevel.info, batch(ingress("mine", "mine.test"), *others))
        self.assertEqual(len(lines), 1)
        self.assertIn("; left alone, since of another class or of none: 2 Ingresses. ", lines[0])

    def test_published_often(self) -> None:
        """A cluster that changes many times a second has one line a second, and the last one is true."""
        self.start_shop()
        self.clock.advance(REPORT_SECONDS)
        with capturedLogs() as events:
            for number in range(24):
                self.clock.advance(REPORT_SECONDS / 8)
                self.controller.changed(batch(ingress("other", f"h{number}.test")))
                self.clock.advance(0)
            self.controller.changed(gone(Kind.INGRESS, "shop"))
            self.clock.pump([0.0, REPORT_SECONDS])
        self.assertEqual(len(self.published), 25)
        lines = [event for event in events if event["log_level"] is LogLevel.info]
        self.assertLessEqual(len(lines), 5)
        last = str(lines[-1]["log_format"]).format(**lines[-1])
        self.assertTrue(
            last.startswith("Published 1 routes of 1 hosts, with 0 problems. Ingress web/shop went"), last
        )
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_last_line_at_the_end(self) -> None:
        """What was published and not told yet is told at the end."""
        self.start_shop()
        with capturedLogs() as events:
            self.controller.changed(batch(ingress("other", "other.test")))
            self.clock.advance(0)
            self.assertEqual(events, [])
            self.controller.stop()
        self.assertEqual([event["routes"] for event in events], [2])

    def test_usual_order(self) -> None:
        """While thousands of good Ingresses are applied, each before its Service, no problem is told."""
        self.start_shop()
        with capturedLogs() as events:
            for number in range(2000):
                for one in (
                    ingress(f"i{number}", f"h{number}.test", f"s{number}"),
                    service(f"s{number}"),
                    endpoint_slice(f"s{number}-1", f"s{number}", "10.0.0.1"),
                ):
                    self.controller.changed(batch(one))
                    self.clock.pump([0.002] * 3)
            self.clock.pump([SETTLE_SECONDS] * 3)
        lines = [str(event["log_format"]).format(**event) for event in events]
        self.assertEqual([line for line in lines if not line.startswith("Published")], [])
        self.assertLess(len(lines), 45)
        self.assertTrue(
            lines[-1].startswith("Published 2001 routes of 2001 hosts, with 0 problems. "), lines[-1]
        )

    def test_endpoints_are_quiet(self) -> None:
        """Endpoints come and go without a line that an operator sees."""
        self.start_shop()
        self.assertEqual(self.logged(LogLevel.info, batch(endpoint_slice("shop-1", "shop", "10.0.0.2"))), [])
        self.assertEqual(len(self.published), 1)

    def test_metrics(self) -> None:
        """The metrics show what the current snapshot holds."""
        self.start(ingress("shop", "shop.test"), ingress("other", "other.test", "absent"), service("shop"))
        shown = self.metrics.render().decode()
        self.assertIn("\ningress_routes 2.0\n", shown)
        self.assertIn('\ningress_problems{reason="ServiceNotFound"} 1.0\n', shown)
        self.assertIn("\ningress_snapshot_seconds_count 1.0\n", shown)
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.advance(0)
        self.assertIn("\ningress_snapshot_seconds_count 2.0\n", self.metrics.render().decode())

    def test_series_of_ingresses(self) -> None:
        """An Ingress has series of its own from its first snapshot to its last."""
        self.start_shop()
        self.metrics.exchange_ended(record_of(key("shop")))
        self.assertIn(b'ingress="shop"', self.metrics.render())
        self.controller.changed(gone(Kind.INGRESS, "shop"))
        self.clock.advance(REPORT_SECONDS)
        self.assertNotIn(b'ingress="shop"', self.metrics.render())


class ManifestTests(ControllerTestCase):
    """Objects from manifests."""

    options = TranslateOptions(from_manifests=True)

    def lines(self, *values: ClusterObject) -> list[str]:
        """Sync with *values*; return the lines that name ``--endpoint``, problems aside."""
        with capturedLogs() as events:
            self.start(*values)
        lines = [str(event["log_format"]).format(**event) for event in events]
        return [line for line in lines if line.startswith("The manifests do not say")]

    def test_endpoint_option(self) -> None:
        """One line at start names the Services that nobody can reach, and the option with an example."""
        [line] = self.lines(ingress("a", "a.test", "shop"), ingress("b", "b.test", "blog"))
        self.assertIn("web/blog, web/shop.", line)
        self.assertIn("--endpoint web/blog=127.0.0.1:8080", line)
        self.assertIn("--endpoint '*=127.0.0.1:8080'", line)

    def test_many_services(self) -> None:
        """Only the first few Services are named, and the rest are counted."""
        [line] = self.lines(*(ingress(f"i{n}", f"h{n}.test", f"s{n}") for n in range(8)))
        self.assertIn(": web/s0, web/s1, web/s2, web/s3, web/s4 and 3 more.", line)

    def test_all_reachable(self) -> None:
        """There is no such line when every Service has endpoints."""
        self.assertEqual(
            self.lines(ingress("a", "a.test"), service("shop"), endpoint_slice("shop-1", "shop", "10.0.0.1")),
            [],
        )

    def test_once(self) -> None:
        """The line is for the start alone."""
        self.start(ingress("a", "a.test"))
        with capturedLogs() as events:
            self.controller.changed(batch(ingress("b", "b.test", "blog")))
            self.clock.advance(REPORT_SECONDS)
        self.assertEqual(len(self.published), 1)
        self.assertFalse(any("do not say where" in str(event["log_format"]) for event in events))


class ManualEndpointTests(ControllerTestCase):
    """Objects from manifests, with ``--endpoint``."""

    options = TranslateOptions(
        from_manifests=True, manual_endpoints=(ManualEndpoint(None, "", Endpoint("127.0.0.1", 9000)),)
    )

    def test_slice_comes_and_goes(self) -> None:
        """The option counts while the Service has no EndpointSlice."""
        self.start(ingress("a", "a.test"), service("shop"))
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.1")))
        self.clock.advance(0)
        self.assertEqual(self.addresses(), ["10.0.0.1"])
        self.controller.changed(gone(Kind.ENDPOINT_SLICE, "shop-1"))
        self.clock.advance(0)
        self.assertEqual(self.published[-1].backends[SHOP], BackendState((Endpoint("127.0.0.1", 9000),)))


class UnusedEndpointTests(ControllerTestCase):
    """An ``--endpoint`` that gives nobody an endpoint."""

    options = TranslateOptions(
        from_manifests=True, manual_endpoints=(ManualEndpoint(key("typo"), "", Endpoint("127.0.0.1", 9000)),)
    )

    def test_told_once(self) -> None:
        """It is told once, when there are backends that it could have been for."""
        with capturedLogs() as events:
            self.start()
            self.controller.changed(batch(ingress("a", "a.test"), service("shop")))
            self.clock.pump([0.0, 1.0])
            self.controller.changed(batch(ingress("b", "b.test")))
            self.clock.pump([0.0, 1.0])
        told = [event for event in events if "--endpoint web/typo" in str(event.get("unused", ""))]
        self.assertEqual([event["log_level"] for event in told], [LogLevel.warn])


class Recorder:
    """A follower that remembers what it was told."""

    def __init__(self) -> None:
        self.changes: list[Changes] = []
        self.came: list[Problem] = []
        self.went: list[Problem] = []
        self.translated_objects: list[ObjectId] = []

    def objects_changed(self, changes: Changes) -> None:
        self.changes.append(changes)

    def problems_changed(self, came: Sequence[Problem], went: Sequence[Problem]) -> None:
        self.came += came
        self.went += went

    def translated(self, objects: Collection[ObjectId], changed_since: Container[ObjectId]) -> None:
        self.translated_objects += [one for one in objects if one not in changed_since]


class FollowerTests(ControllerTestCase):
    """Whoever wants to know what changes."""

    def setUp(self) -> None:
        super().setUp()
        self.follower = Recorder()
        self.controller = Controller(
            self.store,
            self.options,
            self.published.append,
            self.clock,
            self.metrics,
            lambda: NOW,
            self.follower,
        )

    def test_objects(self) -> None:
        """It learns what is different, from the first sync on."""
        self.start()
        self.assertEqual(self.follower.changes, [])
        self.controller.changed(batch(service("shop")))
        shop: ObjectId = (Kind.SERVICE, key("shop"))
        self.assertEqual(self.follower.changes, [Changes((shop,), came=frozenset({shop}))])

    def test_standing(self) -> None:
        """It learns of a change of the metadata alone, and that costs no round."""
        self.start_shop()
        value = self.store.state().of(Kind.INGRESS)[key("shop")]
        object_id = (Kind.INGRESS, key("shop"))
        self.controller.changed({object_id: Projection(value, (), ObjectMeta("u"))})
        self.assertEqual(self.follower.changes[-1].metas, (object_id,))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_problems(self) -> None:
        """It learns which problems came, those of the first snapshot among them, and which went."""
        self.start(ingress("shop", "shop.test"))
        self.assertEqual([problem.reason for problem in self.follower.came], [Reason.SERVICE_NOT_FOUND])
        self.controller.changed(batch(service("shop")))
        self.clock.advance(0)
        self.assertEqual(self.follower.went, self.follower.came)

    def test_translated(self) -> None:
        """It learns which objects a round was about, but for those that changed while it went on, or that a bug spoiled."""
        self.start()
        shop, blog = (Kind.INGRESS, key("shop")), (Kind.INGRESS, key("blog"))
        self.controller.changed(batch(ingress("shop", "shop.test")))
        self.assertEqual(self.follower.translated_objects, [])
        self.clock.advance(0)
        self.assertEqual(self.follower.translated_objects, [shop])
        self.controller.changed(batch(ingress("blog", "blog.test")))
        self.store.is_broken = True
        self.clock.advance(1)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.store.is_broken = False
        self.assertEqual(self.follower.translated_objects, [shop])
        self.controller.changed(batch(service("shop")))
        self.clock.advance(1)
        self.assertEqual(self.follower.translated_objects[1:], [blog, (Kind.SERVICE, key("shop"))])


class ConfigureTests(ControllerTestCase):
    """Options that change while the controller runs."""

    problem = Problem("ConfigMap", "ingress", "options", Reason.INVALID_OPTION, "no option", "data.x")

    def test_serving(self) -> None:
        """What only the proxy goes by is published with the next snapshot, and nothing is translated for it."""
        before = self.start_shop()
        serving = ServingSettings(slow_start_seconds=5.0)
        self.controller.configure(self.options, serving, (self.problem,))
        self.assertEqual(self.published, [])
        self.clock.advance(1)
        [after] = self.published
        self.assertEqual((before.serving, after.serving), (ServingSettings(), serving))
        self.assertIs(after.table, before.table)
        self.assertIs(after.backends, before.backends)
        self.assertEqual(after.problems, (self.problem,))
        self.assertEqual(self.controller.verify(), ())

    def test_the_same(self) -> None:
        """To say what holds already publishes nothing."""
        self.start_shop()
        self.controller.configure(self.options, ServingSettings(), ())
        self.clock.advance(1)
        self.assertEqual(self.published, [])

    def test_translation(self) -> None:
        """Where translation goes by other options, all is as if it had begun with them."""
        self.start_shop()
        options = evolve(self.options, force_ssl_redirect=True)
        self.controller.configure(options, ServingSettings(), (self.problem,))
        self.clock.pump([0.01] * 50)
        self.assertEqual(self.controller.verify(), ())
        expected = translate(self.store.state(), options, NOW)
        self.assertEqual(self.published[-1].table.routes, expected.table.routes)
        self.assertEqual(self.published[-1].problems, (self.problem,))
        self.assertEqual(self.addresses(), ["10.0.0.1"])
        self.controller.configure(self.options, ServingSettings(), ())
        self.clock.pump([0.01] * 50)
        self.assertEqual((self.controller.verify(), self.published[-1].problems), ((), ()))

    def test_amid_changes(self) -> None:
        """What changes while all is translated anew is lost neither before the new snapshot nor in it."""
        self.start_shop()
        self.controller.changed(batch(ingress("other", "other.test")))
        self.controller.configure(evolve(self.options, force_ssl_redirect=True), ServingSettings(), ())
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.controller.changed(batch(ingress("third", "third.test")))
        self.clock.pump([0.01] * 50)
        self.assertEqual(self.hosts(), ["other.test", "shop.test", "third.test"])
        self.assertEqual(self.addresses(), ["10.0.0.2"])
        self.assertEqual(self.controller.verify(), ())

    def test_before_the_first(self) -> None:
        """What is configured before the first snapshot is in it, and brings none forth by itself."""
        serving = ServingSettings(slow_start_seconds=5.0)
        self.controller.configure(self.options, serving, (self.problem,))
        self.clock.advance(1)
        self.assertEqual(self.published, [])
        self.controller.synced()
        [snapshot] = self.published
        self.assertEqual((snapshot.serving, snapshot.problems), (serving, (self.problem,)))

    def test_after_a_bug(self) -> None:
        """A bug makes nobody forget what was configured."""
        self.start_shop()
        serving = ServingSettings(slow_start_seconds=5.0)
        self.controller.configure(self.options, serving, (self.problem,))
        self.store.is_broken = True
        self.clock.advance(1)
        self.assertTrue(self.flushLoggedErrors(RuntimeError))
        self.store.is_broken = False
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.pump([0.01] * 50)
        self.assertEqual(
            (self.published[-1].serving, self.published[-1].problems), (serving, (self.problem,))
        )
