"""What lint says of paths, compared with what the tables answer."""

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from ingress.ctl.lint.finding import Level
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.paths import normal_path
from ingress.translate.readers.ingress.objects import Ingress, IngressRule
from tests.ctl.lint.lint_case import HOST, PREFIX, SPECIFIC, LintCase, changed, ingress, input_of
from tests.properties import examples

QUIRKS = {"PathNeedsQuirk", "PathMadeExpression", "SlashRedirect"}
ASKED = ("/", "/a", "/a/", "/ax", "/A", "/a/x", "/b", "/b/", "/bx", "/B/x", "/c/1", "/c/x", "/c/.*", "/C")

paths = st.sampled_from(["/", "/a", "/a/", "/b", "/b/", "/c/.*", "/c/[0-9]+", "/a/x"])
typed = st.tuples(paths, st.sampled_from(["Prefix", "Exact", SPECIFIC]))
asking = st.sampled_from([{}, {"proxy_body_size": "1m"}, {"use_regex": "true"}, {"rewrite_target": "/$1"}])
some_ingresses = st.lists(
    st.tuples(st.lists(typed, min_size=1, max_size=2), asking, st.sampled_from(["shop", "shop", "bank"])),
    min_size=1,
    max_size=3,
).map(
    lambda some: [
        ingress(*own, name=f"i{number}", namespace=namespace, **annotations)
        for number, (own, annotations, namespace) in enumerate(some)
    ]
)


def answers(*some: Ingress, quirks: bool) -> dict[str, tuple[object, ...]]:
    """Return who answers each of the paths that are asked for, and whether as a redirect."""
    table = input_of(*some, quirks=quirks).snapshot.table
    found: dict[str, tuple[object, ...]] = {}
    for path in ASKED:
        try:
            route = table.find(HOST.encode(), normal_path(path.encode()))
        except PathTooLong:
            continue
        redirects = route is not None and any(spec.name == "slash-redirect" for spec in route.filters)
        found[path] = (None if route is None else (route.owner, route.path.rstrip("/")), redirects)
    return found


