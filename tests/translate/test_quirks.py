"""The quirks of ingress-nginx that hosts are served with, each by what it does, and ``--no-quirks``."""

from datetime import UTC, datetime

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.redirects.slash_redirect import SlashRedirect
from ingress.filters import Reply
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.routing.paths import normal_path
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeFacts, FakeServices
from tests.translate.golden import state_of
from tests.translate.hosts.test_closing import HOST, PREFIX, answer, ingress

NOW = datetime(2026, 7, 1, tzinfo=UTC)
SPECIFIC = "ImplementationSpecific"
REGEX = {"use-regex": "true"}
ANNOTATED = {"proxy-body-size": "1m"}


def snapshot(*ingresses: Ingress, quirks: bool = True, **options: bool) -> Snapshot:
    """Translate these Ingresses."""
    return translate(state_of([*ingresses]), TranslateOptions(quirks=quirks, **options), NOW)  # type: ignore[arg-type]


def redirected(found: Snapshot, target: str, **facts: object) -> str:
    """Return where a request for *target* is redirected; ``served`` where it is not, ``404`` where nothing takes it."""
    raw = target.encode("latin-1")
    path = normal_path(raw.partition(b"?")[0])
    route = found.table.find(HOST.encode(), path)
    if route is None:
        return "404"
    for spec in route.filters:
        reply = spec.make(FakeServices()).on_request(
            FakeFacts(path=path, target=raw, host=HOST.encode(), **facts)  # type: ignore[arg-type]
        )
        if isinstance(reply, Reply):
            return dict(reply.fields)[b"Location"].decode()
    return "served"


