"""GRPCRoutes: what they match, where they lead, and HTTPRoutes beside them.

Source: tests GRPCRoute… of ``sigs.k8s.io/gateway-api/conformance`` 1.6.1, and ``GRPCRouteRule.matches``.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.translate.readers.gateway.route_cluster import (
    INFRA,
    answer,
    attached,
    gateway,
    get,
    listener,
    match,
    route,
    rule,
)
from tests.translate.readers.gateway.routes.test_http_matching import MatchingCase

ECHO = "echo.v1.Echo"


def calls(service: str = "", method: str = "", type: str = "", **headers: str) -> dict[str, Any]:
    """Return a match of a GRPCRoute."""
    found = match(headers=headers) if headers else {}
    asked = {"service": service, "method": method, "type": type}
    named = {name: value for name, value in asked.items() if value}
    return {**found, "method": named} if named else found


def grpc(name: str, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a GRPCRoute."""
    return route(name, *rules, kind="GRPCRoute", **more)


class GRPCMatchingTests(MatchingCase):
    """Services, methods and headers."""

    def test_exact(self) -> None:
        """A service with a method; another method is not there."""
        snapshot = self.serve(grpc("exact", rule("v1", calls(ECHO, "One")), rule("v2", calls(ECHO, "Two"))))
        self.expect(
            snapshot,
            (get("a", f"/{ECHO}/One"), "v1"),
            (get("a", f"/{ECHO}/Two"), "v2"),
            (get("a", f"/{ECHO}/Three"), "404"),
            (get("a", f"/{ECHO}/One/x"), "404"),
        )

    def test_parts(self) -> None:
        """A service alone, a method alone, everything; more characters of the service come first, then of the method."""
        snapshot = self.serve(
            grpc(
                "parts",
                rule("v1"),
                rule("v2", calls(method="Two")),
                rule("v3", calls(ECHO)),
                rule("v1", calls(ECHO, "Two")),
            )
        )
        self.expect(
            snapshot,
            (get("a", f"/{ECHO}/Two"), "v1"),
            (get("a", f"/{ECHO}/One"), "v3"),
            (get("a", f"/{ECHO}er/One"), "v1"),
            (get("a", "/other.Service/Two"), "v2"),
            (get("a", "/other.Service/One"), "v1"),
        )

    def test_expressions(self) -> None:
        """A service or a method may be like an expression."""
        snapshot = self.serve(
            grpc(
                "like",
                rule("v1", calls("echo[.]v[0-9]+[.]Echo", "One|Two", "RegularExpression")),
                rule("v2", calls(method="Get.*", type="RegularExpression")),
            )
        )
        self.expect(
            snapshot,
            (get("a", "/echo.v12.Echo/Two"), "v1"),
            (get("a", "/echo.v12.Echo/Three"), "404"),
            (get("a", "/any.Service/GetThis"), "v2"),
        )

    def test_headers(self) -> None:
        """Headers as in HTTPRoutes."""
        snapshot = self.serve(
            grpc(
                "headers",
                rule("v1", calls(version="one")),
                rule("v2", calls(version="two")),
                rule("v1", calls(version="two", color="orange")),
            )
        )
        path = f"/{ECHO}/One"
        self.expect(
            snapshot,
            (get("a", path, version="one"), "v1"),
            (get("a", path, version="two"), "v2"),
            (get("a", path, version="two", color="orange"), "v1"),
            (get("a", path, color="orange"), "404"),
        )

    def test_refused(self) -> None:
        """Names that gRPC does not have, and types that there are not, match nothing and are told."""
        self.cluster.write(
            "routes",
            grpc("odd", rule("v1", calls("a/b", "C"), calls("a.b", "C/D"), calls("a.b", "C", "Glob"))),
        )
        self.assertEqual(
            self.cluster.told("GRPCRoute"),
            [
                ("odd", "UnsupportedValue", "spec.rules[0].matches[0].method.service"),
                ("odd", "UnsupportedValue", "spec.rules[0].matches[1].method.method"),
                ("odd", "UnsupportedValue", "spec.rules[0].matches[2].method.type"),
            ],
        )

    def test_backends(self) -> None:
        """Backends are spoken to by HTTP/2; one that leads nowhere is unavailable, which is 503 in HTTP."""
        snapshot = self.serve(grpc("web", rule("v1")))
        [state] = snapshot.backends.values()
        settings = state.endpoints[0].link_settings
        self.assertTrue(settings is not None and settings.is_http2)
        snapshot = self.cluster.write("routes", grpc("web", rule("nobody")))
        self.expect(snapshot, (get("a"), "503"))
        [told] = self.cluster.told("GRPCRoute")
        self.assertEqual(told, ("web", "ServiceNotFound", "spec.rules[0].backendRefs[0].name"))

    def test_weights(self) -> None:
        """Shares as in HTTPRoutes."""
        backends = [{"name": name, "port": 8080, "weight": weight} for name, weight in (("v1", 1), ("v2", 3))]
        snapshot = self.serve(grpc("shares", rule(backends)))
        found = [answer(snapshot, get("a"), chance / 4) for chance in range(4)]
        self.assertEqual(found, ["v1", "v2", "v2", "v2"])