class QuirkTests(LintCase):
    def test_a_path_that_works_through_another_ingress_alone(self) -> None:
        """An expression without use-regex of its own is told, with the Ingress that it lives by; the change does away with it."""
        other = ingress("/x", name="asking", use_regex="true")
        value = ingress(("/c/[0-9]+", SPECIFIC))
        finding = self.found("PathNeedsQuirk", value, other)
        self.assertIn("Ingress shop/asking", finding.message)
        self.assertEqual(finding.field, "spec.rules[0].http.paths[0].path")
        mended = changed(value, finding.changes)
        self.assert_not_found("PathNeedsQuirk", mended, other)
        apart = [answers(mended, other, quirks=it) for it in (True, False)]
        self.assertEqual(apart[0]["/c/1"], apart[1]["/c/1"])

    def test_a_plain_path_that_another_ingress_makes_an_expression_of(self) -> None:
        """It is a note, once for all paths of the host, with a request that is taken besides."""
        finding = self.found(
            "PathMadeExpression", ingress("/a", "/b"), ingress("/x", name="asking", use_regex="true")
        )
        self.assertIs(finding.level, Level.NOTE)
        self.assertIn('paths "/a", "/b"', finding.message)
        self.assertIn('"/ax"', finding.message)
        for name in ("far", "plain"):
            other = ingress(
                "/x",
                name="asking",
                namespace="bank" if name == "far" else "shop",
                use_regex="true" if name == "far" else "",
            )
            self.assert_not_found("PathMadeExpression", ingress("/a"), other)

    def test_a_rule_without_paths_that_makes_expressions(self) -> None:
        """It is named as any other Ingress that does so."""
        asking = evolve(ingress(name="z-asking", use_regex="true"), rules=(IngressRule(HOST, None),))
        finding = self.found("PathMadeExpression", ingress("/a"), asking)
        self.assertIn("Ingress shop/z-asking", finding.message)

    def test_a_slash_that_a_request_is_sent_to(self) -> None:
        """A path with a slash at its end is noted where a request without it is redirected, and nowhere else."""
        finding = self.found("SlashRedirect", ingress(("/a/", "Exact"), proxy_body_size="1m"))
        self.assertIn('"/a"', finding.message)
        self.assertIn("404", finding.message)
        self.assert_not_found("SlashRedirect", ingress("/a/"))
        self.assert_not_found("SlashRedirect", ingress("/a/", "/a", proxy_body_size="1m"))
        self.assert_not_found("SlashRedirect", ingress("/a/", proxy_body_size="1m"), quirks=False)

    def test_a_type_that_means_nothing(self) -> None:
        """Beside use-regex of the same Ingress, Exact and Prefix do not hold; paths that are expressions are meant so."""
        finding = self.found(
            "TypeMeansNothing", ingress(("/a", "Exact"), ("/b/.*", SPECIFIC), use_regex="true")
        )
        self.assertIn("pathType Exact", finding.message)
        self.assertEqual(finding.field, "spec.rules[0].http.paths[0].pathType")
        self.assert_not_found("TypeMeansNothing", ingress(("/b/.*", "Prefix"), "/", use_regex="true"))

    def test_an_exact_root(self) -> None:
        """It takes every path where expressions are asked for, which is told of wherever a root of type Prefix is not."""
        self.assertIn(
            '"/x" is taken', self.found("TypeMeansNothing", ingress(("/", "Exact"), use_regex="true")).message
        )
        self.found(
            "PathMadeExpression", ingress(("/", "Exact")), ingress("/x", name="asking", use_regex="true")
        )
        self.assert_not_found(
            "PathMadeExpression", ingress("/"), ingress("/x", name="asking", use_regex="true")
        )

    @settings(max_examples=examples(150), deadline=None)
    @given(some_ingresses)
    def test_where_quirks_make_a_difference_there_is_a_finding(self, some: list[Ingress]) -> None:
        """Who answers a request with quirks and without is the same wherever lint tells of no quirk; and quirks are told of only where they are on.

        Where several Ingresses ask for expressions, quirks decide besides in which order these are asked, of which nothing is told.
        """
        found = {finding.rule for finding in self.lint(*some).findings}
        asking = [
            one
            for one in some
            if any(name.startswith(f"{PREFIX}use-") or "rewrite" in name for name in one.annotations)
        ]
        if len(asking) < 2 and found.isdisjoint(
            QUIRKS
            | {"PathTakenByExpression", "PathShadowed", "UnsupportedPath", "PathConflict", "RuleShadowed"}
        ):
            self.assertEqual(answers(*some, quirks=True), answers(*some, quirks=False), found)
        without = {finding.rule for finding in self.lint(*some, quirks=False).findings}
        self.assertEqual(without & QUIRKS, set())


class TakenTests(LintCase):
    def test_a_path_whose_requests_an_expression_takes(self) -> None:
        """The request, the expression and its Ingress are named; the path that takes them is told nothing."""
        taking = ingress(("/a/[a-z]+/.*", SPECIFIC), name="taking", use_regex="true")
        finding = self.found("PathTakenByExpression", ingress(("/a/x/y", "Prefix")), taking)
        self.assertEqual(finding.object_id[1].name, "web")
        self.assertIn('path "/a/[a-z]+/.*" of Ingress shop/taking', finding.message)
        self.assert_not_found("PathTakenByExpression", ingress("/b"), taking)

    def test_an_expression_that_takes_what_another_expression_is_for(self) -> None:
        """The one with the longer text has the requests."""
        taken = ingress(("/a/.*", SPECIFIC), name="taken", use_regex="true")
        taking = ingress(("/a/?[a-z]*/?.*$", SPECIFIC), name="taking", use_regex="true")
        self.assertEqual(self.found("PathTakenByExpression", taken, taking).object_id[1].name, "taken")

    def test_what_is_closed_takes_requests_too(self) -> None:
        """An expression that is not run closes what it may match, and that is said."""
        closed = ingress(("/a(?!xyz).*", SPECIFIC), name="closed", use_regex="true")
        self.assertIn("answers 503", self.found("PathTakenByExpression", ingress("/a"), closed).message)

    def test_a_path_that_its_own_ingress_leaves_nothing_to(self) -> None:
        """All requests that it is for go to a longer expression of the same Ingress."""
        value = ingress(("/a/.*", SPECIFIC), ("/a/.*.*", SPECIFIC), use_regex="true")
        self.assertEqual(self.found("PathShadowed", value).field, "spec.rules[0].http.paths[0].path")
        self.assert_not_found(
            "PathShadowed", ingress(("/a/.*", SPECIFIC), ("/a/b/.*", SPECIFIC), use_regex="true")
        )

    @settings(max_examples=examples(100), deadline=None)
    @given(some_ingresses)
    def test_whose_path_is_told_of_does_not_answer(self, some: list[Ingress]) -> None:
        """The request that a finding names goes where it says."""
        table = input_of(*some).snapshot.table
        for finding in self.lint(*some).findings:
            if finding.rule == "PathTakenByExpression":
                asked = finding.message.partition('"')[2].partition('"')[0]
                route = table.find(HOST.encode(), asked.encode())
                assert route is not None
                self.assertNotEqual(None if route.owner is None else route.owner.id, finding.object_id)
                self.assertIn(str(route.owner), finding.message)


