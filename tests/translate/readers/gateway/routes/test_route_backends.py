"""Backends of routes: shares, those that lead nowhere, and who may refer to whom.

Source: tests HTTPRouteInvalid…BackendRef…, HTTPRouteReferenceGrant, HTTPRouteNoBackendRefs, HTTPRouteWeight, HTTPRouteServiceTypes of
``sigs.k8s.io/gateway-api/conformance`` 1.6.1, and ``HTTPRouteRule.backendRefs``.
"""

from typing import Any

from tests.translate.readers.gateway.route_cluster import (
    INFRA,
    answer,
    endpoints,
    gateway,
    get,
    grant,
    listener,
    match,
    route,
    rule,
    service,
)
from tests.translate.readers.gateway.routes.test_http_matching import MatchingCase


def backend(name: str, weight: int | None = None, **more: Any) -> dict[str, Any]:
    """Return an entry of ``backendRefs``."""
    found: dict[str, Any] = {"name": name, "port": 8080, **more}
    return found if weight is None else {**found, "weight": weight}


class BrokenBackendTests(MatchingCase):
    """What leads nowhere as it is written is answered 500, and what has no endpoints 503."""

    def broken(self, backend: dict[str, Any], *expected: tuple[str, str]) -> None:
        """Check what becomes of a route of which one rule names *backend*."""
        snapshot = self.cluster.write(
            "routes", route("broken", rule([backend], match("/broken")), rule("v1", match("/fine")))
        )
        told = [(reason, field) for _, reason, field in self.cluster.told()]
        self.assertEqual(told, list(expected))
        self.expect(snapshot, (get("a", "/broken"), "500"), (get("a", "/fine"), "v1"))

    def test_missing_service(self) -> None:
        """A Service that does not exist."""
        self.broken(backend("nobody"), ("ServiceNotFound", "spec.rules[0].backendRefs[0].name"))

    def test_missing_port(self) -> None:
        """A port that the Service does not have, or none at all."""
        self.broken(backend("v1", port=81), ("ServicePortNotFound", "spec.rules[0].backendRefs[0].port"))
        self.broken({"name": "v1"}, ("ServicePortNotFound", "spec.rules[0].backendRefs[0].port"))

    def test_unknown_kind(self) -> None:
        """A kind of backends that is none here."""
        self.broken(backend("v1", kind="NonExistent"), ("InvalidKind", "spec.rules[0].backendRefs[0]"))
        self.broken(
            backend("v1", group="multicluster.x-k8s.io", kind="ServiceImport"),
            ("InvalidKind", "spec.rules[0].backendRefs[0]"),
        )

    def test_other_namespace(self) -> None:
        """A Service of another namespace that no grant permits, whether it exists or not."""
        self.cluster.write("web", service("web", "web"))
        for name in ("web", "nobody"):
            self.broken(backend(name, namespace="web"), ("RefNotPermitted", "spec.rules[0].backendRefs[0]"))

    def test_external_name(self) -> None:
        """An external name, unless the operator allows these."""
        metadata = {"name": "out", "namespace": INFRA}
        spec = {"type": "ExternalName", "externalName": "a.example.net", "ports": [{"port": 8080}]}
        self.cluster.write("out", {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        self.broken(backend("out"), ("ExternalNameForbidden", "spec.rules[0].backendRefs[0].name"))

    def test_no_backends(self) -> None:
        """A rule without backends, or with an empty list, or only with weights of 0."""
        empty = rule([], match("/empty"))
        omitted = rule([], match("/omitted"))
        del omitted["backendRefs"]
        zero = rule([backend("v1", 0), backend("v2", 0)], match("/zero"))
        snapshot = self.serve(route("none", empty, omitted, zero, rule("v1", match("/fine"))))
        self.expect(
            snapshot,
            (get("a", "/empty"), "500"),
            (get("a", "/omitted"), "500"),
            (get("a", "/zero"), "500"),
            (get("a", "/fine"), "v1"),
        )

    def test_no_endpoints(self) -> None:
        """A Service without endpoints is no mistake: 503, until it has some."""
        self.cluster.write("slow", service("slow", address=""))
        self.expect(self.serve(route("slow", rule("slow"))), (get("a"), "503"))
        self.expect(self.cluster.write("slow", service("slow")), (get("a"), "slow"))

    def test_comes_and_goes(self) -> None:
        """A Service that comes later is used from then on, and one that goes is missed."""
        snapshot = self.cluster.write("routes", route("late", rule("late")))
        self.expect(snapshot, (get("a"), "500"))
        self.expect(self.cluster.write("late", service("late")), (get("a"), "late"))
        self.assertEqual(self.cluster.told(), [])
        self.expect(self.cluster.write("late"), (get("a"), "500"))
        self.assertEqual([reason for _, reason, _ in self.cluster.told()], ["ServiceNotFound"])


class GrantTests(MatchingCase):
    """ReferenceGrants."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster.write("web", service("web", "web"), service("other", "web"))
        self.cluster.write(
            "routes", route("across", rule([backend("web", namespace="web")]), hostnames=("a.test",))
        )

    def test_granted_and_withdrawn(self) -> None:
        """A grant gives access with its change, and takes it with the next."""
        self.expect(self.cluster.write("grant", grant("let", INFRA, "web")), (get("a.test"), "web"))
        self.assertEqual(self.cluster.told(), [])
        self.expect(self.cluster.write("grant"), (get("a.test"), "500"))
        self.assertEqual(self.cluster.told(), [("across", "RefNotPermitted", "spec.rules[0].backendRefs[0]")])

    def test_grants_that_do_not_fit(self) -> None:
        """For another namespace, another kind of routes, another Service, or in another namespace."""
        for wrong in (
            grant("let", "elsewhere", "web"),
            grant("let", INFRA, "web", kind="GRPCRoute"),
            grant("let", INFRA, "web", target="other"),
            grant("let", INFRA, INFRA),
        ):
            self.expect(self.cluster.write("grant", wrong), (get("a.test"), "500"))
        fits = grant("let", INFRA, "web", target="web")
        self.expect(self.cluster.write("grant", fits), (get("a.test"), "web"))

    def test_part_of_a_route(self) -> None:
        """What one rule may not refer to leaves others alone."""
        snapshot = self.cluster.write(
            "routes",
            route(
                "across",
                rule([backend("web", namespace="web")], match("/v2")),
                rule("v1", match("/")),
            ),
        )
        self.expect(snapshot, (get("a", "/v2"), "500"), (get("a", "/"), "v1"))

    def test_mirrored(self) -> None:
        """A mirror's backend needs a grant, too, and costs the rule nothing without one."""
        mirror = {
            "type": "RequestMirror",
            "requestMirror": {"backendRef": backend("web", namespace="web")},
        }
        snapshot = self.cluster.write("routes", route("across", rule("v1", filters=[mirror])))
        self.expect(snapshot, (get("a"), "v1"))
        [(_, reason, field)] = self.cluster.told()
        self.assertEqual(reason, "RefNotPermitted")
        self.assertTrue(field.startswith("spec.rules[0].filters[0].requestMirror.backendRef"))
        snapshot = self.cluster.write("grant", grant("let", INFRA, "web"))
        self.assertEqual(self.cluster.told(), [])
        self.assertIn("web/web:8080", {str(one) for one in snapshot.backends})


class WeightTests(MatchingCase):
    """Backends that share the requests of a rule."""

    def test_shares(self) -> None:
        """Each backend gets its share of all weights, that of 0 nothing."""
        snapshot = self.serve(route("shares", rule([backend("v1", 70), backend("v2", 30), backend("v3", 0)])))
        found = [answer(snapshot, get("a"), chance / 100) for chance in range(100)]
        self.assertEqual({name: found.count(name) for name in found}, {"v1": 70, "v2": 30})

    def test_broken_share(self) -> None:
        """What leads nowhere keeps its share, which is answered 500."""
        self.cluster.write("slow", service("slow", address=""))
        shares = [backend("v1"), backend("nobody"), backend("v1", kind="Other"), backend("slow")]
        snapshot = self.cluster.write("routes", route("shares", rule(shares)))
        found = [answer(snapshot, get("a"), chance / 4) for chance in range(4)]
        self.assertEqual(found, ["v1", "500", "500", "503"])

    def test_too_heavy(self) -> None:
        """A weight above the API's bound counts as that, and is told."""
        snapshot = self.cluster.write(
            "routes", route("heavy", rule([backend("v1", 10**9), backend("v2", 10**6)]))
        )
        self.assertEqual(answer(snapshot, get("a"), 0.6), "v2")
        self.assertEqual(
            self.cluster.told(), [("heavy", "UnsupportedValue", "spec.rules[0].backendRefs[0].weight")]
        )


class ServiceTypeTests(MatchingCase):
    """Services of all sorts, by their EndpointSlices."""

    def test_headless_and_without_selector(self) -> None:
        """A headless Service, one without selector, and slices that somebody made by hand."""
        metadata = {"name": "headless", "namespace": INFRA}
        spec = {"clusterIP": "None", "ports": [{"name": "web", "port": 8080, "targetPort": 3000}]}
        headless = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
        by_hand = endpoints("headless", address="fd00::1")
        by_hand["metadata"]["name"] = "by-hand"
        self.cluster.write("headless", headless, endpoints("headless"), by_hand)
        snapshot = self.serve(route("types", rule("headless")))
        self.expect(snapshot, (get("a"), "headless"))
        [state] = snapshot.backends.values()
        self.assertEqual(
            {(one.address, one.port) for one in state.endpoints}, {("10.1.0.1", 3000), ("fd00::1", 3000)}
        )

    def test_app_protocol(self) -> None:
        """A port whose ``appProtocol`` is h2c is spoken to by HTTP/2."""
        self.cluster.write("h2c", service("h2c", appProtocol="kubernetes.io/h2c"))
        snapshot = self.serve(route("types", rule("h2c", match("/h2c")), rule("v1")))
        settings = {one.name: state.endpoints[0].link_settings for one, state in snapshot.backends.items()}
        self.assertIsNone(settings["v1"])
        self.assertTrue(settings["h2c"] is not None and settings["h2c"].is_http2)


class UnhonoredTests(MatchingCase):
    """What cannot be honored takes no requests, and is told where it stands."""

    def refused(self, found: dict[str, Any], field: str) -> None:
        """Check that a match is refused, and others of the rule are not."""
        snapshot = self.cluster.write("routes", route("odd", rule("v1", found, match("/fine"))))
        self.assertEqual(
            self.cluster.told(), [("odd", "UnsupportedValue", f"spec.rules[0].matches[0].{field}")]
        )
        self.expect(snapshot, (get("a", "/fine"), "v1"), (get("a", "/odd", version="x"), "404"))

    def test_matches(self) -> None:
        """Types, expressions and paths that make no sense."""
        self.refused(match("/odd", "Glob"), "path.type")
        self.refused(match("odd"), "path.value")
        self.refused(match("/odd/../x"), "path.value")
        self.refused(match("/(odd", "RegularExpression"), "path.value")
        self.refused(match("/odd(?=x)", "RegularExpression"), "path.value")
        self.refused(match("/odd", headers={"version": "~(x"}), "headers[0].value")
        self.refused(match("/odd", headers={"no name": "x"}), "headers[0].name")
        self.refused(match("/odd", method="BREW"), "method")

    def test_unread_fields(self) -> None:
        """Fields that nobody here honors are told, and the rest of the rule is served."""
        snapshot = self.cluster.write(
            "routes", route("sticky", rule("v1", sessionPersistence={"sessionName": "x"}))
        )
        self.expect(snapshot, (get("a"), "v1"))
        self.assertEqual(
            self.cluster.told(), [("sticky", "UnsupportedValue", "spec.rules[0].sessionPersistence")]
        )


class RuleTests(MatchingCase):
    """What a rule says besides: filters, times, retries."""

    def test_filters_and_times(self) -> None:
        """They stand in the routes of the rule; a prefix is replaced by path."""
        rewrite = {
            "type": "URLRewrite",
            "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/x"}},
        }
        snapshot = self.serve(
            route(
                "all",
                rule(
                    "v1",
                    match("/a"),
                    match("/b/c"),
                    filters=[rewrite],
                    timeouts={"request": "500ms"},
                    retry={"codes": [503], "attempts": 2},
                ),
            )
        )
        first, second = snapshot.others["gateway *:80"].routes.routes
        self.assertEqual([len(first.filters), len(second.filters)], [1, 1])
        self.assertNotEqual(first.filters, second.filters)
        assert first.timeouts is not None
        self.assertEqual(first.timeouts.request_seconds, 0.5)
        self.assertEqual((first.retries.statuses, first.retries.max_tries), (frozenset({503}), 3))

    def test_filters_of_backends(self) -> None:
        """Backends may have filters of their own, which depend on the path, too."""
        rewrite = {
            "type": "URLRewrite",
            "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/x"}},
        }
        backends = [backend("v1", filters=[rewrite])]
        snapshot = self.serve(route("own", rule(backends, match("/a"), match("/b/c"))))
        first, second = snapshot.others["gateway *:80"].routes.routes
        self.assertNotEqual(first.weighted[0].filters, second.weighted[0].filters)
        self.expect(snapshot, (get("a", "/a"), "v1"))

    def test_refused(self) -> None:
        """A rule that says what makes no sense is refused, and others are not."""
        snapshot = self.cluster.write(
            "routes",
            route("odd", rule("v1", match("/a"), timeouts={"request": "soon"}), rule("v2", match("/b"))),
        )
        self.assertEqual(self.cluster.told(), [("odd", "UnsupportedValue", "spec.rules[0].timeouts.request")])
        routes = snapshot.others["gateway *:80"].routes
        refused, fine = routes.find(b"a", b"/a"), routes.find(b"a", b"/b")
        assert refused is not None and fine is not None
        self.assertEqual([one.name for one in refused.filters], ["refusal"])
        self.assertEqual(fine.filters, ())

    def test_redirect_needs_no_backend(self) -> None:
        """A rule that redirects has no backends, and nothing is told."""
        redirect = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}
        found = rule([], filters=[redirect])
        del found["backendRefs"]
        self.serve(route("redirect", found))