class RegexQuirkTests(SynchronousTestCase):
    """Q1 to Q3: expressions."""

    def test_q1_expressions_are_fixed_to_the_beginning_alone_and_in_any_case(self) -> None:
        """A path with use-regex takes whatever begins so, in upper and lower case; Exact and Prefix mean nothing then."""
        for kind in ("Exact", "Prefix", SPECIFIC):
            found = snapshot(ingress("site", [("/foo/[a-z]+", kind)], REGEX))
            for path, owner in (
                ("/foo/x", "site"),
                ("/FOO/X", "site"),
                ("/foo/x/y", "site"),
                ("/a/foo/x", "404"),
            ):
                self.assertEqual(answer(found, path), owner, (kind, path))

    def test_q2_one_ingress_makes_expressions_of_all_paths_of_the_host(self) -> None:
        """Paths of another Ingress of the host lose their types, and the longest text comes first; other hosts keep theirs."""
        asking = ingress("asking", [("/bar.*", SPECIFIC)], REGEX)
        other = ingress("other", [("/foo", "Exact"), ("/bar/baz", "Prefix")], {})
        found = snapshot(asking, other)
        for path, owner in (
            ("/foo", "other"),
            ("/FOObar", "other"),
            ("/bar/bazaar", "other"),
            ("/Bar/x", "asking"),
        ):
            self.assertEqual(answer(found, path), owner, path)
        elsewhere = evolve(other, rules=(evolve(other.rules[0], host="b.example.com"),))
        self.assertEqual(answer(snapshot(asking, elsewhere), "/FOObar", "b.example.com"), "404")

    def test_exact_beside_a_prefix_that_is_an_expression(self) -> None:
        """Of one path that is exact here and a prefix there, the exact one has all but what is below, which the older has, of whatever type the other is."""
        asking = ingress("asking", [("/x(.*)", SPECIFIC)], REGEX)
        exact = ingress("exact", [("/a", "Exact")], {})
        for kind in ("Prefix", SPECIFIC, ""):
            for name, below in (("older", "older"), ("a", "exact")):
                found = snapshot(asking, exact, ingress(name, [("/a", kind)], {}))
                for path, owner in (("/a", "exact"), ("/ab", "exact"), ("/a/", below), ("/A/b", below)):
                    self.assertEqual(answer(found, path), owner, (kind, name, path))
        signs = ingress("older", [("/a[0-9]", SPECIFIC)], {})
        found = snapshot(asking, ingress("exact", [("/a[0-9]", "Exact")], {}), signs)
        for path, owner in (("/a1", "exact"), ("/a1b", "exact"), ("/a1/", "older")):
            self.assertEqual(answer(found, path), owner, path)
        own = ingress("older", [("/a", SPECIFIC)], REGEX)
        self.assertEqual(answer(snapshot(exact, own), "/a/"), "older")

    def test_path_that_one_ingress_has_twice(self) -> None:
        """The first that it writes has it, of whatever types the two are, as ingress-nginx leaves the order of an Ingress as it is."""
        asking = ingress("asking", [("/x(.*)", SPECIFIC)], REGEX)
        for kinds in (("Prefix", SPECIFIC), (SPECIFIC, "Prefix"), ("Exact", "Prefix"), ("Exact", SPECIFIC)):
            paths = tuple(
                IngressPath("/a", kind, IngressBackend(name, ServicePortReference("", 80)))
                for kind, name in zip(kinds, ("first", "second"), strict=True)
            )
            both = evolve(ingress("both", [], {}), rules=(IngressRule(HOST, paths),))
            for path in ("/a", "/a/", "/A/x", "/ab"):
                route = snapshot(asking, both).table.find(HOST.encode(), path.encode())
                assert route is not None
                self.assertEqual(route.backend.name, "first", (kinds, path))

    def test_rule_without_paths_makes_expressions(self) -> None:
        """Of the oldest Ingress of the host, as long as nobody has all paths of it: nginx then has that Ingress at ``/``."""
        asking = evolve(ingress("the-asking", [], REGEX), rules=(IngressRule(HOST, None),))
        other = ingress("other-one", [("/foo", "Exact")], {})
        root = ingress("another-one", [("/", "Prefix")], {})
        exact = ingress("another-one", [("/", "Exact")], {})
        older = ingress("the-older", [("/b", "Prefix")], {})
        for among, found in (
            ((asking, other), "other-one"),
            ((asking, other, exact), "other-one"),
            ((asking, other, root), "another-one"),
            ((older, asking, other), "404"),
        ):
            self.assertEqual(answer(snapshot(*among), "/FOObar"), found, among)
        target = evolve(asking, annotations={f"{PREFIX}/rewrite-target": "/$1"})
        self.assertEqual(answer(snapshot(target, other), "/FOObar"), "other-one")
        itself = evolve(asking, annotations={f"{PREFIX}/rewrite-target": "/"})
        self.assertEqual(answer(snapshot(itself, other), "/FOObar"), "404")
        self.assertEqual(answer(snapshot(asking, other, quirks=False), "/FOObar"), "404")

    def test_q3_a_target_makes_expressions_like_use_regex_unless_it_is_the_path(self) -> None:
        """rewrite-target alone makes expressions of all paths of the host; one that replaces no path makes none."""
        other = ingress("other", [("/foo", "Exact")], {})
        for target, path, owner in (("/$1", "/x/(.*)", "other"), ("/", "/api", "other"), ("/", "/", "404")):
            asking = ingress("asking", [(path, "Prefix")], {"rewrite-target": target})
            found = answer(snapshot(asking, other), "/FOObar")
            self.assertEqual(found, "asking" if owner == "404" and path == "/" else owner)
        alone = snapshot(ingress("root", [("/", "Prefix")], {"rewrite-target": "/"}), other)
        self.assertEqual(alone.table.find(HOST.encode(), b"/foo").match.value, "Exact")  # type: ignore[union-attr]
        self.assertEqual({one.reason for one in alone.problems}, {Reason.SERVICE_NOT_FOUND})

    def test_a_path_that_is_lost_makes_no_expressions(self) -> None:
        """An Ingress all of whose paths are an older one's asks for nothing; one that has another path, or another type, does."""
        older = ingress("older", [("/api", "Prefix"), ("/foo", "Exact")], {})
        for paths, found in (
            ([("/api", "Prefix")], "404"),
            ([("/api", "Prefix"), ("/foo", "Exact")], "404"),
            ([("/api", "Prefix"), ("/x", "Prefix")], "older"),
            ([("/api", "Exact")], "older"),
            ([("/api", SPECIFIC)], "404"),
        ):
            for asked in (REGEX, {"rewrite-target": "/$1"}):
                younger = ingress("b", paths, asked)
                self.assertEqual(answer(snapshot(older, younger), "/FOObar"), found, (paths, asked))
        stranger = ingress("b", [("/api", "Prefix")], REGEX, "bank")
        for is_shared in (False, True):
            self.assertEqual(answer(snapshot(older, stranger, shared_hosts=is_shared), "/FOObar"), "404")

    def test_no_quirks_leaves_expressions_to_those_who_ask(self) -> None:
        """With ``--no-quirks`` the Ingress that asks has expressions, and the other keeps what it wrote."""
        asking = ingress("asking", [("/foo(.*)", SPECIFIC)], {"rewrite-target": "/$1"})
        other = ingress("other", [("/foo", "Exact"), ("/b", "Prefix")], {})
        found = snapshot(asking, other, quirks=False)
        for path, owner in (
            ("/foo", "other"),
            ("/FOO", "asking"),
            ("/foo/x", "asking"),
            ("/B", "404"),
            ("/bc", "404"),
        ):
            self.assertEqual(answer(found, path), owner, path)

    def test_annotation_goes_and_paths_are_compared_as_before(self) -> None:
        """Without the annotation the host has the table that it had before."""
        asking = ingress("asking", [("/x(.*)", SPECIFIC)], REGEX)
        other = ingress("other", [("/foo", "Exact")], {})
        before = snapshot(evolve(asking, annotations={}), other)
        self.assertNotEqual(snapshot(asking, other).table.routes, before.table.routes)
        self.assertEqual(snapshot(evolve(asking, annotations={}), other).table.routes, before.table.routes)


