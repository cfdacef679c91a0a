"""Which rule of which HTTPRoute takes a request: the cases of the official suite, in memory.

Source: tests HTTPRoute…Matching, HTTPRoutePathMatchOrder, HTTPRouteHostnameIntersection, GatewayHTTPListenerIsolation of
``sigs.k8s.io/gateway-api/conformance`` 1.6.1.
"""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.translate.snapshot import Snapshot
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    INFRA,
    GatewayCluster,
    Request,
    answer,
    attached,
    gateway,
    get,
    listener,
    match,
    route,
    rule,
    service,
)


class MatchingCase(SynchronousTestCase):
    """A cluster with three Services, and a Gateway for all hosts."""

    def setUp(self) -> None:
        self.cluster = GatewayCluster()
        self.cluster.write("services", service("v1"), service("v2"), service("v3"), GATEWAY_CLASS)
        self.cluster.write("gateway", gateway())

    def expect(self, snapshot: Snapshot, *cases: tuple[Request, str]) -> None:
        """Compare what requests get."""
        for request, expected in cases:
            self.assertEqual(answer(snapshot, request), expected, request)

    def serve(self, *objects: dict[str, Any]) -> Snapshot:
        """Write routes that have nothing wrong with them."""
        snapshot = self.cluster.write("routes", *objects)
        self.assertEqual(snapshot.problems, ())
        return snapshot


class PathTests(MatchingCase):
    """Paths."""

    def test_exact(self) -> None:
        """An exact path takes itself alone, in its own case."""
        snapshot = self.serve(
            route("exact", rule("v1", match("/one", "Exact")), rule("v2", match("/two", "Exact")))
        )
        self.expect(
            snapshot,
            (get("a"), "404"),
            (get("a", "/one"), "v1"),
            (get("a", "/two"), "v2"),
            (get("a", "/one/example"), "404"),
            (get("a", "/two/"), "404"),
            (get("a", "/Two"), "404"),
        )

    def test_match_order(self) -> None:
        """Exact before prefix, longer prefixes first, whatever the order in the list."""
        rules = [
            rule("v1", match("/match", "Exact")),
            rule("v2", match("/match/exact", "Exact")),
            rule("v3", match("/match/exact/one", "Exact")),
            rule("v3", match("/match/")),
            rule("v1", match("/match/prefix/")),
            rule("v2", match("/match/prefix/one")),
        ]
        for some in (rules, rules[::-1]):
            self.expect(
                self.serve(route("order", *some)),
                (get("a", "/match/exact/one"), "v3"),
                (get("a", "/match/exact"), "v2"),
                (get("a", "/match"), "v1"),
                (get("a", "/match/prefix/one/any"), "v2"),
                (get("a", "/match/prefix/any"), "v1"),
                (get("a", "/match/any"), "v3"),
            )

    def test_expressions(self) -> None:
        """A regular expression describes all of a path; it comes behind exact paths and before prefixes, the longer one first."""
        snapshot = self.serve(
            route(
                "like",
                rule("v1", match("/")),
                rule("v2", match("/[a-z]+/b", "RegularExpression")),
                rule("v3", match("/[a-z]+/b+", "RegularExpression"), match("/x/b", "Exact")),
            )
        )
        self.expect(
            snapshot,
            (get("a", "/a/b"), "v3"),
            (get("a", "/a/bb"), "v3"),
            (get("a", "/x/b"), "v3"),
            (get("a", "/A/b"), "v1"),
            (get("a", "/a/b/c"), "v1"),
        )