class KindConflictTests(MatchingCase):
    """An HTTPRoute and a GRPCRoute share no host of a listener: the older one is attached."""

    OLD, YOUNG = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"

    def both(
        self, http: tuple[str, ...], grpc_hosts: tuple[str, ...], *, grpc_is_older: bool = False
    ) -> dict[str, int]:
        """Write both, and return how many routes listeners have."""
        ages = (self.YOUNG, self.OLD) if grpc_is_older else (self.OLD, self.YOUNG)
        snapshot = self.cluster.write(
            "routes",
            route("http", rule("v1"), hostnames=http, created=ages[0]),
            grpc("grpc", rule("v2"), hostnames=grpc_hosts, created=ages[1]),
        )
        self.snapshot = snapshot
        return attached(snapshot, "main")

    def test_older_wins(self) -> None:
        """The younger is told, at the reference to its parent, and nothing of it is served."""
        self.assertEqual(self.both(("a.test",), ("a.test", "b.test")), {"http": 1})
        self.assertEqual(self.cluster.told("GRPCRoute"), [("grpc", "HostConflict", "spec.parentRefs[0]")])
        self.expect(self.snapshot, (get("a.test"), "v1"), (get("b.test"), "404"))
        self.assertEqual(self.both(("a.test",), ("a.test",), grpc_is_older=True), {"http": 1})
        self.assertEqual(self.cluster.told(), [("http", "HostConflict", "spec.parentRefs[0]")])
        self.expect(self.snapshot, (get("a.test"), "v2"))

    def test_wildcards(self) -> None:
        """A wildcard has its hosts in common with their names, and all hosts with everything."""
        for http, other in (
            (("*.test",), ("a.test",)),
            (("a.b.test",), ("*.test",)),
            ((), ("a.test",)),
            (("a.test",), ()),
            (("*.a.test",), ("*.test",)),
        ):
            self.assertEqual(self.both(http, other), {"http": 1}, (http, other))
        for http, other in (
            (("*.test",), ("test",)),
            (("a.test",), ("b.test",)),
            (("*.a.test",), ("*.b.test",)),
        ):
            self.assertEqual(self.both(http, other), {"http": 2}, (http, other))
            self.assertEqual(self.snapshot.problems, ())

    def test_other_listeners(self) -> None:
        """Listeners decide one by one."""
        self.cluster.write("gateway", gateway("main", listener("a", "a.test"), listener("b", "b.test")))
        self.assertEqual(self.both(("a.test",), ("a.test", "b.test")), {"a": 1, "b": 1})
        self.expect(self.snapshot, (get("a.test"), "v1"), (get("b.test"), "v2"))

    def test_several_ports(self) -> None:
        """A listener is decided about once, however many ports there are besides."""
        ports = [listener(f"l{port}", port=port) for port in (80, 8080, 8081)]
        self.cluster.write("gateway", gateway("main", *ports))
        self.assertEqual(self.both(("a.test",), ("a.test",)), {"l80": 1, "l8080": 1, "l8081": 1})
        snapshot = self.cluster.write("routes", grpc("grpc", rule("v2"), hostnames=("a.test",)))
        self.assertEqual(attached(snapshot, "main"), {"l80": 1, "l8080": 1, "l8081": 1})

    def test_rejected_at_one_of_two(self) -> None:
        """What one listener rejects keeps nobody from it, though another listener takes it."""
        self.cluster.write("gateway", gateway("main", listener("a"), listener("b", port=8080)))

        def at(*names: str) -> list[dict[str, str]]:
            return [{"name": "main", "namespace": INFRA, "sectionName": name} for name in names]

        snapshot = self.cluster.write(
            "routes",
            route("first", rule("v1"), hostnames=("x.test",), parents=at("b"), created=self.OLD),
            grpc("second", rule("v2"), hostnames=("x.test",), parents=at("a", "b"), created=self.YOUNG),
            route("third", rule("v2"), hostnames=("x.test",), parents=at("a", "b"), created=self.YOUNG),
        )
        self.assertEqual(attached(snapshot, "main"), {"a": 1, "b": 2})
        self.assertEqual(self.cluster.told("GRPCRoute"), [("second", "HostConflict", "spec.parentRefs[1]")])
        self.assertEqual(self.cluster.told(), [("third", "HostConflict", "spec.parentRefs[0]")])

    def test_goes(self) -> None:
        """Once the older one is gone, the other is attached."""
        self.both(("a.test",), ("a.test",))
        snapshot = self.cluster.write("routes", grpc("grpc", rule("v2"), hostnames=("a.test",)))
        self.assertEqual(snapshot.problems, ())
        self.expect(snapshot, (get("a.test"), "v2"))
        self.assertEqual(attached(snapshot, "main"), {"http": 1})


HOSTS = st.lists(
    st.sampled_from(["a.test", "b.test", "*.test", "x.a.test", "*.a.test"]), max_size=2, unique=True
)
ROUTES = st.dictionaries(
    st.sampled_from(["one", "two", "three", "four"]),
    st.tuples(st.booleans(), HOSTS, st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"])),
    max_size=4,
)


class KindConflictProperties(MatchingCase):
    """Along any history, what is rejected is what a full translation rejects."""

    @settings(max_examples=25, deadline=None)
    @given(st.lists(ROUTES, min_size=1, max_size=4))
    def test_histories(self, history: list[dict[str, tuple[bool, list[str], str]]]) -> None:
        """``write`` compares both."""
        for state in history:
            objects = [
                (grpc if is_grpc else route)(name, rule("v1"), hostnames=hosts, created=created)
                for name, (is_grpc, hosts, created) in state.items()
            ]
            self.cluster.write("routes", *objects)
