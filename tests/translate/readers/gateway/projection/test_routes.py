"""Tests of the projection of routes: defaults of the API, and what a malformed part costs."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.object_fields import RawObject
from ingress.translate.readers.gateway.objects.names import (
    GROUP,
    GRPC_ROUTE,
    HTTP_ROUTE,
    TCP_ROUTE,
    TLS_ROUTE,
    UDP_ROUTE,
    UNREADABLE,
    ObjectReference,
)
from ingress.translate.readers.gateway.objects.routes import (
    CORS,
    BackendObject,
    FilterEntry,
    GRPCMatch,
    GRPCRoute,
    GRPCRule,
    HeaderEdits,
    HTTPMatch,
    HTTPRoute,
    HTTPRule,
    MethodMatch,
    NamedMatch,
    ParentReference,
    PathEdit,
    PathMatch,
    RequestMirror,
    RequestRedirect,
    Retry,
    RouteBackend,
    RouteFilter,
    StreamRule,
    TCPRoute,
    TLSRoute,
    UnreadFilter,
    URLRewrite,
)
from ingress.translate.readers.gateway.projection.parts import MOST_ENTRIES, MOST_PROBLEMS
from tests.translate.readers.gateway.projection.raw_gateway_objects import projection_of, told_of, value_of

KEY = ObjectKey("shop", "web")
MAIN = ParentReference(ObjectReference(GROUP, "Gateway", "", "main"))
RULE = "spec.rules[0]"
WEB = BackendObject(ObjectReference("", "Service", "", "web"), 80)


def rule_of(rule: object) -> tuple[list[str], HTTPRule]:
    """What is told of an HTTPRoute with one rule, and that rule."""
    fields, value = told_of(HTTP_ROUTE, {"rules": [rule]})
    assert isinstance(value, HTTPRoute)
    (found,) = value.rules
    return fields, found


def match_of(match: object) -> tuple[list[str], HTTPMatch]:
    """What is told of a match of an HTTPRoute, and the match."""
    fields, rule = rule_of({"matches": [match]})
    (found,) = rule.matches
    return [field.removeprefix(f"{RULE}.matches[0]") for field in fields], found


def filter_of(entry: object) -> tuple[list[str], RouteFilter]:
    """What is told of a filter, and the filter."""
    fields, rule = rule_of({"filters": [entry]})
    (found,) = rule.filters
    return [field.removeprefix(f"{RULE}.filters[0]") for field in fields], found.filter


class HTTPRouteTests(SynchronousTestCase):
    """Whole HTTPRoutes."""

    def test_defaults(self) -> None:
        """What is left out is what the API fills in: Gateways, Services, the path ``/``, a weight of one."""
        spec = {
            "parentRefs": [{"name": "main"}],
            "rules": [{"backendRefs": [{"name": "web", "port": 80}]}],
        }
        expected = HTTPRoute(
            KEY,
            "",
            (MAIN,),
            (),
            (HTTPRule(RULE, backends=(RouteBackend(WEB),)),),
        )
        self.assertEqual(value_of(HTTP_ROUTE, spec), expected)
        self.assertEqual(expected.rules[0].matches, (HTTPMatch(PathMatch("PathPrefix", "/")),))

    def test_no_rules(self) -> None:
        """Without rules there is one for all paths, which has no backend."""
        cases: tuple[object, ...] = ({"parentRefs": []}, {"parentRefs": [], "rules": None})
        for spec in cases:
            value = value_of(HTTP_ROUTE, spec)
            assert isinstance(value, HTTPRoute)
            self.assertEqual(value.rules, (HTTPRule(RULE),))

    def test_everything(self) -> None:
        """All that is honored anywhere is kept."""
        rule: dict[str, Any] = {
            "name": "one",
            "matches": [
                {
                    "path": {"type": "Exact", "value": "/a"},
                    "headers": [{"name": "X", "value": "1"}],
                    "queryParams": [{"name": "q", "type": "RegularExpression", "value": "a+"}],
                    "method": "GET",
                }
            ],
            "backendRefs": [
                {
                    "group": "g",
                    "kind": "K",
                    "namespace": "n",
                    "name": "b",
                    "weight": 0,
                    "filters": [{"type": "URLRewrite", "urlRewrite": {"hostname": "h"}}],
                }
            ],
            "timeouts": {"request": "1s", "backendRequest": "500ms"},
            "retry": {"codes": [500, 503], "attempts": 2, "backoff": "10ms"},
            "sessionPersistence": {"type": "Cookie"},
        }
        spec = {
            "parentRefs": [
                {
                    "group": "",
                    "kind": "Service",
                    "namespace": "n",
                    "name": "p",
                    "sectionName": "s",
                    "port": 8080,
                }
            ],
            "hostnames": ["A.example.com", "*.b.example.com"],
            "rules": [rule],
        }
        at = f"{RULE}.backendRefs[0]"
        expected = HTTPRule(
            RULE,
            (
                HTTPMatch(
                    PathMatch("Exact", "/a"),
                    (NamedMatch("X", "Exact", "1"),),
                    (NamedMatch("q", "RegularExpression", "a+"),),
                    "GET",
                ),
            ),
            (),
            (
                RouteBackend(
                    BackendObject(ObjectReference("g", "K", "n", "b")),
                    0,
                    (FilterEntry("URLRewrite", URLRewrite("h"), f"{at}.filters[0]"),),
                ),
            ),
            "1s",
            "500ms",
            Retry((500, 503), 2, "10ms"),
            ("sessionPersistence",),
        )
        parent = ParentReference(ObjectReference("", "Service", "n", "p"), "s", 8080)
        hosts = ("A.example.com", "*.b.example.com")
        value = value_of(HTTP_ROUTE, spec)
        self.assertEqual(value, HTTPRoute(KEY, "", (parent,), hosts, (expected,)))

    def test_age(self) -> None:
        """The time at which it was made is kept, for who comes first."""
        raw = {"metadata": {"name": "web", "namespace": "shop", "creationTimestamp": "2026-01-02T03:04:05Z"}}
        value = projection_of(HTTP_ROUTE, {"parentRefs": []}, **raw).value
        assert isinstance(value, HTTPRoute)
        self.assertEqual((value.created, value.owner.created), ("2026-01-02T03:04:05Z",) * 2)

    def test_parents_keep_their_places(self) -> None:
        """A parent that cannot be read, or whose section or port cannot, attaches to nothing, and the next is still the next."""
        for lost in (7, {}, {"name": ""}, {"name": "x", "sectionName": 1}, {"name": "x", "port": "80"}):
            fields, value = told_of(HTTP_ROUTE, {"parentRefs": [lost, {"name": "main"}]})
            assert isinstance(value, HTTPRoute)
            self.assertEqual([one.parent for one in value.parents], [UNREADABLE, MAIN.parent], lost)
            self.assertTrue(all(field.startswith("spec.parentRefs[0]") for field in fields), fields)
            self.assertEqual(len(fields), 1)

    def test_hostnames(self) -> None:
        """Hostnames that cannot be read are dropped; a route of which none is left is nobody's, or it would have all hosts."""
        _, value = told_of(HTTP_ROUTE, {"hostnames": ["a.example.com", 7]})
        assert isinstance(value, HTTPRoute)
        self.assertEqual(value.hostnames, ("a.example.com",))
        nothing: tuple[object, ...] = ([7], ["a\0b"], "a.example.com", {})
        for lost in nothing:
            self.assertIsNone(told_of(HTTP_ROUTE, {"hostnames": lost})[1], lost)

    def test_malformed(self) -> None:
        """An object without usable spec is nobody's, and rules that are none match nothing."""
        specs: tuple[object, ...] = (None, {}, 7, [])
        for spec in specs:
            self.assertIsNone(told_of(HTTP_ROUTE, spec)[1])
        several: tuple[object, ...] = (7, {}, "x", [7, None, []])
        for rules in several:
            fields, value = told_of(HTTP_ROUTE, {"rules": rules})
            assert isinstance(value, HTTPRoute)
            self.assertEqual(value.rules, ())
            self.assertTrue(fields)

    def test_not_honored(self) -> None:
        """That routes are attached to Gateways which they do not name is told, and not done."""
        (problem,) = projection_of(HTTP_ROUTE, {"useDefaultGateways": "All"}).problems
        self.assertEqual(
            (problem.reason, problem.field), (Reason.UNSUPPORTED_VALUE, "spec.useDefaultGateways")
        )

    def test_too_large(self) -> None:
        """An object of more entries than anybody needs has no rules, and stays, so that its status can say so."""
        many = [{"matches": [{"headers": [{"name": "a", "value": "b"}] * 100}] * 100}] * 10
        found = projection_of(HTTP_ROUTE, {"parentRefs": [{"name": "main"}], "rules": many})
        (problem,) = found.problems
        self.assertEqual((problem.reason, problem.field), (Reason.UNSUPPORTED_VALUE, "spec.rules"))
        self.assertIn(str(MOST_ENTRIES), problem.message)
        self.assertEqual(found.value, HTTPRoute(KEY, "", (MAIN,)))

    def test_many_problems(self) -> None:
        """Of an object of which everything is wrong, a bounded part is told."""
        found = projection_of(HTTP_ROUTE, {"rules": [{"backendRefs": [7] * 10_000}]})
        self.assertEqual(len(found.problems), MOST_PROBLEMS)

    def test_equal_values_are_shared(self) -> None:
        """Ten thousand routes of one Gateway have one copy of what they all say."""
        spec = {"parentRefs": [{"name": "main"}], "rules": [{"matches": [{"path": {"type": "PathPrefix"}}]}]}
        one, other = value_of(HTTP_ROUTE, spec), value_of(HTTP_ROUTE, spec)
        assert isinstance(one, HTTPRoute) and isinstance(other, HTTPRoute)
        self.assertIs(one.parents[0], other.parents[0])
        self.assertIs(one.rules[0].matches[0], other.rules[0].matches[0])