class BoundsTests(MatchingCase):
    """Hostile routes harm themselves alone."""

    def test_too_many_rules(self) -> None:
        """A route with more matches than are served is not served at all, and is told once."""
        self.cluster.write("fine", route("fine", rule("v1")))
        rules = [rule("v2", match(f"/{number}")) for number in range(1025)]
        snapshot = self.cluster.write("routes", route("big", *rules))
        self.assertEqual(self.cluster.told(), [("big", "UnsupportedValue", "spec.rules")])
        self.expect(snapshot, (get("a", "/3"), "v1"))
        snapshot = self.cluster.write("routes", route("big", *rules[:1024]))
        self.expect(snapshot, (get("a", "/3"), "v2"))
        self.assertEqual(self.cluster.told(), [])

    def test_too_many_mirrors(self) -> None:
        """Backends that requests are mirrored to are counted as others are, and none of too many is looked up."""
        self.cluster.write("fine", route("fine", rule("v1")))
        filters = [
            {
                "type": "RequestMirror",
                "requestMirror": {"backendRef": {"name": f"m{at}", "namespace": "other", "port": 8080}},
            }
            for at in range(16)
        ]
        rules = [rule("v2", match(f"/{number}"), filters=filters) for number in range(61)]
        snapshot = self.cluster.write("routes", route("big", *rules))
        self.assertEqual(self.cluster.told(), [("big", "UnsupportedValue", "spec.rules")])
        self.expect(snapshot, (get("a", "/3"), "v1"))

    def test_too_many_hosts(self) -> None:
        """A route whose matches are for more hosts of listeners than can be served is not served at all, and is told once."""
        listeners = [listener(f"l{at}", f"*.l{at}.test") for at in range(64)]
        self.cluster.write("gateway", gateway("main", *listeners))
        rules = [rule("v1", match(f"/{number}")) for number in range(1024)]
        snapshot = self.cluster.write("routes", route("big", *rules))
        self.expect(snapshot, (get("a.l3.test", "/3"), "v1"))
        hostnames = [f"{name}.l{at}.test" for name in "ab" for at in range(33)]
        snapshot = self.cluster.write("routes", route("big", *rules, hostnames=hostnames))
        self.assertEqual(self.cluster.told(), [("big", "UnsupportedValue", "spec.rules")])
        self.expect(snapshot, (get("a.l3.test", "/3"), "404"))

    def test_read_in_steps(self) -> None:
        """A route with thousands of conditions is read in steps, a few hundred of them each."""
        headers = {f"h{number}": "x" for number in range(16)}
        rules = [rule("v1", match(f"/{number}", headers=headers)) for number in range(500)]
        self.cluster.write("routes", route("big", *rules))
        self.assertGreater(self.cluster.steps, 500 * 16 / 120)

    def test_expressions_in_steps(self) -> None:
        """Each regular expression is a step."""
        rules = [rule("v1", match(f"/{number}.*", "RegularExpression")) for number in range(100)]
        self.cluster.write("routes", route("big", *rules))
        self.assertGreater(self.cluster.steps, 100)

    def test_many_conditions_for_a_path(self) -> None:
        """Of one host and path a thousand matches are served that have conditions, the first ones in precedence."""
        rules = [rule("v1", match("/", headers={"a": str(number)})) for number in range(900)]
        old = route("old", *rules, created="2026-01-01T00:00:00Z")
        young = route("young", *rules, created="2026-01-02T00:00:00Z")
        snapshot = self.cluster.write("routes", old, young, route("rest", rule("v2")))
        told = self.cluster.told()
        self.assertEqual((len(told), {one[:2] for one in told}), (776, {("young", "UnsupportedValue")}))
        self.expect(snapshot, (get("a", a="899"), "v1"), (get("a", a="900"), "v2"))
        snapshot = self.cluster.write("routes", young, route("rest", rule("v2")))
        self.assertEqual(self.cluster.told(), [])

    def test_large_host_in_steps(self) -> None:
        """The routes of a host that has thousands are put in order in steps."""
        routes = [
            route(f"r{one}", *(rule("v1", match(f"/{one}/{number}")) for number in range(500)))
            for one in range(5)
        ]
        self.serve(*routes)
        more = route("more", rule("v2", match("/more")))
        snapshot = self.cluster.write("more", more)
        self.assertGreater(self.cluster.steps, 2500 / 200)
        self.expect(snapshot, (get("a", "/more"), "v2"), (get("a", "/4/499"), "v1"))
