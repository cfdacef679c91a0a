"""The sites of listeners that serve tables of Gateways, by themselves or beside the command line's."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import ClassVar, cast

from attrs import evolve, frozen
from twisted.internet.interfaces import IReactorTime
from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import StartError
from ingress.filters import Filter, Phase, Services
from ingress.http2.frames import PREFACE
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.network.listeners import MAIN, Listener
from ingress.model.upstream.backends import BackendReference
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.site import ProxySite, SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from ingress.proxy.exchange.filtering.chains import Chains
from ingress.proxy.exchange.filtering.services import States
from ingress.proxy.listening.connection_factories import ChannelFactory
from ingress.proxy.listening.served_table import ServedSite
from ingress.proxy.listening.served_tables import ServedTables
from ingress.proxy.upstream.rotation import Rotations
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.translate.readers.gateway.topology.ports import SHARED_ADDRESS, table_name
from ingress.translate.snapshot import ListenerTable, Snapshot
from tests.fakes.clocks.step_clocks import StepClock
from tests.fakes.counting import calls
from tests.fakes.http2.frames import SETTINGS, frame
from tests.proxy.playing import GET, ProxyCase

GATEWAYS = table_name(SHARED_ADDRESS, 80)
WITH_GATEWAYS = Snapshot(others={GATEWAYS: ListenerTable()})
WITHOUT = Snapshot()
OF_COMMAND_LINE = Listener("tcp:80", False, MAIN, is_required=True)
OF_GATEWAYS = Listener("tcp:80", False, GATEWAYS)


class ClearHttp2Tests(ProxyCase):
    """HTTP/2 in the clear, by prior knowledge: GRPCRoute asks for it at listeners of Gateways."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.site.sessions = SessionRules(DownstreamSession)
        self.tables = ServedTables(self.stage.resource, lambda: self.stage.resource, self.reactor)

    def site(self, listener: Listener) -> ServedSite:
        """Return the site of *listener*."""
        return self.tables.new_site(listener, self.stage.site, None)

    def speaks_http2(self, served: ServedSite) -> bool:
        """Whether a client that begins with HTTP/2 is answered in it; one of HTTP/1.1 always is."""
        factory = ChannelFactory(served.site, False)
        plain = self.reactor.connect(factory.build())
        plain.say(GET)
        self.assertTrue(plain.received.startswith(b"HTTP/1.1 404"))
        other = self.reactor.connect(factory.build())
        other.say(PREFACE + frame(SETTINGS, b""))
        return not other.received.startswith(b"HTTP/1.1 ")

    def test_listeners_of_gateways(self) -> None:
        """A listener of Gateways speaks it, and one of the command line while Gateways are served beside it."""
        self.tables.publish(WITH_GATEWAYS)
        self.assertTrue(self.speaks_http2(self.site(OF_GATEWAYS)))
        shared = self.site(OF_COMMAND_LINE)
        self.assertTrue(self.speaks_http2(shared))
        self.tables.publish(WITHOUT)
        self.assertFalse(self.speaks_http2(shared))
        self.tables.publish(WITH_GATEWAYS)
        self.assertTrue(self.speaks_http2(shared))

    def test_gone_before_it_opens(self) -> None:
        """A listener whose table a later snapshot has no more is one that cannot be opened, as one whose address is taken: others are."""
        self.tables.publish(WITH_GATEWAYS)
        self.tables.publish(WITHOUT)
        error = self.assertRaises(StartError, self.site, OF_GATEWAYS)
        self.assertIn("tcp:80", str(error))

    def test_others(self) -> None:
        """Nobody else does, unless the operator wants it."""
        self.tables.publish(WITHOUT)
        self.assertFalse(self.speaks_http2(self.site(OF_COMMAND_LINE)))

    def test_off(self) -> None:
        """Where the operator has turned HTTP/2 off, there is none."""
        assert self.stage.site.sessions is not None
        self.stage.site.sessions = evolve(self.stage.site.sessions, over_tls=False)
        self.tables.publish(WITH_GATEWAYS)
        self.assertFalse(self.speaks_http2(self.site(OF_GATEWAYS)))
        self.assertFalse(self.speaks_http2(self.site(OF_COMMAND_LINE)))