class MatchTests(SynchronousTestCase):
    """Matches of HTTPRoutes."""

    def test_none(self) -> None:
        """An empty list of matches means what none means: every path."""
        rules: tuple[object, ...] = ({}, {"matches": []}, {"matches": None})
        for rule in rules:
            self.assertEqual(rule_of(rule), ([], HTTPRule(RULE)))

    def test_defaults(self) -> None:
        """A path without type is a prefix, one without value the root, and what headers have is compared as it is."""
        self.assertEqual(match_of({"path": {"type": "Exact"}}), ([], HTTPMatch(PathMatch("Exact", "/"))))
        self.assertEqual(match_of({"path": {"value": "/a"}}), ([], HTTPMatch(PathMatch("PathPrefix", "/a"))))
        self.assertEqual(
            match_of({"headers": [{"name": "x", "value": "1"}]}),
            ([], HTTPMatch(headers=(NamedMatch("x", "Exact", "1"),))),
        )

    def test_broken(self) -> None:
        """A match that cannot be read, in whatever part, is met by no request."""
        for match, field in (
            (7, ""),
            ({"path": 7}, ".path"),
            ({"path": {"value": 7}}, ".path.value"),
            ({"path": {"type": []}}, ".path.type"),
            ({"method": 7}, ".method"),
            ({"headers": 7}, ".headers"),
            ({"headers": [7]}, ".headers[0]"),
            ({"headers": [{"name": "x"}]}, ".headers[0].value"),
            ({"headers": [{"value": "x"}]}, ".headers[0].name"),
            ({"queryParams": [{"name": "x", "value": "\n"}]}, ".queryParams[0].value"),
            ({"queryParams": [{"name": "x", "value": "", "type": 1}]}, ".queryParams[0].type"),
            ({"header": [{"name": "x", "value": "1"}]}, ".header"),
        ):
            fields, found = match_of(match)
            self.assertEqual(fields, [field], match)
            self.assertTrue(found.is_broken, match)

    def test_no_list(self) -> None:
        """Matches that are no list are one that no request meets, and not the one that all do."""
        fields, rule = rule_of({"matches": {"path": {}}})
        self.assertEqual((fields, rule.matches), ([f"{RULE}.matches"], (HTTPMatch(is_broken=True),)))