class HeaderTests(MatchingCase):
    """Header fields."""

    def test_matching(self) -> None:
        """A path or a header leads to a rule, and what says more of a request comes first."""
        snapshot = self.serve(
            route(
                "matching",
                rule("v1", match("/"), match(headers={"version": "one"})),
                rule("v2", match("/v2"), match(headers={"version": "two"})),
            )
        )
        self.expect(
            snapshot,
            (get("a"), "v1"),
            (get("a", "/example"), "v1"),
            (get("a", Version="one"), "v1"),
            (get("a", "/v2"), "v2"),
            (get("a", "/v2/"), "v2"),
            (get("a", "/v2/example"), "v2"),
            (get("a", Version="two"), "v2"),
            (get("a", "/v2example"), "v1"),
            (get("a", "/foo/v2/example"), "v1"),
        )

    def test_headers(self) -> None:
        """All headers of a match have to be there, and any match will do; more headers come first, then the first rule."""
        snapshot = self.serve(
            route(
                "headers",
                rule("v1", match(headers={"version": "one"})),
                rule("v2", match(headers={"version": "two"})),
                rule("v1", match(headers={"version": "two", "color": "orange"})),
                rule("v1", match(headers={"color": "blue"}), match(headers={"color": "green"})),
                rule("v2", match(headers={"color": "red"}), match(headers={"color": "yellow"})),
            )
        )
        self.expect(
            snapshot,
            (get("a", Version="one"), "v1"),
            (get("a", Version="two"), "v2"),
            (get("a", Version="two", Color="orange"), "v1"),
            (get("a", Version="two", Color="blue"), "v2"),
            (get("a", Color="orange"), "404"),
            (get("a", Other="one"), "404"),
            (get("a", Color="blue"), "v1"),
            (get("a", Color="green"), "v1"),
            (get("a", Color="red"), "v2"),
            (get("a", Color="yellow"), "v2"),
            (get("a", Color="purple"), "404"),
        )

    def test_same_name_twice(self) -> None:
        """Of two entries with names that mean the same the first counts."""
        found = match(headers={"version": "one"})
        found["headers"].append({"name": "Version", "value": "two"})
        snapshot = self.serve(route("twice", rule("v1", found)))
        self.expect(snapshot, (get("a", version="one"), "v1"), (get("a", version="two"), "404"))

    def test_expressions(self) -> None:
        """Values may be like an expression."""
        snapshot = self.serve(
            route("like", rule("v1", match(headers={"version": "~v[0-9]+"}, query={"a": "~x+"})))
        )
        self.expect(
            snapshot,
            (get("a", "/?a=xx", version="v12"), "v1"),
            (get("a", "/?a=xy", version="v12"), "404"),
            (get("a", "/?a=x", version="v12a"), "404"),
            (get("a", "/?a=x"), "404"),
        )


class MethodAndQueryTests(MatchingCase):
    """Methods and parameters of the query."""

    def test_methods(self) -> None:
        """Methods alone, with paths and headers, and in order of precedence."""
        snapshot = self.serve(
            route(
                "methods",
                rule("v1", match(method="POST")),
                rule("v2", match(method="GET")),
                rule("v1", match("/path1", method="GET")),
                rule("v2", match(method="PUT", headers={"version": "one"})),
                rule("v3", match("/path2", method="POST", headers={"version": "two"})),
                rule(
                    "v1",
                    match("/path3", method="PATCH"),
                    match("/path4", method="DELETE", headers={"version": "three"}),
                ),
                rule("v1", match("/path5")),
                rule("v2", match(method="PATCH")),
                rule("v3", match(headers={"version": "four"})),
            )
        )
        self.expect(
            snapshot,
            (get("a", "/", "POST"), "v1"),
            (get("a", "/", "GET"), "v2"),
            (get("a", "/", "HEAD"), "404"),
            (get("a", "/path1", "GET"), "v1"),
            (get("a", "/", "PUT", version="one"), "v2"),
            (get("a", "/path2", "POST", version="two"), "v3"),
            (get("a", "/path3", "PATCH"), "v1"),
            (get("a", "/path4", "DELETE", version="three"), "v1"),
            (get("a", "/", "PUT"), "404"),
            (get("a", "/path4", "DELETE"), "404"),
            (get("a", "/path5", "PATCH"), "v1"),
            (get("a", "/", "PATCH", version="four"), "v2"),
        )

    def test_query(self) -> None:
        """Parameters are compared by name and value as they are, the first of a name; more of them come first."""
        snapshot = self.serve(
            route(
                "query",
                rule("v1", match(query={"animal": "whale"})),
                rule("v2", match(query={"animal": "dolphin"})),
                rule(
                    "v3",
                    match(query={"animal": "dolphin", "color": "blue"}),
                    match(query={"ANIMAL": "Whale"}),
                ),
                rule("v1", match("/path1", query={"animal": "whale"})),
                rule("v2", match(headers={"version": "one"}, query={"animal": "whale"})),
                rule("v3", match("/path2", headers={"version": "two"}, query={"animal": "whale"})),
                rule(
                    "v1",
                    match("/path3", query={"animal": "shark"}),
                    match("/path4", headers={"version": "three"}, query={"animal": "kraken"}),
                ),
                rule("v1", match("/path5")),
                rule("v2", match(query={"animal": "hydra"})),
                rule("v3", match(headers={"version": "four"})),
            )
        )
        self.expect(
            snapshot,
            (get("a", "/?animal=whale"), "v1"),
            (get("a", "/?animal=dolphin"), "v2"),
            (get("a", "/?animal=dolphin&color=blue"), "v3"),
            (get("a", "/?ANIMAL=Whale"), "v3"),
            (get("a", "/?animal=whale&otherparam=irrelevant"), "v1"),
            (get("a", "/?animal=dolphin&color=yellow"), "v2"),
            (get("a", "/?color=blue"), "404"),
            (get("a", "/?animal=dog"), "404"),
            (get("a", "/?animal=whaledolphin"), "404"),
            (get("a", "/"), "404"),
            (get("a", "/path1?animal=whale"), "v1"),
            (get("a", "/?animal=whale", version="one"), "v2"),
            (get("a", "/path2?animal=whale", version="two"), "v3"),
            (get("a", "/path3?animal=shark"), "v1"),
            (get("a", "/path4?animal=kraken", version="three"), "v1"),
            (get("a", "/?animal=shark"), "404"),
            (get("a", "/path4?animal=kraken"), "404"),
            (get("a", "/path5?animal=hydra"), "v1"),
            (get("a", "/?animal=hydra", version="four"), "v3"),
            (get("a", "/?animal=whale&animal=dolphin"), "v1"),
            (get("a", "/?animal=wh%61le"), "v1"),
        )


