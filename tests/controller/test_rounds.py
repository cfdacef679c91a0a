"""From changed objects to a published snapshot: the first one, rounds, and moments at which time alone changes something."""

from datetime import timedelta

from attrs import evolve

from ingress.annotations.hosts.transport_security import TransportSecurity
from ingress.cluster.source import Sink
from ingress.controller import (
    CALENDAR_SECONDS,
    HOLD_SECONDS,
    Controller,
)
from ingress.history.publication_log import REPORT_SECONDS
from ingress.model.cluster.objects import (
    Kind,
    Projection,
    Secret,
)
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressTLS,
)
from tests.controller.controller_case import (
    NOW,
    ControllerTestCase,
    batch,
    endpoint_slice,
    gone,
    ingress,
    key,
    service,
)
from tests.translate.golden import issued


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

    def test_amid_a_change(self) -> None:
        """No round begins while more of a change is to come, however long; what is published holds all of it, and endpoints go on."""
        amid = [False]
        self.controller.stop()
        self.controller = Controller(
            self.store,
            self.options,
            self.published.append,
            self.clock,
            self.metrics,
            lambda: NOW,
            amid_change=lambda: amid[0],
        )
        self.addCleanup(self.controller.stop)
        self.start_shop()
        amid[0] = True
        self.controller.changed(batch(ingress("a", "a.test")))
        self.clock.pump([0.01] * 10)
        self.assertEqual(self.published, [])
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.advance(0)
        self.assertEqual((self.addresses(), self.hosts()), (["10.0.0.2"], ["shop.test"]))
        self.controller.changed(batch(ingress("b", "b.test")))
        amid[0] = False
        self.published.clear()
        self.clock.advance(HOLD_SECONDS)
        self.assertEqual(len(self.published), 1)
        self.assertEqual(self.hosts(), ["a.test", "b.test", "shop.test"])
        amid[0] = True
        self.controller.changed(batch(ingress("c", "c.test")))
        self.clock.pump([0.1] * 600)
        self.assertEqual(len(self.published), 1)
        amid[0] = False
        self.clock.advance(HOLD_SECONDS)
        self.assertIn("c.test", self.hosts())

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
        found = [
            any(isinstance(spec, TransportSecurity) for spec in snapshot.table.routes[0].filters)
            for snapshot in self.published
        ]
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