class BackendTests(SynchronousTestCase):
    """Backends of rules."""

    def test_lost_backends_keep_their_share(self) -> None:
        """One that cannot be read leads nowhere, with the weight that it has, and the next is still the next."""
        web = {"name": "web", "port": 80}
        for lost in (7, {}, {"name": 1}, {"name": "x", "port": "80"}, {"name": "x", "kind": 7}):
            _, rule = rule_of({"backendRefs": [lost, web]})
            nowhere, other = rule.backends
            self.assertEqual((nowhere.backend, nowhere.weight), (BackendObject(UNREADABLE), 1), lost)
            self.assertEqual(other.backend, WEB)
        _, rule = rule_of({"backendRefs": [{"name": "web", "port": 80, "weight": "9"}]})
        self.assertEqual(rule.backends[0].backend.target, UNREADABLE)
        _, rule = rule_of({"backendRefs": 7})
        self.assertEqual(rule.backends[0].backend.target, UNREADABLE)

    def test_same_backends(self) -> None:
        """Rules that lead to the same have one copy of that; what is told of backends, and their filters, is each rule's own."""
        web: RawObject = {"name": "web", "port": 80}
        deep: RawObject = {"name": "web", "port": 80, "filters": []}
        for _ in range(2000):
            deep = {"name": "web", "port": 80, "unknown": deep}
        edits: RawObject = {"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": ["x"]}}
        for same, is_shared in (([web], True), ([{**web, "filters": [edits]}], False), ([deep], False)):
            _, value = told_of(HTTP_ROUTE, {"rules": [{"backendRefs": same}, {"backendRefs": [*same]}]})
            assert isinstance(value, HTTPRoute)
            one, other = value.rules
            self.assertEqual(one.backends is other.backends, is_shared)
            self.assertEqual(other.backends[0].backend, WEB)
            for at, rule in enumerate(value.rules):
                for entry in rule.backends[0].filters:
                    self.assertEqual(entry.field, f"spec.rules[{at}].backendRefs[0].filters[0]")
        fields, value = told_of(HTTP_ROUTE, {"rules": [{"backendRefs": [{"name": 7}]}] * 2})
        self.assertEqual(fields, [f"spec.rules[{at}].backendRefs[0].name" for at in range(2)])
        _, value = told_of(HTTP_ROUTE, {"rules": [{"backendRefs": [web]}, {"backendRefs": [deep]}]})
        assert isinstance(value, HTTPRoute)
        self.assertEqual([len(rule.backends) for rule in value.rules], [1, 1])

    def test_retry(self) -> None:
        """What of ``retry`` cannot be read is not there."""
        fields, rule = rule_of({"retry": {"codes": [500, True, "x", 10**9], "attempts": "x", "backoff": 7}})
        self.assertEqual(rule.retry, Retry((500,), None, ""))
        self.assertEqual(len(fields), 5)