class ProblemTests(LintCase):
    def test_an_expression_that_is_miswritten_is_to_be_corrected(self) -> None:
        """What nobody runs is told apart from what RE2 alone does not run, which is to be written otherwise."""
        for path in ("/(a", "/a)", "/[a"):
            advice = self.found("UnsupportedPath", ingress((path, SPECIFIC), use_regex="true")).advice
            self.assertEqual(advice, "correct the expression, which ingress-nginx does not take, either")
        for path in ("/(?=a)b", "/(a)\\1", "/a*+b"):
            advice = self.found("UnsupportedPath", ingress((path, SPECIFIC), use_regex="true")).advice
            self.assertEqual(advice, "write it without what looks around or back, or as plain paths")

    def test_an_expression_that_nobody_asks_for(self) -> None:
        """It is an error, and the change makes it one."""
        value = ingress(("/api(/|$)(.*)", "Prefix"))
        finding = self.found("RegexNotAsked", value)
        self.assertIs(finding.level, Level.ERROR)
        self.assertEqual(self.lint(changed(value, finding.changes)).findings, ())

    def test_an_expression_of_a_type_that_is_kept_for_plain_paths(self) -> None:
        """Where expressions are asked for already, what helps is the type, and not to ask again."""
        value = ingress(("/api(/|$)(.*)", "Prefix"), rewrite_target="/$2")
        self.assertEqual(self.lint(value).findings, ())
        finding = self.found("InvalidPath", value, strict_path_types=True)
        self.assertEqual(finding.advice, "write pathType: ImplementationSpecific")
        mended = changed(value, finding.changes)
        self.assertEqual(mended, ingress(("/api(/|$)(.*)", SPECIFIC), rewrite_target="/$2"))
        self.assertEqual(self.lint(mended, strict_path_types=True).findings, ())

    def test_a_star_at_the_end_that_stands_for_whatever_is_below(self) -> None:
        """As paths of other controllers have it: the change is the prefix that means this, and no expression."""
        for path, plain in (("/*", "/"), ("/api/*", "/api"), ("/a/b-c/*", "/a/b-c")):
            for kind in ("Prefix", SPECIFIC):
                value = ingress((path, kind))
                finding = self.found("RegexNotAsked", value)
                self.assertEqual(
                    finding.advice, f"to take all that is below, write {plain} with pathType: Prefix"
                )
                mended = changed(value, finding.changes)
                self.assertEqual(self.lint(mended).findings, ())
                self.assertEqual(mended, ingress(plain))
        self.assertIn("use-regex", self.found("RegexNotAsked", ingress(("/a.*/*", "Prefix"))).advice)

    def test_a_rule_all_of_whose_paths_are_others(self) -> None:
        """It is told once, with whose they are; the change removes the rule."""
        first = ingress("/a", "/b", name="z-first")
        second = evolve(
            ingress("/a", "/b"), rules=(*ingress("/a", "/b").rules, *ingress(hosts=["c.test"]).rules)
        )
        finding = self.found("RuleShadowed", first, second)
        self.assertIn("Ingress shop/z-first", finding.message)
        self.assert_not_found("PathConflict", first, second)
        self.assertEqual(self.lint(first, changed(second, finding.changes)).findings, ())

    def test_one_path_of_several(self) -> None:
        """It stays a conflict that names the other Ingress."""
        finding = self.found("PathConflict", ingress("/a", name="z-first"), ingress("/a", "/b"))
        self.assertIn("Ingress shop/z-first", finding.message)

    def test_a_type_that_is_missing(self) -> None:
        """The change writes the one that means the same."""
        for path, kind in (("/a", "Prefix"), ("/a/.*", SPECIFIC)):
            finding = self.found("MissingPathType", ingress((path, ""), use_regex="true"))
            self.assertEqual([change.value for change in finding.changes], [kind])