@frozen
class Held:
    """The spec of a filter that does nothing."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "held"
    number: int = 0

    def describe(self) -> str:
        """Say nothing."""
        return ""

    def make(self, services: Services) -> Filter:
        """Make a filter that does nothing."""
        return Filter()


class Site:
    """What a listener has of a site."""

    sessions = None
    server_names: object = None

    def part(self, resource: object) -> Site:
        """Return that of one listener."""
        return Site()


class ManyTablesTests(SynchronousTestCase):
    """Hundreds of tables, as many ports of Gateways have them."""

    COUNT = 300

    def setUp(self) -> None:
        self.clock = StepClock()
        clock = cast(IReactorTime, self.clock)
        self.chains = Chains(clock, lambda name: cast(Services, None))
        rotations = Rotations(clock, Deadlines(clock), Metrics(), Random())
        self.new = partial(IngressProxyResource, clock, rotations, self.chains, States(None, {}), Random())
        self.tables = ServedTables(self.new(), self.new, clock)

    def snapshot(self, count: int) -> Snapshot:
        """Return one of so many tables, each with a host whose route has a filter of its own."""
        owner, backend = Owner(Kind.INGRESS, ObjectKey("demo", "web")), BackendReference("demo", "web", 80)
        routes = (
            Route("shop.test", "/", Match.PREFIX, owner, backend, filters=(Held(number),))
            for number in range(count)
        )
        return Snapshot(
            others={
                f"gateway 10.0.0.1:{8000 + number}": ListenerTable(RouteTable((route,)))
                for number, route in enumerate(routes)
            }
        )

    def open(self, count: int) -> int:
        """Open a listener of each of so many tables; return how many calls one takes at most."""
        site = cast(ProxySite, Site())
        return max(
            calls(partial(self.tables.new_site, Listener(f"tcp:{8000 + number}", False, name), site, None))
            for number, name in enumerate(self.snapshot(count).others)
        )

    def test_come(self) -> None:
        """Tables that come at once are made with their listeners: to publish them takes as long as to publish one."""
        one, many = self.snapshot(1), self.snapshot(self.COUNT)
        few = calls(partial(self.tables.publish, one))
        self.assertLessEqual(calls(partial(self.tables.publish, many)), few)
        self.assertLess(self.open(self.COUNT), 200)
        served = {route.host for table in self.tables for route in table.resource.table.routes}
        self.assertEqual((len([*self.tables]), served), (self.COUNT + 1, {"shop.test"}))

    def test_changed_meanwhile(self) -> None:
        """A listener serves what its table has become when it is opened, and what becomes of that later."""
        self.tables.publish(self.snapshot(1))
        other = self.snapshot(1)
        changed = ListenerTable(RouteTable(()))
        self.tables.publish(evolve(other, others={"gateway 10.0.0.1:8000": changed}))
        self.open(1)
        (_, table) = self.tables
        self.assertIs(table.resource.table, changed.routes)
        self.tables.publish(other)
        self.assertIs(table.resource.table, other.others["gateway 10.0.0.1:8000"].routes)

    def test_gone(self) -> None:
        """All that go at once serve nothing any more, and their filters are forgotten in some steps more."""
        self.tables.publish(self.snapshot(self.COUNT))
        self.open(self.COUNT)
        self.clock.work()
        served = [one.resource for one in self.tables]
        for resource in served:
            for route in resource.table.routes:
                self.chains.chain(route.filters)
        self.assertEqual(len(self.chains._live), self.COUNT)
        longest = calls(partial(self.tables.publish, WITHOUT))
        self.assertEqual({one.table.hosts for one in served}, {0})
        self.assertEqual(len([*self.tables]), 1)
        longest = max(longest, self.clock.work())
        self.assertLess(longest, 15 * self.COUNT)
        self.assertEqual(self.chains._live, {})