class SlashQuirkTests(SynchronousTestCase):
    """Q4: the slash at the end."""

    def test_q4_a_request_that_lacks_the_slash_is_redirected(self) -> None:
        """Where a path ends in a slash, of whatever type, a request without it is answered 301, with its query."""
        for kind in ("Exact", "Prefix", SPECIFIC):
            found = snapshot(ingress("site", [("/foo/", kind), ("/", "Prefix")], ANNOTATED))
            self.assertEqual(redirected(found, "/foo"), f"http://{HOST}/foo/")
            self.assertEqual(redirected(found, "/foo?a=b", scheme=b"https"), f"https://{HOST}/foo/?a=b")
            for target in ("/foo/", "/", "/FOO", "/foobar", "/foo//"):
                self.assertEqual(redirected(found, target), "served", (kind, target))

    def test_q4_not_where_somebody_has_the_path_without_slash(self) -> None:
        """A path that somebody has without the slash is served there."""
        for kind in ("Exact", "Prefix"):
            found = snapshot(ingress("site", [("/foo/", kind), ("/foo", kind)], ANNOTATED))
            self.assertEqual(redirected(found, "/foo"), "served")

    def test_q4_holds_where_somebody_counts_on_it(self) -> None:
        """Without annotations of the prefix on the host, with --no-quirks, and among expressions, the API's meaning holds."""
        plain = ingress("plain", [("/foo/", "Prefix"), ("/bar/", "Exact")], {})
        for found, owner in (
            (snapshot(plain), "served"),
            (snapshot(ingress("site", [("/foo/", "Prefix")], ANNOTATED), quirks=False), "served"),
            (snapshot(ingress("site", [("/foo/", "Prefix")], REGEX)), "404"),
            (snapshot(plain, ingress("far", [("/x", "Prefix")], ANNOTATED, "bank")), "served"),
            (
                snapshot(plain, ingress("far", [("/x", "Prefix")], ANNOTATED, "bank"), shared_hosts=True),
                "http",
            ),
            (snapshot(plain, ingress("near", [("/x", "Prefix")], ANNOTATED)), "http"),
        ):
            self.assertEqual(redirected(found, "/foo").partition(":")[0], owner)
        self.assertEqual(redirected(snapshot(plain), "/bar"), "404")

    def test_q4_relative(self) -> None:
        """Where redirects are to be relative, this one is."""
        found = snapshot(ingress("site", [("/foo/", "Prefix")], {"relative-redirects": "true"}))
        self.assertEqual(redirected(found, "/foo?a=b"), "/foo/?a=b")

    def test_q4_location(self) -> None:
        """The location is escaped, and keeps scheme and host; without a host it is a path."""
        spec = SlashRedirect("/a b/é\r\n/".encode())
        for facts, wanted in (
            (FakeFacts(), b"http://a.example.com/a%20b/%C3%A9%0D%0A/"),
            (FakeFacts(host=b""), b"/a%20b/%C3%A9%0D%0A/"),
            (FakeFacts(host=b"[2001:db8::1]"), b"http://[2001:db8::1]/a%20b/%C3%A9%0D%0A/"),
        ):
            reply = spec.judge(facts)
            assert reply is not None
            self.assertEqual((reply.status, dict(reply.fields)[b"Location"]), (301, wanted))


