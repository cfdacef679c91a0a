"""The formats for machines: what programs read of a lint."""

import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.input import NOWHERE, Place
from ingress.ctl.lint.accepted import AcceptedFinding
from ingress.ctl.lint.finding import Change, Level, Standing
from ingress.ctl.lint.reports.formats import MACHINE_FORMATS, machine_lines
from ingress.ctl.lint.reports.results import Results
from ingress.ctl.lint.reports.table import table
from ingress.ctl.lint.reports.texts import json_text
from ingress.ctl.lint.rules import RULES
from ingress.model.cluster.objects import Kind
from tests.ctl.lint.reports.samples import (
    HOSTILE,
    annotation,
    finding,
    hostile_results,
    many_objects,
    object_id,
    reported,
    results,
)
from tests.fakes.counting import calls
from tests.properties import examples


def text_of(name: str, what: Results) -> str:
    """What a format prints."""
    return "".join(f"{line}\n" for line in machine_lines(name, what))


def read_json(what: Results, name: str = "json") -> Any:
    """The value of a format that is JSON."""
    return json.loads(text_of(name, what))


def accepted(what: Results, shows: bool = True) -> Results:
    """The same, with one finding that is accepted."""
    return evolve(what, accepted=(AcceptedFinding(finding(), "the old shop needs it"),), shows_accepted=shows)


class JsonTests(SynchronousTestCase):
    """``--output json``."""

    def test_its_shape(self) -> None:
        """Every field of an object, an annotation and a finding, by the names that are documented."""
        change = Change("spec.rules[0].http.paths[0].backend.service.name", "web")
        said = reported(
            findings=[evolve(finding(advice="write web"), changes=(change,))],
            annotations=[annotation("rewrite-target", Standing.NEVER_EXISTED, "a typo")],
        )
        other = finding(Level.WARNING, of=object_id("shop/tls", Kind.SECRET), rule="InvalidCertificate")
        value = read_json(results(said, others=[other], not_checked=["whether Secrets exist"]))
        self.assertEqual(
            value,
            {
                "version": 1,
                "fails": True,
                "summary": {
                    "objects": 1,
                    "ours": 1,
                    "fully": 0,
                    "differing": 0,
                    "partly": 1,
                    "errors": 1,
                    "warnings": 1,
                    "notes": 0,
                    "notChecked": 1,
                    "accepted": 0,
                },
                "notChecked": ["whether Secrets exist"],
                "objects": [
                    {
                        "kind": "Ingress",
                        "namespace": "shop",
                        "name": "web",
                        "file": "deploy/shop.yaml",
                        "line": 1,
                        "ours": True,
                        "whyNot": "",
                        "labels": {"app": "web"},
                        "annotations": [
                            {"name": "rewrite-target", "standing": "never-existed", "why": "a typo"}
                        ],
                        "findings": [
                            {
                                "level": "error",
                                "rule": "ServiceNotFound",
                                "kind": "Ingress",
                                "namespace": "shop",
                                "name": "web",
                                "file": "deploy/shop.yaml",
                                "line": 12,
                                "field": change.field,
                                "message": "there is no Service shop/wbe",
                                "advice": "write web",
                                "changes": [{"field": change.field, "value": "web"}],
                            }
                        ],
                    }
                ],
                "findings": [
                    {
                        "level": "warning",
                        "rule": "InvalidCertificate",
                        "kind": "Secret",
                        "namespace": "shop",
                        "name": "tls",
                        "file": "deploy/shop.yaml",
                        "line": 12,
                        "field": other.field,
                        "message": other.message,
                        "advice": "",
                        "changes": [],
                    }
                ],
            },
        )

    def test_every_standing_has_a_word(self) -> None:
        """None is missing from the list."""
        said = reported(annotations=[annotation(one.name, one) for one in Standing])
        words = [one["standing"] for one in read_json(results(said))["objects"][0]["annotations"]]
        self.assertEqual(len(set(words)), len(Standing))

    def test_accepted_findings_are_counted_and_listed_on_demand(self) -> None:
        """With the reason of each."""
        self.assertNotIn("accepted", read_json(accepted(results(), shows=False)))
        value = read_json(accepted(results()))
        self.assertEqual(value["summary"]["accepted"], 1)
        self.assertEqual(value["accepted"][0]["reason"], "the old shop needs it")

    def test_no_value_of_an_annotation_is_in_it(self) -> None:
        """A snippet may have credentials in it."""
        said = reported(annotations=[evolve(annotation("auth-snippet"), value="Basic c2VjcmV0")])
        for name in MACHINE_FORMATS:
            self.assertNotIn("c2VjcmV0", text_of(name, results(said)))


