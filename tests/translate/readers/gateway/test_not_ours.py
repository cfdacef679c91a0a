"""What is said of objects of the Gateway API that are not ours."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ClusterObject, ObjectKey
from ingress.translate.gateway_options import GatewayOptions
from ingress.translate.readers.gateway.not_ours import why_not_served_here
from ingress.translate.readers.gateway.objects.gateways import GatewayClass
from ingress.translate.readers.gateway.objects.names import UNREADABLE, ObjectReference
from ingress.translate.readers.gateway.objects.policies import BackendTLSPolicy
from ingress.translate.readers.gateway.objects.routes import (
    GRPCRoute,
    HTTPRoute,
    ParentReference,
    TCPRoute,
    TLSRoute,
    UDPRoute,
)
from tests.translate.readers.gateway.gateway_values import gateway, listener_set, parent, state_of

OTHER = GatewayClass(ObjectKey("", "other"), controller="example.com/other")
US = 'this controller is "txingress.dev/gateway" (--gateway-controller-name)'


class NotOursTests(SynchronousTestCase):
    def why(self, value: ClusterObject, *others: ClusterObject) -> str:
        return why_not_served_here(value, state_of(OTHER, *others), GatewayOptions())

    def route(self, *parents: ParentReference) -> HTTPRoute:
        return HTTPRoute(ObjectKey("infra", "route"), parents=parents)

    def test_a_class(self) -> None:
        """Both controllers are named."""
        self.assertEqual(self.why(OTHER), f'its controller is "example.com/other", and {US}')

    def test_a_gateway(self) -> None:
        """Its class is not known, or is another controller's."""
        self.assertEqual(
            self.why(gateway("main", class_name="oours")),
            'its class is "oours", and no GatewayClass of that name is known',
        )
        self.assertEqual(
            self.why(gateway("main", class_name="other")),
            f'its class "other" has the controller "example.com/other", and {US}',
        )

    def test_a_gateway_without_class(self) -> None:
        """No class is called by the empty text."""
        self.assertEqual(self.why(gateway("main", class_name="")), "its class is not named")

    def test_a_listener_set(self) -> None:
        """By its Gateway."""
        self.assertEqual(
            self.why(listener_set("more", "mian")),
            "it belongs to Gateway infra/mian, which is not known",
        )
        for kind, group in (("Service", ""), ("ListenerSet", "gateway.networking.k8s.io")):
            other = evolve(listener_set("more", "mian"), parent=ObjectReference(group, kind, "", "web"))
            self.assertEqual(self.why(other), f"it belongs to {kind} infra/web, which is no Gateway")
        without = evolve(listener_set("more", "mian"), parent=None)
        self.assertEqual(self.why(without), "it names no Gateway that it belongs to")

    def test_a_route(self) -> None:
        """By its parents, of whatever kind they are, each once and a few of them."""
        self.assertEqual(
            self.why(self.route(parent("mian"), parent("mian", "http"))),
            "it attaches to Gateway infra/mian, which is not known",
        )
        self.assertEqual(
            self.why(self.route(parent("main")), gateway("main", class_name="other")),
            'it attaches to Gateway infra/main, whose class "other" has the controller "example.com/other", '
            f"and {US}",
        )
        self.assertEqual(
            self.why(self.route(parent("more", kind="ListenerSet")), listener_set("more", "mian")),
            "it attaches to ListenerSet infra/more, which is not served here",
        )
        mesh = ParentReference(ObjectReference("", "Service", "", "web"))
        self.assertEqual(
            self.why(self.route(mesh)),
            "it attaches to Service infra/web, which is neither a Gateway nor a ListenerSet",
        )
        self.assertEqual(
            self.why(self.route(ParentReference(UNREADABLE))), "it attaches to what cannot be read"
        )
        self.assertEqual(
            self.why(self.route(parent("mian"), mesh)),
            "it attaches to Gateway infra/mian, which is not known; "
            "to Service infra/web, which is neither a Gateway nor a ListenerSet",
        )
        self.assertTrue(self.why(self.route(*map(parent, "abcde"))).endswith("known; to 2 more"))

    def test_each_kind_of_route(self) -> None:
        """They are told alike."""
        for kind in (HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute):
            self.assertEqual(
                self.why(kind(ObjectKey("infra", "route"))),
                "it has no parentRefs, so it attaches to nothing",
            )

    def test_a_policy(self) -> None:
        """It is anybody's where no GatewayClass is ours."""
        policy = BackendTLSPolicy(ObjectKey("infra", "policy"))
        self.assertEqual(
            self.why(policy), f"it counts where a GatewayClass is this controller's, and none is; {US}"
        )

    def test_nothing_of_the_gateway_api_is_served(self) -> None:
        """Then the option says why."""
        self.assertEqual(
            why_not_served_here(gateway("main"), state_of(), GatewayOptions(is_served=False)),
            "it is of the Gateway API, and --no-gateway-api has nothing of that served",
        )
