"""Which differences of sets by chance are told: each rule with a request that it is for, and one beside that."""

import re
from collections.abc import Sequence
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from conformance.ingress_nginx import sampling, told_samples
from conformance.ingress_nginx.case import Ask, backend_of
from conformance.ingress_nginx.comparing import Difference, Outcome
from conformance.ingress_nginx.endpoints import Arrival
from conformance.ingress_nginx.got import Got
from conformance.ingress_nginx.sampling import Placed, Sample

REPOSITORY = Path(__file__).parents[2]


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def answer(status: int, *services: str, location: str = "", code: str = "") -> Outcome:
    fields = (("Location", location),) if location else ()
    told = (("X-Code", code),) if code else ()
    arrivals = tuple(
        (f"{name}#0", Arrival("10.30.0.1", "GET / HTTP/1.1", told, b"", False, "")) for name in services
    )
    return Outcome(Got(status, fields), arrivals)


def placed(
    path: str = "/a",
    kind: str = "Prefix",
    default: str = "",
    tls: Sequence[str] = (),
    **annotations: str,
) -> Placed:
    paths = [{"path": path, "pathType": kind, "backend": backend_of("a")}]
    spec: dict[str, object] = {"rules": [{"host": "HOST", "http": {"paths": paths}}]}
    if default:
        spec["defaultBackend"] = backend_of(default)
    if tls:
        spec["tls"] = [{"hosts": list(tls)}]
    given = {key.replace("_", "-"): value for key, value in annotations.items()}
    return Placed(sampling.ingress("i", given, spec))


def without_paths() -> Placed:
    one = placed()
    del one.thing["spec"]["rules"][0]["http"]
    return one


def rule_of(
    one: Placed, ask: Ask, reference: Outcome, ours: Outcome, what: str = "answer.status", there: str = ""
) -> str:
    """The name of the rule that tells it, or nothing."""
    different = (Difference(what, there, ""),)
    where = told_samples.told(Sample("s", (one,), (ask,)), ask, reference, ours, different)
    return where.partition("(")[2].rstrip(")")


