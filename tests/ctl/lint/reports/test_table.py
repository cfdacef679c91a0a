"""The report for people."""

import re

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.columns import columns
from ingress.ctl.inputs.input import Place
from ingress.ctl.lint.accepted import AcceptedFinding
from ingress.ctl.lint.finding import Level, LintReport, Standing
from ingress.ctl.lint.reports.results import Results
from ingress.ctl.lint.reports.table import Detail, Look, table
from ingress.model.cluster.objects import Kind
from tests.ctl.lint.reports.samples import (
    FIRST_LINE,
    RATE_LIMIT,
    annotation,
    finding,
    hostile_results,
    object_id,
    reported,
    results,
)

USUAL = Look(80)
MUCH = Look(80, detail=Detail.MUCH)
LITTLE = Look(80, detail=Detail.LITTLE)


def printed(what: Results, look: Look = USUAL) -> str:
    """The table as one text."""
    return "\n".join(table(what, look))


class FindingTests(SynchronousTestCase):
    """What is said of one object."""

    def test_an_object_is_named_with_its_place_above_what_is_said_of_it(self) -> None:
        """Level, message, rule, and what to do about it."""
        said = reported(findings=[finding(advice="write web, which there is")])
        self.assertEqual(
            printed(results(said)).splitlines()[:4],
            [
                "Ingress shop/web  deploy/shop.yaml:1",
                "  error    there is no Service shop/wbe",
                "           → write web, which there is",
                "           deploy/shop.yaml:12  ServiceNotFound",
            ],
        )

    def test_a_place_that_is_the_object_s_own_is_not_said_again(self) -> None:
        """Then the field says where it is; one of an annotation, whose name is in the text, does not have to."""
        said = reported(findings=[finding(place=FIRST_LINE)])
        self.assertIn(
            "  spec.rules[0].http.paths[0].backend.service.name  ServiceNotFound\n", printed(results(said))
        )
        of_annotation = finding(Level.ERROR, "must be text", field=RATE_LIMIT, place=FIRST_LINE)
        text = printed(results(reported(findings=[of_annotation])))
        self.assertIn("  error    rate-limit: must be text", text)
        self.assertNotIn("metadata", text)

    def test_a_field_that_is_not_of_its_shape_is_named(self) -> None:
        """What is said of it says nothing without, and its line may have several fields."""
        field = "spec.rules[0].http.paths[0].backend.service.port.number"
        found = finding(
            message="must be a whole number, but is text", rule="MalformedObject", field=field, advice="x"
        )
        self.assertIn(
            f"  error    {field} must be a whole number, but is text\n",
            printed(results(reported(findings=[found])), Look(120)),
        )

    def test_a_path_is_not_divided(self) -> None:
        """It is to be clicked; the rule has the next line."""
        place = Place(f"deploy/{'deep/' * 20}shop.yaml", 12)
        text = printed(results(reported(findings=[finding(place=place)])))
        self.assertIn(f"\n           {place}\n           ServiceNotFound\n", text)

    def test_much_is_line_and_field(self) -> None:
        """For whoever wants to know all of it."""
        self.assertIn(
            "  deploy/shop.yaml:12 spec.rules[0].http.paths[0].backend.service.name  ServiceNotFound\n",
            printed(results(reported(findings=[finding()])), Look(120, detail=Detail.MUCH)),
        )

    def test_what_holds_at_several_places_of_an_object_is_said_once(self) -> None:
        """The places stand beside each other."""
        some = [finding(place=Place("deploy/shop.yaml", line)) for line in (12, 31)]
        text = printed(results(reported(findings=some)))
        self.assertEqual(text.count("there is no Service"), 1)
        self.assertIn("  deploy/shop.yaml:12, :31  ServiceNotFound\n", text)

    def test_long_texts_are_wrapped_to_the_width(self) -> None:
        """No line is longer than the terminal, and what belongs to a finding is indented."""
        said = reported(findings=[finding(message="a sentence that goes on " * 20, advice="do this " * 30)])
        for width in (40, 80, 140):
            lines = printed(results(said), Look(width)).splitlines()
            self.assertLessEqual(max(map(len, lines)), width)
            self.assertGreater(max(map(len, lines)), width - 24)

    def test_the_worst_comes_first(self) -> None:
        """Objects with errors before those with warnings, by name among themselves."""
        text = printed(
            results(
                reported("a/note", [finding(Level.NOTE, of=object_id("a/note"))]),
                reported("b/error", [finding(Level.ERROR, "x", of=object_id("b/error"))]),
                reported("c/error", [finding(Level.ERROR, "y", of=object_id("c/error"))]),
                reported("d/warning", [finding(Level.WARNING, of=object_id("d/warning"))]),
            )
        )
        self.assertEqual(
            re.findall(r"^Ingress (\S+)", text, re.MULTILINE), ["b/error", "c/error", "d/warning", "a/note"]
        )

    def test_findings_of_other_objects_stand_among_them(self) -> None:
        """A Secret has its own heading."""
        secret = object_id("shop/tls", Kind.SECRET)
        text = printed(results(others=[finding(of=secret, rule="InvalidCertificate")]))
        self.assertIn("Secret shop/tls  deploy/shop.yaml:12\n  error ", text)


