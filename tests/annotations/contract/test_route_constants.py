"""Tests for ``ingress.annotations.contract.route_constants``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.route_constants import OF_PATH, route_constants
from ingress.annotations.contract.route_facts import NO_FACTS, RouteFacts
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.requests.templates import CONSTANTS
from ingress.model.upstream.backends import BackendReference


class RouteConstantsTests(SynchronousTestCase):
    """What a route decides of templates."""

    def test_values(self) -> None:
        """Each constant says what it is called after, and none is left out."""
        backend = BackendReference("a", "web", 80)
        facts = RouteFacts(
            HostFacts("shop.test"), Owner(Kind.INGRESS, ObjectKey("a", "shop")), "/cart", backend
        )
        constants = route_constants(facts)
        self.assertEqual(
            constants,
            {
                "ingress_name": "shop",
                "location_path": "/cart",
                "namespace": "a",
                "proxy_host": "a-web-80",
                "proxy_upstream_name": "a-web-80",
                "server_name": "shop.test",
                "service_name": "web",
                "service_port": "80",
            },
        )
        self.assertEqual(set(constants), CONSTANTS)
        self.assertLess(OF_PATH, CONSTANTS)

    def test_nothing_known(self) -> None:
        """What a route lacks is empty, but for the name of a server, which is that of nginx for all hosts."""
        constants = route_constants(NO_FACTS)
        self.assertEqual(constants["server_name"], "_")
        self.assertEqual({constants[name] for name in CONSTANTS - {"server_name", "location_path"}}, {""})