class FilterTests(SynchronousTestCase):
    """Filters of rules."""

    def test_each(self) -> None:
        """Each sort of filter is kept, with the defaults of the API."""
        cases: tuple[tuple[str, str, object, RouteFilter], ...] = (
            (
                "RequestHeaderModifier",
                "requestHeaderModifier",
                {"set": [{"name": "a", "value": "1"}], "add": [{"name": "b", "value": ""}], "remove": ["c"]},
                HeaderEdits((("a", "1"),), (("b", ""),), ("c",)),
            ),
            ("ResponseHeaderModifier", "responseHeaderModifier", {"remove": ["c"]}, HeaderEdits(drop=("c",))),
            ("RequestRedirect", "requestRedirect", {}, RequestRedirect()),
            (
                "RequestRedirect",
                "requestRedirect",
                {
                    "scheme": "https",
                    "hostname": "h",
                    "port": 8443,
                    "statusCode": 308,
                    "path": {"type": "ReplaceFullPath", "replaceFullPath": "/x"},
                },
                RequestRedirect("https", "h", PathEdit("ReplaceFullPath", "/x"), 8443, 308),
            ),
            (
                "URLRewrite",
                "urlRewrite",
                {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": ""}},
                URLRewrite("", PathEdit("ReplacePrefixMatch", "")),
            ),
            (
                "RequestMirror",
                "requestMirror",
                {"backendRef": {"name": "web", "port": 80}},
                RequestMirror(WEB),
            ),
            (
                "RequestMirror",
                "requestMirror",
                {"backendRef": {"name": "web", "port": 80}, "percent": 0},
                RequestMirror(WEB, 0, 100),
            ),
            (
                "RequestMirror",
                "requestMirror",
                {"backendRef": {"name": "web", "port": 80}, "fraction": {"numerator": 3}},
                RequestMirror(WEB, 3, 100),
            ),
            ("CORS", "cors", {}, CORS()),
            (
                "CORS",
                "cors",
                {
                    "allowOrigins": ["https://a"],
                    "allowCredentials": True,
                    "allowMethods": ["*"],
                    "allowHeaders": ["x"],
                    "exposeHeaders": ["y"],
                    "maxAge": 60,
                },
                CORS(("https://a",), True, ("*",), ("x",), ("y",), 60),
            ),
        )
        for kind, name, config, expected in cases:
            self.assertEqual(filter_of({"type": kind, name: config}), ([], expected))

    def test_unread(self) -> None:
        """A filter of which any part cannot be read stays, as one that cannot."""
        mirror = {"backendRef": {"name": "web", "port": 80}}
        for entry, field in (
            (7, ""),
            ({}, ".type"),
            ({"type": 7}, ".type"),
            ({"type": "CORS"}, ".cors"),
            ({"type": "CORS", "cors": 7}, ".cors"),
            ({"type": "CORS", "cors": {"allowOrigins": [7]}}, ".cors.allowOrigins[0]"),
            ({"type": "CORS", "cors": {"allowCredentials": "true"}}, ".cors.allowCredentials"),
            ({"type": "CORS", "cors": {"maxAge": 1.5}}, ".cors.maxAge"),
            ({"type": "CORS", "cors": {}, "urlRewrite": {}}, ".urlRewrite"),
            (
                {"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"value": "1"}]}},
                ".requestHeaderModifier.set[0].name",
            ),
            (
                {
                    "type": "RequestHeaderModifier",
                    "requestHeaderModifier": {"set": [{"name": "a", "value": "\r\n"}]},
                },
                ".requestHeaderModifier.set[0].value",
            ),
            (
                {"type": "RequestHeaderModifier", "requestHeaderModifier": {"add": 7}},
                ".requestHeaderModifier.add",
            ),
            ({"type": "RequestMirror", "requestMirror": {}}, ".requestMirror.backendRef.name"),
            (
                {"type": "RequestMirror", "requestMirror": {**mirror, "percent": 1, "fraction": {}}},
                ".requestMirror.fraction",
            ),
            (
                {"type": "RequestMirror", "requestMirror": {**mirror, "fraction": {}}},
                ".requestMirror.fraction.numerator",
            ),
            (
                {"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplaceFullPath"}}},
                ".urlRewrite.path.replaceFullPath",
            ),
            (
                {"type": "RequestRedirect", "requestRedirect": {"statusCode": "301"}},
                ".requestRedirect.statusCode",
            ),
        ):
            fields, found = filter_of(entry)
            self.assertEqual(fields, [field], entry)
            self.assertIsInstance(found, UnreadFilter, entry)

    def test_unknown(self) -> None:
        """Of a type that is not known, and of extensions, the type alone is kept."""
        for kind in ("ExtensionRef", "ExternalAuth", "New"):
            self.assertEqual(filter_of({"type": kind, "extensionRef": {}}), ([], UnreadFilter(kind)))

    def test_no_list(self) -> None:
        """Filters that are no list are one that cannot be read."""
        fields, rule = rule_of({"filters": {"type": "CORS"}})
        self.assertEqual(fields, [f"{RULE}.filters"])
        self.assertEqual(rule.filters, (FilterEntry("", UnreadFilter(""), f"{RULE}.filters"),))


