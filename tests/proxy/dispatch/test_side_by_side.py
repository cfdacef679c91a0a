"""Requests on a port that Ingresses and Gateways share."""

from __future__ import annotations

from random import Random

from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.side_by_side import MOST_HOSTS, SideBySideResource
from ingress.proxy.exchange.filtering.chains import Chains
from ingress.proxy.upstream.rotation import Rotations
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from tests.fakes.filter_parts import FakeServices
from tests.proxy.playing import OK, ONE, OWNER, TWO, ProxyCase

FIRST = BackendReference("demo", "first", 80)
SECOND = BackendReference("demo", "second", 80)
STATES = {FIRST: BackendState((ONE,)), SECOND: BackendState((TWO,))}


def table(backend: BackendReference, *hosts: str, covers_labels: bool = False) -> RouteTable:
    """Return a table with a route for each host."""
    routes = (Route(host, "/", Match.PREFIX, OWNER, backend) for host in hosts)
    return RouteTable(routes, covers_labels=covers_labels)


def second_resource(case: ProxyCase) -> IngressProxyResource:
    """Return a resource of another table than that of *case*."""
    stage = case.stage
    rotations = Rotations(case.reactor, stage.deadlines, case.metrics, Random(7))
    chains = Chains(case.reactor, lambda name: FakeServices())
    return IngressProxyResource(case.reactor, rotations, chains, stage.states, Random(7))


class SideBySideTests(ProxyCase):
    """Whose requests are, as tables change."""

    def setUp(self) -> None:
        super().setUp()
        self.first = self.stage.resource
        self.second = second_resource(self)
        self.first.publish(table(FIRST, "a.test"), STATES)
        self.second.publish(table(SECOND, "b.test", covers_labels=True), STATES)
        self.both = SideBySideResource(self.first, self.second)
        self.stage.site.resource = self.both

    def served_by(self, host: bytes) -> str:
        """Return the address of the endpoint that is asked for *host*; empty for none."""
        down = self.stage.open()
        before = len(self.connector.asked)
        down.say(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host)
        if down.received:
            self.assert_status(down.take(), 404)
            return ""
        (asked,) = self.connector.asked[before:]
        self.upstream().say(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        self.assert_status(down.take(), 200)
        return asked.address

    def test_tables_change(self) -> None:
        """A host that was looked up is looked up anew once either table is another one."""
        hosts = (b"a.test", b"b.test", b"c.test")
        for _ in range(2):
            self.assertEqual([self.served_by(host) for host in hosts], [ONE.address, TWO.address, ""])
        self.first.publish(table(FIRST, "a.test", "b.test"), STATES)
        self.both.follow()
        self.assertEqual([self.served_by(host) for host in hosts], [ONE.address, ONE.address, ""])
        self.second.publish(table(SECOND, "c.test", covers_labels=True), STATES)
        self.both.follow()
        self.assertEqual([self.served_by(host) for host in hosts], [ONE.address, ONE.address, TWO.address])

    def test_bounded(self) -> None:
        """Visitors who ask for any number of hosts take no more memory than a bound."""
        for number in range(2 * MOST_HOSTS + 10):
            self.both._of(b"h%d.test" % number)
        self.assertLessEqual(len(self.both._known), MOST_HOSTS)
