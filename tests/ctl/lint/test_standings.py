"""What becomes of each annotation."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.annotations import FAMILIES
from ingress.annotations.operator_filters import InstalledFilter
from ingress.annotations.policy import AnnotationPolicy
from ingress.annotations.requests.path_rewrites import RewriteMissing
from ingress.annotations.unknown_names import OF_INGRESS_NGINX
from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.lint.checks.effects import NEEDS
from ingress.ctl.lint.finding import Level, Standing
from ingress.ctl.lint.mending import MEANT, ROWS
from ingress.ctl.lint.reports.results import Results, summary
from ingress.ctl.lint.standings import DIFFERENCES
from ingress.filters import Filter
from ingress.model.cluster.objects import Kind, ObjectKey, Service
from ingress.model.exchanges.firewall import FirewallPlan
from ingress.model.upstream.upstream_tls import ProtocolRefused
from tests.ctl.lint.lint_case import HOST, LintCase, changed, ingress, input_of
from tests.fakes.specs import SpecOf
from tests.properties import examples

VALUES = [
    "", " ", "true", "false", "on", "off", "yes", "0", "-1", "5", "1.5", "60s", "10m", "10Mi", "/", "/$1", "$",
    "${host}", "{{ .V }}", "https://b.test/", "http://b.test", "a/b/c", "users", "*", "GET, POST", "cookie", "basic",
    "10.0.0.0/8", "0.0.0.0/0", "10.0.0.0/33", "404,503", "deny all;", "return 200 ok;", "location / { deny all; }",
    "FCGI", "HTTPS", "(", "é\u202e", "a" * 300,
]  # fmt: skip
NAMES = sorted({name for family in FAMILIES for name in family.annotations} | {"filters"} | OF_INGRESS_NGINX)


class TableTests(LintCase):
    def test_each_remark_of_the_tables_says_when_it_matters(self) -> None:
        """Whoever adds a difference to a family says for which values it is one; nothing is said of what has none."""
        self.assertEqual(set(DIFFERENCES) - {name for name, row in ROWS.items() if row.differs}, set())
        self.assertEqual({name for name, row in ROWS.items() if row.differs} - set(DIFFERENCES), set())

    def test_names_that_others_are_told_of_exist(self) -> None:
        """What is meant, and what is needed, are names of the tables; what they stand for is none."""
        self.assertEqual(set(MEANT.values()) - ROWS.keys(), set())
        self.assertEqual(MEANT.keys() & (ROWS.keys() | OF_INGRESS_NGINX), set())
        self.assertEqual(set(NEEDS) - ROWS.keys(), set())
        self.assertEqual({one for others, _ in NEEDS.values() for one in others} - ROWS.keys(), set())


class StandingTests(LintCase):
    def test_snippets_that_nobody_may_have(self) -> None:
        """One that the operator allows nobody is not honored in part, however harmless, but not at all."""
        value = ingress(configuration_snippet="add_header X-A b;")
        one = self.standing(
            "configuration-snippet", value, annotation_policy=AnnotationPolicy(allows_snippets=False)
        )
        self.assertEqual(one.standing, Standing.IGNORED)
        self.assertIn("the operator allows no snippets", one.why)
        self.assertEqual(self.standing("configuration-snippet", value).standing, Standing.HONORED)

    def test_honored(self) -> None:
        """What works as in ingress-nginx is honored without a word, whatever the table remarks of other values."""
        for name, value in (
            ("enable-cors", "true"),
            ("rewrite-target", "/$1"),
            ("limit-rps", "5"),
            ("proxy-buffering", "off"),
        ):
            one = self.standing(
                name, ingress(("/a(.*)", "ImplementationSpecific"), **{name.replace("-", "_"): value})
            )
            self.assertEqual((one.standing, one.why), (Standing.HONORED, ""), name)

    def test_honored_with_a_difference(self) -> None:
        """Where the value makes one, it says which."""
        for name, value in (
            ("proxy-buffering", "on"),
            ("auth-realm", "off"),
            ("connection-proxy-header", "close"),
        ):
            asked = {name.replace("-", "_"): value, "auth_type": "basic", "auth_secret": "users"}
            one = self.standing(name, ingress(**asked))
            self.assertIs(one.standing, Standing.DIFFERS, name)
            self.assertTrue(one.why)

    def test_a_cookie_that_lives_no_time_differs(self) -> None:
        """A number that begins with a zero is another one."""
        for value, standing in (
            ("0300", Standing.HONORED),
            ("300", Standing.HONORED),
            ("0", Standing.DIFFERS),
            (" 00 ", Standing.DIFFERS),
            ("-5", Standing.DIFFERS),
        ):
            for name in ("session-cookie-max-age", "session-cookie-expires"):
                written = {"affinity": "cookie", name.replace("-", "_"): value}
                self.assertIs(self.standing(name, ingress(**written)).standing, standing, f"{name}: {value}")

    def test_a_rewrite_to_the_path_itself_differs(self) -> None:
        """The path is one that ingress-nginx sends all requests to, so the Ingress counts as one with a difference."""
        value = ingress("/api", rewrite_target="/api")
        one = self.standing("rewrite-target", value)
        finding = self.found("RewriteToItself", value)
        self.assertEqual((one.standing, one.why), (Standing.DIFFERS, finding.message))
        counted = summary(Results(self.lint(value)))
        self.assertEqual((counted.fully, counted.differing, counted.partly), (0, 1, 0))

    def test_denied_beside_what_is_enough(self) -> None:
        """Whom a list denies a password lets in in ingress-nginx; here it does where another list says who is allowed."""
        asked = {"satisfy": "any", "denylist_source_range": "192.0.2.1", "auth_type": "basic"}
        for more, standing in (
            ({}, Standing.DIFFERS),
            ({"whitelist_source_range": "192.0.2.0/24"}, Standing.HONORED),
            ({"satisfy": "all"}, Standing.HONORED),
        ):
            value = ingress(**{**asked, **more, "auth_secret": "users"})
            self.assertIs(self.standing("satisfy", value).standing, standing, more)

    def test_spaces_in_lists(self) -> None:
        """A list that ingress-nginx does not read differs; usual ones do not."""
        for value, standing in (
            ("GET, POST", Standing.HONORED),
            ("GET,POST", Standing.HONORED),
            ("GET,  POST", Standing.DIFFERS),
            ("GET , POST", Standing.DIFFERS),
        ):
            for name in ("cors-allow-methods", "cors-expose-headers"):
                one = self.standing(name, ingress(enable_cors="true", **{name.replace("-", "_"): value}))
                self.assertIs(one.standing, standing, (name, value))

    def test_prefix_without_rewrite(self) -> None:
        """A prefix is sent where ingress-nginx sends none, but for one of groups where no path is an expression."""
        for value, more, standing in (
            ("/app", {}, Standing.DIFFERS),
            ("/app", {"rewrite_target": "/$1"}, Standing.HONORED),
            ("/$1", {}, Standing.HONORED),
            ("/$1", {"use_regex": "true"}, Standing.DIFFERS),
            ("/$host", {}, Standing.DIFFERS),
        ):
            one = self.standing("x-forwarded-prefix", ingress(x_forwarded_prefix=value, **more))
            self.assertIs(one.standing, standing, (value, more))

    def test_ignored(self) -> None:
        """A value that is refused, what is not honored at all, and what has no effect alone; each says why."""
        for name, value in (
            ("proxy-read-timeout", "soon"),
            ("enable-rewrite-log", "true"),
            ("fastcgi-index", "index.php"),
            ("cors-max-age", "5"),
            ("ssl-passthrough", "true"),
        ):
            one = self.standing(name, ingress(**{name.replace("-", "_"): value}))
            self.assertIs(one.standing, Standing.IGNORED, name)
            self.assertTrue(one.why, name)

    def test_what_a_canary_says_beside(self) -> None:
        """Its primary decides, so it is ignored, but for how its own requests are shared."""
        value = ingress(
            name="next", canary="true", canary_weight="5", proxy_body_size="5m", load_balance="ewma"
        )
        (_, report) = sorted(self.lint(ingress(name="a"), value).objects, key=lambda one: one.object_id[1])
        found = {one.name: one.standing for one in report.annotations}
        self.assertEqual(found["canary-weight"], Standing.HONORED)
        self.assertEqual(found["proxy-body-size"], Standing.IGNORED)
        self.assertEqual(found["load-balance"], Standing.HONORED)

    def test_whether_clients_stay_is_for_a_canary_to_say(self) -> None:
        """Where a primary says so nothing comes of it, in ingress-nginx neither."""
        primary = ingress(name="a", affinity="cookie", affinity_canary_behavior="legacy")
        value = ingress(name="next", canary="true", canary_weight="5", affinity_canary_behavior="legacy")
        told = {
            report.object_id[1].name: one.standing
            for report in self.lint(primary, value).objects
            for one in report.annotations
            if one.name == "affinity-canary-behavior"
        }
        self.assertEqual(told, {"a": Standing.IGNORED, "next": Standing.HONORED})
        found = self.found("WithoutEffect", primary)
        self.assertEqual(found.advice, "write it on the canary, or remove it")
        beside = ingress(affinity_canary_behavior="legacy", canary_weight="5")
        self.assertEqual(self.found("WithoutEffect", beside).advice, 'write canary: "true", or remove them')

    def test_tries(self) -> None:
        """More of them than there ever are is a difference; what people write is none."""
        for value, standing in (
            ("3", Standing.HONORED),
            ("100", Standing.HONORED),
            ("101", Standing.DIFFERS),
        ):
            found = self.standing("proxy-next-upstream-tries", ingress(proxy_next_upstream_tries=value))
            self.assertIs(found.standing, standing, value)

    def test_never_existed(self) -> None:
        """Each of several names that mean one thing says so, and what there is for it."""
        value = ingress(rate_limit="100", rate_limit_window="1m")
        for name in ("rate-limit", "rate-limit-window"):
            one = self.standing(name, value)
            self.assertIs(one.standing, Standing.NEVER_EXISTED)
            self.assertIn("limit-rpm", one.why)

    def test_closes(self) -> None:
        """What would keep somebody out and is not honored is an error, and the others of the Ingress keep their standing."""
        value = ingress(enable_modsecurity="true", proxy_body_size="5m")
        self.found("ClosedPaths", value)
        self.assertIs(self.standing("enable-modsecurity", value).standing, Standing.CLOSED)
        self.assertIs(self.standing("proxy-body-size", value).standing, Standing.HONORED)

    def test_firewall(self) -> None:
        """Where a firewall is missing, the advice is to have one; where a rule of it is refused, to write it otherwise."""
        self.assertIn(
            "-o firewall-processes=2", self.found("ClosedPaths", ingress(enable_modsecurity="true")).advice
        )
        value = ingress(enable_modsecurity="true", modsecurity_snippet="Include /etc/rules.conf")
        found = self.found("ClosedPaths", value, firewall=FirewallPlan(processes=2))
        self.assertIn("remove the annotation", found.advice)

    def test_filters_of_the_operators(self) -> None:
        """One that is allowed is honored, as asked for of this controller; one that is not closes, and neither never existed."""
        value = ingress(filters="time-of-day=X-When")
        self.assertIs(self.standing("filters", value).standing, Standing.CLOSED)
        allowed = InstalledFilter("time-of-day", lambda arguments: SpecOf(Filter()))
        report = self.lint(value, allowed_filters=(allowed,))
        self.assertEqual([one.standing for one in report.objects[0].annotations], [Standing.HONORED])
        self.assertEqual(summary(Results(report)).fully, 1)

    def test_what_closes_is_told_once(self) -> None:
        """Neither that a snippet is one is said besides, nor that a path of the Ingress is closed for it; a value that would do is the advice."""
        value = ingress(("/a/?(.*)", "ImplementationSpecific"), configuration_snippet="auth_request /x;")
        self.assertEqual([finding.rule for finding in self.lint(value).findings], ["ClosedPaths"])
        finding = self.found("ClosedPaths", ingress(whitelist_source_range="10.1.2"))
        self.assertEqual(finding.advice, "")
        self.assertIn("write", finding.message)

    def test_what_is_missing_among_manifests_is_a_warning(self) -> None:
        """It may be in files that were not read, unless a name that is close is there; what a cluster lacks is an error."""
        services = Coverage(namespaces={Kind.SERVICE: frozenset({"shop"})})
        other, close = (Service(ObjectKey("shop", name)) for name in ("db", "wbe"))
        for some, coverage, level in (
            ([other], services, Level.WARNING),
            ([close], services, Level.ERROR),
            ([other], Coverage(whole=frozenset({Kind.SERVICE})), Level.ERROR),
        ):
            finding = self.found("ServiceNotFound", ingress(), *some, coverage=coverage)
            self.assertIs(finding.level, level)
            self.assertNotIn("--endpoint", finding.message)

    def test_a_secret_that_is_not_known_closes_nothing(self) -> None:
        """Passwords of which no Secret was read are honored, and that they were not looked for is said; where Secrets are known, it is missing."""
        value = ingress(auth_type="basic", auth_secret="users", tls=[HOST])
        self.assertIs(self.standing("auth-secret", value).standing, Standing.HONORED)
        self.assertEqual(len(self.lint(value).not_checked), 2)
        known = Coverage(whole=frozenset({Kind.SECRET}))
        self.found("SecretNotFound", ingress(auth_type="basic", auth_secret="users"), coverage=known)

    @settings(max_examples=examples(400), deadline=None)
    @given(st.sampled_from(NAMES), st.sampled_from(VALUES))
    def test_closes_is_what_answers_503(self, name: str, value: str) -> None:
        """One annotation closes exactly if the routes of its Ingress answer 503 by a guard or a rewrite that is missing; no value raises."""
        one = ingress(**{name.replace("-", "_"): value})
        given_input = input_of(one)
        report = self.standing(name, one)
        filters = [spec for route in given_input.snapshot.routes() for spec in route.filters]
        # A Secret or ConfigMap that was not read closes for that alone, of which nothing is said.
        unread = {"SecretNotFound", "ConfigMapNotFound"} & {
            problem.reason.value for problem in given_input.snapshot.problems
        }
        refused = any(
            isinstance(route.backend.protocol, ProtocolRefused) for route in given_input.snapshot.routes()
        )
        is_closed = refused or any(isinstance(spec, GuardMissing | RewriteMissing) for spec in filters)
        if not unread:
            self.assertEqual(report.standing is Standing.CLOSED, is_closed, report)


class MendingTests(LintCase):
    def test_a_name_that_is_meant_takes_the_place_of_one_that_never_was(self) -> None:
        """The changes remove what means nothing and write what is meant; then nothing is found any more."""
        for asked, wanted in (
            ({"rate_limit": "100", "rate_limit_window": "1m"}, {"limit-rpm": "100"}),
            ({"rate_limit": "10", "rate_limit_window": "1s"}, {"limit-rps": "10"}),
            ({"rate_limit": "600", "rate_limit_window": "1h"}, {"limit-rpm": "10"}),
            ({"rate_limit": "100"}, {}),
            ({"client_max_body_size": "10MB"}, {"proxy-body-size": "10m"}),
            ({"read_timeout": "60s"}, {"proxy-read-timeout": "60"}),
            ({"force_https": "yes"}, {"force-ssl-redirect": "true"}),
            ({"proxy_body_sizes": "10m"}, {"proxy-body-size": "10m"}),
            ({"proxy_body_sizes": "10m", "proxy_body_size": "1m"}, {"proxy-body-size": "1m"}),
            ({"websocket_services": "web"}, {}),
        ):
            value = ingress(tls=[HOST], **asked)
            finding = self.found("UnknownAnnotation", value)
            mended = changed(value, finding.changes)
            self.assertEqual(
                {name.partition("/")[2]: text for name, text in mended.annotations.items()}, wanted
            )
            self.assertEqual(self.lint(mended).findings, ())

    def test_a_value_in_another_spelling(self) -> None:
        """A refused value whose meaning is plain is written as it is accepted; another one is left to its author."""
        for name, value, wanted in (
            ("proxy-read-timeout", "60s", "60"),
            ("proxy-read-timeout", "1m", "60"),
            ("proxy-body-size", "10Mi", "10m"),
            ("proxy-body-size", "10MB", "10m"),
            ("proxy-body-size", "10 m", "10m"),
            ("proxy-body-size", "1h", None),
            ("limit-rps", "10 m", None),
            ("cors-max-age", "10 m", "600"),
            ("enable-cors", "yes", "true"),
            ("use-regex", "'true'", "true"),
            ("proxy-request-buffering", "ON", "on"),
            ("proxy-read-timeout", "soon", None),
            ("allowlist-source-range", " ", None),
        ):
            one = ingress(**{name.replace("-", "_"): value})
            some = [change.value for finding in self.lint(one).findings for change in finding.changes]
            self.assertEqual(some, [wanted] if wanted else [], (name, value))

    def test_what_has_no_effect_alone(self) -> None:
        """What needs the same is told together, and not again as a note."""
        finding = self.found("WithoutEffect", ingress(cors_allow_origin="*", cors_max_age="5"))
        self.assertIn(
            'cors-allow-origin, cors-max-age have no effect without enable-cors: "true"', finding.message
        )
        for name in NEEDS:
            value = ingress(**{name.replace("-", "_"): "true"})
            self.assertIs(self.standing(name, value).standing, Standing.IGNORED, name)
        self.assert_not_found("WithoutEffect", ingress(enable_cors="true", cors_max_age="5"))
        self.found("WithoutEffect", ingress(enable_cors="false", cors_max_age="5"))
