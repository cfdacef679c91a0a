"""What may be meant by names that there are not."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.suggestions.close_names import CloseNames, is_slip
from ingress.ctl.suggestions.suggested_names import SuggestedNames
from ingress.model.cluster.objects import Kind, ObjectKey, Service
from ingress.model.cluster.state import ClusterState
from tests.ctl.commands.test_completion import CompletionCase
from tests.ctl.served.inputs import SERVICES, ingress, manifests
from tests.fakes.counting import calls
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    GatewayCluster,
    gateway,
    listener,
    route,
    rule,
    service,
)


class CloseNamesTests(SynchronousTestCase):
    """Names that are close."""

    def test_one_mistake(self) -> None:
        """A character too many, too few, wrong, in its neighbour's place, or in upper case, among few and among many."""
        for names in (["cart", "shop"], ["cart", *(f"n{number}x" for number in range(1000))]):
            for name in ("carrt", "crt", "cbrt", "crat", "Cart", "cart-", "acrt"):
                self.assertEqual(CloseNames(names).close_to(name)[:1], ("cart",), name)

    @given(st.text("ab.-", min_size=2, max_size=5), st.text("ab.-", min_size=1, max_size=5))
    def test_few_are_compared_as_many_are_looked_up(self, name: str, meant: str) -> None:
        """What is found among very many names is found where it is the only one."""
        others = [f"{number}-of-many-others" for number in range(200)]
        if meant in CloseNames([meant, *others]).close_to(name):
            self.assertEqual(CloseNames([meant]).close_to(name), (meant,))

    def test_a_word_more_or_less(self) -> None:
        """At either end."""
        names = ["cart-service", "shop-cart", "web", *(f"n{number}x" for number in range(1000))]
        self.assertEqual(set(CloseNames(names).close_to("cart")), {"cart-service", "shop-cart"})
        for name in ("web-svc", "my-web"):
            self.assertEqual(CloseNames(names).close_to(name), ("web",))

    def test_several_mistakes_among_few(self) -> None:
        """What is nearly the same is found, unless there is what is closer."""
        self.assertEqual(
            CloseNames(["shopping-basket", "shop"]).close_to("shoping-baskett"), ("shopping-basket",)
        )
        self.assertEqual(
            CloseNames(["desk.example.com", "shop.example.com"], ".").close_to("shop.exmaple.com"),
            ("shop.example.com",),
        )

    def test_nothing_is_close(self) -> None:
        """Nothing is made up, and a name is not close to itself."""
        for names in ([], ["cart"], [f"n{number}x" for number in range(1000)]):
            for name in ("", "a", "something-else", "cart", "caxy", "xart2", "ctra", "x" * 100_000):
                self.assertEqual(CloseNames(names).close_to(name), (), name[:20])

    def test_three_at_most(self) -> None:
        """And the same ones each time."""
        names = [f"cart-{number}" for number in range(500)]
        self.assertEqual(CloseNames(names).close_to("cart"), CloseNames(reversed(names)).close_to("cart"))
        self.assertEqual(len(CloseNames(names).close_to("cart")), 3)

    def test_the_work_is_bounded(self) -> None:
        """A search among ten thousand names takes what one among a thousand takes, and a few thousand steps."""
        counts = []
        for many in (1_000, 10_000):
            close = CloseNames(f"service-number-{number}" for number in range(many))
            close.close_to("first")
            counts.append(calls(partial(close.close_to, "service-nubmer-77")))
        self.assertEqual(counts[0], counts[1])
        self.assertLess(counts[1], 10_000)

    def test_few_names_take_little(self) -> None:
        """As where thousands of Ingresses have a class each, with a long name, and one class is ours."""
        close = CloseNames(["nginx", "internal"], "/")
        close.close_to("first")
        self.assertLess(calls(partial(close.close_to, "class-of-somebody-" * 4)), 500)


class SlipTests(SynchronousTestCase):
    """Names that can hardly be anything but another one, mistyped."""

    def test_one_letter(self) -> None:
        """Two changed round, one doubled, and one wrong, lacking or too many inside of a word."""
        for name in (
            "gninx",
            "ngnix",
            "ngixn",
            "nginxx",
            "nnginx",
            "ngiinx",
            "nggnx",
            "ngnx",
            "ngibnx",
            "Nginx",
        ):
            self.assertTrue(is_slip(name, "nginx"), name)
        for word in ("ingres", "ingresss", "ingerss", "ingtess"):
            self.assertTrue(is_slip(f"k8s.io/{word}-nginx", "k8s.io/ingress-nginx"), word)

    def test_what_may_be_meant(self) -> None:
        """Names that end or begin otherwise, count, or are short; two mistakes; another number of words."""
        for name, other in (
            ("nginx", "nginx"),
            ("", "nginx"),
            ("teama", "teamb"),
            ("atest", "btest"),
            ("nginxb", "nginx"),
            ("nginx", "nginxb"),
            ("enginx", "nginx"),
            ("nginx2", "nginx"),
            ("ng1nx", "nginx"),
            ("nginx-internal", "nginx"),
            ("nginx-uk", "nginx-us"),
            ("nginx-int", "nginx-ext"),
            ("nginx-test", "nginx-rest"),
            ("external", "internal"),
            ("k8s.io/ingress/nginx", "k8s.io/ingress-nginx"),
            ("k8s.io/ingres-ngnix", "k8s.io/ingress-nginx"),
            ("nginx-tset", "nginx-test"),
        ):
            self.assertFalse(is_slip(name, other), (name, other))