class NormalFormQuirkTests(SynchronousTestCase):
    """Q5 and Q6."""

    def test_q5_paths_are_brought_to_normal_form_before_they_are_matched(self) -> None:
        """Escapes, repeated slashes and dot segments make no difference to what an expression takes."""
        found = snapshot(ingress("site", [("/admin/[a-z]+", SPECIFIC)], REGEX))
        for path in ("/%61dmin/x", "//admin///x", "/x/../admin/x", "/./admin/%78", "/admin;a=b/x"):
            self.assertEqual(answer(found, path), "site", path)

    def test_q6_redirect_to_https_drops_the_slash_at_the_end(self) -> None:
        """It does unless the Ingress preserves it, or there are to be no quirks."""
        for asked, quirks, end in (
            ({}, True, "/x"),
            ({"preserve-trailing-slash": "true"}, True, "/x/"),
            ({}, False, "/x/"),
        ):
            site = ingress("site", [("/", "Prefix")], {"force-ssl-redirect": "true", **asked})
            self.assertEqual(redirected(snapshot(site, quirks=quirks), "/x/"), f"https://{HOST}{end}")


class DefaultBackendQuirkTests(SynchronousTestCase):
    """Q14."""

    def test_q14_default_backend_beside_rules_is_for_hosts_of_these_rules(self) -> None:
        """Hosts that no rule names get it from an Ingress without rules, or without annotations of the prefix."""
        backend = IngressBackend("rest", ServicePortReference(number=80))
        annotated = evolve(ingress("site", [("/a", "Prefix")], ANNOTATED), default_backend=backend)
        plain = evolve(annotated, annotations={})
        without_rules = evolve(annotated, rules=())
        whole_host = evolve(annotated, rules=(IngressRule("", annotated.rules[0].paths),))
        for site, quirks, serves_all in (
            (annotated, True, False),
            (annotated, False, True),
            (plain, True, True),
            (without_rules, True, True),
            (whole_host, True, True),
        ):
            found = snapshot(site, quirks=quirks)
            self.assertEqual(found.table.find(b"unnamed.invalid", b"/b") is not None, serves_all, site)
            if site is annotated:
                route = found.table.find(HOST.encode(), b"/b")
                assert route is not None
                self.assertEqual(route.backend.name, "rest")

    def test_q14_default_backend_of_others(self) -> None:
        """So it neither stands before the operator's, nor before that of a younger Ingress, which is told of nothing."""
        backend = IngressBackend("rest", ServicePortReference(number=80))
        annotated = evolve(ingress("a-site", [("/a", "Prefix")], ANNOTATED), default_backend=backend)
        of_all = IngressBackend("of-all", ServicePortReference(number=80))
        younger = evolve(ingress("b-all", [], ANNOTATED), rules=(), default_backend=of_all)
        found = snapshot(annotated, younger)
        route = found.table.find(b"unnamed.invalid", b"/")
        assert route is not None
        self.assertEqual(route.backend.name, "of-all")
        self.assertNotIn(Reason.DEFAULT_BACKEND_CONFLICT, {one.reason for one in found.problems})

    def test_q14_who_is_asked(self) -> None:
        """Hosts of rules are no choice of visitors, and where no other is served nothing is said of any."""
        backend = IngressBackend("rest", ServicePortReference(number=80))
        asking = ingress("site", [("/a", "Prefix")], {"auth-url": "https://$host/oauth2/auth"})
        for rules, quirks, is_told in (
            (asking.rules, True, False),
            (asking.rules, False, True),
            ((), True, True),
        ):
            site = evolve(asking, rules=rules, default_backend=backend)
            told = {one.reason for one in snapshot(site, quirks=quirks).problems}
            self.assertEqual(Reason.INVALID_ANNOTATION in told, is_told, (rules, quirks))