class NotCheckedTests(SynchronousTestCase):
    """What was not checked, of which a repository may have much."""

    def said(self, *sentences: str) -> str:
        """Return the section of *sentences*, as one line."""
        text = "\n".join(table(Results(LintReport((), (), sentences)), Look(80)))
        return " ".join(text.split())

    def test_the_end_of_a_long_path_and_what_helps_are_seen(self) -> None:
        """The middle of the path is left out."""
        path = f"{'deep/' * 30}web"
        said = self.said(f"{path}: is a Helm chart: render it first, as with helm template {path} | x")
        self.assertIn("as with helm template CHART | x", said)
        self.assertRegex(said, r"- (deep/)+…(deep/|eep/|ep/|p/|/)*web: is a Helm chart: render it first")

    def test_what_is_said_of_many_is_said_once(self) -> None:
        """The first are named, and what helps stands there whole."""
        charts = [f"charts/c{number}" for number in range(12)]
        said = self.said(
            *(f"{one}: is a Helm chart: render, as with helm template {one} | lint -" for one in charts)
        )
        self.assertIn(
            "12 paths, each is a Helm chart: render, as with helm template CHART | lint -: charts/c0, charts/c1, charts/c2 and 9 more",
            said,
        )
        self.assertEqual(said.count("is a Helm chart"), 1)

    def test_sentences_without_paths_are_whole(self) -> None:
        """However long they are."""
        sentence = f"whether Services exist in {', '.join(f'namespace-{n}' for n in range(6))}: none of there was read"
        self.assertIn(sentence, self.said(sentence))


