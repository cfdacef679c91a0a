"""Tests for ``ingress.translate.gateway.gateways_of_services`` and what ``AttachedCounts`` tells of it."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import DEFAULTS
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Owner
from ingress.model.cluster.state import ClusterState
from ingress.model.upstream.backends import BackendReference
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.attached_routes import AttachedCounts
from ingress.translate.gateway.claims import GatewayClaims, RuleClaim
from ingress.translate.readers.gateway.objects.names import GATEWAY, GROUP, HTTP_ROUTE, ObjectReference
from ingress.translate.readers.gateway.objects.routes import ParentReference
from ingress.translate.readers.gateway.topology.attachments import Attachment, ListenerHosts, ListenerState
from tests.fakes.counting import longest_step

WEB, SHOP = ObjectKey("infra", "web"), ObjectKey("infra", "shop")


def gateway(name: str) -> Owner:
    return Owner(GATEWAY, ObjectKey("infra", name))


def route(name: str, gateways: str, *services: ObjectKey, attached: bool = True) -> ParsedObject:
    """A route that is attached to *gateways*, a letter each, and leads to *services*."""
    owner = Owner(HTTP_ROUTE, ObjectKey("infra", name))
    attachments = []
    for one in gateways:
        listener = ListenerState(gateway(one), gateway(one), "http", 80, "HTTP", "", (HTTP_ROUTE,), "", "")
        taken = (ListenerHosts(listener, ("",)),) if attached else ()
        parent = ParentReference(ObjectReference(GROUP, GATEWAY, "", one))
        attachments.append(Attachment(parent, "spec.parentRefs[0]", gateway(one), taken))
    named = tuple(
        (f"spec.rules[0].backendRefs[{at}]", BackendReference(service.namespace, service.name, 80))
        for at, service in enumerate(services)
    )
    rules = (RuleClaim("spec.rules[0]", named[0][1], named=named),) if named else ()
    claims = GatewayClaims(tuple(attachments), rules)
    return ParsedObject(owner, None, (), (), None, DEFAULTS, (), gateway=claims)


class GatewaysOfServicesTests(SynchronousTestCase):
    """Which Gateways a Service has, and what is told when they change."""

    def setUp(self) -> None:
        self.counts = AttachedCounts()

    def change(self, before: ParsedObject | None, after: ParsedObject | None) -> set[ObjectId]:
        """Replace a route; return what is news of objects besides that route."""
        for _ in self.counts.object_changed(before, after, ClusterState()):
            pass
        return {one for one in self.counts.news() if one[0] != HTTP_ROUTE}

    def names(self, service: ObjectKey = WEB) -> list[str]:
        return [one.key.name for one in self.counts.gateways_of(service)]

    def test_counted(self) -> None:
        """A Service has the Gateways of all routes to it, as long as one is left."""
        first, second = route("a", "xy", WEB), route("b", "y", WEB, SHOP)
        self.change(None, first)
        self.change(None, second)
        self.assertEqual((self.names(), self.names(SHOP)), (["x", "y"], ["y"]))
        self.change(first, None)
        self.assertEqual(self.names(), ["y"])
        self.change(second, None)
        self.assertEqual((self.names(), self.names(SHOP)), ([], []))

    def test_news(self) -> None:
        """A Service is news when a Gateway comes or goes, and not for another route of the same one; a Gateway with its routes."""
        first = route("a", "x", WEB)
        service, web = (Kind.SERVICE, WEB), (GATEWAY, ObjectKey("infra", "x"))
        self.assertEqual(self.change(None, first), {service, web})
        self.assertEqual(self.change(None, route("b", "x", WEB)), {web})
        self.assertEqual(self.change(first, None), {web})
        to_shop, elsewhere = route("b", "x", SHOP), route("b", "y", SHOP)
        self.assertEqual(self.change(route("b", "x", WEB), to_shop), {service, (Kind.SERVICE, SHOP)})
        shop, other = (Kind.SERVICE, SHOP), (GATEWAY, ObjectKey("infra", "y"))
        self.assertEqual(self.change(to_shop, elsewhere), {shop, web, other})

    def test_steps(self) -> None:
        """Each Service more of a route adds little to the longest step, however many Gateways take the route."""

        def longest(count: int) -> int:
            services = [ObjectKey("infra", f"s{number}") for number in range(count)]
            some, fewer = route("a", "abcdefghij", *services), route("a", "abcdefghi", *services)
            return max(
                longest_step(self.counts.object_changed(before, after, ClusterState()))
                for before, after in ((None, some), (some, fewer), (fewer, None))
            )

        few, many = longest(200), longest(400)
        self.assertLess((many - few) / 200, 20)

    def test_many_gateways(self) -> None:
        """A route more to a Service that has hundreds of Gateways is counted without looking at these; they are counted as few are."""
        for number in range(300):
            self.change(None, self._of_another(number))
        more = self._of_another(300)
        self.assertLess(longest_step(self.counts.object_changed(None, more, ClusterState())), 100)
        again = route("again", "x", WEB)
        self.assertIn((Kind.SERVICE, WEB), self.change(None, again))
        self.assertEqual(len(self.names()), 302)
        self.assertIn((Kind.SERVICE, WEB), self.change(again, None))
        for number in range(300, 0, -1):
            self.assertIn((Kind.SERVICE, WEB), self.change(self._of_another(number), None))
        self.assertEqual(self.names(), ["000"])

    def _of_another(self, number: int) -> ParsedObject:
        """A route to a Service from a Gateway of its own."""
        parsed = route(f"r{number}", "x", WEB)
        (one,) = parsed.gateway.attachments
        gateways = evolve(parsed.gateway, attachments=(evolve(one, gateway=gateway(f"{number:03}")),))
        return evolve(parsed, gateway=gateways)

    def test_not_attached(self) -> None:
        """A route that is not attached leads nowhere."""
        self.assertEqual(self.change(None, route("a", "x", WEB, attached=False)), set())
        self.assertEqual(self.names(), [])