class TwiceTests(SynchronousTestCase):
    """A path that an Ingress has twice, with two types, where another one asks for expressions."""

    def twice(self, *kinds: str, path: str = "/a") -> Ingress:
        """Return an Ingress with ``/a``, and with *path*, of these types, each with a Service that is called after its type."""
        one = ingress("twice", [("/a" if kind is kinds[0] else path, kind) for kind in kinds], {})
        (rule,) = one.rules
        paths = tuple(
            evolve(entry, backend=IngressBackend(entry.path_type.lower(), ServicePortReference("", 80)))
            for entry in rule.paths or ()
        )
        return evolve(one, rules=(evolve(rule, paths=paths),))

    def test_the_first_has_the_path(self) -> None:
        """With all that is below it, whichever type that is; the other one gets nothing, and is told so."""
        every = ingress("site", [("/x(.*)", SPECIFIC)], REGEX)
        for kinds in ((SPECIFIC, "Prefix"), ("Prefix", SPECIFIC)):
            found = snapshot(every, self.twice(*kinds))
            (told,) = [one for one in found.problems if one.reason is Reason.PATH_CONFLICT]
            self.assertEqual(told.field, "spec.rules[0].http.paths[1]")
            self.assertEqual(
                told.message,
                f'path "/a" of host {HOST} stands in this Ingress twice, with two types, which mean nothing beside regular'
                " expressions; the one at spec.rules[0].http.paths[0] is used",
            )
            routes = [found.table.find(HOST.encode(), path) for path in (b"/a", b"/ax", b"/a/b")]
            names = [None if one is None else one.backend.name for one in routes]
            self.assertEqual(names, [kinds[0].lower()] * 3)

    def test_it_is_told_beside_an_older_one(self) -> None:
        """Who is told is the younger one."""
        every = ingress("site", [("/x(.*)", SPECIFIC)], REGEX)
        older = ingress("z-older", [("/a", SPECIFIC)], {})
        (told,) = [
            one
            for one in snapshot(every, older, self.twice("Prefix")).problems
            if one.reason is Reason.PATH_CONFLICT
        ]
        self.assertEqual(told.name, "twice")
        self.assertIn("belongs to Ingress demo/z-older", told.message)

    def test_nothing_is_told_where_nothing_is_lost(self) -> None:
        """The same backend, or an Exact path beside a prefix, which have each their own requests."""
        every = ingress("site", [("/x(.*)", SPECIFIC)], REGEX)
        for one in (
            ingress("twice", [("/a", "Prefix"), ("/a", SPECIFIC)], {}),
            self.twice("Prefix", "Exact"),
            self.twice("Exact", "Prefix"),
            self.twice("Prefix", SPECIFIC, path="/a/"),
            self.twice(SPECIFIC, "Prefix", path="/a/"),
        ):
            found = snapshot(every, one)
            self.assertEqual([told for told in found.problems if told.reason is Reason.PATH_CONFLICT], [])

    def test_a_prefix_comes_before_an_exact_root(self) -> None:
        """As in ingress-nginx, which has the prefix ``/`` before any Ingress; without one the Exact path takes all."""
        exact = ingress("z-exact", [("/", "Exact")], REGEX)
        self.assertEqual(answer(snapshot(exact), "/a"), "z-exact")
        prefix = ingress("prefix", [("/", "Prefix")], {})
        found = snapshot(exact, prefix)
        for path in ("/", "/a"):
            self.assertEqual(answer(found, path), "prefix")
        (told,) = [one for one in found.problems if one.reason is Reason.PATH_CONFLICT]
        self.assertEqual((told.name, told.field), ("z-exact", "spec.rules[0].http.paths[0]"))
        self.assertIn('path "/" of host', told.message)
        self.assertTrue(told.message.endswith("regular expressions; the prefix comes first"), told.message)
        both = ingress("both", [("/", "Exact"), ("/", "Prefix")], REGEX)
        self.assertEqual([one for one in snapshot(both).problems if one.reason is Reason.PATH_CONFLICT], [])
        other = evolve(prefix, key=ObjectKey("other", "prefix"), created="2026-06-01T00:00:00Z")
        self.assertEqual(answer(snapshot(exact, other), "/a"), "z-exact")
        self.assertEqual(answer(snapshot(exact, other, shared_hosts=True), "/a"), "prefix")
        self.assertEqual(answer(snapshot(exact, prefix, quirks=False), "/a"), "z-exact")