class OtherRouteTests(SynchronousTestCase):
    """GRPCRoutes, TLSRoutes and TCPRoutes."""

    def test_grpc(self) -> None:
        """A GRPCRoute matches methods; what of a match cannot be read is met by no request."""
        spec = {
            "parentRefs": [{"name": "main"}],
            "hostnames": ["a.example.com"],
            "rules": [
                {
                    "matches": [
                        {"method": {"service": "s"}, "headers": [{"name": "x", "value": "1"}]},
                        {"method": {"type": "RegularExpression", "method": "m.*"}},
                    ],
                    "backendRefs": [{"name": "web", "port": 80}],
                },
                {},
            ],
        }
        matches = (
            GRPCMatch(MethodMatch("Exact", "s"), (NamedMatch("x", "Exact", "1"),)),
            GRPCMatch(MethodMatch("RegularExpression", "", "m.*")),
        )
        rules = (
            GRPCRule(RULE, matches, (), (RouteBackend(WEB),)),
            GRPCRule("spec.rules[1]"),
        )
        self.assertEqual(value_of(GRPC_ROUTE, spec), GRPCRoute(KEY, "", (MAIN,), ("a.example.com",), rules))
        broken: tuple[object, ...] = (
            7,
            {"method": 7},
            {"method": {"service": []}},
            {"headers": 7},
            {"methods": {}},
        )
        for match in broken:
            fields, value = told_of(GRPC_ROUTE, {"rules": [{"matches": [match]}]})
            assert isinstance(value, GRPCRoute)
            self.assertTrue(value.rules[0].matches[0].is_broken, match)
            self.assertEqual(len(fields), 1, match)

    def test_no_default_rule(self) -> None:
        """Only HTTPRoutes have a rule that nobody wrote."""
        value = value_of(GRPC_ROUTE, {"parentRefs": []})
        assert isinstance(value, GRPCRoute)
        self.assertEqual(value.rules, ())

    def test_streams(self) -> None:
        """TLSRoutes and TCPRoutes have backends alone."""
        spec = {
            "parentRefs": [{"name": "main"}],
            "rules": [{"name": "r", "backendRefs": [{"name": "web", "port": 80}]}],
        }
        rules = (StreamRule(RULE, (RouteBackend(WEB),)),)
        self.assertEqual(value_of(TCP_ROUTE, spec), TCPRoute(KEY, "", (MAIN,), rules))
        hosts = {"hostnames": ["a.example.com"]}
        self.assertEqual(
            value_of(TLS_ROUTE, {**spec, **hosts}), TLSRoute(KEY, "", (MAIN,), ("a.example.com",), rules)
        )

    def test_names_of_rules(self) -> None:
        """What a rule is called changes nothing, and so is no change of its route."""
        for kind in (HTTP_ROUTE, GRPC_ROUTE, TLS_ROUTE, TCP_ROUTE, UDP_ROUTE):
            backends = [{"name": "web", "port": 80}]
            one, other = (
                projection_of(kind, {"parentRefs": [], "rules": [{"name": name, "backendRefs": backends}]})
                for name in ("one", "other")
            )
            self.assertEqual(one, other, kind)
