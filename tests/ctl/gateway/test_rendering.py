"""Ingresses as objects of the Gateway API: what each annotation becomes, and what is said of the rest."""

from itertools import product
from typing import Any

import yaml
from attrs import evolve

from ingress.ctl.gateway.rendering import render_gateway
from ingress.ctl.gateway.rendering_values import GatewayOptions, Json
from ingress.ctl.gateway.text import json_of, yaml_of
from ingress.ctl.inputs.controller_options import options_from
from ingress.model.cluster.objects import ObjectKey
from ingress.model.upstream.backends import BackendReference
from ingress.options.option import DEFAULTS
from tests.ctl.gateway.gateway_case import GatewayCase, given_by, ingress, service
from tests.ctl.gateway.model import rule_of
from tests.ctl.gateway.schemas import faults
from tests.translate import golden

OPEN: dict[str, Any] = {"ssl_redirect": "false"}
GUARDS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"whitelist_source_range": "10.0.0.0/8"}, "address-ranges"),
    ({"auth_url": "https://auth.example.com/check"}, "external-auth"),
    ({"auth_type": "basic", "auth_secret": "users"}, "guard-missing"),
    ({"enable_modsecurity": "true"}, "guard-missing"),
    ({"server_snippet": "deny all;"}, "snippet-access"),
    ({"configuration_snippet": "if ($http_x_token = '') { return 403; }"}, "configuration-snippet"),
)
HEADERS: tuple[tuple[dict[str, Any], Json], ...] = (
    ({"canary_by_header_value": "yes"}, {"name": "x-next", "value": "yes"}),
    (
        {"canary_by_header_pattern": "y.*"},
        {"type": "RegularExpression", "name": "x-next", "value": "(?s:.*)(?:y.*)(?s:.*)"},
    ),
)


def filters(rule: Json) -> dict[str, Any]:
    """The filters of *rule*, what each says by its type."""
    return {
        one["type"]: next(value for key, value in one.items() if key != "type")
        for one in rule.get("filters", ())
    }