# Of the objects of SARIF 2.1.0 that are written here: what each must have, and what it may have besides, by section.
SARIF: dict[str, tuple[set[str], set[str]]] = {
    "log 3.13": ({"version", "runs"}, {"$schema"}),
    "run 3.14": ({"tool"}, {"invocations", "results", "columnKind"}),
    "tool 3.18": ({"driver"}, set()),
    "toolComponent 3.19": ({"name"}, {"version", "rules"}),
    "invocation 3.20": ({"executionSuccessful"}, {"toolExecutionNotifications"}),
    "result 3.27": (
        {"message"},
        {"ruleId", "ruleIndex", "level", "locations", "partialFingerprints", "suppressions"},
    ),
    "location 3.28": (set(), {"physicalLocation", "logicalLocations"}),
    "physicalLocation 3.29": ({"artifactLocation"}, {"region"}),
    "logicalLocation 3.33": (set(), {"name", "fullyQualifiedName", "kind"}),
    "suppression 3.35": ({"kind"}, {"status", "justification"}),
    "reportingDescriptor 3.49": (
        {"id"},
        {"name", "shortDescription", "fullDescription", "help", "defaultConfiguration", "properties"},
    ),
    "notification 3.58": ({"message"}, {"level"}),
}


class SarifTests(SynchronousTestCase):
    """``--output sarif``, by what SARIF 2.1.0 requires (sections 3.13 to 3.30) and GitHub asks for."""

    def run_of(self, what: Results) -> Any:
        """The one run of the log, after a look at what is around it."""
        log = read_json(what, "sarif")
        self.assertEqual(log["version"], "2.1.0")
        self.assertEqual(log["$schema"], "https://json.schemastore.org/sarif-2.1.0.json")
        (run,) = log["runs"]
        return run

    def test_a_result_has_what_is_required(self) -> None:
        """Rule, level, message, place, and a fingerprint."""
        run = self.run_of(results(reported(findings=[finding(advice="write web")])))
        (result,) = run["results"]
        driver = run["tool"]["driver"]
        self.assertEqual(driver["name"], "ingressctl")
        self.assertEqual(driver["rules"][result["ruleIndex"]]["id"], result["ruleId"])
        self.assertEqual(result["level"], "error")
        self.assertEqual(
            result["message"],
            {
                "text": "spec.rules[0].http.paths[0].backend.service.name: there is no Service shop/wbe → write web"
            },
        )
        (location,) = result["locations"]
        self.assertEqual(
            location["physicalLocation"],
            {"artifactLocation": {"uri": "deploy/shop.yaml"}, "region": {"startLine": 12}},
        )
        self.assertEqual(
            location["logicalLocations"][0]["fullyQualifiedName"],
            "Ingress shop/web spec.rules[0].http.paths[0].backend.service.name",
        )

    def test_objects_have_what_the_specification_asks_for_and_nothing_else(self) -> None:
        """Whatever tenants wrote, and with what is accepted; what must differ does (sections 3.14.23 and 3.19.23)."""
        log = read_json(accepted(hostile_results()), "sarif")
        (run,) = log["runs"]
        driver = run["tool"]["driver"]
        locations = [location for result in run["results"] for location in result["locations"]]
        physical = [one["physicalLocation"] for one in locations if "physicalLocation" in one]
        notifications = [told for one in run["invocations"] for told in one["toolExecutionNotifications"]]
        suppressions = [one for result in run["results"] for one in result.get("suppressions", ())]
        logical = [named for one in locations for named in one["logicalLocations"]]
        for section, some in {
            "log 3.13": [log],
            "run 3.14": [run],
            "tool 3.18": [run["tool"]],
            "toolComponent 3.19": [driver],
            "invocation 3.20": run["invocations"],
            "result 3.27": run["results"],
            "location 3.28": locations,
            "physicalLocation 3.29": physical,
            "logicalLocation 3.33": logical,
            "suppression 3.35": suppressions,
            "reportingDescriptor 3.49": driver["rules"],
            "notification 3.58": notifications,
        }.items():
            required, possible = SARIF[section]
            self.assertNotEqual(some, [], section)
            for one in some:
                self.assertLessEqual(required, set(one), section)
                self.assertLessEqual(set(one), required | possible, section)
        for one in (*run["results"], *notifications):
            self.assertIn(one["level"], ("note", "warning", "error"))
            self.assertTrue(one["message"]["text"])
        self.assertTrue(all(one["region"]["startLine"] > 0 for one in physical))
        self.assertRegex(
            "".join(one["artifactLocation"]["uri"] for one in physical), r"\A[A-Za-z0-9._~/:%-]*\Z"
        )
        for several in (
            [rule["id"] for rule in driver["rules"]],
            [json.dumps(one) for one in run["results"]],
        ):
            self.assertEqual(len(several), len(set(several)))

    def test_each_rule_has_help_and_a_level(self) -> None:
        """All rules are there, in order of their names, whether they were found or not."""
        rules = self.run_of(results())["tool"]["driver"]["rules"]
        self.assertEqual([rule["id"] for rule in rules], sorted(RULES))
        for rule in rules:
            self.assertIn(rule["defaultConfiguration"]["level"], ("note", "warning", "error"))
            self.assertTrue(rule["shortDescription"]["text"])
            self.assertTrue(rule["help"]["text"])

    def test_a_fingerprint_outlives_other_lines_and_other_words(self) -> None:
        """It is of rule, object and field, and differs between two findings of one field."""
        before = [finding(), finding(Level.ERROR, "and another")]
        after = [finding(place=Place("deploy/shop.yaml", 99), message="in other words"), before[1]]
        prints = [
            [
                result["partialFingerprints"]["ingressctl/v1"]
                for result in self.run_of(results(reported(findings=some)))["results"]
            ]
            for some in (before, after)
        ]
        self.assertEqual(prints[0], prints[1])
        self.assertEqual(len(set(prints[0])), 2)
        other = self.run_of(results(reported(findings=[finding(of=object_id("shop/else"))])))["results"][0]
        self.assertNotIn(other["partialFingerprints"]["ingressctl/v1"], prints[0])

    def test_uris_are_relative_to_the_folder_and_escaped(self) -> None:
        """What is elsewhere is absolute; what is no file has a logical location alone."""
        found = {
            "./deploy/a b%.yaml": "deploy/a%20b%25.yaml",
            "/work/deploy/x.yaml": "deploy/x.yaml",
            "../else/x.yaml": "file:///else/x.yaml",
            "/workshop/x.yaml": "file:///workshop/x.yaml",
            "k8s:prod/ä.yaml": "k8s%3Aprod/%C3%A4.yaml",
        }
        for file, uri in found.items():
            run = self.run_of(results(reported(findings=[finding(place=Place(file))])))
            physical = run["results"][0]["locations"][0]["physicalLocation"]
            self.assertEqual(physical, {"artifactLocation": {"uri": uri}})
        for place in (NOWHERE, Place("-", 3)):
            run = self.run_of(results(reported(findings=[finding(place=place)])))
            self.assertEqual(list(run["results"][0]["locations"][0]), ["logicalLocations"])

    def test_what_is_accepted_is_suppressed(self) -> None:
        """On demand, with the reason as its justification."""
        (result,) = self.run_of(accepted(results()))["results"]
        self.assertEqual(result["suppressions"][0]["justification"], "the old shop needs it")
        self.assertEqual(self.run_of(accepted(results(), shows=False))["results"], [])

    def test_messages_have_no_links_and_placeholders(self) -> None:
        """What a tenant wrote is text (sections 3.11.5 and 3.11.6)."""
        (result,) = self.run_of(results(reported(findings=[finding(message="[a](b) {0} \x1b", field="")])))[
            "results"
        ]
        self.assertEqual(result["message"]["text"], "[a] (b) {{0}} \\x1b")

    def test_what_was_not_checked_is_a_notification(self) -> None:
        """Of a run that was successful."""
        (invocation,) = self.run_of(results(not_checked=["whether Secrets exist"]))["invocations"]
        self.assertTrue(invocation["executionSuccessful"])
        (told,) = invocation["toolExecutionNotifications"]
        self.assertEqual(told["message"]["text"], "not checked: whether Secrets exist")