class ToldTests(SynchronousTestCase):
    """Rules."""

    def test_each_names_a_heading(self) -> None:
        """Of a document that there is."""
        for _, where in told_samples.RULES:
            file, _, anchor = where.partition("#")
            self.assertIn(anchor, anchors((REPOSITORY / file).read_text("utf-8")), where)

    def test_what_no_path_takes(self) -> None:
        """404 here, or a default backend; the oldest Ingress has its say there.  Another endpoint is no such thing."""
        for status in (301, 302, 308, 403):
            self.assertEqual(rule_of(placed(), Ask(), answer(status), answer(404)), "is_rest")
        self.assertEqual(rule_of(placed(default="b"), Ask(), answer(404), answer(200, "b")), "is_rest")
        self.assertEqual(
            rule_of(placed(default="b"), Ask(), answer(302, location="https://now.test/y"), answer(308)),
            "is_rest",
        )
        self.assertEqual(rule_of(placed(), Ask(), answer(200, "a"), answer(404)), "")
        self.assertEqual(rule_of(placed(default="b"), Ask("/a/"), answer(404), answer(200, "a")), "")
        secure = answer(308, location="https://HOST/")
        self.assertEqual(rule_of(placed(default="b"), Ask(), answer(404), secure), "is_rest")
        self.assertEqual(rule_of(placed("/A", default="b"), Ask("/a"), answer(404), secure), "is_rest")
        self.assertEqual(rule_of(placed("/", "Exact", "b"), Ask("/a"), answer(404), secure), "is_rest")
        self.assertEqual(rule_of(placed("/a/", default="b"), Ask("/ab"), answer(404), answer(403)), "is_rest")
        self.assertEqual(rule_of(placed("/a/", default="b"), Ask("/a"), answer(404), answer(403)), "")
        some = placed("/([^/]+)", default="b", use_regex="true")
        self.assertEqual(rule_of(some, Ask("/a/../b?q=1"), answer(404), answer(403)), "")
        self.assertEqual(rule_of(some, Ask("/a/..?q=1"), answer(404), answer(403)), "is_rest")
        for one, target in (
            (placed(), "/"),
            (placed(default="b"), "/a?b"),
            (placed("/", default="b"), "/"),
            (placed("/()(.*)", default="b", use_regex="true"), "/"),
            (placed("/B", default="b", use_regex="true"), "/bc"),
            (placed("/a", "Exact", default="b"), "/a"),
        ):
            self.assertEqual(rule_of(one, Ask(target), answer(404), secure), "", target)
        self.assertEqual(rule_of(placed(), Ask(), answer(403), answer(200, "a")), "")

    def test_what_a_path_of_another_host_would_take(self) -> None:
        """That is no path of the host that is asked for, unless the one is an alias of the other."""
        for host, more, rule in (
            ("a.HOST", {}, "is_rest"),
            ("HOST", {}, ""),
            ("b.HOST", {}, ""),
            ("a.HOST", {"server_alias": "a.HOST"}, ""),
        ):
            one = placed("/b", default="b", **more)
            one.thing["spec"]["rules"].append({"host": "a.HOST"})
            # A rule without paths has a way of its own to be told.
            found = rule_of(one, Ask("/b", host=host), answer(404), answer(403))
            self.assertEqual(found, rule, (host, more))
        wild = placed("/.*", default="b", use_regex="true")
        wild.thing["spec"]["rules"][0]["host"] = "*.HOST"
        self.assertEqual(rule_of(wild, Ask("/x", host="a.HOST"), answer(404), answer(403)), "")
        wild.thing["spec"]["rules"] += placed("/a/b").thing["spec"]["rules"]
        wild.thing["spec"]["rules"][1]["host"] = "a.HOST"
        self.assertEqual(rule_of(wild, Ask("/x", host="a.HOST"), answer(404), answer(403)), "is_rest")
        one = placed("/b", default="b")
        one.thing["spec"]["rules"].append({"host": "a.HOST"})
        for service, rule in (("a", ""), ("b", "is_rest")):
            # Who is asked here by a path of another host is asked by mistake.
            found = rule_of(one, Ask("/b", host="a.HOST"), answer(403), answer(200, service))
            self.assertEqual(found, rule, service)

    def test_slash_of_it(self) -> None:
        """Whether the slash at the end is kept, where a default backend takes it and one Ingress asks for that; nothing else of the URL."""
        one = placed(default="b", preserve_trailing_slash="true")
        for among, ours, rule in (
            (one, "https://a.test/", "is_slash_of_rest"),
            (one, "https://a.test/x", ""),
            (placed(preserve_trailing_slash="true"), "https://a.test/", ""),
            (placed(default="b"), "https://a.test/", ""),
        ):
            theirs = answer(308, location="https://a.test//")
            self.assertEqual(
                rule_of(among, Ask("/a"), theirs, answer(308, location=ours), "answer.field.location"), rule
            )

    def test_page_of_it(self) -> None:
        """The default backend is told 404."""
        self.assertEqual(
            rule_of(placed(), Ask(), answer(404), answer(404, "c", code="404")), "is_page_of_rest"
        )
        page = answer(200, "c", code="503")
        self.assertEqual(rule_of(placed(), Ask(), answer(404), page), "")
        self.assertEqual(rule_of(without_paths(), Ask(), answer(404), page), "is_page_of_rest")
        self.assertEqual(rule_of(without_paths(), Ask(), answer(200, "a"), page), "")

    def test_spelling_of_hosts_in_redirects(self) -> None:
        """Capitals and the last dot, and nothing else of the URL."""
        for theirs, ours, rule in (
            ("https://A.test./x?", "https://a.test/x?", "is_spelling_of_host"),
            ("https://a.test/x", "https://a.test/X", ""),
            ("https://b.test/x", "https://a.test/x", ""),
        ):
            found = rule_of(
                placed(),
                Ask(),
                answer(308, location=theirs),
                answer(308, location=ours),
                "answer.field.location",
            )
            self.assertEqual(found, rule, theirs)

    def test_paths_of_requests(self) -> None:
        """Escapes, parameters, and what is refused."""
        self.assertEqual(rule_of(placed(), Ask("/a%2Fb"), answer(200, "a"), answer(400)), "is_refused")
        self.assertEqual(rule_of(placed(), Ask("/a"), answer(200, "a"), answer(400)), "")
        escaped = placed("/a%20b")
        self.assertEqual(rule_of(escaped, Ask("/a%20b"), answer(404), answer(200, "a")), "is_escape_of_rule")
        self.assertEqual(rule_of(placed(), Ask("/a%20b"), answer(404), answer(200, "a")), "")
        self.assertEqual(rule_of(placed(), Ask("/a;v=1"), answer(404), answer(200, "a")), "has_parameters")

    def test_what_was_captured(self) -> None:
        """Empty segments that are left out, where a path is rewritten."""
        line = "endpoint.a.line"
        for one, there, rule in (
            (placed(rewrite_target="/$1"), "GET //x HTTP/1.1", "is_captured"),
            (placed(rewrite_target="/$1"), "GET /x// HTTP/1.1", "is_captured"),
            (placed(rewrite_target="/$1"), "GET /x/y HTTP/1.1", ""),
            (placed(), "GET //x HTTP/1.1", ""),
        ):
            self.assertEqual(
                rule_of(one, Ask(), answer(200, "a"), answer(200, "a"), line, there), rule, there
            )

    def test_orders_of_redirects(self) -> None:
        """HTTPS before the slash, and www of whom has no path left."""
        secure = answer(308, location="https://HOST/a")
        self.assertEqual(rule_of(placed(), Ask(), answer(301), secure), "is_slash_after_https")
        www = placed(from_to_www_redirect="true")
        there = answer(308, location="http://www.HOST/")
        self.assertEqual(rule_of(www, Ask(), answer(404), there), "is_www_of_nobody")
        self.assertEqual(rule_of(placed(), Ask(), answer(404), there), "")

    def test_relative(self) -> None:
        """The same redirect without scheme and host, which are those asked for, where an Ingress of the set asks for that."""
        relative = placed(relative_redirects="true")
        for one, there, ours, rule in (
            (relative, "http://HOST/a/?q", "/a/?q", "is_relative"),
            (relative, "http://HOST/a/?q", "/a/", ""),
            (relative, "http://HOST/a/?q", "http://HOST/a/", ""),
            (placed(), "http://HOST/a/?q", "/a/?q", ""),
            # Without these two it would go round in a circle.
            (relative, "https://HOST/a/?q", "/a/?q", ""),
            (relative, "http://www.HOST/a/?q", "/a/?q", ""),
            (relative, "https://new.test/a", "/a", ""),
        ):
            theirs, own = answer(302, location=there), answer(302, location=ours)
            found = rule_of(one, Ask(), theirs, own, "answer.field.location", there)
            self.assertEqual(found, rule, (there, ours))

    def test_below_a_wildcard(self) -> None:
        """That is in spec.tls; a host that is named there itself redirects in both."""
        secure = answer(308, location="https://a.HOST/a")
        below = placed(tls=["*.HOST"])
        self.assertEqual(rule_of(below, Ask(host="a.HOST"), answer(200, "a"), secure), "is_below_wildcard")
        named = placed(tls=["*.HOST", "a.HOST"])
        self.assertEqual(rule_of(named, Ask(host="a.HOST"), answer(200, "a"), secure), "")

    def test_rule_without_paths(self) -> None:
        """Of a host that another rule would take."""
        one = without_paths()
        self.assertEqual(rule_of(one, Ask(), answer(404), answer(503)), "is_empty_rule")
        self.assertEqual(rule_of(one, Ask(), answer(200, "a"), answer(503)), "")

    def test_alias_of_several(self) -> None:
        """A host that one of them names; there it may be the other whose aliases count."""
        one, other = placed(server_alias="alias.HOST,other.HOST"), placed(server_alias="alias.HOST")
        for ingresses, host, reference, rule in (
            ((one, other), "other.HOST", answer(404), "is_alias_of_several"),
            ((one, other), "Other.HOST.:80", answer(404), "is_alias_of_several"),
            ((one, other), "other.HOST", answer(200, "b"), ""),
            ((one, other), "third.HOST", answer(404), ""),
            ((one,), "other.HOST", answer(404), ""),
        ):
            ask = Ask(host=host)
            seen = Sample("s", ingresses, (ask,))
            different = (Difference("answer.status", "", ""),)
            told = told_samples.told(seen, ask, reference, answer(200, "a"), different)
            self.assertEqual(told.partition("(")[2].rstrip(")"), rule, host)
        for target, rule in (("/b", "is_alias_of_several"), ("/a/", "")):
            ask = Ask(target, host="other.HOST")
            seen = Sample("s", (one, other), (ask,))
            different = (Difference("answer.status", "", ""),)
            told = told_samples.told(seen, ask, answer(200, "b"), answer(404), different)
            self.assertEqual(told.partition("(")[2].rstrip(")"), rule, target)

    def test_alias_of_two_hosts(self) -> None:
        """Of which each has an Ingress that asks for it; it is nobody's where neither does."""
        one, other = placed(server_alias="alias.HOST"), placed(server_alias="alias.HOST,other.HOST")
        other.thing["spec"]["rules"][0]["host"] = "www.HOST"
        for ingresses, host, rule in (
            ((one, other), "alias.HOST", "is_alias_of_two_hosts"),
            ((one, other), "other.HOST", ""),
            ((one, other), "HOST", ""),
            ((one,), "alias.HOST", ""),
        ):
            ask = Ask("/a", host=host)
            different = (Difference("answer.status", "", ""),)
            told = told_samples.told(
                Sample("s", ingresses, (ask,)), ask, answer(200, "a"), answer(404), different
            )
            self.assertEqual(told.partition("(")[2].rstrip(")"), rule, host)

    def test_alias_of_several_hosts(self) -> None:
        """Where another Ingress' aliases count for one of them, the alias is of the next one there, or of a wildcard."""
        one, other = placed(server_alias="alias.HOST"), placed(server_alias="other.HOST")
        several = placed(server_alias="other.HOST")
        several.thing["spec"]["rules"].append({**several.thing["spec"]["rules"][0], "host": "a.HOST"})
        wildcard, elsewhere = placed(), placed()
        wildcard.thing["spec"]["rules"][0]["host"] = "*.HOST"
        elsewhere.thing["spec"]["rules"][0]["host"] = "*.a.HOST"
        for ingresses, rule in (
            ((one, several), "is_alias_of_several"),
            ((one, other), ""),
            ((one, other, wildcard), "is_alias_of_several"),
            ((one, other, elsewhere), ""),
            ((other, wildcard), ""),
            ((several,), ""),
        ):
            ask = Ask(host="other.HOST")
            different = (Difference("endpoints", "b", "a"),)
            told = told_samples.told(
                Sample("s", ingresses, (ask,)), ask, answer(200, "b"), answer(200, "a"), different
            )
            self.assertEqual(told.partition("(")[2].rstrip(")"), rule)

    def test_others(self) -> None:
        """Error pages of nobody, canaries, the root beside expressions, and the prefix of who rewrites nothing."""
        errors = placed(custom_http_errors="503")
        self.assertEqual(rule_of(errors, Ask(), answer(404), answer(503)), "is_page_of_nobody")
        self.assertEqual(rule_of(placed(), Ask(), answer(404), answer(503)), "")
        self.assertEqual(rule_of(placed(), Ask(), answer(200, "g"), answer(200, "a")), "is_canary_of_others")
        self.assertEqual(rule_of(placed(), Ask(), answer(503), answer(403)), "is_nobody_there")
        self.assertEqual(rule_of(placed(), Ask(), answer(403), answer(503)), "")
        root = placed("/", "Exact", use_regex="true")
        self.assertEqual(rule_of(root, Ask(), answer(404), answer(200, "a")), "is_root_of_expressions")
        self.assertEqual(rule_of(root, Ask(), answer(404), answer(503)), "is_root_of_expressions")
        self.assertEqual(rule_of(root, Ask(), answer(200, "b"), answer(200, "a")), "")
        sent = answer(302, location="https://now.test/y")
        self.assertEqual(rule_of(root, Ask("/b/"), answer(404), sent), "is_root_of_expressions")
        self.assertEqual(rule_of(placed("/", use_regex="true"), Ask("/b/"), answer(404), sent), "")
        rested = placed("/", "Exact", "b", use_regex="true")
        self.assertEqual(rule_of(rested, Ask(), answer(200, "b"), answer(200, "a")), "is_root_of_expressions")
        what = "endpoint.a.field.x-forwarded-prefix"
        self.assertEqual(rule_of(placed(), Ask(), answer(200, "a"), answer(200, "a"), what), "is_prefix_told")