class MeantTests(SynchronousTestCase):
    """Objects, ports and hosts."""

    def advice(self, *texts: str) -> list[str]:
        """Return what is advised about the problems of manifests."""
        given = manifests(SERVICES, *texts)
        meant = SuggestedNames(given.state)
        return [found for one in given.snapshot.problems if (found := meant.advice(one))]

    def test_a_service(self) -> None:
        """A close one of the namespace, by a path or as default backend."""
        self.assertEqual(self.advice(ingress(service="wbe")), ["did you mean web?"])
        default = "defaultBackend: {service: {name: aip, port: {number: 8080}}}"
        self.assertEqual(self.advice(ingress(spec=default)), ["did you mean api?"])
        self.assertEqual(self.advice(ingress(default_backend="wbe")), ["did you mean web?"])

    def test_a_service_of_another_namespace(self) -> None:
        """An Ingress cannot lead there, which is what its owner has to know."""
        other = SERVICES.replace("namespace: shop", "namespace: other").replace("name: web", "name: ledger")
        self.assertEqual(
            self.advice(ingress(service="ledger"), other),
            ["there is a Service ledger in namespace other, and none in shop"],
        )

    def test_a_port(self) -> None:
        """By a close name, or by the only one there is."""
        self.assertEqual(self.advice(ingress(port="name: htttp")), ["did you mean http?"])
        self.assertEqual(self.advice(ingress(port="number: 9")), ["did you mean 80 (http), its only port?"])
        self.assertEqual(
            self.advice(ingress(port="name: '80'")),
            ["did you mean number: 80? A name in quotes is no number"],
        )

    def test_a_port_that_is_no_tcp_port(self) -> None:
        """It is not what is meant, whoever names it; another one may be."""
        dns = (
            "---\napiVersion: v1\nkind: Service\nmetadata: {name: dns, namespace: shop}\n"
            "spec: {ports: [{name: dns, port: 53, protocol: UDP}%s]}"
        )
        for port in ("number: 53", "name: dns", "name: dsn", "name: '53'"):
            self.assertEqual(self.advice(dns % "", ingress(service="dns", port=port)), [], port)
        self.assertEqual(
            self.advice(dns % ", {name: http, port: 80}", ingress(service="dns", port="number: 53")),
            ["did you mean 80 (http), its only TCP port?"],
        )

    def test_a_backend_of_a_route(self) -> None:
        """Of any kind of route, in whichever rule it stands, by the namespace of the Service."""
        tls = listener("tls", port=443, protocol="TLS", tls={"mode": "Passthrough"})
        listeners = (listener("http"), tls, listener("tcp", port=9000, protocol="TCP"))
        for backend, meant in (
            ({"name": "wbe", "port": 8080}, "did you mean web?"),
            ({"name": "web", "port": 80}, "did you mean 8080 (web), its only port?"),
            ({"name": "wbe", "port": 80, "namespace": "other"}, ""),
            ({"name": "web", "port": 8080}, ""),
        ):
            for kind in ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute"):
                cluster = GatewayCluster()
                cluster.write("base", GATEWAY_CLASS, gateway("main", *listeners), service("web"))
                # Streams have one rule.
                before = [rule("web")] if kind in ("HTTPRoute", "GRPCRoute") else []
                hosts = [] if kind == "TCPRoute" else ["a.test"]
                snapshot = cluster.write(
                    "route", route("r", *before, rule([backend]), hostnames=hosts, kind=kind)
                )
                advised = map(SuggestedNames(cluster.store.state()).advice, snapshot.problems)
                self.assertEqual(list(filter(None, advised)), [meant] * bool(meant), (kind, backend))

    def test_a_port_of_udp(self) -> None:
        """A UDPRoute can mean none but ports of UDP."""
        for port, of_service, meant in (
            (54, {"protocol": "UDP", "port": 53}, "did you mean 53 (web), its only port?"),
            (8080, {"protocol": "TCP"}, ""),
        ):
            cluster = GatewayCluster()
            of_udp = listener("u", port=53, protocol="UDP")
            cluster.write("base", GATEWAY_CLASS, gateway("main", of_udp), service("web", **of_service))
            backend = {"name": "web", "port": port}
            snapshot = cluster.write("route", route("r", rule([backend]), kind="UDPRoute"))
            (problem,) = snapshot.problems
            self.assertEqual(SuggestedNames(cluster.store.state()).advice(problem), meant)

    def test_a_secret(self) -> None:
        """Of tls, and of annotations."""
        secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: shop-tls, namespace: shop}\ntype: Opaque\nstringData: {auth: x}"
        asking = ingress(spec="tls: [{hosts: [shop.example.com], secretName: shop-tsl}]")
        self.assertEqual(self.advice(secret, asking), ["did you mean shop-tls?"])
        self.assertEqual(
            self.advice(secret, ingress(auth_type="basic", auth_secret="shop-tl")), ["did you mean shop-tls?"]
        )

    def test_a_host(self) -> None:
        """One mistake, or a label more or less."""
        meant = SuggestedNames(manifests(SERVICES, ingress()).state)
        for host in ("shop.exmaple.com", "www.shop.example.com", "example.com", "SHOP.example.co."):
            self.assertEqual(meant.host(host), "did you mean shop.example.com?", host)
        self.assertEqual(meant.host("unlike.test"), "")

    def test_one_thousand_findings_among_ten_thousand_services_are_looked_for_in_bounds(self) -> None:
        """The namespace is looked through once, and each name takes a few thousand steps."""
        keys = [ObjectKey("shop", f"service-number-{number}") for number in range(10_000)]
        meant = SuggestedNames(ClusterState(services={key: Service(key) for key in keys}))
        first = calls(partial(meant.object, Kind.SERVICE, ObjectKey("shop", "service-nubmer-0")))
        more = [
            calls(partial(meant.object, Kind.SERVICE, ObjectKey("shop", f"service-nubmer-{number}")))
            for number in range(10, 20)
        ]
        self.assertLess(max(more), 5_000)
        self.assertLess(first, 20 * len(keys))