class PathTests(GatewayCase):
    """Hosts and paths."""

    def test_each_type_of_path(self) -> None:
        """Exact stays exact; a prefix and what is up to the implementation are prefixes."""
        for path_type, kind in (
            ("Exact", "Exact"),
            ("Prefix", "PathPrefix"),
            ("ImplementationSpecific", "PathPrefix"),
        ):
            rule = self.rule(ingress(paths=("/cart",), path_type=path_type))
            self.assertEqual(rule["matches"], [{"path": {"type": kind, "value": "/cart"}}])
            self.assertEqual(rule["backendRefs"], [{"name": "web", "port": 80}])

    def test_paths_of_one_backend_share_a_rule_of_eight_matches(self) -> None:
        """Forty of them are five rules."""
        rules = self.rules(self.render(ingress(paths=tuple(f"/p{number}" for number in range(40)))))
        self.assertEqual([len(rule["matches"]) for rule in rules], [8] * 5)

    def test_a_route_has_sixteen_rules_and_the_next_has_the_rest(self) -> None:
        """All of them are there, in routes of different names."""
        paths = [
            {
                "path": f"/p{number:02}",
                "pathType": "Prefix",
                "backend": {"service": {"name": f"s{number}", "port": {"number": 80}}},
            }
            for number in range(40)
        ]
        web = ingress()
        web["spec"]["rules"][0]["http"]["paths"] = paths
        routes = self.of_kind(self.render(web), "HTTPRoute")
        self.assertEqual([len(one["spec"]["rules"]) for one in routes], [16, 16, 8])
        self.assertEqual([one["metadata"]["name"] for one in routes], ["web-1", "web-2", "web-3"])

    def test_a_regular_expression(self) -> None:
        """It stays one, in upper and lower case, and whatever follows; that its order is not known is said."""
        rendering = self.render(
            ingress(paths=("/v[0-9]/items",), path_type="ImplementationSpecific", use_regex="true")
        )
        (rule,) = self.rules(rendering)
        self.assertEqual(
            rule["matches"], [{"path": {"type": "RegularExpression", "value": "(?i)/v[0-9]/items.*"}}]
        )
        self.assertEqual(self.unsaid(rendering), {("path '/v[0-9]/items'", "differs")})

    def test_an_expression_that_means_all_below_a_path_is_a_prefix(self) -> None:
        """Prefixes have an order that every gateway keeps."""
        for path, prefix in (("/api(/|$)(.*)", "/api"), ("/(.*)", "/"), ("/api/.*", "/api")):
            rule = self.rule(ingress(paths=(path,), path_type="ImplementationSpecific", use_regex="true"))
            self.assertEqual(rule["matches"], [{"path": {"type": "PathPrefix", "value": prefix}}])

    def test_an_expression_that_is_not_run_keeps_its_paths_closed(self) -> None:
        """Without a rule of its own its requests would go to what else takes them."""
        rendering = self.render(
            ingress(paths=("/admin(?!/open)", "/"), path_type="ImplementationSpecific", use_regex="true")
        )
        closed = [one for one in self.rules(rendering) if "backendRefs" not in one]
        self.assertEqual([one["matches"][0]["path"]["value"] for one in closed], ["(?i)(?:/admin).*"])
        self.assertIn(("regex-missing", "closed"), self.unsaid(rendering))

    def test_wildcards_of_many_labels_are_told(self) -> None:
        """The Gateway API has no other."""
        rendering = self.render(ingress(host="*.example.com"))
        self.assertIn("a wildcard is one label today", " ".join(rendering.notes))

    def test_a_host_without_all_paths_is_kept_apart_from_a_wildcard(self) -> None:
        """Its other paths are nobody's, and so are the listeners told that need to be kept apart."""
        rendering = self.render(
            ingress(paths=("/cart",)), ingress("wide", host="*.example.com", created="2026-02-01T00:00:00Z")
        )
        self.assertIsNone(rule_of(rendering.objects, "http", "shop.example.com", "/other"))
        self.assertIsNotNone(rule_of(rendering.objects, "http", "any.example.com", "/other"))
        self.assertIn("shop.example.com has no path for is 404", " ".join(rendering.notes))

    def test_a_default_backend_of_an_ingress(self) -> None:
        """It takes what no rule of its hosts takes."""
        web = ingress(paths=("/cart",))
        web["spec"]["defaultBackend"] = {"service": {"name": "rest", "port": {"number": 81}}}
        rendering = self.render(web)
        rule = rule_of(rendering.objects, "http", "shop.example.com", "/other")
        self.assertEqual(rule and rule["backendRefs"], [{"name": "rest", "port": 81}])

    def test_the_default_backend_of_the_controller(self) -> None:
        """It has a route in its own namespace."""
        translating = evolve(
            DEFAULTS.translate, default_backend_service=BackendReference("system", "pages", 8080)
        )
        rendering = self.render(ingress(paths=("/cart",)), settings=evolve(DEFAULTS, translate=translating))
        rule = rule_of(rendering.objects, "http", "elsewhere.test", "/")
        self.assertEqual(rule and rule["backendRefs"], [{"name": "pages", "port": 8080}])

    def test_a_port_by_name_is_that_of_its_service(self) -> None:
        """Without the Service its number is not known, so nothing is served, which is told."""
        self.assertEqual(
            self.rule(ingress(port="http"), service("web", http=8080))["backendRefs"],
            [{"name": "web", "port": 8080}],
        )
        rendering = self.render(ingress(port="http"))
        self.assertNotIn("backendRefs", self.rules(rendering)[0])
        self.assertIn(("backend shop/web:http", "closed"), self.unsaid(rendering))