class AcrossRoutesTests(MatchingCase):
    """Precedence across routes."""

    def test_across_routes(self) -> None:
        """Matches of all routes of a host stand in one order."""
        snapshot = self.serve(
            route(
                "part1",
                rule("v1", match("/"), match(headers={"version": "one"})),
                hostnames=("example.com", "example.net"),
            ),
            route(
                "part2",
                rule("v2", match("/v2"), match(headers={"version": "two"})),
                hostnames=("example.com",),
            ),
        )
        self.expect(
            snapshot,
            (get("example.com"), "v1"),
            (get("example.com", "/example"), "v1"),
            (get("example.net", "/example"), "v1"),
            (get("example.com", "/example", Version="one"), "v1"),
            (get("example.com", "/v2"), "v2"),
            (get("example.net", "/v2"), "v1"),
            (get("example.com", "/v2/example"), "v2"),
            (get("example.com", Version="two"), "v2"),
        )

    def test_ties(self) -> None:
        """The older route comes first, then namespace and name, then the first rule."""
        old = route("z", rule("v3", match("/a")), created="2026-01-01T00:00:00Z")
        young = route("a", rule("v1", match("/a")), rule("v2", match("/a")), created="2026-01-02T00:00:00Z")
        self.expect(self.serve(old, young), (get("a", "/a"), "v3"))
        self.expect(self.serve(young), (get("a", "/a"), "v1"))
        same = route("b", rule("v3", match("/a")), created="2026-01-02T00:00:00Z")
        self.expect(self.serve(same, young), (get("a", "/a"), "v1"))

    def test_hostnames(self) -> None:
        """The more exact hostname comes first, and what it does not take goes to the next; a port in Host does not matter."""
        snapshot = self.serve(
            route("wild", rule("v1"), hostnames=("*.example.com",)),
            route("name", rule("v2", match("/a")), hostnames=("a.example.com",)),
            route("all", rule("v3")),
        )
        self.expect(
            snapshot,
            (get("b.example.com"), "v1"),
            (get("x.b.example.com:8080"), "v1"),
            (get("a.example.com:80", "/a"), "v2"),
            (get("A.EXAMPLE.COM", "/a"), "v2"),
            (get("a.example.com", "/b"), "v1"),
            (get("x.a.example.com"), "v1"),
            (get("example.com"), "v3"),
        )


