"""TLSRoutes and TCPRoutes from manifests to where streams lead, after the official suite's tests of both."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.network.listeners import Listener
from ingress.model.network.streams import StreamSort
from ingress.model.upstream.backends import BackendState
from ingress.routing.streams import StreamRoute
from ingress.translate.readers.gateway.statuses.routes import route_document
from ingress.translate.reports import ReportFacts
from ingress.translate.snapshot import Snapshot
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    INFRA,
    GatewayCluster,
    attached,
    gateway,
    grant,
    listener,
    route,
    rule,
    service,
)

TLS, TCP = "gateway *:443", "gateway *:9300"
PASSTHROUGH: dict[str, Any] = {"mode": "Passthrough"}
TERMINATE: dict[str, Any] = {"mode": "Terminate", "certificateRefs": [{"name": "certificate"}]}
SECTION = {"name": "main", "namespace": INFRA, "sectionName": "tcp"}


def tls(name: str, hostname: str = "", port: int = 443, **more: Any) -> dict[str, Any]:
    """Return a listener whose TLS passes through."""
    return listener(name, hostname, port, **{"protocol": "TLS", "tls": PASSTHROUGH, **more})


def tcp(name: str, port: int = 9300, **more: Any) -> dict[str, Any]:
    """Return a listener of TCP."""
    return listener(name, port=port, **{"protocol": "TCP", **more})


def tls_route(name: str, to: Any, *hostnames: str, **more: Any) -> dict[str, Any]:
    """Return a TLSRoute that leads to a Service, or to a list of backends."""
    return route(name, rule(to), hostnames=hostnames, kind="TLSRoute", **more)


def tcp_route(name: str, to: Any, **more: Any) -> dict[str, Any]:
    """Return a TCPRoute."""
    return route(name, rule(to), kind="TCPRoute", **more)


class StreamsCase(SynchronousTestCase):
    """A cluster with the Services ``one``, ``two`` and ``three``."""

    def setUp(self) -> None:
        self.cluster = GatewayCluster()
        services = [
            service(name, address=f"10.1.0.{at}") for at, name in enumerate(("one", "two", "three"), 1)
        ]
        self.cluster.write("base", GATEWAY_CLASS, *services)

    def found(self, snapshot: Snapshot, table: str, name: str = "") -> StreamRoute | None:
        """Return where a connection for *name* leads; None where requests are served."""
        return snapshot.others[table].streams.find(name.encode())

    def leads(self, snapshot: Snapshot, table: str, name: str = "") -> str:
        """Say which Services that gets, each with its weight and whether it has endpoints."""
        route = self.found(snapshot, table, name)
        if route is None:
            return "requests"
        if route.owner is None:
            return "nobody"
        shown = []
        for one in route.weighted:
            state = snapshot.backends.get(one.backend, BackendState())
            shown.append(f"{one.backend.name if state.endpoints else 'reset'}:{one.weight}")
        return " ".join(shown)

    def conditions(self, kind: str, name: str, parent: int = 0) -> dict[str, tuple[str, str]]:
        """Return the conditions of a route under one of its parents: status and reason by type."""
        snapshot = self.cluster.translation.snapshot
        assert snapshot is not None
        told = [one for one in snapshot.problems if (one.kind, one.name) == (kind, name)]
        facts = ReportFacts(ObjectKey(INFRA, name), self.cluster.store.state(), self.cluster.options, told)
        found = route_document(Kind(kind), facts).lists["parents"][parent].conditions
        return {one.type: (one.status, one.reason) for one in found}

    def accepted(self, kind: str, name: str, parent: int = 0) -> tuple[str, str]:
        """Return whether a parent accepts a route, and the reason."""
        return self.conditions(kind, name, parent)["Accepted"]

    def resolved(self, kind: str, name: str) -> tuple[str, str]:
        """Return whether the references of a route are resolved, and the reason."""
        return self.conditions(kind, name)["ResolvedRefs"]


YES, RESOLVED = ("True", "Accepted"), ("True", "ResolvedRefs")


class TCPRouteTests(StreamsCase):
    """Routes of listeners of TCP."""

    def test_one_port(self) -> None:
        """A listener of TCP is a socket of its own, whose streams lead where its route says, or nowhere."""
        found = self.cluster.write("gateway", gateway("main", tcp("tcp")))
        self.assertIn(Listener("tcp:9300", table=TCP, is_stream=True), found.listeners)
        self.assertEqual(self.leads(found, TCP), "nobody")
        found = self.cluster.write("route", tcp_route("db", "one", parents=[SECTION]))
        self.assertEqual(self.leads(found, TCP), "one:1")
        self.assertEqual(attached(found, "main"), {"tcp": 1})
        self.assertEqual(self.conditions("TCPRoute", "db"), {"Accepted": YES, "ResolvedRefs": RESOLVED})
        found = self.cluster.write("gateway")
        self.assertNotIn(TCP, found.others)

    def test_missing_backend(self) -> None:
        """TCPRouteInvalidBackendRefNonexistent: it is told, and its share is reset."""
        found = self.cluster.write("x", gateway("main", tcp("tcp")), tcp_route("db", "absent"))
        self.assertEqual(self.leads(found, TCP), "reset:1")
        self.assertEqual(self.accepted("TCPRoute", "db"), YES)
        self.assertEqual(self.resolved("TCPRoute", "db"), ("False", "BackendNotFound"))
        self.assertEqual(
            self.cluster.told("TCPRoute"),
            [("db", "ServiceNotFound", "spec.rules[0].backendRefs[0].name")],
        )

    def test_reference_grant(self) -> None:
        """TCPRouteReferenceGrant, TCPRouteInvalidCrossNamespaceBackendRef: a grant opens another namespace, and closes it when it goes."""
        backends = [{"name": "far", "namespace": "web", "port": 8080}]
        self.cluster.write("far", service("far", "web"))
        found = self.cluster.write("x", gateway("main", tcp("tcp")), tcp_route("db", backends))
        self.assertEqual(self.leads(found, TCP), "reset:1")
        self.assertEqual(self.resolved("TCPRoute", "db"), ("False", "RefNotPermitted"))
        found = self.cluster.write("grant", grant("g", INFRA, "web", "far", "TCPRoute"))
        self.assertEqual(self.leads(found, TCP), "far:1")
        self.assertEqual(self.resolved("TCPRoute", "db"), RESOLVED)
        for other in (
            grant("g", INFRA, "web", "far", "TLSRoute"),
            grant("g", INFRA, "web", "other", "TCPRoute"),
            grant("g", "elsewhere", "web", "far", "TCPRoute"),
        ):
            found = self.cluster.write("grant", other)
            self.assertEqual(self.leads(found, TCP), "reset:1")
        self.assertEqual(
            self.cluster.told("TCPRoute"), [("db", "RefNotPermitted", "spec.rules[0].backendRefs[0]")]
        )

    def test_other_listener(self) -> None:
        """TCPRouteInvalidNonTCPListener: a listener of HTTP takes none."""
        parents = [{"name": "main", "namespace": INFRA, "sectionName": "http"}]
        found = self.cluster.write("x", gateway(), tcp_route("db", "one", parents=parents))
        self.assertEqual(self.accepted("TCPRoute", "db"), ("False", "NotAllowedByListeners"))
        self.assertEqual(attached(found, "main"), {})

    def test_two_routes(self) -> None:
        """TCPRouteMultipleRoutesAttachment: both are accepted and attached, and the oldest has all streams."""
        young = tcp_route("a", "two", parents=[SECTION], created="2026-01-02T00:00:00Z")
        old = tcp_route("b", "one", parents=[SECTION], created="2026-01-01T00:00:00Z")
        found = self.cluster.write("x", gateway("main", tcp("tcp")), young, old)
        self.assertEqual(self.leads(found, TCP), "one:1")
        self.assertEqual(attached(found, "main"), {"tcp": 2})
        self.assertEqual(self.conditions("TCPRoute", "b"), {"Accepted": YES, "ResolvedRefs": RESOLVED})
        self.assertEqual(
            self.conditions("TCPRoute", "a"),
            {"Accepted": YES, "PartiallyInvalid": ("True", "UnsupportedValue"), "ResolvedRefs": RESOLVED},
        )
        self.assertEqual(self.cluster.told("TCPRoute"), [("a", "ListenerConflict", "spec.parentRefs[0]")])
        found = self.cluster.write("x", gateway("main", tcp("tcp")), young)
        self.assertEqual((self.leads(found, TCP), self.cluster.told("TCPRoute")), ("two:1", []))

    def test_all_listeners(self) -> None:
        """TCPRouteParentRefAttachAll: without section and port a route has all listeners of TCP, and no others."""
        listeners = [tcp(f"t{port}", port) for port in (9310, 9311, 9312)]
        found = self.cluster.write("x", gateway("main", *listeners, listener("http")), tcp_route("db", "one"))
        for port in (9310, 9311, 9312):
            self.assertEqual(self.leads(found, f"gateway *:{port}"), "one:1")
        self.assertEqual(attached(found, "main"), {"t9310": 1, "t9311": 1, "t9312": 1})

    def test_port_and_section(self) -> None:
        """TCPRouteParentRefPortAndSectionName: by port, by section, by both; a port that there is not is told."""
        main = {"name": "main", "namespace": INFRA}
        found = self.cluster.write(
            "x",
            gateway("main", tcp("a", 9300), tcp("b", 9301), tcp("c", 9302)),
            tcp_route("by-port", "one", parents=[main | {"port": 9300}]),
            tcp_route("by-section", "two", parents=[main | {"sectionName": "b"}]),
            tcp_route("by-both", "three", parents=[main | {"sectionName": "c", "port": 9302}]),
            tcp_route("neither", "three", parents=[main | {"sectionName": "c", "port": 9300}]),
        )
        led = [self.leads(found, f"gateway *:{port}") for port in (9300, 9301, 9302)]
        self.assertEqual(led, ["one:1", "two:1", "three:1"])
        self.assertEqual(self.accepted("TCPRoute", "neither"), ("False", "NoMatchingParent"))

    def test_weights(self) -> None:
        """TCPRouteWeightedRouting: backends share connections, one of weight 0 gets none, and one that is missing keeps its share."""
        backends = [
            {"name": name, "port": 8080, "weight": weight}
            for name, weight in (("one", 70), ("two", 30), ("three", 0), ("absent", 5))
        ]
        found = self.cluster.write("x", gateway("main", tcp("tcp")), tcp_route("db", backends))
        self.assertEqual(self.leads(found, TCP), "one:70 two:30 reset:5")
        self.assertEqual(self.cluster.told("TCPRoute")[0][2], "spec.rules[0].backendRefs[3].name")

    def test_hostile(self) -> None:
        """Several rules, no rules, thousands of backends, kinds that there are not: each is told, and spoils itself alone."""
        many = [{"name": "one", "port": 8080}] * 5000
        main = {"name": "main", "namespace": INFRA}
        listeners = [tcp(f"t{at}", 9400 + at) for at in range(5)]
        parents = [[main | {"port": 9400 + at}] for at in range(5)]
        found = self.cluster.write(
            "x",
            gateway("main", *listeners),
            route("rules", rule("one"), rule("two"), kind="TCPRoute", parents=parents[0]),
            route("none", kind="TCPRoute", parents=parents[1]),
            tcp_route("many", many, parents=parents[2]),
            tcp_route("kind", [{"group": "x.io", "kind": "Thing", "name": "one"}], parents=parents[3]),
            tcp_route("fine", "one", parents=parents[4]),
        )
        led = [self.leads(found, f"gateway *:{9400 + at}") for at in range(5)]
        self.assertEqual(led, ["one:1", "reset:1", "", "reset:1", "one:1"])
        self.assertEqual(
            self.cluster.told("TCPRoute"),
            [
                ("kind", "InvalidKind", "spec.rules[0].backendRefs[0]"),
                ("many", "UnsupportedValue", "spec.rules[0].backendRefs"),
                ("rules", "UnsupportedValue", "spec.rules[1]"),
            ],
        )
        (behind,) = {one.message for one in found.problems if one.field == "spec.rules[1]"}
        self.assertEqual(behind, "is behind the first rule, which has all streams")
        self.assertEqual(self.accepted("TCPRoute", "many"), ("False", "UnsupportedValue"))


class TLSRouteTests(StreamsCase):
    """Routes of listeners of TLS."""

    def test_passes_through(self) -> None:
        """TLSRouteSimpleSameNamespace: the name decides, and any number of labels is below a wildcard."""
        found = self.cluster.write(
            "x", gateway("main", tls("https", "*.example.com")), tls_route("r", "one", "abc.example.com")
        )
        led = [
            self.leads(found, TLS, name) for name in ("abc.example.com", "x.example.com", "example.org", "")
        ]
        self.assertEqual(led, ["one:1", "nobody", "nobody", "nobody"])
        route = self.found(found, TLS, "abc.example.com")
        assert route is not None
        self.assertEqual(route.sort, StreamSort.PASSTHROUGH)
        self.assertIn(Listener("tcp:443", True, TLS), found.listeners)

    def test_hostname_intersection(self) -> None:
        """TLSRouteHostnameIntersection: streams are for the hosts that listener and routes have in common, the most specific first."""
        cases: list[tuple[str, list[str], list[tuple[str, str]]]] = [
            (
                "abc.example.com",
                ["*.example.com"],
                [("abc.example.com", "one:1"), ("non.matching.com", "nobody")],
            ),
            (
                "*.example.com",
                ["abc.example.com", "*.com"],
                [
                    ("abc.example.com", "one:1"),
                    ("other.example.com", "two:1"),
                    ("non.matching.com", "nobody"),
                ],
            ),
            (
                "*.com",
                ["abc.example.com", "*.example.com"],
                [
                    ("abc.example.com", "one:1"),
                    ("other.example.com", "two:1"),
                    ("non.matching.com", "nobody"),
                ],
            ),
            (
                "",
                ["abc.example.com", "*.com"],
                [
                    ("abc.example.com", "one:1"),
                    ("other.example.com", "two:1"),
                    ("non.matching.org", "nobody"),
                ],
            ),
        ]
        for hostname, hostnames, wanted in cases:
            routes = [
                tls_route(f"r{at}", to, name)
                for at, (name, to) in enumerate(zip(hostnames, ("one", "two"), strict=False))
            ]
            found = self.cluster.write("x", gateway("main", tls("tls", hostname)), *routes)
            self.assertEqual([(name, self.leads(found, TLS, name)) for name, _ in wanted], wanted, hostname)

    def test_specific_before_old(self) -> None:
        """Of two routes that come to the same host of a listener, the one whose hostname says more of it has it, however young."""
        for hostname, wide, narrow, name in (
            ("abc.example.com", "*.example.com", "abc.example.com", "abc.example.com"),
            ("*.example.com", "*.com", "*.example.com", "x.example.com"),
        ):
            old = tls_route("old", "one", wide, created="2026-01-01T00:00:00Z")
            young = tls_route("young", "two", narrow, created="2026-01-02T00:00:00Z")
            found = self.cluster.write("x", gateway("main", tls("tls", hostname)), old, young)
            self.assertEqual(self.leads(found, TLS, name), "two:1")
            self.assertEqual(self.accepted("TLSRoute", "old"), YES)
            self.assertEqual(
                self.cluster.told("TLSRoute"), [("old", "ListenerConflict", "spec.parentRefs[0]")]
            )

    def test_invalid_backends(self) -> None:
        """TLSRouteInvalidBackendRefNonexistent, …UnknownKind, TLSRouteInvalidReferenceGrant: accepted, not resolved, and reset."""
        for backend, reason in (
            ({"name": "absent", "port": 443}, "BackendNotFound"),
            ({"group": "x.example.com", "kind": "NonExistent", "name": "one", "port": 443}, "InvalidKind"),
            ({"name": "one", "namespace": "elsewhere", "port": 8080}, "RefNotPermitted"),
        ):
            found = self.cluster.write("x", gateway("main", tls("tls")), tls_route("r", [backend], "a.test"))
            self.assertEqual(self.leads(found, TLS, "a.test"), "reset:1")
            self.assertEqual(self.accepted("TLSRoute", "r"), YES)
            self.assertEqual(self.resolved("TLSRoute", "r"), ("False", reason))

    def test_not_attached(self) -> None:
        """TLSRouteInvalidNoMatchingListenerHostname, TLSRouteInvalidNoMatchingListener: each has its reason, and no listener counts it."""
        found = self.cluster.write(
            "x",
            gateway("main", tls("tls", "www.example.com"), listener("http")),
            gateway("web", listener("https", port=8443, protocol="HTTPS", tls=TERMINATE)),
            tls_route("hostname", "one", "www.nomatch.com", "*.nomatch.com"),
            tls_route("http", "one", "a.test", parents=[{"name": "main", "sectionName": "http"}]),
            tls_route("https", "one", "a.test", parents=[{"name": "web"}]),
            tls_route("section", "one", "a.test", parents=[{"name": "main", "sectionName": "other"}]),
        )
        accepted = {
            name: self.accepted("TLSRoute", name) for name in ("hostname", "http", "https", "section")
        }
        self.assertEqual(
            accepted,
            {
                "hostname": ("False", "NoMatchingListenerHostname"),
                "http": ("False", "NotAllowedByListeners"),
                "https": ("False", "NotAllowedByListeners"),
                "section": ("False", "NoMatchingParent"),
            },
        )
        self.assertEqual((attached(found, "main"), attached(found, "web")), ({}, {}))

    def test_mixed(self) -> None:
        """TLSRouteMixedTerminationSameNamespace, and HTTPS beside: one port, and the name decides what becomes of TLS."""
        found = self.cluster.write(
            "x",
            gateway(
                "main",
                tls("through", "abc.example.com"),
                tls("here", "tls.example.com", tls=TERMINATE),
                listener("https", "*.example.com", 443, protocol="HTTPS", tls=TERMINATE),
            ),
            tls_route("r1", "one", "abc.example.com"),
            tls_route("r2", "two", "tls.example.com"),
            route("web", rule("three"), hostnames=["www.example.com"]),
        )
        names = ("abc.example.com", "tls.example.com", "www.example.com", "x.abc.example.com", "other.test")
        led = [self.leads(found, TLS, name) for name in names]
        self.assertEqual(led, ["one:1", "two:1", "requests", "requests", "requests"])
        sorts = [one.sort for name in names[:2] if (one := self.found(found, TLS, name)) is not None]
        self.assertEqual(sorts, [StreamSort.PASSTHROUGH, StreamSort.TERMINATED])
        self.assertEqual(attached(found, "main"), {"through": 1, "here": 1, "https": 1})
        self.assertEqual([one.description for one in found.listeners], ["tcp:443"])

    def test_many_hostnames(self) -> None:
        """A route of a thousand hostnames is translated in small steps, and a change of another concerns it not."""
        names = [f"h{at}.example.com" for at in range(1024)]
        self.cluster.write("x", gateway("main", tls("tls", "*.example.com")), tls_route("r", "one", *names))
        self.assertGreater(self.cluster.steps, 1024)
        found = self.cluster.write("y", tls_route("s", "two", "h5.example.com", "z.example.com"))
        self.assertLess(self.cluster.steps, 20)
        self.assertEqual(self.leads(found, TLS, "h5.example.com"), "one:1")
        self.assertEqual(self.leads(found, TLS, "z.example.com"), "two:1")