class TlsTests(GatewayCase):
    """Certificates, and redirects to HTTPS."""

    def test_a_host_with_a_certificate_has_a_listener_and_redirects(self) -> None:
        """Requests in the clear are sent to HTTPS, and the Secret of another namespace is granted."""
        rendering = self.render(ingress(secret="shop-tls"))
        (gateway,) = self.of_kind(rendering, "Gateway")
        listener = gateway["spec"]["listeners"][1]
        self.assertEqual((listener["hostname"], listener["protocol"]), ("shop.example.com", "HTTPS"))
        reference = {"kind": "Secret", "name": "shop-tls", "namespace": "shop"}
        self.assertEqual(listener["tls"], {"mode": "Terminate", "certificateRefs": [reference]})
        (grant,) = self.of_kind(rendering, "ReferenceGrant")
        self.assertEqual(grant["spec"]["to"], [{"group": "", "kind": "Secret", "name": "shop-tls"}])
        in_clear = rule_of(rendering.objects, "http", "shop.example.com", "/")
        self.assertEqual(filters(in_clear or {}), {"RequestRedirect": {"scheme": "https", "statusCode": 308}})
        secured = rule_of(rendering.objects, "https", "shop.example.com", "/")
        self.assertIn("Strict-Transport-Security", str(filters(secured or {})))

    def test_a_gateway_in_the_namespace_of_the_secret_needs_no_grant(self) -> None:
        """The option says where it is."""
        rendering = self.render(ingress(secret="shop-tls"), gateway=ObjectKey("shop", "edge"))
        self.assertEqual(self.of_kind(rendering, "ReferenceGrant"), [])

    def test_a_host_of_a_wildcards_certificate(self) -> None:
        """Its listener has that Secret."""
        web = ingress()
        web["spec"]["tls"] = [{"hosts": ["*.example.com"], "secretName": "wide"}]
        (gateway,) = self.of_kind(self.render(web), "Gateway")
        listener = gateway["spec"]["listeners"][1]
        self.assertEqual(listener["hostname"], "shop.example.com")
        self.assertEqual(listener["tls"]["certificateRefs"][0]["name"], "wide")

    def test_without_redirect_both_listeners_have_the_route(self) -> None:
        """As long as nothing differs between them."""
        rendering = self.render(
            ingress(secret="shop-tls", **OPEN),
            settings=evolve(DEFAULTS, translate=evolve(DEFAULTS.translate, strict_transport=None)),
        )
        (route,) = self.of_kind(rendering, "HTTPRoute")
        sections = [one["sectionName"] for one in route["spec"]["parentRefs"]]
        self.assertEqual(sections, ["http", "https-shop-example-com"])

    def test_seventy_hosts_take_two_gateways(self) -> None:
        """A Gateway has 64 listeners; that there are two addresses is told, and each host is found."""
        rendering = self.render(
            *(ingress(f"web-{number}", host=f"h{number}.example.com", secret="tls") for number in range(70))
        )
        gateways = self.of_kind(rendering, "Gateway")
        self.assertEqual([len(one["spec"]["listeners"]) for one in gateways], [64, 8])
        self.assertIn("there are 2, each with an address of its own", " ".join(rendering.notes))
        for number in (0, 69):
            rule = rule_of(rendering.objects, "https", f"h{number}.example.com", "/")
            self.assertEqual(rule and rule["backendRefs"][0]["name"], f"web-{number}")

    def test_tls_to_backends_is_a_policy(self) -> None:
        """That it checks certificates, which are not checked today, is told."""
        rendering = self.render(ingress(port=443, backend_protocol="HTTPS"), service("web", https=443))
        (policy,) = self.of_kind(rendering, "BackendTLSPolicy")
        self.assertEqual(
            policy["spec"],
            {
                "targetRefs": [{"group": "", "kind": "Service", "name": "web", "sectionName": "https"}],
                "validation": {"wellKnownCACertificates": "System", "hostname": "web.shop.svc"},
            },
        )
        self.assertIn(("backend-protocol", "differs"), self.unsaid(rendering))

    def test_tls_that_passes_through_is_a_tls_route(self) -> None:
        """It has a listener of its own protocol."""
        translating = evolve(DEFAULTS.translate, ssl_passthrough=True)
        rendering = self.render(
            ingress(port=443, ssl_passthrough="true"), settings=evolve(DEFAULTS, translate=translating)
        )
        (route,) = self.of_kind(rendering, "TLSRoute")
        self.assertEqual(route["spec"]["hostnames"], ["shop.example.com"])
        self.assertEqual(route["spec"]["rules"], [{"backendRefs": [{"name": "web", "port": 443}]}])