class GitHubTests(SynchronousTestCase):
    """``--output github``."""

    def test_a_finding_is_a_command(self) -> None:
        """With file, line and title; colons and commas are escaped in these."""
        said = reported(
            findings=[finding(message="a: b, 100%", advice="do so", place=Place("a,b:c.yaml", 3))]
        )
        self.assertEqual(
            text_of("github", results(said)),
            "::error file=a%2Cb%3Ac.yaml,line=3,title=ServiceNotFound%3A Ingress shop/web::"
            "spec.rules[0].http.paths[0].backend.service.name: a: b, 100%25 → do so\n",
        )

    def test_levels_have_the_words_of_github(self) -> None:
        """The worst comes first, as only some are shown."""
        said = [reported(findings=[finding(level)]) for level in sorted(Level)]
        words = re.findall("^::(.*?) ", text_of("github", results(*said)), re.MULTILINE)
        self.assertEqual(words, ["error", "warning", "notice"])

    def test_what_is_in_no_file_has_a_title_alone(self) -> None:
        """Standard input, or a cluster; a file without a line has none."""
        for place, properties in ((NOWHERE, ""), (Place("-", 3), ""), (Place("x.yaml"), "file=x.yaml,")):
            line = text_of("github", results(reported(findings=[finding(place=place)])))
            self.assertTrue(line.startswith(f"::error {properties}title="), line)

    def test_hostile_texts_stay_in_their_command(self) -> None:
        """A line for each finding, whatever is in it, and no property that was not meant."""
        what = hostile_results()
        lines = text_of("github", what).splitlines()
        self.assertEqual(len(lines), len(what.report.findings))
        for line in lines:
            self.assertTrue(line.isprintable(), ascii(line))
            command = re.match(r"::(?:error|warning|notice) ((?:\w+=[^,:]*,?)*)::", line)
            assert command is not None
            names = [one.partition("=")[0] for one in command[1].split(",")]
            self.assertIn(names, (["file", "line", "title"], ["title"]))


