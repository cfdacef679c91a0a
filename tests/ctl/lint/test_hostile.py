"""Lint of what nobody means well: it raises nothing, and costs no more than there is of it."""

from collections.abc import Iterable
from functools import partial

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import FAMILIES
from ingress.annotations.unknown_names import OF_INGRESS_NGINX
from ingress.ctl.lint.linting import lint
from ingress.translate.readers.ingress.objects import Ingress
from tests.ctl.lint.lint_case import HOST, PREFIX, SPECIFIC, ingress, input_of
from tests.fakes.counting import calls
from tests.translate.golden import cases, state_of_case

NAMES = sorted({name for family in FAMILIES for name in family.annotations} | OF_INGRESS_NGINX)
VALUES = [
    "", "\n", "true", "FALSE", "on", "-1", "1e9", "9" * 30, "0.5", "10m", "600s", "/", "/$1", "$", "${", "${host}",
    "{{ .V }}", "$(X)", "a" * 65535, "(" * 3000, "[a-z]{1000}" * 20, "(a+)+$", "\r\nX: y", "é", "\u202e",
    "http://169.254.169.254/", "https://u:p@h/x", "http://[::1]:80/", "http://[::1", "http://[v1.x]/", "javascript:x",
    "//evil", "*", "null", ",,,,", "0.0.0.0/0", "::/0", "10.0.0.0/8," * 5000, "return 200 ok;", "deny all;", "{" * 5000,
    "add_header X 'unclosed", "other/secret", "../x", "CN=(a+)+", "$http_x$" * 1000, "'" * 3000, '"' * 3000,
    "\\" * 3000, "#" * 60000, ";" * 60000, "~*" + "a?" * 30, "\ud800", "\x00", "½", "٣s", "9" * 5000 + "s",
]  # fmt: skip
PATHS = [
    "/",
    "/a/",
    "/api(/|$)(.*)",
    "/(",
    "/a\\",
    "/\ud800",
    "/[",
    "/a?b",
    "/" + "(" * 200,
    "/x{",
    "/é",
    "/$",
    "",
]


class HostileTests(SynchronousTestCase):
    def assert_tells(self, *some: Ingress) -> None:
        """Fail where lint of *some* raises, or tells what a line cannot hold."""
        for finding in lint(input_of(*some)).findings:
            self.assertLess(len(finding.message) + len(finding.advice), 4000, finding.message[:200])
            self.assertTrue(all(change.steps for change in finding.changes))
            self.assertTrue(finding.message.isprintable(), ascii(finding.message[:200]))

    def test_no_value_of_any_annotation_raises(self) -> None:
        """Each value for all annotations at once, and for each of the families by itself."""
        for value in VALUES:
            self.assert_tells(
                ingress(("/x(/|$)(.*)", SPECIFIC), "/y/", tls=[HOST], **dict.fromkeys(NAMES, value)),
                ingress("/z", name="beside", namespace="bank"),
            )
            if len(value) < 4096:
                self.assert_tells(
                    *(
                        ingress(
                            "/y/",
                            name=f"i{number}",
                            namespace=f"n{number}",
                            hosts=[f"h{number}.test"],
                            **dict.fromkeys((name.replace("-", "_") for name in family.annotations), value),
                        )
                        for number, family in enumerate(FAMILIES)
                    )
                )

    def test_no_path_and_no_host_raises(self) -> None:
        """Whatever stands there, with each way to make expressions of it."""
        for asked in (
            {},
            {"use_regex": "true"},
            {"rewrite_target": "/"},
            {"rewrite_target": "/$2"},
            {"proxy_body_size": "1m"},
        ):
            for path in PATHS:
                self.assert_tells(ingress((path, SPECIFIC), **asked), ingress("/a", name="other"))
        for host in (
            "",
            "*",
            "*.",
            ".",
            "a..b",
            "*.example.com",
            "1.2.3.4",
            "[::1]",
            "ü.test",
            "a" * 300,
            "A.Example.com.",
        ):
            self.assert_tells(
                ingress("/a/", hosts=[host], tls=[host], use_regex="true", auth_type="basic", auth_secret="x")
            )

    def test_no_name_raises(self) -> None:
        """Names that mean nothing, of whatever form."""
        for name in ("x" * 5000, "", "]", "a]b[c", "é", "\n", "\u202e", "rate-limit", "a, b: c"):
            value = evolve(ingress(), annotations={PREFIX + name: "1", PREFIX + "rate-limit-window": "0s"})
            self.assert_tells(value)

    def test_everything_that_translation_is_tried_with(self) -> None:
        """The manifests of all fixtures."""
        for case in cases():
            given = evolve(input_of(), state=state_of_case(case))
            for finding in lint(given).findings:
                self.assertTrue(finding.message, case.name)


def many(kind: str, count: int) -> Iterable[Ingress]:
    """Yield the Ingresses of a case that grows."""
    if kind == "names":
        return [ingress(**{f"nonsense_{number}": "x" for number in range(count)})]
    if kind == "hosts of one":
        return [ingress("/api", hosts=[f"h{number}.test" for number in range(count)], rewrite_target="/")]
    if kind == "paths of one":
        return [ingress(*((f"/(.*)/{number}", SPECIFIC) for number in range(count)), use_regex="true")]
    found = []
    for number in range(count):
        name = f"i{number}"
        if kind == "usual":
            found.append(
                ingress(
                    "/", "/api/", name=name, hosts=[f"{name}.test"], proxy_body_size="10m", rate_limit="1"
                )
            )
        elif kind == "namespaces of one host":
            found.append(ingress(f"/{number}", name=name, namespace=name))
        elif kind == "paths of one host":
            found.append(ingress(f"/{number}/", name=name, proxy_body_size="10m"))
        elif kind == "one path":
            found.append(ingress("/", "/a", name=name))
        elif kind == "expressions of one host":
            found.append(ingress((f"/{number}x/(.*)", SPECIFIC), name=name, use_regex="true"))
        elif kind == "made expressions":
            found.append(ingress(f"/{number}x", name=name, **({} if number else {"use_regex": "true"})))
    return found


class CostTests(SynchronousTestCase):
    def test_twice_as_many_cost_twice_as_much(self) -> None:
        """Counted in calls, beside translation, whatever they have to do with each other."""
        for kind in (
            "usual",
            "namespaces of one host",
            "paths of one host",
            "one path",
            "expressions of one host",
            "made expressions",
            "names",
            "hosts of one",
            "paths of one",
        ):
            costs = []
            for count in (60, 120, 240):
                given = input_of(*many(kind, count))
                _ = given.problems_of
                costs.append(calls(partial(lint, given)))
            # What has to be done once makes the first cheaper for each.
            self.assertLess(costs[2] - costs[1], 2.3 * (costs[1] - costs[0]), (kind, costs))

    def test_a_usual_ingress_costs_a_bounded_number_of_calls(self) -> None:
        """Some hundreds, so that ten thousand take some seconds; most of them are for reading it."""
        costs = []
        for count in (20, 120):
            given = input_of(*many("usual", count))
            _ = given.problems_of
            costs.append(calls(partial(lint, given)))
        self.assertLess((costs[1] - costs[0]) / 100, 900)