class AnnotationTests(GatewayCase):
    """What annotations become."""

    def test_a_prefix_that_is_cut_off(self) -> None:
        """It is a replacement of the prefix, alone in its rule."""
        rendering = self.render(
            ingress(
                paths=("/api(/|$)(.*)", "/old(/|$)(.*)"),
                path_type="ImplementationSpecific",
                rewrite_target="/$2",
            )
        )
        rules = self.rules(rendering)
        self.assertEqual([rule["matches"][0]["path"]["value"] for rule in rules], ["/api", "/old"])
        replaced = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}
        self.assertEqual([filters(rule) for rule in rules], [{"URLRewrite": replaced}] * 2)
        self.assertEqual(rendering.unsaid, ())

    def test_a_rewrite_to_one_path(self) -> None:
        """All requests get there, as they do today."""
        rule = self.rule(ingress(paths=("/api",), rewrite_target="/"))
        replaced = {"path": {"type": "ReplaceFullPath", "replaceFullPath": "/"}}
        self.assertEqual(filters(rule), {"URLRewrite": replaced})

    def test_a_rewrite_that_changes_nothing_is_none(self) -> None:
        """``/(.*)`` to ``/$1`` is the path itself."""
        self.assertEqual(filters(self.rule(ingress(paths=("/(.*)",), rewrite_target="/$1"))), {})

    def test_a_rewrite_that_cannot_be_said_closes_its_rule(self) -> None:
        """An endpoint must not be asked for other paths than it was."""
        rendering = self.render(ingress(paths=("/(a|b)/(.*)",), rewrite_target="/$2/$1"))
        self.assertNotIn("backendRefs", self.rules(rendering)[0])
        self.assertIn(("path-rewrite", "closed"), self.unsaid(rendering))

    def test_redirects(self) -> None:
        """To an URL, and to the same path of another host."""
        rule = self.rule(ingress(permanent_redirect="https://new.example.com/shop"))
        path = {"type": "ReplaceFullPath", "replaceFullPath": "/shop"}
        self.assertEqual(
            filters(rule),
            {
                "RequestRedirect": {
                    "scheme": "https",
                    "hostname": "new.example.com",
                    "path": path,
                    "statusCode": 301,
                }
            },
        )
        rule = self.rule(ingress(temporal_redirect="https://new.example.com$request_uri"))
        self.assertEqual(
            filters(rule),
            {"RequestRedirect": {"scheme": "https", "hostname": "new.example.com", "statusCode": 302}},
        )

    def test_a_redirect_that_cannot_be_said_closes_its_rule(self) -> None:
        """A query of its own has no words."""
        rendering = self.render(ingress(permanent_redirect="https://new.example.com/?from=old"))
        self.assertEqual(self.rules(rendering)[0].keys(), {"matches"})
        self.assertIn(("redirect", "closed"), self.unsaid(rendering))

    def test_the_root_of_an_application(self) -> None:
        """Requests for / are redirected, all others go on."""
        rendering = self.render(ingress(app_root="/app"))
        root = rule_of(rendering.objects, "http", "shop.example.com", "/")
        path = {"type": "ReplaceFullPath", "replaceFullPath": "/app"}
        self.assertEqual(filters(root or {}), {"RequestRedirect": {"path": path, "statusCode": 302}})
        self.assertIn("backendRefs", rule_of(rendering.objects, "http", "shop.example.com", "/app") or {})

    def test_other_hosts_and_prefixes_for_endpoints(self) -> None:
        """``upstream-vhost`` and ``x-forwarded-prefix``."""
        rule = self.rule(ingress(upstream_vhost="inner.example.com", x_forwarded_prefix="/shop"))
        self.assertEqual(filters(rule)["URLRewrite"], {"hostname": "inner.example.com"})
        put = [{"name": "X-Forwarded-Prefix", "value": "/shop"}]
        self.assertEqual(filters(rule)["RequestHeaderModifier"], {"set": put})

    def test_fields_of_snippets(self) -> None:
        """What always is the same is said, what has a variable is not."""
        snippet = (
            'more_set_headers "X-Frame-Options: DENY"; proxy_set_header X-Team shop; add_header X-Kind a;'
        )
        rendering = self.render(ingress(configuration_snippet=snippet))
        said = filters(self.rules(rendering)[0])
        self.assertEqual(said["RequestHeaderModifier"], {"set": [{"name": "X-Team", "value": "shop"}]})
        self.assertEqual(
            said["ResponseHeaderModifier"]["set"], [{"name": "X-Frame-Options", "value": "DENY"}]
        )
        self.assertEqual(said["ResponseHeaderModifier"]["add"], [{"name": "X-Kind", "value": "a"}])
        self.assertEqual(self.unsaid(rendering), {("snippet-answers", "differs")})
        rendering = self.render(ingress(configuration_snippet="proxy_set_header X-Client $remote_addr;"))
        self.assertEqual(self.unsaid(rendering), {("snippet-edits", "left out")})

    def test_fields_of_a_config_map(self) -> None:
        """Those that the operator allows are set on answers; an empty one goes."""
        metadata = {"name": "fields", "namespace": "shop"}
        data = {"X-Team": "shop", "Server": "", "X-Other": "1"}
        fields = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        rendering = self.render(
            ingress(custom_headers="shop/fields"),
            fields,
            settings=options_from(["global-allowed-response-headers=X-Team,Server"]).settings,
        )
        self.assertEqual(
            filters(self.rules(rendering)[0])["ResponseHeaderModifier"],
            {"set": [{"name": "X-Team", "value": "shop"}], "remove": ["Server"]},
        )

    def test_origins_that_may_ask(self) -> None:
        """Of all origins no credentials are taken, since a gateway might take them from each."""
        rule = self.rule(
            ingress(enable_cors="true", cors_allow_origin="https://a.example.com", cors_max_age="60")
        )
        cors = filters(rule)["CORS"]
        self.assertEqual(cors["allowOrigins"], ["https://a.example.com"])
        self.assertEqual((cors["allowCredentials"], cors["maxAge"]), (True, 60))
        self.assertIn("DELETE", cors["allowMethods"])
        everybody = filters(self.rule(ingress(enable_cors="true")))["CORS"]
        self.assertEqual(everybody["allowOrigins"], ["*"])
        self.assertNotIn("allowCredentials", everybody)

    def test_a_time_limit(self) -> None:
        """It is about all of an answer then, which is told."""
        rendering = self.render(ingress(proxy_read_timeout="600", proxy_connect_timeout="3"))
        self.assertEqual(self.rules(rendering)[0]["timeouts"], {"backendRequest": "600s"})
        self.assertEqual(self.unsaid(rendering), {("timeouts", "differs"), ("timeouts", "left out")})

    def test_a_mirror_of_a_service(self) -> None:
        """A Service of the cluster can be said, another URL cannot."""
        rule = self.rule(ingress(mirror_target="http://copy.shop.svc.cluster.local:8080$request_uri"))
        self.assertEqual(filters(rule)["RequestMirror"], {"backendRef": {"name": "copy", "port": 8080}})
        rendering = self.render(ingress(mirror_target="https://copies.example.com$request_uri"))
        self.assertEqual(self.unsaid(rendering), {("mirror", "left out")})

    def test_a_session_is_of_the_experimental_channel(self) -> None:
        """Elsewhere it is left out."""
        asked: dict[str, Any] = {
            "affinity": "cookie",
            "session_cookie_name": "stay",
            "session_cookie_max_age": "3600",
        }
        rendering = self.render(ingress(**asked))
        self.assertIn(("session-cookie", "left out"), self.unsaid(rendering))
        rule = self.rule(ingress(**asked), experimental=True)
        self.assertEqual(
            rule["sessionPersistence"],
            {
                "sessionName": "stay",
                "type": "Cookie",
                "absoluteTimeout": "3600s",
                "cookieConfig": {"lifetimeType": "Permanent"},
            },
        )

    def test_grpc(self) -> None:
        """A host of nothing else has a GRPCRoute, by services and methods; beside HTTP it has an HTTPRoute, which is told."""
        asked = ingress(paths=("/shop.Cart",), backend_protocol="GRPC")
        (rule,) = self.rules(self.render(asked), "GRPCRoute")
        self.assertEqual(rule["matches"], [{"method": {"service": "shop.Cart"}}])
        beside = ingress("page", paths=("/page",), created="2026-02-01T00:00:00Z")
        rendering = self.render(asked, beside)
        self.assertEqual(self.of_kind(rendering, "GRPCRoute"), [])
        self.assertIn(("backend-protocol", "left out"), self.unsaid(rendering))