class JUnitTests(SynchronousTestCase):
    """``--output junit``."""

    def root(self, what: Results) -> ElementTree.Element:
        """The document's root."""
        return ElementTree.fromstring(text_of("junit", what))

    def test_a_file_is_a_suite_and_an_object_a_test(self) -> None:
        """One fails by what the command fails by, and what else there is to say of it is output."""
        said = reported(
            findings=[finding(), finding(Level.ERROR, "and another"), finding(Level.NOTE, "a note")]
        )
        root = self.root(results(said, reported("shop/fine", place=Place("deploy/fine.yaml", 1))))
        self.assertEqual((root.get("tests"), root.get("failures"), root.get("errors")), ("2", "1", "0"))
        broken, fine = root
        self.assertEqual((broken.get("name"), fine.get("name")), ("deploy/shop.yaml", "deploy/fine.yaml"))
        (case,) = broken
        self.assertEqual(
            dict(case.attrib),
            {
                "classname": "deploy/shop.yaml",
                "name": "Ingress shop/web",
                "file": "deploy/shop.yaml",
                "line": "1",
                "time": "0",
            },
        )
        failure, output = case
        self.assertEqual(failure.get("type"), "ServiceNotFound")
        self.assertEqual(failure.get("message"), "there is no Service shop/wbe (and 1 more)")
        self.assertIn(
            "deploy/shop.yaml:12: error: spec.rules[0].http.paths[0].backend.service.name: and another [S",
            failure.text or "",
        )
        self.assertIn(": a note", output.text or "")
        self.assertEqual(len(fine[0]), 0)

    def test_the_level_decides(self) -> None:
        """A warning fails where it makes the status 1, and an error does not where nothing does."""
        for fail_on, failures in ((Level.WARNING, "1"), (Level.ERROR, "0"), (None, "0")):
            what = results(reported(findings=[finding(Level.WARNING)]), fail_on=fail_on)
            self.assertEqual(self.root(what).get("failures"), failures)

    def test_what_is_not_ours_is_skipped(self) -> None:
        """With the reason."""
        root = self.root(results(reported(why_not="it is of another class")))
        self.assertEqual(root.get("skipped"), "1")
        self.assertEqual(root[0][0][0].get("message"), "it is of another class")

    def test_findings_of_one_other_object_are_one_test(self) -> None:
        """A Secret with two faults fails once."""
        secret = object_id("shop/tls", Kind.SECRET)
        root = self.root(results(others=[finding(of=secret), finding(message="and another", of=secret)]))
        self.assertEqual((root.get("tests"), root.get("failures")), ("1", "1"))