class AnnotationTests(SynchronousTestCase):
    """What is said of annotations."""

    def test_an_object_with_findings_has_its_annotations_by_standing(self) -> None:
        """Those that are honored are counted, the others named."""
        some = [
            annotation("proxy-body-size"),
            annotation("rewrite-target", Standing.DIFFERS),
            annotation("rate-limit", Standing.NEVER_EXISTED),
        ]
        text = printed(results(reported(findings=[finding()], annotations=some)))
        self.assertIn(
            "  annotations  1 honored; honored with a difference: rewrite-target; never\n    existed: rate-limit\n",
            text,
        )
        self.assertIn(
            "annotations  honored: proxy-body-size;", printed(results(reported(annotations=some)), MUCH)
        )

    def test_a_difference_is_said_once_for_all_objects(self) -> None:
        """With the number of these, and some of their names."""
        some = [annotation("rewrite-target", Standing.DIFFERS, "an empty segment is refused")]
        text = printed(results(*(reported(f"shop/web-{number}", annotations=some) for number in range(9))))
        self.assertEqual(text.count("an empty segment is refused"), 1)
        self.assertIn("9 Ingresses: shop/web-0, ", text)
        self.assertIn("and 3 more", text)
        self.assertNotIn("shop/web-8", text)

    def test_what_a_finding_says_of_an_annotation_is_not_said_again(self) -> None:
        """Neither by its words nor by its field."""
        said = reported(
            findings=[finding(Level.WARNING, "rate-limit: never", field=RATE_LIMIT)],
            annotations=[
                annotation("rate-limit", Standing.NEVER_EXISTED, "in other words"),
                annotation("other", Standing.NEVER_EXISTED, "rate-limit: never"),
                annotation("rate-limit", Standing.NEVER_EXISTED, "named in the text of another"),
            ],
        )
        self.assertEqual(printed(results(said)).count("rate-limit: never"), 1)
        self.assertNotIn("in other words", printed(results(said)))
        self.assertNotIn("named in the text", printed(results(said)))

    def test_a_grade_hides_no_difference(self) -> None:
        """How ingress-nginx grades an annotation says nothing of what it does here."""
        grade = finding(Level.NOTE, "rate-limit is graded Critical", rule="CriticalRisk", field=RATE_LIMIT)
        differs = annotation("rate-limit", Standing.DIFFERS, "in a location, too")
        text = printed(results(reported(findings=[grade], annotations=[differs])))
        self.assertIn("is graded Critical", text)
        self.assertIn("differs  rate-limit: in a location, too", text)

    def test_what_is_accepted_of_an_annotation_is_not_said_otherwise(self) -> None:
        """The difference that its finding told is known."""
        said = reported(annotations=[annotation("rate-limit", Standing.NEVER_EXISTED, "a typo")])
        known = AcceptedFinding(
            finding(Level.WARNING, "never", field=RATE_LIMIT, place=FIRST_LINE), "so it is"
        )
        self.assertIn("a typo", printed(results(said)))
        self.assertNotIn("a typo", printed(evolve(results(said), accepted=(known,))))


class SummedTests(SynchronousTestCase):
    """What repeats."""

    def test_what_is_said_of_three_objects_is_said_once(self) -> None:
        """Above the names of all, each with its place."""
        text = printed(
            results(*(reported(f"shop/web-{n}", [finding(of=object_id(f"shop/web-{n}"))]) for n in range(3)))
        )
        self.assertEqual(text.count("there is no Service"), 1)
        self.assertTrue(text.startswith("3 Ingresses\n  error    there is no Service"))
        for number in range(3):
            self.assertIn(f"           shop/web-{number}  deploy/shop.yaml:12\n", text)

    def test_advice_that_differs_stands_with_each_object(self) -> None:
        """What is the same for all of them is still said once."""
        said = [
            reported(f"shop/web-{n}", [finding(of=object_id(f"shop/web-{n}"), advice=f"write {n}")])
            for n in range(3)
        ]
        text = printed(results(*said))
        self.assertEqual(text.count("there is no Service"), 1)
        self.assertIn("           shop/web-1  deploy/shop.yaml:12\n             → write 1\n", text)

    def test_of_forty_objects_the_first_are_named(self) -> None:
        """The rest is a number, unless everything is asked for."""
        said = [reported(f"shop/web-{n}", [finding(of=object_id(f"shop/web-{n}"))]) for n in range(40)]
        text = printed(results(*said))
        self.assertIn("40 Ingresses\n", text)
        self.assertIn("           and 34 more\n", text)
        self.assertEqual(printed(results(*said), MUCH).count("there is no Service"), 40)