class GuardTests(GatewayCase):
    """What keeps requests out."""

    def test_fastcgi_closes_its_rule(self) -> None:
        """The Gateway API has no word for FastCGI, and HTTP must not be sent there instead."""
        metadata = {"name": "php", "namespace": "shop"}
        params = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"SCRIPT_FILENAME": "/a"},
        }
        rendering = self.render(ingress(backend_protocol="FCGI", fastcgi_params_configmap="php"), params)
        (rule,) = self.rules(rendering)
        self.assertEqual(rule.keys(), {"matches"})
        self.assertIn(("backend shop/web:80", "closed"), self.unsaid(rendering))

    def test_a_guard_that_cannot_be_said_closes_its_rule(self) -> None:
        """Nobody gets in who does not today."""
        for asked, what in GUARDS:
            rendering = self.render(ingress(**asked))
            (rule,) = self.rules(rendering)
            self.assertEqual(rule.keys(), {"matches"}, asked)
            self.assertIn((what, "closed"), self.unsaid(rendering))

    def test_a_guard_whose_secret_is_not_in_the_input_is_told_as_that(self) -> None:
        """It may be there in the cluster; nothing is opened by that."""
        rendering = self.render(ingress(auth_type="basic", auth_secret="users"))
        self.assertIn(
            "a Secret or ConfigMap that is not in the input counts as missing", " ".join(rendering.notes)
        )

    def test_who_wants_it_open_says_so(self) -> None:
        """It is told as left out; what is closed today stays closed."""
        rendering = self.render(ingress(whitelist_source_range="10.0.0.0/8"), unguarded=True)
        self.assertIn("backendRefs", self.rules(rendering)[0])
        self.assertEqual(self.unsaid(rendering), {("address-ranges", "left out")})
        rendering = self.render(ingress(enable_modsecurity="true"), unguarded=True)
        self.assertNotIn("backendRefs", self.rules(rendering)[0])