class EveryFormatTests(SynchronousTestCase):
    """What holds for all of them."""

    def test_hostile_texts_change_no_shape(self) -> None:
        """Documents are read by strict readers, with as many entries as there are objects, findings and tests."""
        what = hostile_results()
        value = read_json(what)
        self.assertEqual(len(value["objects"]), 2 * len(HOSTILE))
        self.assertEqual(value["notChecked"][0], HOSTILE[0])
        log = read_json(what, "sarif")
        self.assertEqual(len(log["runs"][0]["results"]), len(what.report.findings))
        root = ElementTree.fromstring(text_of("junit", what))
        self.assertEqual(len(list(root.iter("testcase"))), 3 * len(HOSTILE))

    def test_hostile_texts_are_inert_bytes(self) -> None:
        """UTF-8 can say all of them, and only line breaks control anything."""
        for name in MACHINE_FORMATS:
            text = text_of(name, hostile_results())
            self.assertTrue(text.replace("\n", "").isprintable(), name)
            text.encode("utf-8")

    @settings(derandomize=True, deadline=None, max_examples=examples(60))
    @given(
        st.lists(
            st.text(st.characters() | st.sampled_from("#:[]<>&%,\n\r\x1b\ud800"), max_size=12), max_size=3
        )
    )
    def test_any_text_is_inert(self, texts: list[str]) -> None:
        """Of whatever characters: documents are read, and no line is obeyed."""
        what = hostile_results(texts)
        self.assertEqual(len(read_json(what)["objects"]), 2 * len(texts))
        self.assertEqual(len(read_json(what, "sarif")["runs"][0]["results"]), len(what.report.findings))
        root = ElementTree.fromstring(text_of("junit", what))
        self.assertEqual(len(list(root.iter("testcase"))), int(root.get("tests", "")))
        commands = text_of("github", what).splitlines()
        self.assertEqual(len(commands), len(what.report.findings))
        for line in (*table(what), *commands):
            self.assertTrue(line.isprintable(), ascii(line))
            self.assertNotRegex(line, r"##\w*\[")
        self.assertFalse(any(line.lstrip().startswith("::") for line in table(what)))

    def test_json_has_nothing_that_a_runner_obeys(self) -> None:
        """It may be printed into the log of a build, and is read as what was written."""
        text = json_text({"a": "x ##[group]y ###"})
        self.assertNotIn("##", text)
        self.assertEqual(json.loads(text), {"a": "x ##[group]y ###"})

    def test_half_characters_are_replaced_in_json(self) -> None:
        """An escape of half a character is refused by many readers."""
        for name in ("json", "sarif"):
            value = read_json(results(not_checked=["a\ud800\udc00b\udc00"]), name)
            json.dumps(value, ensure_ascii=False).encode("utf-8")

    def test_nothing_is_a_document_too(self) -> None:
        """An input without objects."""
        self.assertEqual(read_json(results())["objects"], [])
        self.assertEqual(read_json(results(), "sarif")["runs"][0]["results"], [])
        self.assertEqual(ElementTree.fromstring(text_of("junit", results())).get("tests"), "0")
        self.assertEqual(text_of("github", results()), "")

    def test_lines_come_one_by_one(self) -> None:
        """Nothing large is put together first: no line grows with the number of objects."""
        few, many = many_objects(20), many_objects(400)
        for name in MACHINE_FORMATS:
            longest = [max(map(len, machine_lines(name, what))) for what in (few, many)]
            self.assertLess(longest[1], longest[0] + 100, name)

    def test_ten_times_as_many_objects_are_ten_times_the_calls(self) -> None:
        """Counted, for each format: nothing is quadratic."""
        for lines in (
            table,
            *(lambda what, name=name: machine_lines(name, what) for name in MACHINE_FORMATS),
        ):
            few, many = (counted(lines, many_objects(number)) for number in (100, 1000))
            self.assertLess(many, 12 * few)


def counted(lines: Callable[..., Any], what: Results) -> int:
    """How many calls printing *what* takes."""
    list(lines(results()))
    return calls(lambda: list(lines(what)))