class SumTests(SynchronousTestCase):
    """The closing line."""

    def test_it_counts_objects_by_what_becomes_of_them_and_findings_by_level(self) -> None:
        """Each object of ours is one of three, and what was not checked is counted."""
        text = printed(
            results(
                reported("a/fully", annotations=[annotation("x")]),
                reported("a/differs", annotations=[annotation("x", Standing.DIFFERS, "why")]),
                reported("a/warned", [finding(Level.WARNING)]),
                reported("a/partly", [finding(), finding(Level.NOTE, "n")]),
                reported("a/never", annotations=[annotation("x", Standing.NEVER_EXISTED)]),
                reported("a/other", why_not="it is of another class"),
                not_checked=["whether Secrets exist in a"],
            ),
            Look(200),
        )
        self.assertEqual(
            text.splitlines()[-1],
            "6 Ingresses, 1 of them not served here: 1 honored fully, 2 with differences, 2 in part. "
            "1 error, 1 warning, 1 note. 1 thing not checked.",
        )
        self.assertIn("Not served here\n  - Ingress a/other (it is of another class)\n", text)
        self.assertIn("Not checked\n  - whether Secrets exist in a\n", text)

    def test_why_an_object_is_not_served_is_said_once(self) -> None:
        """By a finding, where there is one."""
        why = 'it is of class "own"'
        said = reported(findings=[finding(Level.NOTE, f"{why}; judged is nginx")], why_not=why)
        text = printed(results(said))
        self.assertNotIn("Not served here", text)
        self.assertIn("1 Ingress, not served here. 1 note.", text)

    def test_nothing_to_say_is_a_line(self) -> None:
        """All is fine, or there is nothing at all."""
        self.assertEqual(
            printed(results(reported())),
            "1 Ingress: 1 honored fully, 0 with differences, 0 in part. No findings.",
        )
        self.assertEqual(printed(results()), "There is no Ingress. No findings.")

    def test_what_was_not_checked_is_cut_after_two_lines(self) -> None:
        """Unless everything is asked for."""
        said = results(
            reported(), not_checked=[f"whether Secrets exist in {', '.join(f'team-{n}' for n in range(60))}"]
        )
        self.assertNotIn("team-59", printed(said))
        self.assertIn("team-59", printed(said, MUCH))

    def test_accepted_findings_are_counted_and_shown_on_demand(self) -> None:
        """With the reason."""
        taken = (AcceptedFinding(finding(), "the old shop needs it"),)
        counted = Results(results(reported()).report, taken)
        self.assertIn("No findings, 1 accepted.", printed(counted, Look(200)))
        self.assertNotIn("the old shop", printed(counted))
        shown = printed(Results(counted.report, taken, shows_accepted=True), Look(200))
        self.assertIn("accepted: the old shop needs it", shown)


class DetailTests(SynchronousTestCase):
    """Less, and more."""

    def test_little_is_what_fails_and_the_sum(self) -> None:
        """By the level that counts."""
        said = [
            reported("a/error", [finding(), finding(Level.NOTE, "a note")]),
            reported("b/warning", [finding(Level.WARNING, "a warning")]),
        ]
        text = printed(results(*said), LITTLE)
        self.assertIn("there is no Service", text)
        self.assertNotIn("a warning", text)
        self.assertNotIn("a note", text)
        self.assertIn("a warning", printed(results(*said, fail_on=Level.WARNING), LITTLE))
        self.assertEqual(len(printed(results(*said, fail_on=None), LITTLE).splitlines()), 2)

    def test_much_is_every_object(self) -> None:
        """Also those of which there is nothing to say."""
        self.assertIn("Ingress shop/web  deploy", printed(results(reported()), MUCH))
        self.assertNotIn("Ingress shop/web  deploy", printed(results(reported())))


class TerminalTests(SynchronousTestCase):
    """What a terminal, or who runs a build, would do."""

    def test_colours_change_no_text(self) -> None:
        """Without them the same characters are left."""
        said = results(
            reported(findings=[finding(advice="so")], annotations=[annotation("x", Standing.UNSAFE, "y")])
        )
        coloured = printed(said, Look(80, has_colour=True))
        self.assertIn("\x1b[31m", coloured)
        self.assertEqual(re.sub(r"\x1b\[[0-9;]*m", "", coloured), printed(said))

    def test_hostile_texts_are_shown_and_not_done(self) -> None:
        """Whatever tenants wrote, a line is printable, begins no command, and keeps to the width in columns."""
        for width in (80, 140):
            for detail in Detail:
                for line in table(hostile_results(), Look(width, detail=detail)):
                    self.assertTrue(line.isprintable(), ascii(line))
                    self.assertFalse(line.lstrip().startswith("::"), line)
                    self.assertNotRegex(line, r"##\w*\[")
                    if not re.search(r"(:[123]|service\.name)$", line):  # places and fields stay whole
                        self.assertLessEqual(
                            columns(line), width + 3 * line.lstrip().startswith("\\x3a:"), line
                        )

    def test_a_message_of_megabytes_is_cut(self) -> None:
        """Nobody scrolls for minutes."""
        self.assertLess(len(printed(results(reported(findings=[finding(message="x" * 5_000_000)])))), 10_000)