class StrictPathTests(SynchronousTestCase):
    """``--strict-validate-path-type``."""

    def test_signs_need_implementation_specific(self) -> None:
        """With it, an Exact or Prefix path with any sign answers 503 and is told; without it, expressions have any type."""
        for kind, strict, service in (
            ("Prefix", True, "Invalid"),
            ("Exact", True, "Invalid"),
            (SPECIFIC, True, "Service"),
            ("Prefix", False, "Service"),
        ):
            site = ingress("site", [("/a(/|$)(.*)", kind), ("/plain-1.x_y/", "Prefix")], REGEX)
            found = snapshot(site, strict_path_types=strict)
            route = found.table.find(HOST.encode(), b"/a/x")
            assert route is not None
            self.assertEqual(route.backend.kind, service)
            told = [one.field for one in found.problems if one.reason is Reason.INVALID_PATH]
            self.assertEqual(told, ["spec.rules[0].http.paths[0].path"] if service == "Invalid" else [])
            self.assertEqual(answer(found, "/plain-1.x_y/z"), "site")


class TypeTests(SynchronousTestCase):
    """What is no quirk: ImplementationSpecific."""

    def test_implementation_specific_is_prefix(self) -> None:
        """As in ingress-nginx, which makes that of it before anything else: whole segments are taken, whoever counts on it."""
        for annotations in ({}, ANNOTATED):
            for quirks in (True, False):
                found = snapshot(
                    ingress("admin", [("/admin", SPECIFIC)], annotations),
                    ingress("site", [("/", "Prefix")], annotations),
                    quirks=quirks,
                )
                answers = [answer(found, path) for path in ("/admin", "/admin/x", "/admin.php", "/admins/x")]
                self.assertEqual(answers, ["admin", "admin", "site", "site"])


class SpecTests(SynchronousTestCase):
    """What the annotations ask for, of whatever value."""

    def test_values_that_change_nothing_are_silent(self) -> None:
        """A target that is the path, an empty one, and use-regex that is off, say and change nothing."""
        for asked in (
            {"rewrite-target": "/"},
            {"rewrite-target": ""},
            {"use-regex": "false"},
            {"rewrite-target": " / "},
        ):
            found = snapshot(ingress("site", [("/", "Prefix")], asked))
            (route,) = found.table.routes
            self.assertEqual((route.match.value, route.filters), ("Prefix", ()))
            self.assertEqual({one.reason for one in found.problems}, {Reason.SERVICE_NOT_FOUND})

    def test_hostile_values(self) -> None:
        """No value of either annotation, on no path, raises or widens anything: what is refused is told and answers 503."""
        signs = [
            "$",
            "^",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "\\",
            "|",
            "*",
            "+",
            "?",
            "\x00",
            "\n",
            "é",
            "\ud800",
            "%00",
            "//",
            "..",
        ]
        values = [f"/a{one}" for one in signs] + signs + ["/" + one * 3000 for one in ("(", "a", "$1", "\\1")]
        other = ingress("other", [("/other", "Prefix")], {}, "bank")
        for value in [
            *values,
            "${1}",
            "$10",
            "\\1",
            "http://",
            "https://$1",
            "{{ .Values.x }}",
            "a" * 300_000,
        ]:
            for asked in ({"rewrite-target": value}, REGEX | {"rewrite-target": value}):
                found = snapshot(
                    ingress("site", [("/a(.*)", SPECIFIC), (value[:5000], "Prefix")], asked), other
                )
                for problem in found.problems:
                    self.assertTrue(problem.message.isprintable() and len(problem.message) < 1000, problem)
                self.assertEqual(answer(found, "/other"), "other")
                for route in found.table.routes:
                    for spec in route.filters:
                        spec.make(FakeServices())

    def test_prefix_of_annotations(self) -> None:
        """Only annotations of the prefix that is honored make quirks."""
        site = ingress("site", [("/foo/", "Prefix")], {})
        site = evolve(site, annotations={"example.com/proxy-body-size": "1m"})
        self.assertEqual(redirected(snapshot(site), "/foo"), "served")