class CanaryTests(GatewayCase):
    """Requests that lead elsewhere."""

    def test_weights(self) -> None:
        """The primary has what canaries leave."""
        rule = self.rule(ingress(), ingress("next", canary="true", canary_weight="30"))
        self.assertEqual(
            rule["backendRefs"],
            [{"name": "web", "port": 80, "weight": 70}, {"name": "next", "port": 80, "weight": 30}],
        )

    def test_fields_and_cookies_decide_as_they_do_today(self) -> None:
        """The field comes before the cookie, and ``never`` before ``always`` of what comes later."""
        objects = (
            ingress(),
            ingress(
                "next", canary="true", canary_by_header="X-Next", canary_by_cookie="next", canary_weight="0"
            ),
        )
        rendering = self.render(*objects)
        values = ("", "always", "never", "other")
        for field, cookie in product(values, values):
            fields = {"x-next": field, "cookie": f"a=b; next={cookie}; c=d" if cookie else ""}
            wanted = {"always": "next", "never": "web"}.get(field) or (
                "next" if cookie == "always" else "web"
            )
            rule = rule_of(rendering.objects, "http", "shop.example.com", "/", fields)
            self.assertEqual(rule and rule["backendRefs"][0]["name"], wanted, fields)

    def test_a_value_and_a_pattern(self) -> None:
        """Both are said."""
        for asked, header in HEADERS:
            rendering = self.render(
                ingress(), ingress("next", canary="true", canary_by_header="X-Next", **asked)
            )
            first = self.rules(rendering)[0]
            self.assertEqual(first["matches"][0]["headers"], [header])
            self.assertEqual(first["backendRefs"][0]["name"], "next")


