"""What is explained of requests that routes of the Gateway API take: which rule, why no other, and by which table."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.explain.asked_request import read_asked
from ingress.explain.explaining import explain
from ingress.explain.explanation import End, Explanation
from ingress.explain.objects import KnownObjects
from ingress.explain.served import Served
from tests.fakes.objects import ingress_object
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    NOW,
    GatewayCluster,
    gateway,
    listener,
    match,
    route,
    rule,
    service,
)
from tests.translate.readers.gateway.test_backend_tls import config_map, secret


class GatewayExplainingTests(SynchronousTestCase):
    """Requests for the hosts of a Gateway."""

    def setUp(self) -> None:
        self.cluster = GatewayCluster()
        self.cluster.write("base", GATEWAY_CLASS, gateway(), service("v1"), service("v2"))

    def explain(self, url: str, *headers: str) -> Explanation:
        """Explain a request."""
        snapshot = self.cluster.follow()
        objects = KnownObjects(self.cluster.store.state(), self.cluster.options)
        return explain(read_asked(url, "GET", headers, "192.0.2.1"), Served(snapshot, NOW, (), objects))

    def test_a_route_of_nobody(self) -> None:
        """A route whose Gateway is not there says which one that is, where nothing takes the request."""
        self.cluster.write(
            "routes", route("web", rule("v1"), hostnames=["a.test"], parents=[{"name": "mian"}])
        )
        self.cluster.write("base", GATEWAY_CLASS, service("v1"))
        (unserved,) = self.explain("http://a.test/").unserved
        self.assertEqual(unserved.object, "HTTPRoute infra/web")
        self.assertEqual(unserved.why, "it attaches to Gateway infra/mian, which is not known")

    def test_rule(self) -> None:
        """The rule that takes it, those before it with what they ask for in vain, and those behind it."""
        self.cluster.write(
            "routes",
            route(
                "web",
                rule("v1"),
                rule("v2", match("/a", headers={"version": "two"})),
                rule("v1", match("/a")),
            ),
        )
        found = self.explain("http://a.test/a")
        assert found.route is not None
        self.assertEqual((found.route.kind, found.route.field), ("HTTPRoute", "spec.rules[2].matches[0]"))
        self.assertEqual(
            [(lost.why, lost.route.field) for lost in found.lost],
            [
                ("condition-not-met", "spec.rules[1].matches[0]"),
                ("comes-later", "spec.rules[0].matches[0]"),
            ],
        )
        self.assertIn("header version is two", found.lost[0].sentence)
        found = self.explain("http://a.test/a", "version: two")
        assert found.route is not None
        self.assertEqual(found.route.field, "spec.rules[1].matches[0]")
        self.assertEqual([one.name for one in found.backends], ["v2"])

    def test_broken_backend(self) -> None:
        """A backend that leads nowhere is answered 500, as the proxy does."""
        self.cluster.write("routes", route("web", rule("nobody")))
        self.assertEqual(self.explain("http://a.test/").outcome.status, 500)

    def test_nothing_met(self) -> None:
        """Where nothing takes it, it is said what each would have taken."""
        self.cluster.write("routes", route("web", rule("v2", match(headers={"version": "two"}))))
        found = self.explain("http://a.test/")
        self.assertIsNone(found.route)
        self.assertEqual([lost.why for lost in found.lost], ["condition-not-met"])
        self.assertEqual(found.outcome.status, 404)

    def test_of_others(self) -> None:
        """Objects of another controller, and routes attached to nothing, keep nobody from an explanation."""
        theirs = gateway("theirs")
        theirs["spec"]["gatewayClassName"] = "other"
        parents = [{"name": "theirs", "namespace": "infra"}]
        kinds = ("HTTPRoute", "GRPCRoute", "TLSRoute")
        routes = [route("web", hostnames=["B.test"], parents=parents, kind=kind) for kind in kinds]
        other_class = GATEWAY_CLASS.replace("ours", "other").replace("txingress.dev/gateway", "example.com/x")
        self.cluster.write("base", GATEWAY_CLASS, other_class, theirs, *routes)
        found = self.explain("http://b.test/")
        self.assertEqual(found.outcome.status, 404)
        self.assertEqual(
            {(one.object, one.field) for one in found.unserved},
            {(f"{kind} infra/web", "spec.hostnames") for kind in kinds},
        )

    def test_by_port_and_host(self) -> None:
        """The port of the URL decides, and beside an Ingress the more specific host."""
        self.cluster.write("gateway", gateway("other", listener("one", port=8080)))
        parents = [{"name": "other", "namespace": "infra"}]
        self.cluster.write("routes", route("web", rule("v1")), route("alt", rule("v2"), parents=parents))
        self.cluster.write("ingress", ingress_object("site", "a.test"))
        for url, kind, name in (
            ("http://b.test/", "HTTPRoute", "web"),
            ("http://b.test:8080/", "HTTPRoute", "alt"),
            ("http://a.test/", "Ingress", "site"),
        ):
            found = self.explain(url)
            assert found.route is not None, url
            self.assertEqual((found.route.kind, found.route.name), (kind, name), url)

    def test_handshakes(self) -> None:
        """Without certificate of its listener, or of the client where that insists, there is no request to explain."""
        tls = {"certificateRefs": [{"name": "mine"}]}
        main = gateway("main", listener("https", "*.test", 443, protocol="HTTPS", tls=tls))
        self.cluster.write("base", GATEWAY_CLASS, main, service("v1"), route("web", rule("v1")))
        found = self.explain("https://a.b.test/")
        self.assertIs(found.outcome.end, End.CLOSED)
        self.assertIn("no listener of a Gateway has this server name", found.outcome.sentence)
        self.cluster.write("secret", secret())
        self.assertIs(self.explain("https://a.b.test/").outcome.end, End.SENT)
        references = [{"group": "", "kind": "ConfigMap", "name": "ca"}]
        main["spec"]["tls"] = {"frontend": {"default": {"validation": {"caCertificateRefs": references}}}}
        self.cluster.write("base", GATEWAY_CLASS, main, service("v1"), route("web", rule("v1")), config_map())
        found = self.explain("https://a.b.test/")
        self.assertIs(found.outcome.end, End.CLOSED)
        self.assertIn("shows no certificate of the authorities in ConfigMap infra/ca", found.outcome.sentence)