class SameIntersectionTests(MatchingCase):
    """Routes whose hostnames have the same host of a listener: the one that says more of it itself comes first.

    Source: test HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection of the suite, 1.7.0.
    """

    OLD, YOUNG = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"

    def both(self, wide: str, old: dict[str, Any], narrow: str, young: dict[str, Any]) -> Snapshot:
        """Serve an older route of the hostname *wide*, and a younger one of *narrow*."""
        return self.serve(
            route("old", old, hostnames=(wide,), created=self.OLD),
            route("young", young, hostnames=(narrow,), created=self.YOUNG),
        )

    def test_own_hostnames(self) -> None:
        """Neither age nor a longer path come before the hostname."""
        for hostname, wide, narrow in (
            ("abc.example.com", "*.example.com", "abc.example.com"),
            ("*.example.com", "*.com", "*.example.com"),
        ):
            self.cluster.write("gateway", gateway("main", listener("http", hostname)))
            snapshot = self.both(wide, rule("v1"), narrow, rule("v2"))
            self.expect(snapshot, (get("abc.example.com"), "v2"))
            longer = rule("v1", match("/path/prefix"))
            snapshot = self.both(wide, longer, narrow, rule("v2", match("/path")))
            self.expect(
                snapshot,
                (get("abc.example.com", "/path/prefix/longer"), "v2"),
                (get("abc.example.com", "/path"), "v2"),
                (get("abc.example.com", "/other"), "404"),
            )

    def test_unmatched(self) -> None:
        """What the narrow one does not take goes to the wide one."""
        for hostname, wide, narrow in (
            ("abc.example.com", "*.example.com", "abc.example.com"),
            ("*.example.com", "*.com", "*.example.com"),
            ("", "*.com", "abc.example.com"),
        ):
            self.cluster.write("gateway", gateway("main", listener("http", hostname)))
            snapshot = self.both(
                wide,
                rule("v1", match("/path/prefix", headers={"Header-B": "B"})),
                narrow,
                rule("v2", match("/path", headers={"Header-A": "A"})),
            )
            path, a, b = "/path/prefix/longer", ("Header-A", "A"), ("Header-B", "B")
            for fields, expected in (((a, b), "v2"), ((b,), "v1"), ((a,), "v2"), ((), "404")):
                request = Request("abc.example.com", path, b"GET", fields)
                self.expect(snapshot, (request, expected))

    def test_up_to_the_listener(self) -> None:
        """What no route of a listener takes goes to none of another listener."""
        self.cluster.write("gateway", gateway("main", listener("wide"), listener("own", "*.a.test")))
        snapshot = self.serve(
            route("wide", rule("v1"), parents=[{"name": "main", "namespace": INFRA, "sectionName": "wide"}]),
            route("own", rule("v2", match("/a")), hostnames=("x.a.test",)),
            route("below", rule("v3", match("/b")), hostnames=("*.a.test",)),
        )
        self.expect(
            snapshot,
            (get("x.a.test", "/a"), "v2"),
            (get("x.a.test", "/b"), "v3"),
            (get("x.a.test", "/c"), "404"),
            (get("b.test", "/c"), "v1"),
        )