class TextTests(GatewayCase):
    """What is printed."""

    def test_yaml_has_the_objects_and_says_beside_each_what_it_does_not(self) -> None:
        """It reads back as the same objects; every remark is a comment, once."""
        rendering = self.render(
            ingress(whitelist_source_range="10.0.0.0/8"), ingress("other", host="o.example.com")
        )
        text = yaml_of(rendering)
        self.assertEqual(list(yaml.safe_load_all(text)), list(rendering.objects))
        comments = " ".join(line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
        self.assertEqual(comments.count("Ingress shop/web: closed: address-ranges"), 1)

    def test_what_tenants_wrote_ends_no_comment(self) -> None:
        """A line break in an annotation stays in its line."""
        snippet = "more_set_headers 'X-A: $http_b';\n---\nkind: Secret"
        rendering = self.render(
            ingress(configuration_snippet=snippet), ingress("o", permanent_redirect="https://a/\x85---")
        )
        self.assertEqual(list(yaml.safe_load_all(yaml_of(rendering))), list(rendering.objects))

    def test_the_same_input_is_the_same_text_whatever_its_order(self) -> None:
        """Nothing depends on which object came first."""
        objects = [
            ingress(f"web-{number}", host=f"h{number % 3}.example.com", paths=(f"/{number}",))
            for number in range(9)
        ]
        texts = {
            yaml_of(render_gateway(given_by(*some), GatewayOptions()))
            for some in (objects, list(reversed(objects)))
        }
        self.assertEqual(len(texts), 1)

    def test_every_object_of_the_fixtures_is_one_that_an_api_server_takes(self) -> None:
        """Whatever Ingresses ask for, well or badly, in both channels."""
        for case in golden.cases():
            given = evolve(
                given_by(),
                state=golden.state_of_case(case),
                settings=evolve(DEFAULTS, translate=golden.options_of_case(case)),
            )
            for channel in ("standard", "experimental"):
                rendering = render_gateway(given, GatewayOptions(experimental=channel == "experimental"))
                told = [fault for one in rendering.objects for fault in faults(one, channel)]
                self.assertEqual(told, [], case.name)

    def test_json_has_all_of_it(self) -> None:
        """Objects, what is unsaid, and the notes."""
        told = yaml.safe_load(json_of(self.render(ingress(limit_rps="5"))))
        self.assertEqual(told["kind"], "List")
        (unsaid,) = told["unsaid"]
        self.assertEqual(
            (unsaid["name"], unsaid["what"], unsaid["effect"]), ("web", "rate-limit", "left out")
        )