class CommandTests(CompletionCase):
    """Where it is said."""

    def test_lint(self) -> None:
        """The advice of a finding says what is meant."""
        path = self.manifest(SERVICES + ingress(service="wbe"))
        self.assertIn("did you mean web?", self.run_command("lint", path).stdout)

    def test_explain(self) -> None:
        """A host that no rule names is asked about, beside the answer."""
        path = self.manifest(SERVICES + ingress())
        found = self.run_command("explain", "http://shop.exmaple.com/", path)
        self.assertIn("did you mean shop.example.com?", found.stderr)
        self.assertEqual(self.run_command("explain", "http://shop.example.com/", path).stderr, "")

    def test_explain_of_a_class(self) -> None:
        """What is meant by the class of an Ingress with the host is asked, where nothing takes the request."""
        seen = "---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: nginx}\nspec: {controller: %s}\n"
        named = ingress() + ingress("b", host="'*.b.example.com'")
        for text, meant in (
            (named.replace("Name: nginx", "Name: ngnix"), "nginx"),
            (
                named + seen % "k8s.io/ingres-nginx",
                "k8s.io/ingress-nginx as the controller of IngressClass nginx",
            ),
            (named.replace("Name: nginx", "Name: traefik"), ""),
        ):
            path = self.manifest(SERVICES + text)
            for host in ("shop.example.com", "x.b.example.com"):
                found = self.run_command("explain", f"http://{host}/", path)
                self.assertEqual(found.exit_code, 1, found.stdout)
                self.assertEqual(f"did you mean {meant}?" in found.stderr, bool(meant), found.stderr)
        self.assertNotIn("did you mean", self.run_command("explain", "http://c.test/", path).stderr)

    def test_completion(self) -> None:
        """A shell is offered the hosts and Services of the manifests on the line, or those that are close."""
        path = self.manifest(SERVICES + ingress() + ingress("b", host="desk.example.com"))
        for words, offered in (
            (f"explain -m {path} sh", ["shop.example.com/"]),
            (f"explain -m {path} http://", ["http://desk.example.com/", "http://shop.example.com/"]),
            (f"explain -m {path} http://shop.exmaple.com", ["http://shop.example.com/"]),
            (f"explain http://shop.example.com {path} --expect-service shop/w", ["shop/web"]),
            ("explain sh", []),
            (f"explain -m {self.folder}/absent sh", []),
            (f"explain -m {self.manifest('{', 'broken.yaml')} sh", []),
        ):
            found = [one for one in self.completions(f"ingressctl {words}") if one]
            self.assertEqual(found, [f"plain,{one}" for one in offered], words)