class HostnameTests(MatchingCase):
    """Hostnames of listeners and of routes."""

    def parents(self, *sections: str) -> list[dict[str, str]]:
        """Return references to listeners of the Gateway."""
        return [{"name": "main", "namespace": INFRA, "sectionName": one} for one in sections]

    def test_intersection(self) -> None:
        """A route is there for the hosts that it has in common with a listener, and for no others."""
        self.cluster.write(
            "gateway",
            gateway(
                "main",
                listener("listener-1", "very.specific.com"),
                listener("listener-2", "*.wildcard.io"),
                listener("listener-3", "*.anotherwildcard.io"),
            ),
        )
        none = route("none", rule("v2", match("/s5")), hostnames=("specific.but.wrong.com", "wildcard.io"))
        snapshot = self.cluster.write(
            "routes",
            route(
                "one",
                rule("v1", match("/s1")),
                hostnames=("non.matching.com", "*.nonmatchingwildcard.io", "very.specific.com"),
            ),
            route(
                "two",
                rule("v2", match("/s2")),
                hostnames=(
                    "non.matching.com",
                    "wildcard.io",
                    "foo.wildcard.io",
                    "bar.wildcard.io",
                    "foo.bar.wildcard.io",
                ),
            ),
            route("three", rule("v3", match("/s3")), hostnames=("non.matching.com", "*.specific.com")),
            route("four", rule("v1", match("/s4")), hostnames=("*.anotherwildcard.io",)),
            none,
        )
        self.assertEqual(self.cluster.told(), [("none", "NoMatchingListenerHostname", "spec.parentRefs[0]")])
        self.assertEqual(attached(snapshot, "main"), {"listener-1": 2, "listener-2": 1, "listener-3": 1})
        self.expect(
            snapshot,
            (get("very.specific.com:1234", "/s1"), "v1"),
            (get("non.matching.com", "/s1"), "404"),
            (get("foo.nonmatchingwildcard.io", "/s1"), "404"),
            (get("foo.wildcard.io", "/s2"), "v2"),
            (get("bar.wildcard.io", "/s2"), "v2"),
            (get("foo.bar.wildcard.io", "/s2"), "v2"),
            (get("non.matching.com", "/s2"), "404"),
            (get("wildcard.io", "/s2"), "404"),
            (get("very.specific.com", "/s3"), "v3"),
            (get("non.matching.com", "/s3"), "404"),
            (get("foo.specific.com", "/s3"), "404"),
            (get("one.anotherwildcard.io", "/s4"), "v1"),
            (get("one.two.three.anotherwildcard.io", "/s4"), "v1"),
            (get("anotherwildcard.io", "/s4"), "404"),
            (get("wildcard.io", "/s5"), "404"),
            (get("specific.but.wrong.com", "/s5"), "404"),
        )

    def test_listeners(self) -> None:
        """The listener whose hostname says most of a host has it."""
        self.cluster.write(
            "gateway",
            gateway(
                "main",
                listener("listener-1", "bar.com"),
                listener("listener-2", "foo.bar.com"),
                listener("listener-3", "*.bar.com"),
                listener("listener-4", "*.foo.com"),
            ),
        )
        snapshot = self.serve(
            route("one", rule("v1"), parents=self.parents("listener-1")),
            route("two", rule("v2"), parents=self.parents("listener-2")),
            route("three", rule("v3"), parents=self.parents("listener-3", "listener-4")),
        )
        self.expect(
            snapshot,
            (get("bar.com"), "v1"),
            (get("foo.bar.com"), "v2"),
            (get("baz.bar.com"), "v3"),
            (get("multiple.prefixes.bar.com"), "v3"),
            (get("multiple.prefixes.foo.com"), "v3"),
            (get("foo.com"), "404"),
            (get("no.matching.host"), "404"),
        )

    def test_isolation(self) -> None:
        """A host that a more specific listener has is not served by another one's routes, though it have none itself."""
        names = {
            "empty": "",
            "wildcard": "*.example.com",
            "wildcard-foo": "*.foo.example.com",
            "abc": "abc.foo.example.com",
        }
        self.cluster.write("gateway", gateway("main", *(listener(*one) for one in names.items())))
        hosts = ("bar.com", "bar.example.com", "bar.foo.example.com", "abc.foo.example.com")
        routes = [route(name, rule("v1", match(f"/{name}")), parents=self.parents(name)) for name in names]
        snapshot = self.serve(*routes)
        for host, own in zip(hosts, names, strict=True):
            for name in names:
                self.expect(snapshot, (get(host, f"/{name}"), "v1" if name == own else "404"))
        snapshot = self.serve(routes[0])
        self.expect(
            snapshot,
            (get("bar.com", "/empty"), "v1"),
            *((get(host, "/empty"), "404") for host in hosts[1:]),
            (get("foo.example.com", "/empty"), "404"),
        )
        self.assertEqual(attached(snapshot, "main"), {"empty": 1})

    def test_listener_comes_and_goes(self) -> None:
        """A listener that comes keeps its host from routes of others, and one that goes gives it back."""
        self.expect(self.serve(route("all", rule("v1"))), (get("a.test"), "v1"))
        both = gateway(
            "main",
            listener("http"),
            listener("a", "a.test", allowedRoutes={"namespaces": {"from": "None"}}),
        )
        self.expect(self.cluster.write("gateway", both), (get("a.test"), "404"), (get("b.test"), "v1"))
        self.expect(self.cluster.write("gateway", gateway()), (get("a.test"), "v1"))

    def test_ports(self) -> None:
        """Each port has its own routes; ``port`` of a reference chooses among listeners."""
        self.cluster.write("gateway", gateway("main", listener("one"), listener("two", port=8080)))
        snapshot = self.serve(
            route("one", rule("v1"), parents=[{"name": "main", "namespace": INFRA, "port": 8080}]),
        )
        self.assertEqual(answer(snapshot, get("a"), table="gateway *:8080"), "v1")
        self.assertEqual(answer(snapshot, get("a")), "404")
        self.assertEqual(attached(snapshot, "main"), {"two": 1})
